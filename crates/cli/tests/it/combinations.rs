//! The table of what goes together, read with command lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use netperf_cli::Command;
use netperf_model::catalog::transports::TRANSPORTS;
use netperf_model::refusal;

use crate::common::netperf;

/// The reason against a command line; `None` where all of it goes together.
fn why_not(line: &str) -> Option<String> {
    match netperf(line).command {
        Ok(Command::Run(run)) => refusal::check(&run.plan).err().map(|why| why.to_string()),
        Ok(other) => panic!("{line}: {other:?}"),
        Err(error) => {
            let text = error.to_string();
            assert_eq!(error.exit(), UNSUPPORTED, "{line}: {text}");
            Some(text.trim_start_matches("netperf: ").to_owned())
        }
    }
}

/// Exit status where a test cannot do what is asked.
const UNSUPPORTED: u8 = 3;

/// Options that have a place in some tests and not in others.
const OPTIONS: &[&str] = &[
    "--flows 2",
    "--warmup 1",
    "--io poll",
    "--io epoll",
    "--io uring",
    "--zerocopy",
    "--discard",
    "--batch 8",
    "--io uring --batch 8",
    "--io uring --zerocopy",
    "--io uring --bidirectional same",
    "--zerocopy --bidirectional same",
    "--discard --bidirectional separate",
    "--batch 8 --bidirectional same",
    "--segment-offload on",
    "--splice",
    "--busy-poll 50",
    "--quickack on",
    "--notsent-lowat 5000",
    "--bind-device lo",
    "--mark 5",
    "--flow-label 5",
    "--remote-pacing-rate 5000",
    "--series 100ms",
    "--timestamps software",
    "--rate 1M",
    "--sequence",
    "--bidirectional same",
    "--bidirectional separate",
    "--one-port",
    "--until 1%",
    "-k 8,8",
    "-b 1 -w 1",
];

/// Kinds of test: their names, and what asks for them behind `--`.
const KINDS: &[(&str, &str)] = &[
    ("send", "-d send"),
    ("recv", "-d recv"),
    ("rr", "-d rr"),
    ("crr", "-d rr -c"),
];

#[test]
fn the_whole_table() {
    let mut text = String::new();
    for option in OPTIONS {
        // Transports by what they say, which mostly is the same.
        let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for transport in TRANSPORTS {
            let word = transport.option;
            alike.entry(column(option, word)).or_default().push(word);
        }
        writeln!(text, "# {option}").unwrap();
        for (said, transports) in alike {
            write!(text, "{}\n{said}", transports.join(" ")).unwrap();
        }
        text.push('\n');
    }
    insta::assert_snapshot!(text);
}

/// The reasons against an option over a transport, with the kinds of test that they are for.
fn column(option: &str, transport: &str) -> String {
    let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for flows in ["", "--flows 2"] {
        for (name, words) in KINDS {
            let without = format!("-t OMNI {flows} -- {words} -T {transport}");
            // The lines of many flows are separate.
            if !flows.is_empty() && (option == flows || why_not(&without).is_some()) {
                continue;
            }
            let line = format!("-t OMNI {option} {flows} -- {words} -T {transport}");
            let said = why_not(&line).unwrap_or_else(|| "yes".to_owned());
            let flows = if flows.is_empty() { "" } else { "-flows" };
            kinds
                .entry(said)
                .or_default()
                .push(format!("{name}{flows}"));
        }
    }
    let line =
        |(said, kinds): (&String, &Vec<String>)| format!("    {}: {said}\n", kinds.join(" "));
    kinds.iter().map(line).collect()
}

/// Options, the option that the error names, and its remedy.
#[rustfmt::skip]
const PAIRS: &[(&str, &str, &str)] = &[
    ("-t TCP_MAERTS -- -a", "--defer-accept", "leave it out"),
    ("-t TCP_MAERTS --flows 2 -- -a", "--defer-accept", "leave it out"),
    ("-t TCP_STREAM --bidirectional separate -- -a", "--defer-accept", "leave it out"),
    ("-t TCP_STREAM -N -- -T unix", "--no-control", "leave it out"),
    ("-t OMNI -N -- -d send -T unix-dgram", "--no-control", "leave it out"),
    ("-t TCP_STREAM -- -T unix -q 1000000", "--pacing-rate", "only IP"),
    ("-t TCP_STREAM -- -T mptcp -q 1000000", "--pacing-rate", "Multipath TCP"),
    ("-t TCP_STREAM --remote-pacing-rate 1000000 -- -T mptcp", "--remote-pacing-rate", "Multipath TCP"),
    ("-t UDP_RR --rate 100 -- -r 0,0", "--rate", "a byte at least"),
    ("-t UDP_RR --timestamps software -- -r 0,1", "--timestamps", "a byte at least"),
    ("-t UDP_RR --count 5 -- -r 0,0", "--request-size", "or a time"),
    ("-t TCP_CRR --count 5 -- -r 0,0", "--request-size", "or a time"),
    ("-t OMNI --flows 2 -N -- -T udp -d recv -P ,9", "--flows", "leave out -N"),
    ("-t OMNI --until 1% -- -d recv -T sctp", "--until", "use -I"),
    ("-t DG_STREAM --count 5", "--count", "give --time"),
    ("-t UDP_STREAM --flows 2 --bidirectional separate --place pack", "--flows", "give --cpus"),
    ("-t UDP_STREAM --bidirectional same --io uring --batch 8 --sequence", "--io uring", "leave out -k"),
];

#[test]
fn combinations_are_refused_with_a_way_out() {
    for (words, option, way_out) in PAIRS {
        let said = why_not(words).unwrap_or_default();
        assert!(said.contains(option), "{words}: {said}");
        assert!(said.contains(way_out), "{words}: {said}");
    }
}
