//! The one line printed before a test starts (output.md 2).

use std::net::IpAddr;

use netperf_model::{ConfidencePlan, Host, Hosts, ReportPlan, Suite, TestId, TestPlan};

use crate::fmt::{Arg, printf};

/// Addresses longer than this are left out of the parentheses.
const LONGEST_ADDRESS: usize = 7;

/// The features that builds of the original can lack and this one always has.
const FEATURES: &str = " : histogram : interval : dirty data : demo";

const CONFIDENCE: &str = " : +/-%.3f%% @ %2d%% conf. ";

/// The banner with its newline; `None` with headers off and for tests without one.
#[must_use]
pub fn banner(plan: &TestPlan, report: &ReportPlan, hosts: &Hosts) -> Option<String> {
    let shown = report.headers && !report.format.is_json();
    if !shown || plan.test == TestId::Uuid || plan.test.row().suite == Suite::Control {
        return None;
    }
    let name = title(plan);
    let mut line = format!(
        "{name} from {} to {}",
        party(&hosts.local),
        party(&hosts.remote)
    );
    if let Some(confidence) = &report.confidence_shown {
        line.push_str(&confidence_part(confidence));
    }
    push_if(&mut line, plan.local.socket.nodelay, " : nodelay");
    push_if(&mut line, report.copy_avoidance_shown, " : copy avoidance");
    push_if(&mut line, plan.control.is_none(), " : no control");
    line.push_str(FEATURES);
    if name.contains("REQUEST/RESPONSE") {
        line.push_str(&format!(" : first burst {}", plan.burst));
    }
    push_if(&mut line, report.cpu_bind_shown, " : cpu bind");
    line.push('\n');
    Some(line)
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
/// A slip of the original that scripts have seen for a decade: `()`.
fn short_address(address: IpAddr) -> String {
    let text = address.to_string();
    if text.len() > LONGEST_ADDRESS {
        String::new()
    } else {
        text
    }
}

/// Half the width in percent and the level. The blank behind `conf.` stays
/// even when nothing follows.
fn confidence_part(confidence: &ConfidencePlan) -> String {
    let half = confidence.width * 100.0 / 2.0;
    let mut part = printf(
        CONFIDENCE,
        &[Arg::Float(half), Arg::Int(i64::from(confidence.level))],
    );
    push_if(&mut part, confidence.result_only, " on result only");
    part
}
