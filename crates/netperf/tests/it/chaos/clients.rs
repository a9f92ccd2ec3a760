//! Clients that are stopped or killed, and clocks that are set.

use netperf_testkit::preload;

use super::*;

#[test]
fn a_client_that_is_stopped_for_a_while_has_its_result_netns() {
    stop_clients_for_a_while(&SOME, Load::Paced(8));
}

#[test]
#[ignore = "nightly: nineteen tests at full speed"]
fn a_client_that_is_stopped_for_a_while_has_its_result_at_full_speed_netns() {
    stop_clients_for_a_while(&ALL, FULL);
}

fn stop_clients_for_a_while(kinds: &[Kind], load: Load) {
    let stop = |_: &TwoHosts, cells: &mut Cells| {
        let (_, last) = cells.running.last().expect("a test");
        last.signal("STOP");
        // The length of the stop.
        std::thread::sleep(Duration::from_millis(200));
        last.signal("CONT");
    };
    let Some((_hosts, cells)) = in_turn(kinds, |_| load, stop) else {
        return;
    };
    cells.end(&["finished"], went_well);
}

#[test]
fn a_client_that_is_killed_leaves_nothing_of_its_session_netns() {
    kill_clients(&SOME, Load::Paced(LONG));
}

#[test]
#[ignore = "nightly: nineteen tests at full speed"]
fn a_client_that_is_killed_at_full_speed_leaves_nothing_of_its_session_netns() {
    kill_clients(&ALL, Load::Endless);
}

fn kill_clients(kinds: &[Kind], load: Load) {
    let Some((_hosts, cells)) = between_hosts(kinds, load) else {
        return;
    };
    cells.signal("KILL");
    cells.end(&LEFT, |finished, _| {
        check(finished.status.code().is_none(), "it outlived it")
    });
}

#[test]
fn a_clock_that_is_set_in_the_middle_changes_no_result() {
    set_clock(&SOME, PACED, &[BACK]);
}

#[test]
#[ignore = "nightly: nineteen tests at full speed for 8 seconds have to begin before the first is over"]
fn a_clock_that_is_set_in_the_middle_changes_no_result_at_full_speed() {
    set_clock(&ALL, FULL, &[("ahead", ""), BACK]);
}

/// A step of the clock: a name, and the sign in front of an hour.
const BACK: (&str, &str) = ("back", "-");

fn set_clock(kinds: &[Kind], load: Load, steps: &[(&str, &str)]) {
    let folder = Scratch::new();
    for (hours, sign) in steps {
        let mark = folder.path().join(hours);
        let Some(library) = clock_that_steps(&folder, hours, &format!("{sign}3600"), &mark) else {
            return;
        };
        let env = vec![("LD_PRELOAD".to_owned(), library.into())];
        let options = ["-D", "--log", "json", "--log-level", "debug"];
        let server = Netserver::start_with(&ours!(), &Place::Here, &options, &env);
        let cells = Cells::start(&Place::Here, server, "127.0.0.1", (kinds, load, ""), &env);
        std::fs::write(&mark, "").expect("a mark");
        cells.end(&["finished"], |finished, events| {
            went_well(finished, events)?;
            let document = &events.last().ok_or("no event")?["document"];
            let elapsed = document["iterations"][0]["elapsed_seconds"].as_f64();
            let plausible = elapsed.is_some_and(|elapsed| (0.1..100.0).contains(&elapsed));
            check(plausible, "the clock that was set is in the result")?;
            let at = |name: &str| document[name].as_f64().unwrap_or_default();
            let span = at("ended_unix_seconds") - at("started_unix_seconds");
            check(span.abs() > 3000.0, "nobody set the clock")
        });
    }
}

/// A library that shifts the system clock by this many seconds once the mark file exists.
fn clock_that_steps(
    folder: &Scratch,
    name: &str,
    seconds: &str,
    mark: &std::path::Path,
) -> Option<PathBuf> {
    let text = format!(
        "#define _GNU_SOURCE\n#include <time.h>\n#include <unistd.h>\n\
         #include <sys/syscall.h>\n\
         int clock_gettime(clockid_t clock, struct timespec *time) {{\n\
         \tint result = syscall(SYS_clock_gettime, clock, time);\n\
         \tif (clock == CLOCK_REALTIME && access(\"{}\", F_OK) == 0) time->tv_sec += {seconds};\n\
         \treturn result;\n}}\n",
        mark.display()
    );
    preload::library(folder.path(), name, &text, &[])
}
