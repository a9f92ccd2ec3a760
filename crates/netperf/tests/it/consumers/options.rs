//! Options as typed: lengths, sizes, misplaced words, test names.

use netperf_testkit::{Scratch, ours};

use super::{client, is_decimal, run, run_all, server};

#[test]
fn i21_a_length_is_a_number_with_a_letter_and_any_tail() {
    let server = server();
    let selection = "-P 0 -- -k ELAPSED_TIME,LOCAL_SEND_CALLS,LOCAL_BYTES_SENT";
    // Pauses spare the processors.
    let paced = "-t TCP_RR -w 20 -b 1";
    let lengths = ["1.0", "1s"].map(|length| format!("-l {length} {paced} {selection}"));
    let lengths: Vec<&str> = lengths.iter().map(String::as_str).collect();
    // A tail that is no unit of time is read as ever, with a warning.
    let tail = client(&server, &format!("-l 1.9x {paced} {selection}"))
        .run()
        .expect_exit(0);
    assert!(tail.stderr.ends_with("; read as 1\n"), "{}", tail.account());
    for finished in run_all(&server, &lengths).into_iter().chain([tail]) {
        let elapsed = finished.values().number("ELAPSED_TIME");
        assert!((0.9..1.8).contains(&elapsed), "{}", finished.account());
    }
    let counted = run(&server, &format!("-t TCP_RR -l -20 {selection}"));
    assert_eq!(counted.values().count("LOCAL_SEND_CALLS"), 20);
    for (length, bytes) in [("-100k", 100_000), ("-100K", 102_400)] {
        let counted = run(&server, &format!("-l {length} {selection} -m 100"));
        let sent = counted.values().count("LOCAL_BYTES_SENT");
        assert!(
            (bytes..bytes + 100).contains(&sent),
            "{}",
            counted.account()
        );
    }
    // A duration as the language Go prints it is a million seconds.
    let mut endless = client(&server, &format!("-l 1m0s {paced}")).spawn();
    // Twice the time that it would take if it were read as one second.
    std::thread::sleep(super::seconds(2));
    assert!(!endless.ended());
    endless.signal("INT");
    endless.finish().expect_clean();
}

#[test]
fn i22_values_are_read_as_scripts_write_them() {
    let server = server();
    for (typed, selected) in [
        ("-r 10K,1", "REQUEST_SIZE=10240 RESPONSE_SIZE=1"),
        ("-r80000,80000", "REQUEST_SIZE=80000 RESPONSE_SIZE=80000"),
        ("-r 1,1M", "REQUEST_SIZE=1 RESPONSE_SIZE=1048576"),
        ("-r 1024", "REQUEST_SIZE=1024 RESPONSE_SIZE=1024"),
        ("-s 16k -S 16k", "LSS_SIZE_REQ=16000 RSR_SIZE_REQ=16000"),
    ] {
        let names = selected.split(' ').filter_map(|pair| pair.split_once('='));
        let names: Vec<&str> = names.map(|(name, _)| name).collect();
        let command = format!("-t TCP_RR -l -10 -P 0 -- {typed} -k {}", names.join(","));
        let finished = run(&server, &command);
        let lines: Vec<&str> = finished.stdout.lines().collect();
        assert_eq!(lines.join(" "), selected, "{}", finished.account());
    }
    run_all(
        &server,
        &[
            "-l 1 -- -m ,64K",
            "-l 1 -- -m 1k -M 1k",
            "-l 1 -t UDP_STREAM -- -G 1000b -m 1k",
            "-l 1 -L 127.0.0.1,AF_INET",
            "-t TCP_RR -l -20 -i 2,1 -I 95%",
            "-l 1 -T 0,0",
            "-l 1 -Y CS5,CS5",
            "-l 1 -Y 0x20,0x20",
            "-l 1 -Y EF,EF",
            "-l 1 -F /dev/urandom",
        ],
    );
    let own = netperf_testkit::server::free_port();
    let local = format!("-p {},{own} -l 1", server.port());
    run(&server, &local);
    // Any address of the network, all of which is loopback.
    run(&server, "-t TCP_RR -l -10 -- -H 127.0.0.1/24");
}

#[test]
fn i23_misplaced_words_do_not_fail() {
    let server = server();
    let host = "-H 127.0.0.1";
    let misplaced = format!("{host} TCP_STREAM -l 1 -- -m 63000 -m 87380 -l 120 -i 5,1");
    run_all(
        &server,
        &[
            "-l 1 -- 42424",
            "-l 5 -t TCP_RR -l 1 -t TCP_STREAM",
            "-t TCP_RR -l 1 stray words",
        ],
    );
    // An option that lost its meaning is remarked upon, and the test runs.
    let finished = client(&server, &misplaced).run().expect_exit(0);
    assert!(
        finished.stdout.lines().count() > 6,
        "{}",
        finished.account()
    );
    // netserver then takes its usual port, at which the host may have one already.
    if !netperf_testkit::require::root() {
        return;
    }
    let alone = netperf_testkit::LoopbackOnly::new();
    let options = ["-D", "--", "-g"];
    netperf_testkit::Netserver::start_with(&ours!(), &alone.place(), &options, &[]);
}

#[test]
fn i24_pacing_behind_the_test_does_not_fail() {
    let server = server();
    let paced = "-l 1 -P 0 -t UDP_STREAM -w 100 -b 5 -- -m 100 -k LOCAL_SEND_CALLS";
    let finished = run_all(&server, &["-P 0 -v 0 -t UDP_STREAM -b 10G -l 1", paced]);
    assert!(
        is_decimal(finished[0].stdout.trim()),
        "{}",
        finished[0].account()
    );
    // Ten bursts of five, and one that was on its way.
    let calls = finished[1].values().count("LOCAL_SEND_CALLS");
    assert!((1..=60).contains(&calls), "{}", finished[1].account());
}

#[test]
fn i25_test_names_and_directions_match_in_any_case() {
    let server = server();
    let names = ["tcp_stream", "Tcp_Rr", "omni", "OMNI"].map(|name| format!("-l 1 -t {name}"));
    let omni = [
        "-T TCP -d RR",
        "-T TCP -d STREAM",
        "-T TCP -d CRR",
        "-d send",
        "-d recv",
        "-d receive",
        "-d maerts",
        "-d rr",
        "-d cc",
        "-d 6",
    ]
    .map(|own| format!("-l 1 -t OMNI -- {own}"));
    let all: Vec<&str> = names.iter().chain(&omni).map(String::as_str).collect();
    run_all(&server, &all);
}

#[test]
fn i33_a_datagram_stream_may_ask_to_be_routed_and_prints_the_same() {
    let server = server();
    let finished = run_all(
        &server,
        &["-l 1 -t UDP_STREAM", "-l 1 -t UDP_STREAM -- -R 1"],
    );
    let shape = |at: usize| {
        let lines = finished[at].stdout.lines();
        lines
            .map(|line| super::words(line).len())
            .collect::<Vec<_>>()
    };
    assert_eq!(shape(0), shape(1));
    assert_eq!(
        finished[0].stdout.lines().next(),
        finished[1].stdout.lines().next()
    );
}

#[test]
fn i38_unix_domain_tests_run_with_the_options_of_mmtests() {
    let server = server();
    // With a byte each, 312 transactions are needed for a figure of 0.01 megabits per second, and a
    // busy machine does fewer.
    let large = "-- -r 1024,1024";
    for (test, own) in [
        ("STREAM_STREAM", ""),
        ("STREAM_RR", large),
        ("DG_STREAM", ""),
        ("DG_RR", large),
    ] {
        // Amounts for what scripts measure for a time, where a test ends by one.
        let length = match test {
            "STREAM_STREAM" => "-1M",
            "STREAM_RR" => "-300",
            _ => "1",
        };
        let line = format!("-4 -i 3,3 -I 95,5 -l {length} -f m -D 1 -P 0 -v 0 -t {test} {own}");
        let finished = client(&server, &line).run().expect_clean();
        let figure: f64 = finished.stdout.trim().parse().expect("one figure");
        assert!(figure > 0.0, "{}", finished.account());
    }
}

/// lkp's machines have SCTP; where the kernel lacks it one line says so.
#[test]
fn i39_sctp_tests_run_or_say_what_the_kernel_lacks() {
    let server = server();
    for test in ["SCTP_STREAM", "SCTP_RR", "SCTP_STREAM_MANY", "SCTP_RR_MANY"] {
        let finished = client(&server, &format!("-l 1 -P 0 -v 0 -t {test}")).run();
        let figure = finished.stdout.trim().parse::<f64>();
        let lacking = finished.status.code() == Some(3)
            && finished
                .stderr
                .contains("the kernel module sctp (modprobe sctp)");
        assert!(
            lacking || (finished.clean().is_ok() && figure.is_ok_and(|figure| figure > 0.0)),
            "{}",
            finished.account()
        );
    }
}

#[test]
fn i39_cpu_rates_and_files_to_send_are_there() {
    let server = server();
    let folder = Scratch::new();
    let file = folder.path().join("data");
    std::fs::write(&file, vec![7; 1 << 20]).expect("a file");
    let sendfile = format!("-l 1 -t TCP_SENDFILE -F {}", file.display());
    let finished = run_all(&server, &["-t LOC_CPU", "-t REM_CPU", &sendfile]);
    for rate in &finished[..2] {
        let rate = rate.stdout.trim();
        assert!(rate.parse::<f64>().is_ok(), "{rate}");
    }
}
