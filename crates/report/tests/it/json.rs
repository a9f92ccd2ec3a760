//! JSON documents and events follow the schema, whatever happened.

mod documents;

use std::sync::LazyLock;
use std::time::Duration;

use crate::common::{outcome, run};
use netperf_cli::RunCommand;
use netperf_model::latency::Bucket;
use netperf_model::rate::Points;
use netperf_model::{
    ClockOffset, Confidence, Course, CpuShares, Decades, EndSetup, FlowCounts, FlowSeries, Flows,
    HostFacts, Interim, IoCounts, Iteration, Known, KnownPercentile, Latency, Lateness, Limit,
    OneWay, Outcome, Paced, PciIds, Quality, RunPart, SecurityKind, SecurityMode, Series, Span,
    Spread, Tally, TcpFacts, TcpSample, Until, UntilEnd, Warning, WorkerThreads,
};
use netperf_report::SoFar;
use netperf_report::control::Whose;
use netperf_report::document::{Document, RunContext, RunError};
use netperf_report::format::json::{self, Answer};
use netperf_report::list::{self, List, Support, SupportRow};
use netperf_report::{final_report, incomplete, interim_line, needs};
use netperf_testkit::schema::Schema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const GENERATED: &str = include_str!("../../../../docs/schema/netperf-1.schema.json");
pub(crate) static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::parse(GENERATED));
/// The schema as first published: it never changes, and all documents follow it, with fields,
/// kinds of warnings and families added later (decision 0032). Counts of sends that are unknown are
/// the exception: they are null, and so are counts that a peer other than netserver does not keep.
static PUBLISHED: LazyLock<Schema> = LazyLock::new(|| {
    let text = include_str!("published/netperf-1.schema.json");
    let text = text.replace(
        "\"additionalProperties\": false",
        "\"additionalProperties\": {}",
    );
    let mut schema = read(&text);
    for list in ["warning/properties/code", "end/properties/family"] {
        let rules = schema.pointer_mut(&format!("/$defs/{list}"));
        let rules = rules.and_then(Value::as_object_mut);
        rules
            .and_then(|rules| rules.remove("enum"))
            .expect("a list");
    }
    Schema::parse(&schema.to_string())
});
const CHAPTER: &str = include_str!("../../../../docs/manual/src/json.md");

/// Every test, with options that have a separate field.
const RUNS: &[&str] = &[
    "netperf",
    "netperf -t TCP_MAERTS -l -1000",
    "netperf -t DG_STREAM",
    "netperf -t SCTP_STREAM -- -N 5",
    "netperf -t SCTP_RR_MANY -- -T 3",
    "netperf -t SDP_CC",
    "netperf -t OMNI -- -T dccp",
    "netperf -t XTI_UDP_RR",
    "netperf -t DLCO_RR",
    "netperf -t TCP_SENDFILE -F /etc/hosts",
    "netperf -t TCP_RR -b 10 -w 5 -- -r 100,200 -b 7",
    "netperf -t TCP_CRR -l -5",
    "netperf -t TCP_CC -f K",
    "netperf -t TCP_MSS",
    "netperf -t UDP_STREAM -l 0 -B brand -- -m 1000 -s 1M -S 2M",
    "netperf -t UDP_RR -i 10,3 -I 99,5 -j -D 0.5 -T 1,2 -y 3 -Y 8",
    "netperf -t OMNI -f x -- -d rr -K cubic -k all",
    "netperf -t OMNI -- -c -d recv -u id -q 1000",
    "netperf -N -t OMNI -- -P ,1",
    "netperf -t LOC_CPU",
    "netperf -t REM_CPU",
    "netperf -t UUID",
    "netperf -t TCP_RR --flows 4 --warmup 1s --threads 2 -j -l 5",
    "netperf -t TCP_RR --until 1% -l 60 -j",
    "netperf -t TCP_RR --rate 1000 --arrival poisson",
    "netperf -t UDP_STREAM --rate 10M --sequence",
    "netperf -t TCP_RR --timestamps software",
    "netperf -t TCP_STREAM --series 0.1 --io uring --zerocopy",
    "netperf -t TCP_STREAM --bidirectional separate",
];

const FIGURES: [f64; 8] = [
    0.0,
    -1.0,
    1.0,
    1e-300,
    1e300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn with(words: &str, option: &str) -> RunCommand {
    run(&words.replacen("netperf", &format!("netperf {option}"), 1))
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[track_caller]
fn valid(text: &str) -> Value {
    let document = read(text);
    for schema in [&SCHEMA, &PUBLISHED] {
        assert_eq!(schema.faults(&document), [""; 0], "{text}");
    }
    document
}

/// Writing, reading and writing again gives the same text.
#[track_caller]
fn reads_back<T: Serialize + DeserializeOwned>(text: &str, written: &Value) {
    let read: T = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let again = serde_json::to_string(&read).expect("a document");
    assert_eq!(
        rounded(self::read(&again)),
        rounded(written.clone()),
        "{text}"
    );
}

/// A value in which figures have 12 digits: reading may be wrong in the last of 17.
fn rounded(value: Value) -> Value {
    match value {
        Value::Number(ref number) if number.is_f64() => {
            format!("{:.11e}", number.as_f64().unwrap_or(0.0)).into()
        }
        Value::Array(items) => items.into_iter().map(rounded).collect(),
        Value::Object(fields) => {
            let fields = fields
                .into_iter()
                .map(|(name, value)| (name, rounded(value)));
            fields.collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

#[track_caller]
fn valid_event(line: &str) -> Value {
    let event = read(line);
    let kind = event["event"].as_str().unwrap_or_default().to_owned();
    for schema in [&SCHEMA, &PUBLISHED] {
        let faults = schema.faults_of(&format!("{kind}_event"), &event);
        assert_eq!(faults, [""; 0], "{line}");
        assert_eq!(schema.faults_of("event", &event), [""; 0], "{line}");
    }
    assert_eq!(line.find('\n'), Some(line.len() - 1), "one line: {line}");
    event
}

fn frame(run: &RunCommand) -> RunContext<'_> {
    RunContext {
        plan: &run.plan,
        report: &run.report,
        span: Span::default(),
    }
}

fn interim(figure: f64) -> Interim {
    let one = Bucket {
        from: 1,
        to: u64::MAX,
        count: 1,
    };
    Interim {
        work: figure,
        seconds: figure,
        ended: Duration::from_secs(1),
        ended_nanos: u64::MAX,
        parts: (figure > 0.0).then_some((RunPart::WarmUp, RunPart::CoolDown)),
        arrived: (figure > 0.0).then_some(u64::MAX),
        iteration: 1,
        counts: most(),
        tcp: (figure > 0.0).then(TcpFacts::default),
        times: (figure > 0.0).then(|| Latency::of_ranges(vec![one])),
    }
}

/// Counts as large as they can be.
const fn most() -> Tally {
    Tally {
        bytes_sent: u64::MAX,
        bytes_received: u64::MAX,
        send_calls: u64::MAX,
        recv_calls: 1,
        failed_sends: u64::MAX,
        transactions: u64::MAX,
        unanswered: u64::MAX,
    }
}

fn longest() -> Latency {
    let bucket = Bucket {
        from: u64::MAX - 1,
        to: u64::MAX,
        count: u64::MAX,
    };
    Latency {
        buckets: vec![bucket],
        count: u64::MAX,
        min: u64::MAX - 1,
        max: u64::MAX,
        sum: f64::INFINITY,
        sum_of_squares: f64::NAN,
        clock_error: 0.0,
    }
}

/// A host of which everything is known.
fn well_known_host() -> HostFacts {
    let mut facts = HostFacts {
        sysname: Some("a \"quoted\" \u{1}\u{fffd}\\ system".to_owned()),
        cpu_frequency: Some(u32::MAX),
        ..HostFacts::default()
    };
    facts.interface.pci = Some(PciIds {
        vendor: u16::MAX,
        ..PciIds::default()
    });
    facts.security.kind = Some(SecurityKind::SeLinux);
    facts.security.mode = Some(SecurityMode::Enforcing);
    facts.settings = Some(vec![("clock_source".to_owned(), "tsc \"x\"".to_owned())]);
    facts
}

/// Figures that only some tests and options measure.
fn everything_measured(run: &mut Iteration, figure: f64) {
    let counts = FlowCounts {
        bytes_sent: u64::MAX,
        ..FlowCounts::default()
    };
    run.cipher = Some("TLS 1.3".to_owned());
    run.many = Some(Flows {
        each: vec![counts, FlowCounts::default()],
        setup: figure,
        skew: Some(figure),
        there: vec![counts],
        fairness_there: Some(figure),
        ..Flows::default()
    });
    run.one_way = Some(OneWay {
        transactions: 1,
        discarded: 2,
        every: 3,
        clock: ClockOffset {
            nanos: i64::MIN,
            error: figure.abs(),
            drift: Some(figure),
            drift_error: figure.abs(),
        },
        parts: [Spread {
            min: figure,
            ..Spread::default()
        }; 8],
        devices: (figure > 1.0).then_some([figure, 1.0]),
    });
    run.local.io = Some(IoCounts {
        send_calls: 1,
        recv_calls: 0,
        zerocopy_done: 4,
        zerocopy_copied: 1,
    });
    run.local.worker_threads = Some(WorkerThreads {
        threads: 2,
        cpus: vec![0, 3],
    });
    run.local.quality = Some(Quality {
        sent: 7,
        received: 5,
        expected: 6,
        jitter: 1500,
        ..Quality::default()
    });
    run.local.paced = Some(Paced {
        due: 10,
        sent: 9,
        seconds: figure.abs(),
        lateness: if figure > 0.0 {
            Lateness::Whole(longest())
        } else {
            Lateness::Told(Points {
                count: 10,
                mean: 2.0,
                quantiles: [1, 2, 3, 4],
                max: 9,
            })
        },
        service: Some(longest()),
        ..Paced::default()
    });
}

/// Result of a run that goes on until figures are known.
fn until(figure: f64) -> Until {
    let known = Known {
        value: figure.abs(),
        half_width: figure.abs(),
        batch: 1,
        batches: 20,
    };
    Until {
        every: Duration::from_millis(10),
        values: 700,
        warm_up: 50,
        throughput: Some(known),
        percentiles: vec![
            KnownPercentile {
                percentile: 0.999,
                known: Some(known),
            },
            KnownPercentile {
                percentile: 0.5,
                known: None,
            },
        ],
        correlation: figure,
        course: if figure > 1.0 {
            Course::Drifting(figure)
        } else {
            Course::Bimodal {
                low: figure.abs(),
                high: 2.0,
                share_high: 0.25,
            }
        },
        end: if figure > 0.0 {
            UntilEnd::Reached
        } else {
            UntilEnd::TooShort
        },
        would_take: (figure > 0.0).then_some(Duration::from_secs(3)),
    }
}

/// An outcome with something in every field.
fn full(run: &RunCommand, figure: f64) -> Outcome {
    let mut full = outcome(run, figure);
    let mut first = full.iterations[0].clone();
    first.tcp = Some(TcpFacts::default());
    first.segment_size = Some(1448);
    first.local.tally = most();
    first.local.series = Some(Series {
        flows: vec![FlowSeries {
            samples: vec![TcpSample::default()],
            ..FlowSeries::default()
        }],
        ..Series::default()
    });
    first.local.retransmissions = Some(u32::MAX);
    first.local.congestion = Some("cubic".to_owned());
    if let Some(cpu) = &mut first.local.cpu {
        cpu.shares = CpuShares {
            user: figure,
            ..CpuShares::default()
        };
        cpu.peak_id = -1;
    }
    everything_measured(&mut first, figure);
    full.iterations.push(first);
    full.until = Some(until(figure));
    full.agreed.local = EndSetup {
        send_size: Some(u32::MAX),
        priority: -2,
        tos: -1,
        ..EndSetup::default()
    };
    full.intervals = vec![interim(figure), interim(0.0)];
    full.latency = Some(longest());
    full.confidence = Some(Confidence {
        met: false,
        result: figure,
        local_cpu: -1.0,
        remote_cpu: figure,
    });
    full.local_host = well_known_host();
    full.remote_host = Some(well_known_host());
    full.warnings = vec![Warning::EndedEarly, Warning::PeerLost("gone".to_owned())];
    full
}

fn every_warning() -> Vec<Warning> {
    let how = || "gone".to_owned();
    vec![
        Warning::EndedEarly,
        Warning::PeerLost(how()),
        Warning::QueueDiscarded,
        Warning::FellBackToTcp,
        Warning::ClockWentWrong,
        Warning::GeneratorLate(how()),
        Warning::RateMissed(how()),
        Warning::Unanswered(how()),
        Warning::NotAsAsked(how()),
        Warning::Stalled(how()),
        Warning::Unheard(how()),
        Warning::Implausible(how()),
        Warning::Imprecise(how()),
        Warning::CpuBound(how()),
        Warning::OneHost,
    ]
}

#[test]
fn documents_with_any_warning_are_valid_and_the_schema_names_all_kinds() {
    let run = run("netperf --json");
    let mut outcome = full(&run, 1.0);
    outcome.warnings = every_warning();
    let document = valid(&final_report(&outcome, &run.report).expect("a document"));
    let schema = read(GENERATED);
    let known = schema["$defs"]["warning"]["properties"]["code"]["examples"].as_array();
    let known = known.expect("a list");
    let written = document["warnings"].as_array().expect("a list");
    assert_eq!(known.len(), written.len());
    for warning in written {
        assert!(known.contains(&warning["code"]), "{warning}");
    }
}

#[test]
fn every_test_gives_a_valid_document_whatever_the_figures() {
    for words in RUNS {
        for option in ["--json", "--json -c -C"] {
            let run = with(words, option);
            for figure in FIGURES {
                for outcome in [outcome(&run, figure), full(&run, figure)] {
                    let text = final_report(&outcome, &run.report).expect("a document");
                    let document = valid(&text);
                    if figure > 0.0 && option == "--json -c -C" {
                        reads_back::<Document>(&text, &document);
                    }
                }
            }
        }
    }
}

#[test]
fn every_event_is_one_valid_line() {
    for words in RUNS {
        let run = with(words, "--json-stream -c");
        valid_event(&json::start(frame(&run)));
        for figure in FIGURES {
            let outcome = full(&run, figure);
            for (index, interval) in outcome.intervals.iter().enumerate() {
                valid_event(&interim_line(&run.plan, &run.report, index, interval));
            }
            for iteration in &outcome.iterations {
                let at = Duration::from_secs(1);
                let line = json::iteration(&run.plan, &run.report, 1, iteration, at);
                valid_event(&line);
            }
            let last = valid_event(&final_report(&outcome, &run.report).expect("an event"));
            assert_eq!(last["event"], "result");
            let document = &last["document"];
            reads_back::<Document>(&document.to_string(), document);
            let faults = SCHEMA.faults(document);
            assert_eq!(faults, [""; 0]);
        }
    }
}

#[test]
fn tests_without_data_have_their_answer_in_a_document() {
    let rate = |whose, rate| Answer::Rate {
        whose,
        rate,
        cpus: 4,
    };
    for answer in [
        rate(Whose::Local, 100.0),
        rate(Whose::Remote, f64::NAN),
        Answer::Identifier("an-id"),
    ] {
        let run = run("netperf -t UUID --json");
        let document = valid(&json::answer(frame(&run), answer));
        assert_eq!(document["result"], Value::Null);
        let run = self::run("netperf -t UUID --json-stream");
        let event = valid_event(&json::answer(frame(&run), answer));
        assert_eq!(event["document"]["command_line"], run.report.command_line);
    }
}

#[test]
fn a_failure_is_a_document_with_its_reason_or_the_last_event() {
    let problem = RunError {
        message: "no \"route\"\nto host".to_owned(),
        exit_status: 255,
        unreached: true,
    };
    for words in RUNS {
        let run = with(words, "--json");
        let so_far = SoFar::default();
        let document = valid(&json::failure(frame(&run), so_far, problem.clone()));
        assert_eq!(document["error"]["message"], "no \"route\"\nto host");
        assert_eq!(document["error"]["exit_status"], 255);
        assert_eq!(document["error"]["unreached"], true);
        let run = with(words, "--json-stream");
        let event = valid_event(&json::failure(frame(&run), so_far, problem.clone()));
        assert_eq!(event["event"], "error");
    }
}

#[test]
fn a_failure_keeps_what_was_measured_before_it() {
    let problem = RunError {
        message: "lost".to_owned(),
        exit_status: 1,
        unreached: false,
    };
    for words in RUNS {
        let run = with(words, "--json");
        for figure in FIGURES {
            let outcome = full(&run, figure);
            let whole = valid(&final_report(&outcome, &run.report).expect("a document"));
            let so_far = SoFar {
                iterations: &outcome.iterations,
                intervals: &outcome.intervals,
                latency: outcome.latency.as_ref(),
                partial: None,
            };
            assert_eq!(incomplete(&run.plan, so_far), "");
            let document = valid(&json::failure(frame(&run), so_far, problem.clone()));
            for part in ["iterations", "intervals", "latency"] {
                assert_eq!(document[part], whole[part]);
                assert!(!document[part].is_null());
            }
            assert_eq!(document["result"], Value::Null);
            // A signal ended the whole one before its time.
            let until_stopped = run.plan.limit == Limit::UntilStopped;
            assert_eq!(whole["complete"], until_stopped);
            assert!(!whole["result"].is_null());
            assert_eq!(document["complete"], false);
        }
    }
}

#[test]
fn an_iteration_that_failed_on_the_way_has_netperfs_figures_and_no_other() {
    let problem = RunError {
        message: "lost".to_owned(),
        exit_status: 1,
        unreached: false,
    };
    for words in RUNS {
        let mut run = with(words, "--json");
        let outcome = full(&run, 1.0);
        let partial = outcome.iterations.first().map(|iteration| Iteration {
            remote: None,
            ..iteration.clone()
        });
        let so_far = SoFar {
            iterations: &outcome.iterations,
            partial: partial.as_ref(),
            ..SoFar::default()
        };
        let line = incomplete(&run.plan, so_far);
        assert!(line.starts_with("netperf: incomplete: "), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
        let document = valid(&json::failure(frame(&run), so_far, problem.clone()));
        let told = &document["partial"];
        assert_eq!(told["remote"], Value::Null);
        assert_eq!(told["number"], outcome.iterations.len() + 1);
        assert_eq!(told["local"], document["iterations"][0]["local"]);
        let plan = &run.plan;
        if plan.flow.sends && plan.control.is_some() {
            assert_eq!(told["throughput_bits_per_second"], Value::Null, "{words}");
            let in_transactions = told["throughput_unit"] == "Trans/s";
            assert_eq!(told["throughput"].is_null(), !in_transactions, "{words}");
        }
        run.report.format = netperf_model::Format::JsonStream;
        let event = valid_event(&json::failure(frame(&run), so_far, problem.clone()));
        assert_eq!(event["partial"], *told);
    }
}
