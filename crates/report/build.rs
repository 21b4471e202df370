//! Takes the built page (`page/dist/index.html`) into the crate; says what to run when it is missing.

use std::path::PathBuf;
use std::{env, fs, process};

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let page = here.join("../../page/dist/index.html");
    println!("cargo::rerun-if-changed={}", page.display());
    let text = match fs::read_to_string(&page) {
        Ok(text) => text,
        Err(why) => {
            println!("cargo::error=the report page is not built ({}: {why}): run `make page` first", page.display());
            process::exit(1);
        }
    };
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("page.html");
    fs::write(&out, text).unwrap_or_else(|why| panic!("cannot write {}: {why}", out.display()));
}
