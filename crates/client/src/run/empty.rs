//! Runs in which nothing arrived. They have no result; a firewall is the usual reason.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use netperf_model::{Agreed, Hosts, Iteration, Tally, TestPlan, Warning};
use netperf_os::tcp::{self, TcpDetail};

use super::blocked;
use crate::elsewhere;

/// Shortest run ended by a signal in which data is expected to arrive, seconds.
const SOON: f64 = 1.0;

/// Shortest run on an idle path whose connection is not only late, seconds: a loaded host is late
/// by less.
const LATE: f64 = 2.0;

/// Largest datagram in one packet of Ethernet over IPv4, bytes.
const FULL_PACKET: u32 = 1472;

/// Largest round trip of a path without traffic, microseconds: on longer ones, a queue and a
/// distance look the same.
const SHORT: u32 = 50_000;
/// Largest difference between the mean round trip and the shortest on such a path, microseconds.
const STEADY: u32 = 5_000;

/// Circumstances under which nothing arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Surroundings {
    /// True if a signal ended the test.
    pub(super) stopped: bool,
    /// True for a run that netperf 2.7 could make: it has a result however soon it is ended.
    pub(super) classic: bool,
    /// True if the path carries no other traffic that could keep data away.
    pub(super) idle: bool,
    /// Time for which netserver's answer to the request was waited for.
    pub(super) answered: Duration,
}

/// Returns whether the round trips of the control connection are those of a path without traffic.
pub(super) fn is_idle(control: BorrowedFd<'_>) -> bool {
    tcp::detail(control).is_ok_and(|known| tells_idle(&known))
}

fn tells_idle(known: &TcpDetail) -> bool {
    let (Some(mean), Some(least), Some(0)) = (known.rtt, known.min_rtt, known.total_retrans) else {
        return false;
    };
    mean < SHORT && mean.saturating_sub(least) < STEADY
}

/// Data that did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EmptyCause {
    /// No transaction was completed, though netserver received so many bytes of requests.
    Transactions(u64),
    /// netserver received none of so many bytes.
    There(u64),
    /// netperf received nothing.
    Back,
    /// Every send of netperf, or of netserver, failed.
    Sends(SendingEnd),
}

/// End whose sends failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SendingEnd {
    Netperf,
    Netserver,
}

/// Reason why a test has no result; `None` if it has one.
pub(super) fn failure(
    plan: &TestPlan,
    hosts: &Hosts,
    agreed: &Agreed,
    runs: &[Iteration],
    around: Surroundings,
) -> Option<String> {
    let at_once = || runs.iter().all(|run| run.elapsed < SOON);
    let has_result = || around.classic && at_once();
    let ended_soon = || runs.iter().all(|run| ended_soon(plan, run, around));
    if around.stopped && ended_soon() && !has_result() {
        return Some(stopped(plan));
    }
    let cause = cause(plan, hosts, agreed, runs, around)?;
    let is_dropped = || matches!(of_all(plan, runs, around), Some(EmptyCause::Sends(_)));
    let is_late = || runs.iter().any(|run| comes_late(plan, run));
    let is_elsewhere =
        || elsewhere::explanation(plan).is_some() || plan.remote.one_port || lacks_a_message(plan);
    let is_closed = blocked::closed_meanwhile(around.answered, 0, "").is_some();
    if is_closed || had_connection(plan, runs) || is_dropped() || is_late() || is_elsewhere() {
        return Some(cause);
    }
    Some(format!("{cause}: {}", blocked::advice(plan)))
}

/// The reason where a signal came first.
pub(super) fn stopped(plan: &TestPlan) -> String {
    let what = if plan.flow.counts_transactions() {
        "a transaction was completed"
    } else {
        "any data arrived"
    };
    format!("a signal ended the test before {what}")
}

/// Reason why a data connection cannot be: both ends have one port of this host, and TCP connects
/// netperf's socket to itself (RFC 9293 section 3.5, simultaneous open).
pub(super) fn connects_to_itself(
    plan: &TestPlan,
    hosts: &Hosts,
    agreed: &Agreed,
) -> Option<String> {
    let port = agreed.data_port;
    let remote = hosts.remote.address.to_canonical();
    let is_own = || {
        let own = netperf_os::net::interface_addresses().unwrap_or_default();
        remote.is_loopback() || own.iter().any(|entry| entry.address == remote)
    };
    let one_port = hosts.local.port != 0 && port == u32::from(hosts.local.port);
    (one_port && has_connection(plan) && is_own()).then(|| {
        format!(
            "the data connection would connect netperf to itself: -P gave client and server port \
             {port} of one host: give the server's alone, as in -P ,{port}"
        )
    })
}

/// The reason without advice.
pub(super) fn cause(
    plan: &TestPlan,
    hosts: &Hosts,
    agreed: &Agreed,
    runs: &[Iteration],
    around: Surroundings,
) -> Option<String> {
    let missing = of_all(plan, runs, around)?;
    let what = match missing {
        EmptyCause::Transactions(0) => "no transaction was completed".to_owned(),
        EmptyCause::Transactions(_) => {
            "requests arrived at netserver, but no transaction was completed".to_owned()
        }
        EmptyCause::There(sent) => format!("none of {sent} bytes arrived at netserver"),
        EmptyCause::Back => "no data arrived from netserver".to_owned(),
        EmptyCause::Sends(end) => return Some(dropped(end).to_owned()),
    };
    if let Some(why) = elsewhere::explanation(plan) {
        return Some(format!("{what}: {why}"));
    }
    if lacks_a_message(plan) {
        return Some(format!(
            "{what}: a message of 0 bytes is never sent: give -r at least 1 byte each way"
        ));
    }
    if runs.iter().any(|run| comes_late(plan, run)) {
        return Some(format!(
            "{what}, though the connection stands and the path is idle: the path probably loses \
             all full packets, because its MTU is smaller than both hosts know (try -- -G 1000)"
        ));
    }
    let longest = runs.iter().map(|run| run.elapsed).fold(0.0, f64::max);
    if had_connection(plan, runs) {
        return Some(format!(
            "{what} within {longest:.2} s, though the connection stands: the test was too short \
             for this path or these hosts, or the path loses all packets of this size"
        ));
    }
    let way = match missing {
        EmptyCause::Back | EmptyCause::Transactions(1..) => "from",
        EmptyCause::Transactions(_) | EmptyCause::There(_) | EmptyCause::Sends(_) => "to",
    };
    let (transport, host) = (plan.transport.row(), &hosts.remote.name);
    if plan.remote.one_port {
        // The first packet of the data arrived, or the test would not have begun.
        return Some(format!(
            "{what}: the path probably loses all packets of this size, or at this rate"
        ));
    }
    if let Some(why) = blocked::closed_meanwhile(around.answered, agreed.data_port, host) {
        return Some(format!("{what}: {why}"));
    }
    let size = agreed.local.send_size.filter(|size| *size > FULL_PACKET);
    let fragments = size.filter(|_| !transport.reliable).map(|size| {
        format!(", or the path loses fragments of {size} bytes (use {FULL_PACKET} bytes at most)")
    });
    let short = (longest < SOON).then(|| {
        format!(", or a test of {longest:.2} s is too short for this path or these hosts")
    });
    Some(format!(
        "{what}: a firewall probably blocks {} {way} port {} of {host}{}{}",
        transport.label,
        agreed.data_port,
        fragments.unwrap_or_default(),
        short.unwrap_or_default()
    ))
}

/// Returns true if one message of each transaction is never sent, because it has no bytes.
fn lacks_a_message(plan: &TestPlan) -> bool {
    let is_empty = [plan.request, plan.response].contains(&Some(0));
    is_empty && plan.flow.counts_transactions()
}

/// Why netperf has sent nothing, if every send failed.
pub(super) fn unsent(tally: &Tally) -> Option<&'static str> {
    let all_failed = tally.bytes_sent == 0 && tally.failed_sends > 0;
    all_failed.then(|| dropped(SendingEnd::Netperf))
}

/// Cause that drops all datagrams of an end.
const fn dropped(end: SendingEnd) -> &'static str {
    match end {
        SendingEnd::Netperf => {
            "nothing was sent: every send failed: a queue of this host is too small for a datagram, \
             or its firewall drops all (see tc -s qdisc)"
        }
        SendingEnd::Netserver => {
            "no data was sent by netserver: every send failed: a queue of its host is too small for \
             a datagram, or its firewall drops all (see tc -s qdisc there)"
        }
    }
}

/// Warning about a connection over which nothing arrived in time, on a path that may be busy. That is a
/// measurement: the connection stood, and its sender had data.
pub(super) fn starved(plan: &TestPlan, runs: &[Iteration]) -> Option<Warning> {
    let starves = |run: &Iteration| comes_late(plan, run) && of_run(plan, run, false).is_none();
    runs.iter().any(starves).then(|| {
        let way = if plan.flow.sends { "at" } else { "from" };
        Warning::Stalled(format!(
            "nothing arrived {way} netserver within the time of the test: other traffic fills \
             the path, or it loses all packets of this size"
        ))
    })
}

/// Returns true for a run of a few round trips in which nothing arrived, and no send failed.
fn ended_soon(plan: &TestPlan, run: &Iteration, around: Surroundings) -> bool {
    let local = &run.local.tally;
    let remote = run.remote.as_ref().map(|end| &end.tally);
    let arrived = if plan.flow.counts_transactions() {
        local.transactions
    } else {
        let there = remote.map_or(local.bytes_sent, |end| end.bytes_received);
        local.bytes_received + if plan.flow.sends { there } else { 0 }
    };
    let failed = local.failed_sends + remote.map_or(0, |end| end.failed_sends);
    let soon = SOON + 4.0 * around.answered.as_secs_f64();
    arrived == 0 && failed == 0 && run.elapsed < soon
}

/// Returns true if one end sent over a connection, and nothing arrived yet at the other.
fn comes_late(plan: &TestPlan, run: &Iteration) -> bool {
    let Some(remote) = run
        .remote
        .as_ref()
        .filter(|_| !plan.flow.counts_transactions())
    else {
        return false;
    };
    let (local, remote) = (&run.local.tally, &remote.tally);
    let there = plan.flow.sends && local.bytes_sent > 0 && remote.bytes_received == 0;
    let back = plan.flow.receives && remote.bytes_sent > 0 && local.bytes_received == 0;
    goes_over_connections(plan) && (there || back)
}

fn goes_over_connections(plan: &TestPlan) -> bool {
    plan.transport.row().reliable && plan.transport.is_connected()
}

/// Returns true if the test has a connection from its beginning on, which no firewall blocks.
fn has_connection(plan: &TestPlan) -> bool {
    goes_over_connections(plan) && !plan.flow.connects
}

/// Returns true if no firewall blocked the connections of these runs: there was one from the
/// beginning on, or what netperf sent over one arrived.
fn had_connection(plan: &TestPlan, runs: &[Iteration]) -> bool {
    let arrived = |run: &Iteration| {
        let remote = run.remote.as_ref();
        remote.is_some_and(|end| end.tally.bytes_received > 0)
    };
    has_connection(plan) || goes_over_connections(plan) && runs.iter().any(arrived)
}

/// Data that arrived in none of the runs.
fn of_all(plan: &TestPlan, runs: &[Iteration], around: Surroundings) -> Option<EmptyCause> {
    let missing = |run: &Iteration| {
        let counts = !around.stopped || run.elapsed >= SOON;
        of_run(plan, run, around.idle).filter(|_| counts)
    };
    let each: Option<Vec<EmptyCause>> = runs.iter().map(missing).collect();
    each?.pop()
}

/// Data that did not arrive in one run. On a path that is not `idle`, a connection may starve.
fn of_run(plan: &TestPlan, run: &Iteration, idle: bool) -> Option<EmptyCause> {
    let local = &run.local.tally;
    let received = run.remote.as_ref().map(|end| end.tally.bytes_received);
    if plan.flow.sends && unsent(local).is_some() {
        return Some(EmptyCause::Sends(SendingEnd::Netperf));
    }
    let remote = run.remote.as_ref().map(|end| &end.tally);
    if plan.flow.receives && remote.is_some_and(|end| end.bytes_sent == 0 && end.failed_sends > 0) {
        return Some(EmptyCause::Sends(SendingEnd::Netserver));
    }
    if plan.flow.counts_transactions() {
        let requests = received.unwrap_or(0);
        return (local.transactions == 0).then_some(EmptyCause::Transactions(requests));
    }
    if comes_late(plan, run) && !(idle && run.elapsed >= LATE) {
        return None;
    }
    if plan.flow.sends && local.bytes_sent > 0 && received == Some(0) {
        return Some(EmptyCause::There(local.bytes_sent));
    }
    (plan.flow.receives && local.bytes_received == 0).then_some(EmptyCause::Back)
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;
    use crate::planned::{plan, ran};
    use netperf_model::EndResult;

    fn run(local: Tally, received_there: Option<u64>) -> Iteration {
        let end = |tally| EndResult {
            tally,
            ..EndResult::default()
        };
        ran(
            2.0,
            end(local),
            received_there.map(|bytes_received| {
                end(Tally {
                    bytes_received,
                    ..Tally::default()
                })
            }),
        )
    }

    fn sent(bytes_sent: u64) -> Tally {
        Tally {
            bytes_sent,
            ..Tally::default()
        }
    }

    #[test]
    fn a_run_without_data_has_no_result_in_any_kind_of_test() {
        let missing = |test: &str, run: Iteration| of_run(&plan(test), &run, false);
        let stream = "netperf -H a -t UDP_STREAM";
        assert_eq!(
            missing(stream, run(sent(9), Some(0))),
            Some(EmptyCause::There(9))
        );
        assert_eq!(missing(stream, run(sent(9), Some(1))), None);
        // Nothing is known of netserver's end.
        assert_eq!(missing(stream, run(sent(9), None)), None);
        let failed = Tally {
            failed_sends: 1,
            ..Tally::default()
        };
        assert_eq!(
            missing(stream, run(failed, Some(0))),
            Some(EmptyCause::Sends(SendingEnd::Netperf))
        );
        let back = "netperf -H a -t TCP_MAERTS";
        assert_eq!(missing(back, run(sent(0), Some(0))), Some(EmptyCause::Back));
        // Data of a connection that stands was on its way.
        let mut late = run(sent(0), Some(0));
        if let Some(remote) = &mut late.remote {
            remote.tally.bytes_sent = 9;
        }
        assert_eq!(missing(back, late.clone()), None);
        // On an idle path, other traffic cannot be the reason.
        let of_idle = of_run(&plan(back), &late, true);
        assert_eq!(of_idle, Some(EmptyCause::Back));
        let short = Iteration {
            elapsed: 1.0,
            ..late.clone()
        };
        assert_eq!(of_run(&plan(back), &short, true), None);
        let datagrams = "netperf -H a -t omni -- -T udp -d recv";
        assert_eq!(missing(datagrams, late.clone()), Some(EmptyCause::Back));
        let warned = starved(&plan(back), from_ref(&late)).is_some();
        assert!(warned && starved(&plan(datagrams), &[late]).is_none());
        // A stock netserver does not count requests.
        let mut requests = run(sent(9), Some(0));
        requests.local.tally.transactions = 1;
        assert!(starved(&plan("netperf -H a -t TCP_RR"), &[requests]).is_none());
        let stream = "netperf -H a -t TCP_STREAM";
        assert_eq!(missing(stream, run(sent(9), Some(0))), None);
        for test in ["UDP_RR", "TCP_CRR", "TCP_CC"] {
            let words = format!("netperf -H a -t {test}");
            let none = Some(EmptyCause::Transactions(0));
            assert_eq!(missing(&words, run(sent(1), Some(0))), none, "{test}");
            let done = Tally {
                transactions: 1,
                ..sent(1)
            };
            assert_eq!(missing(&words, run(done, Some(0))), None, "{test}");
        }
    }

    #[test]
    fn a_connection_that_carried_nothing_is_not_blamed_on_a_firewall() {
        let end = netperf_model::Host {
            name: "a".to_owned(),
            address: std::net::IpAddr::from([127, 0, 0, 1]),
            scope: 0,
            port: 0,
            vsock: None,
        };
        let hosts = Hosts {
            local: end.clone(),
            remote: end,
        };
        let agreed = Agreed {
            local: netperf_model::EndSetup::default(),
            remote: None,
            data_port: 7,
            remote_cpu: false,
        };
        let said = |test: &str| {
            let plan = plan(&format!("netperf -H a -t {test}"));
            let runs = [run(sent(9), Some(0))];
            failure(&plan, &hosts, &agreed, &runs, Surroundings::default()).expect("a reason")
        };
        let stands = " within 2.00 s, though the connection stands";
        for test in ["TCP_RR", "TCP_MAERTS"] {
            let text = said(test);
            assert!(
                text.contains(stands) && !text.contains("firewall"),
                "{text}"
            );
        }
        for test in ["TCP_CRR", "UDP_RR"] {
            let text = said(test);
            assert!(
                text.contains("a firewall probably blocks") && text.contains("open that port"),
                "{text}"
            );
            assert!(!text.contains("too short"), "{text}");
        }
        // A request came through a connection, and the response was lost for the rest of the time.
        let crr = plan("netperf -H a -t TCP_CRR");
        let arrived = [run(sent(1), Some(1))];
        let text = failure(&crr, &hosts, &agreed, &arrived, Surroundings::default());
        let text = text.expect("a reason");
        assert!(
            text.contains("though the connection stands") && !text.contains("firewall"),
            "{text}"
        );
        // Neither a lost packet nor a busy host is told from a firewall in so short a time.
        let mut brief = run(sent(9), Some(0));
        brief.elapsed = 0.05;
        let plan = plan("netperf -H a -t TCP_CRR");
        let text = failure(&plan, &hosts, &agreed, &[brief], Surroundings::default());
        assert_eq!(
            text.as_deref(),
            Some(
                "no transaction was completed: a firewall probably blocks TCP to port 7 of a, or a \
                 test of 0.05 s is too short for this path or these hosts: open that port"
            )
        );
    }

    #[test]
    fn empty_results_name_the_request_or_connection_under_way() {
        let mut late = run(sent(9), None);
        late.local.tally.unanswered = 1;
        for (test, said) in [
            (
                "TCP_CC",
                "1 connection is not closed at the end of the test",
            ),
            ("TCP_RR", "1 request has no response at the end of the test"),
        ] {
            let plan = plan(&format!("netperf -H a -t {test}"));
            let warning = netperf_model::unanswered::doubt(&plan, from_ref(&late));
            let Some(Warning::Unanswered(text)) = warning else {
                panic!("{test}: {warning:?}");
            };
            assert!(text.starts_with(said), "{text}");
        }
    }

    #[test]
    fn a_path_is_idle_if_round_trips_are_short_and_steady_and_nothing_is_lost() {
        let idle = |rtt, min_rtt, lost| {
            tells_idle(&TcpDetail {
                rtt: Some(rtt),
                min_rtt: Some(min_rtt),
                total_retrans: Some(lost),
                ..TcpDetail::default()
            })
        };
        assert!(idle(200, 150, 0));
        // A queue that fills, one that is full from the beginning on, and one that drops.
        assert!(!idle(6_000, 200, 0));
        assert!(!idle(90_000, 89_000, 0));
        assert!(!idle(200, 150, 1));
        assert!(!tells_idle(&TcpDetail::default()));
    }

    #[test]
    fn one_result_is_enough_and_a_signal_may_come_before_the_first() {
        const RAN: Surroundings = Surroundings {
            stopped: false,
            classic: false,
            idle: false,
            answered: Duration::ZERO,
        };
        const STOPPED: Surroundings = Surroundings {
            stopped: true,
            ..RAN
        };
        let plan = plan("netperf -H a -t UDP_STREAM");
        let (empty, full) = (run(sent(9), Some(0)), run(sent(9), Some(9)));
        assert!(of_all(&plan, &[empty.clone(), empty.clone()], RAN).is_some());
        assert!(of_all(&plan, &[empty.clone(), full], RAN).is_none());
        assert!(of_all(&plan, &[], RAN).is_none());
        let short = Iteration {
            elapsed: 0.5,
            ..empty.clone()
        };
        assert!(of_all(&plan, from_ref(&short), STOPPED).is_none());
        assert!(of_all(&plan, &[short], RAN).is_some());
        assert!(of_all(&plan, &[empty], STOPPED).is_some());
    }
}
