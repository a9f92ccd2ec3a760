//! Crowds, killed processes, cut cables, odd machines: what must neither hang,
//! nor leave anything behind, nor take anybody else down.

mod servers;

use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use netperf_testkit::net::Families;
use netperf_testkit::process::signal;
use netperf_testkit::server::free_port;
use netperf_testkit::{
    Finished, Invocation, LoopbackOnly, Netserver, Place, Programs, Running, Scratch, TwoHosts,
    eventually, machine, note, ours, procfs, require,
};

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A client of a server in the same place.
fn client(server: &Netserver, words: &[&str]) -> Invocation {
    ours!().client_of(server).args(words)
}

/// A short run that ends by itself: whether the server still serves.
fn serves(server: &Netserver) {
    let run = client(server, &["-t", "TCP_RR", "-l", "-50", "-P", "0", "-v", "0"]);
    run.patience(seconds(10)).run().expect_clean();
}

/// True if every session ends in time.
fn no_stray_session(server: &Netserver, patience: Duration) {
    let gone = eventually(patience, || server.sessions().is_empty());
    let left: Vec<_> = server.sessions().into_iter().map(procfs::words).collect();
    assert!(gone, "sessions left after {patience:?}: {left:?}");
}

/// Dice that fall the same way each time.
struct Dice(u64);

impl Dice {
    /// A number below `faces`.
    fn roll(&mut self, faces: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % faces
    }
}

mod crowds {
    use super::*;

    #[test]
    fn a_hundred_clients_at_once_all_finish_with_their_own_output() {
        run_a_hundred_clients(true);
    }

    // Tolerance: netperf waits for an answer of netserver for 3 s.
    #[test]
    #[ignore = "nightly: a hundred clients at full speed"]
    fn a_hundred_clients_at_full_speed_all_finish_with_their_own_output() {
        run_a_hundred_clients(false);
    }

    fn run_a_hundred_clients(is_paced: bool) {
        let _slot = machine::slot();
        let server = ours!().serve();
        let tests = ["TCP_RR", "TCP_STREAM", "UDP_RR", "TCP_MAERTS", "UDP_STREAM"];
        let crowd: Vec<(String, Running)> = (0..100)
            .map(|number| {
                let brand = format!("client-{number}");
                let test = tests[number % tests.len()];
                // netserver keeps no pace among so many.
                let length = match test {
                    "TCP_MAERTS" if is_paced => ["-l", "-1M"],
                    _ => ["--time", "500ms"],
                };
                let words = [
                    "-t",
                    test,
                    length[0],
                    length[1],
                    "-B",
                    &brand,
                    "--",
                    "-k",
                    "RESULT_BRAND,ELAPSED_TIME",
                ];
                let pace: &[&str] = match test {
                    _ if !is_paced => &[],
                    "TCP_MAERTS" => &[],
                    _ => &["-b", "1", "-w", "50"],
                };
                let words = [pace, &words].concat();
                (
                    brand.clone(),
                    client(&server, &words).patience(seconds(90)).spawn(),
                )
            })
            .collect();
        for (brand, running) in crowd {
            let finished = running.finish().expect_clean();
            let brands = finished.stdout.matches("RESULT_BRAND=").count();
            assert_eq!(brands, 1, "{}", finished.account());
            assert_eq!(
                finished.values().text("RESULT_BRAND").trim_matches('"'),
                brand
            );
            // Among many clients a download starts late, and the server's clock is running.
            // An amount may take less than a hundredth of a second.
            let is_timed = !finished.shown.contains(" -l -1M ");
            assert!(
                !is_timed || finished.values().number("ELAPSED_TIME") > 0.0,
                "{}",
                finished.account()
            );
        }
        no_stray_session(&server, seconds(30));
        serves(&server);
    }
}

mod kills {
    use super::*;

    /// Longest time that a session may outlive its client on a busy machine: the test, the pad of
    /// the protocol (4 s), and space.
    const SESSION_END: Duration = seconds(30);

    const TESTS: [&str; 8] = [
        "TCP_STREAM",
        "TCP_MAERTS",
        "TCP_RR",
        "TCP_CRR",
        "UDP_STREAM",
        "UDP_RR",
        "TCP_SENDFILE",
        "TCP_CC",
    ];

    #[test]
    fn killing_clients_or_sessions_at_any_moment_leaves_the_server_as_it_was() {
        let server = ours!().serve();
        serves(&server);
        no_stray_session(&server, SESSION_END);
        let descriptors = procfs::descriptors(server.pid());
        let mut dice = Dice(2026);
        for round in 0..24 {
            kill_one(&server, TESTS[round % TESTS.len()], &mut dice);
            assert!(server.alive(), "the server died: {:?}", server.said());
            serves(&server);
        }
        no_stray_session(&server, SESSION_END);
        assert_eq!(
            procfs::descriptors(server.pid()),
            descriptors,
            "descriptors leaked"
        );
    }

    /// Starts a test of 300 ms and kills one of its ends within 360 ms.
    fn kill_one(server: &Netserver, test: &str, dice: &mut Dice) {
        let before = server.sessions();
        let mut running = client(server, &["-t", test, "--time", "300ms"])
            .patience(seconds(20))
            .spawn();
        // The moment of the kill is random: before, during or after the test.
        std::thread::sleep(Duration::from_millis(dice.roll(360)));
        if dice.roll(2) == 0 {
            running.signal("KILL");
            assert!(eventually(seconds(30), || running.ended()));
            return;
        }
        for session in server.sessions() {
            if !before.contains(&session) {
                signal(session, "KILL");
            }
        }
        // However it ends, it ends: finish() panics if it does not.
        let finished = running.finish();
        assert!(finished.status.code().is_some(), "{}", finished.account());
    }

    #[test]
    fn a_killed_session_takes_no_other_session_with_it() {
        let server = ours!().serve();
        let survivor = client(&server, &["-t", "TCP_RR", "-l", "30"]).spawn();
        assert!(eventually(seconds(30), || server.sessions().len() == 1));
        let first = server.sessions();
        let mut victim = client(&server, &["-t", "TCP_RR", "-l", "30"]).spawn();
        assert!(eventually(seconds(30), || server.sessions().len() == 2));
        let second = server
            .sessions()
            .into_iter()
            .find(|session| !first.contains(session));
        assert!(victim.works(seconds(60)));
        signal(second.unwrap(), "KILL");
        let victim = victim.finish();
        assert!(!victim.status.success(), "{}", victim.account());
        survivor.signal("INT");
        survivor.finish().expect_clean();
        serves(&server);
    }
}

/// The peer vanished: a failure that says so, in time.
fn gave_up(finished: &Finished, within: Duration) {
    note(&finished.account());
    assert!(!finished.status.success(), "{}", finished.account());
    assert!(
        finished.status.code().is_some(),
        "died of a signal: {}",
        finished.account()
    );
    assert!(finished.took < within, "{}", finished.account());
    // The banner is one line; the message is another, on either stream.
    let said = finished.stderr.lines().count() + finished.stdout.lines().count();
    assert!(said >= 2, "no message: {}", finished.account());
}

mod cables {
    use super::*;

    /// Seconds for which netperf waits for a peer that is silent at the end of a test.
    const PATIENCE: u64 = 30;

    // Tolerance: 3 s for starting and connecting beside each other, and for answers behind a full queue
    // of datagrams. A busy machine exceeds it.
    #[test]
    #[ignore = "nightly: 30 seconds after the end of each test, judged by time"]
    fn a_cable_cut_under_a_test_is_an_error_thirty_seconds_after_its_end_netns() {
        if !require::root() {
            return;
        }
        let cut_under = |test: &str| {
            let hosts = TwoHosts::new();
            let server = Netserver::start(&ours!(), &hosts.server());
            let mut running = Invocation::new(&ours!().netperf)
                .args(["-H", TwoHosts::SERVER_V4, "-p", &server.port().to_string()])
                .args(["-t", test, "-l", "2"])
                .within(&hosts.client())
                .spawn();
            assert!(running.works(seconds(60)));
            hosts.cut();
            gave_up(&running.finish(), seconds(2 + PATIENCE + 3));
        };
        std::thread::scope(|scope| {
            for test in [
                "TCP_STREAM",
                "TCP_MAERTS",
                "TCP_RR",
                "UDP_RR",
                "TCP_CRR",
                "UDP_STREAM",
            ] {
                scope.spawn(move || cut_under(test));
            }
        });
    }
}

mod signals {
    use super::*;

    #[test]
    fn an_interrupt_or_an_alarm_ends_the_test_now_with_the_result_so_far() {
        let server = ours!().serve();
        for test in ["TCP_STREAM", "TCP_RR", "UDP_STREAM", "UDP_RR", "TCP_MAERTS"] {
            for name in ["INT", "ALRM", "TERM"] {
                ends_early(&server, test, name);
            }
        }
    }

    #[test]
    fn interrupt_during_the_warm_up_prints_no_result() {
        let server = ours!().serve();
        let mut running = client(&server, &["-t", "TCP_RR", "-l", "30", "--warmup", "30s"]).spawn();
        assert!(running.works(seconds(60)));
        running.signal("INT");
        let finished = running.finish();
        assert_eq!(finished.status.code(), Some(1), "{}", finished.account());
        let said = "netperf: ended before the warm-up was over (--warmup): nothing was measured\n";
        assert_eq!(finished.stderr, said);
        assert!(finished.took < seconds(30), "{}", finished.account());
    }

    fn ends_early(server: &Netserver, test: &str, name: &str) {
        let words = [
            "-t",
            test,
            "-l",
            "30",
            "--",
            "-k",
            "ELAPSED_TIME,THROUGHPUT",
        ];
        no_stray_session(server, seconds(30));
        let mut running = client(server, &words).spawn();
        assert!(running.works(seconds(60)));
        running.signal(name);
        let finished = running.finish().expect_clean();
        note(&format!("{test} {name}: {:?}", finished.took));
        let elapsed = finished.values().number("ELAPSED_TIME");
        assert!((0.01..29.0).contains(&elapsed), "{}", finished.account());
        assert!(
            finished.values().number("THROUGHPUT") > 0.0,
            "{}",
            finished.account()
        );
    }

    #[test]
    fn a_signal_right_behind_the_banner_ends_the_test_with_its_result() {
        let server = ours!().serve();
        for name in ["INT", "ALRM"] {
            let mut running = client(&server, &["-t", "TCP_RR", "-l", "30"]).spawn();
            assert!(running.prints("MIGRATED TCP REQUEST/RESPONSE TEST", seconds(30)));
            running.signal(name);
            let finished = running.finish().expect_clean();
            assert!(finished.took < seconds(30), "{}", finished.account());
            assert!(
                finished.stdout.contains("per sec"),
                "{}",
                finished.account()
            );
        }
    }

    #[test]
    fn a_wait_of_any_length_is_followed_by_the_test() {
        let programs = [Some(ours!()), Programs::stock()];
        let runs = programs.into_iter().flatten().map(|programs| {
            let server = programs.serve();
            // A second more than netserver waits for the data after a request.
            let words = ["-t", "TCP_RR", "-l", "-50", "-s", "6", "-P", "0"];
            let running = client(&server, &words).spawn();
            (server, running)
        });
        let runs: Vec<_> = runs.collect();
        for (_server, running) in runs {
            running.finish().expect_clean();
        }
    }

    #[test]
    fn termination_keeps_printed_lines_in_the_file() {
        let server = ours!().serve();
        let mut running = client(&server, &["-t", "TCP_RR", "-l", "30"]).spawn();
        assert!(running.prints("MIGRATED TCP REQUEST/RESPONSE TEST", seconds(30)));
        running.signal("TERM");
        assert!(
            eventually(seconds(20), || running.ended()),
            "it outlived a termination"
        );
    }
}

mod machines {
    use super::*;

    const NETPERFS: [&[&str]; 4] = [
        &["-t", "TCP_STREAM", "-l", "-1000000"],
        &["-t", "TCP_RR", "-l", "-50"],
        &["-t", "UDP_STREAM", "-l", "-100000", "--", "-m", "1000"],
        &["-t", "TCP_CC", "-l", "-50"],
    ];

    fn measures(server: &Netserver, place: &Place, host: &[&str]) {
        for words in NETPERFS {
            Invocation::new(&ours!().netperf)
                .args(host)
                .args(["-p", &server.port().to_string()])
                .args(words)
                .within(place)
                .run()
                .expect_clean();
        }
    }

    #[test]
    fn a_machine_with_loopback_alone_measures_netns() {
        if !require::root() {
            return;
        }
        let machine = LoopbackOnly::new();
        let server = Netserver::start(&ours!(), &machine.place());
        for host in [
            &["-H", "127.0.0.1"][..],
            &["-H", "::1"],
            &["-H", "localhost"],
            &["-6"],
            &[],
        ] {
            measures(&server, &machine.place(), host);
        }
    }

    #[test]
    fn a_machine_with_ipv6_alone_measures_netns() {
        if !require::root() {
            return;
        }
        let hosts = TwoHosts::with(Families::OnlyV6);
        let server = Netserver::start(&ours!(), &hosts.server());
        measures(&server, &hosts.client(), &["-H", TwoHosts::SERVER_V6]);
        let local = Netserver::start(&ours!(), &hosts.client());
        measures(&local, &hosts.client(), &["-H", "::1"]);
        measures(&local, &hosts.client(), &["-H", "localhost"]);
        measures(&local, &hosts.client(), &[]);
    }

    #[test]
    fn a_link_local_address_with_its_interface_is_reached_netns() {
        if !require::root() {
            return;
        }
        let hosts = TwoHosts::new();
        let server = Netserver::start(&ours!(), &hosts.server());
        let scoped = format!("{}%{}", TwoHosts::SERVER_LINK_LOCAL, TwoHosts::CABLE);
        measures(&server, &hosts.client(), &["-H", &scoped]);
    }
}

mod first_command {
    use super::*;

    fn netperf(machine: &LoopbackOnly, words: &[&str]) -> Finished {
        Invocation::new(&ours!().netperf)
            .args(words)
            .within(&machine.place())
            .run()
    }

    #[test]
    fn without_a_host_a_private_server_is_started_and_announced_in_one_line_netns() {
        if !require::root() {
            return;
        }
        let machine = LoopbackOnly::new();
        for words in [&["-l", "-1000000"][..], &["-l", "-50", "-t", "UDP_RR"]] {
            let finished = netperf(&machine, words).expect_exit(0);
            assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.account());
            assert!(
                finished.stdout.starts_with("MIGRATED"),
                "{}",
                finished.account()
            );
            // It was private and for this run: no process is left.
            assert_no_program_left(&machine, seconds(30));
            netperf(&machine, &["-l", "-50", "-p", "12865"]).expect_exit(255);
        }
    }

    fn assert_no_program_left(machine: &LoopbackOnly, patience: Duration) {
        let gone = eventually(patience, || machine.processes().is_empty());
        let left: Vec<_> = machine.processes().into_iter().map(procfs::words).collect();
        assert!(gone, "left after {patience:?}: {left:?}");
    }

    #[test]
    fn a_private_server_does_not_outlive_a_killed_client_netns() {
        if !require::root() {
            return;
        }
        let machine = LoopbackOnly::new();
        for test in ["TCP_STREAM", "UDP_RR", "TCP_CRR"] {
            let mut running = Invocation::new(&ours!().netperf)
                .args(["-t", test, "-l", "10"])
                .within(&machine.place())
                .spawn();
            // The client and its private server.
            assert!(
                eventually(seconds(10), || machine.processes().len() > 1),
                "no private server: {}",
                running.stdout()
            );
            assert!(!running.ended(), "it is over: {}", running.stdout());
            running.signal("KILL");
            assert_no_program_left(&machine, seconds(10 + 4 + 16));
        }
    }

    #[test]
    fn a_signal_of_the_terminal_leaves_the_private_server_its_result_netns() {
        if !require::root() {
            return;
        }
        let machine = LoopbackOnly::new();
        let mut running = Invocation::new(Path::new("/usr/bin/setsid"))
            .arg(&ours!().netperf)
            .args(["-l", "30", "--human"])
            .within(&machine.place())
            .spawn();
        assert!(running.works(seconds(60)));
        let group = format!("-{}", running.pid());
        let told = Command::new("kill").args(["-INT", "--", &group]).status();
        assert!(told.is_ok_and(|status| status.success()));
        let finished = running.finish().expect_exit(0);
        let answer = finished.stdout.lines().next().unwrap_or_default();
        assert!(
            answer.contains("bit/s from client to server"),
            "{}",
            finished.account()
        );
    }

    #[test]
    fn with_a_host_or_a_port_an_absent_server_is_an_error_as_ever_netns() {
        if !require::root() {
            return;
        }
        let machine = LoopbackOnly::new();
        let asked: [(&[&str], &str); 3] = [
            (&["-H", "127.0.0.1"], "127.0.0.1"),
            (&["-p", "12865"], "localhost"),
            (&["-H", "::1"], "::1"),
        ];
        for (words, host) in asked {
            let finished = netperf(&machine, words).expect_exit(255);
            // The reason follows on standard error.
            let reason = finished
                .stderr
                .lines()
                .all(|line| line.starts_with("netperf: connect to "));
            assert!(reason, "{}", finished.account());
            let sure = format!(
                "establish control: are you sure there is a netserver listening on {host} at port 12865?\n\
                 establish_control could not establish the control connection from "
            );
            assert!(finished.stdout.starts_with(&sure), "{}", finished.account());
        }
    }
}
