//! Default limits, from the memory, descriptors, processes and ports of the host.

use std::fmt;
use std::path::Path;

use netperf_cli::{LogLevel, ServerArgs};
use netperf_daemon::log::ServerLog;
use netperf_model::{BudgetArg, Limits};
use netperf_os::privileges::{self, ResourceLimit};
use netperf_os::{process, system};

use super::one_port::MOST_HANDED;

/// Memory for each of the first sessions, bytes.
const FEW: u64 = 2 << 20;
/// Sessions that have so much.
const MOST_OF_FEW: u64 = 2000;
/// Memory for each of further sessions, bytes.
const MANY: u64 = 16 << 20;
/// Largest number of sessions, unless `--max-sessions` asks for more.
const MOST: u64 = 16_384;
/// Descriptors of the listener for one session.
const DESCRIPTORS_EACH: u64 = 2;
/// Descriptors of the listener for listeners, pipes, standard streams and refused connections.
const DESCRIPTORS_KEPT: u64 = 128;
/// Largest number of waiting connections.
const MOST_WAITING: u64 = 4096;
/// Ports that Linux chooses from, where /proc does not tell.
const EPHEMERAL: u64 = 28_232;

/// Resources of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HostLimits {
    /// Memory, bytes.
    memory: u64,
    /// Descriptors that netserver may open.
    descriptors: u64,
    /// Processes that its user may have.
    processes: u64,
    /// Ports that the kernel chooses from.
    ports: u64,
}

impl HostLimits {
    /// Looks at the host, and raises the limit of descriptors as far as possible.
    pub(super) fn find() -> Self {
        let user = privileges::limit_now(ResourceLimit::Processes);
        Self {
            memory: of_group("memory.max").min(system::memory()),
            descriptors: process::raise_open_files().unwrap_or(1024),
            processes: of_group("pids.max").min(user),
            ports: ephemeral_ports().unwrap_or(EPHEMERAL),
        }
    }

    /// Descriptors for half of the connections and sessions.
    fn half(&self) -> u64 {
        self.descriptors.saturating_sub(DESCRIPTORS_KEPT) / 2
    }

    /// Data connections that a session may leave waiting.
    pub(super) fn handed(&self) -> usize {
        let most = usize::try_from(self.half() / 4).unwrap_or(MOST_HANDED);
        most.clamp(1, MOST_HANDED)
    }

    /// Connections of all ports that may wait for their first message, or for anything else. What
    /// waits is no part of the half that sessions have.
    pub(super) fn waiting(&self) -> usize {
        let most = self.half() - self.half() / 4;
        usize::try_from(most.clamp(1, MOST_WAITING)).unwrap_or(1)
    }

    /// Sessions at the same time.
    fn sessions(&self) -> u32 {
        let by_memory = (self.memory / FEW).min(MOST_OF_FEW).max(self.memory / MANY);
        let all = [
            by_memory,
            self.half() / DESCRIPTORS_EACH,
            self.processes / 2,
            MOST,
        ];
        let least = all.into_iter().min().unwrap_or(MOST);
        u32::try_from(least.max(1)).unwrap_or(u32::MAX)
    }

    /// Sets the limits that the settings leave open: all sessions may be of one address, and have a
    /// quarter of the memory each and half of it together.
    pub(super) fn complete(&self, args: &mut ServerArgs) {
        let access = &mut args.access;
        access.sessions.get_or_insert(self.sessions());
        let (each, all) = (Limits::MEMORY.each, Limits::MEMORY.all);
        let memory = BudgetArg::of((self.memory / 4).max(each), (self.memory / 2).max(all));
        access.memory.get_or_insert(memory);
        let ports = (self.ports / 4).max(1);
        let ports = BudgetArg::of(ports.min(Limits::PORTS.each), ports);
        access.ports.get_or_insert(ports);
    }

    /// Says the limits in force.
    pub(super) fn log(&self, args: &ServerArgs, log: &mut ServerLog) {
        let limits = args.policy().limits;
        let fields = [
            ("sessions", limits.sessions.into()),
            ("memory", limits.memory.each.into()),
            ("memory_of_all", limits.memory.all.into()),
            ("ports", limits.ports.each.into()),
            ("ports_of_all", limits.ports.all.into()),
            ("waiting", self.waiting().into()),
            ("descriptors", self.descriptors.into()),
        ];
        log.say(LogLevel::Info, "limits", &fields);
    }
}

/// The limits of a netserver, in one line.
pub(super) struct ShownLimits<'a>(pub(super) &'a Limits, pub(super) &'a HostLimits);

impl fmt::Display for ShownLimits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(limits, host) = self;
        let sessions = limits.sessions.unwrap_or_default();
        let of_peer = limits.peer_sessions.unwrap_or(sessions).min(sessions);
        write!(
            f,
            "sessions {sessions}, of one address {of_peer}; memory of buffers {} MiB for a session, \
             {} MiB for all; data ports {} and {}; waiting connections {}",
            limits.memory.each >> 20,
            limits.memory.all >> 20,
            limits.ports.each,
            limits.ports.all,
            host.waiting()
        )
    }
}

/// The smallest limit with this name of the control groups of this process (cgroups(7), version
/// 2).
fn of_group(name: &str) -> u64 {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    let own = Path::new("/sys/fs/cgroup").join(own.unwrap_or_default());
    let limit = |folder: &Path| {
        let text = std::fs::read_to_string(folder.join(name)).ok()?;
        text.trim().parse().ok()
    };
    let all = own.ancestors().filter_map(limit);
    all.min().unwrap_or(u64::MAX)
}

fn ephemeral_ports() -> Option<u64> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut ends = range.split_whitespace().map(str::parse::<u64>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    Some(last.checked_sub(first)? + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;
    const LARGE: HostLimits = HostLimits {
        memory: 24 * GIB,
        descriptors: 1 << 20,
        processes: u64::MAX,
        ports: 28_232,
    };

    #[test]
    fn host_limits_grow_with_the_host() {
        let sessions = |host: HostLimits| host.sessions();
        assert_eq!(sessions(LARGE), 2000);
        let of_memory = |memory| sessions(HostLimits { memory, ..LARGE });
        assert_eq!(
            [GIB, 2 * GIB, 256 * GIB].map(of_memory),
            [512, 1024, 16_384]
        );
        let of_descriptors = |descriptors| {
            let host = HostLimits {
                descriptors,
                ..LARGE
            };
            (host.sessions(), host.waiting())
        };
        assert_eq!(of_descriptors(1024), (224, 336));
        assert_eq!(of_descriptors(3), (1, 1));
        let of_processes = |processes| sessions(HostLimits { processes, ..LARGE });
        assert_eq!([100, 0].map(of_processes), [50, 1]);
    }

    #[test]
    fn host_limits_fill_what_the_settings_leave_open() {
        let mut args = ServerArgs::default();
        LARGE.complete(&mut args);
        let limits = args.policy().limits;
        assert_eq!((limits.sessions, limits.peer_sessions), (Some(2000), None));
        assert_eq!((limits.memory.each, limits.memory.all), (6 * GIB, 12 * GIB));
        assert_eq!((limits.ports.each, limits.ports.all), (1024, 7058));
        args.access.sessions = Some(7);
        LARGE.complete(&mut args);
        assert_eq!(args.policy().limits.sessions, Some(7));
    }
}
