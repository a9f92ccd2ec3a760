//! The process that keeps rights of root for netserver (`netserver-rights`).
//!
//! Neither the listener nor a session has a right of root. This process has those that the
//! permitted tests need, makes these calls for the others and no more, and parses nothing else.

use std::io;
use std::os::fd::AsFd as _;

use netperf_cli::ServerArgs;
use netperf_model::{DataPeers, GuardedFeature, TransportGroup, TransportId};
use netperf_os::privileges::{self, Capability, User};
use netperf_os::process;
use netperf_os::rights::{self, GrantedCalls};

use super::helper_process;

/// Starts the process, if this one has a right that the permitted tests need. `to` is the user
/// that netserver becomes. Returns true if it was started.
///
/// # Errors
/// When there are too many processes or open files.
pub fn start(args: &ServerArgs, to: Option<User>) -> io::Result<bool> {
    let keeps_root = to.is_some_and(|to| to.user == 0);
    start_with(needed(args, keeps_root), to)
}

/// Starts the process for a server of iperf3, whose clients may choose every congestion control, as
/// the original's may.
///
/// # Errors
/// As [`start`].
pub fn start_for_iperf3() -> io::Result<bool> {
    let granted = GrantedCalls {
        congestion: true,
        ..GrantedCalls::default()
    };
    let calls = [granted.clone(), granted];
    start_with((calls, vec![Capability::NetAdmin]), None)
}

fn start_with(
    ([granted, granted_here], needed): ([GrantedCalls; 2], Vec<Capability>),
    to: Option<User>,
) -> io::Result<bool> {
    let kept = privileges::permitted(&needed)?;
    if kept.is_empty() {
        return Ok(false);
    }
    let (door, asked) = rights::pair()?;
    let (door_here, asked_here) = rights::pair()?;
    let own = [asked.as_fd(), asked_here.as_fd()];
    helper_process::start(c"netserver-rights", &own, || {
        let calls = [(&asked, &granted), (&asked_here, &granted_here)];
        confine(to, &kept).and_then(|()| rights::serve(calls))
    })?;
    rights::set_door(door);
    rights::set_door_here(door_here);
    Ok(true)
}

/// Keeps these rights alone.
fn confine(to: Option<User>, kept: &[Capability]) -> io::Result<()> {
    // A container may have one user alone.
    match to.map(|to| privileges::become_user(to, kept)) {
        Some(Ok(())) => {}
        Some(Err(_)) | None => privileges::keep_only(kept)?,
    }
    // The change of the user made it so again.
    process::set_not_dumpable()
}

/// Calls that the permitted tests need, of strangers and of clients on this host, and the rights for
/// these. Clients on this host may ask for every feature of a netserver that stays root.
fn needed(args: &ServerArgs, keeps_root: bool) -> ([GrantedCalls; 2], Vec<Capability>) {
    let policy = args.policy();
    let has = |feature| policy.features.contains(feature);
    let below_ip = |id: TransportId| TransportGroup::of(id.row()) == TransportGroup::Link;
    let granted = GrantedCalls {
        // A client chooses the port of its data (-P).
        ports: Some(
            policy
                .data_ports
                .map_or((1, 1023), |range| (range.first(), range.last())),
        ),
        mark: has(GuardedFeature::Mark),
        priority: has(GuardedFeature::Priority),
        device: has(GuardedFeature::Device),
        congestion: false,
        link: policy.transports.iter().any(below_ip),
    };
    let here = keeps_root && policy.data_peers == DataPeers::Same;
    let granted_here = GrantedCalls {
        mark: granted.mark || here,
        priority: granted.priority || here,
        device: granted.device || here,
        ..granted.clone()
    };
    let mut needed = vec![Capability::LowPorts];
    let has = |one: fn(&GrantedCalls) -> bool| one(&granted_here);
    needed.extend(has(|calls| calls.link || calls.device).then_some(Capability::NetRaw));
    needed.extend(has(|calls| calls.mark || calls.priority).then_some(Capability::NetAdmin));
    ([granted, granted_here], needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netperf_cli::ServerCommand;

    fn kept(words: &[&str]) -> Vec<Capability> {
        let argv = ["netserver"].iter().chain(words);
        let argv: Vec<_> = argv.map(std::ffi::OsString::from).collect();
        match netperf_cli::netserver(&argv, &|_| Ok(String::new())).command {
            Ok(ServerCommand::Serve(args)) => needed(&args, false).1,
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
            assert_eq!(kept(words), rights, "{words:?}");
        }
    }
}
