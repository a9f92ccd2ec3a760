//! iperf 2: captured exchanges replayed at both ends, and the transition tables.

use std::fmt::Write as _;
use std::time::Duration;

use netperf_iperf2::messages::{
    BOUNCEBACK_LEN, Bounceback, ClientHeader, Datagram, DatagramLayout, MOST_HOLD, ServerReport,
    WireTime, fill_digits, stamp_bounceback,
};
use netperf_iperf2::states::connection::{
    self, ConnectionEffect, ConnectionInput, ConnectionState, timed_header,
};
use netperf_iperf2::states::finish::{self, FinishEffect, FinishInput, FinishState};
use netperf_iperf2::states::flow::{DatagramFlow, FlowAction, FlowSending, MOST_REPORTS};
use netperf_iperf2::states::{SendOrder, client};
use netperf_model::iperf2::{Iperf2Amount, Iperf2Direction, Iperf2Plan, Iperf2Rate};
use serde_json::Value;

const DATA: &str = include_str!("../data/iperf2.json");

fn exchanges() -> Vec<Value> {
    serde_json::from_str(DATA).unwrap()
}

fn exchange(name: &str) -> Value {
    let mut all = exchanges().into_iter();
    all.find(|one| one["name"] == name).unwrap()
}

fn bytes(message: &Value) -> Vec<u8> {
    let text = message["hex"].as_str().unwrap();
    let pair = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(pair).collect()
}

/// A captured datagram with its whole length: the capture has its beginning.
fn datagram(message: &Value) -> Vec<u8> {
    let mut whole = bytes(message);
    let length = usize::try_from(message["len"].as_u64().unwrap()).unwrap();
    let have = whole.len().min(length);
    whole.resize(length, 0);
    fill_digits(&mut whole[have..], have);
    whole
}

const NOW: WireTime = WireTime {
    seconds: 1_795_255_172,
    micros: 7,
};

/// Runs the server's end on the bytes of a client, a few at a time. Returns the effects except
/// those that read the header.
fn served(client: &[u8], step: usize) -> Vec<ConnectionEffect> {
    let (mut state, mut effects) = connection::start();
    let mut rest = client;
    loop {
        let Some(ConnectionEffect::Expect(need, _)) = effects.first() else {
            return effects;
        };
        let count = (*need).min(step).min(rest.len());
        let (piece, behind) = rest.split_at(count);
        rest = behind;
        let input = if piece.is_empty() {
            ConnectionInput::Ended
        } else {
            ConnectionInput::Arrived(piece.to_vec(), NOW)
        };
        (state, effects) = connection::step(state, input);
    }
}

#[test]
fn the_server_answers_every_captured_client_as_the_original() {
    let mut checked = 0;
    for exchange in exchanges() {
        let name = exchange["name"].as_str().unwrap();
        // Those servers are older, or this test kind is refused.
        if ["-to-205", "-to-209", "classic", "permit-key", "bounceback"]
            .iter()
            .any(|one| name.contains(one))
        {
            continue;
        }
        for connection in exchange["tcp"].as_array().into_iter().flatten() {
            if connection["opened_by"] != "client" || connection["opener"].is_null() {
                continue;
            }
            let sent = bytes(&connection["opener"]);
            for step in [1, 7, usize::MAX] {
                let effects = served(&sent, step);
                check_answer(name, connection, &effects);
            }
            checked += 1;
        }
    }
    assert_eq!(checked, 20);
}

fn check_answer(name: &str, connection: &Value, effects: &[ConnectionEffect]) {
    let listener = &connection["listener"];
    let answer = match effects.first() {
        Some(ConnectionEffect::Answer(bytes)) => Some(bytes.clone()),
        _ => None,
    };
    let is_answered = listener["kind"] == "header ack";
    assert_eq!(answer.is_some(), is_answered, "{name}: {effects:?}");
    if let Some(mut answer) = answer {
        let mut captured = bytes(listener);
        captured.truncate(answer.len());
        // The versions and the server's two times differ; the client's time is echoed.
        for bytes in [&mut answer, &mut captured] {
            bytes[12..20].fill(0);
            if bytes.len() > 36 {
                bytes[36..52].fill(0);
            }
        }
        assert_eq!(answer, captured, "{name}");
    }
    let sends = effects.iter().any(|one| {
        matches!(
            one,
            ConnectionEffect::Send(_) | ConnectionEffect::Exchange(..)
        )
    });
    assert_eq!(sends, listener["kind"] == "payload pattern", "{name}");
}

#[test]
fn header_bytes_count_as_data_from_version_2_1_on() {
    let opener = |name: &str| bytes(&exchange(name)["tcp"][0]["opener"]);
    let counted = |name: &str| served(&opener(name), usize::MAX).pop().unwrap();
    let receive = ConnectionEffect::Receive;
    assert_eq!(counted("iperf2-tcp-bytes"), receive(60));
    assert_eq!(counted("iperf2-tcp-trip-times"), receive(80));
    assert_eq!(counted("iperf2-tcp-burst-period"), receive(92));
    assert_eq!(counted("iperf2-mixed-221-to-218-tcp-bytes"), receive(64));
    assert_eq!(counted("iperf2-mixed-205-to-218-tcp-bytes"), receive(0));
    // Without a header the four bytes that were looked at are data.
    assert_eq!(counted("iperf2-tcp-compat"), receive(4));
    assert_eq!(counted("iperf2-mixed-209-to-218-tcp-bytes"), receive(4));
}

#[test]
fn messages_of_request_and_response_are_returned_with_the_times_of_the_server() {
    let connection = &exchange("iperf2-tcp-bounceback")["tcp"][0];
    let (mut sent, returned) = (bytes(&connection["opener"]), bytes(&connection["listener"]));
    for step in [1, 7, usize::MAX] {
        let effects = served(&sent, step);
        let message = Bounceback {
            size: 100,
            quick_ack: true,
            ..Bounceback::default()
        };
        let bounce = ConnectionEffect::Bounce(sent[..BOUNCEBACK_LEN].to_vec(), message);
        assert_eq!(effects, [bounce]);
        assert_eq!(message.remarks(), " (bb w/quickack len/hold=100/0)");
    }
    let time = |at: usize| {
        let word = |at: usize| u32::from_be_bytes(returned[at..at + 4].try_into().unwrap());
        WireTime {
            seconds: word(at),
            micros: word(at + 4),
        }
    };
    stamp_bounceback(&mut sent[..100], time(28), time(36));
    assert_eq!(sent[..100], returned[..100]);
    let hold = |hold: u32| {
        let message = Bounceback {
            hold,
            ..Bounceback::default()
        };
        message.held()
    };
    assert_eq!(hold(20_000), Duration::from_millis(20));
    assert_eq!(hold(u32::MAX), MOST_HOLD);
    // A size that is not returned ends the connection.
    for size in [59_u32, (1 << 20) + 1, u32::MAX] {
        sent[4..8].copy_from_slice(&size.to_be_bytes());
        let effects = served(&sent, usize::MAX);
        assert!(matches!(
            effects[..],
            [ConnectionEffect::Refuse(_), ConnectionEffect::Close]
        ));
    }
}

#[test]
fn a_dual_test_is_connected_back_to_at_once_and_a_tradeoff_afterwards() {
    let opener = |name: &str| bytes(&exchange(name)["tcp"][0]["opener"]);
    let sending = SendOrder {
        amount: Iperf2Amount::Time(Duration::from_secs(1)),
        block: 8192,
        rate: Some(Iperf2Rate::Bits(8_000_000)),
    };
    let dual = served(&opener("iperf2-tcp-dualtest"), usize::MAX).pop();
    let expected = ConnectionEffect::ExchangeBack(60, 16016, sending);
    assert_eq!(dual, Some(expected));
    let (state, _) = connection::start();
    let sent = opener("iperf2-tcp-tradeoff");
    let arrived = |bytes: &[u8]| ConnectionInput::Arrived(bytes.to_vec(), NOW);
    let (state, _) = connection::step(state, arrived(&sent[..4]));
    let (state, effects) = connection::step(state, arrived(&sent[4..60]));
    assert_eq!(effects[1..], [ConnectionEffect::Receive(60)]);
    let (_, effects) = connection::step(state, ConnectionInput::Done);
    assert_eq!(effects, [ConnectionEffect::SendBack(16018, sending)]);
}

#[test]
fn absurd_headers_are_refused_in_one_line() {
    let refusal = |bytes: &[u8]| match served(bytes, usize::MAX).first() {
        Some(ConnectionEffect::Refuse(refusal)) => refusal.to_string(),
        other => panic!("{other:?}"),
    };
    let with = |at: usize, word: u32| {
        let mut bytes = bytes(&exchange("iperf2-tcp-dualtest")["tcp"][0]["opener"]);
        bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
        bytes
    };
    let lines = [
        refusal(&with(0, 0x4001_fffe)),
        refusal(&with(8, 0)),
        refusal(&with(8, 65_536)),
        refusal(&with(12, u32::MAX)),
        refusal(&bytes(
            &exchange("iperf2-tcp-permit-key")["tcp"][0]["opener"],
        )),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r"
    the client header announces 32767 bytes; 24 to 512 are possible
    the client asks for a connection to port 0; ports are 1 to 65535
    the client asks for a connection to port 65536; ports are 1 to 65535
    the client asks for blocks of 4294967295 bytes; at most 4194304 are sent
    the client sends a permit key (--permit-key), which is not supported
    ");
}

#[test]
fn every_step_of_a_connection() {
    let sending = SendOrder {
        amount: Iperf2Amount::Bytes(5),
        block: 10,
        rate: None,
    };
    let states = [
        ConnectionState::Opening(Vec::new(), 4),
        ConnectionState::Opening(vec![0x30; 2], 4),
        ConnectionState::Receiving(None),
        ConnectionState::Receiving(Some((7, sending))),
        ConnectionState::Sending,
        ConnectionState::Both,
        ConnectionState::Dual,
        ConnectionState::Back,
        ConnectionState::Closed,
    ];
    let inputs = [
        ConnectionInput::Arrived(vec![0x31, 0x32], NOW),
        ConnectionInput::Done,
        ConnectionInput::Ended,
        ConnectionInput::Failed,
    ];
    let mut table = String::new();
    for state in states {
        for input in &inputs {
            let (next, effects) = connection::step(state.clone(), input.clone());
            let input = match input {
                ConnectionInput::Arrived(..) => "Arrived".to_owned(),
                ConnectionInput::Done | ConnectionInput::Ended | ConnectionInput::Failed => {
                    format!("{input:?}")
                }
            };
            writeln!(table, "{state:?} + {input} = {next:?} {effects:?}").unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

/// Runs the server's end on captured datagrams of a flow. Returns the reports.
fn reports(flow: &Value) -> Vec<ServerReport> {
    let mut reports = Vec::new();
    let mut state: Option<DatagramFlow> = None;
    for message in flow["datagrams"].as_array().unwrap() {
        if message["from"] != "client" {
            continue;
        }
        let bytes = datagram(message);
        if state.is_none() {
            state = DatagramFlow::begin(&bytes).map(Result::unwrap);
        }
        let Some(flow) = &mut state else { continue };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a time"
        )]
        let now = 1_795_255_172_000_000 + (message["t_ms"].as_f64().unwrap() * 1000.0) as u64;
        if matches!(
            flow.take(&bytes, now),
            FlowAction::Finished | FlowAction::Repeated
        ) {
            let report = flow.report(&bytes);
            reports.extend(report.map(|bytes| ServerReport::decode(&bytes).unwrap()));
        }
    }
    reports
}

#[test]
fn the_server_counts_every_captured_flow_as_the_original() {
    let mut checked = Vec::new();
    for exchange in exchanges() {
        let name = exchange["name"].as_str().unwrap();
        // iperf 2.0.13 has another layout, and 2.1.8 does not understand older clients.
        if ["2013", "205", "209", "many-finals", "client-"]
            .iter()
            .any(|one| name.contains(one))
        {
            continue;
        }
        for flow in exchange["udp"].as_array().into_iter().flatten() {
            let datagrams = flow["datagrams"].as_array().unwrap();
            let count = |side: &str| datagrams.iter().filter(|one| one["from"] == side).count();
            let is_complete = flow["opener_datagrams"] == count("client");
            let captured = datagrams.iter().find(|one| one["kind"] == "server report");
            let Some(captured) = captured.filter(|_| is_complete) else {
                continue;
            };
            let captured = ServerReport::decode(&bytes(captured)).unwrap();
            let ours = *reports(flow).first().expect(name);
            let exact = |one: ServerReport| {
                (
                    one.bytes,
                    one.lost,
                    one.out_of_order,
                    one.datagrams,
                    one.enhanced,
                )
            };
            assert_eq!(exact(ours), exact(captured), "{name}");
            let apart =
                |ours: WireTime, captured: WireTime| ours.micros().abs_diff(captured.micros());
            let longest = captured.duration.micros() / 5;
            assert!(
                apart(ours.duration, captured.duration) <= longest.max(1000),
                "{name}"
            );
            // The original reads the time of a datagram of 4 bytes from the one before.
            let has_times = name != "iperf2-udp-small-len";
            let jitter = apart(ours.jitter, captured.jitter);
            assert!(!has_times || jitter <= 1000, "{name}");
            checked.push(name.to_owned());
        }
    }
    insta::assert_snapshot!(checked.join("\n"));
}

#[test]
fn blocks_with_times_of_a_server_have_a_header_in_front() {
    let of = |name: &str| {
        let opener = bytes(&exchange(name)["tcp"][0]["opener"]);
        let header = ClientHeader::decode(&opener).unwrap();
        let start = header.rate_start.map(|one| one.start);
        timed_header(&header, start.unwrap_or_default())
    };
    assert_eq!(of("iperf2-tcp-reverse"), None);
    let timed = bytes(&exchange("iperf2-tcp-trip-times")["tcp"][0]["opener"]);
    // Everything else in it is what the client of this test sends, too.
    assert_eq!(of("iperf2-tcp-trip-times").unwrap(), timed[..80]);
}

#[test]
fn a_final_datagram_of_an_unknown_source_gets_no_answer() {
    let exchange = exchange("iperf2-udp-server-orphan-final");
    assert!(reports(&exchange["udp"][0]).is_empty());
    assert_eq!(DatagramFlow::begin(&[1, 2, 3]), None);
}

#[test]
fn repeated_final_datagrams_get_the_report_a_limited_number_of_times() {
    let exchange = exchange("iperf2-udp-server-many-finals");
    let reports = reports(&exchange["udp"][0]);
    assert_eq!(reports.len(), usize::try_from(MOST_REPORTS).unwrap());
    assert!(reports.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_source_gets_no_more_bytes_than_it_sent() {
    let stamp = |number: i64| {
        let sent = Some(NOW);
        Datagram { number, sent }.stamp()
    };
    let mut flow = DatagramFlow::begin(&stamp(1)).unwrap().unwrap();
    assert_eq!(flow.take(&stamp(1), 0), FlowAction::Counted);
    assert_eq!(flow.take(&stamp(-2), 0), FlowAction::Finished);
    let (mut arrived, mut answered) = (32, 0);
    for number in 3..200 {
        if let Some(report) = flow.report(&stamp(-2)) {
            answered += report.len();
        }
        assert!(answered <= arrived, "{answered} of {arrived}");
        assert_eq!(flow.take(&stamp(-number), 0), FlowAction::Repeated);
        arrived += 16;
    }
    assert_eq!(
        answered, 1280,
        "ten reports, once enough bytes have arrived"
    );
}

#[test]
fn a_client_that_vanishes_ends_its_flow_after_a_time_by_its_rate() {
    let idle = |name: &str| {
        let first = datagram(&exchange(name)["udp"][0]["datagrams"][0]);
        DatagramFlow::begin(&first).unwrap().unwrap().idle_time()
    };
    assert_eq!(idle("iperf2-udp-bytes"), Duration::from_millis(5022));
    assert_eq!(idle("iperf2-udp-small-len"), Duration::from_millis(5024));
    // 50 datagrams per second look like 50 bit/s.
    assert_eq!(idle("iperf2-udp-pps"), Duration::from_secs(30));
}

#[test]
fn a_flow_sends_what_its_header_asks_for() {
    let asked = |name: &str| {
        let first = datagram(&exchange(name)["udp"][0]["datagrams"][0]);
        DatagramFlow::begin(&first).unwrap().unwrap().sending
    };
    let sending = SendOrder {
        amount: Iperf2Amount::Time(Duration::from_secs(1)),
        block: 1470,
        rate: Some(Iperf2Rate::Bits(500_000)),
    };
    assert_eq!(
        asked("iperf2-udp-reverse"),
        Some(FlowSending::Reverse(sending))
    );
    assert_eq!(
        asked("iperf2-udp-full-duplex"),
        Some(FlowSending::Both(sending))
    );
    let back = |when, port| Some(FlowSending::Back(when, port, sending));
    let (now, after) = (
        netperf_iperf2::states::BackTime::Now,
        netperf_iperf2::states::BackTime::After,
    );
    assert_eq!(asked("iperf2-udp-dualtest"), back(now, 16037));
    assert_eq!(asked("iperf2-udp-tradeoff"), back(after, 16039));
    assert_eq!(asked("iperf2-classic-udp-dualtest"), back(now, 16063));
    assert_eq!(asked("iperf2-udp-compat"), None);
}

#[test]
fn a_client_without_a_report_repeats_its_final_datagram_as_the_original() {
    let (mut state, mut effects) = finish::start(3, true);
    let mut numbers = Vec::new();
    let mut waited = Duration::ZERO;
    while !effects.is_empty() {
        for effect in &effects {
            match effect {
                FinishEffect::SendFinal(number) => numbers.push(*number),
                FinishEffect::Expect(time) => waited += *time,
            }
        }
        (state, effects) = finish::step(state, FinishInput::TimedOut);
    }
    assert_eq!(state, FinishState::Over(None));
    let expected: Vec<i64> = (0..201).map(|turn| -4 - turn).collect();
    assert_eq!(numbers, expected);
    assert_eq!(waited, Duration::from_millis(2020));
    let captured = exchange("iperf2-udp-client-no-report");
    let finals = captured["udp"][0]["datagrams"].as_array().unwrap();
    let first = finals
        .iter()
        .find(|one| one["kind"].as_str().unwrap().starts_with("final"));
    let first = Datagram::decode(&bytes(first.unwrap()), DatagramLayout::Modern).unwrap();
    assert_eq!(first.number, -4);
    assert_eq!(captured["udp"][0]["opener_datagrams"], 3 + 201);
}

#[test]
fn a_client_takes_only_a_report_for_one() {
    let answer = |name: &str| {
        let exchange = exchange(name);
        let datagrams = exchange["udp"][0]["datagrams"].as_array().unwrap();
        let answer = datagrams.iter().find(|one| one["from"] != "client");
        datagram(answer.unwrap())
    };
    let (state, _) = finish::start(3, true);
    for name in [
        "iperf2-udp-client-short-report",
        "iperf2-udp-client-full-report",
    ] {
        let (next, effects) = finish::step(state, FinishInput::Arrived(&answer(name)));
        let FinishState::Over(Some(report)) = next else {
            panic!("{name}: {next:?}");
        };
        assert_eq!((report.bytes, report.datagrams), (3000, 4), "{name}");
        assert!(effects.is_empty());
    }
    let tiny = answer("iperf2-udp-client-tiny-answer");
    let (next, effects) = finish::step(state, FinishInput::Arrived(&tiny));
    // It counts as a step, so that a server of such answers does not keep the client.
    assert_eq!(next, FinishState::Awaiting(-4, 2));
    assert_eq!(effects.len(), 1);
    let (mut state, mut steps) = (next, 2);
    while state != FinishState::Over(None) {
        state = finish::step(state, FinishInput::Arrived(&tiny)).0;
        steps += 1;
        assert!(steps <= finish::MOST_FINALS + 1, "{state:?}");
    }
    assert_eq!(finish::start(3, false).0, FinishState::Over(None));
}

/// The plan of a captured command; `None` if it has an option that is refused.
fn plan(exchange: &Value) -> Option<Iperf2Plan> {
    let words = exchange["command"].as_array().unwrap();
    let words: Vec<&str> = words.iter().map(|word| word.as_str().unwrap()).collect();
    let mut plan = Iperf2Plan {
        streams: 1,
        ..Iperf2Plan::default()
    };
    let mut rest = words.get(1..)?.iter().copied();
    while let Some(word) = rest.next() {
        let mut value = || number(rest.next().unwrap());
        match word {
            "-u" => plan.udp = true,
            "-C" => plan.compatible = true,
            "-X" => plan.detects_peer = true,
            "-R" => plan.direction = Iperf2Direction::Reverse,
            "--full-duplex" => plan.direction = Iperf2Direction::FullDuplex,
            "-d" => plan.direction = Iperf2Direction::Dual,
            "-r" => plan.direction = Iperf2Direction::Tradeoff,
            "--trip-times" => plan.trip_times = true,
            "--no-udp-fin" => plan.no_udp_fin = true,
            "-N" | "-e" => {}
            "-p" => plan.port = u16::try_from(value()).unwrap(),
            "-L" => plan.listen_port = Some(u16::try_from(value()).unwrap()),
            "-n" => plan.amount = Iperf2Amount::Bytes(value()),
            "-t" => plan.amount = Iperf2Amount::Time(Duration::from_secs(value())),
            "-l" => plan.length = Some(usize::try_from(value()).unwrap()),
            "-P" => plan.streams = u32::try_from(value()).unwrap(),
            "--fq-rate" => plan.fq_rate = Some(value()),
            "-b" => plan.rate = Some(Iperf2Rate::Bits(value())),
            "-S" => plan.tos = Some(u8::try_from(value()).unwrap()),
            "-c" | "-w" | "-i" | "-y" => drop(rest.next()),
            _ => return None,
        }
    }
    Some(plan)
}

fn number(word: &str) -> u64 {
    if let Some(digits) = word.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).unwrap();
    }
    let word = word.strip_suffix("pps").unwrap_or(word);
    let digits = word.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match &word[digits.len()..] {
        "" => 1,
        "k" => 1000,
        "m" => 1_000_000,
        "K" => 1024,
        other => panic!("{other}"),
    };
    digits.parse::<u64>().unwrap() * factor
}

#[test]
fn the_client_sends_the_headers_of_the_original() {
    let (mut tcp, mut udp) = (0, 0);
    for exchange in exchanges() {
        let name = exchange["name"].as_str().unwrap();
        if name.contains("classic") || name.contains("mixed") && !name.contains("mixed-218-to") {
            continue;
        }
        // A fractional time.
        if name.ends_with("dualtest") && name.contains("-205-")
            || name.ends_with("205-tcp-tradeoff")
        {
            continue;
        }
        let Some(plan) = plan(&exchange).filter(|_| !name.contains("scripted")) else {
            continue;
        };
        for connection in exchange["tcp"].as_array().into_iter().flatten() {
            if connection["opened_by"] != "client" {
                continue;
            }
            let mut captured = bytes(&connection["opener"]);
            let mut ours = client::tcp_header(&plan, NOW);
            captured.truncate(ours.len());
            for bytes in [&mut ours, &mut captured] {
                mask(bytes, 64);
            }
            assert_eq!(ours, captured, "{name}");
            tcp += 1;
        }
        let Some(flow) = exchange["udp"].as_array().and_then(|flows| flows.first()) else {
            continue;
        };
        let first = &flow["datagrams"][0];
        if exchange["command"].as_array().unwrap().is_empty() {
            continue;
        }
        let mut captured = bytes(first).split_off(16);
        let mut ours = client::udp_header(&plan, NOW);
        captured.truncate(ours.len());
        ours.truncate(captured.len());
        for bytes in [&mut ours, &mut captured] {
            mask(bytes, 96);
        }
        assert_eq!(ours, captured, "{name}");
        udp += 1;
    }
    assert_eq!((tcp, udp), (15, 23));
}

/// Masks the start time, which is at this offset.
fn mask(bytes: &mut [u8], start: usize) {
    if let Some(time) = bytes.get_mut(start..start + 8) {
        time.fill(0);
    }
}
