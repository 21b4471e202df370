//! The corpus: configurations as people write them, one folder each. `@ETC@` in a file stands for the folder itself, as
//! `/etc/nginx` does in a real one.

#![allow(dead_code, reason = "each test file uses a part of this")]

pub(crate) mod place;

use std::fs;
use std::path::{Path, PathBuf};

use genkai_targets::nginx::config::Config;

/// One configuration of the corpus.
pub(crate) struct Case {
    /// Name of its folder.
    pub(crate) name: &'static str,
    /// Modules beyond Debian's nginx-core that it loads; their packages are installed by the Makefile.
    pub(crate) modules: &'static [&'static str],
}

const fn plain(name: &'static str) -> Case {
    Case { name, modules: &[] }
}

/// All of them.
pub(crate) const CASES: [Case; 19] = [
    plain("balance"),
    plain("cache"),
    plain("chain"),
    plain("debian"),
    plain("geo"),
    plain("latin1"),
    plain("limits"),
    Case { name: "lua", modules: &["ndk_http_module.so", "ngx_http_lua_module.so"] },
    plain("hash"),
    plain("mark"),
    plain("messy"),
    plain("quotes"),
    Case { name: "stream", modules: &["ngx_stream_module.so"] },
    plain("tiny"),
    plain("tls"),
    plain("unended"),
    plain("websocket"),
    plain("windows"),
    plain("wordpress"),
];

/// Copies a configuration to `to` (which need not exist), with `@ETC@` replaced. Gives its main file.
pub(crate) fn lay_out(name: &str, to: &Path) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nginx_configs").join(name);
    copy(&from, to, to.to_str().unwrap().as_bytes());
    to.join("nginx.conf")
}

/// A configuration of one file.
pub(crate) fn text(text: &str) -> Config {
    Config::of_text(Path::new("/etc/nginx/nginx.conf"), text.as_bytes().to_vec(), Path::new("/usr/share/nginx"))
        .unwrap()
}

/// One of the corpus, in a folder of its own.
pub(crate) fn corpus(name: &str) -> (tempfile::TempDir, Config) {
    let dir = tempfile::tempdir().unwrap();
    let config = Config::read(&lay_out(name, dir.path()), Path::new("/usr/share/nginx")).unwrap();
    (dir, config)
}

fn copy(from: &Path, to: &Path, etc: &[u8]) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&path).unwrap(), target).unwrap();
        } else if path.is_dir() {
            copy(&path, &target, etc);
        } else {
            fs::write(&target, replaced(&fs::read(&path).unwrap(), b"@ETC@", etc)).unwrap();
        }
    }
}

fn replaced(text: &[u8], what: &[u8], with: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = memchr::memmem::find(rest, what) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(with);
        rest = &rest[at + what.len()..];
    }
    out.extend_from_slice(rest);
    out
}
