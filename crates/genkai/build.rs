//! Lists the claims that genkai ships: every file of the folder `claims`, with its text.

use std::path::Path;
use std::{env, fs};

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../claims");
    println!("cargo::rerun-if-changed={}", folder.display());
    let files = fs::read_dir(&folder).expect("the folder `claims` is there").flatten();
    let mut paths: Vec<_> = files.map(|file| file.path()).collect();
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let line = |path: &std::path::PathBuf| format!("({:?}, include_str!({path:?})),\n", name(path));
    let text = format!("&[\n{}]\n", paths.iter().map(line).collect::<String>());
    let out = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("claims.rs"), text).expect("the folder of the build can be written");
}
