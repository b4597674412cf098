//! The languages that people are spoken to in.

/// A sentence with figures in each language, as `format!` takes it: word order differs, and a language that lacks a
/// sentence does not compile.
macro_rules! say {
    ($lang:expr, $en:literal, $ja:literal $(, $name:ident = $value:expr)* $(,)?) => {
        match $lang {
            $crate::lang::Lang::En => format!($en $(, $name = $value)*),
            $crate::lang::Lang::Ja => format!($ja $(, $name = $value)*),
        }
    };
}

pub(crate) use say;

/// A language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Japanese.
    Ja,
}

impl Lang {
    /// Every language.
    pub const ALL: [Self; 2] = [Self::En, Self::Ja];

    /// The language that a locale's name (`LC_ALL`, `LANG`) asks for: `ja_JP.UTF-8` is Japanese. Japanese in an
    /// encoding other than UTF-8 would arrive as rubbish, so that gets English, as does everything unknown.
    pub fn from_env(locale: &str) -> Self {
        let locale = locale.to_ascii_lowercase();
        let (name, encoding) = locale.split_once('.').unwrap_or((&locale, ""));
        let language = name.split(['_', '@', '-']).next().unwrap_or("");
        let encoding = encoding.split('@').next().unwrap_or("");
        match (language, encoding) {
            ("ja", "" | "utf-8" | "utf8") => Self::Ja,
            _ => Self::En,
        }
    }

    /// The word of this language.
    pub fn pick<T>(self, en: T, ja: T) -> T {
        match self {
            Self::En => en,
            Self::Ja => ja,
        }
    }
}
