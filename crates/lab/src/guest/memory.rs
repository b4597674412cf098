//! Machines that are hard to come by: an old CPU, two NUMA nodes, a CPU offline and no huge pages.
//!
//! Each is booted once and runs what [`MACHINES`] says. Beside the runs stand two witnesses that do not come from the
//! program: another one, of a single AVX2 instruction, which an old CPU must kill (or the emulator emulates no old one,
//! and that nothing else was killed would say nothing), and what the kernel tells meanwhile of where memory lies.
//!
//! It judges which code ran, what was left out and why, and where memory came from; never a rate, for those are the
//! emulator's. It refuses to write over a page that is there.

mod judge;

use super::{EMULATOR, Lab, Machine, RESULTS, image, quoted};
use anyhow::{Context, ensure};
use judge::{Left, Must, Verdict};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use xtask::process::{command, output};

/// A machine, what runs on it, and what must come out.
struct Case {
    name: &'static str,
    what: &'static str,
    machine: Machine,
    runs: &'static [Run],
}

/// One call of the program.
struct Run {
    name: &'static str,
    /// What it is asked for, beside `run` and what every run is.
    arguments: &'static str,
    musts: &'static [Must],
}

/// Every size is given, because an emulated machine has little memory and takes long; remote latency is measured in
/// small pages, for the same reason. Nothing else is set.
const MACHINES: &[Case] = &[
    Case {
        name: "old-cpu",
        what: "a CPU of 2008 (Nehalem): SSE4.2, and neither AVX nor AES, SHA or bit manipulation instructions",
        machine: Machine {
            cpu: "Nehalem",
            ..Machine::USUAL
        },
        runs: &[Run {
            name: "everything",
            arguments: "cpu.matmul cpu.sha256 cpu.blake3 cpu.aes-gcm cpu.zstd-compress cpu.zstd-decompress \
                        cpu.json-parse cpu.json-write cpu.sort cpu.prime cpu.dhrystone cpu.whetstone os.threads \
                        memory.read memory.write memory.copy memory.triad memory.write-nt memory.copy-nt \
                        memory.triad-nt memory.block-read memory.block-write memory.mbw-memcpy memory.mbw-dumb \
                        memory.mbw-mcblock memory.latency-16k memory.round-trip --copies 1 --passes 1 \
                        --set memory.read.size=16M --set memory.write.size=16M --set memory.copy.size=16M \
                        --set memory.triad.size=16M --set memory.write-nt.size=16M --set memory.copy-nt.size=16M \
                        --set memory.triad-nt.size=16M --set memory.mbw-memcpy.size=8M --set memory.mbw-dumb.size=8M \
                        --set memory.mbw-mcblock.size=8M",
            musts: &[
                Must::KilledByAvx2(true),
                Must::Code(0),
                Must::Ran("cpu.matmul@1", "SSE2"),
                Must::Ran("cpu.sha256@1", "portable"),
                Must::Ran("cpu.blake3@1", "SSE4.1"),
                Must::Ran("cpu.aes-gcm@1", "portable AES, portable GHASH"),
                Must::Ran("cpu.zstd-compress@1", "portable C"),
                Must::Ran("cpu.zstd-decompress@1", "portable C"),
                Must::Ran("cpu.json-parse@1", "portable"),
                Must::Ran("cpu.json-write@1", "portable"),
                Must::Ran("cpu.sort@1", "portable"),
                Must::Ran("cpu.prime@1", ""),
                Must::Ran("cpu.dhrystone@1", ""),
                Must::Ran("cpu.whetstone@1", ""),
                Must::Ran("os.threads@1", ""),
                Must::Ran("memory.read@1", "SSE2"),
                Must::Ran("memory.write@1", "SSE2"),
                Must::Ran("memory.copy@1", "SSE2"),
                Must::Ran("memory.triad@1", "SSE2"),
                Must::Ran("memory.write-nt@1", "SSE2"),
                Must::Ran("memory.copy-nt@1", "SSE2"),
                Must::Ran("memory.triad-nt@1", "SSE2"),
                Must::Ran("memory.block-read@1", ""),
                Must::Ran("memory.block-write@1", ""),
                Must::Ran("memory.mbw-memcpy@1", ""),
                Must::Ran("memory.mbw-dumb@1", ""),
                Must::Ran("memory.mbw-mcblock@1", ""),
                Must::Ran("memory.latency-16k@1", ""),
                Must::Ran("memory.round-trip@1", ""),
            ],
        }],
    },
    Case {
        name: "two-nodes",
        what: "two NUMA nodes with a CPU and half of the memory each",
        machine: Machine {
            nodes: 2,
            ..Machine::USUAL
        },
        runs: &[
            Run {
                name: "local",
                arguments: "memory.read memory.latency-32m --copies 1,2 --passes 2 --set memory.read.size=32M",
                musts: &[
                    Must::KilledByAvx2(false),
                    Must::Code(0),
                    Must::Nodes(2),
                    Must::Ran("memory.read@1", "AVX2"),
                    Must::Ran("memory.read@2", "AVX2"),
                    Must::Ran("memory.latency-32m@1", ""),
                    Must::Ran("memory.latency-32m@2", ""),
                    Must::Memory { remote: false },
                ],
            },
            Run {
                name: "remote",
                arguments: "memory.read-remote memory.latency-remote --copies 1,2 --passes 2 \
                            --set memory.read-remote.size=32M --set memory.latency-remote.size=32M \
                            --set memory.latency-remote.pages=small",
                musts: &[
                    Must::Code(0),
                    Must::Ran("memory.read-remote@1", "AVX2"),
                    Must::Ran("memory.read-remote@2", "AVX2"),
                    Must::Ran("memory.latency-remote@1", ""),
                    Must::Ran("memory.latency-remote@2", ""),
                    Must::Memory { remote: true },
                ],
            },
        ],
    },
    Case {
        name: "less-than-usual",
        what: "one of two CPUs offline, and a kernel without transparent huge pages",
        machine: Machine {
            kernel: "maxcpus=1 transparent_hugepage=never",
            ..Machine::USUAL
        },
        runs: &[Run {
            name: "memory",
            arguments: "memory.latency-512m-huge memory.read-remote memory.round-trip memory.latency-8m memory.triad \
                        cpu.prime --copies 1,all --passes 1 --set memory.triad.size=16M",
            musts: &[
                Must::Code(0),
                Must::Nodes(1),
                Must::LeftOut(
                    "memory.latency-512m-huge",
                    "transparent huge pages are switched off",
                ),
                Must::LeftOut("memory.read-remote", "one NUMA node"),
                Must::LeftOut("memory.round-trip", "only one CPU is allowed"),
                Must::Ran("memory.latency-8m@1", ""),
                Must::Ran("memory.triad@1", "AVX2"),
                Must::Ran("cpu.prime@1", ""),
                Must::AtMost(1),
            ],
        }],
    },
];

/// Boots every machine, judges what its runs left, and writes `README.md` and the documents to `out`.
pub(super) fn run(lab: &Lab, out: &Path) -> anyhow::Result<()> {
    let page = out.join("README.md");
    ensure!(
        !page.exists(),
        "write `{}`: it is there already\nhint: name another directory",
        page.display()
    );
    let mut table = String::new();
    let mut program = String::new();
    let mut kernel = String::new();
    let mut broken = Vec::new();
    for case in MACHINES {
        say!("==> {}: {}", case.name, case.what);
        let there = image::anew(&lab.here.join(format!("left-{}", case.name)))?;
        kernel = lab.once(&case.machine, &script(case.runs), &there)?;
        write!(table, "\n## {}\n\n{}.\n", case.name, case.what)?;
        for run in case.runs {
            let left = Left::read(&there.join(RESULTS.trim_start_matches('/')), run.name)?;
            if let Some(version) = left
                .document
                .pointer("/run/binary/version")
                .and_then(Value::as_str)
            {
                version.clone_into(&mut program);
            }
            let lines: Vec<Verdict> = run.musts.iter().map(|must| must.judge(&left)).collect();
            broken.extend(
                lines.iter().filter(|line| !line.held).map(|line| {
                    format!("{}, {}: {}: {}", case.name, run.name, line.what, line.found)
                }),
            );
            table.push_str(&section(run, &lines));
            let file = out.join(format!("{}-{}.json", case.name, run.name));
            fs::write(&file, left.published())
                .with_context(|| format!("write `{}`", file.display()))?;
        }
    }
    let emulator = output(command(&lab.here, EMULATOR).arg("--version"))?;
    let emulator = emulator.lines().next().unwrap_or_default();
    let head = format!(
        "# Kernels and memory tests on other machines, qemu-2cpu\n\n\
         - emulator: {emulator}, TCG, 2 CPUs, {} MiB\n\
         - kernel: {kernel}\n\
         - program: kurabe {program}\n\n\
         Made by `cargo lab guest memory`, which judges it as well; what it is for is in \
         [docs/method/cpu.md](../../docs/method/cpu.md#other-architectures). Rates of an emulated CPU mean nothing and \
         are not judged; they are in the documents beside this page, which are the program's without the facts about \
         the host.\n",
        lab.memory
    );
    fs::write(&page, format!("{head}{table}"))
        .with_context(|| format!("write `{}`", page.display()))?;
    say!("{table}\nthe page is `{}`", page.display());
    ensure!(broken.is_empty(), "does not hold:\n{}", broken.join("\n"));
    Ok(())
}

/// What was found in one run, as a part of the page.
fn section(run: &Run, lines: &[Verdict]) -> String {
    let mut text = format!(
        "\n```text\nkurabe run {}\n```\n\n| what | found | must be | |\n|---|---|---|---|\n",
        run.arguments
    );
    for Verdict {
        what,
        found,
        must,
        held,
    } in lines
    {
        let word = if *held { "held" } else { "**NOT HELD**" };
        // A cell is one line and has no bar.
        let cells = [what, found, must].map(|cell| cell.replace('\n', " ").replace('|', "/"));
        let _ = writeln!(text, "| {} | {word} |", cells.join(" | "));
    }
    text
}

/// The script of a machine: the witness first, then each run with the kernel's word on where memory lies.
fn script(runs: &[Run]) -> String {
    let mut script = format!(
        "export HOME=/tmp\ncd /tmp\nleft=/scratch{RESULTS}\nprintf '{}' > avx2\nchmod +x avx2\n./avx2\n\
         echo $? > $left/avx2.code\n{PLACES}",
        escaped(&program(AVX2))
    );
    for Run {
        name, arguments, ..
    } in runs
    {
        let arguments: Vec<String> = arguments.split_whitespace().map(quoted).collect();
        let _ = write!(
            script,
            "kurabe run {} --json --quiet > $left/{name}.json 2> $left/{name}.err &\n\
             while kill -0 $! 2> /dev/null; do places >> $left/{name}.places 2> /dev/null; sleep 0.3; done\n\
             wait $!\necho $? > $left/{name}.code\n",
            arguments.join(" ")
        );
    }
    // What the program ended with is judged, and not the script.
    script.push_str("exit 0\n");
    script
}

/// A shell function: for each process of the program the CPUs that it is kept on and its mappings of four digits of
/// pages and more, with the node that each page is on. Source: proc(5), `numa_maps`.
const PLACES: &str = r#"places() {
    for process in /proc/[0-9]*; do
        [ "$process/exe" -ef /bin/kurabe ] || continue
        while read -r key value; do
            [ "$key" = Cpus_allowed_list: ] && cpus=$value
        done < "$process/status"
        while read -r line; do
            case $line in *anon=[0-9][0-9][0-9][0-9]*) echo "$cpus $line" ;; esac
        done < "$process/numa_maps"
    done
}
"#;

/// `vpaddd ymm0, ymm0, ymm0`, which AVX2 brought, and `exit(0)`.
const AVX2: &[u8] = &[
    0xc5, 0xfd, 0xfe, 0xc0, 0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05,
];

/// A program of this machine code and nothing else: the header of a 64-bit ELF file and one segment, loaded at 4 MiB.
/// Layout: elf(5).
fn program(code: &[u8]) -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 56;
    let len = HEADERS + code.len() as u64;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    let shorts = |file: &mut Vec<u8>, values: &[u16]| {
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    let longs = |file: &mut Vec<u8>, values: &[u64]| {
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    // An executable for x86-64 of version 1; where it begins, where the table of segments is, and none of sections.
    shorts(&mut file, &[2, 62, 1, 0]);
    longs(&mut file, &[BASE + HEADERS, 64, 0]);
    // No flags; sizes of this header and of an entry, one segment.
    shorts(&mut file, &[0, 0, 64, 56, 1, 0, 0, 0]);
    // The segment: loaded, readable and executable, from the file's beginning.
    shorts(&mut file, &[1, 0, 5, 0]);
    longs(&mut file, &[0, BASE, BASE, len, len, 0x1000]);
    file.extend(code);
    file
}

/// Bytes as the shell's `printf` takes them.
fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "\\x{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn every_run_has_a_name_of_its_own_and_asks_for_what_it_judges() {
        for case in MACHINES {
            let names: std::collections::BTreeSet<&str> =
                case.runs.iter().map(|run| run.name).collect();
            assert_eq!(names.len(), case.runs.len(), "{}", case.name);
            for run in case.runs {
                let asked: Vec<&str> = run.arguments.split_whitespace().collect();
                for must in run.musts {
                    let test = match must {
                        Must::Ran(case, _) => case.split('@').next().unwrap(),
                        Must::LeftOut(test, _) => *test,
                        _ => continue,
                    };
                    assert!(asked.contains(&test), "{test}");
                }
            }
        }
    }

    #[test]
    fn a_test_that_is_asked_for_is_judged() {
        for run in MACHINES.iter().flat_map(|case| case.runs) {
            let words = run.arguments.split_whitespace();
            for test in words.take_while(|word| !word.starts_with("--")) {
                let judged = run.musts.iter().any(|must| match must {
                    Must::Ran(case, _) => case.split('@').next() == Some(test),
                    Must::LeftOut(left_out, _) => *left_out == test,
                    _ => false,
                });
                assert!(judged, "{test}");
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_witness_is_a_program_and_is_killed_where_a_cpu_has_not_its_instruction() {
        let dir = tempfile::tempdir().unwrap();
        // `ud2` is an instruction that no CPU has.
        let expected = if sys::features::has("avx2") {
            "0"
        } else {
            "132"
        };
        for (code, expected) in [(AVX2, expected), (&[0x0f, 0x0b][..], "132")] {
            let path = dir.path().join("witness");
            fs::write(&path, program(code)).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            let mut shell = command(dir.path(), "bash");
            let said = output(shell.args(["-c", "(ulimit -c 0; ./witness); echo $?"])).unwrap();
            assert_eq!(said.trim(), expected, "{code:x?}");
        }
    }

    #[test]
    fn the_script_writes_the_witness_and_every_run() {
        let script = script(MACHINES[1].runs);
        assert!(script.contains(r"printf '\x7f\x45\x4c\x46"), "{script}");
        assert!(
            script.contains("kurabe run 'memory.read' 'memory.latency-32m'"),
            "{script}"
        );
        assert!(script.contains("echo $? > $left/remote.code"), "{script}");
    }
}
