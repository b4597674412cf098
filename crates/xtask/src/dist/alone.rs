//! Names with the binary that is shipped, in a root directory that holds nothing else.
//!
//! A static C library finds hosts through plugins that it loads from the machine; the program's own code asks files and
//! DNS. So it is asked to reach a server by three names where no library, no plugin and no nsswitch.conf is: one that
//! needs no file, one of /etc/hosts, and one that a name server of this check knows. Each must lead to this check's
//! port.

use super::gone;
use crate::process::command;
use anyhow::{Context, ensure};
use std::fs;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Where the name server of this check answers: an address of loopback that nobody else has.
const NAME_SERVER: Ipv4Addr = Ipv4Addr::new(127, 53, 53, 53);

/// In namespaces of its own, so that what it mounts goes with it.
const ALONE: &str = r#"
mount -t proc proc "$1/proc" && cd "$1" && exec chroot . /kurabe run db.point-select \
    --copies 1 --passes 1 --quiet --lang en --dir /tmp --db "postgres://nobody@$2/nothing"
"#;

/// What was looked up; `None` where only root may make a root directory.
pub(super) fn run(root: &Path, binary: &Path, dir: &Path) -> anyhow::Result<Option<String>> {
    if !sys::probe::is_root() {
        return Ok(None);
    }
    let place = dir.join("dist/alone");
    gone(&place)?;
    for inside in ["proc", "tmp", "etc"] {
        let path = place.join(inside);
        fs::create_dir_all(&path).with_context(|| format!("create `{}`", path.display()))?;
    }
    let own = place.join("kurabe");
    fs::copy(binary, &own).with_context(|| format!("copy to `{}`", own.display()))?;

    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("listen on loopback")?;
    server.set_nonblocking(true).context("listen on loopback")?;
    let port = server.local_addr().context("listen on loopback")?.port();
    let names = UdpSocket::bind((NAME_SERVER, 53))
        .with_context(|| format!("answer names on `{NAME_SERVER}`, port 53"))?;
    let reached = |name: &str| -> anyhow::Result<()> {
        let done = command(root, "unshare")
            .args(["--mount", "sh", "-c", ALONE, "sh"])
            .arg(&place)
            .arg(format!("{name}:{port}"))
            .output()
            .context("start `unshare`")?;
        let said = String::from_utf8_lossy(&done.stderr);
        ensure!(
            server.accept().is_ok(),
            "`{name}` was not found in a root directory that holds the binary alone: {said}"
        );
        // Whoever else is waiting came for the same name.
        while server.accept().is_ok() {}
        Ok(())
    };
    let etc = |file: &str, text: &str| {
        let path = place.join("etc").join(file);
        fs::write(&path, text).with_context(|| format!("write `{}`", path.display()))
    };

    thread::scope(|scope| {
        // It ends by itself, when nobody asks any more.
        names.set_read_timeout(Some(Duration::from_secs(30)))?;
        scope.spawn(|| {
            let mut query = [0; 512];
            while let Ok((length, from)) = names.recv_from(&mut query) {
                if length == END.len() {
                    return;
                }
                let _ = names.send_to(&answer(&query[..length]), from);
            }
        });
        let all = (|| {
            reached("localhost")?;
            etc("hosts", "127.0.0.1 listed.example\n")?;
            reached("listed.example")?;
            etc("resolv.conf", &format!("nameserver {NAME_SERVER}\n"))?;
            reached("asked.example")
        })();
        names.send_to(END, (NAME_SERVER, 53))?;
        all
    })?;
    gone(&place)?;
    Ok(Some(
        "localhost, a host of /etc/hosts, one of DNS".to_owned(),
    ))
}

/// What ends the name server: shorter than any question.
const END: &[u8] = b"end";

/// The answer to a question for one name: this machine, by IPv4 alone. Format: RFC 1035, section 4.
fn answer(query: &[u8]) -> Vec<u8> {
    /// The place of a question's type, from its end.
    const TYPE: usize = 4;
    let asks_ipv4 = query.len() > TYPE && query[query.len() - TYPE..][..2] == [0, 1];
    let mut answer = query.to_vec();
    // A response, of a server that asks others for who wants it; no error.
    answer[2..4].copy_from_slice(&[0x81, 0x80]);
    answer[7] = u8::from(asks_ipv4);
    // Nothing else behind the answers.
    answer[8..12].fill(0);
    if asks_ipv4 {
        // The name at its place in the question, type A, class IN, a second, four bytes.
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, 1]);
    }
    answer
}
