//! What a server says, read from bytes that anybody may have sent: bounded, and nothing is built of rows.
//!
//! Source: the documentation of MariaDB ("Client/Server Protocol") and of MySQL ("MySQL Client/Server Protocol"). The
//! crate `mysql_common` has this too: it brings a dozen crates that are not in this program, regex and num-bigint among
//! them, and makes objects of rows.

use super::Garbage;

/// A packet longer than this is none of what is asked for here: a row of the tests has 120 bytes.
pub(super) const PACKET_MAX: usize = 1 << 20;

/// Its length in three bytes, and its number.
pub(super) const HEADER: usize = 4;

/// The first byte of an error.
pub(super) const ERROR: u8 = 0xff;
/// The first byte of what ends rows, and of the wish for another way of login.
pub(super) const END: u8 = 0xfe;
/// The first byte of what ends a statement without rows, and of a row of a prepared statement.
pub(super) const OK: u8 = 0;

/// The number of the packet that `bytes` begin with and the length of all of it; `None` before that is known.
pub(super) fn packet(bytes: &[u8]) -> Result<Option<(u8, usize)>, Garbage> {
    let Some(&[a, b, c, number]) = bytes.first_chunk::<HEADER>() else {
        return Ok(None);
    };
    let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
    if length == 0 || length > PACKET_MAX {
        return Err(Garbage);
    }
    Ok(Some((number, length + HEADER)))
}

/// What is left of a packet, from which parts are taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts<'a>(pub(super) &'a [u8]);

impl<'a> Parts<'a> {
    /// So many bytes.
    #[inline]
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Garbage> {
        let (own, rest) = self.0.split_at_checked(count).ok_or(Garbage)?;
        self.0 = rest;
        Ok(own)
    }

    #[inline]
    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], Garbage> {
        let (own, rest) = self.0.split_first_chunk::<N>().ok_or(Garbage)?;
        self.0 = rest;
        Ok(*own)
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Result<u8, Garbage> {
        self.chunk::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub(super) fn u16(&mut self) -> Result<u16, Garbage> {
        self.chunk().map(u16::from_le_bytes)
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Result<u32, Garbage> {
        self.chunk().map(u32::from_le_bytes)
    }

    /// A number of one to nine bytes; `None` for NULL in a row of text.
    #[inline]
    pub(super) fn number(&mut self) -> Result<Option<u64>, Garbage> {
        match self.u8()? {
            byte @ 0..=0xfa => Ok(Some(byte.into())),
            0xfb => Ok(None),
            0xfc => self.u16().map(|number| Some(number.into())),
            0xfd => {
                let [a, b, c] = self.chunk()?;
                Ok(Some(u64::from(u32::from_le_bytes([a, b, c, 0]))))
            }
            0xfe => self.chunk().map(|bytes| Some(u64::from_le_bytes(bytes))),
            ERROR => Err(Garbage),
        }
    }

    /// A text behind its length; `None` for NULL.
    #[inline]
    pub(super) fn text(&mut self) -> Result<Option<&'a [u8]>, Garbage> {
        let Some(length) = self.number()? else {
            return Ok(None);
        };
        let length = usize::try_from(length).map_err(|_| Garbage)?;
        self.bytes(length).map(Some)
    }

    /// A text up to a byte of zero, or to the end where there is none.
    pub(super) fn until_zero(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0);
        let own = &self.0[..end.unwrap_or(self.0.len())];
        self.0 = end.map_or(&[], |end| &self.0[end + 1..]);
        own
    }
}

/// The end of a statement, or of its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ended {
    /// Rows that were concerned.
    pub(super) rows: u64,
    /// Flags of the connection.
    pub(super) status: u16,
}

/// Of a packet that begins with [`OK`] or [`END`].
#[inline]
pub(super) fn ended(packet: &[u8]) -> Result<Ended, Garbage> {
    let mut parts = Parts(packet.get(1..).ok_or(Garbage)?);
    let rows = parts.number()?.ok_or(Garbage)?;
    parts.number()?.ok_or(Garbage)?;
    let status = parts.u16()?;
    Ok(Ended { rows, status })
}

/// The code and the words of a packet that begins with [`ERROR`].
pub(super) fn error(packet: &[u8]) -> Result<(u16, &[u8]), Garbage> {
    let mut parts = Parts(packet.get(1..).ok_or(Garbage)?);
    let code = parts.u16()?;
    // Before the login there is no SQLSTATE.
    if parts.0.first() == Some(&b'#') {
        parts.bytes(6)?;
    }
    Ok((code, parts.0))
}

/// The value of a row of one column of a prepared statement, which is a text or a decimal number.
#[inline]
pub(super) fn only_value(packet: &[u8]) -> Result<Option<&[u8]>, Garbage> {
    let mut parts = Parts(packet);
    // The first two bits of the map of missing values are not used.
    match (parts.u8()?, parts.u8()?) {
        (OK, 0) => {}
        (OK, 4) if parts.0.is_empty() => return Ok(None),
        _ => return Err(Garbage),
    }
    let value = parts.text()?;
    if value.is_none() || !parts.0.is_empty() {
        return Err(Garbage);
    }
    Ok(value)
}

/// The whole number that a text is.
#[inline]
pub(super) fn whole(text: &[u8]) -> Result<i64, Garbage> {
    let text = std::str::from_utf8(text).map_err(|_| Garbage)?;
    text.parse().map_err(|_| Garbage)
}

/// The beginning of a conversation, by the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Greeting {
    pub(super) capabilities: u32,
    /// Those of MariaDB alone.
    pub(super) further: u32,
    /// What a proof of the password is mixed with.
    pub(super) scramble: [u8; SCRAMBLE],
    /// The way of login that it proposes.
    pub(super) way: String,
}

/// Bytes of a scramble, without the zero behind them.
pub(super) const SCRAMBLE: usize = 20;

/// The server's capability that says that it is no MariaDB; of a client, that it does not speak as one.
pub(super) const IS_MYSQL: u32 = 1;
/// Capabilities of both.
pub(super) const FOUND_ROWS: u32 = 1 << 1;
pub(super) const LONG_FLAG: u32 = 1 << 2;
pub(super) const CONNECT_WITH_DB: u32 = 1 << 3;
pub(super) const PROTOCOL_41: u32 = 1 << 9;
pub(super) const ENCRYPTION: u32 = 1 << 11;
pub(super) const TRANSACTIONS: u32 = 1 << 13;
pub(super) const SECURE_CONNECTION: u32 = 1 << 15;
pub(super) const PLUGIN_AUTH: u32 = 1 << 19;
pub(super) const DEPRECATE_EOF: u32 = 1 << 24;
/// Of the further ones: descriptions of columns are sent only when they changed.
pub(super) const CACHE_METADATA: u32 = 1 << 4;

/// Reads a greeting of version 10.
pub(super) fn greeting(packet: &[u8]) -> Result<Greeting, Garbage> {
    let mut parts = Parts(packet);
    if parts.u8()? != 10 {
        return Err(Garbage);
    }
    // Its version, which is asked for later, and the number of the connection.
    parts.until_zero();
    parts.u32()?;
    let mut scramble = [0; SCRAMBLE];
    scramble[..8].copy_from_slice(parts.bytes(8)?);
    parts.u8()?;
    let low = parts.u16()?;
    // The character set and the status.
    parts.bytes(3)?;
    let capabilities = u32::from(low) | u32::from(parts.u16()?) << 16;
    parts.u8()?;
    parts.bytes(6)?;
    let further = parts.u32()?;
    if capabilities & (SECURE_CONNECTION | PROTOCOL_41) != SECURE_CONNECTION | PROTOCOL_41 {
        return Err(Garbage);
    }
    scramble[8..].copy_from_slice(parts.bytes(SCRAMBLE - 8)?);
    parts.u8()?;
    let way = String::from_utf8_lossy(parts.until_zero()).into_owned();
    let is_maria = capabilities & IS_MYSQL == 0;
    Ok(Greeting {
        capabilities,
        further: if is_maria { further } else { 0 },
        scramble,
        way,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_seen_when_its_length_is() {
        let check = |bytes: &[u8], expected| assert_eq!(packet(bytes), expected, "{bytes:?}");
        check(b"", Ok(None));
        check(b"\x05\0\0", Ok(None));
        check(b"\x05\0\0\x02", Ok(Some((2, 9))));
        check(b"HTTP/1.1", Err(Garbage));
        // 16 MiB, after which another one would follow, and nothing.
        check(b"\xff\xff\xff\0", Err(Garbage));
        check(b"\0\0\0\0", Err(Garbage));
        check(b"\x01\0\x10\0", Err(Garbage));
    }

    #[test]
    fn numbers_have_the_length_that_they_say() {
        let check = |bytes: &[u8], expected| {
            assert_eq!(Parts(bytes).number(), expected, "{bytes:?}");
        };
        check(b"\xfa", Ok(Some(250)));
        check(b"\xfb", Ok(None));
        check(b"\xfc\x01\x02", Ok(Some(513)));
        check(b"\xfd\x01\0\x01", Ok(Some(65537)));
        check(b"\xfe\x01\0\0\0\0\0\0\x01", Ok(Some((1 << 56) + 1)));
        check(b"\xff", Err(Garbage));
        check(b"\xfc\x01", Err(Garbage));
        assert_eq!(Parts(b"\x02ab").text(), Ok(Some(&b"ab"[..])));
        assert_eq!(Parts(b"\x03ab").text(), Err(Garbage));
        assert_eq!(
            Parts(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff").text(),
            Err(Garbage)
        );
        assert_eq!(Parts(b"ab\0c").until_zero(), b"ab");
        assert_eq!(Parts(b"ab").until_zero(), b"ab");
    }

    #[test]
    fn ends_and_errors_and_values_are_read() {
        let done = ended(b"\0\x01\0\x02\0\0\0").unwrap();
        assert_eq!((done.rows, done.status), (1, 2));
        assert!(ended(b"\0\x01").is_err());
        let told = error(b"\xff\xbd\x04#40001Deadlock found").unwrap();
        assert_eq!(told, (1213, &b"Deadlock found"[..]));
        assert_eq!(
            error(b"\xff\x10\x04Too many").unwrap(),
            (1040, &b"Too many"[..])
        );
        assert!(error(b"\xff\x10").is_err() && error(b"\xff\x10\x04#400").is_err());
        let check = |row: &[u8], expected| assert_eq!(only_value(row), expected, "{row:?}");
        check(b"\0\0\x0212", Ok(Some(&b"12"[..])));
        check(b"\0\x04", Ok(None));
        check(b"\0\0\x0312", Err(Garbage));
        check(b"\0\0\x0112", Err(Garbage));
        check(b"\x01\0\x0212", Err(Garbage));
        check(b"\0\0\xfb", Err(Garbage));
        assert_eq!(whole(b"501234"), Ok(501_234));
        assert_eq!(whole(b"1.5"), Err(Garbage));
    }

    #[test]
    fn a_greeting_tells_who_speaks() {
        let of = |low: u16, high: u16, further: u32| {
            let mut bytes = b"\x0a5.5.5-10.11\0\x07\0\0\0abcdefgh\0".to_vec();
            bytes.extend(low.to_le_bytes());
            bytes.extend(b"\x2d\x02\0");
            bytes.extend(high.to_le_bytes());
            bytes.push(21);
            bytes.extend([0; 6]);
            bytes.extend(further.to_le_bytes());
            bytes.extend(b"ijklmnopqrst\0mysql_native_password\0");
            bytes
        };
        let maria = greeting(&of(0xf7fe, 0x81bf, 0x1d)).unwrap();
        assert_eq!(maria.further, 0x1d);
        assert_eq!(&maria.scramble, b"abcdefghijklmnopqrst");
        assert_eq!(maria.way, "mysql_native_password");
        // What is reserved at a MySQL means nothing.
        assert_eq!(greeting(&of(0xf7ff, 0x81bf, 0x1d)).unwrap().further, 0);
        assert!(greeting(&of(0x77ff, 0x81bf, 0)).is_err());
        assert!(greeting(b"\x09x\0").is_err());
    }
}
