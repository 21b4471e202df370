//! Lists the claims that genkai ships: every file of the folder `claims`, with its text. And tells builds apart by a fingerprint of the source.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = crates.join("../claims");
    println!("cargo::rerun-if-changed={}", folder.display());
    let paths = entries(&folder);
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let line = |path: &PathBuf| format!("({:?}, include_str!({path:?})),\n", name(path));
    let text = format!("&[\n{}]\n", paths.iter().map(line).collect::<String>());
    let out = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("claims.rs"), text).expect("the folder of the build can be written");
    println!("cargo::rustc-env=GENKAI_SOURCE={}", source(&crates));
}

/// The fingerprint of the source of all crates: what two builds of the same version differ by.
fn source(crates: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    for one in entries(crates) {
        let (source, page) = (one.join("src"), one.join("../../page/dist/index.html"));
        println!("cargo::rerun-if-changed={}", source.display());
        add(&source, &mut hasher);
        if one.ends_with("report") {
            add(&page, &mut hasher);
        }
    }
    format!("{:016x}", hasher.finish())
}

fn add(path: &Path, hasher: &mut DefaultHasher) {
    if path.is_dir() {
        return entries(path).iter().for_each(|path| add(path, hasher));
    }
    let bytes = fs::read(path).unwrap_or_default();
    hasher.write_usize(bytes.len());
    hasher.write(&bytes);
}

/// What is in a folder, in order.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
