use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};

use netperf_transport::one_port::PREAMBLE;

use super::*;

const PATIENCE: Patience = Patience {
    silent: Duration::from_secs(300),
    place: Duration::from_secs(60),
};

fn connection() -> (TcpStream, Waiting) {
    let listener = Socket::from(TcpListener::bind("127.0.0.1:0").unwrap());
    expect_words(&listener);
    let at = listener.local_addr().unwrap().as_socket().unwrap();
    let client = TcpStream::connect(at).unwrap();
    let (control, peer) = listener.accept().unwrap();
    (client, Waiting::new(control, peer))
}

#[test]
fn a_message_is_told_from_its_beginning_from_data_and_from_nonsense() {
    let mut message = [0; FRAME_LEN];
    message[3] = 97;
    for length in 1..FRAME_LEN {
        assert_eq!(judged(&message[..length]), Said::Part, "{length}");
    }
    assert_eq!(judged(&message), Said::Whole);
    // Numbers that nobody has given out may be asked for: there is an answer.
    for number in [0_u32, 3, 602, 9999, 65_535] {
        message[..4].copy_from_slice(&number.to_be_bytes());
        assert_eq!(judged(&message), Said::Whole, "{number}");
    }
    for number in [65_536, 97 << 24, u32::MAX] {
        message[..4].copy_from_slice(&number.to_be_bytes());
        assert_eq!(judged(&message), Said::Nonsense, "{number}");
    }
    let data = [0xb5, 0x6e, 0x70, 0x00, 0xc7, 0x72, 0x73];
    for length in 1..=data.len() {
        assert_eq!(judged(&data[..length]), Said::Data, "{length}");
    }
    assert_eq!(judged(&[&data[..], &[0; PREAMBLE]].concat()), Said::Data);
    let elsewhere: [&[u8]; 6] = [
        b"G",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"SSH-2.0-x\r\n",
        b"\xb5\x6f",
        b"\x00\x01\x00\x00",
    ];
    for bytes in elsewhere {
        assert_eq!(judged(bytes), Said::Nonsense, "{bytes:?}");
    }
}

#[test]
fn what_was_said_stays_in_the_socket() {
    let (mut client, one) = connection();
    assert_eq!(said(&one.control), Said::Nothing);
    client.write_all(&[0; FRAME_LEN - 1]).unwrap();
    while said(&one.control) == Said::Nothing {}
    assert_eq!(said(&one.control), Said::Part);
    client.write_all(&[0; 2]).unwrap();
    while said(&one.control) == Said::Part {}
    assert_eq!(said(&one.control), Said::Whole);
    let mut bytes = [0; 2 * FRAME_LEN];
    expect_anything(&one.control);
    let count = netperf_os::io::recv(one.control.as_fd(), &mut bytes).unwrap();
    assert_eq!(count, FRAME_LEN + 1);
    client.shutdown(Shutdown::Write).unwrap();
    while said(&one.control) == Said::Nothing {}
    assert_eq!(said(&one.control), Said::Finished);
}

/// Has one of its own wait in a stage; its number.
fn waits(guests: &mut Guests, stage: Stage) -> u64 {
    let number = guests.keep(connection().1, stage);
    // So that each has a moment of its own.
    std::thread::sleep(Duration::from_millis(2));
    number
}

#[test]
fn who_is_silent_and_who_has_begun_go_when_their_time_is_over() {
    let mut guests = Guests::default();
    let begun = waits(&mut guests, Stage::Silent);
    let silent = waits(&mut guests, Stage::Silent);
    let one = guests.take(begun).unwrap();
    let begun = guests.keep(one, Stage::Begun);
    let beginning = clock::now();
    let mut overdue = |seconds| {
        let now = beginning.plus(Duration::from_secs(seconds));
        let (one, why) = guests.take_overdue(PATIENCE, now)?;
        Some((one.at.unwrap(), why))
    };
    assert_eq!(overdue(19), None);
    assert_eq!(overdue(20), Some(((Stage::Begun, begun), "slow")));
    assert_eq!(overdue(20), None);
    assert_eq!(overdue(300), Some(((Stage::Silent, silent), "silent")));
    assert_eq!(overdue(300), None);
    assert_eq!(guests.len(), 0);
}

#[test]
fn a_shorter_patience_holds_for_those_who_are_there() {
    let mut guests = Guests::default();
    waits(&mut guests, Stage::Silent);
    waits(&mut guests, Stage::Begun);
    waits(&mut guests, Stage::Whole);
    let short = Patience {
        silent: Duration::from_secs(5),
        place: Duration::from_secs(5),
    };
    let now = clock::now().plus(Duration::from_secs(6));
    assert!(guests.next(short).unwrap() < now && now < guests.next(PATIENCE).unwrap());
    let reasons: Vec<_> = std::iter::from_fn(|| guests.take_overdue(short, now))
        .map(|(_, why)| why)
        .collect();
    assert_eq!(reasons, ["silent", "slow", "crowded"]);
}

#[test]
fn who_has_got_nowhere_for_longest_makes_room_whatever_it_has_begun() {
    let mut guests = Guests::default();
    let whole = waits(&mut guests, Stage::Whole);
    let early = waits(&mut guests, Stage::Begun);
    let silent = waits(&mut guests, Stage::Silent);
    let late = waits(&mut guests, Stage::Begun);
    // What drips gets nowhere: its time goes on.
    let one = guests.take(early).unwrap();
    assert_eq!(guests.keep(one, Stage::Begun), early);
    let mut stalest = || guests.take_stalest().map(|one| one.at.unwrap());
    assert_eq!(stalest(), Some((Stage::Begun, early)));
    assert_eq!(stalest(), Some((Stage::Silent, silent)));
    assert_eq!(stalest(), Some((Stage::Begun, late)));
    assert_eq!(stalest(), Some((Stage::Whole, whole)));
    assert_eq!(stalest(), None);
}

#[test]
fn places_are_given_in_the_order_of_asking() {
    let mut guests = Guests::default();
    let first = waits(&mut guests, Stage::Whole);
    let second = waits(&mut guests, Stage::Whole);
    assert!(
        guests.take(first).is_none(),
        "it has said all that it had to"
    );
    let mut next = || guests.take_whole().map(|one| one.at.unwrap().1);
    assert_eq!([next(), next(), next()], [Some(first), Some(second), None]);
}
