//! Counts the instructions and calls of the compute loops: the proof that the compiler took nothing away, and that
//! divisions are those of the 64-bit divider.
//!
//! The loops are built with optimisation and run under callgrind, which counts what a program executes whatever else
//! the machine does, instruction by instruction where it is asked to. It refuses to pass where valgrind is missing: the
//! test is ignored unless asked for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What callgrind says of one function: instructions in it and calls of it, not counting what it calls.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    instructions: u64,
    calls: u64,
}

/// Everything that one run of an example costs, by function.
type Profile = BTreeMap<String, Cost>;

/// How often each instruction of a function ran, by its address: the same output with `--dump-instr=yes`, for the
/// functions of which the symbol contains `part`.
fn parse_instructions(text: &str, part: &str) -> BTreeMap<String, BTreeMap<u64, u64>> {
    let mut functions: BTreeMap<String, BTreeMap<u64, u64>> = BTreeMap::new();
    let (mut names, mut current) = (BTreeMap::new(), String::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("fn=") {
            current = symbol(&mut names, name);
        } else if let Some(name) = line.strip_prefix("cfn=") {
            symbol(&mut names, name);
        } else if line.starts_with("calls=") {
            lines.next();
        } else if let Some(line) = line.strip_prefix("0x").filter(|_| current.contains(part)) {
            // Address, line of the source, count.
            let mut words = line.split(' ');
            let address = u64::from_str_radix(words.next().unwrap(), 16).unwrap();
            let count: u64 = words.nth(1).unwrap().parse().unwrap();
            let function = functions.entry(current.clone()).or_default();
            *function.entry(address).or_default() += count;
        }
    }
    functions
}

/// The instructions of a function, by their distance from its first one, as `objdump --disassemble --no-show-raw-insn`
/// writes them.
fn parse_listing(text: &str, function: &str) -> BTreeMap<u64, String> {
    let heading = format!("<{function}>:");
    let mut lines = text.lines().skip_while(|line| !line.ends_with(&heading));
    let address = |text: &str| u64::from_str_radix(text.trim(), 16).unwrap();
    let (start, _) = lines
        .next()
        .expect("objdump lists it")
        .split_once(' ')
        .unwrap();
    let start = address(start);
    lines
        .map_while(|line| line.split_once(":\t"))
        .map(|(at, instruction)| (address(at) - start, instruction.trim().to_owned()))
        .collect()
}

/// The width in bits of what a `div` or `idiv` divides by; `None` for every other instruction. AT&T syntax, in which
/// 64-bit registers alone are called `%r` with nothing behind, and operands in memory have a letter at the instruction.
fn division(instruction: &str) -> Option<u32> {
    let (name, operand) = instruction.split_once(' ')?;
    let letter = name.strip_prefix('i').unwrap_or(name).strip_prefix("div")?;
    match (letter, operand.trim()) {
        ("q", _) => Some(64),
        ("l", _) => Some(32),
        ("w", _) => Some(16),
        ("b", _) => Some(8),
        ("", operand) => match (
            operand.strip_prefix("%r"),
            operand.ends_with(['d', 'w', 'b']),
        ) {
            (Some(_), false) => Some(64),
            (Some(_), true) => Some(32),
            (None, _) => Some(if operand.starts_with("%e") { 32 } else { 16 }),
        },
        _ => None,
    }
}

/// Reads callgrind's output format, version 1, as `callgrind --dump-instr=no` writes it.
/// Source: <https://valgrind.org/docs/manual/cl-format.html>.
fn parse(text: &str) -> Profile {
    let mut profile = Profile::new();
    let mut names = BTreeMap::new();
    let (mut current, mut called) = (String::new(), String::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("fn=") {
            current = full_name(&mut names, name);
        } else if let Some(name) = line.strip_prefix("cfn=") {
            called = full_name(&mut names, name);
        } else if let Some(calls) = line.strip_prefix("calls=") {
            let calls = calls.split(' ').next().unwrap().parse::<u64>().unwrap();
            profile.entry(called.clone()).or_default().calls += calls;
            // The next line is the cost inside of the called function.
            lines.next();
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            let cost = line
                .split(' ')
                .nth(1)
                .map_or(0, |cost| cost.parse().unwrap());
            profile.entry(current.clone()).or_default().instructions += cost;
        }
    }
    profile
}

/// The name behind `(7) name`, or behind a later `(7)` alone.
fn symbol(names: &mut BTreeMap<String, String>, text: &str) -> String {
    let (id, name) = text.split_once(' ').unwrap_or((text, ""));
    if !name.is_empty() {
        names.insert(id.to_owned(), name.to_owned());
    }
    names[id].clone()
}

/// The same without the path and the hash that Rust's names have.
fn full_name(names: &mut BTreeMap<String, String>, text: &str) -> String {
    let name = symbol(names, text);
    let name = name.rsplit_once("::h").map_or(&*name, |(path, _)| path);
    name.rsplit("::").next().unwrap_or(name).to_owned()
}

#[test]
fn a_profile_is_read_function_by_function() {
    let profile = parse(
        "version: 1\nevents: Ir\nfn=(1) a::main\n10 5\ncfn=(2) a::b::work::h0123\ncalls=3 20\n11 300\n+1 2\n\
         fn=(2)\n20 290\n21 10\ncfn=(3) strcmp\ncalls=3 0\n* 30\n",
    );
    assert_eq!(profile["main"].instructions, 7);
    assert_eq!(
        (profile["work"].instructions, profile["work"].calls),
        (300, 3)
    );
    assert_eq!(
        (profile["strcmp"].instructions, profile["strcmp"].calls),
        (0, 3)
    );
}

#[test]
fn instructions_are_counted_by_their_address() {
    let counted = parse_instructions(
        "positions: instr line\nfn=(1) a_main\n0x10 0 1\ncfn=(2) b_work\ncalls=3 0x90 0\n0x14 0 30\n\
         fn=(2)\n0x90 7 3\n0x94 8 30\n0x90 9 1\nfn=(1)\n0x18 0 1\n",
        "work",
    );
    let expected = [("b_work".to_owned(), BTreeMap::from([(0x90, 4), (0x94, 30)]))];
    assert_eq!(counted, BTreeMap::from(expected));
    let listed = parse_listing(
        "0000000000000080 <a>:\n  80:\tret\n\n0000000000000090 <b>:\n      90:\tdiv    %rcx\n      94:\tret\n\n\
         00000000000000a0 <c>:\n      a0:\tret\n",
        "b",
    );
    let expected = [(0, "div    %rcx".to_owned()), (4, "ret".to_owned())];
    assert_eq!(listed, BTreeMap::from(expected));
}

#[test]
fn divisions_are_told_from_each_other_by_their_width() {
    for (instruction, width) in [
        ("div    %rcx", Some(64)),
        ("div    %r8", Some(64)),
        ("idiv   %rbp", Some(64)),
        ("divq   0x8(%rsp)", Some(64)),
        ("div    %r8d", Some(32)),
        ("div    %ecx", Some(32)),
        ("idivl  (%rax)", Some(32)),
        ("div    %cx", Some(16)),
        ("divsd  %xmm1,%xmm0", None),
        ("mov    %rax,%rcx", None),
        ("ret", None),
    ] {
        assert_eq!(division(instruction), width, "{instruction}");
    }
}

mod slow {
    use super::*;

    /// How the profiles of `count` and of `2 * count` rounds differ, per round.
    fn per_round(example: &str, count: u64) -> impl Fn(&str) -> (f64, f64) {
        let (once, twice) = (profile(example, count), profile(example, 2 * count));
        move |name| {
            let cost = |profile: &Profile| profile.get(name).copied().unwrap_or_default();
            let (once, twice) = (cost(&once), cost(&twice));
            let rate = |once: u64, twice: u64| {
                let difference = u32::try_from(twice - once).expect("a short run");
                f64::from(difference) / f64::from(u32::try_from(count).unwrap())
            };
            (
                rate(once.calls, twice.calls),
                rate(once.instructions, twice.instructions),
            )
        }
    }

    fn profile(example: &str, count: u64) -> Profile {
        parse(&callgrind(&built(example), &[count], &[]))
    }

    fn output(command: &mut Command) -> String {
        let ran = command.output().unwrap_or_else(|error| {
            panic!("{command:?}: {error}; `apt-get install valgrind binutils` brings the tools")
        });
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{command:?}: {said}");
        String::from_utf8(ran.stdout).unwrap()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the children are tools, and end before the test"
    )]
    fn tool(program: &str) -> Command {
        Command::new(program)
    }

    /// An example, built with optimisation.
    fn built(example: &str) -> PathBuf {
        let target = PathBuf::from(std::env::current_exe().unwrap().parent().unwrap());
        let target = target.join("count-instructions");
        let mut cargo = tool(env!("CARGO"));
        cargo
            .args(["build", "--quiet", "--release", "--offline"])
            .args(["--example", example, "--manifest-path"])
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
            .arg("--target-dir")
            .arg(&target);
        output(&mut cargo);
        target.join("release/examples").join(example)
    }

    /// What callgrind writes of a run of `program` with `arguments`.
    fn callgrind(program: &Path, arguments: &[u64], options: &[&str]) -> String {
        let arguments: Vec<String> = arguments.iter().map(u64::to_string).collect();
        let out = program.with_extension(format!("{}.callgrind", arguments.join("-")));
        let mut valgrind = tool("valgrind");
        valgrind
            .args(["--quiet", "--tool=callgrind", "--compress-pos=no"])
            .args(options)
            .arg(format!("--callgrind-out-file={}", out.display()))
            .arg(program)
            .args(&arguments);
        output(&mut valgrind);
        std::fs::read_to_string(&out).unwrap()
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    #[ignore = "slow: needs valgrind"]
    fn every_division_of_every_clone_is_that_of_the_64_bit_divider() {
        const LIMIT: u64 = 3000;
        const EVENTS: u64 = 2;
        let program = built("count_prime");
        let listing = output(
            tool("objdump")
                .args(["--disassemble", "--no-show-raw-insn"])
                .arg(&program),
        );
        for (bound, name) in [(0, "float"), (1, "whole")] {
            for clone in 0..u64::from(crate::loops::CLONES) {
                let said = callgrind(
                    &program,
                    &[EVENTS, LIMIT, bound, clone],
                    &["--dump-instr=yes", "--demangle=no"],
                );
                let ran = parse_instructions(&said, &format!("prime5{name}"));
                let ran: Vec<_> = ran.into_iter().collect();
                let [(function, counts)] = &ran[..] else {
                    panic!("one clone should have run: {ran:x?}");
                };
                let listed = parse_listing(&listing, function);
                // Where a program is loaded is another thing than where it lies in its file; the first instruction of
                // a function runs wherever any other does.
                let start = *counts.keys().next().unwrap();
                let mut divisions: BTreeMap<u32, u64> = BTreeMap::new();
                for (address, count) in counts {
                    let instruction = &listed[&(address - start)];
                    if let Some(width) = division(instruction) {
                        *divisions.entry(width).or_default() += count;
                    }
                }
                let expected = EVENTS * crate::loops::prime::plain(LIMIT).divisions;
                assert_eq!(divisions, BTreeMap::from([(64, expected)]), "{function}");
            }
        }
    }

    #[test]
    #[ignore = "slow: needs valgrind"]
    fn dhrystone_calls_what_the_papers_program_calls() {
        let cost = per_round("count_dhrystone", 10_000);
        let mut sum = 0.0;
        // Calls per iteration of the paper's program, for the procedures that C compilers do not inline, and the
        // instructions that each cannot do without, summed over its calls: loads, stores, branch and return.
        for (name, calls, least) in [
            ("iterate", 0.0, 40.0),
            ("function_1", 2.0, 6.0),
            ("function_2", 1.0, 8.0),
            ("procedure_1", 1.0, 30.0),
            ("procedure_6", 1.0, 3.0),
            ("procedure_7", 3.0, 9.0),
            ("procedure_8", 1.0, 12.0),
        ] {
            let (made, instructions) = cost(name);
            assert!((made - calls).abs() < 1e-3, "{name}: {made} calls");
            assert!(instructions >= least, "{name}: {instructions} instructions");
            sum += instructions;
        }
        println!("an iteration takes {sum:.1} instructions without those of strcmp");
        // 130 cannot be reached without leaving out a call with what it does.
        assert!((130.0..=170.0).contains(&sum), "{sum} instructions");
    }

    #[test]
    #[ignore = "slow: needs valgrind"]
    fn whetstone_does_the_arithmetic_of_every_section() {
        let cost = per_round("count_whetstone", 100);
        // Turns of each section in a pass of scale 1, the floating-point operations (for N3 the exclusive-or, for N7
        // the moves) in each turn, and how many instructions more (moves, calls, the loop) are plausible.
        for (name, turns, least, more) in [
            ("array_elements", 12.0, 16.0, 16.0),
            ("array_as_parameter", 14.0, 6.0 * 16.0, 6.0 * 16.0),
            ("conditional_jumps", 345.0, 1.0, 3.0),
            ("trigonometric_functions", 32.0, 14.0, 60.0),
            ("procedure_calls", 899.0, 6.0, 6.0),
            ("array_references", 616.0, 2.0, 8.0),
            ("standard_functions", 93.0, 3.0, 6.0),
        ] {
            let (_, instructions) = cost(name);
            let turn = instructions / turns;
            println!("{name}: {turn:.2} instructions a turn, {turns} turns");
            assert!(
                (least..=least + more).contains(&turn),
                "{name}: {turn} instructions a turn"
            );
        }
    }
}
