//! Both ends of iperf3's control connection, and datagrams: no input panics, a session that has
//! ended takes no more effects, and what is read is written so that it is read alike.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netperf_iperf3::states::client::{ClientTest, ClientTestEffect, ClientTestInput};
use netperf_iperf3::states::server::{ServerTest, ServerTestEffect, ServerTestInput, ServerTestState};
use netperf_iperf3::messages::{
    ConnectWord, Cookie, Counter, DatagramHeader, Parameters, Results, ServerError, framed,
};

fuzz_target!(|bytes: &[u8]| {
    let (kind, bytes) = bytes.split_first().unwrap_or((&0, &[]));
    match kind % 3 {
        0 => serve(bytes, usize::from(*kind / 3)),
        1 => ask(bytes, usize::from(*kind / 3)),
        _ => datagram(bytes),
    }
});

/// Feeds a server in pieces; the driver agrees to everything.
fn serve(bytes: &[u8], piece: usize) {
    let mut server = ServerTest::default();
    for piece in bytes.chunks(piece.max(1)) {
        let mut todo = server.step(ServerTestInput::Bytes(piece));
        while !todo.is_empty() {
            let next = match todo.remove(0) {
                ServerTestEffect::Prepare(parameters) => {
                    let again = Parameters::decode(parameters.encode().as_bytes());
                    assert_eq!(again.as_ref(), Ok(parameters.as_ref()));
                    assert!((1..=256).contains(&parameters.streams()));
                    ServerTestInput::Prepared
                }
                ServerTestEffect::Finish => ServerTestInput::Finished(Box::default()),
                ServerTestEffect::Report(results) => {
                    let again = Results::decode(results.encode().as_bytes());
                    assert!(again.is_ok(), "{again:?}");
                    continue;
                }
                ServerTestEffect::Send(_) | ServerTestEffect::Start => continue,
                ServerTestEffect::End(_) => {
                    assert_eq!(server.at(), ServerTestState::Ended);
                    assert!(todo.is_empty());
                    return;
                }
            };
            todo.extend(server.step(next));
            if server.at() == ServerTestState::AwaitsStreams {
                todo.extend(server.step(ServerTestInput::StreamsOpen));
            }
        }
    }
}

/// Feeds a client in pieces.
fn ask(bytes: &[u8], piece: usize) {
    let parameters = Parameters {
        parallel: 1,
        ..Parameters::default()
    };
    let mut client = ClientTest::new(Cookie::of(&[0; 36]), parameters);
    let mut todo = client.step(ClientTestInput::Connected);
    for piece in bytes.chunks(piece.max(1)) {
        todo.extend(client.step(ClientTestInput::Bytes(piece)));
        while !todo.is_empty() {
            let next = match todo.remove(0) {
                ClientTestEffect::OpenStreams => ClientTestInput::StreamsOpen,
                ClientTestEffect::Start => ClientTestInput::Over,
                ClientTestEffect::Finish => ClientTestInput::Finished(Box::default()),
                ClientTestEffect::End(Err(error)) => {
                    let line = error.to_string();
                    assert!(!line.contains(char::is_control), "{line:?}");
                    return;
                }
                ClientTestEffect::End(Ok(())) => return,
                ClientTestEffect::Send(_) | ClientTestEffect::Report(_) => continue,
            };
            todo.extend(client.step(next));
        }
    }
}

fn datagram(bytes: &[u8]) {
    for counter in [Counter::Narrow, Counter::Wide] {
        if let Some(header) = DatagramHeader::read(bytes, counter) {
            let mut written = bytes.to_vec();
            header.write(&mut written, counter);
            assert_eq!(written, bytes);
        }
    }
    if let Some(word) = ConnectWord::from_client(bytes) {
        assert!(bytes.len() == word.bytes().len());
    }
    let _server = ConnectWord::from_server(bytes);
    let _error = ServerError::read(bytes);
    let _message = framed(&String::from_utf8_lossy(bytes));
}
