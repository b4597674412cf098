//! Options that say what is written, when it is durable, and how it is checked.

use super::super::draft::Draft;
use super::{Kind, OptionDef, parts, small};
use model::job::{SyncOn, VerifyMethod};

const ANY: u64 = u64::MAX;

/// The table.
pub(super) static OPTIONS: &[OptionDef] = &[
    OptionDef::new(
        "sync",
        "none",
        Kind::Choice(&["none", "sync", "dsync", "0", "1"], |d, w| {
            d.job.does.sync = match w {
                "sync" | "1" => SyncOn::Sync,
                "dsync" => SyncOn::Dsync,
                _ => SyncOn::None,
            };
        }),
        "Whether a write returns when it is durable, with its metadata (`sync`) \
             or without (`dsync`).",
    ),
    OptionDef::new(
        "fsync",
        "0",
        Kind::Int(0..=ANY, |d, n| d.job.does.fsync_every = n),
        "An fsync after every so many writes; its latency is reported by itself.",
    ),
    OptionDef::new(
        "fdatasync",
        "0",
        Kind::Int(0..=ANY, |d, n| d.job.does.fdatasync_every = n),
        "The same with fdatasync.",
    ),
    OptionDef::new(
        "end_fsync",
        "0",
        Kind::Bool(|d, on| d.job.does.fsync_at_end = on),
        "An fsync when the work is done, inside the measured time.",
    ),
    OptionDef::new(
        "fsync_on_close",
        "0",
        Kind::Bool(|d, on| d.job.does.fsync_on_close = on),
        "An fsync when a file is closed.",
    ),
    OptionDef::new(
        "zero_buffers",
        "0",
        Kind::Flag(|d, on| d.job.data.is_zero = on),
        "Zeros are written. Devices that compress make them disappear.",
    ),
    OptionDef::new(
        "refill_buffers",
        "0",
        Kind::Flag(|d, on| d.job.data.refills = on),
        "Every operation writes new random data.",
    ),
    OptionDef::new(
        "scramble_buffers",
        "1",
        Kind::Bool(|d, on| d.job.data.scrambles = on),
        "Every operation changes its random buffer a little, so that no two are \
             alike.",
    ),
    OptionDef::new(
        "buffer_pattern",
        "",
        Kind::Text(PATTERN, |d, text| {
            d.job.data.pattern = Some(parts::pattern(text)?);
            d.job.data.scrambles = false;
            Ok(())
        }),
        "A pattern that is written again and again instead of random data.",
    ),
    OptionDef::new(
        "buffer_compress_percentage",
        "",
        Kind::Int(0..=100, |d, n| {
            d.job.does.redundancy.compress_percent = small(n);
            d.job.data.refills = true;
        }),
        "How much of the data a compressor could save.",
    ),
    OptionDef::new(
        "buffer_compress_chunk",
        "512",
        Kind::Size(|_, _| {}),
        "Over which stretch, in bytes, that share holds.",
    ),
    OptionDef::new(
        "dedupe_percentage",
        "",
        Kind::Int(0..=100, |d, n| {
            d.job.does.redundancy.dedupe_percent = small(n);
            d.job.data.refills = true;
        }),
        "Share of buffers that are equal to an earlier one.",
    ),
    OptionDef::new(
        "dedupe_mode",
        "repeat",
        Kind::Choice(&["repeat", "working_set"], |d, w| {
            d.job.data.equal.is_set = w == "working_set";
        }),
        "Whether equal buffers are all the same one (`repeat`; fio repeats the one before), or drawn from a set.",
    ),
    OptionDef::new(
        "dedupe_working_set_percentage",
        "5",
        Kind::Int(1..=100, |d, n| d.job.data.equal.percent = small(n)),
        "How large that set is: a share of the file.",
    ),
    OptionDef::new(
        "dedupe_global",
        "0",
        Kind::Bool(|d, on| d.job.data.equal.is_shared = on),
        "All jobs of the same `randseed` draw from the same set.",
    ),
    OptionDef::new(
        "verify",
        "0",
        Kind::Text(METHODS, verify),
        "Written data carries fio's header with a checksum, or the pattern alone, and is checked when it is read back. \
             What fio 3.33 wrote is checked here and the other way round, but for `sha512`: fio's keeps no checksum \
             and finds no damage, so that one here is refused by the other. `sha256` is fio's: 64 bits of it. `meta` \
             checks the header alone, `null` nothing.",
    ),
    OptionDef::new(
        "do_verify",
        "1",
        Kind::Bool(|d, on| d.job.verify.how.reads_back = on),
        "Written data is read back after the work; off, only the headers are \
             written.",
    ),
    OptionDef::new(
        "verify_only",
        "0",
        Kind::Flag(|d, on| d.job.verify.how.only_checks = on),
        "Nothing is written; what an earlier run with the same options wrote is \
             checked.",
    ),
    OptionDef::new(
        "verify_fatal",
        "0",
        Kind::Bool(|d, on| d.job.verify.how.is_fatal = on),
        "The first mismatch ends the job.",
    ),
    OptionDef::new(
        "verify_dump",
        "0",
        Kind::Bool(|_, _| {}),
        "Both versions of a block that does not match are kept.",
    ),
    OptionDef::new(
        "verify_backlog",
        "",
        Kind::Int(0..=ANY, |d, n| {
            d.job.verify.how.backlog = (n > 0).then_some(n);
        }),
        "Checks after so many written blocks, instead of at the end.",
    ),
    OptionDef::new(
        "verify_backlog_batch",
        "",
        Kind::Int(0..=ANY, |d, n| {
            d.job.verify.how.backlog_batch = (n > 0).then_some(n);
        }),
        "How many blocks are checked then.",
    ),
    OptionDef::new(
        "verify_interval",
        "",
        Kind::Size(|d, n| d.job.verify.how.interval_bytes = (n > 0).then_some(n)),
        "Distance of two headers in bytes; the operation size where not said.",
    ),
    OptionDef::new(
        "verify_offset",
        "0",
        Kind::Size(|d, n| d.job.verify.how.offset_bytes = n),
        "Where in that distance the header stands.",
    ),
    OptionDef::new(
        "verify_pattern",
        "",
        Kind::Text(PATTERN, |d, text| {
            d.job.verify.pattern = Some(parts::pattern(text)?);
            Ok(())
        }),
        "The pattern that blocks are filled with: checked byte by byte with `verify=pattern`, else behind a header \
             whose checksum is checked.",
    ),
    OptionDef::new(
        "verify_state_save",
        "1",
        Kind::Bool(|_, _| {}),
        "How far a job that was interrupted had written is kept for a later \
             check.",
    ),
];

const PATTERN: &str = "a number, `0x` and hexadecimal digits, a text in `\"`, or several of \
             them";
const METHODS: &str = "`meta`, `crc7`, `crc16`, `crc32`, `crc32c`, `crc32c-intel`, `crc64`, `xxhash`, `md5`, `sha1`, \
             `sha256`, `sha512`, `pattern`, `null`, or `0` for none";

fn verify(draft: &mut Draft, text: &str) -> Result<(), String> {
    let verify = &mut draft.job.verify;
    verify.is_on = text != "0";
    verify.how.method = match text {
        "0" | "crc32c" | "crc32c-intel" => VerifyMethod::Crc32c,
        "meta" => VerifyMethod::Meta,
        "crc7" => VerifyMethod::Crc7,
        "crc16" => VerifyMethod::Crc16,
        "crc32" => VerifyMethod::Crc32,
        "crc64" => VerifyMethod::Crc64,
        "xxhash" => VerifyMethod::Xxhash,
        "md5" => VerifyMethod::Md5,
        "sha1" => VerifyMethod::Sha1,
        "sha256" => VerifyMethod::Sha256,
        "sha512" => VerifyMethod::Sha512,
        "pattern" => VerifyMethod::Pattern(Vec::new()),
        "null" => VerifyMethod::Nothing,
        "sha3-224" | "sha3-256" | "sha3-384" | "sha3-512" => {
            return Err(format!(
                "SHA-3 finds no accident that the others do not, and would be one more library; {METHODS}"
            ));
        }
        "pattern_hdr" => {
            return Err(format!(
                "a header without a checksum before a pattern is not supported; {METHODS}"
            ));
        }
        _ => return Err(METHODS.to_owned()),
    };
    Ok(())
}
