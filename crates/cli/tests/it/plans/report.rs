//! Contents of the report.

use netperf_cli::{Command, Notice, OutputStream};
use netperf_model::{Format, SelectionSource, ThroughputUnit};

use crate::common::{netperf_with_file, run};

#[test]
fn the_report_says_what_is_shown_and_in_which_unit() {
    let report = run("-P 0 -v 2 -f Mega -B tag -dd -T 1 -- -V").report;
    assert_eq!(
        (report.headers, report.verbosity, report.debug),
        (false, 2, 2)
    );
    assert_eq!(report.unit, Some(ThroughputUnit::MebiBytes));
    assert_eq!(report.brand.as_deref(), Some("tag"));
    assert!(report.cpu_bind_shown && report.copy_avoidance_shown);
    assert!(!run("-P x").report.headers);
    assert!(run("-P 5").report.headers);
    assert_eq!(run("-v abc").report.verbosity, 0);
    assert_eq!(run("-f z").report.unit, Some(ThroughputUnit::Unknown('z')));
}

#[test]
fn the_last_of_k_o_and_big_o_decides_format_and_selection() {
    let list = |text: &str| SelectionSource::List(text.to_owned());
    for (line, format) in [
        ("-t OMNI", Format::Columns(SelectionSource::Default)),
        ("-- -k", Format::Keyval(SelectionSource::Default)),
        ("-- -k -r 1,1", Format::Keyval(SelectionSource::Default)),
        ("-- -o ALL", Format::Csv(SelectionSource::All)),
        ("-- -O throughput", Format::Columns(list("throughput"))),
        ("-- -k A;B", Format::Keyval(list("A;B"))),
        ("-- -k THROUGHPUT -o", Format::Csv(SelectionSource::Default)),
        ("-- -k -o THROUGHPUT", Format::Csv(list("THROUGHPUT"))),
        ("-- -o ,", Format::Csv(list(","))),
    ] {
        assert_eq!(run(line).report.format, format, "{line}");
    }
}

#[test]
fn any_other_selection_is_a_file() {
    let text = "THROUGHPUT\nElapsed Time (sec)\n";
    let parsed = netperf_with_file(&["netperf", "--", "-k", "sel.txt"], Some(("sel.txt", text)));
    let Ok(Command::Run(run)) = parsed.command else {
        panic!("no run");
    };
    assert_eq!(
        run.report.format,
        Format::Keyval(SelectionSource::File(text.to_owned()))
    );
    let parsed = netperf_with_file(&["netperf", "--", "-k", ""], None);
    assert_eq!(
        parsed.command.map_err(|error| error.to_string()),
        Err("Could not open output selection file '' errno 2".to_owned())
    );
}

/// What is said about a selection, and to whom: with `?` only to a person.
fn said_of(selection: &str) -> Vec<String> {
    let form = |words: &[&str]| {
        let notices = netperf_with_file(words, None).notices;
        let line = |notice: &Notice| {
            assert_eq!(notice.stream, OutputStream::Stderr, "scripts read stdout");
            let mark = if notice.is_hint { "?" } else { "" };
            format!("{mark}{}", notice.text)
        };
        notices.iter().map(line).collect::<Vec<String>>()
    };
    let said = form(&["netperf", "--", "-k", selection]);
    for letter in ["-o", "-O"] {
        assert_eq!(
            form(&["netperf", "--", letter, selection]),
            said,
            "{letter}"
        );
    }
    said
}

#[test]
fn a_wrong_selector_is_answered_with_the_nearest_right_one() {
    let line = |wrong: &str, near: &str| {
        format!("netperf: output selector {wrong} is unknown; did you mean {near}?\n")
    };
    assert_eq!(
        said_of("THROUGHPTU"),
        [line("THROUGHPTU", "THROUGHPUT")],
        "it is no file either, and the run fails"
    );
    let for_a_person = |wrong, near| format!("?{}", line(wrong, near));
    assert_eq!(
        said_of("Thruput,uiud;DIRECTION elapsedtime,BOGUS"),
        [
            for_a_person("uiud", "UUID"),
            for_a_person("elapsedtime", "ELAPSED_TIME"),
        ],
        "the run goes on, so scripts must not see a word"
    );
    for fine in ["all", "UUID", "UUID,direction"] {
        assert_eq!(said_of(fine), [""; 0], "{fine}");
    }
    for unknown in ["BOGUS", "sel.txt", ""] {
        let said = said_of(unknown).concat();
        let why = "is neither an output selector nor a file; --keyval '?' lists the selectors\n";
        assert!(said.ends_with(why), "{said}");
    }
}

#[test]
fn a_name_of_80_characters_in_a_selection_file_is_too_long() {
    let refused = |text: &str| {
        let parsed = netperf_with_file(&["netperf", "--", "-k", "f"], Some(("f", text)));
        parsed.command.err().map(|error| error.to_string())
    };
    let long = "A".repeat(80);
    assert_eq!(refused(&"A".repeat(79)), None);
    assert_eq!(
        refused(&format!("ok,{}\nx,{long}", "B".repeat(79))).as_deref(),
        Some("Output selection starting column 2 on line 166 is too long")
    );
    assert_eq!(refused(&format!("1\n2\n3\n4\n{long}")), None);
}
