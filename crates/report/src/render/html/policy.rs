//! What the file may do: show its own style and run its own script, each known by its digest, and nothing else.

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
    format!("sha256-{}", base64(&Sha256::digest(text.as_bytes())))
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |place| u32::from(three.get(place).copied().unwrap_or(0));
        let all = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let six = usize::try_from(all >> (18 - 6 * place) & 63).unwrap_or(0);
            let filled = place <= three.len();
            out.push(if filled {
                char::from(LETTERS[six])
            } else {
                '='
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        let check = |text: &str, expect: &str| assert_eq!(base64(text.as_bytes()), expect);
        // RFC 4648, section 10.
        check("", "");
        check("f", "Zg==");
        check("fo", "Zm8=");
        check("foo", "Zm9v");
        check("foobar", "Zm9vYmFy");
    }

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
