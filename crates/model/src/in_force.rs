//! Settings that an end does not have as they were asked for.

use std::ops::RangeInclusive;

use crate::agreed::{Agreed, EndSetup};
use crate::catalog::settings::{Setting, SettingValue};
use crate::catalog::transports::{SocketKind, TransportId};
use crate::figures::unit_in_force;
use crate::outcome::{EndResult, Iteration};
use crate::plan::{EndPlan, SocketPlan, TestPlan};
use crate::units::ThroughputUnit;

/// A setting that an end does not have as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Substitution {
    /// Long options that ask for it, without their dashes; none if only one without a letter
    /// does.
    pub options: &'static [&'static str],
    /// False if the value in force is unknown.
    pub known: bool,
    /// The setting, the end, and the values asked for and in force.
    pub text: String,
}

/// End of a text about a value in force that is unknown.
pub const UNTOLD: &str = "netserver does not report the one in force";

/// One kind of setting.
struct SettingCheck {
    /// Long options at netperf's end and at netserver's.
    options: [&'static [&'static str]; 2],
    /// Name in messages.
    name: &'static str,
    /// The value asked for; `None` without a request.
    asked: fn(&SocketPlan) -> Option<i64>,
    /// The value in force; `None` if unknown.
    got: fn(&EndSetup) -> Option<i64>,
    /// True if the value in force is the one asked for.
    holds: fn(asked: i64, got: i64) -> bool,
}

/// Linux doubles the sizes of socket buffers and raises small ones to a minimum; other systems
/// keep the size.
fn buffer_holds(asked: i64, got: i64) -> bool {
    got == asked || got >= 2 * asked
}

fn same(asked: i64, got: i64) -> bool {
    asked == got
}

/// Settings that both ends read back before data moves.
static CHECKS: &[SettingCheck] = &[
    SettingCheck {
        options: [&["socket-buffer"], &["remote-socket-buffer"]],
        name: "send socket buffer",
        asked: |plan| plan.send_buffer.map(i64::from),
        got: |setup| setup.send_buffer.map(i64::from),
        holds: buffer_holds,
    },
    SettingCheck {
        options: [&["socket-buffer"], &["remote-socket-buffer"]],
        name: "receive socket buffer",
        asked: |plan| plan.recv_buffer.map(i64::from),
        got: |setup| setup.recv_buffer.map(i64::from),
        holds: buffer_holds,
    },
    SettingCheck {
        options: [&["priority"], &["priority"]],
        name: "socket priority",
        asked: |plan| plan.priority.map(i64::from),
        got: |setup| Some(i64::from(setup.priority)),
        holds: same,
    },
    SettingCheck {
        options: [&["tos", "dscp"], &["tos", "dscp"]],
        name: "type-of-service byte",
        asked: |plan| plan.tos.map(i64::from),
        got: |setup| Some(i64::from(setup.tos)),
        holds: same,
    },
    SettingCheck {
        options: [&["no-delay"], &["no-delay"]],
        name: "no delay",
        asked: |plan| plan.nodelay.then_some(1),
        got: |setup| Some(i64::from(setup.nodelay)),
        holds: same,
    },
];

/// An option of data sockets that some transports do not have.
struct PartialOption {
    /// Its long name, without the dashes.
    options: &'static [&'static str],
    /// Name in messages.
    name: &'static str,
    /// True if a test was to have it.
    asked: fn(&TestPlan) -> bool,
    /// True if a transport has it.
    has: fn(TransportId) -> bool,
}

/// True if the sockets of one end or both were to have something.
fn either(plan: &TestPlan, asked: fn(&SocketPlan) -> bool) -> bool {
    asked(&plan.local.socket) || asked(&plan.remote.socket)
}

fn is_stream(transport: TransportId) -> bool {
    let is_stream = transport.row().kind == SocketKind::Stream;
    transport.is_inet() && is_stream && transport != TransportId::Sctp
}

fn is_datagram(transport: TransportId) -> bool {
    transport.is_inet() && !transport.is_connected()
}

/// Options that are not set at sockets of other transports.
static PARTIAL: &[PartialOption] = &[
    PartialOption {
        options: &["cork"],
        name: "cork (-C)",
        asked: |plan| either(plan, |socket| socket.cork),
        has: is_stream,
    },
    PartialOption {
        options: &["segment-size"],
        name: "segment size (-G)",
        asked: |plan| either(plan, |socket| socket.segment_size.is_some()),
        has: is_stream,
    },
    PartialOption {
        options: &["fast-open"],
        name: "fast open (-F)",
        asked: |plan| either(plan, |socket| socket.fast_open),
        has: is_stream,
    },
    PartialOption {
        options: &["defer-accept"],
        name: "defer accept (-a)",
        asked: |plan| either(plan, |socket| socket.defer_accept),
        has: is_stream,
    },
    PartialOption {
        options: &["no-fragment"],
        name: "no fragment (-f)",
        asked: |plan| either(plan, |socket| socket.no_fragmentation),
        has: is_datagram,
    },
    PartialOption {
        options: &["multicast-ttl"],
        name: "multicast TTL (-l)",
        asked: |plan| either(plan, |socket| socket.multicast_ttl.is_some()),
        has: is_datagram,
    },
    PartialOption {
        options: &["keepalive"],
        name: "keepalive (-S)",
        asked: |plan| either(plan, |socket| socket.keepalive),
        has: |transport| !is_datagram(transport),
    },
    PartialOption {
        options: &["recv-timeout"],
        name: "receive time-out (-e)",
        asked: |plan| plan.recv_timeout.is_some(),
        has: |transport| !transport.is_connected(),
    },
];

/// Options that the sockets of the test do not have.
#[must_use]
pub fn without_effect(plan: &TestPlan) -> Vec<Substitution> {
    let lacking = PARTIAL
        .iter()
        .filter(|option| (option.asked)(plan) && !(option.has)(plan.transport));
    lacking
        .map(|option| Substitution {
            options: option.options,
            known: true,
            text: format!(
                "{}: not in force, because {} does not have it",
                option.name,
                plan.transport.row().label
            ),
        })
        .collect()
}

/// Files with data (`-F`) at an end that sends none.
#[must_use]
pub fn unread_files(plan: &TestPlan) -> Vec<Substitution> {
    let ends = [
        (&plan.local, plan.flow.sends, "netperf"),
        (&plan.remote, plan.flow.receives, "netserver"),
    ];
    let unread = ends
        .into_iter()
        .filter(|(end, sends, _)| end.fill.is_some() && !sends && plan.test.moves_data());
    unread
        .map(|(_, _, end)| Substitution {
            options: &["fill-file"],
            known: true,
            text: format!("fill file (-F) at {end}: not in force, because {end} sends no data"),
        })
        .collect()
}

/// Settings that an end does not have as they were asked for, as far as the ends tell before
/// data moves.
#[must_use]
pub fn at_setup(plan: &TestPlan, agreed: &Agreed) -> Vec<Substitution> {
    let mut found = of_end(&plan.local, &agreed.local, 0);
    if let Some(remote) = &agreed.remote {
        found.extend(of_end(&plan.remote, remote, 1));
    }
    found.extend(data_port(plan, agreed.data_port));
    found
}

/// The data port of netserver. The other flows of several have other ports.
fn data_port(plan: &TestPlan, got: u32) -> Option<Substitution> {
    let asked = plan.remote_data.port.parse().ok().filter(|port| *port != 0);
    let asked: u32 = asked.filter(|_| plan.transport.is_inet() && !plan.remote.one_port)?;
    (plan.control.is_some() && got != asked).then(|| Substitution {
        options: &["data-port"],
        known: true,
        text: format!(
            "data port of netserver (-P): {asked} is in use there, or not one of its --data-ports; \
             in force is {got}"
        ),
    })
}

fn of_end(plan: &EndPlan, setup: &EndSetup, end: usize) -> Vec<Substitution> {
    let socket = &plan.socket;
    let checked = CHECKS.iter().filter_map(|check| {
        let asked = (check.asked)(socket)?;
        let got = (check.got)(setup);
        // netperf reads its buffer sizes back. A system may be unable to say them.
        let is_unreadable = || end == 0 && check.options[0] == ["socket-buffer"];
        let is_unmet = match got {
            Some(got) => !(check.holds)(asked, got),
            None => is_unreadable(),
        };
        is_unmet.then(|| Substitution {
            options: check.options[end],
            known: got.is_some(),
            text: line(
                check.name,
                end,
                &asked.to_string(),
                got.and_then(known).as_deref(),
            ),
        })
    });
    let unbound = plan.bind.zip(setup.cpu_refused).map(|(cpu, errno)| {
        let why = crate::text_of_errno(errno);
        Substitution {
            options: &["bind-cpu"],
            known: true,
            text: format!("netserver cannot bind to CPU {cpu}: {why}"),
        }
    });
    let table = of_table(socket, setup, end);
    checked.chain(table).chain(unbound).collect()
}

/// Settings of the table: an end that does not have one refuses the test, so that only another
/// value is left to find.
fn of_table<'a>(
    socket: &'a SocketPlan,
    setup: &'a EndSetup,
    end: usize,
) -> impl Iterator<Item = Substitution> + 'a {
    socket.settings.iter().filter_map(move |(setting, asked)| {
        let got = setup.settings.value(setting)?;
        (got != asked).then(|| Substitution {
            // The options of the table have no letters.
            options: &[],
            known: true,
            text: line(setting.row().option, end, &shown(asked), Some(&shown(got))),
        })
    })
}

fn shown(value: SettingValue) -> String {
    match value {
        SettingValue::Number(number) => number.to_string(),
        SettingValue::Name(name) => name.as_str().to_owned(),
    }
}

/// Negative values stand for a refusal.
fn known(got: i64) -> Option<String> {
    (got >= 0).then(|| got.to_string())
}

fn line(name: &str, end: usize, asked: &str, got: Option<&str>) -> String {
    let end = if end == 0 { "netperf" } else { "netserver" };
    match got {
        Some(got) => format!("{name} at {end}: asked for {asked}, in force is {got}"),
        None => format!("{name} at {end}: {asked} is not in force"),
    }
}

/// Settings that were not in force during a run, as far as results tell. netperf's own congestion
/// control is checked beforehand.
#[must_use]
pub fn at_end(plan: &TestPlan, run: &Iteration) -> Vec<Substitution> {
    let ends = [
        (&plan.local, Some(&run.local), 0),
        (&plan.remote, run.remote.as_ref(), 1),
    ];
    let used = ends.into_iter().filter_map(|(plan, result, end)| {
        let asked = plan.socket.congestion.as_deref()?;
        match result?.congestion.as_deref() {
            Some(got) if got == asked => None,
            None if end == 0 => None,
            None => Some(Substitution {
                known: false,
                options: &["congestion"],
                text: format!("congestion control at netserver: asked for {asked}; {UNTOLD}"),
            }),
            got => Some(congestion(end, asked, got)),
        }
    });
    let paced = ends
        .into_iter()
        .filter_map(|(end_plan, result, end)| unpaced(plan, end_plan, result?, end));
    used.chain(paced)
        .chain(ends.into_iter().filter_map(copied))
        .chain(segment_size(plan, run))
        .chain(fast_open(plan, run))
        .collect()
}

/// More data than an end may send at the pacing rate of its socket: only TCP itself and the
/// queueing discipline `fq` pace.
fn unpaced(
    plan: &TestPlan,
    end_plan: &EndPlan,
    run: &EndResult,
    end: usize,
) -> Option<Substitution> {
    /// Share by which the kernel's pacing may be too fast.
    const TOLERANCE: f64 = 1.25;
    /// Send buffer of a socket that does not tell it, bytes.
    const BUFFER: u32 = 4 << 20;
    let rate = end_plan.socket.settings.number(Setting::PacingRate)?;
    let flows = plan.many.as_ref().map_or(1, |many| many.flows);
    let buffers = f64::from(run.send_buffer_end.unwrap_or(BUFFER)) * f64::from(flows);
    let paced = f64::from(rate) * f64::from(flows) * run.elapsed;
    #[expect(clippy::cast_precision_loss, reason = "a share is compared")]
    let sent = run.tally.bytes_sent as f64;
    (sent > paced * TOLERANCE + buffers).then(|| Substitution {
        options: [&["pacing-rate"], &["remote-pacing-rate"]][end],
        known: true,
        text: format!(
            "pacing rate at {}: asked for {:.0} bits per second, sent {:.0}; only the queueing \
             discipline fq paces datagrams",
            ["netperf", "netserver"][end],
            f64::from(rate) * 8.0,
            sent * 8.0 / run.elapsed / f64::from(flows)
        ),
    })
}

/// Sends without a copy at an end whose kernel copied all of them.
fn copied((plan, result, end): (&EndPlan, Option<&EndResult>, usize)) -> Option<Substitution> {
    let counts = result?.io.filter(|_| plan.io.zerocopy)?;
    (counts.zerocopy_share() == Some(0.0)).then(|| Substitution {
        options: &["zerocopy"],
        // The kernel alone decides.
        known: false,
        text: format!(
            "--zerocopy at {}: the kernel copied the data of all sends; loopback and devices without \
             scatter-gather do so",
            ["netperf", "netserver"][end]
        ),
    })
}

/// Segment sizes that Linux takes, bytes; it refuses others before the connection.
const SEGMENT_SIZES: RangeInclusive<u32> = 88..=32_767;

/// A segment size of the connection that is not the one asked for.
fn segment_size(plan: &TestPlan, run: &Iteration) -> Option<Substitution> {
    /// Longest options of a TCP header, bytes.
    const OPTIONS: u32 = 40;
    let asked = plan.local.socket.segment_size?;
    let asked = Some(asked).filter(|asked| SEGMENT_SIZES.contains(asked))?;
    let got = run.segment_size?;
    let holds = (asked.saturating_sub(OPTIONS)..=asked).contains(&got);
    (!holds).then(|| Substitution {
        options: &["segment-size"],
        known: true,
        text: line(
            "segment size",
            0,
            &asked.to_string(),
            Some(&got.to_string()),
        ),
    })
}

/// Fast Open that no connection used.
fn fast_open(plan: &TestPlan, run: &Iteration) -> Option<Substitution> {
    let unused = plan.local.socket.fast_open && run.local.fast_open == Some(false);
    unused.then(|| Substitution {
        options: &["fast-open"],
        known: true,
        text: "fast open: no connection had data in its first segment; it takes an earlier \
               connection, and net.ipv4.tcp_fastopen with bit 1 here and bit 2 at netserver's host"
            .to_owned(),
    })
}

/// Congestion control that an end does not use.
#[must_use]
pub fn congestion(end: usize, asked: &str, got: Option<&str>) -> Substitution {
    Substitution {
        options: &["congestion"],
        known: true,
        text: line("congestion control", end, asked, got),
    }
}

/// A unit of the result that the test does not have: transactions of a test without any.
#[must_use]
pub fn unit(plan: &TestPlan, asked: Option<ThroughputUnit>) -> Option<Substitution> {
    let got = unit_in_force(plan, asked);
    let lacking = asked.is_some_and(|asked| asked != got) && !plan.test.counts_connections();
    lacking.then(|| Substitution {
        options: &["unit"],
        known: true,
        text: format!(
            "unit x: {} counts no transactions; in force is {}",
            plan.test.row().name,
            got.rate_label()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::settings::Settings;
    use crate::catalog::tests::TestId;
    use crate::figures::tests;

    fn found(socket: SocketPlan, setup: EndSetup) -> Vec<String> {
        let plan = EndPlan {
            socket,
            ..EndPlan::default()
        };
        let found = of_end(&plan, &setup, 1).into_iter();
        found.map(|substitution| substitution.text).collect()
    }

    #[test]
    fn less_buffer_than_asked_for_is_named_and_linux_doubles() {
        let asked = SocketPlan {
            send_buffer: Some(300_000),
            ..SocketPlan::default()
        };
        let got = |bytes| EndSetup {
            send_buffer: Some(bytes),
            ..EndSetup::default()
        };
        assert_eq!(found(asked.clone(), got(600_000)), [""; 0]);
        assert_eq!(found(asked.clone(), got(300_000)), [""; 0]);
        assert_eq!(
            found(asked, got(425_984)),
            ["send socket buffer at netserver: asked for 300000, in force is 425984"]
        );
    }

    #[test]
    fn a_refused_mark_and_another_value_of_the_table_are_named() {
        let asked = SocketPlan {
            tos: Some(0xb8),
            settings: crate::Settings::default().with(Setting::Mark, 7),
            ..SocketPlan::default()
        };
        let setup = EndSetup {
            tos: -2,
            settings: crate::Settings::default().with(Setting::Mark, 0),
            ..EndSetup::default()
        };
        assert_eq!(
            found(asked, setup),
            [
                "type-of-service byte at netserver: 184 is not in force",
                "--mark at netserver: asked for 7, in force is 0"
            ]
        );
    }

    fn plan_with(transport: TransportId, socket: SocketPlan) -> TestPlan {
        TestPlan {
            transport,
            local: EndPlan {
                socket,
                ..EndPlan::default()
            },
            ..tests::plan(TestId::UdpStream)
        }
    }

    fn texts(found: Vec<Substitution>) -> Vec<String> {
        found.into_iter().map(|lacking| lacking.text).collect()
    }

    #[test]
    fn options_that_a_transport_lacks_are_named() {
        let socket = SocketPlan {
            cork: true,
            no_fragmentation: true,
            ..SocketPlan::default()
        };
        let lacking = |transport| texts(without_effect(&plan_with(transport, socket.clone())));
        let of_tcp = ["no fragment (-f): not in force, because TCP does not have it"];
        assert_eq!(lacking(TransportId::Tcp), of_tcp);
        let of_udp = ["cork (-C): not in force, because UDP does not have it"];
        assert_eq!(lacking(TransportId::Udp), of_udp);
    }

    #[test]
    fn sends_that_the_kernel_copied_are_named_if_it_copied_all() {
        let mut plan = plan_with(TransportId::Tcp, SocketPlan::default());
        plan.local.io.zerocopy = true;
        let ran = |copied| {
            let mut run = tests::run(1.0, tests::end(1, 1, 1), tests::end(1, 1, 1));
            run.local.io = Some(crate::IoCounts {
                zerocopy_done: 4,
                zerocopy_copied: copied,
                ..crate::IoCounts::default()
            });
            texts(at_end(&plan, &run))
        };
        assert_eq!(ran(3), [""; 0]);
        let wanted = "--zerocopy at netperf: the kernel copied the data of all sends; loopback and \
                      devices without scatter-gather do so";
        assert_eq!(ran(4), [wanted]);
    }

    #[test]
    fn a_segment_size_beyond_that_of_the_path_and_an_unused_fast_open_are_named() {
        let socket = SocketPlan {
            segment_size: Some(9000),
            fast_open: true,
            ..SocketPlan::default()
        };
        let plan = plan_with(TransportId::Tcp, socket);
        let ran = |segment_size, fast_open| {
            let mut run = tests::run(1.0, tests::end(1, 1, 1), tests::end(1, 1, 1));
            (run.segment_size, run.local.fast_open) = (Some(segment_size), Some(fast_open));
            texts(at_end(&plan, &run))
        };
        // Time stamps take 12 bytes of each segment.
        assert_eq!(ran(8988, true), [""; 0]);
        let found = ran(1448, false);
        let wanted = "segment size at netperf: asked for 9000, in force is 1448";
        assert_eq!(found[0], wanted);
        assert!(
            found[1].starts_with("fast open: no connection had "),
            "{found:?}"
        );
    }

    #[test]
    fn more_than_the_pacing_rate_and_a_buffer_is_named() {
        let socket = SocketPlan {
            settings: Settings::default().with(Setting::PacingRate, 1_000_000),
            ..SocketPlan::default()
        };
        let plan = plan_with(TransportId::Udp, socket);
        let ran = |bytes| {
            let mut run = tests::run(2.0, tests::end(bytes, 0, 0), tests::end(0, bytes, 0));
            run.local.send_buffer_end = Some(200_000);
            run.local.elapsed = 2.0;
            texts(at_end(&plan, &run))
        };
        assert_eq!(ran(2_600_000), [""; 0]);
        let wanted = "pacing rate at netperf: asked for 8000000 bits per second, sent 16000000; \
                      only the queueing discipline fq paces datagrams";
        assert_eq!(ran(4_000_000), [wanted]);
    }
}
