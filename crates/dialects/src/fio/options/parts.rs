//! Small grammars that several options share: fill patterns, lists of shares, CPU lists.

use crate::fio::value::{self, KbBase};
use model::job::ErrorNumbers;
use std::collections::BTreeSet;

/// The longest pattern, in bytes: fio's own limit.
const MAX_PATTERN: usize = 512;
/// The highest CPU number; the kernel's own limit for `CONFIG_NR_CPUS` is 8192.
const MAX_CPU: u32 = 8191;

/// A fill pattern: `0xdeadface`, `"text"`, a number, or several behind each other.
pub(super) fn pattern(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        rest = if let Some(quoted) = rest.strip_prefix('"') {
            let (inside, behind) = quoted.split_once('"').ok_or("a text that ends with `\"`")?;
            bytes.extend_from_slice(inside.as_bytes());
            behind
        } else if let Some(hex) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
            let (digits, behind) = split_while(hex, |c| c.is_ascii_hexdigit());
            push_hex(&mut bytes, digits)?;
            behind
        } else if rest.starts_with('\'') {
            return Err("a pattern written here; patterns from files are not read".to_owned());
        } else if rest.starts_with('%') {
            return Err("a fixed pattern; `%o` is not supported".to_owned());
        } else {
            let (number, behind) = decimal(rest)?;
            bytes.extend_from_slice(&number);
            behind
        };
        if bytes.len() > MAX_PATTERN {
            return Err(format!("a pattern of at most {MAX_PATTERN} bytes"));
        }
    }
    if bytes.is_empty() {
        return Err("a number, 0x and hexadecimal digits, or a text in `\"`".to_owned());
    }
    Ok(bytes)
}

/// A decimal number as its bytes, the lowest first, without those that are zero at the end.
fn decimal(text: &str) -> Result<(Vec<u8>, &str), String> {
    let is_negative = text.starts_with('-');
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (mut digits, mut behind) = split_while(digits, |c| c.is_ascii_digit());
    // The zero of `0x` begins a number of its own.
    if behind.starts_with(['x', 'X'])
        && let Some(before) = digits.strip_suffix('0').filter(|before| !before.is_empty())
    {
        (digits, behind) = (before, &text[text.len() - behind.len() - 1..]);
    }
    let number: i32 = digits
        .parse()
        .map_err(|_| "a number, 0x and hexadecimal digits, or a text in `\"`".to_owned())?;
    if is_negative {
        return Ok((number.wrapping_neg().to_le_bytes().to_vec(), behind));
    }
    let bytes = number.to_le_bytes();
    let length = bytes
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(1, |last| last + 1);
    Ok((bytes.get(..length).unwrap_or_default().to_vec(), behind))
}

/// Hexadecimal digits as bytes in the order in which they are written.
fn push_hex(bytes: &mut Vec<u8>, digits: &str) -> Result<(), String> {
    let expected = || "hexadecimal digits after `0x`".to_owned();
    if digits.is_empty() || digits.len() > 2 * MAX_PATTERN {
        return Err(expected());
    }
    let padded = if digits.len().is_multiple_of(2) {
        digits.to_owned()
    } else {
        format!("0{digits}")
    };
    for pair in padded.as_bytes().chunks(2) {
        let pair = std::str::from_utf8(pair).map_err(|_| expected())?;
        bytes.push(u8::from_str_radix(pair, 16).map_err(|_| expected())?);
    }
    Ok(())
}

fn split_while(text: &str, keep: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !keep(c)).unwrap_or(text.len());
    text.split_at(end)
}

/// One entry of `size/share:size/share`; an empty share is `None`.
pub(super) fn shares(text: &str, limit: usize) -> Result<Vec<(&str, Option<u8>)>, String> {
    let mut entries = Vec::new();
    for entry in text.split(':').filter(|entry| !entry.is_empty()) {
        if entries.len() == limit {
            return Err(format!("at most {limit} entries"));
        }
        let (first, share) = entry.split_once('/').unwrap_or((entry, ""));
        let share = match share.trim() {
            "" => None,
            share => {
                let share: u8 = share
                    .parse()
                    .map_err(|_| format!("`{share}` is no whole per cent"))?;
                if share > 100 {
                    return Err(format!("`{share}` is more than 100 per cent"));
                }
                Some(share)
            }
        };
        entries.push((first, share));
    }
    if entries.is_empty() {
        return Err("at least one entry".to_owned());
    }
    Ok(entries)
}

/// CPUs as `0-3,8`.
pub(super) fn cpus(text: &str) -> Result<BTreeSet<u32>, String> {
    let expected = || format!("CPU numbers up to {MAX_CPU} such as `0-3,8`");
    let mut cpus = BTreeSet::new();
    for part in text.split([',', ':']) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.trim().parse().map_err(|_| expected())?;
        // fio reads `0-` as CPU 0.
        let last: u32 = match last.trim() {
            "" => first,
            last => last.parse().map_err(|_| expected())?,
        };
        if first > last || last > MAX_CPU {
            return Err(expected());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

/// A size, with fio's readings said as in every other option.
pub(super) fn size(text: &str, base: KbBase, warnings: &mut Vec<String>) -> Result<u64, String> {
    let read = value::size(text, base).ok_or_else(|| format!("`{text}` is no size"))?;
    warnings.extend(read.warning);
    Ok(read.value)
}

/// Names of errors that storage has, beside those of [`FIRST_ERRORS`].
const ERRORS: &[(&str, i32)] = &[
    ("ENODATA", 61),
    ("EILSEQ", 84),
    ("EOPNOTSUPP", 95),
    ("ETIMEDOUT", 110),
    ("ESTALE", 116),
    ("EREMOTEIO", 121),
    ("EDQUOT", 122),
];

/// The first errors of Linux, from number 1 on.
const FIRST_ERRORS: &str = "EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD EAGAIN ENOMEM EACCES EFAULT \
                            ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY \
                            EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE";

/// The highest number of an error: the kernel's own limit.
const MAX_ERROR: i32 = 4095;

/// Errors of reads, writes and checks, as in `EAGAIN,ENOSPC:122`; 0 is none.
pub(super) fn errors(text: &str) -> Result<ErrorNumbers, String> {
    let mut lists = text.split(',');
    let mut next = || lists.next().map_or_else(|| Ok(Vec::new()), error_list);
    let numbers = ErrorNumbers {
        read: next()?,
        write: next()?,
        verify: next()?,
    };
    match lists.next() {
        None => Ok(numbers),
        Some(_) => Err("at most three lists: of reads, writes and checks".to_owned()),
    }
}

fn error_list(text: &str) -> Result<Vec<i32>, String> {
    let words = text.split(':').map(str::trim);
    let numbers = words.filter(|word| !word.is_empty()).map(error_number);
    let numbers: Vec<i32> = numbers.collect::<Result<_, _>>()?;
    Ok(numbers.into_iter().filter(|number| *number > 0).collect())
}

fn error_number(word: &str) -> Result<i32, String> {
    let first = FIRST_ERRORS.split_whitespace().zip(1..);
    let mut named = first.chain(ERRORS.iter().copied());
    let number = named
        .find(|(name, _)| *name == word)
        .map(|(_, number)| number);
    let number = number.or_else(|| word.parse().ok());
    number
        .filter(|number| (0..=MAX_ERROR).contains(number))
        .ok_or_else(|| {
            format!(
                "`{word}` is no error of storage such as `ENOSPC`, and no number up to {MAX_ERROR}"
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_bytes_in_the_order_written() {
        let check = |text: &str, expect: Option<&[u8]>| {
            assert_eq!(pattern(text).ok().as_deref(), expect, "{text}");
        };
        check("0xdeadbeef", Some(&[0xde, 0xad, 0xbe, 0xef]));
        check("0xabc", Some(&[0x0a, 0xbc]));
        check("\"abc\"", Some(b"abc"));
        check("12", Some(&[12]));
        check("-12", Some(&[0xf4, 0xff, 0xff, 0xff]));
        check("0xff\"a\"1", Some(&[0xff, b'a', 1]));
        // As fio 3.33 writes them.
        let all = [
            b"abcd".as_slice(),
            &[0xf4, 0xff, 0xff, 0xff, 0xde, 0xad, 0xfa, 0xce],
        ]
        .concat();
        check("\"abcd\"-120xdeadface", Some(&all));
        check("120xdeadface", Some(&[12, 0xde, 0xad, 0xfa, 0xce]));
        check("0xabx", None);
        check("abc", None);
        check("'file'", None);
        check("%o", None);
        check("\"open", None);
        check("0x", None);
        check("", None);
        check(&format!("0x{}", "00".repeat(600)), None);
    }

    #[test]
    fn errors_have_names_or_numbers_and_belong_to_reads_writes_or_checks() {
        let check = |text: &str, expect: Option<[&[i32]; 3]>| {
            let found = errors(text).ok();
            let found = found
                .as_ref()
                .map(|of| [&of.read[..], &of.write, &of.verify]);
            assert_eq!(found, expect, "{text}");
        };
        check("EAGAIN,ENOSPC:122", Some([&[11], &[28, 122], &[]]));
        check(",ENOSPC", Some([&[], &[28], &[]]));
        check(",,EILSEQ", Some([&[], &[], &[84]]));
        check(
            "EIO:EPERM:ERANGE:EDQUOT",
            Some([&[5, 1, 34, 122], &[], &[]]),
        );
        check("0", Some([&[], &[], &[]]));
        check("EIO,EIO,EIO,EIO", None);
        check("EFOO", None);
        check("-5", None);
        check("4096", None);
    }

    #[test]
    fn cpu_lists_are_bounded() {
        assert_eq!(cpus("0-2,5").unwrap(), BTreeSet::from([0, 1, 2, 5]));
        assert_eq!(cpus("1-").unwrap(), BTreeSet::from([1]));
        assert!(cpus("0-4000000000").is_err());
        assert!(cpus("3-1").is_err());
        assert!(cpus("a").is_err());
    }
}
