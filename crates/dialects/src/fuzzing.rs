//! What every seeded fuzzer of this crate starts from.

/// Every file in a directory of starting texts, sorted, so that a seed means the same everywhere.
pub(crate) fn corpus(directory: &str) -> Vec<String> {
    let path = format!("{}/../../{directory}", env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<_> = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect()
}

/// Makes inputs, `default` of them or as many as `KURABE_FUZZ_INPUTS` says, and asks how many are accepted: a mutator
/// that only breaks texts tests little.
pub(crate) fn feed(default: u64, mut accepts: impl FnMut() -> bool) {
    let inputs = std::env::var("KURABE_FUZZ_INPUTS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(default);
    let accepted = (0..inputs).filter(|_| accepts()).count();
    println!("{inputs} inputs, {accepted} accepted");
    assert!(accepted > 0 && u64::try_from(accepted).unwrap() < inputs);
}
