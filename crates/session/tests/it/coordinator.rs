//! Item kinds reserved for a coordinator (docs/spec/extension.md): both ends refuse them and
//! never skip them.

use crate::common::{Engine, ScriptedLink, facts, local_end, plan};
use netperf_session::SessionError;
use netperf_session::driver::{Conversation, serve};
use netperf_session::offer;
use netperf_wire::messages::{Extension, ItemKind, OmniResponse, OmniResults};
use netperf_wire::{Frame, Header, Message, RequestKind, Stage};

/// Error number for an unsupported operation (`EOPNOTSUPP`).
const UNSUPPORTED: i32 = 95;

/// A message with one item behind it, written byte by byte: nothing here sends such a thing.
fn coordinated(message: &Frame, stage: Stage, kind: u8) -> Frame {
    let (at, mark) = match stage {
        Stage::Request => (208, 0x11),
        Stage::Response => (212, 0x22),
        Stage::Results => (292, 0x33),
    };
    let block = [
        0xb5, b'n', b'p', 0, 0xc7, b'r', b's', mark, 1, 0, 0, 3, kind, 1, 7,
    ];
    let mut bytes = *message.as_bytes();
    bytes[at..at + block.len()].copy_from_slice(&block);
    Frame::from_bytes(bytes)
}

#[test]
fn netserver_refuses_whatever_only_a_coordinator_asks_for_and_serves_on() {
    let requests = [
        offer::request(&plan(), &local_end()).unwrap(),
        offer::greeting().unwrap(),
        offer::calibration(&plan(), None).unwrap(),
    ];
    let kinds = || 0xe0..=0xef;
    for (request, kind) in requests
        .iter()
        .flat_map(|request| kinds().map(move |kind| (request, kind)))
    {
        let request = coordinated(request, Stage::Request, kind);
        let mut link = ScriptedLink::frames([request, offer::greeting().unwrap()]);
        let mut engine = Engine::default();
        serve(&mut link, &mut engine, &facts(), None);
        let [refused, greeted] = &link.sent[..] else {
            panic!("{} answers to {kind:#x}", link.sent.len());
        };
        assert_eq!(refused.errno().0, UNSUPPORTED, "{kind:#x}");
        let told = Extension::decode(Stage::Response, refused)
            .unwrap()
            .unwrap();
        assert_eq!(told.value(ItemKind::NotOffered), Some([kind].as_slice()));
        assert!(
            engine.jobs.is_empty(),
            "nothing is begun that was asked for with {kind:#x}"
        );
        assert!(greeted.errno().is_ok());
    }
}

#[test]
fn a_kind_beside_the_coordinators_is_skipped_as_ever() {
    for kind in [0xdf, 0xf0] {
        let request = coordinated(
            &offer::request(&plan(), &local_end()).unwrap(),
            Stage::Request,
            kind,
        );
        let (mut link, mut engine) = (ScriptedLink::frames([request]), Engine::default());
        serve(&mut link, &mut engine, &facts(), None);
        assert_eq!(engine.jobs.len(), 1);
    }
}

#[test]
fn netperf_ends_a_test_that_netserver_takes_for_a_part_of_a_campaign() {
    let plan = plan();
    let response = OmniResponse {
        data_port: 4242,
        ..OmniResponse::default()
    };
    let response = response.encode(Header::response(RequestKind::Omni));
    let results = OmniResults::default().encode(Header::results(RequestKind::Omni));
    let asked = || Box::new(offer::request(&plan, &local_end()).unwrap());
    let answers = [coordinated(&response, Stage::Response, 0xe4)];
    let mut talk = Conversation::open(&plan, ScriptedLink::frames(answers), None).unwrap();
    let refused = talk.agree(*asked()).unwrap_err();
    assert_eq!(refused, SessionError::Coordination(0xe4));
    assert!(refused.to_string().contains("item 0xe4"));
    let answers = [response, coordinated(&results, Stage::Results, 0xe1)];
    let mut talk = Conversation::open(&plan, ScriptedLink::frames(answers), None).unwrap();
    talk.agree(*asked()).unwrap();
    let refused = talk.results(std::time::Duration::ZERO).unwrap_err();
    assert_eq!(refused, SessionError::Coordination(0xe1));
}
