//! Each setting of a test is in force as it was asked for, or a message names it: for every
//! option of the help that is no socket option, values that are valid, out of range, not
//! permitted and unknown.

use netperf_testkit::{Finished, Invocation, Netserver, ours};
use serde_json::Value;

use crate::asked::run;

/// A case: the option, the words, and either places in JSON with the values in force, or a text
/// that the message has.
enum Case {
    InForce(
        &'static str,
        &'static str,
        &'static [(&'static str, &'static str)],
    ),
    Named(&'static str, &'static str, &'static str),
}
use Case::{InForce, Named};

const CASES: &[Case] = &[
    InForce("test", "-t UDP_RR", &[("/test/name", "\"UDP_RR\"")]),
    Named("test", "-t nosuch", "NOSUCH"),
    Named("test", "--test TCP_STREEM", "'TCP_STREEM'"),
    InForce("udp", "-t TCP_RR --udp", &[("/test/protocol", "\"UDP\"")]),
    Named("udp", "-t TCP_MAERTS --udp", "--udp"),
    InForce(
        "reverse",
        "-t TCP_STREAM --reverse",
        &[("/test/receives", "true")],
    ),
    Named("reverse", "-t TCP_RR --reverse", "--reverse"),
    InForce("time", "-l 0.2", &[("/test/limit/seconds", "0.2")]),
    Named("time", "--time abc", "--time"),
    InForce(
        "count",
        "--count 5",
        &[
            ("/iterations/0/local/transactions", "5"),
            ("/iterations/0/remote/transactions", "5"),
        ],
    ),
    Named("count", "--count 0", "--count"),
    Named("count", "--count abc", "--count"),
    InForce("wait", "-t TCP_CC -s 1", &[("/test/wait_seconds", "1.0")]),
    Named("wait", "-s abc", "-s abc"),
    Named("wait", "--wait abc", "--wait"),
    InForce(
        "bidirectional",
        "-t TCP_STREAM --bidirectional same",
        &[("/test/bidirectional", "\"same\"")],
    ),
    Named("bidirectional", "--bidirectional xyz", "--bidirectional"),
    Named("bidirectional", "--bidirectional same", "--bidirectional"),
    InForce(
        "sequence",
        "-t UDP_STREAM --sequence -- -m 1000",
        &[
            ("/local/requested/numbers_datagrams", "true"),
            ("/remote/requested/numbers_datagrams", "true"),
        ],
    ),
    Named("sequence", "--sequence", "--sequence"),
    InForce("flows", "--flows 2", &[("/test/many/flows", "2")]),
    Named("flows", "--flows 0", "--flows"),
    Named("flows", "--flows 2000000", "--flows"),
    Named("flows", "--flows abc", "--flows"),
    InForce(
        "threads",
        "--flows 2 --threads 1,2",
        &[
            ("/iterations/0/local/workers/threads", "1"),
            ("/iterations/0/remote/workers/threads", "2"),
        ],
    ),
    Named("threads", "--threads 0", "--threads"),
    Named("threads", "--threads 5000", "--threads"),
    InForce(
        "warmup",
        "--flows 2 --warmup 20ms",
        &[("/test/many/warmup_seconds", "0.02")],
    ),
    Named("warmup", "--warmup abc", "--warmup"),
    Named("begin-at", "--begin-at 1", "--begin-at"),
    Named("begin-at", "--begin-at 18446744073709551615", "--begin-at"),
    Named("begin-at", "--begin-at abc", "--begin-at"),
    InForce(
        "cooldown",
        "--flows 2 --cooldown 20ms",
        &[("/test/many/cooldown_seconds", "0.02")],
    ),
    Named("cooldown", "--cooldown abc", "--cooldown"),
    InForce(
        "local-cpu",
        "-c",
        &[("/iterations/0/local/cpu/method", "\"S\"")],
    ),
    Named("local-cpu", "--local-cpu=abc", "--local-cpu"),
    InForce(
        "remote-cpu",
        "-C",
        &[("/iterations/0/remote/cpu/method", "\"S\"")],
    ),
    Named("remote-cpu", "--remote-cpu=abc", "--remote-cpu"),
    InForce(
        "cpu-method",
        "-c --cpu-method procstat",
        &[("/iterations/0/local/cpu/method", "\"S\"")],
    ),
    Named("cpu-method", "--cpu-method abc", "--cpu-method"),
    InForce(
        "bind-cpu",
        "-T 0,0",
        &[
            ("/local/requested/bind_cpu", "0"),
            ("/remote/requested/bind_cpu", "0"),
        ],
    ),
    Named("bind-cpu", "-T 99999,", "99999"),
    Named("bind-cpu", "-T ,999", "999"),
    Named("bind-cpu", "-T abc", "-T abc"),
    InForce(
        "cpus",
        "--cpus 0",
        &[("/iterations/0/local/workers/cpus", "[0]")],
    ),
    Named("cpus", "--cpus 999", "--cpus"),
    Named("cpus", "--cpus abc", "--cpus"),
    InForce(
        "remote-cpus",
        "--flows 2 --remote-cpus 0",
        &[("/iterations/0/remote/workers/cpus", "[0]")],
    ),
    Named(
        "remote-cpus",
        "--flows 2 --remote-cpus 999",
        "--remote-cpus",
    ),
    Named("remote-cpus", "--remote-cpus abc", "--remote-cpus"),
    InForce(
        "place",
        "--flows 2 --place pack",
        &[("/test/many/remote/placement", "\"pack\"")],
    ),
    Named("place", "--flows 2 --place node:99", "--place"),
    Named("place", "--place xyz", "--place"),
    InForce("iterations", "-i 3,3", &[("/iterations/2/number", "3")]),
    Named("iterations", "-i abc", "-i abc"),
    Named("iterations", "--iterations 40,2", "--iterations"),
    InForce(
        "confidence",
        "-i 3,3 -I 95,50",
        &[("/test/confidence/level_percent", "95")],
    ),
    Named("confidence", "-I 50,5", "confidence level"),
    Named("confidence", "--confidence 50,5", "--confidence"),
    InForce(
        "result-only",
        "-i 3,3 -r",
        &[("/test/confidence/result_only", "true")],
    ),
    Named("until", "--until abc", "--until"),
    Named("until", "--until 0%", "--until"),
    Named("until-confidence", "--until-confidence 95", "--until"),
    Named(
        "until-confidence",
        "--until 5% --until-confidence abc",
        "--until-confidence",
    ),
    InForce(
        "rate",
        "-t UDP_STREAM --rate 1M -- -m 1000",
        &[("/rate/asked_per_second", "1000000.0")],
    ),
    Named("rate", "--rate abc", "--rate"),
    Named("rate", "--rate 0", "--rate"),
    Named("arrival", "--arrival poisson", "--arrival"),
    Named("arrival", "--rate 100 --arrival xyz", "--arrival"),
    Named("seed", "--seed 7", "--seed"),
    Named("seed", "--rate 100 --seed abc", "--seed"),
    InForce(
        "pace",
        "-b 5 -w 10",
        &[
            ("/local/requested/pace/operations", "5"),
            ("/local/requested/pace/interval_seconds", "0.01"),
        ],
    ),
    Named("pace", "-b abc", "-b abc"),
    Named("pace", "--pace abc", "--pace"),
    Named("pace-interval", "-b 5 -w abc", "-w abc"),
    Named("pace-interval", "--pace-interval abc", "--pace-interval"),
    InForce(
        "io",
        "--io poll",
        &[
            ("/local/requested/io/method", "\"poll\""),
            ("/remote/requested/io/method", "\"poll\""),
        ],
    ),
    Named("io", "--io xyz", "--io"),
    Named("io", "-t TCP_CRR --io uring", "--io"),
    Named("zerocopy", "-t TCP_STREAM --zerocopy", "--zerocopy"),
    Named("zerocopy", "-t UDP_STREAM --zerocopy", "--zerocopy"),
    InForce(
        "discard",
        "-t TCP_STREAM --discard",
        &[("/remote/requested/io/discard", "true")],
    ),
    Named("discard", "-t TCP_RR --discard", "--discard"),
    InForce(
        "batch",
        "-t UDP_STREAM --batch 8 -- -m 1000",
        &[("/local/requested/io/messages_per_call", "8")],
    ),
    Named("batch", "-t UDP_STREAM --batch 0", "--batch"),
    Named("batch", "-t TCP_STREAM --batch 8", "--batch"),
    InForce(
        "segment-offload",
        "-t UDP_STREAM --segment-offload on -- -m 1000",
        &[("/local/requested/io/segment_offload", "true")],
    ),
    Named(
        "segment-offload",
        "--segment-offload xyz",
        "--segment-offload",
    ),
    Named(
        "segment-offload",
        "--segment-offload on",
        "--segment-offload",
    ),
    InForce(
        "splice",
        "-t TCP_STREAM --splice",
        &[("/remote/requested/io/splice", "true")],
    ),
    Named("splice", "--splice", "--splice"),
    InForce(
        "align",
        "-a 64",
        &[("/local/requested/send_buffers/align_bytes", "64")],
    ),
    Named("align", "-a abc", "-a abc"),
    InForce(
        "remote-align",
        "-A 64",
        &[("/remote/requested/recv_buffers/align_bytes", "64")],
    ),
    Named("remote-align", "-A abc", "-A abc"),
    InForce(
        "offset",
        "-o 8",
        &[("/local/requested/send_buffers/offset_bytes", "8")],
    ),
    Named("offset", "-o abc", "-o abc"),
    InForce(
        "remote-offset",
        "-O 8",
        &[("/remote/requested/recv_buffers/offset_bytes", "8")],
    ),
    Named("remote-offset", "-O abc", "-O abc"),
    InForce(
        "ring",
        "-W 3,4",
        &[
            ("/local/agreed/send_buffer_count", "3"),
            ("/local/agreed/recv_buffer_count", "4"),
        ],
    ),
    Named("ring", "-W abc", "-W abc"),
    InForce(
        "fill-file",
        "-F /etc/hostname",
        &[("/local/requested/fill_file", "\"/etc/hostname\"")],
    ),
    Named("fill-file", "-F /nosuch", "fill file"),
    Named("fill-file", "-t TCP_MAERTS -F /etc/hostname", "-F"),
    InForce(
        "dirty",
        "-k 10,20",
        &[
            ("/local/requested/dirty_bytes", "10"),
            ("/local/requested/clean_bytes", "20"),
        ],
    ),
    Named("dirty", "-k abc", "-k abc"),
    InForce(
        "remote-dirty",
        "-K 10,20",
        &[("/remote/requested/dirty_bytes", "10")],
    ),
    Named("remote-dirty", "-K abc", "-K abc"),
    InForce(
        "send-size",
        "-t TCP_STREAM -- -m 100",
        &[("/local/agreed/send_size_bytes", "100")],
    ),
    Named("send-size", "-t TCP_STREAM -- -m abc", "-m abc"),
    Named("send-size", "-t TCP_RR --send-size 100", "--send-size"),
    InForce(
        "recv-size",
        "-t TCP_STREAM -- -M 100",
        &[("/remote/agreed/recv_size_bytes", "100")],
    ),
    Named("recv-size", "-t TCP_STREAM -- -M abc", "-M abc"),
    Named("recv-size", "-t TCP_RR --recv-size 100", "--recv-size"),
    InForce(
        "request-size",
        "-- -r 10,20",
        &[
            ("/local/agreed/send_size_bytes", "10"),
            ("/remote/agreed/send_size_bytes", "20"),
        ],
    ),
    Named("request-size", "-- -r abc", "-r abc"),
    Named(
        "request-size",
        "-t TCP_STREAM --request-size 10",
        "--request-size",
    ),
    InForce("burst", "-- -b 2", &[("/test/burst_requests", "2")]),
    InForce("burst", "-- -b -2", &[("/test/burst_requests", "2")]),
    Named("burst", "-- -b abc", "-b abc"),
    Named("burst", "-t TCP_STREAM --burst 2", "--burst"),
    InForce(
        "direction",
        "-t OMNI -- -d recv",
        &[("/test/receives", "true"), ("/test/sends", "false")],
    ),
    Named("direction", "-t OMNI -- -d xyz", "-d xyz"),
    Named("direction", "-t TCP_RR --direction send", "-d"),
    InForce(
        "connect",
        "-t OMNI -- -d rr -c",
        &[("/test/connects", "true")],
    ),
    Named("connect", "-t UDP_RR -- -c", "-c"),
    InForce(
        "protocol",
        "-t OMNI -- -T udp -m 1000",
        &[("/test/protocol", "\"UDP\"")],
    ),
    Named("protocol", "-t OMNI -- -T xyz", "-T xyz"),
    Named("protocol", "-t OMNI --protocol xyz", "--protocol"),
    Named(
        "socket-type",
        "-t OMNI -- -T tcp -t dgram",
        "datagram sockets",
    ),
    InForce(
        "socket-type",
        "-t OMNI -- -t stream",
        &[("/test/socket_type", "\"Stream\"")],
    ),
    Named("socket-type", "-t OMNI -- -t xyz", "xyz"),
    InForce(
        "recv-timeout",
        "-t UDP_RR -- -e 1",
        &[("/test/recv_timeout_seconds", "1.0")],
    ),
    Named("recv-timeout", "-t UDP_RR -- -e abc", "-e abc"),
    Named("recv-timeout", "-t TCP_RR -- -e 1", "-e"),
    InForce(
        "retry-connect",
        "-t TCP_CRR -- -U",
        &[("/test/retries_connects", "true")],
    ),
    Named(
        "retry-connect",
        "-t TCP_RR --retry-connect",
        "--retry-connect",
    ),
    InForce("use-write", "-- -I", &[("/test/uses_write", "true")]),
    InForce(
        "avoid-copy",
        "-- -V",
        &[("/local/requested/copy_avoidance", "true")],
    ),
    Named(
        "port-range",
        "-t TCP_RR --port-range 5000,6000",
        "--port-range",
    ),
    InForce(
        "port-range",
        "-t TCP_CRR -- -p 20000,40000",
        &[
            ("/test/first_local_port", "20000"),
            ("/test/end_local_port", "40000"),
        ],
    ),
    InForce("data-ipv4", "-- -4", &[("/local/family", "\"ipv4\"")]),
    Named("data-ipv6", "-- -6", "other family"),
    Named("data-host", "-- -H 192.0.2.1", "192.0.2.1"),
    Named("local-data-host", "-- -L 192.0.2.9", "192.0.2.9"),
    Named("data-port", "-- -P abc", "'abc' is not a port"),
    Named("device", "-t OMNI --device lo", "--device"),
    Named("device-unit", "-t OMNI --device-unit 1", "--device-unit"),
    Named("sap", "-t OMNI --sap 4", "--sap"),
    InForce(
        "send-ring",
        "-t TCP_STREAM -- -W 5",
        &[("/local/agreed/send_buffer_count", "5")],
    ),
    Named("send-ring", "-- -W abc", "-W abc"),
    Named("series-flows", "--series-flows 2", "--series-flows"),
];

/// Headings of options that change what a test does; asked.rs has those of sockets.
const HEADINGS: &[&str] = &[
    "The test:",
    "CPUs:",
    "Repetition and confidence:",
    "Pacing:",
    "Data paths:",
    "Buffers:",
    "Operations:",
    "Addresses of the data connection:",
];

/// Options of other modules.
const ELSEWHERE: &[&str] = &["pacing-rate", "remote-pacing-rate", "busy-poll"];

/// Long options under these headings of a help text.
fn options(topic: &str) -> Vec<String> {
    let help = Invocation::new(&ours!().netperf)
        .args(["--help", topic])
        .run();
    let mut is_setting = false;
    let mut found = Vec::new();
    for line in help.stdout.lines() {
        if line.ends_with(':') && !line.starts_with(' ') {
            is_setting = HEADINGS.contains(&line);
        }
        let name = line.get(6..).and_then(|line| line.strip_prefix("--"));
        let name = name.and_then(|text| text.split(' ').next());
        found.extend(name.filter(|_| is_setting).map(str::to_owned));
    }
    found
}

#[test]
fn every_setting_of_the_help_has_a_case() {
    let found = [options("all"), options("OMNI")].concat();
    assert!(found.len() >= 60, "{found:?}");
    for option in found {
        let has_case = CASES.iter().any(|case| match case {
            InForce(name, ..) | Named(name, ..) => *name == option,
        });
        let is_elsewhere = ELSEWHERE.contains(&option.as_str());
        assert!(
            has_case || is_elsewhere,
            "{option} has no case in settings.rs"
        );
    }
}

/// The document; null for a run that ended before it had one.
fn document(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_default()
}

/// The words with a limit: a number of operations, where the test and its options permit one. A
/// short time may be over before a busy host has begun.
fn limited(words: &str) -> String {
    const WITH_A_TIME: [&str; 5] = ["-l ", "--count", "--warmup", "--cooldown", "UDP_STREAM"];
    let has_time = WITH_A_TIME.iter().any(|word| words.contains(word));
    let limit = if has_time {
        "--time 300ms"
    } else {
        "--count 10"
    };
    format!("{limit} {words}")
}

/// Judges a case.
fn judge(server: &Netserver, case: &Case) -> Result<(), String> {
    match case {
        InForce(_, words, values) => {
            let finished = run(server, &limited(words), true);
            let document = document(&finished);
            let warnings = document["warnings"].to_string();
            let is_clean = finished.status.success() && !warnings.contains("not_as_asked");
            let holds = |(place, value): &(&str, &str)| {
                let value: Option<Value> = serde_json::from_str(value).ok();
                value.is_some() && document.pointer(place) == value.as_ref()
            };
            match values.iter().find(|value| !holds(value)) {
                None if is_clean => Ok(()),
                lacking => Err(format!("{words}: {lacking:?}\n{}", finished.stderr)),
            }
        }
        Named(_, words, text) => {
            let finished = run(server, &limited(words), true);
            let told = finished.stderr.contains(text);
            let is_failure = !finished.status.success();
            let warnings = || document(&finished)["warnings"].to_string();
            if told && (is_failure || warnings().contains("not_as_asked")) {
                return Ok(());
            }
            Err(format!(
                "{words}: no message with {text:?}\n{}",
                finished.stderr
            ))
        }
    }
}

#[test]
fn every_setting_is_in_force_or_named() {
    let server = ours!().serve_with_rings();
    let share = CASES.len().div_ceil(6);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = CASES
            .chunks(share)
            .map(|cases| {
                let server = &server;
                let judged = move || cases.iter().filter_map(|case| judge(server, case).err());
                scope.spawn(move || judged().collect::<Vec<_>>())
            })
            .collect();
        let done = workers
            .into_iter()
            .map(|worker| worker.join().expect("a verdict"));
        done.flatten().collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
