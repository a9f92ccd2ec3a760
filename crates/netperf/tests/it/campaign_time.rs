//! Clocks of agents that step or run fast: a preloaded library changes what they read.

use std::ffi::OsString;
use std::path::PathBuf;

use netperf_testkit::{Scratch, eventually, preload};
use serde_json::Value;

use crate::campaign_hosts::{CampaignHosts, PATIENCE, document, number};

/// clock_gettime(2) of an agent and its loads. Other programs read their clocks unchanged.
const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int changed;

__attribute__((constructor)) static void look(void) {
    char words[4096] = "";
    FILE *file = fopen("/proc/self/cmdline", "r");
    size_t length = file ? fread(words, 1, sizeof words - 1, file) : 0;
    if (file) fclose(file);
    changed = memmem(words, length, "campaign\0agent", 14) || memmem(words, length, "--begin-at", 10);
}

int clock_gettime(clockid_t id, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, id, now);
    if (failed || !changed) return failed;
    if (id == CLOCK_REALTIME && access(STEP, F_OK) == 0) now->tv_sec += 1;
    if (id == CLOCK_MONOTONIC) {
        long long read = now->tv_sec * 1000000000LL + now->tv_nsec;
        read += (read - ORIGIN * 1000000000LL) / 1000000 * PPM;
        now->tv_sec = read / 1000000000;
        now->tv_nsec = read % 1000000000;
    }
    return 0;
}
"#;

/// Builds the library: the system clock steps by 1 s once the file `step` is there, and the
/// monotonic clock runs faster from now on. `None`, after saying so, without a compiler.
fn library(folder: &Scratch, ppm: u32) -> Option<Vec<(String, OsString)>> {
    let uptime = std::fs::read_to_string("/proc/uptime").expect("an uptime");
    let origin = uptime.split('.').next().unwrap_or_default();
    let options = [
        format!("-DORIGIN={origin}LL"),
        format!("-DPPM={ppm}"),
        format!("-DSTEP=\"{}\"", step(folder).display()),
    ];
    let options = options.each_ref().map(String::as_str);
    let library = preload::library(folder.path(), "clock", SOURCE, &options)?;
    Some(vec![("LD_PRELOAD".into(), library.into())])
}

/// The file whose existence is a step of the system clock.
fn step(folder: &Scratch) -> PathBuf {
    folder.path().join("step")
}

const PLAN: &str = "pattern = \"list\"\npairs = [[\"h0\", \"h1\"]]\ntest = \"TCP_RR\"\n\
                    options = [\"--rate\", \"100\"]\nwarmup = 2\ncooldown = 0.1\n";

fn clock(document: &Value, member: usize) -> &Value {
    &document["members"][member]["clock"]
}

#[test]
fn a_step_of_the_wall_clock_changes_no_result_and_is_reported_netns() {
    let folder = Scratch::new();
    let Some(env) = library(&folder, 0) else {
        return;
    };
    let step = step(&folder);
    let Some(hosts) = CampaignHosts::with(2, folder, env) else {
        return;
    };
    let running = hosts.campaign(&format!("{PLAN}window = 8\n")).spawn();
    let begun = eventually(PATIENCE, || !hosts.loads().is_empty());
    assert!(begun, "{}", running.stderr());
    std::fs::write(step, "").expect("a file");
    let finished = running.finish();
    let said = "netperf campaign: warning: h1: its system clock was set by +1.0";
    assert!(finished.stderr.contains(said), "{}", finished.account());
    let document = document(finished, 0);
    for member in 0..2 {
        let stepped = number(&clock(&document, member)["wall_clock_stepped_seconds"]);
        assert!((stepped - 1.0).abs() < 0.05, "{stepped}");
    }
    let window = &document["cells"][0]["window"];
    let (late, error) = (
        number(&window["late_seconds"]),
        number(&window["cut_error_seconds"]),
    );
    // A host may be late; a step by 1 s would make it early, or the window shorter.
    assert!(late >= -error, "{window}");
    let seconds = number(&window["seconds"]);
    assert!((seconds - 8.0).abs() < 0.5 + late.max(0.0), "{window}");
}

#[test]
fn an_agent_whose_clock_is_fast_is_followed_netns() {
    const PPM: f64 = 100.0;
    let folder = Scratch::new();
    let Some(env) = library(&folder, 100) else {
        return;
    };
    let Some(hosts) = CampaignHosts::with(2, folder, env) else {
        return;
    };
    let document = document(hosts.campaign(&format!("{PLAN}window = 4\n")).run(), 0);
    for member in 0..2 {
        let clock = clock(&document, member);
        let bounds = number(&clock["bound_seconds"]) + number(&clock["bound_after_seconds"]);
        // At least the load lies between the two readings.
        let doubt = bounds / 4.6 * 1e6 + 1.0;
        netperf_testkit::note(&format!("{clock} within {doubt} ppm"));
        match clock["drift_ppm"].as_f64() {
            Some(drift) => assert!((drift - PPM).abs() <= doubt, "{clock}: {doubt}"),
            // Only where the bounds leave it open.
            None => assert!(doubt >= PPM * 0.9, "{clock}: {doubt}"),
        }
    }
}
