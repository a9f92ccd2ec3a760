//! Output before a test starts: one line, in some tests with titles below it (output.md 2).

use std::net::IpAddr;

use netperf_model::{
    ConfidencePlan, Host, Hosts, ReportPlan, Suite, TestId, TestPlan, TransportId,
};

use crate::fmt::{Arg, printf};
use crate::format::classic::titles_in_front;

/// Addresses longer than this are left out of the parentheses.
const LONGEST_ADDRESS: usize = 7;

/// The features that builds of the original can lack and this one always has.
const FEATURES: &str = " : histogram : interval : dirty data : demo";

/// The blank behind `conf.` stays even when nothing follows.
const CONFIDENCE: &str = " : +/-%.3f%% @ %2d%% conf. ";

/// Those that the XTI tests name, and that their endpoints are sockets.
const XTI_FEATURES: &str = " : histogram : interval : dirty data : XTI over sockets";

const XTI_CONFIDENCE: &str = " : +/-%3.1f%% @ %2d%% conf.";

/// The text in front of the run: the banner with its newline, and the titles of some tests.
/// `None` with headers off and for tests without a banner.
#[must_use]
pub fn banner(plan: &TestPlan, report: &ReportPlan, hosts: &Hosts) -> Option<String> {
    let hidden = crate::hides_cpu(report).then(|| crate::without_cpu(plan));
    let plan = hidden.as_ref().unwrap_or(plan);
    let shown = report.headers && report.format.has_lines();
    if !shown || report.hides_banner || plan.test == TestId::Uuid {
        return None;
    }
    match plan.test.row().suite {
        Suite::Control => None,
        Suite::Unix | Suite::Dlpi | Suite::Fore | Suite::Hippi => {
            Some(title(plan) + "\n" + &titles_in_front(plan, report))
        }
        Suite::Xti => Some(xti(plan, report, hosts)),
        Suite::Omni | Suite::Sockets | Suite::Sctp | Suite::Sdp => {
            Some(with_addresses(plan, report, hosts))
        }
    }
}

fn with_addresses(plan: &TestPlan, report: &ReportPlan, hosts: &Hosts) -> String {
    let name = title(plan);
    let mut line = format!(
        "{name} from {} to {}",
        party(&hosts.local),
        party(&hosts.remote)
    );
    if let Some(confidence) = &report.confidence_shown {
        line.push_str(&confidence_part(CONFIDENCE, confidence));
        push_if(&mut line, confidence.result_only, " on result only");
    }
    push_if(&mut line, plan.local.socket.nodelay, " : nodelay");
    push_if(&mut line, report.copy_avoidance_shown, " : copy avoidance");
    push_if(&mut line, plan.has_no_peer(), " : no control");
    if let Some(peer) = plan.peer {
        line.push_str(&format!(" : {}", peer.label()));
    }
    line.push_str(FEATURES);
    if name.contains("REQUEST/RESPONSE") {
        line.push_str(&format!(" : first burst {}", plan.asked_burst()));
    }
    push_if(&mut line, report.cpu_bind_shown, " : cpu bind");
    push_if(&mut line, plan.flow.duplex.is_some(), " : bidirectional");
    line.push('\n');
    line
}

/// The banner of the XTI tests (output.md 2.3), which ends in what was really measured.
fn xti(plan: &TestPlan, report: &ReportPlan, hosts: &Hosts) -> String {
    let mut line = format!("{} to {}", title(plan), hosts.remote.name);
    if let Some(confidence) = &report.confidence_shown {
        line.push_str(&confidence_part(XTI_CONFIDENCE, confidence));
    }
    let over_tcp = plan.transport == TransportId::XtiTcp;
    push_if(
        &mut line,
        over_tcp && plan.local.socket.nodelay,
        " : nodelay",
    );
    push_if(&mut line, report.copy_avoidance_shown, " : copy avoidance");
    line.push_str(XTI_FEATURES);
    line.push('\n');
    line
}

fn push_if(line: &mut String, wanted: bool, text: &str) {
    if wanted {
        line.push_str(text);
    }
}

/// The words in front of ` from`; OMNI names its direction.
fn title(plan: &TestPlan) -> String {
    let words = plan.test.row().banner;
    if plan.test == TestId::Omni {
        format!("{words} {} TEST", plan.flow.label())
    } else {
        words.to_owned()
    }
}

fn party(host: &Host) -> String {
    format!(
        "{} ({}) port {} {}",
        host.name,
        host.vsock
            .map_or_else(|| short_address(host.address), |_| String::new()),
        host.port,
        host.family_label()
    )
}

/// The numeric address when it is short enough, else nothing.
///
/// The original prints `()` for longer ones, and scripts rely on it.
fn short_address(address: IpAddr) -> String {
    let text = address.to_string();
    if text.len() > LONGEST_ADDRESS {
        String::new()
    } else {
        text
    }
}

/// Half the width in percent and the level.
fn confidence_part(template: &str, confidence: &ConfidencePlan) -> String {
    let half = confidence.width * 100.0 / 2.0;
    let level = Arg::Int(i64::from(confidence.level));
    printf(template, &[Arg::Float(half), level])
}
