//! Rate of false differences that `netperf run` reports.

use std::time::Duration;

use netperf_testkit::peers::Make;
use netperf_testkit::{Finished, Invocation, Netserver, Place, Programs};
use serde_json::Value;

use crate::options::Options;

/// Campaigns in which both configurations are the same.
const CAMPAIGNS: u32 = 60;
/// Runs of each configuration in a campaign.
const PAIRS: &str = "12";
const TIME: &str = "100ms";
const TESTS: [&str; 3] = ["TCP_RR", "TCP_STREAM", "UDP_RR"];
/// The share of campaigns that may raise an alarm stays below this.
const MOST: f64 = 0.05;

/// Compares a configuration with itself, again and again.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let ours = options.programs(Make::Ours)?;
    let server = Netserver::start(&ours, &Place::Here);
    let mut alarms = 0;
    for (campaign, test) in (1..=CAMPAIGNS).zip(TESTS.iter().cycle()) {
        let outcome = compared(&ours, &server, test)?;
        println!("{campaign:2} {test:10} {outcome}");
        match outcome.as_str() {
            "equivalent" | "inconclusive" => {}
            "better" | "worse" => alarms += 1,
            other => return Err(format!("nothing can be said of {test}: {other}")),
        }
    }
    let share = f64::from(alarms) / f64::from(CAMPAIGNS);
    println!(
        "{alarms} alarms in {CAMPAIGNS} campaigns: {:.1} %",
        share * 100.0
    );
    if options.check && share >= MOST {
        return Err(format!("too many: less than {MOST} is asked"));
    }
    Ok(())
}

/// Verdicts on a configuration compared with itself.
fn compared(programs: &Programs, server: &Netserver, test: &str) -> Result<String, String> {
    let port = server.port().to_string();
    let same = [
        "-4",
        "-H",
        "127.0.0.1",
        "-p",
        &port,
        "-t",
        test,
        "--time",
        TIME,
    ];
    let finished = Invocation::new(&programs.netperf)
        .args(["run", "--json", "--pairs", PAIRS, "--"])
        .args(same)
        .arg("--vs")
        .args(same)
        .patience(Duration::from_secs(120))
        .run();
    outcome(&finished)
}

fn outcome(finished: &Finished) -> Result<String, String> {
    let document: Value = serde_json::from_str(&finished.stdout)
        .map_err(|error| format!("{error}\n{}", finished.account()))?;
    let outcome = document["outcome"].as_str().unwrap_or_default();
    Ok(outcome.to_owned())
}
