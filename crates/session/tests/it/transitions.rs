//! The whole transition table of both state machines, as a snapshot.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test looks for the one effect it is about"
)]

use std::fmt::Write;
use std::time::Duration;

use crate::common::{facts, local_end, plan, ready, result};
use netperf_model::{
    Abilities, CpuMethod, CpuPlan, EndResult, FlowSeries, Series, SeriesPlan, TcpSample, TestPlan,
};
use netperf_session::appendix::Appendices;
use netperf_session::dialect::Dialect;
use netperf_session::{client, offer, server};
use netperf_wire::messages::{HeaderOnly, OmniResults, StreamRrRequest};
use netperf_wire::{Frame, Header, Message, RemoteErrno, RequestKind};

fn request() -> Frame {
    offer::request(&plan(), &local_end()).unwrap()
}

fn dialect() -> Dialect {
    Dialect::understand(&request(), None).unwrap().0
}

fn client_states() -> Vec<client::State> {
    let agreement = offer::agreement(&plan(), &dialect().response(&ready())).unwrap();
    vec![
        client::State::Idle,
        client::State::Calibrating,
        client::State::Greeting,
        client::State::Offered,
        client::State::Running(agreement.clone()),
        client::State::AwaitingResults(agreement.clone()),
        fetching(agreement),
        client::State::Closed,
    ]
}

/// A plan that asks netserver for a series.
fn series_plan() -> TestPlan {
    let mut plan = plan();
    plan.remote.series = Some(SeriesPlan {
        every: Duration::from_millis(100),
        flows: 1,
    });
    plan
}

/// A run whose results have no room for what was written down: two pages of it.
fn long_result() -> EndResult {
    let samples = vec![TcpSample::default(); 10];
    let flow = FlowSeries {
        samples,
        ..FlowSeries::default()
    };
    EndResult {
        series: Some(Series {
            flows: vec![flow],
            ..Series::default()
        }),
        ..result()
    }
}

fn long_results() -> Frame {
    dialect().results(&long_result())
}

/// A page that is asked for in [`fetching`].
fn page(number: usize) -> Frame {
    let kept = server::State::Idle(Appendices::of(&long_result()));
    let input = server::Input::Frame(Box::new(pages_wanted()));
    let replies = server::step(&facts(), kept, input).1.into_iter();
    let mut pages = replies.filter_map(|effect| match effect {
        server::Effect::Reply(page) => Some(*page),
        _ => None,
    });
    pages.nth(number).unwrap()
}

/// The request for the pages of [`long_results`].
fn pages_wanted() -> Frame {
    let agreement = offer::agreement(&plan(), &dialect().response(&ready())).unwrap();
    let state = client::State::AwaitingResults(agreement);
    let input = client::Input::Frame(Box::new(long_results()));
    let sent = client::step(&series_plan(), state, input).1.into_iter();
    let mut sent = sent.filter_map(|effect| match effect {
        client::Effect::Send(frame) => Some(*frame),
        _ => None,
    });
    sent.next().unwrap()
}

fn fetching(agreement: offer::Agreement) -> client::State {
    let state = client::State::AwaitingResults(agreement);
    let input = client::Input::Frame(Box::new(long_results()));
    client::step(&series_plan(), state, input).0
}

fn client_inputs() -> Vec<(&'static str, client::Input)> {
    let error = HeaderOnly.encode(Header::response(RequestKind::Omni).with_errno(RemoteErrno(95)));
    let results = OmniResults::default().encode(Header::results(RequestKind::Omni));
    vec![
        ("Open without passphrase", client::Input::Open(None)),
        (
            "Open with passphrase",
            client::Input::Open(Some("sesame".into())),
        ),
        ("Calibrate", client::Input::Calibrate(None)),
        ("Greet", client::Input::Greet),
        ("Offer", client::Input::Offer(Box::new(request()))),
        ("RunEnded", client::Input::RunEnded(Duration::from_secs(3))),
        (
            "response",
            client::Input::Frame(Box::new(dialect().response(&ready()))),
        ),
        ("results", client::Input::Frame(Box::new(results))),
        (
            "results and more",
            client::Input::Frame(Box::new(long_results())),
        ),
        ("first page", client::Input::Frame(Box::new(page(0)))),
        ("second page", client::Input::Frame(Box::new(page(1)))),
        ("error 95", client::Input::Frame(Box::new(error))),
        ("Closed", client::Input::Closed(3)),
        ("TimedOut", client::Input::TimedOut(Duration::from_secs(60))),
        ("Finish", client::Input::Finish),
    ]
}

fn hurry(within: Option<Duration>) -> String {
    within.map_or_else(|| "No hurry".into(), |within| format!("Hurry {within:?}"))
}

fn client_effect(effect: &client::Effect) -> String {
    match effect {
        client::Effect::Send(frame) => format!("Send {}", frame.request()),
        client::Effect::Expect(within) => format!("Expect within {within:?}"),
        client::Effect::Hurry(within) => hurry(*within),
        client::Effect::Agreed(_) => "Agreed".into(),
        client::Effect::Results(_) => "Results".into(),
        client::Effect::Calibrated { .. } => "Calibrated".into(),
        client::Effect::Greeted(None) => "Greeted by a stock one".into(),
        client::Effect::Greeted(Some(_)) => "Greeted by one of ours".into(),
        client::Effect::HalfClose => "HalfClose".into(),
        client::Effect::Fail(error) => format!("Fail: {error}"),
    }
}

#[test]
fn every_state_of_the_client_answers_every_input() {
    let mut table = String::new();
    for state in client_states() {
        writeln!(table, "{}", state.name()).unwrap();
        for (name, input) in client_inputs() {
            let (next, effects) = client::step(&series_plan(), state.clone(), input);
            let effects: Vec<String> = effects.iter().map(client_effect).collect();
            writeln!(
                table,
                "  {name:<24} -> {:<16} {}",
                next.name(),
                effects.join(", ")
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

fn server_states() -> Vec<server::State> {
    vec![
        server::State::Locked("sesame".into()),
        server::State::Idle(Appendices::default()),
        server::State::Idle(Appendices::of(&long_result())),
        server::State::Calibrating,
        server::State::Greeted,
        server::State::Preparing(dialect()),
        server::State::Running(dialect()),
        server::State::Closed,
    ]
}

fn calibrate_looper() -> Frame {
    let mut plan = plan();
    plan.remote.cpu = Some(CpuPlan {
        rate: None,
        method: CpuMethod::Looper,
    });
    offer::calibration(&plan, None).unwrap()
}

/// Requests of this many bytes over a Unix-domain socket.
fn stream_rr(size: i32) -> Frame {
    let request = StreamRrRequest {
        request_size: size,
        response_size: 1,
        ..StreamRrRequest::default()
    };
    request.encode(Header::request(RequestKind::StreamRr))
}

fn server_inputs() -> Vec<(&'static str, server::Input)> {
    let plain = |kind| HeaderOnly.encode(Header::request(kind));
    let open = |phrase: &str| {
        let (_, effects) = client::step(
            &plan(),
            client::State::Idle,
            client::Input::Open(Some(phrase.into())),
        );
        let Some(client::Effect::Send(frame)) = effects.into_iter().next() else {
            panic!("a passphrase is sent")
        };
        *frame
    };
    let frame = |frame: Frame| server::Input::Frame(Box::new(frame));
    vec![
        ("right passphrase", frame(open("sesame"))),
        ("wrong passphrase", frame(open("sesam"))),
        ("OMNI", frame(request())),
        ("CPU_CALIBRATE", frame(plain(RequestKind::CpuCalibrate))),
        ("CALIBRATE, looper", frame(calibrate_looper())),
        ("pages, please", frame(pages_wanted())),
        ("DEBUG_ON", frame(plain(RequestKind::DebugOn))),
        ("SYSINFO", frame(plain(RequestKind::SysInfo))),
        ("NODE_IDENTIFY", frame(plain(RequestKind::NodeIdentify))),
        ("request 9999", frame(plain(RequestKind::Unknown(9999)))),
        ("STREAM_RR", frame(stream_rr(1))),
        ("STREAM_RR, empty", frame(stream_rr(0))),
        ("all zeros", frame(Frame::default())),
        ("Prepared", server::Input::Prepared(Box::new(ready()))),
        ("Refused", server::Input::Refused(RemoteErrno(93))),
        ("Calibrated", server::Input::Calibrated(5e8)),
        ("Abilities", server::Input::Abilities(Abilities::default())),
        ("greeting", frame(offer::greeting().unwrap())),
        ("Ran", server::Input::Ran(Box::new(result()))),
        ("Ran, and more", server::Input::Ran(Box::new(long_result()))),
        ("Failed", server::Input::Failed(RemoteErrno(104))),
        ("Gone", server::Input::Gone),
    ]
}

fn server_effect(effect: &server::Effect) -> String {
    match effect {
        server::Effect::Reply(frame) => {
            format!(
                "Reply kind {:#x} errno {}",
                frame.header().kind,
                frame.errno().0
            )
        }
        server::Effect::Expect(within) => format!("Expect within {within:?}"),
        server::Effect::Hurry(within) => hurry(*within),
        server::Effect::Note(denied) => format!("Note: {denied}"),
        server::Effect::BindToCpu(_)
        | server::Effect::Calibrate(_)
        | server::Effect::FindAbilities
        | server::Effect::Prepare(_)
        | server::Effect::Run
        | server::Effect::Close => effect.name().into(),
    }
}

/// Its name, and whether it keeps something.
fn server_state(state: &server::State) -> String {
    match state {
        server::State::Idle(kept) if *kept != Appendices::default() => {
            "Idle with more to hand over".into()
        }
        other => other.name().into(),
    }
}

#[test]
fn every_state_of_the_server_answers_every_input() {
    let mut table = String::new();
    for state in server_states() {
        writeln!(table, "{}", server_state(&state)).unwrap();
        for (name, input) in server_inputs() {
            let (next, effects) = server::step(&facts(), state.clone(), input);
            let effects: Vec<String> = effects.iter().map(server_effect).collect();
            writeln!(
                table,
                "  {name:<18} -> {:<10} {}",
                next.name(),
                effects.join(", ")
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(table);
}
