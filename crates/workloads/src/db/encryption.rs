//! What an address says of encryption, in the words of each server's own clients.
//!
//! Whether a connection is encrypted decides a figure, so that the address alone says it: without a word it is not, and
//! the words that leave it to the server (`prefer`, which libpq takes where there is none) are refused. A word that
//! would check nothing is refused as well.

use super::address::{Address, BadAddress, Defaults};
use super::engines::{Engine, Parameter};
use std::path::{Path, PathBuf};

/// That connections are encrypted, and what is asked of the server for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// What is asked of its certificate.
    pub check: Check,
    /// The file of authorities that may have signed it; without one the machine's own.
    pub authorities: Option<PathBuf>,
}

/// What is asked of a server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Nothing: who is between can read everything.
    Nothing,
    /// That an authority has signed it.
    Authority,
    /// That an authority has signed it for the host of the address.
    Name,
}

/// What a word of a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Off,
    On(Check),
    /// Whatever the server offers.
    Undecided,
}

/// What has been read of it.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// The scheme asks for it.
    by_scheme: bool,
    mode: Option<Mode>,
    /// With the name of the parameter.
    authorities: Option<(&'static str, String)>,
    insecure: Option<&'static str>,
}

impl Words {
    pub(super) fn new(by_scheme: bool) -> Self {
        Self {
            by_scheme,
            ..Self::default()
        }
    }

    /// A parameter of an address.
    pub(super) fn take(
        &mut self,
        name: &'static str,
        parameter: Parameter,
        value: String,
    ) -> Result<(), BadAddress> {
        match parameter {
            Parameter::Mode(modes) => {
                let mut modes = modes.iter();
                let found = modes.find(|(word, _)| word.eq_ignore_ascii_case(&value));
                match found.ok_or(BadAddress::Part(name))? {
                    (word, Mode::Undecided) => return Err(BadAddress::Undecided(name, word)),
                    (_, mode) => self.mode = Some(*mode),
                }
            }
            Parameter::Authorities => self.authorities = Some((name, value)),
            Parameter::Insecure => match value.as_str() {
                "" | "1" | "true" | "yes" => self.insecure = Some(name),
                "0" | "false" | "no" => self.insecure = None,
                _ => return Err(BadAddress::Part(name)),
            },
            _ => return Err(BadAddress::ClientCertificate(name)),
        }
        Ok(())
    }

    /// What is asked for; refuses what would ask for nothing.
    pub(super) fn whole(self, engine: Engine) -> Result<Option<Encryption>, BadAddress> {
        let mut check = match self.mode {
            Some(Mode::On(check)) => Some(check),
            _ if self.by_scheme && self.insecure.is_some() => Some(Check::Nothing),
            _ if self.by_scheme => Some(Check::Name),
            _ => None,
        };
        if let (Some(name), None) = (self.insecure, check) {
            return Err(BadAddress::Unused(name, needs(engine)));
        }
        let mut authorities = None;
        if let Some((name, value)) = self.authorities {
            // As libpq does it.
            if engine == Engine::Postgres && check == Some(Check::Nothing) {
                check = Some(Check::Authority);
            }
            if !matches!(check, Some(Check::Authority | Check::Name)) {
                return Err(BadAddress::Unused(name, needs(engine)));
            }
            let is_own =
                engine == Engine::Postgres && value == "system" && check == Some(Check::Name);
            if !is_own {
                let is_one = value.starts_with('/') && !value.contains(char::is_control);
                authorities = Some(is_one.then(|| value.into()).ok_or(BadAddress::File(name))?);
            }
        }
        Ok(check.map(|check| Encryption { check, authorities }))
    }
}

/// Without what a parameter means nothing.
const fn needs(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "`sslmode=verify-full` (or `verify-ca`)",
        Engine::Mysql => "`ssl-mode=VERIFY_IDENTITY` (or `VERIFY_CA`)",
        Engine::Redis => "`rediss://`, and authorities nothing beside `insecure`",
    }
}

/// Whether the server of a run is spoken to encrypted.
pub(super) fn is_asked(path: &Path) -> bool {
    let typed = Address::read(&path.to_string_lossy(), &Defaults::default());
    typed.is_ok_and(|typed| typed.address.tls.is_some())
}

impl Encryption {
    /// The parameters that say it, with their values.
    pub(super) fn parameters(&self, engine: Engine) -> Vec<(&'static str, String)> {
        let mut all = Vec::new();
        for (name, parameter) in engine.form().parameters {
            match parameter {
                Parameter::Mode(modes) => {
                    let mut modes = modes.iter();
                    let own = modes.find(|(_, mode)| *mode == Mode::On(self.check));
                    all.extend(own.map(|(word, _)| (*name, (*word).to_owned())));
                }
                Parameter::Insecure if self.check == Check::Nothing => {
                    all.push((*name, "true".to_owned()));
                }
                Parameter::Authorities => {
                    let path = self.authorities.as_ref();
                    all.extend(path.map(|path| (*name, path.to_string_lossy().into_owned())));
                }
                _ => {}
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<(String, Option<Encryption>), BadAddress> {
        let address = Address::read(url, &Defaults::default())?.address;
        Ok((address.to_string(), address.tls))
    }

    #[test]
    fn each_server_is_asked_in_the_words_of_its_clients() {
        let check = |url: &str, shown: &str, expected: Option<(Check, Option<&str>)>| {
            let expected = expected.map(|(check, file)| Encryption {
                check,
                authorities: file.map(PathBuf::from),
            });
            let found = read(url).unwrap_or_else(|why| panic!("{url}: {why}"));
            assert_eq!(found, (shown.to_owned(), expected.clone()), "{url}");
            // What is kept is read again.
            assert_eq!(read(shown).unwrap(), (shown.to_owned(), expected), "{url}");
        };
        let own = "postgres://b@h:5432/d";
        check("postgres://b@h/d", own, None);
        check("postgres://b@h/d?sslmode=disable", own, None);
        for (word, asked) in [
            ("require", Check::Nothing),
            ("verify-ca", Check::Authority),
            ("verify-full", Check::Name),
        ] {
            let url = format!("postgres://b@h/d?sslmode={word}");
            check(&url, &format!("{own}?sslmode={word}"), Some((asked, None)));
        }
        let with_file = "postgres://b@h:5432/d?sslmode=verify-ca&sslrootcert=/etc/my%20ca.pem";
        let file = Some("/etc/my ca.pem");
        check(with_file, with_file, Some((Check::Authority, file)));
        check(
            "postgres://b@h/d?sslrootcert=/etc/my%20ca.pem&sslmode=require",
            with_file,
            Some((Check::Authority, file)),
        );
        check(
            "postgres://b@h/d?sslmode=verify-full&sslrootcert=system",
            "postgres://b@h:5432/d?sslmode=verify-full",
            Some((Check::Name, None)),
        );
        check(
            "mysql://b@h/d?ssl-mode=disabled",
            "mysql://b@h:3306/d",
            None,
        );
        check(
            "mysql://b@h/d?ssl-mode=required",
            "mysql://b@h:3306/d?ssl-mode=REQUIRED",
            Some((Check::Nothing, None)),
        );
        check(
            "mariadb://b@h/d?ssl-mode=VERIFY_IDENTITY&ssl-ca=/ca",
            "mysql://b@h:3306/d?ssl-mode=VERIFY_IDENTITY&ssl-ca=/ca",
            Some((Check::Name, Some("/ca"))),
        );
        check("rediss://h", "rediss://h:6379/0", Some((Check::Name, None)));
        check(
            "valkeys://h/1?cacert=/ca",
            "rediss://h:6379/1?cacert=/ca",
            Some((Check::Name, Some("/ca"))),
        );
        check(
            "rediss://h?insecure",
            "rediss://h:6379/0?insecure=true",
            Some((Check::Nothing, None)),
        );
        check("redis://h?insecure=no", "redis://h:6379/0", None);
    }

    #[test]
    fn what_is_left_to_the_server_or_checks_nothing_is_refused() {
        let check = |url: &str, words: &[&str]| {
            let why = read(url).unwrap_err().to_string();
            for word in words {
                assert!(why.contains(word), "{url}: {why}");
            }
            assert!(!why.contains("hunter2"), "{url}: {why}");
        };
        let pg = |rest: &str| format!("postgres://b:hunter2@h/d?{rest}");
        let my = |rest: &str| format!("mysql://b:hunter2@h/d?{rest}");
        check(&pg("sslmode=prefer"), &["`sslmode=prefer`", "hint: "]);
        check(&pg("sslmode=allow"), &["`sslmode=allow`", "to the server"]);
        check(&my("ssl-mode=PREFERRED"), &["`ssl-mode=PREFERRED`"]);
        check(&pg("sslmode=hunter2"), &["sslmode"]);
        check(&pg("sslrootcert=/x"), &["`sslrootcert`", "verify-full"]);
        check(
            &my("ssl-mode=REQUIRED&ssl-ca=/x"),
            &["`ssl-ca`", "VERIFY_CA"],
        );
        check(&pg("sslmode=verify-ca&sslrootcert=x"), &["absolute"]);
        check(&pg("sslmode=verify-ca&sslrootcert=system"), &["absolute"]);
        check("redis://h?cacert=/x", &["`cacert`", "rediss://"]);
        check("redis://h?insecure", &["`insecure`", "rediss://"]);
        check("rediss://h?insecure&cacert=/x", &["`cacert`", "`insecure`"]);
        check("rediss://h?insecure=hunter2", &["insecure"]);
        for url in [
            &pg("sslcert=/hunter2"),
            &pg("sslkey=/hunter2"),
            &my("ssl-cert=/hunter2"),
            "rediss://h?key=/hunter2",
        ] {
            check(url, &["certificate of its own", "hint: "]);
        }
        // Nothing is encrypted over a Unix socket, whoever names it.
        for url in [
            "postgres://b@/d?host=/run/pg&sslmode=require",
            "mysql://b@/d?socket=/s&ssl-mode=REQUIRED",
            "rediss:///0?socket=/s",
        ] {
            check(url, &["Unix socket", "hint: "]);
        }
    }
}
