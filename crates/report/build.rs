//! Packs the library that draws long series: few pages have one.

use std::path::Path;

const LIBRARY: &str = "vendor/uplot-1.6.32/uPlot.iife.min.js";

fn main() {
    println!("cargo::rerun-if-changed={LIBRARY}");
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR for build scripts");
    let library = std::fs::read(LIBRARY).expect("the library is there");
    packed::write(Path::new(&out), "uPlot.iife.min.js", &library)
        .expect("OUT_DIR is cargo's own and writable");
}
