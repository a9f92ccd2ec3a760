//! Orders of events that programs meet only by luck.

use super::transitions::{actions, joining, phase};
use super::*;

/// Lines that stay.
fn lines(all: &[CoordinatorAction]) -> Vec<&str> {
    let mut lines = Vec::new();
    for action in all {
        if let CoordinatorAction::Line(text) = action {
            lines.push(text.as_str());
        }
    }
    lines
}

#[test]
fn coordinator_takes_a_result_that_comes_before_the_begin_is_agreed() {
    let mut one = Coordinated::committing();
    one.reply(0, committed());
    assert_eq!(one.reply(0, result(0)), [], "it waits");
    one.reply(1, committed());
    let agreed = actions(&one.orders());
    assert!(
        agreed.contains("begin file of 3, cell a b: measured"),
        "{agreed}"
    );
    one.reply(1, result(1));
    one.orders();
    assert_eq!(phase(&one.coordinator), "Judging");
}

#[test]
fn coordinator_drops_results_of_loads_that_began_too_early() {
    let mut one = Coordinated::committing();
    one.reply(0, result(0));
    one.reply(0, committed());
    one.reply(1, Reply::Late { by: SECOND });
    assert!(actions(&one.orders()).contains("abort to a, abort to b, abort to c"));
    one.reply(0, result(0));
    for index in 0..3 {
        one.reply(index, Reply::Stopped);
    }
    assert_eq!(actions(&one.orders()), "draw 64 bytes");
    one.draw();
    one.prepared();
    let agreed = actions(&one.commit(&committed()));
    assert!(!agreed.contains("cell"), "{agreed}");
    assert!(one.coordinator.ended.is_none());
}

#[test]
fn coordinator_leaves_more_time_after_each_late_reply_and_gives_up_after_three() {
    let mut one = Coordinated::preparing();
    let mut leads = Vec::new();
    for _ in 0..3 {
        let orders = one.prepared();
        let mut begin = None;
        for (_, order) in told(&orders) {
            if let Order::Commit { starts } = order {
                begin = begin.or(starts.first().map(|start| start.at));
            }
        }
        leads.push(begin.unwrap() - one.now);
        one.commit(&Reply::Late { by: SECOND });
        for index in 0..3 {
            one.reply(index, Reply::Stopped);
        }
        one.orders();
        one.draw();
    }
    let more: Vec<u64> = leads.windows(2).map(|two| two[1] - two[0]).collect();
    assert_eq!(
        more, [2_250_000_000; 2],
        "twice the lateness and a quarter of a second"
    );
    let why = one.coordinator.refusal().unwrap();
    assert_eq!(why, "the agents do not answer in time for a common begin");
    assert!(one.coordinator.is_resting());
}

#[test]
fn coordinator_counts_a_member_that_is_lost_twice_once() {
    let mut one = Coordinated::following();
    let lost = one.give(CoordinatorInput::Lost(0, "gone".to_owned()));
    let text = "reset a, line \"a is lost: gone\", cell a b: a is lost: gone";
    assert_eq!(actions(&lost), text);
    assert_eq!(one.give(CoordinatorInput::Lost(0, "again".to_owned())), []);
    assert_eq!(one.give(CoordinatorInput::Silent(0)), []);
    assert_eq!(one.reply(0, result(0)), [], "a late result");
    let after = actions(&one.orders());
    assert_eq!(after, "without a to b, without a to c");
    assert_eq!(actions(&one.after(SECOND / 10)), "", "they are told once");
    let rest = actions(&one.reply(1, result(1)));
    assert_eq!(rest, "cell b c: measured");
    one.orders();
    one.give(CoordinatorInput::Matrices(Ok(Vec::new())));
    let document = one.coordinator.document();
    assert_eq!((document.cells_planned, document.cells_measured), (2, 1));
    assert!(!document.complete);
    assert_eq!(document.lost_members(), ["a"]);
}

#[test]
fn coordinator_ends_with_fewer_members_than_the_plan_wants() {
    let mut one = Coordinated::following();
    one.give(CoordinatorInput::Lost(0, "gone".to_owned()));
    one.orders();
    one.give(CoordinatorInput::Lost(2, "gone".to_owned()));
    let ended = one.orders();
    assert_eq!(lines(&ended), ["ending: 1 member is left, fewer than 2"]);
    assert!(actions(&ended).ends_with("abort to b"));
    // It is lost while it stops: no one is waited for.
    one.give(CoordinatorInput::Lost(1, "gone".to_owned()));
    one.orders();
    assert!(one.coordinator.is_resting());
    assert_eq!(one.coordinator.document().cells_measured, 0);
}

#[test]
fn coordinator_of_a_mesh_ends_all_load_when_a_member_is_lost() {
    let mut one = Coordinated::following();
    one.coordinator.facts.plan = plan("pattern = \"mesh\"\n");
    one.give(CoordinatorInput::Lost(2, "gone".to_owned()));
    let ended = one.orders();
    assert_eq!(lines(&ended), ["ending: c is lost"]);
    assert_eq!(phase(&one.coordinator), "Stopping");
}

#[test]
fn coordinator_gives_agents_that_join_at_one_address_names_of_their_own() {
    let mut one = Coordinated::of(two_rounds(), "a\n", None);
    one.give(CoordinatorInput::Join {
        count: 3,
        within: SECOND,
    });
    for _ in 0..2 {
        one.give(CoordinatorInput::Joined("192.0.2.1".to_owned()));
    }
    one.orders();
    assert!(one.coordinator.is_resting());
    let dialled = one.give(CoordinatorInput::Meet);
    let wanted = vec![(0, "a:12865".to_owned())];
    assert_eq!(dialled.last(), Some(&CoordinatorAction::Dial(wanted)));
    one.give(CoordinatorInput::Connected(0));
    one.orders();
    for index in 0..3 {
        one.reply(index, hello("h"));
    }
    one.orders();
    let named: Vec<String> = one
        .coordinator
        .entries()
        .map(|one| one.name.clone())
        .collect();
    assert_eq!(named, ["a", "h", "h-2"]);
}

#[test]
fn coordinator_waits_for_agents_that_join_as_long_as_it_was_told() {
    let mut one = joining();
    one.give(CoordinatorInput::Joined("192.0.2.1".to_owned()));
    one.after(60 * SECOND);
    assert!(one.coordinator.is_resting(), "four have joined");
    let mut one = joining();
    one.after(60 * SECOND - 1);
    assert_eq!(phase(&one.coordinator), "Joining");
    one.after(1);
    let why = one.coordinator.refusal().unwrap();
    assert_eq!(why, "3 of 4 agents joined within 60 s");
}

#[test]
fn coordinator_names_those_that_do_not_answer() {
    let mut one = Coordinated::preparing();
    one.reply(1, Reply::Prepared);
    // They live, and do not answer.
    for _ in 0..99 {
        one.after(SECOND / 10);
        for index in 0..3 {
            one.reply(index, Reply::Collected);
        }
    }
    assert_eq!(phase(&one.coordinator), "Asking");
    one.after(SECOND / 10);
    let why = one.coordinator.refusal().unwrap();
    assert_eq!(why, "no answer within 10 s from a, c");
}

#[test]
fn coordinator_ends_when_results_do_not_come() {
    let mut one = Coordinated::following();
    let end = one.coordinator.end() + 10 * SILENCE;
    let mut said = Vec::new();
    while phase(&one.coordinator) == "Following" {
        for index in 0..3 {
            one.reply(index, Reply::Collected);
        }
        said = one.after(SECOND / 10);
    }
    assert_eq!(lines(&said), ["ending: results did not arrive in time"]);
    assert!((end..end + SECOND / 5).contains(&one.now));
    // Agents that do not stop are waited for, for the silence and a second.
    let stopping = one.now;
    while !one.coordinator.is_resting() {
        for index in 0..3 {
            one.reply(index, Reply::Collected);
        }
        one.after(SECOND / 10);
    }
    assert_eq!(one.now - stopping, SILENCE + SECOND + SECOND / 10);
}

#[test]
fn coordinator_reads_no_clock_forever() {
    let mut one = Coordinated::reading_clocks();
    while !one.coordinator.is_resting() {
        // Heard, but with no answer.
        for index in 0..3 {
            one.reply(index, Reply::Collected);
        }
        one.after(SECOND);
    }
    let why = one.coordinator.unmet().unwrap();
    assert_eq!(why, "the clocks of the agents could not be read in time");
    let at_once = one.give(CoordinatorInput::Measure(Vec::new()));
    assert_eq!(at_once, []);
    assert_eq!(
        one.coordinator.refusal(),
        Some("the clocks of the agents could not be read in time")
    );
}

#[test]
fn coordinator_lets_agents_go_that_do_not_close() {
    let mut one = Coordinated::parting();
    let begin = one.now;
    while !one.coordinator.is_resting() {
        one.reply(0, Reply::Collected);
        one.after(SECOND / 10);
    }
    assert_eq!(one.now - begin, SILENCE);
    assert!(one.coordinator.document().complete);
}

#[test]
fn coordinator_counts_no_end_of_a_connection_as_a_loss_when_it_lets_agents_go() {
    let mut one = Coordinated::parting();
    for index in 0..3 {
        let closed = one.give(CoordinatorInput::Lost(index, "closed".to_owned()));
        assert_eq!(closed, [CoordinatorAction::Reset(index)]);
    }
    one.orders();
    assert!(one.coordinator.is_resting());
    assert!(one.coordinator.document().complete);
}

#[test]
fn coordinator_asks_whether_a_silent_member_has_sent_something() {
    let mut one = Coordinated::following();
    for index in 0..3 {
        one.give(CoordinatorInput::Asked {
            member: index,
            clock: false,
        });
    }
    for _ in 0..20 {
        one.after(SECOND / 10);
        one.reply(1, Reply::Collected);
    }
    let look = one.after(SECOND / 10);
    assert!(actions(&look).contains("find silent a c"), "{look:?}");
    // Of c something waits to be read.
    let lost = one.give(CoordinatorInput::Silent(0));
    assert_eq!(lines(&lost), ["a is lost: it is silent for 2 s"]);
    one.reply(2, Reply::Collected);
    let next = one.after(SECOND / 10);
    assert!(!actions(&next).contains("find silent"), "{next:?}");
}

#[test]
fn coordinator_obeys_a_signal_when_it_can() {
    let ended = |mut one: Coordinated| {
        one.give(CoordinatorInput::Interrupt);
        one.orders();
        (
            phase(&one.coordinator),
            one.coordinator.refusal().map(str::to_owned),
            one.coordinator.ended.clone(),
        )
    };
    let interrupted = Some("interrupted".to_owned());
    assert_eq!(ended(joining()), ("Resting", interrupted.clone(), None));
    for begin in [Coordinated::preparing, Coordinated::committing] {
        assert_eq!(ended(begin()), ("Resting", None, interrupted.clone()));
    }
    assert_eq!(
        ended(Coordinated::following()),
        ("Stopping", None, interrupted)
    );
    // The clocks are read to their end, and then the signal counts.
    let (mut one, asked) = Coordinated::greeted();
    one.give(CoordinatorInput::Interrupt);
    one.answer_clocks(asked);
    one.give(CoordinatorInput::Measure(Vec::new()));
    one.draw();
    assert_eq!(one.coordinator.ended.as_deref(), Some("interrupted"));
}

#[test]
fn coordinator_ends_when_the_file_of_cells_cannot_be_written() {
    let mut one = Coordinated::following();
    one.coordinator.facts.cells_file = Some("cells".to_owned());
    one.reply(0, result(0));
    one.give(CoordinatorInput::FileFailed("cells: full".to_owned()));
    one.give(CoordinatorInput::FileFailed("cells: again".to_owned()));
    let ended = one.orders();
    assert_eq!(lines(&ended), ["ending: cells: full"]);
    assert_eq!(one.coordinator.broken(), Some("cells: full"));
}

#[test]
fn coordinator_refuses_another_version_of_the_protocol() {
    let mut one = Coordinated::greeting();
    let Reply::Hello {
        program,
        host,
        port,
        cpus,
        place,
        ..
    } = hello("h")
    else {
        panic!("a greeting");
    };
    one.reply(
        1,
        Reply::Hello {
            version: 9,
            program,
            host,
            port,
            cpus,
            place,
        },
    );
    one.orders();
    assert_eq!(
        one.coordinator.unmet(),
        Some("b: it has version 9 of the protocol")
    );
}

#[test]
fn coordinator_refuses_a_greeting_with_a_host_or_a_port_that_is_none() {
    let met = |host: &str, port: &str| {
        let mut one = Coordinated::greeting();
        let Reply::Hello {
            version,
            program,
            cpus,
            place,
            ..
        } = hello("h")
        else {
            panic!("a greeting");
        };
        let hello = Reply::Hello {
            version,
            program,
            host: host.to_owned(),
            port: port.to_owned(),
            cpus,
            place,
        };
        one.reply(1, hello);
        one.orders();
        one.coordinator.unmet().map(str::to_owned)
    };
    assert_eq!(met("h1.lan", "1"), None);
    for host in ["", "-oProxyCommand=x", "a b", "a\nb", "\u{202e}a"] {
        let said = met(host, "1").unwrap();
        assert_eq!(said, "b: the name of its host is not valid", "{host:?}");
    }
    for port in ["", "0", "65536", "22 -F x", "12865]"] {
        let said = met("h", port).unwrap();
        assert_eq!(
            said, "b: its port is not a number from 1 to 65535",
            "{port:?}"
        );
    }
}

#[test]
fn coordinator_takes_no_harm_from_numbers_that_make_no_sense() {
    let huge = [0, 1, u64::MAX / 2, u64::MAX];
    for received in huge {
        for sent in huge {
            let (mut one, mut open) = Coordinated::greeted();
            while !one.coordinator.is_resting() {
                one.now += 1_000;
                let mut next = Vec::new();
                for (index, _) in told(&open) {
                    next.extend(one.reply(index, Reply::Clock { received, sent }));
                }
                next.extend(one.after(0));
                open = next;
            }
            let members: Vec<_> = one.coordinator.entries().cloned().collect();
            let rounds = two_rounds().rounds(&members).unwrap().rounds;
            one.give(CoordinatorInput::Measure(rounds));
            one.draw();
            one.prepared();
            let begin = one.coordinator.begin - one.now;
            assert!(begin < 70 * SECOND, "{received} {sent}: {begin}");
            one.commit(&Reply::Late { by: sent });
            for index in 0..3 {
                one.reply(
                    index,
                    Reply::Alive {
                        running: u32::MAX,
                        done: u32::MAX,
                        stepped: i64::MIN,
                    },
                );
                one.reply(index, Reply::Stopped);
            }
            one.orders();
            one.draw();
            one.prepared();
            let begin = one.coordinator.begin - one.now;
            assert!(begin < 70 * SECOND, "{received} {sent}: {begin}");
            one.commit(&Reply::Committed { margin: sent });
            let result = LoadResult {
                id: 0,
                document: Some(document(sent, f64::MAX)),
                error: None,
            };
            one.reply(0, Reply::Result(Box::new(result)));
            one.orders();
            let document = one.coordinator.document();
            assert_eq!(document.cells_measured, 1, "{received} {sent}");
        }
    }
}

#[test]
fn coordinator_keeps_few_and_short_warnings_of_a_test() {
    let mut one = Coordinated::following();
    let mut long = document(BEGIN, 1e9);
    let warning = serde_json::json!({"message": "x".repeat(100_000)});
    long["warnings"] = serde_json::Value::Array(vec![warning; 10]);
    long["warnings"]
        .as_array_mut()
        .unwrap()
        .extend(vec![serde_json::json!({"message": "y"}); 100]);
    one.reply(
        0,
        Reply::Result(Box::new(LoadResult {
            id: 0,
            document: Some(long),
            error: None,
        })),
    );
    let document = one.coordinator.document();
    let warnings = &document.cells[0].warnings;
    assert_eq!(warnings.len(), 16);
    assert!(warnings.iter().all(|one| one.len() <= 1000));
}
