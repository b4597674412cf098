//! Tells the program how it was built: profile, target, commit. Packs the texts of licences.

use std::path::Path;

/// Texts that are read by `kurabe licences` alone.
const LICENCES: [&str; 3] = ["crates.txt", "glibc.txt", "LGPL-2.1.txt"];

fn main() {
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    // The directory of the build is `target/[TRIPLE/]PROFILE/build/...`: the only place that names a custom profile.
    let out = var("OUT_DIR");
    let profile = out
        .split("/build/")
        .next()
        .and_then(|path| path.rsplit('/').next());
    println!(
        "cargo::rustc-env=KURABE_BUILD={}",
        profile.unwrap_or("unknown")
    );
    println!("cargo::rustc-env=KURABE_TARGET={}", var("TARGET"));
    println!(
        "cargo::rustc-env=KURABE_COMMIT={}",
        commit().unwrap_or_default()
    );
    let licences = Path::new(env!("CARGO_MANIFEST_DIR")).join("licences");
    for name in LICENCES {
        let path = licences.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        let text = std::fs::read(path).expect("the texts of licences are there");
        packed::write(Path::new(&out), name, &text).expect("OUT_DIR is cargo's own and writable");
    }
}

/// The commit that is checked out, read without running git; `None` outside of a checkout.
fn commit() -> Option<String> {
    let git = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.git");
    let head_file = git.join("HEAD");
    let head = std::fs::read_to_string(&head_file).ok()?;
    println!("cargo::rerun-if-changed={}", head_file.display());
    let hash = match head.trim().strip_prefix("ref: ") {
        None => head.trim().to_owned(),
        Some(name) => {
            let file = git.join(name);
            println!("cargo::rerun-if-changed={}", file.display());
            std::fs::read_to_string(file).ok()?.trim().to_owned()
        }
    };
    Some(hash.chars().take(12).collect())
}
