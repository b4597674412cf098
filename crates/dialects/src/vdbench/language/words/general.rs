//! What holds for all runs, and hosts.

use super::{Status, Takes, Word};

const KEPT: &str = "every run keeps its latencies in full, and `show` prints them";
const VERIFY: &str = "what was written is not read back";
const VERIFY_HINT: &str = "`kurabe fio` with `verify=crc32c` reads back what it wrote";

pub(super) static WORDS: &[Word] = &[
    Word::done(
        "compratio",
        Takes::Ratio,
        "1",
        "How much smaller what is written becomes by compression.",
    )
    .of_storages(),
    Word::refused(
        "abort_failed_skew",
        "Ends a run whose shares were not kept.",
        "shares are kept or told",
    )
    .but(&["no"]),
    Word::done(
        "create_anchors",
        Takes::Choice(&["yes", "no"]),
        "no",
        "Anchors of which nothing is there are stood for by the directory above that is.",
    ),
    Word::noted(
        "data_errors",
        "How many errors end a run.",
        "the first error ends the workload that met it, and no figure of its round counts",
    ),
    Word::refused("debug", "Prints more.", "there is nothing of the kind"),
    Word::refused(
        "dedupratio",
        "How much smaller what is written becomes by deduplication.",
        "every block that is written differs from all others",
    )
    .but(&["1"]),
    Word::noted(
        "dedupsets",
        "Sets of equal blocks.",
        "it needs `dedupratio`, which is refused",
    ),
    Word::noted(
        "dedupunit",
        "Bytes of an equal block.",
        "it needs `dedupratio`, which is refused",
    ),
    Word::refused(
        "endcmd",
        "A command behind each run.",
        "no command out of a file is run",
    ),
    Word::noted(
        "formatsds",
        "Writes storages before they are read.",
        "files are written whole before the first run in any case; a device is not, and a note \
         says where it was never written",
    ),
    Word::noted("histogram", "The classes of a histogram.", KEPT),
    Word::noted(
        "ios_per_jvm",
        "Operations that a process is trusted with.",
        "there is no such limit here",
    ),
    Word::refused("journal", "Notes what was written.", VERIFY)
        .instead(VERIFY_HINT)
        .but(&["no"]),
    Word::refused(
        "loop",
        "Does all runs again.",
        "passes are how everything is done again",
    )
    .instead("`--passes=N` does all runs N times, and gives intervals"),
    Word::noted(
        "messagescan",
        "Watches the system's log.",
        "no log is looked at",
    ),
    Word::refused(
        "monitor",
        "A file that ends the run.",
        "Ctrl-C ends a run in good order, and keeps it",
    ),
    Word::noted(
        "pattern",
        "The data that is written.",
        "what is written is random and differs from block to block",
    ),
    Word::noted(
        "patterndir",
        "The data that is written.",
        "what is written is random and differs from block to block",
    ),
    Word::noted(
        "port",
        "A port for other hosts.",
        "no other host takes part",
    ),
    Word::noted(
        "report",
        "How much is reported.",
        "every figure is kept, and `show`, `report` and `--output` choose",
    ),
    Word::refused(
        "startcmd",
        "A command before each run.",
        "no command out of a file is run",
    ),
    Word::refused(
        "swat",
        "Makes pages of another program.",
        "that program is not here",
    )
    .instead("`kurabe report RUN -o page.html` makes a page"),
    Word::refused("validate", "Checks what was written.", VERIFY)
        .instead(VERIFY_HINT)
        .but(&["no"]),
];

const ONE_HOST: &str = "a run is of one host";
const HOSTS_HINT: &str = "run the file on every host, and compare the runs as groups: `kurabe compare A1,A2 \
         B1,B2`";

const fn of_host(name: &'static str, doc: &'static str) -> Word {
    Word::noted(
        name,
        doc,
        "a run is of this host, and nothing is started anywhere else",
    )
}

pub(super) static HOSTS: &[Word] = &[
    Word {
        status: Status::Refused(
            ONE_HOST,
            Some(HOSTS_HINT),
            &["localhost", "127.0.0.1", "default"],
        ),
        ..of_host("hd", "The name of a host.")
    },
    Word {
        status: Status::Refused(ONE_HOST, Some(HOSTS_HINT), &["localhost", "127.0.0.1"]),
        ..of_host("system", "The address of a host.")
    },
    of_host("clients", "Clients of a host."),
    of_host("jvms", "Processes of a host."),
    of_host("master", "The address of this host."),
    Word::refused("mount", "Mounts something on a host.", "nothing is mounted"),
    of_host("shell", "How a host is reached."),
    of_host("user", "As whom a host is reached."),
    of_host("vdbench", "Where vdbench is on a host."),
];
