//! Options that say how much is done.

use super::super::value::KbBase;
use super::{Kind, OptionDef};

/// The table.
pub(super) static OPTIONS: &[OptionDef] = &[
    OptionDef::new(
        "size",
        "",
        Kind::Extent(|d, extent| d.job.amount.size = Some(extent)),
        "The region of each job: bytes, or a share of the file or device. The \
             whole file or device where not said.",
    ),
    OptionDef::new(
        "io_size",
        "",
        Kind::Extent(|d, extent| d.job.amount.io_size = Some(extent)),
        "How much is transferred; less or more than the region, which is then \
             gone through again.",
    )
    .or(&["io_limit"]),
    OptionDef::new(
        "filesize",
        "",
        Kind::Text("a size, or a range `1m-4m`", filesize),
        "Size of each file, or the range from which it is drawn; `size` is then \
             the amount alone.",
    ),
    OptionDef::new(
        "offset",
        "0",
        Kind::Extent(|d, extent| d.job.amount.offset = extent),
        "Where the region starts in the file or device.",
    )
    .or(&["fileoffset"]),
    OptionDef::new(
        "offset_increment",
        "0",
        Kind::Extent(|d, extent| d.job.amount.offset_increment = extent),
        "Added to the offset once for every clone before this one.",
    ),
    OptionDef::new(
        "offset_align",
        "0",
        Kind::Size(|d, n| d.job.amount.offset_align_bytes = n),
        "What an offset given as a share is rounded to.",
    ),
    OptionDef::new(
        "number_ios",
        "0",
        Kind::Int(0..=u64::MAX, |d, n| {
            d.job.does.end.ops = (n > 0).then_some(n);
        }),
        "The job ends after so many operations, if it has not ended before.",
    ),
    OptionDef::new(
        "fill_device",
        "0",
        Kind::Bool(|d, on| d.job.amount.fills_device = on),
        "Sequential writes until the device is full. Of a file system about half of what is free is written, by which \
             the job ends as on a full disk; at least 1 GiB (10 % of a small one) stays free.",
    )
    .or(&["fill_fs"]),
    OptionDef::new(
        "loops",
        "1",
        Kind::Int(0..=1 << 32, |d, n| d.job.does.end.loops = n.max(1)),
        "How often the whole work is done.",
    ),
    OptionDef::new(
        "zonemode",
        "",
        Kind::Text("`none`, `strided`", |d, text| {
            d.zones_off = match text {
                "none" => true,
                "strided" => false,
                "zbd" => {
                    return Err(
                        "`zbd` needs a zoned block device, and none is supported".to_owned()
                    );
                }
                _ => return Err("`none` or `strided`".to_owned()),
            };
            Ok(())
        }),
        "`strided` works zone by zone; zoned block devices (`zbd`) are not \
             supported.",
    ),
    OptionDef::new(
        "zonesize",
        "0",
        Kind::Size(|d, n| d.zones.work_bytes = n),
        "How much is transferred in a zone before the next one comes.",
    ),
    OptionDef::new(
        "zonerange",
        "0",
        Kind::Size(|d, n| d.zones.range_bytes = n),
        "How long a zone is; as long as the transferred amount where not said.",
    ),
    OptionDef::new(
        "zoneskip",
        "0",
        Kind::Size(|d, n| d.zones.skip_bytes = n),
        "The gap between two zones.",
    ),
    OptionDef::new(
        "kb_base",
        "1024",
        Kind::Choice(&["1024", "1000"], |d, w| {
            d.job.amount.kb_base = if w == "1000" {
                KbBase::Decimal
            } else {
                KbBase::Binary
            };
        }),
        "What `k` means. At 1024 fio's prefixes are swapped against the standard: \
             `4k` is 4096 and `4KiB` is 4000, which is repeated here with a warning. \
             At 1000 `4k` is 4000 and `4KiB` is 4096.",
    ),
    OptionDef::new(
        "unit_base",
        "0",
        Kind::Choice(&["0", "8", "1"], |d, w| d.job.reporting.in_bits = w == "1"),
        "Whether the text report counts bytes (8) or bits (1).",
    ),
];

fn filesize(draft: &mut super::Draft, text: &str) -> Result<(), String> {
    let base = draft.base();
    let (low, high) = text.split_once(['-', ':']).unwrap_or((text, text));
    let low = super::parts::size(low, base, &mut draft.warnings)?;
    let high = super::parts::size(high, base, &mut draft.warnings)?;
    if low == 0 || high == 0 {
        return Err("at least 1 byte".to_owned());
    }
    draft.job.amount.file_size_bytes = Some((low.min(high), low.max(high)));
    Ok(())
}
