//! Compiles the helper of the process tests (`helper/helper.c`) twice, so that the program carries both inside.
//!
//! Once dynamically linked, whatever the program itself is linked like: what a dynamic loader costs is part of what
//! those tests measure. Once statically linked where the machine has a static libc, for the separate test of a
//! static program; where it has none, an empty file says so and that test is unsupported. That one is packed, because
//! it is mostly libc and the program carries it for one test.
//!
//! What the static libc calls itself is kept beside them, because its licence asks to name it where it is handed on.
//!
//! It refuses to go on without a C compiler for the target, and with one whose output is not what was asked for:
//! a helper of the wrong kind would measure something else under the same name.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script ends before any worker exists; its children are compilers"
)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "helper/helper.c";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CC");
    let target = variable("TARGET");
    let out = PathBuf::from(variable("OUT_DIR"));
    let os = variable("CARGO_CFG_TARGET_OS");
    assert!(os == "linux", "kurabe measures Linux only, not `{os}`");

    let compiler = cc::Build::new()
        .cargo_metadata(false)
        .try_get_compiler()
        .unwrap_or_else(|error| panic!("{}", no_compiler(&target, &error.to_string())));
    // Only the command itself is taken over, not cc's flags: those follow from the Rust profile and from
    // crt-static, and the helper must be the same in every profile.
    let command = || {
        let mut command = Command::new(compiler.path());
        command.args(["-O2", "-Wall", "-s"]);
        command
    };

    println!(
        "cargo::rustc-env=KURABE_C_LIBRARY={}",
        static_library(compiler.path())
    );

    let shared = out.join("helper-dynamic");
    let mut build = command();
    build.args(["-fPIE", "-pie"]);
    if let Some(version) = oldest_start() {
        build.arg(format!("-DOLDEST_START=\"{version}\""));
        build.arg("-Wl,--wrap=__libc_start_main");
    }
    let problem = run(build, &shared).or_else(|| Elf::read(&shared).problem(true));
    assert!(
        problem.is_none(),
        "{}",
        no_compiler(&target, &problem.unwrap_or_default())
    );

    let fixed = out.join("helper-static");
    let mut build = command();
    build.arg("-static");
    if let Some(problem) = run(build, &fixed).or_else(|| Elf::read(&fixed).problem(false)) {
        println!(
            "cargo::warning=the test os.execl-static is left out of this build, for want of a static libc: {}",
            problem.lines().next().unwrap_or_default()
        );
        fs::write(&fixed, []).expect("OUT_DIR is cargo's own and writable");
    }
    let program = fs::read(&fixed).expect("it has just been written");
    packed::write(&out, "helper-static", &program).expect("OUT_DIR is cargo's own and writable");
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name} for build scripts"))
}

/// What the static C library that this compiler links calls itself, with its version: the line that glibc prints when
/// it is executed. Empty where there is none, or it is another library.
fn static_library(compiler: &Path) -> String {
    const NAME: &[u8] = b"GNU C Library (";
    let mut ask = Command::new(compiler);
    let asked = ask.arg("-print-file-name=libc.a").output();
    let path = asked.map(|done| String::from_utf8_lossy(&done.stdout).trim().to_owned());
    // A compiler that knows none prints the name that it was asked for.
    let Some(path) = path.ok().filter(|path| Path::new(path).is_absolute()) else {
        return String::new();
    };
    println!("cargo::rerun-if-changed={path}");
    let library = fs::read(path).unwrap_or_default();
    let at = library.windows(NAME.len()).position(|part| part == NAME);
    let line = at.and_then(|at| library[at..].split(|&byte| byte == b'\n').next());
    line.map_or_else(String::new, |line| {
        String::from_utf8_lossy(line).into_owned()
    })
}

/// Compiles the helper into `output`; what went wrong, if something did.
fn run(mut compiler: Command, output: &Path) -> Option<String> {
    compiler.arg("-o").arg(output).arg(SOURCE);
    match compiler.output() {
        Err(error) => Some(format!("{}: {error}", compiler.get_program().display())),
        Ok(done) if !done.status.success() => {
            Some(String::from_utf8_lossy(&done.stderr).into_owned())
        }
        Ok(_) => None,
    }
}

/// The version of `__libc_start_main` that the first glibc of each architecture had. Since glibc 2.34 the newest is
/// the default, and a helper that asks for it does not start on older systems. Source: glibc's abilists
/// (`sysdeps/unix/sysv/linux/*/libc.abilist`).
fn oldest_start() -> Option<&'static str> {
    if variable("CARGO_CFG_TARGET_ENV") != "gnu" {
        return None;
    }
    match variable("CARGO_CFG_TARGET_ARCH").as_str() {
        "x86_64" => Some("GLIBC_2.2.5"),
        "aarch64" => Some("GLIBC_2.17"),
        "riscv64" => Some("GLIBC_2.27"),
        _ => None,
    }
}

fn no_compiler(target: &str, problem: &str) -> String {
    let how = if variable("HOST") == target {
        "install one: `apt-get install gcc libc6-dev` (Debian, Ubuntu) or `dnf install gcc glibc-devel` (Fedora, RHEL)"
            .to_owned()
    } else {
        format!(
            "this is a cross build: install a C compiler for `{target}`, such as `apt-get install gcc-{}-linux-gnu`, \
             or name it in CC_{}",
            variable("CARGO_CFG_TARGET_ARCH").replace('_', "-"),
            target.replace('-', "_")
        )
    };
    format!(
        "no working C compiler for the helper of os.spawn and os.execl\nhint: {how}\n{}",
        problem.trim_end()
    )
}

/// The two things about a program file that decide whether it is the helper that was asked for.
struct Elf {
    machine: u16,
    has_interpreter: bool,
}

impl Elf {
    /// Reads an ELF header; `machine` is 0 for what is no 64-bit little-endian ELF file.
    fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap_or_default();
        let word = |at: usize, size: usize| {
            bytes.get(at..at + size).map_or(0, |field| {
                field
                    .iter()
                    .rev()
                    .fold(0_u64, |all, &byte| all << 8 | u64::from(byte))
            })
        };
        let at = |value: u64| usize::try_from(value).unwrap_or(usize::MAX / 2);
        if !bytes.starts_with(b"\x7fELF\x02\x01") {
            return Self {
                machine: 0,
                has_interpreter: false,
            };
        }
        // Elf64_Ehdr: e_machine at 18, e_phoff at 32, e_phentsize at 54, e_phnum at 56; PT_INTERP is 3.
        let (table, size, entries) = (at(word(32, 8)), at(word(54, 2)), at(word(56, 2)));
        Self {
            machine: u16::try_from(word(18, 2)).unwrap_or(0),
            has_interpreter: (0..entries).any(|entry| word(table + entry * size, 4) == 3),
        }
    }

    fn problem(&self, dynamic: bool) -> Option<String> {
        // e_machine, <https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html>.
        let expected = match variable("CARGO_CFG_TARGET_ARCH").as_str() {
            "x86_64" => Some(62),
            "aarch64" => Some(183),
            "riscv64" => Some(243),
            _ => None,
        };
        if expected.is_some_and(|machine| machine != self.machine) {
            return Some(format!(
                "the compiler made a program for ELF machine {}, not for this target",
                self.machine
            ));
        }
        (self.has_interpreter != dynamic).then(|| {
            format!(
                "the compiler made a {} program",
                if dynamic { "static" } else { "dynamic" }
            )
        })
    }
}
