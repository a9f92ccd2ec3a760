//! The user that netserver becomes once its ports are open.

use std::io;
use std::path::Path;

use netperf_cli::{LogLevel, ServerArgs};
use netperf_model::{GuardedFeature, TransportGroup};
use netperf_os::privileges::{self, Capability, User};
use netperf_program::output::{FAILED, Failure};
use netperf_transport::registry;

use super::log::ServerLog;

/// Users to become without `--user`, the first that exists.
const NAMES: [&str; 3] = ["netserver", "netperf", "nobody"];
/// User of processes that own nothing, for hosts without a list of users.
const NOBODY: User = User {
    user: 65534,
    group: 65534,
};

/// Change to another user.
#[derive(Debug)]
pub(super) struct UserChange {
    to: User,
    name: String,
    keep: Vec<Capability>,
    /// True if `--user` names it.
    is_asked: bool,
}

impl UserChange {
    /// The change that the options ask for; without `--user`, that of root to a user of few
    /// rights. `None` if netserver keeps its user: it is not root, or `preloaded` libraries
    /// may need root.
    ///
    /// # Errors
    /// If the user does not exist.
    pub(super) fn planned(args: &ServerArgs, preloaded: bool) -> Result<Option<Self>, Failure> {
        if let Some(name) = &args.operations.user {
            let to = privileges::user(name)
                .map_err(|error| Failure::netserver(FAILED, format_args!("--user: {error}")))?;
            return Ok(Some(Self {
                to,
                name: name.clone(),
                keep: Vec::new(),
                is_asked: true,
            }));
        }
        if preloaded || !privileges::is_root() {
            return Ok(None);
        }
        let known = |name: &str| privileges::user(name).ok().filter(|to| to.user != 0);
        let found = NAMES.iter().find_map(|name| Some((known(name)?, *name)));
        let (to, name) = found.unwrap_or((NOBODY, "nobody"));
        Ok(Some(Self {
            to,
            name: name.to_owned(),
            keep: needed(args, lists_are_restricted()),
            is_asked: false,
        }))
    }

    /// Becomes the user and logs it. Root that may not change its user, in some containers,
    /// stays root unless `--user` asks for the change.
    ///
    /// # Errors
    /// If the change that `--user` asks for fails, or the user cannot reach the folder of
    /// `--files`.
    pub(super) fn carry_out(self, args: &ServerArgs, log: &mut ServerLog) -> Result<(), Failure> {
        let failed = |line: std::fmt::Arguments<'_>| Failure::netserver(FAILED, line);
        // Only root may open the device, where udev does not permit it to all.
        let _kept = registry::find_cid(args.policy().transports);
        let changed = privileges::become_user(self.to, &self.keep);
        match changed.and_then(|()| privileges::no_new_privileges()) {
            Err(error) if self.is_asked => {
                return Err(failed(format_args!(
                    "cannot switch to the user (--user): {error}"
                )));
            }
            Err(error) => {
                let fields = [
                    ("user", "root".into()),
                    ("error", format!("{}: {error}", self.name).into()),
                ];
                log.say(LogLevel::Warn, "user", &fields);
                return Ok(());
            }
            Ok(()) => {}
        }
        let files = args.operations.files.as_deref();
        if let Some((folder, error)) = files.and_then(|folder| Some((folder, closed(folder)?))) {
            return Err(failed(format_args!(
                "--files: user {} cannot reach {}: {error}; `--user root` keeps root",
                self.name,
                folder.display(),
            )));
        }
        let fields = [("user", self.name.into())];
        log.say(LogLevel::Info, "user", &fields);
        Ok(())
    }
}

/// Error of this user at a folder.
fn closed(folder: &Path) -> Option<io::Error> {
    folder.join(".").metadata().err()
}

/// True if the host has algorithms of congestion control (`-K`) that not every user may choose.
fn lists_are_restricted() -> bool {
    let list = |name: &str| {
        let file = format!("/proc/sys/net/ipv4/tcp_{name}_congestion_control");
        std::fs::read_to_string(file).unwrap_or_default()
    };
    let allowed = list("allowed");
    let is_allowed = |one: &str| allowed.split_whitespace().any(|other| other == one);
    !list("available").split_whitespace().all(is_allowed)
}

/// Rights of root that the permitted tests need.
fn needed(args: &ServerArgs, restricted_control: bool) -> Vec<Capability> {
    let policy = args.policy();
    let features = policy.features;
    let below_ip =
        |id: netperf_model::TransportId| TransportGroup::of(id.row()) == TransportGroup::Link;
    let raw = policy.transports.iter().any(below_ip) || features.contains(GuardedFeature::Device);
    let admin = restricted_control
        || features.contains(GuardedFeature::Mark)
        || features.contains(GuardedFeature::Priority);
    // A client chooses the port of its data (-P).
    let mut needed = vec![Capability::LowPorts];
    needed.extend(raw.then_some(Capability::NetRaw));
    needed.extend(admin.then_some(Capability::NetAdmin));
    needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use netperf_cli::ServerCommand;

    fn kept(words: &[&str], restricted_control: bool) -> Vec<Capability> {
        let argv = ["netserver"].iter().chain(words);
        let argv: Vec<_> = argv.map(std::ffi::OsString::from).collect();
        match netperf_cli::netserver(&argv, &|_| Ok(String::new())).command {
            Ok(ServerCommand::Serve(args)) => needed(&args, restricted_control),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn rights_of_root_are_kept_for_what_the_options_permit() {
        use Capability::{LowPorts, NetAdmin, NetRaw};
        for (words, rights) in [
            (&[][..], &[LowPorts][..]),
            (&["--transports", "tcp,link"], &[LowPorts, NetRaw]),
            (&["--features", "mark"], &[LowPorts, NetAdmin]),
            (&["--features", "bind-device"], &[LowPorts, NetRaw]),
            (&["--features", "all"], &[LowPorts, NetRaw, NetAdmin]),
            (&["--features", "io-uring"], &[LowPorts]),
        ] {
            assert_eq!(kept(words, false), rights, "{words:?}");
        }
        assert_eq!(kept(&[], true), [LowPorts, NetAdmin]);
    }
}
