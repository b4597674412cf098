//! A host name as it is typed: what may be in one, and which names are asked for in its place.

use super::config::Config;

/// The most characters of a name: 255 bytes in a message (RFC 1035, section 2.3.4), without the first length and the
/// last.
const NAME_MAX: usize = 253;

/// The most characters between two dots (RFC 1035, section 2.3.4).
const LABEL_MAX: usize = 63;

/// Why a text is no host, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) why: String,
    pub(super) hint: &'static str,
}

impl Refusal {
    pub(super) fn new(why: impl Into<String>, hint: &'static str) -> Self {
        Self {
            why: why.into(),
            hint,
        }
    }
}

/// A name that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Host<'a> {
    text: &'a str,
    is_complete: bool,
}

impl<'a> Host<'a> {
    /// Takes what RFC 1123 (section 2.1) allows in names of hosts, and the underscore: containers are called so.
    pub(super) fn read(text: &'a str) -> Result<Self, Refusal> {
        let name = text.strip_suffix('.').unwrap_or(text);
        refusal(name).map_or(Ok(()), Err)?;
        Ok(Self {
            text: name,
            is_complete: name.len() < text.len(),
        })
    }

    /// The name, without the dot at its end.
    pub(super) fn text(self) -> &'a str {
        self.text
    }

    /// Whether this is `localhost` or below it (RFC 6761, section 6.3).
    pub(super) fn is_localhost(self) -> bool {
        let last = self.text.rsplit('.').next();
        last.is_some_and(|label| label.eq_ignore_ascii_case("localhost"))
    }

    /// The names to ask for, one after the other until one exists, without dots at their ends. As resolv.conf(5) has
    /// it under `search` and `ndots`: as it is first where it has enough dots, and last otherwise.
    pub(super) fn candidates(self, config: &Config) -> Vec<String> {
        let itself = self.text.to_owned();
        if self.is_complete {
            return vec![itself];
        }
        let longer = config.search.iter();
        let longer = longer.map(|domain| format!("{itself}.{domain}"));
        let mut names: Vec<String> = longer.filter(|name| name.len() <= NAME_MAX).collect();
        let dots = itself.matches('.').count();
        let place = if dots >= config.ndots { 0 } else { names.len() };
        names.insert(place, itself);
        names
    }
}

/// Why this is no name (without a dot at its end); `None` where it is one.
pub(super) fn refusal(name: &str) -> Option<Refusal> {
    const WRITE: &str = "write a name such as `db.example`, or an address";
    let mut labels = name.split('.');
    if !name.is_ascii() {
        let hint =
            "write the form of it that begins with `xn--`, which `idn2 NAME` prints, or an address";
        return Some(Refusal::new("names are ASCII", hint));
    }
    let why = if name.is_empty() {
        "it is empty".to_owned()
    } else if name.len() > NAME_MAX {
        format!("it has {} characters, more than {NAME_MAX}", name.len())
    } else if let Some(c) = name.chars().find(|&c| !may_be_in_name(c)) {
        format!("`{}` is in no name", c.escape_default())
    } else if labels.clone().any(str::is_empty) {
        "nothing is between two of its dots".to_owned()
    } else if let Some(long) = labels.find(|label| label.len() > LABEL_MAX) {
        let length = long.len();
        format!("a part of it has {length} characters, more than {LABEL_MAX}")
    } else {
        return None;
    };
    Some(Refusal::new(why, WRITE))
}

fn may_be_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::super::config;
    use super::*;

    #[test]
    fn what_is_no_name_is_refused_with_its_reason() {
        let check = |text: &str, expect: Option<&str>| {
            let found = Host::read(text).err();
            assert_eq!(found.map(|found| found.why).as_deref(), expect, "{text}");
        };
        let label = "a".repeat(63);
        let longest = format!("{label}.{label}.{label}.{}", "b".repeat(61));
        assert_eq!(longest.len(), 253);
        check(&longest, None);
        check(&format!("{longest}."), None);
        let why = "it has 254 characters, more than 253";
        check(&format!("{longest}b"), Some(why));
        let why = "a part of it has 64 characters, more than 63";
        check(&format!("db.{label}a"), Some(why));
        for name in [
            "db",
            "db.",
            "my_db-1.example",
            "DB.Example.",
            "7up",
            "xn--db-9na",
        ] {
            check(name, None);
        }
        let between = "nothing is between two of its dots";
        for (name, why) in [
            ("", "it is empty"),
            (".", "it is empty"),
            ("..", between),
            (".db", between),
            ("db..", between),
            ("a..b", between),
            ("a b", "` ` is in no name"),
            ("a\nb", "`\\n` is in no name"),
            ("\u{1b}[31m", "`\\u{1b}` is in no name"),
            ("me@db", "`@` is in no name"),
            ("db/x", "`/` is in no name"),
            ("bücher.example", "names are ASCII"),
            ("日本.example", "names are ASCII"),
        ] {
            check(name, Some(why));
        }
        let hint = Host::read("bücher.example").unwrap_err().hint;
        assert!(hint.contains("xn--"), "{hint}");
    }

    #[test]
    fn localhost_and_what_is_below_it_are_known() {
        for (name, expect) in [
            ("localhost", true),
            ("LocalHost.", true),
            ("db.localhost", true),
            ("a.b.localhost.", true),
            ("localhost.example", false),
            ("mylocalhost", false),
            ("localhost6", false),
        ] {
            assert_eq!(Host::read(name).unwrap().is_localhost(), expect, "{name}");
        }
    }

    #[test]
    fn the_search_list_comes_before_or_after_the_name_itself() {
        let check = |text: &str, file: &str, expect: &[&str]| {
            let names = Host::read(text)
                .unwrap()
                .candidates(&config::parse(file, None));
            assert_eq!(names, expect, "{text} with {file}");
        };
        let two = "search one.example two.example\n";
        check("db", two, &["db.one.example", "db.two.example", "db"]);
        check("db.", two, &["db"]);
        check(
            "db.x",
            two,
            &["db.x", "db.x.one.example", "db.x.two.example"],
        );
        check("db.x.", two, &["db.x"]);
        let five = format!("{two}options ndots:5\n");
        check(
            "a.b.c.d.e",
            &five,
            &[
                "a.b.c.d.e.one.example",
                "a.b.c.d.e.two.example",
                "a.b.c.d.e",
            ],
        );
        let none = format!("{two}options ndots:0\n");
        check("db", &none, &["db", "db.one.example", "db.two.example"]);
        check("db", "", &["db"]);
        // A name that would be too long is left out, and the others are not.
        let long = format!("{}.{}", "a".repeat(63), "b".repeat(63));
        let domain = format!("{long}.{}.{}", "c".repeat(63), "d".repeat(59));
        let search = format!("search {domain} example\n");
        assert_eq!(config::parse(&search, None).search.len(), 2);
        check("db", &search, &["db.example", "db"]);
    }
}
