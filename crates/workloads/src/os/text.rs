//! The text that the shell scripts work on: made here from a word list of our own, always the same.
//!
//! Its counts are those of the text in the original, because sort, od, grep and wc cost what their input has: bytes,
//! lines, distinct lines, lines that match. The words themselves do not matter.

/// What the text has; the tests below hold it to that.
pub(super) mod counts {
    /// Bytes, newlines included.
    pub(in crate::os) const BYTES: usize = 8_546;
    /// Lines.
    pub(in crate::os) const LINES: usize = 362;
    /// Lines that differ from each other, the empty one included.
    pub(in crate::os) const DISTINCT: usize = 273;
    /// The longest line, in characters.
    pub(in crate::os) const LONGEST: usize = 82;
    /// Lines with `the` in them.
    pub(in crate::os) const THE: usize = 35;
    /// Lines that od prints of it in whatever order: a line per 16 bytes and one for the end. No two of them in a
    /// row are equal, or od would fold them.
    pub(in crate::os) const OD_LINES: usize = BYTES.div_ceil(16) + 1;
}

/// No word has `the` in it, not even cut short.
const WORDS: [&str; 32] = [
    "amber", "basin", "cobalt", "drift", "ember", "fjord", "gravel", "harbor", "indigo", "juniper",
    "kelp", "lantern", "meadow", "nickel", "orchid", "pebble", "quartz", "ridge", "saffron",
    "timber", "umber", "valley", "willow", "yarrow", "zinc", "moss", "dune", "reef", "cliff",
    "spring", "glade", "brook",
];

/// Empty lines. Together less than two lines of od, whichever way they fall.
const EMPTY: usize = 20;

/// Lines that stand in the text several times, next to the empty ones.
const REPEATED: usize = 20;

/// The shortest line that is not empty.
const SHORTEST: usize = 5;

/// Copies that the repeated lines have beyond the first.
const COPIES: usize = counts::LINES - counts::DISTINCT - (EMPTY - 1);

/// The text.
pub(super) fn make() -> String {
    let mut random = Random(1);
    let lengths = lengths(&mut random);
    let mut lines: Vec<String> = Vec::with_capacity(counts::LINES);
    for (number, &length) in lengths.iter().enumerate() {
        // The lines with `the` are among those that stand there once.
        let the = (REPEATED..REPEATED + counts::THE).contains(&number);
        let line = loop {
            let line = line(length, the, &mut random);
            if !lines.contains(&line) {
                break line;
            }
        };
        lines.push(line);
    }
    lines.extend_from_within(..REPEATED);
    for copy in 0..COPIES - REPEATED {
        lines.push(lines[copy % REPEATED].clone());
    }
    lines.resize(counts::LINES, String::new());
    for last in (1..lines.len()).rev() {
        lines.swap(last, random.below(last + 1));
    }
    lines
        .iter()
        .flat_map(|line| [line.as_str(), "\n"])
        .collect()
}

/// The length of every distinct line but the empty one, so that the text has the right number of bytes.
fn lengths(random: &mut Random) -> Vec<usize> {
    let mut lengths: Vec<usize> = (1..counts::DISTINCT)
        .map(|number| match number - 1 {
            // With its newline no such line fits a whole number of times into 16 bytes, so od never sees two equal
            // lines in a row however often it is repeated.
            repeated if repeated < REPEATED => [8, 9, 10, 11, 12][repeated % 5],
            REPEATED => counts::LONGEST,
            _ => SHORTEST + random.below(44),
        })
        .collect();
    let copied =
        |lengths: &[usize]| -> usize { (0..COPIES).map(|copy| lengths[copy % REPEATED]).sum() };
    let wanted = counts::BYTES - counts::LINES;
    let mut number = REPEATED;
    loop {
        let now = lengths.iter().sum::<usize>() + copied(&lengths);
        if now == wanted {
            return lengths;
        }
        number = if number + 1 < lengths.len() {
            number + 1
        } else {
            REPEATED + 1
        };
        let length = &mut lengths[number];
        *length = if now < wanted {
            (*length + 1).min(counts::LONGEST - 1)
        } else {
            (*length - 1).max(SHORTEST)
        };
    }
}

/// Words up to exactly `length` characters; the last one may be cut.
fn line(length: usize, the: bool, random: &mut Random) -> String {
    let mut line = String::from(if the { "the" } else { "" });
    while line.len() < length {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(WORDS[random.below(WORDS.len())]);
    }
    line.truncate(length);
    if line.ends_with(' ') {
        line.pop();
        line.push('.');
    }
    line
}

/// A linear congruential generator, Knuth's MMIX constants: the text must never change, whatever becomes of the
/// program's own generator.
struct Random(u64);

impl Random {
    /// A number below `bound`, which is far below 2^32.
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let high = usize::try_from(self.0 >> 33).expect("31 bits fit");
        high % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_text_has_the_counts_of_the_original() {
        let text = make();
        let lines: Vec<&str> = text.lines().collect();
        let distinct: HashSet<&str> = lines.iter().copied().collect();
        assert_eq!(text.len(), counts::BYTES);
        assert_eq!(lines.len(), counts::LINES);
        assert_eq!(distinct.len(), counts::DISTINCT);
        assert_eq!(
            lines.iter().map(|line| line.len()).max(),
            Some(counts::LONGEST)
        );
        assert_eq!(
            lines.iter().filter(|line| line.contains("the")).count(),
            counts::THE
        );
        assert_eq!((text.len() - lines.len()) / lines.len(), 22);
    }

    #[test]
    fn od_folds_no_line_of_the_sorted_text() {
        let text = make();
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        lines.sort_unstable();
        let sorted: String = lines.concat();
        let rows: Vec<&[u8]> = sorted.as_bytes().chunks(16).collect();
        assert!(rows.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(rows.len() + 1, counts::OD_LINES);
        assert_eq!(counts::OD_LINES, 536);
    }

    #[test]
    fn the_text_is_always_the_same() {
        assert_eq!(
            model::digest::Digest::EMPTY.bytes(make().as_bytes()).0,
            0x2622_8920_dcbd_0c2f
        );
    }
}
