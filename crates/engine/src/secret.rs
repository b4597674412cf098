//! What opens a door, such as a password: it travels to the workers with their permits, on their standard input, and
//! nowhere else. It cannot be printed by accident, and no type that is kept holds one.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A password. What shows it has to say so: [`Secret::reveal`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Keeps it from being printed, and from core dumps of this process.
    pub fn new(text: String) -> Self {
        sys::process::keep_secrets();
        Self(text)
    }

    /// For whom it opens: no core dump of that process has it either. A worker that opens nothing dumps as others do.
    pub fn reveal(&self) -> &str {
        sys::process::keep_secrets();
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(...)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_is_not_printed_and_arrives() {
        let secret = Secret::new("hunter2".to_owned());
        let shown = format!("{secret:?} {:?}", Some(&secret));
        assert!(!shown.contains("hunter2"), "{shown}");
        let sent = serde_json::to_string(&secret).unwrap();
        let got: Secret = serde_json::from_str(&sent).unwrap();
        assert_eq!(got.reveal(), "hunter2");
    }
}
