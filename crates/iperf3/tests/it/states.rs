//! Captured exchanges of iperf3, replayed to both ends, and all transitions.

use netperf_iperf3::messages::{
    ConnectWord, Cookie, Counter, DatagramHeader, Parameters, Results, ServerError, State, framed,
};
use netperf_iperf3::states::client::{
    ClientTest, ClientTestEffect, ClientTestInput, ClientTestState,
};
use netperf_iperf3::states::server::{
    ServerEnd, ServerTest, ServerTestEffect, ServerTestInput, ServerTestState,
};
use serde_json::Value;

/// An exchange; its messages are (sender, kind, hexadecimal digits or text).
#[derive(Debug)]
struct Exchange {
    name: String,
    stock_client: bool,
    stock_server: bool,
    messages: Vec<(bool, String, Vec<u8>)>,
    datagrams: Vec<Value>,
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits
        .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
        .collect()
}

fn exchanges() -> Vec<Exchange> {
    let all: Value = serde_json::from_str(include_str!("../data/iperf3.json")).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let exchange = |one: &Value| Exchange {
        name: text(&one["name"]),
        stock_client: one["client"] == "stock",
        stock_server: one["server"] == "stock",
        messages: one["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| {
                let kind = text(&message[1]);
                let content = text(&message[2]);
                let content = match kind.as_str() {
                    "json" => framed(&content),
                    _ => bytes(&content),
                };
                (message[0] == "client", kind, content)
            })
            .collect(),
        datagrams: one["datagrams"].as_array().cloned().unwrap_or_default(),
    };
    let exchanges: Vec<_> = all.as_array().unwrap().iter().map(exchange).collect();
    assert!(exchanges.len() > 80);
    exchanges
}

/// The mask of the specification: -1 has two forms, numbers with a fraction have two, and keys
/// that one version alone has are left out.
fn masked(text: &[u8]) -> Value {
    fn of(value: Value) -> Value {
        match value {
            Value::Object(map) => {
                let only_new = ["gso", "gro", "omitted_", "gso_", "gro_"];
                let keys = map.into_iter().filter(|(key, value)| {
                    let new = only_new.iter().any(|prefix| key.starts_with(prefix));
                    !new && key != "client_version" && !value.is_null()
                });
                Value::Object(keys.map(|(key, value)| (key, of(value))).collect())
            }
            Value::Array(all) => Value::Array(all.into_iter().map(of).collect()),
            Value::Number(number) if number.as_u64() == Some(u64::MAX) => of(Value::from(-1)),
            // The last digit depends on the reader.
            Value::Number(number) => Value::from(format!("{:.12e}", number.as_f64().unwrap())),
            other @ (Value::Null | Value::Bool(_) | Value::String(_)) => other,
        }
    }
    of(serde_json::from_slice(text).unwrap())
}

/// Text of a message behind its length.
fn text(message: &[u8]) -> &[u8] {
    &message[4..]
}

/// The states, errors and messages that a server sent.
fn told(sent: &[u8]) -> String {
    let mut said = String::new();
    let mut rest = sent;
    while let Some((first, behind)) = rest.split_first() {
        if *first == 0 {
            let length = u32::from_be_bytes(*rest.first_chunk().unwrap());
            rest = &rest[4 + length as usize..];
            said.push_str("json ");
        } else if State::of(*first) == State::ServerError {
            let code = ServerError::read(behind).map_or(0, |error| error.code);
            said.push_str(&format!("fe{code} "));
            rest = behind.get(8..).unwrap_or_default();
        } else {
            said.push_str(&format!("{first:02x} "));
            rest = behind;
        }
    }
    said
}

/// Feeds a client's bytes to a server, in pieces of so many bytes.
fn replay_to_server(exchange: &Exchange, piece: usize) -> (String, Option<ServerEnd>) {
    let mut server = ServerTest::default();
    let (mut sent, mut end) = (Vec::new(), None);
    let mut todo: Vec<ServerTestEffect> = Vec::new();
    for (_, _, content) in exchange.messages.iter().filter(|(client, ..)| *client) {
        for piece in content.chunks(piece) {
            todo.extend(server.step(ServerTestInput::Bytes(piece)));
            while !todo.is_empty() {
                let next = match todo.remove(0) {
                    ServerTestEffect::Send(bytes) => {
                        sent.extend(bytes);
                        continue;
                    }
                    ServerTestEffect::Prepare(parameters) if parameters.authtoken.is_some() => {
                        ServerTestInput::Refused(ServerError::AUTHORIZATION)
                    }
                    ServerTestEffect::Prepare(_) => ServerTestInput::Prepared,
                    ServerTestEffect::Finish => ServerTestInput::Finished(Box::default()),
                    ServerTestEffect::Start | ServerTestEffect::Report(_) => continue,
                    ServerTestEffect::End(how) => {
                        end = Some(how);
                        continue;
                    }
                };
                todo.extend(server.step(next));
                // The streams open before the client sends anything else, apart from one that
                // gives up.
                if server.at() == ServerTestState::AwaitsStreams && exchange.opens_streams() {
                    todo.extend(server.step(ServerTestInput::StreamsOpen));
                }
            }
        }
    }
    if end.is_none() {
        let last = server.step(ServerTestInput::Closed);
        end = last.into_iter().find_map(|effect| {
            if let ServerTestEffect::End(end) = effect {
                Some(end)
            } else {
                None
            }
        });
    }
    (told(&sent), end)
}

impl Exchange {
    fn opens_streams(&self) -> bool {
        let all = self.messages.iter();
        all.filter(|(client, ..)| !client)
            .any(|(_, _, content)| content == &[1])
    }

    fn of(&self, client: bool) -> impl Iterator<Item = &(bool, String, Vec<u8>)> {
        self.messages.iter().filter(move |one| one.0 == client)
    }
}

#[test]
fn a_server_answers_each_captured_client_as_the_original_did() {
    for exchange in exchanges() {
        let sent: Vec<u8> = exchange.of(false).flat_map(|one| one.2.clone()).collect();
        // A second control connection that is refused is another session.
        let busy = sent.contains(&0xff);
        let stopped = exchange.name.contains("server-terminate");
        let limited = ["bitrate-limit", "max-duration"]
            .iter()
            .any(|part| exchange.name.contains(part));
        if !exchange.stock_server || busy || stopped || limited || exchange.name.contains("auth") {
            continue;
        }
        for piece in [1, 7, usize::MAX] {
            let (answers, end) = replay_to_server(&exchange, piece);
            let name = &exchange.name;
            if name.contains("short-cookie") {
                assert_eq!((answers.as_str(), end), ("", Some(ServerEnd::Gone)));
            } else if name.contains("server-bad-json") {
                assert_eq!(answers, "09 fe114 ", "{name}");
            } else if name.contains("server-bad-results") {
                assert_eq!(answers, "09 0a 01 02 0d fe117 ", "{name}");
            } else if name.contains("321-server-m")
                || name.contains("321-server-n")
                || name.contains("321-server-s")
                || name.contains("client-terminate")
            {
                // The newer version reports the end of a client to it.
                let expected = told(&sent);
                assert!(expected.starts_with(&answers), "{name}: {answers}");
            } else if name.contains("string-numbers") {
                assert_eq!(answers, "09 0a 01 02 ", "{name}");
            } else {
                assert_eq!(answers, told(&sent), "{name}");
                let complete = sent.contains(&14);
                assert_eq!(
                    complete,
                    end == Some(ServerEnd::Complete),
                    "{name}: {end:?}"
                );
            }
        }
    }
}

/// Feeds a server's bytes to a client, as it sends the parameters that were captured.
fn replay_to_client(exchange: &Exchange, piece: usize) -> (Vec<u8>, Option<String>) {
    let mut own = exchange.of(true);
    let cookie = own.next().unwrap();
    let parameters = exchange.of(true).find(|one| one.1 == "json");
    let parameters = parameters.map(|one| Parameters::decode(text(&one.2)).unwrap());
    let results = exchange.of(true).filter(|one| one.1 == "json").nth(1);
    let results = results.map(|one| Results::decode(text(&one.2)).unwrap());
    let mut client = ClientTest::new(
        Cookie::read(&cookie.2).unwrap(),
        parameters.unwrap_or_default(),
    );
    let (mut sent, mut end) = (Vec::new(), None);
    let mut todo = client.step(ClientTestInput::Connected);
    let pieces = exchange.of(false).flat_map(|one| one.2.chunks(piece));
    let pieces: Vec<&[u8]> = pieces.collect();
    let mut pieces = pieces.into_iter();
    loop {
        while !todo.is_empty() {
            let next = match todo.remove(0) {
                ClientTestEffect::Send(bytes) => {
                    sent.extend(bytes);
                    continue;
                }
                ClientTestEffect::OpenStreams => ClientTestInput::StreamsOpen,
                ClientTestEffect::Start if results.is_some() => ClientTestInput::Over,
                ClientTestEffect::Finish => {
                    ClientTestInput::Finished(Box::new(results.clone().unwrap()))
                }
                ClientTestEffect::Start | ClientTestEffect::Report(_) => continue,
                ClientTestEffect::End(how) => {
                    end = Some(how.map_or_else(|error| error.to_string(), |()| "ok".to_owned()));
                    continue;
                }
            };
            todo.extend(client.step(next));
        }
        match pieces.next() {
            Some(piece) => todo.extend(client.step(ClientTestInput::Bytes(piece))),
            None if end.is_none() => todo.extend(client.step(ClientTestInput::Closed)),
            None => return (sent, end),
        }
    }
}

#[test]
fn a_client_sends_to_each_captured_server_what_the_original_did() {
    let mut compared = 0;
    for exchange in exchanges() {
        let name = &exchange.name;
        // The client gave up by itself, or the user stopped it.
        let by_itself = ["bad-congestion", "client-terminate"]
            .iter()
            .any(|part| name.contains(part));
        if !exchange.stock_client || by_itself || name.contains("busy") {
            continue;
        }
        let expected: Vec<_> = exchange.of(true).collect();
        for piece in [1, 5, usize::MAX] {
            let (sent, end) = replay_to_client(&exchange, piece);
            let mut rest = sent.as_slice();
            for (_, kind, content) in &expected {
                if kind == "json" {
                    let length = u32::from_be_bytes(*rest.first_chunk().unwrap());
                    let (message, behind) = rest.split_at(4 + length as usize);
                    assert_eq!(masked(text(message)), masked(text(content)), "{name}");
                    rest = behind;
                } else {
                    let got = rest.get(..content.len());
                    assert_eq!(got, Some(content.as_slice()), "{name}");
                    rest = &rest[content.len()..];
                }
            }
            assert!(rest.is_empty(), "{name}: {rest:?}");
            let complete =
                expected.last().unwrap().2 == [16] && exchange.of(false).any(|one| one.2 == [14]);
            assert_eq!(complete, end.as_deref() == Some("ok"), "{name}: {end:?}");
            compared += 1;
        }
    }
    assert!(compared > 150, "{compared}");
}

#[test]
fn a_client_reports_errors_in_the_words_of_the_original() {
    let of = |name: &str| {
        let all = exchanges();
        let one = all.iter().find(|one| one.name.ends_with(name)).unwrap();
        replay_to_client(one, 3).1.unwrap()
    };
    assert_eq!(
        of("312-client-access-denied"),
        "the server is busy running a test. try again later"
    );
    assert_eq!(
        of("312-client-closed"),
        "control socket has closed unexpectedly"
    );
    assert_eq!(
        of("312-client-closed-running"),
        "control socket has closed unexpectedly"
    );
    assert_eq!(of("312-client-server-error"), "test authorization failed");
    assert_eq!(
        of("312-client-server-error-errno"),
        "unable to accept stream connection: Permission denied"
    );
    assert_eq!(
        of("312-client-unknown-state"),
        "received an unknown control message"
    );
    assert_eq!(of("iperf3-auth-refused"), "test authorization failed");
    assert_eq!(of("iperf3-server-terminate"), "the server has terminated");
    assert_eq!(
        of("321-server-max-duration"),
        "client's requested duration exceeds the server's maximum permitted limit"
    );
}

#[test]
fn parameters_are_written_as_they_were_captured_byte_for_byte() {
    let mut compared = 0;
    for exchange in exchanges().iter().filter(|one| one.stock_client) {
        let json = exchange.of(true).find(|one| one.1 == "json");
        let Some((_, _, message)) = json else {
            continue;
        };
        let text = std::str::from_utf8(text(message)).unwrap();
        let encoded = Parameters::decode(text.as_bytes()).unwrap().encode();
        match text.split_once("\"gso\"") {
            // Keys of the newer version, which mean nothing here.
            Some((before, _)) => assert!(encoded.starts_with(before), "{}", exchange.name),
            None => assert_eq!(encoded, text, "{}", exchange.name),
        }
        compared += 1;
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn headers_of_captured_datagrams_are_read_and_written_byte_for_byte() {
    let (mut words, mut data) = (0, 0);
    for exchange in exchanges() {
        let wide = exchange.name.contains("64bit");
        let counter = if wide { Counter::Wide } else { Counter::Narrow };
        for datagram in &exchange.datagrams {
            let captured = bytes(datagram[0].as_str().unwrap());
            if datagram.get(1).is_none() {
                let word = ConnectWord::from_client(&captured);
                assert!(word.is_some(), "{}: {captured:?}", exchange.name);
                words += 1;
                continue;
            }
            let header = DatagramHeader::read(&captured, counter).unwrap();
            let fields = [header.seconds.into(), header.micros.into(), header.number];
            let recorded = [1, 2, 3].map(|at| datagram[at].as_u64().unwrap());
            assert_eq!(fields, recorded, "{}", exchange.name);
            let mut written = captured.clone();
            written[..counter.header()].fill(0);
            header.write(&mut written, counter);
            assert_eq!(written, captured, "{}", exchange.name);
            data += 1;
        }
    }
    assert!(words > 10 && data > 50, "{words} {data}");
}

/// Parameters of a test with one stream.
fn parameters() -> Parameters {
    Parameters::decode(br#"{"tcp":true,"time":1,"len":1000}"#).unwrap()
}

fn results() -> Results {
    let text =
        br#"{"cpu_util_total":0,"cpu_util_user":0,"cpu_util_system":0,"streams":[{"id":1}]}"#;
    Results::decode(text).unwrap()
}

/// A server in each of its states.
fn servers() -> Vec<ServerTest> {
    let cookie = Cookie::of(&[7; 36]);
    let said = framed(&parameters().encode());
    let reply = framed(&results().encode());
    let steps: [ServerTestInput<'_>; 7] = [
        ServerTestInput::Bytes(cookie.bytes()),
        ServerTestInput::Bytes(&said),
        ServerTestInput::Prepared,
        ServerTestInput::StreamsOpen,
        ServerTestInput::Bytes(&[4]),
        ServerTestInput::Finished(Box::new(results())),
        ServerTestInput::Bytes(&reply),
    ];
    (0..=steps.len())
        .map(|count| {
            let mut server = ServerTest::default();
            for step in &steps[..count] {
                server.step(step.clone());
            }
            server
        })
        .collect()
}

/// A client in each of its states.
fn clients() -> Vec<ClientTest> {
    let said = framed(&results().encode());
    let steps: [ClientTestInput<'_>; 10] = [
        ClientTestInput::Bytes(&[9]),
        ClientTestInput::Bytes(&[10]),
        ClientTestInput::StreamsOpen,
        ClientTestInput::Bytes(&[1]),
        ClientTestInput::Bytes(&[2]),
        ClientTestInput::Over,
        ClientTestInput::Bytes(&[13]),
        ClientTestInput::Finished(Box::new(results())),
        ClientTestInput::Bytes(&said),
        ClientTestInput::Bytes(&[0xfe]),
    ];
    (0..=steps.len())
        .map(|count| {
            let mut client = ClientTest::new(Cookie::of(&[7; 36]), parameters());
            for step in &steps[..count] {
                client.step(step.clone());
            }
            client
        })
        .collect()
}

#[test]
fn every_transition_of_a_server_is_known() {
    let cookie = Cookie::of(&[9; 36]);
    let said = framed(&parameters().encode());
    let of_client = framed(&results().encode());
    let inputs: Vec<(String, ServerTestInput<'_>)> = [
        ("cookie", ServerTestInput::Bytes(cookie.bytes())),
        ("parameters", ServerTestInput::Bytes(&said)),
        ("results", ServerTestInput::Bytes(&of_client)),
        ("no json", ServerTestInput::Bytes(&[0, 0, 0, 1, b'x'])),
        ("too long", ServerTestInput::Bytes(&[0, 0xff, 0, 0])),
        ("closed", ServerTestInput::Closed),
        ("silent", ServerTestInput::Silent),
        ("prepared", ServerTestInput::Prepared),
        ("refused", ServerTestInput::Refused(ServerError::stream(13))),
        ("open", ServerTestInput::StreamsOpen),
        ("finished", ServerTestInput::Finished(Box::default())),
        ("terminated", ServerTestInput::Terminated),
    ]
    .into_iter()
    .map(|(name, input)| (name.to_owned(), input))
    .collect();
    let mut table = String::new();
    for (name, input) in &inputs {
        for mut server in servers() {
            let before = server.at();
            let effects = server.step(input.clone());
            table.push_str(&line(name, &before, &server.at(), &effects));
        }
    }
    for byte in [4_u8, 12, 16, 99] {
        for mut server in servers() {
            let before = server.at();
            let effects = server.step(ServerTestInput::Bytes(&[byte]));
            table.push_str(&line(
                &format!("state {byte}"),
                &before,
                &server.at(),
                &effects,
            ));
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn every_transition_of_a_client_is_known() {
    let said = framed(&results().encode());
    let inputs = [
        ("connected", ClientTestInput::Connected),
        ("results", ClientTestInput::Bytes(&said)),
        ("no json", ClientTestInput::Bytes(&[0, 0, 0, 1, b'x'])),
        ("too long", ClientTestInput::Bytes(&[0, 0xff, 0, 0])),
        ("closed", ClientTestInput::Closed),
        ("silent", ClientTestInput::Silent),
        ("open", ClientTestInput::StreamsOpen),
        ("failed", ClientTestInput::Failed),
        ("over", ClientTestInput::Over),
        ("finished", ClientTestInput::Finished(Box::default())),
        ("interrupted", ClientTestInput::Interrupted),
    ];
    let mut table = String::new();
    for (name, input) in &inputs {
        for mut client in clients() {
            let before = client.at();
            let effects = client.step(input.clone());
            table.push_str(&line(name, &before, &client.at(), &effects));
        }
    }
    for byte in [1_u8, 2, 9, 10, 11, 13, 14, 99, 0xfe, 0xff] {
        for mut client in clients() {
            let before = client.at();
            let effects = client.step(ClientTestInput::Bytes(&[byte]));
            table.push_str(&line(
                &format!("state {byte}"),
                &before,
                &client.at(),
                &effects,
            ));
        }
    }
    insta::assert_snapshot!(table);
    assert!(
        clients()
            .iter()
            .any(|one| one.at() == ClientTestState::AwaitsDisplay)
    );
}

/// A line of a table: sent JSON is left out.
fn line(
    input: &str,
    before: &impl std::fmt::Debug,
    after: &impl std::fmt::Debug,
    effects: &[impl std::fmt::Debug],
) -> String {
    let effects: Vec<String> = effects
        .iter()
        .map(|effect| {
            let text = format!("{effect:?}");
            let name = text.split(['(', ' ']).next().unwrap_or_default().to_owned();
            match name.as_str() {
                "Prepare" | "Report" => name,
                "Send" if text.len() > 60 => "Send(message)".to_owned(),
                _ => text,
            }
        })
        .collect();
    format!("{input}: {before:?} -> {after:?} {}\n", effects.join(" "))
}

#[test]
fn any_bytes_end_a_session_or_leave_it_where_it_was() {
    // A long stream of state bytes is no message.
    let mut server = servers().remove(3);
    let effects = server.step(ServerTestInput::Bytes(&[0x63; 100_000]));
    assert!(matches!(
        effects.last(),
        Some(ServerTestEffect::End(ServerEnd::Broken(_)))
    ));
    let mut client = clients().remove(5);
    let effects = client.step(ClientTestInput::Bytes(&[0; 100_000]));
    assert!(matches!(
        effects.last(),
        Some(ClientTestEffect::End(Err(_)))
    ));
}
