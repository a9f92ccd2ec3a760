//! Exit statuses and times of processes, as the simulator reports it.

use std::time::Duration;

/// The end of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimEnd {
    /// It ended by itself, with this status, at this virtual time.
    Status(i32, Duration),
    /// A signal ended it.
    Signal(Duration),
    /// It ran until the end of the simulation.
    Running,
}

impl SimEnd {
    /// The status, if it ended by itself.
    pub const fn status(self) -> Option<i32> {
        match self {
            Self::Status(status, _) => Some(status),
            Self::Signal(_) | Self::Running => None,
        }
    }

    /// When it ended.
    pub const fn at(self) -> Option<Duration> {
        match self {
            Self::Status(_, at) | Self::Signal(at) => Some(at),
            Self::Running => None,
        }
    }
}

/// A process by the simulator's name, and its end.
pub(super) type FoundEnd = (String, SimEnd);

/// The ends that the simulator's log reports.
pub(super) fn of(log: &str) -> Vec<FoundEnd> {
    log.lines().filter_map(end).collect()
}

/// The end of a process; one that was not reported still runs.
pub(super) fn find(ends: &[FoundEnd], name: &str) -> SimEnd {
    let found = ends.iter().find(|(found, _)| found == name);
    found.map_or(SimEnd::Running, |(_, end)| *end)
}

/// The processes of a host that the end of the simulation stopped, by the simulator's names; it
/// reports those that another started at the log level `debug` alone.
pub(super) fn stopped(log: &str, host: &str) -> Vec<String> {
    let of_host = |line: &str| {
        let (_, name, rest) = process(line)?;
        let name = name.strip_prefix(host)?.strip_prefix('.')?;
        rest.starts_with(" exited with status StoppedByShadow")
            .then(|| name.to_owned())
    };
    log.lines().filter_map(of_host).collect()
}

/// The name of a process in a line of the log, and what stands before and behind it.
fn process(line: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = line.split_once("process '")?;
    let (name, rest) = rest.split_once('\'')?;
    Some((before, name, rest))
}

/// A line such as "00:00:00.07 [1:shadow-worker] 00:00:01.08 [ERROR] ... process
/// 'client.netperf.1000' exited with status Normal(1); expected ... but was exited: 1".
fn end(line: &str) -> Option<FoundEnd> {
    let (before, name, rest) = process(line)?;
    let at = before.split_whitespace().nth(2).and_then(time)?;
    let (_, state) = rest.rsplit_once(" but was ")?;
    let end = match state.split_once(": ") {
        Some(("exited", status)) => SimEnd::Status(status.trim().parse().ok()?, at),
        Some(_) => SimEnd::Signal(at),
        None => SimEnd::Running,
    };
    Some((name.to_owned(), end))
}

/// A time such as "00:00:01.080135190".
fn time(text: &str) -> Option<Duration> {
    let mut parts = text.split(':');
    let mut number = || parts.next()?.parse::<f64>().ok();
    let (hours, minutes, seconds) = (number()?, number()?, number()?);
    Duration::try_from_secs_f64((hours * 60.0 + minutes) * 60.0 + seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_read_from_the_log() {
        let line = |what: &str| {
            format!(
                "00:00:00.07 [22072:shadow-worker] 00:00:01.080000000 [ERROR] [client:11.0.0.1] \
                 [process.rs:1590] [shadow_rs::host::process] process 'client.netperf.1000' {what}"
            )
        };
        let text =
            line("exited with status Normal(1); expected end state was running but was exited: 1");
        let found = of(&text);
        let at = Duration::from_millis(1080);
        assert_eq!(find(&found, "client.netperf.1000"), SimEnd::Status(1, at));
        assert_eq!(find(&found, "server.netserver.1000"), SimEnd::Running);
        let text = line("exited; expected end state was running but was signaled: SIGKILL");
        assert_eq!(of(&text)[0].1, SimEnd::Signal(at));
        assert_eq!(of("Error: something else"), []);
    }

    #[test]
    fn processes_that_the_end_stopped_are_named_by_host() {
        let log = "process 'server.netserver.1003' exited with status StoppedByShadow\n\
                   process 'server.netserver.1000' exited with status Normal(0)\n\
                   process 'client.netperf.1000' exited with status StoppedByShadow; expected";
        assert_eq!(stopped(log, "server"), ["netserver.1003"]);
    }
}
