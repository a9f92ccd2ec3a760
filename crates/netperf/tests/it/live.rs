//! `--live` and `--progress` in a real terminal. What is on the screen is compared by its
//! labels and units, never by its numbers.

use netperf_testkit::{Netserver, Terminal, ours, process, procfs};

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (200, 50);
const UTF8: (&str, &str) = ("LC_ALL", "C.UTF-8");
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A command line of netperf against a server.
fn netperf(server: &Netserver, words: &str) -> String {
    let program = ours!().netperf.display().to_string();
    let port = server.port();
    format!("'{program}' -H 127.0.0.1 -p {port} {words}")
}

fn server() -> Netserver {
    ours!().serve()
}

/// The picture once something was measured.
fn picture(terminal: &Terminal) -> String {
    terminal.until("a rate", |screen| {
        let unknown = ["- mean", " 0.00 mean"];
        let has_rate = |rate: &str| {
            rate.contains(" mean") && !unknown.iter().any(|unknown| rate.contains(unknown))
        };
        row(screen, "Rate").is_some_and(has_rate)
            && row(screen, "  so far").is_none_or(|latency| !latency.contains(" -"))
            && screen.contains("of 1 CPU") | screen.contains(" CPUs")
    })
}

/// The row with this label.
fn row<'s>(screen: &'s str, label: &str) -> Option<&'s str> {
    screen.lines().find(|line| line.starts_with(label))
}

/// The rows with these labels, in this order and each once.
fn has_rows(screen: &str, labels: &[&str]) {
    let mut rest = screen.lines();
    for label in labels {
        assert!(
            rest.any(|line| line.starts_with(label)),
            "no {label}:\n{screen}"
        );
        let count = screen
            .lines()
            .filter(|line| line.starts_with(label))
            .count();
        assert_eq!(count, 1, "{label}:\n{screen}");
    }
}

fn fits(screen: &str, (columns, rows): (u16, u16)) {
    assert!(screen.lines().count() <= usize::from(rows), "{screen}");
    for line in screen.lines() {
        assert!(line.chars().count() <= usize::from(columns), "{screen}");
        let odd = |letter: char| {
            let drawn = BLOCKS.contains(&letter) || ['░', 'µ'].contains(&letter);
            !(letter.is_ascii_graphic() || letter == ' ' || drawn)
        };
        assert!(!line.contains(odd), "{line:?}:\n{screen}");
    }
}

#[test]
fn a_small_terminal_shows_a_test_and_keeps_its_result() {
    let server = server();
    let command = netperf(&server, "--live -t TCP_RR --time 60s");
    let script = format!("stty -a >before; {command}; code=$?; stty -a >after; (exit $code)");
    let Some(terminal) = Terminal::start(SMALL, &[UTF8], &script) else {
        return;
    };
    let screen = picture(&terminal);
    fits(&screen, SMALL);
    has_rows(
        &screen,
        &[
            "netperf TCP_RR to 127.0.0.1",
            "Time  ",
            "Rate  ",
            "Latency  ",
            "  now  ",
            "  so far  ",
            "  P99  ",
            "Retransmitted  ",
            "CPU client  ",
            "CPU server      measured, known at the end",
            "q or Ctrl-C ends the test now",
        ],
    );
    let units = [
        "transactions/s now",
        " mean",
        " to ",
        "s left",
        " %",
        "round trip",
        "P99.9",
    ];
    for unit in units {
        assert!(screen.contains(unit), "{unit}:\n{screen}");
    }
    assert!(screen.contains(BLOCKS), "{screen}");
    assert!(terminal.coloured().contains("\x1b["), "it has colours");
    assert!(terminal.is("alternate_on") && !terminal.is("cursor_flag"));
    // Keys that stop a program or its output do nothing meanwhile.
    terminal.press("C-z");
    terminal.press("C-s");
    terminal.press("C-c");
    let all = terminal.end();
    assert!(all.contains("ended with 0"), "{all}");
    assert!(all.contains("transactions/s, latency P50 "), "{all}");
    assert!(!all.contains("CPU server  "), "the picture is gone: {all}");
    assert!(!terminal.is("alternate_on") && terminal.is("cursor_flag"));
    let modes = |name: &str| std::fs::read_to_string(terminal.file(name)).unwrap();
    assert_eq!(modes("before"), modes("after"));
}

#[test]
fn a_large_terminal_shows_each_of_many_flows_without_colour_if_asked() {
    let server = server();
    let command = netperf(&server, "--live -t TCP_STREAM --flows 5 --time 60s");
    let variables = [UTF8, ("NO_COLOR", "1")];
    let Some(terminal) = Terminal::start(LARGE, &variables, &command) else {
        return;
    };
    picture(&terminal);
    let screen = terminal.until("every flow", |screen| row(screen, "   5 ").is_some());
    fits(&screen, LARGE);
    has_rows(
        &screen,
        &["netperf TCP_STREAM to 127.0.0.1, 5 flows", "Flow "],
    );
    has_rows(&screen, &["   1 ", "   2 ", "   3 ", "   4 ", "   5 "]);
    let heads = row(&screen, "Flow").unwrap_or_default();
    for head in ["rate", "round trip", "window", "retransmitted"] {
        assert!(heads.contains(head), "{heads}");
    }
    assert!(!screen.contains("not kept"), "{screen}");
    assert!(!screen.contains("not measured"), "{screen}");
    let coloured = terminal.coloured();
    assert!(!coloured.contains('\x1b'), "{coloured:?}");
    let smaller = (60, 15);
    terminal.resize(smaller);
    let screen = terminal.until("the smaller picture", |screen| {
        screen.lines().count() <= 15 && row(screen, "q or Ctrl-C").is_some()
    });
    fits(&screen, smaller);
    terminal.press("q");
    let all = terminal.end();
    assert!(all.contains("ended with 0"), "{all}");
    assert!(all.contains("bit/s from client to server"), "{all}");
}

#[test]
fn a_terminal_without_utf_8_gets_ascii_and_a_file_gets_the_result_alone() {
    let server = server();
    let command = netperf(&server, "--live -t UDP_RR --time 60s >result");
    let Some(terminal) = Terminal::start(SMALL, &[("LC_ALL", "C")], &command) else {
        return;
    };
    let screen = picture(&terminal);
    assert!(screen.is_ascii(), "{screen}");
    assert!(row(&screen, "Retransmitted").is_none(), "{screen}");
    terminal.press("q");
    let all = terminal.end();
    assert!(all.contains("ended with 0"), "{all}");
    let result = std::fs::read_to_string(terminal.file("result")).unwrap();
    let first = result.lines().next().unwrap_or_default();
    assert!(first.contains("transactions/s, latency P50 "), "{result}");
    assert!(
        !result.contains('\x1b') && !result.contains("left"),
        "{result}"
    );
}

#[test]
fn a_program_that_is_killed_leaves_the_terminal_as_it_was() {
    let server = server();
    let command = netperf(&server, "--live --time 61s");
    let script = format!("stty -a >before; {command}; stty -a >after");
    let Some(terminal) = Terminal::start(SMALL, &[UTF8], &script) else {
        return;
    };
    picture(&terminal);
    let port = server.port().to_string();
    let pids = procfs::with_words(&["-p", &port, "--live", "--time", "61s"]);
    let [pid] = pids.as_slice() else {
        panic!("one netperf, not {pids:?}")
    };
    process::signal(*pid, "TERM");
    let all = terminal.end();
    assert!(!all.contains("CPU server  "), "{all}");
    assert!(!terminal.is("alternate_on") && terminal.is("cursor_flag"));
    let modes = |name: &str| std::fs::read_to_string(terminal.file(name)).unwrap();
    assert_eq!(modes("before"), modes("after"));
}

#[test]
fn a_line_of_progress_is_shown_where_it_is_in_nobodys_way_and_erased() {
    let server = server();
    let command = netperf(&server, "-t TCP_RR --time 60s");
    let Some(terminal) = Terminal::start(SMALL, &[UTF8], &format!("{command} >result")) else {
        return;
    };
    let line =
        |screen: &str| row(screen, "TCP_RR ").is_some_and(|line| line.contains("transactions/s"));
    let screen = terminal.until("a line", line);
    fits(&screen, SMALL);
    assert!(screen.contains(" of 1 min, "), "{screen}");
    terminal.press("C-c");
    let all = terminal.end();
    assert!(row(&all, "TCP_RR ").is_none(), "{all}");
    assert!(all.contains("ended with 0"), "{all}");
}

#[test]
fn the_classic_output_on_a_terminal_has_a_line_of_progress_and_not_after_it() {
    let server = server();
    let command = netperf(&server, "-t TCP_RR --time 60s");
    let Some(terminal) = Terminal::start(SMALL, &[UTF8], &command) else {
        return;
    };
    let line =
        |screen: &str| row(screen, "TCP_RR ").is_some_and(|line| line.contains("transactions/s"));
    let screen = terminal.until("a line", line);
    assert!(
        screen.contains("MIGRATED TCP REQUEST/RESPONSE TEST"),
        "{screen}"
    );
    terminal.press("C-c");
    let all = terminal.end();
    assert!(row(&all, "TCP_RR ").is_none(), "{all}");
    assert!(row(&all, "Local /Remote").is_some(), "{all}");
}

#[test]
fn output_that_comes_in_lines_has_no_line_of_progress_nor_has_a_script() {
    let server = server();
    let lines = netperf(&server, "-t TCP_RR --time 600ms -D 0.1");
    let never = netperf(&server, "-t TCP_RR --time 600ms --progress never");
    let background = netperf(&server, "-t TCP_RR --time 600ms </dev/null");
    let script = format!("{lines}; {never}; {background}");
    let Some(terminal) = Terminal::start(SMALL, &[UTF8], &script) else {
        return;
    };
    let all = terminal.end();
    assert!(all.contains("MIGRATED TCP REQUEST/RESPONSE TEST"), "{all}");
    let written = terminal.written();
    assert!(written.contains("MIGRATED"), "{written:?}");
    assert!(!written.contains('\x1b'), "{written:?}");
}
