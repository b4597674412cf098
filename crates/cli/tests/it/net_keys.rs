//! What iperf3's client prints as JSON beside our server and beside its own: the same keys, each with its type.
//!
//! Scripts read them by name. Where no iperf3 is installed the test says that it was skipped, by its name.

use crate::bed::Bed;
use crate::net_iperf3;
use crate::net_serve::{Server, WIDE};
use serde_json::Value;
use std::collections::BTreeSet;

/// Every path of keys down to a value, with the value's type; all elements of a list have one path.
fn paths(value: &Value) -> BTreeSet<String> {
    let behind = |part: &str, value: &Value| -> Vec<String> {
        let below = paths(value);
        below.iter().map(|path| format!("{part}{path}")).collect()
    };
    match value {
        Value::Object(map) if !map.is_empty() => map
            .iter()
            .flat_map(|(key, value)| behind(&format!(".{key}"), value))
            .collect(),
        Value::Array(list) if !list.is_empty() => {
            list.iter().flat_map(|value| behind("[]", value)).collect()
        }
        leaf => {
            let word = match leaf {
                Value::Null => "null",
                Value::Bool(_) => "bool",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) => "an empty list",
                Value::Object(_) => "an empty object",
            };
            [format!(": {word}")].into()
        }
    }
}

#[test]
fn iperf3_s_client_prints_the_same_keys_beside_our_server_and_its_own() {
    const UDP: [&str; 6] = ["-u", "-b", "5M", "-l", "1000", "-t1"];
    let test = "iperf3_s_client_prints_the_same_keys_beside_our_server_and_its_own";
    let Some(theirs) = net_iperf3::Server::start(test) else {
        return;
    };
    let bed = Bed::new();
    let ours = Server::start(&bed, &WIDE);
    for args in [
        &["-t1"][..],
        &["-t1", "-R"],
        &["-t1", "--bidir"],
        &["-t1", "-P", "2"],
        &["-t1", "-O", "1"],
        &["-n", "4M"],
        &["-t1", "--get-server-output"],
        &UDP,
        &[&UDP[..], &["-R"]].concat(),
        &[&UDP[..], &["--bidir"]].concat(),
        &[&UDP[..], &["-P", "2", "--udp-counters-64bit"]].concat(),
    ] {
        let [found, wanted] = std::thread::scope(|scope| {
            let wanted = scope.spawn(|| measured_at(theirs.port, args));
            [ours.measured(args), wanted.join().unwrap()].map(|one| paths(&one))
        });
        // Of how much is found where both are the same: an empty document is no proof.
        assert!(wanted.len() > 60, "{args:?}: {wanted:?}");
        let missing: Vec<_> = wanted.difference(&found).collect();
        let added: Vec<_> = found.difference(&wanted).collect();
        assert!(
            missing.is_empty() && added.is_empty(),
            "{args:?}: missing {missing:?}, added {added:?}"
        );
    }
}

/// What the client finds at a port of loopback.
fn measured_at(port: u16, args: &[&str]) -> Value {
    let mut client = crate::bed::program("iperf3");
    client.args(["-c", "127.0.0.1", "-p", &port.to_string(), "-J"]);
    let out = client.args(args).output().unwrap();
    let found: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(found.get("error"), None, "{args:?}");
    found
}

/// Two documents are told apart by a key, a type, and what is in lists.
#[test]
fn keys_are_told_with_their_types() {
    let of = |text: &str| paths(&serde_json::from_str(text).unwrap());
    let found = of(r#"{"a":[{"b":1},{"c":""}],"d":{"e":true},"f":[],"g":{}}"#);
    let wanted = [
        ".a[].b: number",
        ".a[].c: string",
        ".d.e: bool",
        ".f: an empty list",
        ".g: an empty object",
    ];
    assert_eq!(found, wanted.map(str::to_owned).into());
}
