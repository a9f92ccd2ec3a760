use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};

use netperf_transport::one_port::PREAMBLE;

use super::*;

const PATIENCE: WaitLimits = WaitLimits {
    silent: Duration::from_secs(300),
    place: Duration::from_secs(60),
};

fn connection() -> (TcpStream, PendingConnection) {
    let listener = Socket::from(TcpListener::bind("127.0.0.1:0").unwrap());
    wake_on_first_word(&listener);
    let at = listener.local_addr().unwrap().as_socket().unwrap();
    let client = TcpStream::connect(at).unwrap();
    let (control, peer) = listener.accept().unwrap();
    let one = PendingConnection::new((control, 0), (peer, None), ServedProtocol::Netperf);
    (client, one)
}

#[test]
fn a_message_is_told_from_its_beginning_from_data_and_from_nonsense() {
    let mut message = [0; FRAME_LEN];
    message[3] = 97;
    for length in 1..FRAME_LEN {
        assert_eq!(
            classify(&message[..length]),
            FirstMessage::Partial,
            "{length}"
        );
    }
    assert_eq!(classify(&message), FirstMessage::Complete);
    // Unassigned request numbers are valid: netserver answers them.
    for number in [0_u32, 3, 602, 9999, 65_535] {
        message[..4].copy_from_slice(&number.to_be_bytes());
        assert_eq!(classify(&message), FirstMessage::Complete, "{number}");
    }
    for number in [65_536, 97 << 24, u32::MAX] {
        message[..4].copy_from_slice(&number.to_be_bytes());
        assert_eq!(classify(&message), FirstMessage::Invalid, "{number}");
    }
    let data = [0xb5, 0x6e, 0x70, 0x00, 0xc7, 0x72, 0x73];
    for length in 1..=data.len() {
        assert_eq!(
            classify(&data[..length]),
            FirstMessage::Preamble,
            "{length}"
        );
    }
    assert_eq!(
        classify(&[&data[..], &[0; PREAMBLE]].concat()),
        FirstMessage::Preamble
    );
    let elsewhere: [&[u8]; 6] = [
        b"G",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"SSH-2.0-x\r\n",
        b"\xb5\x6f",
        b"\x00\x01\x00\x00",
    ];
    for bytes in elsewhere {
        assert_eq!(classify(bytes), FirstMessage::Invalid, "{bytes:?}");
    }
}

#[test]
fn pending_bytes_stay_in_the_socket() {
    let (mut client, one) = connection();
    assert_eq!(
        first_message(&one.control, one.protocol),
        FirstMessage::Empty
    );
    client.write_all(&[0; FRAME_LEN - 1]).unwrap();
    while first_message(&one.control, one.protocol) == FirstMessage::Empty {}
    assert_eq!(
        first_message(&one.control, one.protocol),
        FirstMessage::Partial
    );
    client.write_all(&[0; 2]).unwrap();
    while first_message(&one.control, one.protocol) == FirstMessage::Partial {}
    assert_eq!(
        first_message(&one.control, one.protocol),
        FirstMessage::Complete
    );
    let mut bytes = [0; 2 * FRAME_LEN];
    reset_wake_threshold(&one.control);
    let count = netperf_os::io::recv(one.control.as_fd(), &mut bytes).unwrap();
    assert_eq!(count, FRAME_LEN + 1);
    client.shutdown(Shutdown::Write).unwrap();
    while first_message(&one.control, one.protocol) == FirstMessage::Empty {}
    assert_eq!(
        first_message(&one.control, one.protocol),
        FirstMessage::Closed
    );
}

/// Adds a new connection to a stage and returns its number.
fn wait_limits(pending: &mut PendingConnections, stage: PendingStage) -> u64 {
    let number = pending.keep(connection().1, stage);
    // Gives each connection a different start time.
    std::thread::sleep(Duration::from_millis(2));
    number
}

#[test]
fn pending_clients_are_closed_when_their_time_is_over() {
    let mut pending = PendingConnections::default();
    let begun = wait_limits(&mut pending, PendingStage::Silent);
    let silent = wait_limits(&mut pending, PendingStage::Silent);
    let one = pending.take(begun).unwrap();
    let begun = pending.keep(one, PendingStage::Partial);
    let beginning = clock::now();
    let mut overdue = |seconds| {
        let now = beginning.plus(Duration::from_secs(seconds));
        let (one, why) = pending.take_overdue(PATIENCE, now)?;
        Some((one.at.unwrap(), why))
    };
    assert_eq!(overdue(19), None);
    assert_eq!(overdue(20), Some(((PendingStage::Partial, begun), "slow")));
    assert_eq!(overdue(20), None);
    assert_eq!(
        overdue(300),
        Some(((PendingStage::Silent, silent), "silent"))
    );
    assert_eq!(overdue(300), None);
    assert_eq!(pending.len(), 0);
}

#[test]
fn a_shorter_patience_holds_for_those_who_are_there() {
    let mut pending = PendingConnections::default();
    wait_limits(&mut pending, PendingStage::Silent);
    wait_limits(&mut pending, PendingStage::Partial);
    wait_limits(&mut pending, PendingStage::Complete);
    let short = WaitLimits {
        silent: Duration::from_secs(5),
        place: Duration::from_secs(5),
    };
    let now = clock::now().plus(Duration::from_secs(6));
    assert!(pending.next(short).unwrap() < now && now < pending.next(PATIENCE).unwrap());
    let reasons: Vec<_> = std::iter::from_fn(|| pending.take_overdue(short, now))
        .map(|(_, why)| why)
        .collect();
    assert_eq!(reasons, ["silent", "slow", "crowded"]);
}

#[test]
fn pending_clients_with_the_oldest_progress_make_room() {
    let mut pending = PendingConnections::default();
    let whole = wait_limits(&mut pending, PendingStage::Complete);
    let early = wait_limits(&mut pending, PendingStage::Partial);
    let silent = wait_limits(&mut pending, PendingStage::Silent);
    let late = wait_limits(&mut pending, PendingStage::Partial);
    // A connection that makes little progress keeps its start time.
    let one = pending.take(early).unwrap();
    assert_eq!(pending.keep(one, PendingStage::Partial), early);
    let mut stalest = || pending.take_stalest().map(|one| one.at.unwrap());
    assert_eq!(stalest(), Some((PendingStage::Partial, early)));
    assert_eq!(stalest(), Some((PendingStage::Silent, silent)));
    assert_eq!(stalest(), Some((PendingStage::Partial, late)));
    assert_eq!(stalest(), Some((PendingStage::Complete, whole)));
    assert_eq!(stalest(), None);
}

#[test]
fn threat_model_a_source_leaves_as_many_places_to_others_as_it_has_at_every_port() {
    const MOST: usize = 16;
    let source = |number: u8| Some(Network::of_source([192, 0, 2, number].into(), 64));
    let from = |number, stage, pending: &mut PendingConnections| {
        let mut one = connection().1;
        one.source = source(number);
        while let Some(other) = pending.take_for(&one, MOST) {
            assert_eq!(other.source, one.source);
        }
        pending.keep(one, stage);
        pending.sources[&source(number)].len()
    };
    let mut pending = PendingConnections::default();
    let incomplete = [
        PendingStage::Silent,
        PendingStage::Partial,
        PendingStage::Preamble,
        PendingStage::Cookie,
    ];
    let mut of_first = |_| incomplete.map(|stage| from(1, stage, &mut pending));
    let counts: Vec<_> = (0..10).flat_map(&mut of_first).collect();
    assert_eq!(counts.last(), Some(&(MOST / 2)));
    for (number, wanted) in [(2, MOST / 4), (3, MOST / 8)] {
        let last = (0..MOST).map(|_| from(number, PendingStage::Silent, &mut pending));
        assert_eq!(last.last(), Some(wanted), "{number}");
    }
    assert_eq!(pending.len(), MOST / 2 + MOST / 4 + MOST / 8);
}

#[test]
fn places_are_given_in_the_order_of_asking() {
    let mut pending = PendingConnections::default();
    let first = wait_limits(&mut pending, PendingStage::Complete);
    let second = wait_limits(&mut pending, PendingStage::Complete);
    assert!(
        pending.take(first).is_none(),
        "it has said all that it had to"
    );
    let mut next = || pending.take_complete(|_| true).map(|one| one.at.unwrap().1);
    assert_eq!([next(), next(), next()], [Some(first), Some(second), None]);
}
