//! The database server that a run works on: its address, which is kept with the run, and what opens it, which is not.
//!
//! The address comes from `--db`, `--db-file` or `KURABE_DB_URL`, in this order. A password on the command line is
//! refused: everybody on the machine sees it there. Where none is given it is looked for
//! where the clients of that kind of server look.

use crate::args::{AddressArgs, ServerArgs};
use crate::exit::{Exit, failure};
use crate::output;
use crate::own_file::{OTHERS, first_line, read};
use crate::resume;
use dialects::command::servers_of;
use engine::consent::{Consent, Permits};
use engine::secret::Secret;
use engine::workload::{StandIn, WorkError};
use model::named::NamedKind;
use model::plan::Plan;
use model::record::Run;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use workloads::db::address::{Address, Defaults, Typed};
use workloads::db::engines::Engine;
use workloads::db::option_file::Options;
use workloads::db::{Cleaned, Held, Way, password_in};

/// The variable that may hold an address with a password. No worker inherits it.
pub(crate) const VARIABLE: &str = "KURABE_DB_URL";

/// Where redis-cli looks for a password.
const REDIS_VARIABLE: &str = "REDISCLI_AUTH";

/// Where passwords are kept.
fn keep(engine: Engine) -> String {
    let file = engine
        .keeps_in()
        .map(|file| format!("the password in {file}, or "));
    format!(
        "keep {}the address with it in `{VARIABLE}` or in a file for `--db-file FILE`",
        file.unwrap_or_default()
    )
}

/// A server as the user named it.
#[derive(Clone)]
pub(crate) struct Server {
    address: Address,
    secret: Option<Secret>,
    allow_existing: bool,
    /// Where nobody typed it for this command, it need not concern every test.
    is_ambient: bool,
}

/// The server that the user named, where any is.
pub(crate) fn named(args: &ServerArgs) -> anyhow::Result<Option<Server>> {
    named_by(args, "--db")
}

/// The same, where an address is typed behind `option`.
pub(crate) fn named_by(args: &ServerArgs, option: &str) -> anyhow::Result<Option<Server>> {
    let mut in_file = None;
    let mut typed = |text: &str, from: &str| {
        let text = text.trim();
        let (defaults, password) = defaults(Engine::of(text));
        in_file = password;
        Address::read(text, &defaults).map_err(|why| {
            failure(
                Exit::Usage,
                format!("cannot read the address {from}: {why}"),
                None,
            )
        })
    };
    let variable = variable();
    let (found, is_ambient) = if let Some(url) = &args.address.db {
        let from = format!("behind `{option}`");
        let found = typed(&text_of(url, &from)?, &from)?;
        if found.password.is_some() {
            let what = format!(
                "a password in the address {from} is refused: everybody on this machine can read command lines"
            );
            let hint = keep(found.address.engine);
            return Err(failure(Exit::Usage, what, Some(&hint)));
        }
        (with_password_of(variable, found), false)
    } else if let Some(file) = &args.address.db_file {
        (
            typed(
                &first_line(file, "the address")?,
                &format!("in `{}`", file.display()),
            )?,
            false,
        )
    } else if let Some(url) = variable {
        let from = format!("in `{VARIABLE}`");
        (typed(&text_of(&url, &from)?, &from)?, true)
    } else if args.db_allow_existing {
        let hint = "name the server with `--db URL`";
        return Err(failure(
            Exit::Usage,
            "`--db-allow-existing`: no server is named",
            Some(hint),
        ));
    } else {
        return Ok(None);
    };
    let Typed { address, password } = found;
    let secret = match (password, address.engine) {
        (Some(password), _) => Some(password),
        (None, Engine::Postgres) => in_password_file(&address),
        (None, Engine::Mysql) => in_file,
        (None, Engine::Redis) => {
            let own = std::env::var(REDIS_VARIABLE).ok();
            own.filter(|password| !password.is_empty())
        }
    };
    Ok(Some(Server {
        address,
        secret: secret.map(Secret::new),
        allow_existing: args.db_allow_existing,
        is_ambient,
    }))
}

/// What stands in the variable.
fn variable() -> Option<OsString> {
    std::env::var_os(VARIABLE).filter(|value| !value.is_empty())
}

/// An address that was typed, with the password of the variable where that names the same one.
fn with_password_of(variable: Option<OsString>, typed: Typed) -> Typed {
    let same = || {
        let text = variable?.into_string().ok()?;
        let (defaults, _) = defaults(Engine::of(text.trim()));
        let found = Address::read(text.trim(), &defaults).ok()?;
        found
            .address
            .opens_like(&typed.address)
            .then_some(found.password?)
    };
    Typed {
        password: same(),
        ..typed
    }
}

/// The server that `kurabe clean` is to look at; `None` where none is typed.
pub(crate) fn to_clean(address: &AddressArgs) -> anyhow::Result<Option<Server>> {
    if !address.is_typed() {
        return Ok(None);
    }
    named(&ServerArgs {
        address: address.clone(),
        ..ServerArgs::default()
    })
}

/// What runs left on a server, which is removed or told alone.
pub(crate) fn clean(server: &Server, way: Way) -> Result<Cleaned, WorkError> {
    let secret = server.secret.clone();
    workloads::db::clean(&server.address, secret, way)
}

impl Server {
    /// The address without a password.
    pub(crate) fn shown(&self) -> String {
        self.address.to_string()
    }

    /// What stands in for the databases of tests.
    pub(crate) fn stand_in(&self) -> StandIn {
        StandIn {
            path: PathBuf::from(self.address.to_string()),
            kind: NamedKind::Server,
        }
    }

    /// The products of its kind.
    pub(crate) const fn products(&self) -> &'static str {
        self.address.engine.products()
    }

    /// Whether it was named for this command.
    pub(crate) const fn is_typed(&self) -> bool {
        !self.is_ambient
    }
}

/// The consent with what opens the servers.
pub(crate) fn consent<'a>(
    mut consent: Consent,
    servers: impl IntoIterator<Item = &'a Server>,
) -> Consent {
    for server in servers {
        let path = server.stand_in().path;
        let secret = server.secret.clone();
        consent.secrets.extend(secret.map(|secret| (path, secret)));
        consent.db_allow_existing |= server.allow_existing;
    }
    consent
}

/// Refuses to go on with runs of servers that were not named again, or of others: of a duel both sides are said.
pub(crate) fn same(runs: &[Run], servers: &[Option<Server>]) -> anyhow::Result<()> {
    let plans: Vec<&Plan> = runs.iter().map(|run| &run.plan).collect();
    let again = servers_of(&plans);
    let mut both = runs.iter().zip(servers);
    both.try_for_each(|(run, server)| same_one(run, server.as_ref(), again.trim_start()))
}

/// The same of one run; `again` names the servers of all.
fn same_one(run: &Run, server: Option<&Server>, again: &str) -> anyhow::Result<()> {
    let mut all = run.plan.named.iter();
    let kept = all
        .find(|named| named.kind == NamedKind::Server)
        .map(|named| &named.path);
    let now = server.map(|server| server.address.to_string());
    match (kept, now) {
        (Some(kept), Some(now)) if *kept == now => Ok(()),
        (Some(kept), now) => {
            let (on, but) = now.map_or_else(
                || ("without a server", String::new()),
                |now| ("on another server", format!(", and not on `{now}`")),
            );
            let hint = format!(
                "name it again: `{again}`; an address with its password stands in `{VARIABLE}` or a file: `--db-file \
                 FILE`"
            );
            let what = format!("cannot go on {on}: the run works on `{kept}`{but}");
            Err(failure(Exit::Usage, what, Some(&hint)))
        }
        (None, Some(now)) if server.is_some_and(Server::is_typed) => {
            let what = format!("cannot use `{now}`: the run works on no server");
            Err(failure(Exit::Usage, what, None))
        }
        (None, _) => Ok(()),
    }
}

/// The run with what its servers say of themselves; `None` where it works on none. Refuses one that does not let us in,
/// and one that is not what it was when the run began.
pub(crate) fn asked(run: &Run, permits: &Permits) -> anyhow::Result<Option<Run>> {
    if run.plan.servers().next().is_none() {
        return Ok(None);
    }
    let mut now = run.clone();
    let cases = &run.plan.cases;
    for named in &mut now.plan.named {
        if named.kind == NamedKind::Server {
            let facts = workloads::db::facts(Path::new(&named.path), permits, cases);
            named.server = facts.map_err(|error| match error {
                WorkError::Unsupported(_) => failure(Exit::Unsupported, error, None),
                _ => failure(Exit::Incomplete, error, None),
            })?;
        }
    }
    resume::refuse_another(run, &now)?;
    Ok(Some(now))
}

/// Keeps a second kurabe out of the databases of these runs, and watches servers of keys, for as long as what it gives
/// is there. Commands of a duel may start a server again, which would wait for a lock's connection to leave: there each
/// round locks by itself alone.
pub(crate) fn held(runs: &[Run], permits: &Permits) -> anyhow::Result<Option<Held>> {
    let has_command = |run: &Run| {
        let duel = run.plan.duel.as_ref();
        duel.is_some_and(|duel| duel.prepare.is_some())
    };
    let plans = runs.iter().map(|run| &run.plan);
    let servers = plans.flat_map(|plan| plan.servers().map(|server| Path::new(&server.path)));
    let servers: BTreeSet<&Path> = servers.collect();
    if servers.is_empty() {
        return Ok(None);
    }
    let held = workloads::db::hold(permits, servers, !runs.iter().any(has_command));
    held.map(Some).map_err(|error| match error {
        WorkError::Unsupported(_) => failure(Exit::Unsupported, error, None),
        _ => failure(Exit::Incomplete, error, None),
    })
}

/// A text of the user's; what is no Unicode is not shown.
fn text_of(value: &OsStr, from: &str) -> anyhow::Result<String> {
    let text = value.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        failure(
            Exit::Usage,
            format!("cannot read the address {from}: it is not UTF-8"),
            None,
        )
    })
}

/// The password in the file where libpq looks, which is left alone where others may read it, as there.
fn in_password_file(address: &Address) -> Option<String> {
    let own = std::env::var_os("PGPASSFILE").filter(|path| !path.is_empty());
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".pgpass"));
    let path = own.map(PathBuf::from).or_else(home)?;
    password_in(&only_ours(&path)?, address)
}

/// What holds of a kind of server where an address does not say it, and a password that its clients would use.
fn defaults(engine: Option<Engine>) -> (Defaults, Option<String>) {
    let me = user();
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".my.cnf"));
    let file = home().filter(|_| engine == Some(Engine::Mysql));
    let options = file.and_then(|path| only_ours(&path));
    let options = options.map_or_else(Options::default, |text| Options::read(&text));
    (options.defaults(me), options.password())
}

/// The text of a file of passwords, which is left alone with a word where others may read it.
fn only_ours(path: &Path) -> Option<String> {
    let (text, mode) = read(path).ok()?;
    if mode & OTHERS != 0 {
        output::say(&format!(
            "warning: `{}` is not read: others may read it (mode {:o})\nhint: `chmod 600 {}`",
            path.display(),
            mode & 0o777,
            path.display()
        ));
        return None;
    }
    Some(text)
}

/// The name of the user who runs this, by whom an address without a user is meant.
fn user() -> Option<String> {
    let own = std::fs::metadata("/proc/self").ok()?.uid().to_string();
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == own).then(|| name.to_owned())
    })
}
