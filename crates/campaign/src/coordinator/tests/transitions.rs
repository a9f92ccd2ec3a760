//! The whole transition table, as a snapshot.

use std::fmt::Write as _;

use super::*;

/// Names of members, for texts.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

pub(super) const fn phase(coordinator: &CampaignCoordinator) -> &'static str {
    match coordinator.phase {
        CoordinatorPhase::Resting => "Resting",
        CoordinatorPhase::Joining { .. } => "Joining",
        CoordinatorPhase::Connecting(_) => "Connecting",
        CoordinatorPhase::Asking(_) => "Asking",
        CoordinatorPhase::ReadingClocks(_, ClockPurpose::Before) => "ReadingClocks before",
        CoordinatorPhase::ReadingClocks(_, ClockPurpose::After) => "ReadingClocks after",
        CoordinatorPhase::Drawing(_) => "Drawing",
        CoordinatorPhase::Following { .. } => "Following",
        CoordinatorPhase::Judging => "Judging",
        CoordinatorPhase::Stopping { .. } => "Stopping",
        CoordinatorPhase::Parting(_) => "Parting",
    }
}

fn name(index: usize) -> &'static str {
    NAMES.get(index).copied().unwrap_or("?")
}

fn names(members: &[usize]) -> String {
    let names: Vec<&str> = members.iter().map(|index| name(*index)).collect();
    names.join(" ")
}

fn order(order: &Order) -> String {
    match order {
        Order::Hello { .. } => "hello".to_owned(),
        Order::Clock => "clock".to_owned(),
        Order::Prepare(share) => format!("prepare {} loads", share.loads.len()),
        Order::Commit { starts } => format!("commit {} starts", starts.len()),
        Order::Alive => "alive".to_owned(),
        Order::Collect => "collect".to_owned(),
        Order::Abort => "abort".to_owned(),
        Order::Without { members } => format!("without {}", names(members)),
        Order::Bye => "bye".to_owned(),
    }
}

fn action(action: &CoordinatorAction) -> String {
    match action {
        CoordinatorAction::Dial(wanted) => format!("dial {}", wanted.len()),
        CoordinatorAction::Tell(index, told) => format!("{} to {}", order(told), name(*index)),
        CoordinatorAction::Reset(index) => format!("reset {}", name(*index)),
        CoordinatorAction::FindSilent(members) => format!("find silent {}", names(members)),
        CoordinatorAction::DrawTokens(count) => format!("draw {count} bytes"),
        CoordinatorAction::Date(_) => "date".to_owned(),
        CoordinatorAction::MakeMatrices => "make matrices".to_owned(),
        CoordinatorAction::Begin(head) => format!("begin file of {}", head.members.len()),
        CoordinatorAction::Cell(cell, turn) => {
            let what = cell.missing.as_deref().unwrap_or("measured");
            let again = if turn.is_again() { " again" } else { "" };
            format!("cell {} {}{again}: {what}", name(cell.from), name(cell.to))
        }
        CoordinatorAction::Flush => "flush".to_owned(),
        CoordinatorAction::Say(text) => format!("say {text:?}"),
        CoordinatorAction::State(text) => format!("state {text:?}"),
        CoordinatorAction::Line(text) => format!("line {text:?}"),
        CoordinatorAction::Hosts(_, (done, rounds), left) => {
            format!("hosts {done} of {rounds}, {left} s")
        }
    }
}

pub(super) fn actions(all: &[CoordinatorAction]) -> String {
    let all: Vec<String> = all.iter().map(action).collect();
    all.join(", ")
}

type Begin = fn() -> Coordinated;

const PHASES: [(&str, Begin); 13] = [
    ("Resting before", Coordinated::new),
    ("Joining", joining),
    ("Connecting", connecting),
    ("Asking for hello", Coordinated::greeting),
    ("ReadingClocks before", Coordinated::reading_clocks),
    ("Drawing", Coordinated::drawing),
    ("Asking to prepare", Coordinated::preparing),
    ("Asking to commit", Coordinated::committing),
    ("Following", Coordinated::following),
    ("Judging", Coordinated::judging),
    ("Stopping", Coordinated::stopping),
    ("ReadingClocks after", || Coordinated::finished().0),
    ("Parting", Coordinated::parting),
];

pub(super) fn joining() -> Coordinated {
    let mut one = Coordinated::new();
    one.give(CoordinatorInput::Join {
        count: 4,
        within: 60 * SECOND,
    });
    one
}

fn connecting() -> Coordinated {
    let mut one = Coordinated::new();
    one.give(CoordinatorInput::Meet);
    one
}

fn inputs() -> Vec<(&'static str, CoordinatorInput)> {
    let reply = |reply| CoordinatorInput::Reply(0, reply);
    let refused = Reply::Refused {
        reason: "no".to_owned(),
    };
    let clock = Reply::Clock {
        received: 1,
        sent: 2,
    };
    let alive = Reply::Alive {
        running: 1,
        done: 0,
        stepped: 0,
    };
    let tokens = TokenBytes(Zeroizing::new(vec![1; 64]));
    vec![
        ("a joined", CoordinatorInput::Joined("192.0.2.1".to_owned())),
        ("a is connected", CoordinatorInput::Connected(0)),
        (
            "a is not connected",
            CoordinatorInput::NotConnected(0, "no route".to_owned()),
        ),
        ("a: hello", reply(hello("h"))),
        ("a: clock", reply(clock)),
        ("a: prepared", reply(Reply::Prepared)),
        ("a: committed", reply(committed())),
        ("a: late", reply(Reply::Late { by: 5 })),
        ("a: alive", reply(alive)),
        ("a: result", reply(result(0))),
        ("a: result of b", reply(result(1))),
        ("a: result of none", reply(result(9))),
        ("a: collected", reply(Reply::Collected)),
        ("a: stopped", reply(Reply::Stopped)),
        ("a: refused", reply(refused)),
        ("a is lost", CoordinatorInput::Lost(0, "gone".to_owned())),
        ("a is silent", CoordinatorInput::Silent(0)),
        (
            "no such member",
            CoordinatorInput::Lost(9, "gone".to_owned()),
        ),
        ("tokens", CoordinatorInput::Tokens(Ok(tokens))),
        (
            "no tokens",
            CoordinatorInput::Tokens(Err("none".to_owned())),
        ),
        ("matrices", CoordinatorInput::Matrices(Ok(Vec::new()))),
        (
            "no matrices",
            CoordinatorInput::Matrices(Err("none".to_owned())),
        ),
        (
            "file fails",
            CoordinatorInput::FileFailed("full".to_owned()),
        ),
        ("interrupt", CoordinatorInput::Interrupt),
    ]
}

/// Effects of an input and of the next ticks.
fn row(one: &mut Coordinated, input: Option<CoordinatorInput>) -> String {
    let mut all = input.map_or_else(Vec::new, |input| one.give(input));
    all.extend(one.orders());
    let refusal = one.coordinator.refusal();
    let refusal = refusal.map(|why| format!(" refuses {why:?}"));
    let unmet = one.coordinator.unmet();
    let unmet = unmet.map(|why| format!(" has not met {why:?}"));
    format!(
        "-> {:<21}{}{}{}",
        phase(&one.coordinator),
        actions(&all),
        refusal.unwrap_or_default(),
        unmet.unwrap_or_default()
    )
}

#[test]
fn coordinator_answers_every_input_in_every_phase() {
    let mut table = String::new();
    for (name, begin) in PHASES {
        writeln!(table, "{name}").unwrap();
        for (what, input) in inputs() {
            let row = row(&mut begin(), Some(input));
            writeln!(table, "  {what:<19}{}", row.trim_end()).unwrap();
        }
        for (what, time) in [
            ("100 ms", SECOND / 10),
            ("3 s", 3 * SECOND),
            ("an hour", 3600 * SECOND),
        ] {
            let mut one = begin();
            one.now += time;
            let row = row(&mut one, None);
            writeln!(table, "  {what:<19}{}", row.trim_end()).unwrap();
        }
    }
    insta::assert_snapshot!(table);
}
