//! Counts the lines of every crate that are not tests: `cargo run -p genkai-tidy --example lines [ROOT]`.

use std::path::PathBuf;

use genkai_tidy::{root, sources};

fn main() {
    let root = std::env::args().nth(1).map_or_else(root, PathBuf::from);
    let mut names: Vec<String> = std::fs::read_dir(root.join("crates"))
        .expect("crates/")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let mut total = 0;
    for name in names.iter().filter(|name| *name != "tidy") {
        let files = sources(&root, name);
        let lines: usize = files.iter().map(|file| file.lines).sum();
        total += lines;
        println!("{name:10} {lines:7} lines in {} files", files.len());
    }
    println!("{:10} {total:7}", "all");
}
