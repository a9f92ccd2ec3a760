//! Transfer of appendices.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test looks for the one effect it is about"
)]

use std::time::Duration;

use crate::common::{Engine, ScriptedLink, facts, local_end, plan, ready, result};
use netperf_model::{EndResult, FlowSeries, Series, SeriesPlan, TcpSample, TestPlan};
use netperf_session::appendix::{AT_ONCE, Appendices, HANDING_OVER, MOST_BYTES};
use netperf_session::dialect::Dialect;
use netperf_session::driver::serve;
use netperf_session::{SessionError, client, offer, server};
use netperf_wire::messages::{Extension, HeaderOnly, ItemKind, OmniResults, Page};
use netperf_wire::{Frame, Header, Message, RemoteErrno, RequestKind, Stage};
use proptest::prelude::*;

fn series_plan() -> TestPlan {
    let mut plan = plan();
    plan.remote.series = Some(SeriesPlan {
        every: Duration::from_millis(10),
        flows: 4,
    });
    plan
}

/// A result with this many samples of each connection.
fn watched(samples: &[u32]) -> EndResult {
    let sample = |number: u32| TcpSample {
        at_micros: u64::from(number) * 10_000,
        round_trip_micros: Some(number),
        ..TcpSample::default()
    };
    let flow = |(port, count): (u16, &u32)| FlowSeries {
        flow: None,
        port,
        samples: (0..*count).map(sample).collect(),
    };
    EndResult {
        series: Some(Series {
            started: Duration::from_secs(1),
            every: Duration::from_millis(10),
            flows: (40_001..).zip(samples).map(flow).collect(),
        }),
        ..result()
    }
}

fn running() -> client::ClientState {
    let request = offer::request(&series_plan(), &local_end()).unwrap();
    let (dialect, _) = Dialect::understand(&request, None).unwrap();
    let mut ready = ready();
    ready.as_asked = true;
    let agreement = offer::agreement(&series_plan(), &dialect.response(&ready)).unwrap();
    client::ClientState::AwaitingResults(agreement)
}

fn results(result: &EndResult) -> Frame {
    let request = offer::request(&series_plan(), &local_end()).unwrap();
    let (dialect, _) = Dialect::understand(&request, None).unwrap();
    dialect.results(result)
}

/// The outcome at a netperf that gets these results and to whose requests `answer` replies,
/// and the number of its requests.
fn fetched(
    first: Frame,
    mut answer: impl FnMut(Frame) -> Vec<Frame>,
) -> (Result<EndResult, SessionError>, usize) {
    let (mut state, mut arriving) = (running(), vec![first]);
    let mut requests = 0;
    while !arriving.is_empty() {
        let input = client::ClientInput::Frame(Box::new(arriving.remove(0)));
        let (next, effects) = client::step(&series_plan(), state, input);
        state = next;
        for effect in effects {
            match effect {
                client::ClientEffect::Send(request) => {
                    requests += 1;
                    arriving.extend(answer(*request));
                }
                client::ClientEffect::Results(result) => return (Ok(*result), requests),
                client::ClientEffect::Fail(error) => return (Err(error), requests),
                _ => {}
            }
        }
    }
    panic!("netperf waits for more, in {}", state.name())
}

fn replies(result: &EndResult, request: Frame) -> Vec<Frame> {
    let state = server::ServerState::Idle(Appendices::of(result));
    let input = server::ServerInput::Frame(Box::new(request));
    let effects = server::step(&facts(), state, input).1;
    let frames = effects.into_iter().filter_map(|effect| match effect {
        server::ServerEffect::Reply(frame) => Some(*frame),
        _ => None,
    });
    frames.collect()
}

#[test]
fn a_series_of_any_length_arrives_whole() {
    // Nothing, less than a page, pages to the brim, and more than is asked for at once.
    for (samples, requests) in [
        (vec![], 1),
        (vec![3], 1),
        (vec![100, 0, 57], 1),
        (vec![6000], 2),
    ] {
        let all = watched(&samples);
        let (got, asked) = fetched(results(&all), |request| replies(&all, request));
        assert_eq!(got.unwrap().series, all.series, "{samples:?}");
        assert_eq!(asked, requests, "{samples:?}");
    }
}

#[test]
fn a_session_keeps_it_until_the_next_test_and_no_longer() {
    let all = watched(&[100]);
    let test = offer::request(&series_plan(), &local_end()).unwrap();
    let mut pages = None;
    fetched(results(&all), |request| {
        pages = Some(request.clone());
        replies(&all, request)
    })
    .0
    .unwrap();
    let pages = pages.unwrap();
    let frames = [
        test.clone(),
        pages.clone(),
        pages.clone(),
        offer::greeting().unwrap(),
        pages,
    ];
    let mut link = ScriptedLink::frames(frames);
    let mut engine = Engine {
        ran: Some(all.clone()),
        ..Engine::default()
    };
    serve(&mut link, &mut engine, &facts(), None);
    let page = |frame: &&Frame| Page::decode(frame).unwrap().is_some();
    let count = link.sent.iter().filter(page).count();
    let once = 10_452_usize.div_ceil(Page::SPACE);
    assert_eq!(count, 2 * once);
    assert_eq!(link.sent.last().unwrap().errno(), RemoteErrno::ENODATA);
    // All of an answer has one deadline, and what follows none of it.
    let hurries = [Some(HANDING_OVER), None];
    assert_eq!(link.hurried, hurries.repeat(3)[..link.hurried.len()]);
    assert!(link.hurried.len() >= 4);
}

fn announcing(length: u32) -> Frame {
    let mut value = vec![1];
    value.extend(length.to_be_bytes());
    let mut told = Extension::default();
    told.push(ItemKind::Appendices, &value);
    let mut frame = OmniResults::default().encode(Header::results(RequestKind::Omni));
    told.encode_over(Stage::Results, &mut frame).unwrap();
    frame
}

#[test]
fn more_than_an_appendix_can_be_is_not_even_asked_for() {
    let most = u32::try_from(MOST_BYTES).unwrap();
    for length in [most + 1, u32::MAX] {
        let (got, requests) = fetched(announcing(length), |_| Vec::new());
        assert!(matches!(got, Err(SessionError::Malformed(_))), "{length}");
        assert_eq!(requests, 0);
    }
}

#[test]
fn a_page_that_is_not_the_one_awaited_ends_the_conversation() {
    let all = watched(&[100]);
    let wrong: [fn(&mut Page); 4] = [
        |page| page.number += 1,
        |page| page.kind += 1,
        |page| page.bytes.truncate(10),
        |page| page.bytes.clear(),
    ];
    for spoil in wrong {
        let (got, _) = fetched(results(&all), |request| {
            let mut frames = replies(&all, request);
            let mut page = Page::decode(&frames[0]).unwrap().unwrap();
            spoil(&mut page);
            frames[0] = page.encode(Header::response(RequestKind::CpuCalibrate));
            frames
        });
        assert!(matches!(got, Err(SessionError::Malformed(_))), "{got:?}");
    }
    let (got, _) = fetched(results(&all), |_| vec![Frame::default()]);
    assert!(matches!(got, Err(SessionError::Malformed(_))), "{got:?}");
    let (got, _) = fetched(results(&all), |_| {
        let header = Header::response(RequestKind::CpuCalibrate);
        vec![HeaderOnly.encode(header.with_errno(RemoteErrno::ENODATA))]
    });
    assert_eq!(got, Err(SessionError::Remote(RemoteErrno::ENODATA)));
}

#[test]
fn appendices_that_were_not_requested_are_left_in_place() {
    let all = watched(&[100]);
    let input = client::ClientInput::Frame(Box::new(results(&all)));
    let (state, effects) = client::step(&plan(), running(), input);
    assert_eq!(state, client::ClientState::Idle);
    assert!(matches!(
        effects.last(),
        Some(client::ClientEffect::Results(result)) if result.series.is_none()
    ));
}

proptest! {
    #[test]
    fn whatever_pages_are_asked_for_an_answer_is_bounded(
        kind in any::<u8>(), first in any::<u32>(), count in any::<u16>(), near in any::<bool>(),
    ) {
        let mut value = vec![if near { 1 } else { kind }];
        value.extend((if near { first % 800 } else { first }).to_be_bytes());
        value.extend(count.to_be_bytes());
        let mut asked = Extension::default();
        asked.push(ItemKind::PagesWanted, &value);
        let mut request = HeaderOnly.encode(Header::request(RequestKind::CpuCalibrate));
        asked.encode_over(Stage::Request, &mut request).unwrap();
        let answer = replies(&watched(&[5000]), request);
        prop_assert!((1..=usize::from(AT_ONCE)).contains(&answer.len()));
    }

    #[test]
    fn whatever_netserver_sends_for_pages_netperf_comes_to_an_end(
        frames in proptest::collection::vec(crate::common::any_frame(), 1..4), length in 1..5000_u32,
    ) {
        let mut frames = frames.into_iter();
        let (got, _) = fetched(announcing(length), |_| {
            // An appendix that never arrives ends the conversation.
            frames.next().into_iter().chain([Frame::default()]).collect()
        });
        prop_assert!(got.is_err());
    }
}
