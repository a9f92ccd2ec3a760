//! Campaigns of hosts whose round trips differ, in the virtual machine (`just lab-vm`), whose
//! kernel delays packets. Elsewhere these tests are skipped.

use std::time::Duration;

use netperf_testkit::{Lab, note};
use serde_json::Value;

use crate::campaign_hosts::{CampaignHosts, number};

/// Delays between the hosts and the switch in each direction, milliseconds. The coordinator has
/// none, so its round trips to the hosts take 2, 40 and 80 ms.
const DELAYS: [u32; 3] = [1, 20, 40];
/// Largest distance of the agreed begins of loads in true time, seconds.
const TOGETHER: f64 = 2e-3;
/// Campaigns, whose median is judged: an emulated processor may be held up while clocks are read.
const CAMPAIGNS: usize = 3;

const PLAN: &str = "pattern = \"ring\"\ntest = \"TCP_RR\"\noptions = [\"--rate\", \"10\"]\n\
                    window = 2\nwarmup = 3\ncooldown = 0.2\n";

/// Agents that share the clock of the machine, so that the truth of each offset is zero; `None`
/// outside of the virtual machine.
fn hosts(count: u8) -> Option<CampaignHosts> {
    Lab::Vm.is_here().then(|| {
        let hosts = CampaignHosts::new(count);
        hosts.expect("the virtual machine has all that is needed")
    })
}

/// Offset and bound of the clock of a member, which contains the truth; seconds.
fn offset(member: &Value) -> (f64, f64) {
    let clock = &member["clock"];
    let (offset, bound) = (
        number(&clock["offset_seconds"]),
        number(&clock["bound_seconds"]),
    );
    note(&format!(
        "{}: offset {offset} s, bound {bound} s",
        member["name"]
    ));
    assert!(offset.abs() <= bound, "{member}");
    (offset, bound)
}

/// Distance of the smallest and the largest value.
fn spread(values: &[f64]) -> f64 {
    let largest = values.iter().copied().fold(f64::MIN, f64::max);
    let smallest = values.iter().copied().fold(f64::MAX, f64::min);
    largest - smallest
}

/// Shortest round trip from the coordinator to a host, by ping; seconds.
fn round_trip(hosts: &CampaignHosts, number: usize) -> f64 {
    let address = hosts.star.address(number);
    let ping = format!("ping -q -c 5 -i 0.2 -w 30 {address}");
    let said = hosts.star.shell(hosts.agents.len(), &ping);
    let figures = said.split_once("rtt min/avg/max/mdev = ");
    let least = figures.and_then(|(_, figures)| figures.split('/').next()?.parse::<f64>().ok());
    least.unwrap_or_else(|| panic!("{said}")) / 1e3
}

#[test]
fn begins_behind_different_delays_are_agreed_together() {
    let Some(hosts) = hosts(3) else { return };
    for (number, delay) in DELAYS.into_iter().enumerate() {
        let delay = Duration::from_millis(delay.into());
        hosts.star.delay(number, delay, delay);
    }
    // A message that begins the loads as it arrives would begin them this far apart.
    let one_way: Vec<f64> = (0..3).map(|host| round_trip(&hosts, host) / 2.0).collect();
    let by_message = spread(&one_way);
    assert!(by_message >= 20e-3, "{one_way:?}");
    note(&format!("a message arrives {by_message} s apart"));
    let mut agreed = [f64::INFINITY; CAMPAIGNS];
    for one in &mut agreed {
        *one = agreed_begins(&hosts).unwrap_or(*one);
    }
    agreed.sort_by(f64::total_cmp);
    assert!(agreed[CAMPAIGNS / 2] <= TOGETHER, "{agreed:?}");
    hosts.assert_no_process_left();
}

/// Spread of the agreed begins of the loads of all hosts in true time, seconds. How late the
/// processes begin is not judged: the processors are emulated. `None` if one was so late that
/// nothing was measured.
fn agreed_begins(hosts: &CampaignHosts) -> Option<f64> {
    let finished = hosts.campaign(PLAN).run();
    let document: Value = serde_json::from_str(&finished.stdout).expect("a document");
    let members = document["members"].as_array().expect("members").iter();
    // An agent begins too late by the error of its offset.
    let errors = members.zip(DELAYS).map(|(member, delay)| {
        let (error, bound) = offset(member);
        // Half of the round trip, at the most.
        let round_trip = number(&member["clock"]["round_trip_seconds"]);
        let least = f64::from(2 * delay) / 1e3;
        assert!(round_trip >= least, "{member}");
        assert!(bound <= round_trip / 2.0 + 1e-3, "{member}");
        error
    });
    let errors: Vec<f64> = errors.collect();
    // Both directions of the ring.
    let cells = document["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 6, "{document:#}");
    if document["complete"] == false {
        note(&finished.stderr);
        return None;
    }
    let late = cells.iter().map(|cell| {
        let window = &cell["window"];
        let late = number(&window["late_seconds"]);
        // Never before the agreed time, but for what the clocks leave open.
        assert!(late >= -number(&window["cut_error_seconds"]), "{cell}");
        late
    });
    let late = spread(&late.collect::<Vec<_>>());
    let agreed = spread(&errors);
    note(&format!(
        "begins are agreed {agreed} s apart; windows begin {late} s apart"
    ));
    Some(agreed)
}

#[test]
fn a_delay_in_one_direction_makes_bounds_larger_and_not_wrong() {
    let Some(hosts) = hosts(2) else { return };
    let delay = Duration::from_millis(40);
    hosts.star.delay(0, delay, Duration::ZERO);
    hosts.star.delay(1, Duration::ZERO, delay);
    let checked = hosts.command(&["check", "--json"]).run().expect_clean();
    let members: Value = serde_json::from_str(&checked.stdout).expect("members");
    let members = members.as_array().expect("members");
    assert_eq!(members.len(), 2);
    // The centre of the interval is wrong by half of the delay: h0 seems to be ahead, h1 behind.
    for (member, sign) in members.iter().zip([1.0, -1.0]) {
        let (offset, bound) = offset(member);
        assert!(offset * sign >= 0.015 && bound >= 0.02, "{member}");
    }
}
