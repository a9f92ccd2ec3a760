//! Settings that an end does not have as they were asked for.

use crate::agreed::{Agreed, EndSetup};
use crate::catalog::settings::SettingValue;
use crate::figures::unit_in_force;
use crate::outcome::Iteration;
use crate::plan::{EndPlan, SocketPlan, TestPlan};
use crate::units::Unit;

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
pub const UNTOLD: &str = "netserver does not tell the one in force";

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
        name: "type of service",
        asked: |plan| plan.tos.map(i64::from),
        got: |setup| Some(i64::from(setup.tos)),
        holds: same,
    },
];

/// Settings that an end does not have as they were asked for, as far as the ends tell before
/// data moves.
#[must_use]
pub fn at_setup(plan: &TestPlan, agreed: &Agreed) -> Vec<Substitution> {
    let mut found = of_end(&plan.local, &agreed.local, 0);
    if let Some(remote) = &agreed.remote {
        found.extend(of_end(&plan.remote, remote, 1));
    }
    found
}

fn of_end(plan: &EndPlan, setup: &EndSetup, end: usize) -> Vec<Substitution> {
    let socket = &plan.socket;
    let checked = CHECKS.iter().filter_map(|check| {
        let asked = (check.asked)(socket)?;
        let got = (check.got)(setup)?;
        (!(check.holds)(asked, got)).then(|| Substitution {
            options: check.options[end],
            known: true,
            text: line(check.name, end, &asked.to_string(), known(got).as_deref()),
        })
    });
    let unbound = plan.bind.zip(setup.cpu_refused).map(|(cpu, errno)| {
        let why = std::io::Error::from_raw_os_error(errno).to_string();
        let why = why.split(" (os error ").next().unwrap_or_default();
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

/// Congestion control that an end did not use, as far as results tell; netperf's own is checked
/// beforehand.
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
    used.collect()
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
pub fn unit(plan: &TestPlan, asked: Option<Unit>) -> Option<Substitution> {
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
    use crate::catalog::settings::Setting;

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
                "type of service at netserver: 184 is not in force",
                "--mark at netserver: asked for 7, in force is 0"
            ]
        );
    }
}
