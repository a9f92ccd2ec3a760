//! Classic layouts, as scripts parse them.

use super::{is_decimal, run, run_all, seconds, server, words};

const TESTS: [&str; 8] = [
    "TCP_STREAM",
    "TCP_MAERTS",
    "TCP_SENDFILE",
    "TCP_RR",
    "TCP_CRR",
    "TCP_CC",
    "UDP_STREAM",
    "UDP_RR",
];

/// Every test with these words, side by side.
fn commands(words: &str) -> Vec<String> {
    TESTS.map(|test| format!("-l 1 -t {test} {words}")).to_vec()
}

#[test]
fn i03_success_leaves_standard_error_empty() {
    let server = server();
    let all = [
        commands(""),
        commands("-c -C"),
        commands("-v 2"),
        vec!["-l 1 -D 0.3".to_owned(), "-l 1 -D 0.3 -t UDP_RR".to_owned()],
    ]
    .concat();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    run_all(&server, &all);
}

#[test]
fn i04_verbosity_0_without_headers_prints_one_number() {
    let server = server();
    let all = commands("-v 0 -P 0");
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    for finished in run_all(&server, &all) {
        let text = &finished.stdout;
        assert!(is_decimal(text.trim()), "{}", finished.account());
        assert_eq!(text.matches('\n').count(), 1, "{}", finished.account());
    }
}

#[test]
fn i05_the_blanks_behind_a_row_stay() {
    let server = server();
    for finished in run_all(&server, &["-l 1 -P 0", "-l 1 -P 0 -t TCP_RR"]) {
        let row = finished.stdout.lines().next().expect("a row");
        assert!(row.ends_with("   "), "{row:?}");
        let last = words(row).last().copied();
        assert!(last.is_some_and(is_decimal), "{row:?}");
    }
}

#[test]
fn i06_results_are_on_the_lines_that_scripts_count_to() {
    let server = server();
    let all = commands("");
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let finished = run_all(&server, &all);
    let streams = [(6, 5)].as_slice();
    let transactions = [(6, 6), (7, 2)].as_slice();
    let udp = [(5, 6), (6, 4)].as_slice();
    let places = [
        streams,
        streams,
        streams,
        transactions,
        transactions,
        transactions,
        udp,
        transactions,
    ];
    for (finished, places) in finished.iter().zip(places) {
        for (line, columns) in places {
            let found = words(finished.stdout.lines().nth(*line).expect("the line"));
            let numeric = found.iter().all(|word| word.parse::<f64>().is_ok());
            assert!(found.len() == *columns && numeric, "{}", finished.account());
        }
    }
}

#[test]
fn i07_the_banner_is_one_line_and_there_while_data_flows() {
    let server = server();
    let mut running = super::client(&server, "-l 30").spawn();
    assert!(running.prints("\n", seconds(10)), "{}", running.stdout());
    let banner = running.stdout();
    assert!(!running.ended(), "the banner came with the result");
    assert!(running.works(seconds(60)));
    running.signal("INT");
    running.finish().expect_clean();
    assert!(banner.starts_with("MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET"));
    assert!(banner.contains(" to 127.0.0.1 () port 0 AF_INET : "));
    let omni = run(&server, "-l 1 -t OMNI");
    assert!(omni.stdout.starts_with("OMNI Send TEST from "));
}

#[test]
fn i08_the_banner_says_what_was_asked_for() {
    let server = server();
    let finished = run_all(
        &server,
        &[
            "-t TCP_RR -l -200 -i 3,3 -I 99,5 -r",
            "-t TCP_RR -l -20 -T 0,0 -- -D",
        ],
    );
    let banner = |at: usize| finished[at].stdout.lines().next().unwrap_or("").to_owned();
    for flag in ["+/-2.500% @ 99% conf. ", " on result only"] {
        assert!(banner(0).contains(flag), "{}", banner(0));
    }
    let flags = [
        "nodelay",
        "histogram",
        "interval",
        "dirty data",
        "demo",
        "first burst 0",
        "cpu bind",
    ];
    for flag in flags {
        assert!(banner(1).contains(&format!(" : {flag}")), "{}", banner(1));
    }
    let alone = super::client(&server, "-l 1 -N -- -P ,9").run();
    let banner = alone.stdout.lines().next().unwrap_or("");
    assert!(banner.contains(" : no control"), "{}", alone.account());
}

#[test]
fn i15_units_are_spelled_as_ever() {
    let server = server();
    let finished = run_all(
        &server,
        &[
            "-l 1 -c -C",
            "-l 1 -f M",
            "-t TCP_RR -l -50 -c -C",
            "-l 1 -- -k THROUGHPUT_UNITS",
            "-l 1 -f M -- -k THROUGHPUT_UNITS",
            "-t TCP_RR -l -50 -- -k THROUGHPUT_UNITS",
        ],
    );
    let spelled: [&[&str]; 6] = [
        &["10^6bits/s", "% S", "us/KB"],
        &["MBytes/sec"],
        &["% S", "us/Tr"],
        &["THROUGHPUT_UNITS=10^6bits/s\n"],
        &["THROUGHPUT_UNITS=MBytes/s\n"],
        &["THROUGHPUT_UNITS=Trans/s\n"],
    ];
    for (finished, units) in finished.iter().zip(spelled) {
        for unit in units {
            assert!(finished.stdout.contains(unit), "{}", finished.account());
        }
    }
}

#[test]
fn i16_a_histogram_reads_from_its_first_decade_to_the_times_beyond() {
    let server = server();
    let rr = run(&server, "-t TCP_RR -l -500 -v 2");
    let omni = run(&server, "-t OMNI -l 1 -j -v 2");
    for finished in [rr, omni] {
        let text = &finished.stdout;
        let start = text.find("UNIT_USEC").expect("the first decade");
        let end = text.find(">100_SECS: ").expect("times beyond");
        let decades: Vec<&str> = text[start..end].lines().collect();
        assert_eq!(decades.len(), 8, "{}", finished.account());
        for decade in decades {
            let cells: Vec<&str> = decade[14..].split(':').skip(1).collect();
            assert_eq!(cells.len(), 10, "{decade}");
            assert!(cells.iter().all(|cell| cell.trim().parse::<u64>().is_ok()));
        }
        assert!(
            text.contains("\nHIST_TOTAL:      "),
            "{}",
            finished.account()
        );
    }
}

#[test]
fn i36_warnings_of_confidence_are_for_people_only() {
    let server = server();
    let unmet = "-t TCP_RR -l -100 -i 3,3 -I 99,0.0001";
    let finished = run(&server, unmet);
    assert!(
        finished.stdout.contains("!!! WARNING\n"),
        "{}",
        finished.account()
    );
    for format in ["-k", "-o", "-O"] {
        let finished = run(&server, &format!("{unmet} -- {format} THROUGHPUT"));
        assert!(
            !finished.stdout.contains("WARNING"),
            "{}",
            finished.account()
        );
    }
    let bare = run(&server, &format!("{unmet} -v 0 -P 0"));
    let last = bare.stdout.lines().last().unwrap_or("");
    assert!(is_decimal(last.trim()), "{}", bare.account());
}

#[test]
fn i37_cpu_columns_shift_the_fields() {
    let server = server();
    let finished = run_all(
        &server,
        &["-l 1 -P 0 -c -C", "-l 1 -P 0 -c -C -t UDP_STREAM"],
    );
    let columns = |at: usize, line: usize| {
        let text: &str = &finished[at].stdout;
        words(text.lines().nth(line).expect("a row")).len()
    };
    assert_eq!(columns(0, 0), 9);
    assert_eq!((columns(1, 0), columns(1, 1)), (8, 6));
}
