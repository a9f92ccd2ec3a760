//! Every kind of test meets everything that can happen to a network or a process while it
//! runs: it ends, with the right status and a reason, what was measured is told, and nothing
//! of netserver's session is left.
//!
//! The cells of an event share two private hosts, and all their tests run when it happens.

mod clients;

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use netperf_testkit::machine::{self, Slots};
use netperf_testkit::process::signal;
use netperf_testkit::schema::Schema;
use netperf_testkit::{
    Finished, Invocation, Netserver, Place, Running, Scratch, TwoHosts, eventually, note, ours,
    require,
};
use serde_json::Value;

/// Longest that anything here may take on a machine that is busy with all of it: netperf waits
/// half a minute for a netserver that is silent at the end.
const PATIENCE: Duration = Duration::from_secs(120);
/// A test that is this long does not end by itself here, seconds.
const LONG: u32 = 600;
/// A kind of test, the options that mean it, and those of a pace that costs little.
type Kind = (&'static str, &'static str, &'static str);

/// The kinds of test. Those of [`SOME`] meet each event before a change lands, and all of them at
/// night.
const ALL: [Kind; 19] = [
    ("stream", "-t TCP_STREAM", PACE),
    ("maerts", "-t TCP_MAERTS", RATE),
    ("sendfile", "-t TCP_SENDFILE", PACE),
    ("rr", "-t TCP_RR -j", PACE),
    ("crr", "-t TCP_CRR", PACE),
    ("cc", "-t TCP_CC", PACE),
    ("udp stream", "-t UDP_STREAM", PACE),
    ("udp rr", "-t UDP_RR", PACE),
    ("flows", "-t TCP_STREAM --flows 3", PACE),
    ("flows rr", "-t TCP_RR --flows 3", PACE),
    ("rate", "-t TCP_RR --rate 100", ""),
    ("both ways", "-t TCP_STREAM --bidirectional same", PACES),
    ("each way", "-t TCP_STREAM --bidirectional separate", PACES),
    ("one port stream", "-t TCP_STREAM --one-port", PACE),
    ("one port rr", "-t TCP_RR --one-port", PACE),
    ("one port crr", "-t TCP_CRR --one-port", PACE),
    ("one port udp stream", "-t UDP_STREAM --one-port", PACE),
    ("one port udp rr", "-t UDP_RR --one-port", PACE),
    ("one port flows", "-t TCP_MAERTS --flows 3 --one-port", RATE),
];

/// A stream of netperf, one of netserver and both at once, transactions on one connection, on many
/// and of datagrams, more flows than one, and a single port.
const SOME: [Kind; 7] = [ALL[1], ALL[4], ALL[6], ALL[9], ALL[12], ALL[13], ALL[17]];

/// Paces of netperf, of both ends, and of netserver.
const PACE: &str = "-b 1 -w 50";
const PACES: &str = "-b 1,1 -w 50ms,50ms";
const RATE: &str = "--rate 2M";

/// Parameters of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// As fast as it can, until an event ends it.
    Endless,
    /// At a pace, for so many seconds: all have begun before the first is over.
    Paced(u32),
    /// As fast as it can, for so many seconds.
    Full(u32),
}

impl Load {
    const fn seconds(self) -> u32 {
        match self {
            Self::Endless => LONG,
            Self::Paced(seconds) | Self::Full(seconds) => seconds,
        }
    }
}

/// Ends of a session whose client closed its connections, in whatever order that was.
const LEFT: [&str; 3] = ["finished", "abandoned", "cut"];

/// Tests under way, one of each kind that was asked for.
struct Cells {
    /// So many processes leave no processor to those of another test like this one.
    _slot: Slots,
    server: Netserver,
    running: Vec<(&'static str, Running)>,
    sessions: usize,
}

impl Cells {
    /// None yet.
    fn new(server: Netserver) -> Self {
        Self {
            _slot: machine::slot(),
            server,
            running: Vec::new(),
            sessions: 0,
        }
    }

    /// Starts them, and waits until each has moved something.
    fn start(
        client: &Place,
        server: Netserver,
        host: &str,
        (kinds, load, more): (&[Kind], Load, &str),
        env: &Env,
    ) -> Self {
        let mut cells = Self::new(server);
        for kind in kinds {
            cells.spawn(client, host, *kind, (load, more), env);
        }
        (0..kinds.len()).for_each(|number| cells.wait_until_moved(number));
        let over = cells.running.iter_mut().any(|(_, running)| running.ended());
        assert!(!over, "a test is over before all have begun");
        cells
    }

    /// Starts one.
    fn spawn(
        &mut self,
        client: &Place,
        host: &str,
        (kind, options, pace): Kind,
        (load, more): (Load, &str),
        env: &Env,
    ) {
        let pace = if matches!(load, Load::Paced(_)) {
            pace
        } else {
            ""
        };
        let running = Invocation::new(&ours!().netperf)
            .args(["-H", host, "-p", &self.server.port().to_string()])
            .args(["--json-stream", "-D", "0.2"])
            .args(["--time", &format!("{}s", load.seconds())])
            .args(
                [options, pace, more]
                    .into_iter()
                    .flat_map(str::split_whitespace),
            )
            .within(client)
            .envs(env)
            .patience(PATIENCE)
            .spawn();
        self.running.push((kind, running));
        // Separate connections for the directions are two sessions.
        self.sessions += 1 + usize::from(options.ends_with("separate"));
    }

    /// Waits until one has moved something.
    fn wait_until_moved(&mut self, number: usize) {
        let (kind, running) = &mut self.running[number];
        let moves = eventually(PATIENCE, || has_moved(running) || running.ended());
        let (said, complaints) = (running.stdout(), running.stderr());
        assert!(moves && has_moved(running), "{kind}: {said}{complaints}");
    }

    fn signal(&self, name: &str) {
        for (_, running) in &self.running {
            running.signal(name);
        }
    }

    fn signal_sessions(&self, name: &str) {
        self.server.signal_sessions(name);
    }

    /// Stops the sessions. Returns false if the last test is over.
    fn stop_sessions(&mut self) -> bool {
        self.signal_sessions("STOP");
        let last = self.running.last_mut();
        last.is_some_and(|(_, running)| !running.ended())
    }

    /// Waits for all of them, and for what is left of their sessions; `judge` says what is
    /// wrong with each, and netserver logs one of these ends of each session.
    fn end(self, ends: &[&str], judge: impl Fn(&Finished, &[Value]) -> Result<(), String>) {
        self.end_then(ends, judge, |_| ());
    }

    /// The same; what is left of the sessions ends after `then`.
    fn end_then(
        self,
        ends: &[&str],
        judge: impl Fn(&Finished, &[Value]) -> Result<(), String>,
        then: impl FnOnce(&Netserver),
    ) {
        let Self {
            _slot,
            server,
            running,
            sessions,
        } = self;
        let mut wrong = Vec::new();
        for (kind, running) in running {
            let finished = running.finish();
            note(&format!("{kind}: {}", told(&finished)));
            if let Err(why) = judge(&finished, &events(&finished)) {
                wrong.push(format!("{kind}: {why}\n{}", finished.account()));
            }
        }
        then(&server);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert_no_session_left(&server, sessions, ends);
    }
}

type Env = [(String, OsString)];

/// Document of a run, without its events.
fn told(finished: &Finished) -> String {
    format!("{}\n{}", finished.status, finished.stderr)
}

/// True if an interval in which data moved is over.
fn has_moved(running: &Running) -> bool {
    let moved = |event: Value| {
        let interval = &event["interval"];
        ["sent_bytes", "received_bytes", "transactions"]
            .iter()
            .any(|count| interval[*count].as_u64() > Some(0))
    };
    let text = running.stdout();
    let mut lines = text.lines();
    lines.any(|line| serde_json::from_str(line).is_ok_and(moved))
}

/// A killed program may have written half a line.
fn events(finished: &Finished) -> Vec<Value> {
    let lines = finished.stdout.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn check(right: bool, otherwise: &str) -> Result<(), String> {
    if right {
        Ok(())
    } else {
        Err(otherwise.to_owned())
    }
}

/// It failed in the middle, says why, and what it had measured.
fn broke(finished: &Finished, events: &[Value]) -> Result<(), String> {
    // The second is that of an error which netserver tells.
    let failed = matches!(finished.status.code(), Some(1 | 255));
    check(failed, "not the status of a failure")?;
    let last = events.last().ok_or("no event")?;
    check(last["event"] == "error", "the last event is no error")?;
    let schema = include_str!("../../../../docs/schema/netperf-1.schema.json");
    let iteration = Schema::parse(schema).faults_of("event", last);
    check(iteration.is_empty(), &iteration.join("\n"))?;
    let partial = &last["partial"];
    let local = &partial["local"];
    let counts = ["sent_bytes", "received_bytes", "transactions"];
    let moved = counts.iter().any(|count| local[*count].as_u64() > Some(0));
    check(moved, "what was measured is lost")?;
    let elapsed = partial["elapsed_seconds"].as_f64();
    check(elapsed > Some(0.0), "for how long is not told")?;
    check(partial["remote"].is_null(), "netserver's counts never came")?;
    let message = last["error"]["message"].as_str().unwrap_or_default();
    let mut lines = finished.stderr.lines();
    let reason = lines.next().unwrap_or_default();
    check(
        !reason.is_empty() && message.contains(reason),
        "the reason is not told",
    )?;
    let marked = lines.last().unwrap_or_default();
    check(
        marked.starts_with("netperf: incomplete: "),
        "what was measured is not marked",
    )
}

/// It went on to its end, and has a whole result.
fn went_well(finished: &Finished, events: &[Value]) -> Result<(), String> {
    check(finished.status.success(), "it failed")?;
    let document = &events.last().ok_or("no event")?["document"];
    check(document["complete"] == true, "it is not complete")?;
    check(document["partial"].is_null(), "it is partial")?;
    let throughput = document["result"]["throughput"].as_f64();
    check(throughput > Some(0.0), "there is no result")?;
    let remote = &document["iterations"][0]["remote"];
    check(!remote.is_null(), "netserver's result is not there")
}

/// Every session is over, the log says how, and the next client is served.
fn assert_no_session_left(server: &Netserver, sessions: usize, ends: &[&str]) {
    let gone = eventually(PATIENCE, || server.sessions().is_empty());
    assert!(gone, "sessions are left: {:?}", server.said());
    let all = eventually(PATIENCE, || logged(server).len() >= sessions);
    let log = server.said().1;
    assert!(all, "{log}");
    let logged = logged(server);
    assert_eq!(logged.len(), sessions, "{log}");
    for line in logged {
        let end = line["end"].as_str().unwrap_or_default();
        assert!(ends.contains(&end), "not one of {ends:?}: {line}");
        // A killed session must be reported.
        assert_eq!(line["level"] == "warn", end == "killed", "{line}");
        assert_eq!(line["signal"].is_null(), end != "killed", "{line}");
    }
    assert!(server.alive());
    note(&log);
}

/// Log lines about sessions.
fn logged(server: &Netserver) -> Vec<Value> {
    let log = server.said().1;
    // Its last line may not be whole yet.
    let lines = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    lines
        .filter(|line: &Value| line["event"] == "session")
        .collect()
}

/// Hosts that are gone are to be noticed within the patience of a test.
const KEEPALIVE: &str = "--control-keepalive 1";
/// A cut may last longer than was asked for on a busy machine, and no host is gone.
const PATIENT: &str = "--control-keepalive 30";

/// Two private hosts with a netserver that logs every session. `None` where root is missing.
fn hosts_and_server(keepalive: &str) -> Option<(TwoHosts, Netserver)> {
    if !require::root() {
        return None;
    }
    let hosts = TwoHosts::new();
    let options = format!("-D --log json --log-level debug {keepalive}");
    let options: Vec<&str> = options.split(' ').collect();
    let server = Netserver::start_with(&ours!(), &hosts.server(), &options, &[]);
    Some((hosts, server))
}

/// The same, and tests of these kinds between them.
fn between_hosts(kinds: &[Kind], load: Load) -> Option<(TwoHosts, Cells)> {
    between_hosts_with(kinds, load, KEEPALIVE)
}

fn between_hosts_with(kinds: &[Kind], load: Load, keepalive: &str) -> Option<(TwoHosts, Cells)> {
    let (hosts, server) = hosts_and_server(keepalive)?;
    let more = (kinds, load, keepalive);
    let cells = Cells::start(&hosts.client(), server, TwoHosts::SERVER_V4, more, &[]);
    Some((hosts, cells))
}

/// Tests of these kinds, one started after the other. The event happens to each as soon as it has
/// moved something: its time is not that of the others.
fn in_turn(
    kinds: &[Kind],
    load: impl Fn(&str) -> Load,
    event: impl Fn(&TwoHosts, &mut Cells),
) -> Option<(TwoHosts, Cells)> {
    let (hosts, server) = hosts_and_server(KEEPALIVE)?;
    let mut cells = Cells::new(server);
    for (number, kind) in kinds.iter().enumerate() {
        let more = (load(kind.0), KEEPALIVE);
        cells.spawn(&hosts.client(), TwoHosts::SERVER_V4, *kind, more, &[]);
        cells.wait_until_moved(number);
        event(&hosts, &mut cells);
    }
    Some((hosts, cells))
}

/// So long that all tests with a pace have begun before the first is over, also on a machine that
/// does ten other things.
const PACED: Load = Load::Paced(20);
/// At full speed, that is certain on a machine that does nothing else.
const FULL: Load = Load::Full(8);

#[test]
fn a_cable_that_is_cut_ends_every_test_with_what_it_had_measured_netns() {
    cut(&SOME, Load::Paced(LONG));
}

#[test]
#[ignore = "nightly: nineteen tests at full speed until keepalive ends them"]
fn a_cable_that_is_cut_ends_every_test_at_full_speed_netns() {
    cut(&ALL, Load::Endless);
}

fn cut(kinds: &[Kind], load: Load) {
    let Some((hosts, cells)) = between_hosts(kinds, load) else {
        return;
    };
    hosts.cut();
    cells.end(&["cut"], broke);
}

#[test]
fn a_cable_that_is_cut_and_mended_ends_no_connection_netns() {
    cut_and_mend(&SOME, PACED);
}

#[test]
#[ignore = "nightly: nineteen tests at full speed for 8 seconds have to begin before the first is over"]
fn a_cable_that_is_cut_and_mended_ends_no_connection_at_full_speed_netns() {
    cut_and_mend(&ALL, FULL);
}

fn cut_and_mend(kinds: &[Kind], load: Load) {
    let Some((hosts, cells)) = between_hosts_with(kinds, load, PATIENT) else {
        return;
    };
    hosts.cut();
    // The length of the cut: some retransmissions of TCP are lost.
    std::thread::sleep(Duration::from_millis(300));
    hosts.mend();
    // A datagram sent without a route is an error.
    cells.end(&LEFT, |finished, events| {
        if finished.status.success() || !finished.shown.contains("UDP") {
            went_well(finished, events)
        } else {
            broke(finished, events)
        }
    });
}

#[test]
fn a_control_connection_that_is_forgotten_ends_every_test_while_its_data_flows_netns() {
    forget_control_connections(&SOME, Load::Paced(LONG));
}

#[test]
#[ignore = "nightly: nineteen tests at full speed until keepalive ends them"]
fn a_control_connection_that_is_forgotten_ends_every_test_at_full_speed_netns() {
    forget_control_connections(&ALL, Load::Endless);
}

fn forget_control_connections(kinds: &[Kind], load: Load) {
    let Some((hosts, cells)) = between_hosts(kinds, load) else {
        return;
    };
    hosts.swallow(cells.server.port());
    cells.end(&["cut"], broke);
}

#[test]
fn an_address_that_goes_away_ends_every_test_with_what_it_had_measured_netns() {
    take_address(&SOME, Load::Paced(LONG));
}

#[test]
#[ignore = "nightly: nineteen tests at full speed"]
fn an_address_that_goes_away_ends_every_test_at_full_speed_netns() {
    take_address(&ALL, Load::Endless);
}

fn take_address(kinds: &[Kind], load: Load) {
    let Some((hosts, cells)) = between_hosts(kinds, load) else {
        return;
    };
    hosts.take_address();
    cells.end(&["cut"], broke);
}

#[test]
fn an_address_that_comes_back_leaves_a_whole_result_or_a_marked_one_netns() {
    take_and_give_address(&SOME, Load::Paced(8));
}

#[test]
#[ignore = "nightly: nineteen tests at full speed"]
fn an_address_that_comes_back_leaves_a_whole_result_or_a_marked_one_at_full_speed_netns() {
    take_and_give_address(&ALL, FULL);
}

fn take_and_give_address(kinds: &[Kind], load: Load) {
    let come_and_go = |hosts: &TwoHosts, _: &mut Cells| {
        hosts.take_address();
        hosts.give_address();
    };
    let Some((_hosts, cells)) = in_turn(kinds, |_| load, come_and_go) else {
        return;
    };
    // Sends that need an address while there is none fail; connections never notice.
    cells.end(&LEFT, |finished, events| {
        if finished.status.success() {
            went_well(finished, events)
        } else {
            broke(finished, events)
        }
    });
}

#[test]
fn a_session_that_is_killed_ends_every_test_with_what_it_had_measured_netns() {
    kill_sessions(&SOME, Load::Paced(LONG));
}

#[test]
#[ignore = "nightly: nineteen tests at full speed"]
fn a_session_that_is_killed_ends_every_test_at_full_speed_netns() {
    kill_sessions(&ALL, Load::Endless);
}

fn kill_sessions(kinds: &[Kind], load: Load) {
    let Some((_hosts, cells)) = between_hosts(kinds, load) else {
        return;
    };
    cells.signal_sessions("KILL");
    // A client with two of them leaves the other one when the first is gone.
    cells.end(&["killed", "finished", "abandoned", "cut"], broke);
}

#[test]
fn threat_model_a_session_that_is_stopped_ends_no_test_later_than_its_time_says_netns() {
    // Senders whose buffers get full, and all others at a pace.
    let kinds = [&SOME[..], &[ALL[0], ALL[11]]].concat();
    stop_sessions(&kinds, |kind| match kind {
        "stream" | "both ways" | "one port stream" => Load::Full(20),
        _ => Load::Paced(20),
    });
}

#[test]
#[ignore = "nightly: nineteen tests at full speed"]
fn a_session_that_is_stopped_ends_no_test_later_than_its_time_says_at_full_speed_netns() {
    stop_sessions(&ALL, |_| Load::Full(3));
}

fn stop_sessions(kinds: &[Kind], load: impl Fn(&str) -> Load) {
    let stop = |_: &TwoHosts, cells: &mut Cells| {
        assert!(cells.stop_sessions(), "a test is over");
    };
    let Some((_hosts, cells)) = in_turn(kinds, load, stop) else {
        return;
    };
    cells.end_then(&["abandoned"], broke, |server| {
        server.signal_sessions("CONT");
    });
}

#[test]
fn an_outage_over_the_end_of_every_test_leaves_a_whole_result_netns() {
    outage_over_the_end(&SOME);
}

#[test]
#[ignore = "nightly: nineteen tests"]
fn an_outage_over_the_end_of_each_kind_of_test_leaves_a_whole_result_netns() {
    outage_over_the_end(&ALL);
}

fn outage_over_the_end(kinds: &[Kind]) {
    let (stopped, ends) = (RefCell::new(HashSet::new()), RefCell::new(Vec::new()));
    let stop_for_a_while = |_: &TwoHosts, cells: &mut Cells| {
        let new = |session: &u32| stopped.borrow_mut().insert(*session);
        let sessions: Vec<u32> = cells.server.sessions().into_iter().filter(new).collect();
        sessions.iter().for_each(|session| signal(*session, "STOP"));
        let over = cells
            .running
            .last_mut()
            .is_none_or(|(_, running)| running.ended());
        assert!(!over, "a test is over");
        ends.borrow_mut().push(std::thread::spawn(move || {
            // The length of the outage: the rest of the test, and some seconds.
            std::thread::sleep(Duration::from_secs(18));
            sessions.iter().for_each(|session| signal(*session, "CONT"));
        }));
    };
    let Some((_hosts, cells)) = in_turn(kinds, |_| Load::Paced(12), stop_for_a_while) else {
        return;
    };
    cells.end(&["finished", "abandoned"], went_well);
    for end in ends.take() {
        end.join().expect("the end of an outage");
    }
}

#[test]
fn an_idle_control_connection_is_probed_unless_nobody_wants_that_netns() {
    if !require::root() {
        return;
    }
    let hosts = TwoHosts::new();
    let counted = || {
        let name = "TcpExtTCPKeepAlive";
        hosts.client_counter(name) + hosts.server_counter(name)
    };
    for (time, probes) in [("0", false), ("1", true)] {
        let options = ["-D", "--control-keepalive", time];
        let server = Netserver::start_with(&ours!(), &hosts.server(), &options, &[]);
        let before = counted();
        let finished = Invocation::new(&ours!().netperf)
            .args(["-H", TwoHosts::SERVER_V4, "-p", &server.port().to_string()])
            .args(["-t", "TCP_RR", "-b", "1", "-w", "50"])
            .args(["--time", "2500ms", "-P", "0"])
            .args(["--control-keepalive", time])
            .within(&hosts.client())
            .run();
        finished.expect_clean();
        assert_eq!(counted() > before, probes, "--control-keepalive {time}");
    }
}
