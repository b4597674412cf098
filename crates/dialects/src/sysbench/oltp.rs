//! Which outputs of sysbench's OLTP tests are kurabe's own tests, and why others are none. An output of 1.0 says
//! neither the server nor the tables nor how rows are chosen: the command line above it alone does.

use super::text::Output;
use crate::figures::Ours;

/// Scripts, our tests of the same transactions, and reads, writes and others of one.
const SCRIPTS: [(&str, &str, [u64; 3]); 8] = [
    ("oltp_read_write", "db.oltp-read-write", [14, 4, 2]),
    ("oltp_read_only", "db.oltp-read-only", [14, 0, 2]),
    ("oltp_write_only", "db.oltp-write-only", [0, 4, 2]),
    ("oltp_point_select", "db.point-select", [1, 0, 0]),
    ("oltp_update_index", "db.update-index", [0, 1, 0]),
    ("oltp_update_non_index", "db.update-non-index", [0, 1, 0]),
    ("oltp_insert", "db.insert", [0, 1, 0]),
    ("oltp_delete", "db.delete", [0, 1, 0]),
];

/// Options that become parameters of ours, and what they are where nobody sets them; that of `rand-type` is the
/// version's.
const MAPPED: [(&str, &str, &str); 5] = [
    ("tables", "tables", "1"),
    ("table-size", "table_size", "10000"),
    ("range-size", "range_size", "100"),
    ("rand-type", "rows", ""),
    ("time", "time", "10"),
];

/// Options that decide nothing with this value; an empty one stands for any.
const HARMLESS: [(&str, &str); 16] = [
    ("threads", ""),
    ("num-threads", ""),
    ("max-time", ""),
    ("max-requests", "0"),
    ("db-driver", ""),
    ("report-interval", ""),
    ("percentile", ""),
    ("histogram", ""),
    ("rand-seed", ""),
    ("verbosity", ""),
    ("thread-init-timeout", ""),
    ("events", "0"),
    ("auto-inc", "on"),
    ("db-ps-mode", "auto"),
    ("mysql-storage-engine", "innodb"),
    ("rate", "0"),
];

/// What of a connection decides nothing that is compared, with the same rule for values: options of drivers that end
/// so. Encryption takes time of both ends, and kurabe's own is asked for otherwise.
const CONNECTION: [(&str, &str); 7] = [
    ("host", ""),
    ("port", ""),
    ("user", ""),
    ("password", ""),
    ("db", ""),
    ("socket", ""),
    ("ssl", "off"),
];

impl Output {
    /// kurabe's own test of the same definition, or why there is none.
    pub(super) fn oltp(&self, script: &str) -> Result<Ours, String> {
        let found = SCRIPTS
            .iter()
            .find(|(name, ..)| name.replace('_', "-") == script);
        let version = self.version.as_deref().unwrap_or("of an unknown version");
        let rows = match version {
            version if version.starts_with("1.0.") => "special",
            version if version.starts_with("1.1.") => "uniform",
            _ => {
                return Err(format!(
                    "sysbench {version} has other transactions or defaults"
                ));
            }
        };
        let Some(command) = &self.command else {
            return Err(
                "the command line is not above the output, which says server, tables and choice of rows"
                    .to_owned(),
            );
        };
        let Some((_, test, mix)) = found else {
            return Err("its script is none of the tests that kurabe has".to_owned());
        };
        let options = &command.options;
        let option = |name: &str| options.get(name).map(String::as_str);
        let server = match option("db-driver") {
            Some("mysql") | None => "mysql://",
            Some("pgsql") => "postgres://",
            Some(driver) => return Err(format!("kurabe has no driver {driver}")),
        };
        let is_harmless = |all: &[(&str, &str)], name: &str, value: &str| {
            let mut all = all.iter();
            all.any(|(known, only)| *known == name && ["", value].contains(only))
        };
        let is_known = |name: &str, value: &str| {
            let of_driver = name.strip_prefix("mysql-").or(name.strip_prefix("pgsql-"));
            of_driver.is_some_and(|end| is_harmless(&CONNECTION, end, value))
                || MAPPED.iter().any(|(known, ..)| *known == name)
                || is_harmless(&HARMLESS, name, value)
        };
        if let Some((name, value)) = options.iter().find(|(name, value)| !is_known(name, value)) {
            return Err(format!("kurabe's has no `--{name}={value}`"));
        }
        let mut set = Vec::new();
        for (name, param, default) in MAPPED {
            let default = if name == "rand-type" { rows } else { default };
            let older = (name == "time").then(|| option("max-time")).flatten();
            let value = option(name).or(older).unwrap_or(default);
            let number = value.parse::<u32>().ok().filter(|number| *number > 0);
            let is_ours = match name {
                "rand-type" => ["special", "uniform"].contains(&value),
                _ => number.is_some(),
            };
            if !is_ours {
                return Err(format!("kurabe's has no `--{name}={value}`"));
            }
            let unit = if name == "time" { "s" } else { "" };
            set.push((param, format!("{value}{unit}")));
        }
        if self.mix().is_some_and(|found| found != *mix) {
            return Err("its transactions have other numbers of queries".to_owned());
        }
        Ok(Ours {
            test: (*test).into(),
            set,
            server: Some(server),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::sysbench::READER;

    const OLTP: &str = include_str!("../../../../fuzz/corpus/sysbench_output/1.0-oltp");

    #[test]
    fn transactions_are_our_test_where_the_command_line_says_all() {
        let mut outputs = OLTP.split("\nsysbench 1.0.20").skip(1);
        let text = format!("sysbench 1.0.20{}", outputs.next().unwrap());
        let check = |command: &str, text: &str, expect: Result<&str, &str>| {
            let found = (READER.read)(&format!("{command}\n{text}\n"));
            let ours = found.figures[0].ours.clone().map(|ours| {
                let set = ours
                    .set
                    .iter()
                    .map(|(name, value)| format!(" {name}={value}"));
                format!(
                    "{} {}{}",
                    ours.server.unwrap(),
                    ours.test,
                    set.collect::<String>()
                )
            });
            let why = found.left_out.first().map(|left| left.what.as_str());
            match expect {
                Ok(ours_then) => assert_eq!((ours.as_deref(), why), (Some(ours_then), None)),
                Err(words) => {
                    assert_eq!(ours, None, "{command}");
                    assert!(
                        why.is_some_and(|why| why.contains(words)),
                        "{command}: {why:?}"
                    );
                }
            }
        };
        let with = |more: &str, expect: Result<&str, &str>| {
            let command = format!("$ sysbench oltp_read_write --threads=4{more} run");
            check(&command, &text, expect);
        };
        let test = "db.oltp-read-write tables=1 table_size=10000 range_size=100 rows=";
        with("", Ok(&format!("mysql:// {test}special time=10s")));
        with(
            " --db-driver=pgsql --pgsql-user=bob --pgsql-host=/run --rand-type=uniform --max-time=60",
            Ok(&format!("postgres:// {test}uniform time=60s")),
        );
        with(
            " --mysql-ssl=off --mysql-user=bob",
            Ok(&format!("mysql:// {test}special time=10s")),
        );
        for (other, words) in [
            (" --mysql-ssl=on", "--mysql-ssl=on"),
            (" --mysql-ssl", "--mysql-ssl"),
            (" --rand-type=pareto", "--rand-type=pareto"),
            (" --skip-trx=on", "--skip-trx=on"),
            (" --point-selects=1", "--point-selects=1"),
            (" --db-ps-mode=disable", "--db-ps-mode=disable"),
            (" --mysql-storage-engine=myisam", "myisam"),
            (" --db-driver=drizzle", "no driver drizzle"),
            (" --time=0", "--time=0"),
            (" --events=1000", "--events=1000"),
        ] {
            with(other, Err(words));
        }
        check("", &text, Err("the command line is not above"));
        let script = |script: &str, words| {
            let command = format!("$ sysbench {script} --threads=4 run");
            check(&command, &text, Err(words));
        };
        script("mine.lua", "its script is none");
        script("oltp_read_only", "other numbers of queries");
        let old = text.replace("sysbench 1.0.20", "sysbench 0.5");
        check("", &old, Err("sysbench 0.5 has other transactions"));
        // 1.1 chooses rows otherwise where nobody says it.
        let new = text.replace("sysbench 1.0.20", "sysbench 1.1.0");
        let command = "$ sysbench oltp_read_write --threads=4 run";
        check(
            command,
            &new,
            Ok(&format!("mysql:// {test}uniform time=10s")),
        );
    }
}
