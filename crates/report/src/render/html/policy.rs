//! What the file may do: show its own style and run its own script, each known by its digest, and nothing else.

use model::base64::to_base64;
use sha2::{Digest, Sha256};

/// The policy for this style and these scripts.
pub(super) fn policy(style: &str, scripts: &[&str]) -> String {
    let scripts: Vec<String> = scripts
        .iter()
        .map(|script| format!("'{}'", digest(script)))
        .collect();
    format!(
        "default-src 'none'; script-src {}; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        scripts.join(" "),
        digest(style)
    )
}

/// What a policy calls a script or a style with these bytes.
pub fn digest(text: &str) -> String {
    format!("sha256-{}", to_base64(&Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_names_the_digests_of_what_is_there() {
        let policy = policy("a", &["", "b"]);
        // sha256 of nothing, a well-known value.
        assert!(
            policy.contains("script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='")
        );
        assert!(policy.starts_with("default-src 'none'; "));
        assert!(!policy.contains("unsafe"));
    }
}
