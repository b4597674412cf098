//! JSON on the control connection: its length in four bytes, the highest first, and then so many bytes without an end.

use super::wire_error::{Part, WireError, fill};
use serde::de::DeserializeOwned;
use std::io::{Read, Write};

/// The most that parameters may have: as servers have it since 3.18.
pub const PARAMETERS_MAX: u32 = 8 << 10;

/// The most that results may have. iperf3 has no bound; a server's whole text of a long test is below this.
pub const RESULTS_MAX: u32 = 8 << 20;

/// Reads one of at most so many bytes. Memory is taken as bytes come and not as they are announced.
pub(in crate::net) fn read(
    from: &mut impl Read,
    part: Part,
    max: u32,
) -> Result<Vec<u8>, WireError> {
    let mut length = [0; 4];
    fill(from, &mut length, part)?;
    let length = u32::from_be_bytes(length);
    if length > max {
        return Err(WireError::TooLong { part, length, max });
    }
    let mut bytes = Vec::new();
    let mut limited = from.take(u64::from(length));
    let got = limited.read_to_end(&mut bytes);
    let got = got.map_err(|error| WireError::io(part, error))?;
    let of = usize::try_from(length).unwrap_or(usize::MAX);
    if got < of {
        return Err(WireError::Ended { part, got, of });
    }
    Ok(bytes)
}

/// JSON that is an object: `serde` would take a list of its values as well, which no version sends.
pub(in crate::net) fn object<T: DeserializeOwned>(
    bytes: &[u8],
    part: Part,
) -> Result<T, WireError> {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if first.is_some_and(|first| *first != b'{') {
        let what = "expected an object at line 1 column 1".to_owned();
        return Err(WireError::Json(part, what));
    }
    serde_json::from_slice(bytes).map_err(|error| WireError::json(part, &error))
}

/// Writes one. What the other end would refuse by its length is not sent.
pub(in crate::net) fn write(
    to: &mut impl Write,
    part: Part,
    value: &impl serde::Serialize,
    max: u32,
) -> Result<(), WireError> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, value).map_err(|error| WireError::json(part, &error))?;
    let length = u32::try_from(frame.len() - 4).unwrap_or(u32::MAX);
    if length > max {
        return Err(WireError::TooLong { part, length, max });
    }
    frame[..4].copy_from_slice(&length.to_be_bytes());
    to.write_all(&frame)
        .map_err(|error| WireError::Unsent(part, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes, and the most room that was offered for them.
    struct Watched<'a>(&'a [u8], usize);

    impl Read for Watched<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.1 = self.1.max(buffer.len());
            self.0.read(buffer)
        }
    }

    fn read_parameters(bytes: &[u8]) -> Result<Vec<u8>, WireError> {
        read(&mut &*bytes, Part::Parameters, PARAMETERS_MAX)
    }

    #[test]
    fn a_frame_is_as_long_as_it_says() {
        assert_eq!(read_parameters(b"\0\0\0\x02{}rest").unwrap(), b"{}");
        assert_eq!(read_parameters(b"\0\0\0\0").unwrap(), b"");
        let cut = read_parameters(b"\0\0\0\x05{}").unwrap_err();
        assert!(
            matches!(cut, WireError::Ended { got: 2, of: 5, .. }),
            "{cut}"
        );
        let half = read_parameters(b"\0\0").unwrap_err();
        assert!(
            matches!(half, WireError::Ended { got: 2, of: 4, .. }),
            "{half}"
        );
    }

    #[test]
    fn a_length_of_4_gib_is_refused_and_a_long_one_takes_no_memory() {
        let why = read_parameters(&[0xff; 8]).unwrap_err();
        assert!(why.to_string().contains("4294967295 bytes"), "{why}");
        // HTTP, read as a length.
        let why = read_parameters(b"HTTP/1.1 400").unwrap_err();
        assert!(why.to_string().contains("hint: "), "{why}");
        // As much as may be announced, of which next to nothing comes.
        let mut bytes = RESULTS_MAX.to_be_bytes().to_vec();
        bytes.extend(b"{\"");
        let mut watched = Watched(&bytes, 0);
        read(&mut watched, Part::Results, RESULTS_MAX).unwrap_err();
        assert!(watched.1 <= 64 << 10, "{} bytes of room", watched.1);
    }
}
