//! Whole conversations over a scripted link, and the quirks of the protocol they meet.

use std::path::Path;
use std::time::Duration;

use crate::common::{Engine, ScriptedLink, facts, local_end, plan, rr_plan};
use netperf_model::{CpuPlan, Ending, Flow, Limit, Routing, TestId, TransportId};
use netperf_session::driver::{Conversation, LinkEvent, serve};
use netperf_session::{SessionError, offer};
use netperf_wire::messages::{
    HeaderOnly, MaertsRequest, OmniRequest, OmniResponse, OmniResults, RrRequest, StreamRequest,
    UdpStreamRequest, UdpStreamResults,
};
use netperf_wire::{
    Direction, FixedStr, Frame, Header, Message, OmniFlags, RemoteErrno, RequestKind, WireFamily,
    WireSocketType,
};
use proptest::prelude::*;

fn request() -> Frame {
    offer::request(&plan(), &local_end()).unwrap()
}

fn omni(change: impl FnOnce(&mut OmniRequest)) -> Frame {
    let mut message = OmniRequest::decode(&request()).unwrap();
    change(&mut message);
    message.encode(Header::request(RequestKind::Omni))
}

fn served(frames: impl IntoIterator<Item = Frame>) -> (ScriptedLink, Engine) {
    let (mut link, mut engine) = (ScriptedLink::frames(frames), Engine::default());
    serve(&mut link, &mut engine, &facts(), None);
    (link, engine)
}

fn errnos(link: &ScriptedLink) -> Vec<i32> {
    link.sent.iter().map(|frame| frame.errno().0).collect()
}

#[test]
fn a_test_is_answered_by_a_response_and_results() {
    let (link, engine) = served([request()]);
    assert_eq!(errnos(&link), [0, 0]);
    assert_eq!(engine.runs, 1);
    let results = OmniResults::decode(&link.sent[1]).unwrap();
    assert_eq!(results.bytes_received, 5_000_000_000);
}

#[test]
fn one_connection_carries_several_tests() {
    let (link, engine) = served([request(), request(), request()]);
    assert_eq!((link.sent.len(), engine.runs), (6, 3));
}

#[test]
fn an_unknown_request_is_answered_998_and_the_connection_stays_usable() {
    let unknown = HeaderOnly.encode(Header::request(RequestKind::Unknown(9999)));
    let (link, engine) = served([unknown, request()]);
    assert_eq!(errnos(&link), [998, 0, 0]);
    assert_eq!(engine.runs, 1);
}

#[test]
fn a_passphrase_that_nobody_asked_for_is_not_answered() {
    let phrase = HeaderOnly.encode(Header::request(RequestKind::Passphrase));
    let (link, _) = served([phrase, request()]);
    assert_eq!(link.sent.len(), 2);
}

#[test]
fn without_the_passphrase_nothing_is_answered() {
    for first in [
        request(),
        HeaderOnly.encode(Header::request(RequestKind::Passphrase)),
    ] {
        let mut link = ScriptedLink::frames([first, request()]);
        let mut engine = Engine::default();
        serve(&mut link, &mut engine, &facts(), Some("sesame".into()));
        assert!(link.sent.is_empty() && engine.jobs.is_empty());
    }
}

#[test]
fn a_cpu_is_bound_to_before_the_request_is_acted_on() {
    let message = OmniRequest::decode(&request()).unwrap();
    let frame = message.encode(Header::request(RequestKind::Omni).with_affinity(Some(1)));
    assert_eq!(served([frame]).1.cpus, [1]);
    assert!(served([request()]).1.cpus.is_empty());
}

#[test]
fn values_that_crash_or_hang_the_original_are_answered_with_an_error() {
    let cases = [
        (omni(|r| r.socket_type = WireSocketType::Unknown), 94),
        (omni(|r| r.ipfamily = WireFamily::Unspecified), 97),
        (
            omni(|r| r.protocol = netperf_wire::WireProtocol::Other(250)),
            93,
        ),
        (omni(|r| r.direction = Direction::NEITHER), 22),
        (omni(|r| r.send_buf_size = -7), 22),
        (omni(|r| r.recv_alignment = -1), 22),
        (omni(|r| r.data_port = 70_000), 22),
    ];
    for (frame, errno) in cases {
        let (link, engine) = served([frame]);
        assert_eq!(errnos(&link), [errno]);
        assert!(engine.jobs.is_empty());
    }
}

#[test]
fn an_alignment_of_zero_and_a_size_of_zero_mean_the_default() {
    let frame = omni(|r| {
        r.recv_alignment = 0;
        r.receive_size = 0;
        r.recv_width = 0;
    });
    let (_, engine) = served([frame]);
    let recv = engine.jobs[0].end.recv;
    assert_eq!((recv.align, recv.size, recv.width), (1, None, None));
}

#[test]
fn an_error_of_the_engine_goes_to_the_client_and_the_session_goes_on() {
    let mut link = ScriptedLink::frames([request(), request()]);
    let mut engine = Engine {
        refuses: Some(RemoteErrno(12)),
        ..Engine::default()
    };
    serve(&mut link, &mut engine, &facts(), None);
    assert_eq!(errnos(&link), [12, 12]);
    let mut link = ScriptedLink::frames([request()]);
    let mut engine = Engine {
        fails: Some(RemoteErrno(104)),
        ..Engine::default()
    };
    serve(&mut link, &mut engine, &facts(), None);
    assert_eq!(errnos(&link), [0, 104]);
}

#[test]
fn a_client_that_is_gone_ends_the_session_without_a_run() {
    let mut link = ScriptedLink::frames([request()]);
    link.broken = true;
    let mut engine = Engine::default();
    serve(&mut link, &mut engine, &facts(), None);
    assert_eq!(engine.runs, 0);
}

#[test]
fn the_direction_is_turned_round_between_the_ends() {
    let mut plan = plan();
    for flow in [Flow::SEND, Flow::RECEIVE, Flow::RR, Flow::CRR, Flow::CC] {
        plan.flow = flow;
        let (_, engine) = served([offer::request(&plan, &local_end()).unwrap()]);
        assert_eq!(engine.jobs[0].test_flow(), flow);
    }
}

#[test]
fn a_plan_arrives_as_the_job_it_describes() {
    let mut plan = rr_plan();
    plan.limit = Limit::Units(1000);
    plan.request = Some(64);
    plan.response = Some(128);
    let remote = &mut plan.remote;
    remote.cpu = Some(CpuPlan::default());
    remote.socket.nodelay = true;
    remote.socket.tos = Some(0x10);
    remote.socket.congestion = Some("reno".into());
    remote.socket.routing = Routing::DirectOnly;
    remote.send.align = 64;
    remote.fill = Some("/etc/hosts".into());
    let (link, engine) = served([offer::request(&plan, &local_end()).unwrap()]);
    let job = &engine.jobs[0];
    assert_eq!((job.request, job.response), (Some(64), Some(128)));
    assert_eq!(job.limit, Limit::Units(1000));
    assert_eq!(job.end.socket, plan.remote.socket);
    assert_eq!(job.end.send.align, 64);
    assert_eq!(job.end.fill.as_deref(), Some(Path::new("/etc/hosts")));
    let response = OmniResponse::decode(&link.sent[0]).unwrap();
    assert!(response.flags.contains(OmniFlags::MEASURE_CPU));
    assert!((response.cpu_rate - 100.0).abs() < f32::EPSILON);
}

#[test]
fn classic_requests_are_understood() {
    let family = WireFamily::Inet;
    let stream = StreamRequest {
        test_length: 10,
        ipfamily: family,
        ..StreamRequest::default()
    }
    .encode(Header::request(RequestKind::TcpStream));
    let maerts = MaertsRequest {
        test_length: 10,
        ipfamily: family,
        ..MaertsRequest::default()
    }
    .encode(Header::request(RequestKind::TcpMaerts));
    let rr = |kind| {
        let request = RrRequest {
            request_size: 1,
            response_size: 1,
            test_length: -5,
            ipfamily: family,
            ..RrRequest::default()
        };
        request.encode(Header::request(kind))
    };
    let udp = UdpStreamRequest {
        message_size: 1024,
        ipfamily: family,
        ..UdpStreamRequest::default()
    }
    .encode(Header::request(RequestKind::UdpStream));
    let (link, engine) = served([
        stream,
        maerts,
        rr(RequestKind::TcpRr),
        rr(RequestKind::TcpCrr),
        rr(RequestKind::TcpCc),
        rr(RequestKind::UdpRr),
        udp,
    ]);
    assert_eq!(errnos(&link), [0; 14]);
    let flows: Vec<Flow> = engine.jobs.iter().map(|job| job.test_flow()).collect();
    let expected = [
        Flow::SEND,
        Flow::RECEIVE,
        Flow::RR,
        Flow::CRR,
        Flow::CC,
        Flow::RR,
        Flow::SEND,
    ];
    assert_eq!(flows, expected);
    assert_eq!(engine.jobs[5].transport, TransportId::Udp);
    assert_eq!(engine.jobs[6].ending, Ending::OddDatagram(1024));
    assert_eq!(engine.jobs[2].limit, Limit::Units(5));
}

#[test]
fn classic_udp_stream_says_minus_one_for_cpu_that_was_not_measured() {
    let request = UdpStreamRequest {
        message_size: 64,
        ipfamily: WireFamily::Inet,
        ..UdpStreamRequest::default()
    };
    let (link, _) = served([request.encode(Header::request(RequestKind::UdpStream))]);
    let results = UdpStreamResults::decode(&link.sent[1]).unwrap();
    assert!((results.cpu_util + 1.0).abs() < f32::EPSILON);
}

/// Answer of a stock server, made by our own.
fn answers(plan: &netperf_model::TestPlan) -> Vec<LinkEvent> {
    let (link, _) = served([offer::request(plan, &local_end()).unwrap()]);
    link.sent
        .into_iter()
        .map(|frame| LinkEvent::Frame(Box::new(frame)))
        .collect()
}

fn talk<'a>(
    plan: &'a netperf_model::TestPlan,
    answers: Vec<LinkEvent>,
) -> Conversation<'a, ScriptedLink> {
    let link = ScriptedLink {
        arriving: answers.into(),
        ..ScriptedLink::default()
    };
    Conversation::open(plan, link, None).unwrap()
}

#[test]
fn the_client_accepts_any_response_type_as_the_original_does() {
    let plan = plan();
    let mut answers = answers(&plan);
    for answer in &mut answers {
        if let LinkEvent::Frame(frame) = answer {
            frame.set_header(Header {
                kind: 0xdead_beef,
                word1: 0,
            });
        }
    }
    let mut talk = talk(&plan, answers);
    assert_eq!(talk.agree(request()).unwrap().data_port, 4242);
    let result = talk.results(Duration::from_secs(1)).unwrap();
    assert_eq!(result.tally.bytes_received, 5_000_000_000);
}

#[test]
fn residue_in_cpu_fields_is_not_taken_for_a_measurement() {
    let plan = plan();
    let mut residue = OmniResults {
        cpu_util: f32::NAN,
        ..OmniResults::default()
    };
    residue.cpu_method = 8;
    let mut answers = answers(&plan);
    answers[1] = LinkEvent::Frame(Box::new(residue.encode(Header::results(RequestKind::Omni))));
    let mut talk = talk(&plan, answers);
    talk.agree(request()).unwrap();
    assert_eq!(talk.results(Duration::from_secs(1)).unwrap().cpu, None);
}

#[test]
fn residue_in_the_congestion_field_is_not_taken_for_an_answer() {
    let mut plan = plan();
    plan.flow = Flow::CRR;
    let residue = OmniResults {
        cong_control: FixedStr::from_str_truncated("junk"),
        transport_retrans: -1,
        ..OmniResults::default()
    };
    let mut answers = answers(&plan);
    answers[1] = LinkEvent::Frame(Box::new(residue.encode(Header::results(RequestKind::Omni))));
    let mut talk = talk(&plan, answers);
    talk.agree(request()).unwrap();
    let result = talk.results(Duration::from_secs(1)).unwrap();
    assert_eq!((result.congestion, result.retransmissions), (None, None));
}

#[test]
fn texts_of_netserver_have_no_control_characters() {
    let plan = plan();
    let told = OmniResults {
        cong_control: FixedStr::from_str_truncated("cu\u{1b}[31mbic\r\n"),
        ..OmniResults::default()
    };
    let mut answers = answers(&plan);
    answers[1] = LinkEvent::Frame(Box::new(told.encode(Header::results(RequestKind::Omni))));
    let mut talk = talk(&plan, answers);
    talk.agree(request()).unwrap();
    let result = talk.results(Duration::from_secs(1)).unwrap();
    assert_eq!(result.congestion.as_deref(), Some("cu [31mbic"));
}

#[test]
fn every_way_in_which_the_server_lets_us_down_has_its_own_error() {
    let plan = plan();
    let refusal =
        HeaderOnly.encode(Header::response(RequestKind::Omni).with_errno(RemoteErrno(95)));
    let no_port = OmniResponse::default().encode(Header::response(RequestKind::Omni));
    let cases = [
        (
            LinkEvent::Frame(Box::new(refusal)),
            SessionError::Remote(RemoteErrno(95)),
        ),
        (
            LinkEvent::Frame(Box::new(no_port)),
            SessionError::Malformed("the data port is 0".into()),
        ),
        (LinkEvent::Closed(17), SessionError::Closed { got: 17 }),
        (
            LinkEvent::TimedOut(Duration::from_secs(60), 0),
            SessionError::NoAnswer(Duration::from_secs(60)),
        ),
        (
            LinkEvent::TimedOut(Duration::from_secs(20), 1),
            SessionError::Incomplete {
                got: 1,
                waited: Duration::from_secs(20),
            },
        ),
    ];
    for (arrival, error) in cases {
        assert_eq!(talk(&plan, vec![arrival]).agree(request()), Err(error));
    }
}

#[test]
fn the_time_of_an_answer_that_does_not_come_is_the_one_that_was_waited() {
    for (waited, text) in [
        (Duration::from_secs(60), "60 s"),
        (Duration::from_millis(19_999), "19 s"),
        (Duration::from_millis(750), "0.7 s"),
        (Duration::ZERO, "0.1 s"),
    ] {
        assert_eq!(
            SessionError::NoAnswer(waited).to_string(),
            format!("no answer from netserver within {text}")
        );
        let got = SessionError::Incomplete { got: 1, waited };
        assert_eq!(
            got.to_string(),
            format!("only 1 byte of an answer from netserver within {text}")
        );
    }
}

#[test]
fn asking_for_the_segment_size_makes_no_data_flow() {
    let mut plan = plan();
    plan.test = TestId::TcpMss;
    let (_, engine) = served([offer::request(&plan, &local_end()).unwrap()]);
    assert_eq!(engine.jobs[0].test_flow(), Flow::SEND);
}

proptest! {
    #[test]
    fn no_frames_make_the_server_panic_or_talk_without_end(
        frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 656), 0..6),
        kinds in proptest::collection::vec(proptest::sample::select(vec![1_u32, 5, 6, 10, 13, 16, 34, 37, 40, 43, 46, 94, 97, 300, 500, 530, 600]), 6),
        phrase in proptest::option::of("[a-z]{0,4}"),
    ) {
        let frames: Vec<Frame> = frames
            .iter()
            .zip(kinds)
            .map(|(bytes, kind)| {
                let mut frame = Frame::try_from(bytes.as_slice()).unwrap();
                let word1 = frame.header().word1;
                frame.set_header(Header { kind, word1 });
                frame
            })
            .collect();
        let count = frames.len();
        let (mut link, mut engine) = (ScriptedLink::frames(frames), Engine::default());
        let phrase = phrase.as_deref().map(Into::into);
        serve(&mut link, &mut engine, &facts(), phrase);
        prop_assert!(link.sent.len() <= 2 * count);
    }
}
