//! The whole transition table of both state machines, as a snapshot.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test looks for the one effect it is about"
)]

use std::fmt::Write;
use std::time::Duration;

use crate::common::{facts, local_end, plan, ready, result};
use netperf_model::{
    Abilities, CpuMethod, CpuPlan, Denied, EndResult, FlowSeries, Series, SeriesPlan, TcpSample,
    TestPlan,
};
use netperf_session::appendix::Appendices;
use netperf_session::dialect::Dialect;
use netperf_session::{SessionError, client, offer, server};
use netperf_wire::messages::{HeaderOnly, OmniResults, StreamRrRequest};
use netperf_wire::{Frame, Header, Message, RemoteErrno, RequestKind};

fn request() -> Frame {
    offer::request(&plan(), &local_end()).unwrap()
}

fn dialect() -> Dialect {
    Dialect::understand(&request(), None).unwrap().0
}

fn client_states() -> Vec<client::ClientState> {
    let agreement = offer::agreement(&plan(), &dialect().response(&ready())).unwrap();
    vec![
        client::ClientState::Idle,
        client::ClientState::Calibrating,
        client::ClientState::Greeting,
        client::ClientState::ReadingClock,
        client::ClientState::Offered,
        client::ClientState::Running(agreement.clone()),
        client::ClientState::AwaitingResults(agreement.clone()),
        fetching(agreement),
        client::ClientState::Closed,
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

/// A run with an appendix of two pages.
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
    let kept = server::ServerState::Idle(Appendices::of(&long_result()));
    let input = server::ServerInput::Frame(Box::new(pages_wanted()));
    let replies = server::step(&facts(), kept, input).1.into_iter();
    let mut pages = replies.filter_map(|effect| match effect {
        server::ServerEffect::Reply(page) => Some(*page),
        _ => None,
    });
    pages.nth(number).unwrap()
}

/// The request for the pages of [`long_results`].
fn pages_wanted() -> Frame {
    let agreement = offer::agreement(&plan(), &dialect().response(&ready())).unwrap();
    let state = client::ClientState::AwaitingResults(agreement);
    let input = client::ClientInput::Frame(Box::new(long_results()));
    let sent = client::step(&series_plan(), state, input).1.into_iter();
    let mut sent = sent.filter_map(|effect| match effect {
        client::ClientEffect::Send(frame) => Some(*frame),
        _ => None,
    });
    sent.next().unwrap()
}

fn fetching(agreement: offer::Agreement) -> client::ClientState {
    let state = client::ClientState::AwaitingResults(agreement);
    let input = client::ClientInput::Frame(Box::new(long_results()));
    client::step(&series_plan(), state, input).0
}

#[test]
fn a_repeated_response_is_no_result() {
    let response = dialect().response(&ready());
    let agreement = offer::agreement(&plan(), &response).unwrap();
    let state = client::ClientState::AwaitingResults(agreement);
    let input = client::ClientInput::Frame(Box::new(response));
    let (state, effects) = client::step(&plan(), state, input);
    assert_eq!(state, client::ClientState::Closed);
    let failure = client::ClientEffect::Fail(SessionError::Repeated);
    assert!(effects.contains(&failure), "{effects:?}");
}

fn client_inputs() -> Vec<(&'static str, client::ClientInput)> {
    let error = HeaderOnly.encode(Header::response(RequestKind::Omni).with_errno(RemoteErrno(95)));
    let results = OmniResults::default().encode(Header::results(RequestKind::Omni));
    vec![
        ("Open without passphrase", client::ClientInput::Open(None)),
        (
            "Open with passphrase",
            client::ClientInput::Open(Some("sesame".into())),
        ),
        ("Calibrate", client::ClientInput::Calibrate(None)),
        ("Greet", client::ClientInput::Greet),
        ("ReadClock", client::ClientInput::ReadClock),
        ("Offer", client::ClientInput::Offer(Box::new(request()))),
        (
            "RunEnded",
            client::ClientInput::RunEnded(Duration::from_secs(3)),
        ),
        (
            "response",
            client::ClientInput::Frame(Box::new(dialect().response(&ready()))),
        ),
        ("results", client::ClientInput::Frame(Box::new(results))),
        (
            "results and more",
            client::ClientInput::Frame(Box::new(long_results())),
        ),
        ("first page", client::ClientInput::Frame(Box::new(page(0)))),
        ("second page", client::ClientInput::Frame(Box::new(page(1)))),
        ("error 95", client::ClientInput::Frame(Box::new(error))),
        ("Closed", client::ClientInput::Closed(3)),
        (
            "TimedOut",
            client::ClientInput::TimedOut(Duration::from_secs(60), 0),
        ),
        ("Finish", client::ClientInput::Finish),
    ]
}

fn hurry(within: Option<Duration>) -> String {
    within.map_or_else(|| "No hurry".into(), |within| format!("Hurry {within:?}"))
}

fn client_effect(effect: &client::ClientEffect) -> String {
    match effect {
        client::ClientEffect::Send(frame) => format!("Send {}", frame.request()),
        client::ClientEffect::Expect(within) => format!("Expect within {within:?}"),
        client::ClientEffect::Hurry(within) => hurry(*within),
        client::ClientEffect::Agreed(_) => "Agreed".into(),
        client::ClientEffect::Results(_) => "Results".into(),
        client::ClientEffect::Calibrated { .. } => "Calibrated".into(),
        client::ClientEffect::Greeted(None) => "Greeted by a stock one".into(),
        client::ClientEffect::Greeted(Some(_)) => "Greeted by one of ours".into(),
        client::ClientEffect::Clock(None) => "no clock".into(),
        client::ClientEffect::Clock(Some(_)) => "Clock".into(),
        client::ClientEffect::HalfClose => "HalfClose".into(),
        client::ClientEffect::Fail(error) => format!("Fail: {error}"),
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

fn server_states() -> Vec<server::ServerState> {
    vec![
        server::ServerState::Locked("sesame".into()),
        server::ServerState::Idle(Appendices::default()),
        server::ServerState::Idle(Appendices::of(&long_result())),
        server::ServerState::Calibrating,
        server::ServerState::Greeted,
        server::ServerState::Preparing(dialect()),
        server::ServerState::Running(dialect()),
        server::ServerState::Closed,
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

/// The request for a reading of the clock.
fn clock_wanted() -> Frame {
    let input = client::ClientInput::ReadClock;
    let sent = client::step(&plan(), client::ClientState::Idle, input).1;
    let mut sent = sent.into_iter().filter_map(|effect| match effect {
        client::ClientEffect::Send(frame) => Some(*frame),
        _ => None,
    });
    sent.next().unwrap()
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

fn server_inputs() -> Vec<(&'static str, server::ServerInput)> {
    let plain = |kind| HeaderOnly.encode(Header::request(kind));
    let open = |phrase: &str| {
        let (_, effects) = client::step(
            &plan(),
            client::ClientState::Idle,
            client::ClientInput::Open(Some(phrase.into())),
        );
        let Some(client::ClientEffect::Send(frame)) = effects.into_iter().next() else {
            panic!("a passphrase is sent")
        };
        *frame
    };
    let frame = |frame: Frame| server::ServerInput::Frame(Box::new(frame));
    vec![
        ("right passphrase", frame(open("sesame"))),
        ("wrong passphrase", frame(open("sesam"))),
        ("reason, please", frame(offer::reason_request().unwrap())),
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
        ("Prepared", server::ServerInput::Prepared(Box::new(ready()))),
        ("Refused", server::ServerInput::Refused(RemoteErrno(93))),
        ("Denied", server::ServerInput::Denied(Denied::DataPorts)),
        ("Calibrated", server::ServerInput::Calibrated(5e8)),
        (
            "Abilities",
            server::ServerInput::Abilities(Abilities::default()),
        ),
        ("Clock", server::ServerInput::Clock(1)),
        ("clock, please", frame(clock_wanted())),
        ("greeting", frame(offer::greeting().unwrap())),
        ("Ran", server::ServerInput::Ran(Box::new(result()))),
        (
            "Ran, and more",
            server::ServerInput::Ran(Box::new(long_result())),
        ),
        ("Failed", server::ServerInput::Failed(RemoteErrno(104))),
        ("Gone", server::ServerInput::Gone),
    ]
}

fn server_effect(effect: &server::ServerEffect) -> String {
    match effect {
        server::ServerEffect::Reply(frame) => {
            format!(
                "Reply kind {:#x} errno {}",
                frame.header().kind,
                frame.errno().0
            )
        }
        server::ServerEffect::Expect(within) => format!("Expect within {within:?}"),
        server::ServerEffect::Hurry(within) => hurry(*within),
        server::ServerEffect::Note(denied) => format!("Note: {denied}"),
        server::ServerEffect::BindToCpu(_)
        | server::ServerEffect::Calibrate(_)
        | server::ServerEffect::FindAbilities
        | server::ServerEffect::ReadClock
        | server::ServerEffect::Prepare(_)
        | server::ServerEffect::Run
        | server::ServerEffect::Close => effect.name().into(),
    }
}

/// Its name, and whether it keeps something.
fn server_state(state: &server::ServerState) -> String {
    match state {
        server::ServerState::Idle(kept) if *kept != Appendices::default() => {
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
