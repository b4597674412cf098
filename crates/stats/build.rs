//! Packs the scatter between runs that the program brings along.

use std::path::Path;

const SCATTER: &str = "scatter.txt";

fn main() {
    println!("cargo::rerun-if-changed={SCATTER}");
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR for build scripts");
    let scatter = std::fs::read(SCATTER).expect("the scatter is there");
    packed::write(Path::new(&out), SCATTER, &scatter).expect("OUT_DIR is cargo's own and writable");
}
