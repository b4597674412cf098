//! How a value is written into a document for programs where its type by itself says it otherwise.
//!
//! What is concluded is never stored: it is serialised for documents alone, and their keys are the fields of its types.

use serde::{Serialize, Serializer};

/// Serialises `value` as the `D` that it is in documents.
pub fn in_document<T: Copy + Into<D>, D: Serialize, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    (*value).into().serialize(serializer)
}
