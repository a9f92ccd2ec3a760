use super::*;
use crate::protocol::{LoadParts, PairToken, RosterEntry, Start};

const LINE: LineId = LineId(1);
const SECOND: u64 = 1_000_000_000;

fn agent() -> Agent {
    let facts = AgentFacts {
        program: "1".to_owned(),
        host: "h1".to_owned(),
        port: "12865".to_owned(),
        cpus: 2,
        place: HostPlace::default(),
    };
    Agent::new(facts, Quota::default())
}

fn member(name: &str) -> RosterEntry {
    RosterEntry {
        name: name.to_owned(),
        host: name.to_owned(),
        port: "12865".to_owned(),
        data: None,
        agent: true,
    }
}

fn token(member: usize) -> PairToken {
    PairToken {
        member,
        token: TokenDigits(format!("{member:064x}")),
    }
}

fn preparation() -> Preparation {
    let parts = LoadParts {
        warmup: SECOND,
        window: 2 * SECOND,
        cooldown: SECOND,
    };
    let load = |id, to| CampaignLoad {
        id,
        to,
        words: vec!["-t".to_owned(), "TCP_STREAM".to_owned()],
        parts,
    };
    Preparation {
        roster: ["a", "b", "c"].map(member).to_vec(),
        own: 0,
        loads: vec![load(1, 1), load(2, 2)],
        accepts: vec![token(1)],
        sends: vec![token(1), token(2)],
    }
}

fn hello(campaign: &str) -> Order {
    Order::Hello {
        version: VERSION,
        campaign: campaign.to_owned(),
        silence: None,
    }
}

fn give(agent: &mut Agent, line: LineId, order: Order, now: u64) -> Vec<AgentAction> {
    agent.order(line, order, (now, 0), &|_| Ok(()))
}

fn reason(actions: &[AgentAction]) -> &str {
    let reason = actions.iter().find_map(|action| {
        if let AgentAction::Reply(_, Reply::Refused { reason }) = action {
            Some(reason.as_str())
        } else {
            None
        }
    });
    reason.unwrap_or_else(|| panic!("not refused: {actions:?}"))
}

fn committed(at: u64) -> Agent {
    let mut agent = agent();
    give(&mut agent, LINE, hello("c"), 0);
    let prepared = give(&mut agent, LINE, Order::Prepare(Box::new(preparation())), 0);
    assert!(prepared.contains(&AgentAction::Reply(LINE, Reply::Prepared)));
    assert!(prepared.contains(&AgentAction::Admit(vec![(
        "b".to_owned(),
        token(1).token.clone()
    )])));
    let starts = [1, 2].map(|id| Start { id, at }).to_vec();
    let answer = give(&mut agent, LINE, Order::Commit { starts }, 0);
    assert_eq!(
        answer,
        [AgentAction::Reply(LINE, Reply::Committed { margin: at })]
    );
    agent
}

fn started(actions: &[AgentAction]) -> Vec<u32> {
    let id = |action: &AgentAction| {
        if let AgentAction::Start(started) = action {
            Some(started.load.id)
        } else {
            None
        }
    };
    actions.iter().filter_map(id).collect()
}

fn killed(actions: &[AgentAction]) -> Vec<u32> {
    let id = |action: &AgentAction| {
        if let AgentAction::Kill(id) = action {
            Some(*id)
        } else {
            None
        }
    };
    actions.iter().filter_map(id).collect()
}

fn result(id: u32) -> LoadResult {
    LoadResult {
        id,
        document: Some(serde_json::json!({})),
        error: None,
    }
}

#[test]
fn loads_start_before_their_begin_and_their_results_are_sent_and_kept() {
    let mut agent = committed(2 * SECOND);
    assert!(started(&agent.tick(SECOND / 4)).is_empty());
    assert_eq!(agent.next_tick(), Some(2 * SECOND - OPENING));
    let actions = agent.tick(2 * SECOND - OPENING);
    assert_eq!(started(&actions), [1, 2]);
    assert!(started(&agent.tick(SECOND)).is_empty(), "once");
    let sent = agent.load_ended(result(1));
    assert_eq!(
        sent,
        [AgentAction::Reply(LINE, Reply::Result(Box::new(result(1))))]
    );
    agent.lost(LINE);
    assert_eq!(agent.load_ended(result(2)), []);
    let again = LineId(2);
    give(&mut agent, again, hello("c"), 3 * SECOND);
    let collected = give(&mut agent, again, Order::Collect, 3 * SECOND);
    let results = collected.iter().filter(
        |action| matches!(action, AgentAction::Reply(_, Reply::Result(one)) if one.document.is_some()),
    );
    assert_eq!(results.count(), 2);
    assert_eq!(
        collected.last(),
        Some(&AgentAction::Reply(again, Reply::Collected))
    );
    let over = give(&mut agent, again, Order::Bye, 4 * SECOND);
    assert_eq!(
        over,
        [AgentAction::Admit(Vec::new()), AgentAction::Close(again)]
    );
    assert_eq!(agent.next_tick(), None);
}

#[test]
fn a_silent_coordinator_ends_all_load_and_results_stay_for_ten_minutes() {
    let mut agent = committed(2 * SECOND);
    agent.tick(SECOND);
    agent.lost(LINE);
    assert!(killed(&agent.tick(COORDINATOR_SILENCE)).is_empty());
    let actions = agent.tick(COORDINATOR_SILENCE + 1);
    assert_eq!(killed(&actions), [1, 2]);
    assert!(actions.contains(&AgentAction::Admit(Vec::new())));
    agent.load_ended(result(1));
    agent.load_ended(result(2));
    let later = COORDINATOR_SILENCE + KEPT;
    assert_eq!(agent.tick(later), []);
    let line = LineId(9);
    let mut other = give(&mut agent, line, hello("c"), later);
    assert!(matches!(
        other.remove(0),
        AgentAction::Reply(_, Reply::Hello { .. })
    ));
    assert_eq!(give(&mut agent, line, Order::Collect, later).len(), 3);
    agent.lost(line);
    agent.tick(later + 2);
    assert_eq!(agent.next_tick(), None);
}

#[test]
fn an_abort_ends_all_load_and_says_when_nothing_runs() {
    let mut agent = committed(2 * SECOND);
    agent.tick(SECOND);
    let actions = give(&mut agent, LINE, Order::Abort, SECOND);
    assert_eq!(killed(&actions), [1, 2]);
    let stopped = AgentAction::Reply(LINE, Reply::Stopped);
    assert!(!actions.contains(&stopped));
    assert!(!agent.load_ended(result(1)).contains(&stopped));
    assert!(agent.load_ended(result(2)).contains(&stopped));
    // Before anything was started there is nothing to wait for.
    let mut agent = committed(9 * SECOND);
    assert!(give(&mut agent, LINE, Order::Abort, SECOND).contains(&stopped));
    assert!(started(&agent.tick(8 * SECOND)).is_empty());
}

#[test]
fn a_load_that_does_not_end_is_killed() {
    let mut agent = committed(2 * SECOND);
    agent.tick(SECOND);
    let mut now = SECOND;
    while now < 6 * SECOND + OVERTIME * COORDINATOR_SILENCE {
        assert!(killed(&agent.tick(now)).is_empty());
        give(&mut agent, LINE, Order::Alive, now);
        now += SECOND;
    }
    assert_eq!(killed(&agent.tick(now)), [1, 2]);
}

#[test]
fn a_start_that_is_too_early_is_refused_by_how_much() {
    let mut agent = agent();
    give(&mut agent, LINE, hello("c"), 0);
    give(&mut agent, LINE, Order::Prepare(Box::new(preparation())), 0);
    let starts = vec![Start {
        id: 1,
        at: OPENING - 7,
    }];
    let late = give(&mut agent, LINE, Order::Commit { starts }, 0);
    assert_eq!(late, [AgentAction::Reply(LINE, Reply::Late { by: 7 })]);
    assert!(started(&agent.tick(OPENING)).is_empty());
    let starts = vec![Start {
        id: 3,
        at: 9 * SECOND,
    }];
    let unknown = give(&mut agent, LINE, Order::Commit { starts }, 0);
    assert_eq!(reason(&unknown), "load 3 is not prepared");
}

#[test]
fn requests_outside_the_roster_or_the_quota_are_refused() {
    let refused = |change: &dyn Fn(&mut Preparation)| {
        let mut agent = agent();
        agent.quota = Quota {
            members: 3,
            loads: 2,
            at_once: 2,
            time: 8 * SECOND,
            silence: COORDINATOR_SILENCE,
        };
        give(&mut agent, LINE, hello("c"), 0);
        let mut wrong = preparation();
        change(&mut wrong);
        let actions = give(&mut agent, LINE, Order::Prepare(Box::new(wrong)), 0);
        assert!(matches!(&actions[0], AgentAction::Log(_)), "{actions:?}");
        assert!(actions.contains(&AgentAction::Close(LINE)));
        reason(&actions).to_owned()
    };
    let not = "its target is not in the roster";
    assert!(refused(&|one| one.loads[0].to = 3).contains(not));
    assert!(refused(&|one| one.loads[0].to = 0).contains(not));
    assert!(refused(&|one| one.own = 3).contains("no member 3"));
    assert!(refused(&|one| drop(one.sends.pop())).contains("no token"));
    assert!(refused(&|one| one.loads[1].id = 1).contains("the same number"));
    assert!(refused(&|one| one.accepts[0].member = 4).contains("not in the roster"));
    assert!(refused(&|one| one.roster.push(member("d"))).contains("more than 3"));
    let twice = |one: &mut Preparation| one.loads.push(one.loads[0].clone());
    assert!(refused(&twice).contains("3 loads, more than 2"));
    let long = |one: &mut Preparation| one.loads[0].parts.window += 1;
    assert!(refused(&long).contains("s of load, more than 8"));
}

#[test]
fn roster_with_places_that_are_not_hosts_over_ip_is_refused() {
    let refused = |change: &dyn Fn(&mut RosterEntry)| {
        let mut agent = agent();
        give(&mut agent, LINE, hello("c"), 0);
        let mut wrong = preparation();
        change(&mut wrong.roster[2]);
        let actions = give(&mut agent, LINE, Order::Prepare(Box::new(wrong)), 0);
        reason(&actions).to_owned()
    };
    for host in [
        "vsock:3",
        "vsock:any",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
        "0.0.0.0",
        "::",
        "::ffff:224.0.0.1",
        "-oProxyCommand=x",
        "/run/socket",
        "a b",
        "",
    ] {
        let line = refused(&|one| host.clone_into(&mut one.host));
        assert_eq!(
            line, "c: its host is neither a name nor the address of a host",
            "{host}"
        );
    }
    for port in ["0", "65536", "-1", "http", "", "12865 -F x"] {
        let line = refused(&|one| port.clone_into(&mut one.port));
        assert_eq!(
            line, "c: its port is not a number from 1 to 65535",
            "{port}"
        );
    }
    for data in [
        "224.0.0.1",
        "ff05::2",
        "0.0.0.0",
        "255.255.255.255",
        "h1",
        "192.0.2.1,-F",
        "",
    ] {
        let line = refused(&|one| one.data = Some(data.to_owned()));
        assert_eq!(
            line, "c: its address for data is not that of a host",
            "{data}"
        );
    }
}

#[test]
fn preparation_of_many_different_tests_is_refused_and_each_is_checked_once() {
    let checked = std::cell::Cell::new(0);
    let prepare = |tests: u32| {
        let mut agent = agent();
        give(&mut agent, LINE, hello("c"), 0);
        let mut many = preparation();
        let load = many.loads[0].clone();
        // Different ones follow each other.
        let words = |id: u32| vec![format!("{}", id % tests)];
        many.loads = (0..50_000)
            .map(|id| CampaignLoad {
                id,
                words: words(id),
                parts: LoadParts {
                    warmup: 0,
                    window: 1,
                    cooldown: 0,
                },
                ..load.clone()
            })
            .collect();
        checked.set(0);
        let check = |_: &CampaignLoad| {
            checked.set(checked.get() + 1);
            Ok(())
        };
        agent.order(LINE, Order::Prepare(Box::new(many)), (0, 0), &check)
    };
    let prepared = prepare(2);
    assert!(prepared.contains(&AgentAction::Reply(LINE, Reply::Prepared)));
    assert_eq!(checked.get(), 2);
    let refused = prepare(65);
    assert_eq!(reason(&refused), "more than 64 different tests");
    assert_eq!(checked.get(), 64);
}

#[test]
fn loads_that_would_run_at_the_same_time_are_limited() {
    let agreed = |times: [u64; 2]| {
        let mut agent = agent();
        agent.quota.at_once = 1;
        give(&mut agent, LINE, hello("c"), 0);
        give(&mut agent, LINE, Order::Prepare(Box::new(preparation())), 0);
        let starts = [(1, times[0]), (2, times[1])].map(|(id, at)| Start { id, at });
        let starts = starts.to_vec();
        (give(&mut agent, LINE, Order::Commit { starts }, 0), agent)
    };
    let begin = 2 * SECOND;
    let length = 4 * SECOND;
    let (actions, _) = agreed([begin, begin + length]);
    let said = "2 loads at the same time, more than 1: measure with the pattern pairs, or with \
                fewer members";
    assert_eq!(reason(&actions), said, "connections open before the begin");
    let (actions, mut agent) = agreed([begin, begin + length + OPENING]);
    assert_eq!(actions.len(), 1, "{actions:?}");
    // The first one does not end in time.
    assert_eq!(started(&agent.tick(begin)), [1]);
    let second = begin + length;
    give(&mut agent, LINE, Order::Alive, second);
    let actions = agent.tick(second);
    assert!(started(&actions).is_empty());
    let failed = AgentAction::Reply(
        LINE,
        Reply::Result(Box::new(failed(2, "too many loads run"))),
    );
    assert_eq!(actions, [failed]);
    // Begins that are agreed about one after the other count together.
    let mut agent = self::agent();
    agent.quota.at_once = 1;
    give(&mut agent, LINE, hello("c"), 0);
    give(&mut agent, LINE, Order::Prepare(Box::new(preparation())), 0);
    let commit = |id| Order::Commit {
        starts: vec![Start { id, at: begin }],
    };
    assert_eq!(give(&mut agent, LINE, commit(1), 0).len(), 1);
    assert!(reason(&give(&mut agent, LINE, commit(2), 0)).contains("at the same time"));
}

#[test]
fn a_coordinator_may_be_silent_for_as_long_as_it_has_said() {
    let greeted = |silence| Order::Hello {
        version: VERSION,
        campaign: "c".to_owned(),
        silence: Some(silence),
    };
    let mut agent = agent();
    give(&mut agent, LINE, greeted(10 * SECOND), 0);
    give(&mut agent, LINE, Order::Prepare(Box::new(preparation())), 0);
    let logged = |actions: Vec<AgentAction>| {
        let lines = actions.into_iter();
        lines
            .filter(|one| matches!(one, AgentAction::Log(line) if line.contains("is silent")))
            .count()
    };
    assert_eq!(logged(agent.tick(10 * SECOND)), 0);
    assert_eq!(agent.next_tick(), Some(10 * SECOND + 1));
    assert_eq!(logged(agent.tick(10 * SECOND + 1)), 1);
    let refused = give(&mut agent, LINE, greeted(61 * SECOND), 11 * SECOND);
    assert_eq!(reason(&refused), "silence of 61 s, more than 60");
}

#[test]
fn a_refused_preparation_keeps_no_other_campaign_away() {
    let mut agent = agent();
    give(&mut agent, LINE, hello("c"), 0);
    let mut wrong = preparation();
    wrong.own = 3;
    give(&mut agent, LINE, Order::Prepare(Box::new(wrong)), 0);
    agent.lost(LINE);
    let welcome = give(&mut agent, LineId(2), hello("d"), 0);
    let is_hello =
        |action: &AgentAction| matches!(action, AgentAction::Reply(_, Reply::Hello { .. }));
    assert!(welcome.iter().any(is_hello), "{welcome:?}");
}

#[test]
fn one_coordinator_at_a_time() {
    let mut agent = agent();
    let wrong = Order::Hello {
        version: 0,
        campaign: "c".to_owned(),
        silence: None,
    };
    assert!(reason(&give(&mut agent, LINE, wrong, 0)).contains("version 0"));
    assert!(reason(&give(&mut agent, LINE, Order::Clock, 0)).contains("hello"));
    give(&mut agent, LINE, hello("c"), 0);
    let other = LineId(2);
    let busy = give(&mut agent, other, hello("d"), 0);
    assert_eq!(reason(&busy), "busy with the campaign c");
    let second = give(&mut agent, other, hello("c"), 0);
    assert!(reason(&second).contains("has a coordinator"));
    agent.lost(LINE);
    assert!(reason(&give(&mut agent, other, hello("d"), 0)).contains("busy"));
    agent.tick(COORDINATOR_SILENCE + 1);
    let free = give(&mut agent, other, hello("d"), COORDINATOR_SILENCE + 2);
    assert!(matches!(
        free[0],
        AgentAction::Reply(_, Reply::Hello { .. })
    ));
}

#[test]
fn loads_to_a_lost_member_end_and_it_is_served_no_more() {
    let mut agent = committed(2 * SECOND);
    let without = |members: &[usize]| Order::Without {
        members: members.to_vec(),
    };
    // Before the begin: the load to b does not begin.
    let actions = give(&mut agent, LINE, without(&[1]), SECOND / 4);
    assert_eq!(actions[0], AgentAction::Admit(Vec::new()));
    let lost = failed(1, "its target is lost");
    let said = AgentAction::Reply(LINE, Reply::Result(Box::new(lost)));
    assert_eq!(actions[1..], [said]);
    assert_eq!(started(&agent.tick(SECOND)), [2]);
    // While it runs: it is killed, and its result says why.
    let actions = give(&mut agent, LINE, without(&[1, 2]), SECOND);
    assert_eq!(killed(&actions), [2]);
    let ended = agent.load_ended(failed(2, "it was stopped"));
    let lost = failed(2, "its target is lost");
    let said = AgentAction::Reply(LINE, Reply::Result(Box::new(lost)));
    assert_eq!(ended, [said]);
    // A load that was over keeps its result.
    let mut agent = committed(2 * SECOND);
    agent.tick(SECOND);
    agent.load_ended(result(1));
    assert!(killed(&give(&mut agent, LINE, without(&[1]), SECOND)).is_empty());
    let collected = give(&mut agent, LINE, Order::Collect, SECOND);
    let kept = AgentAction::Reply(LINE, Reply::Result(Box::new(result(1))));
    assert_eq!(collected[0], kept);
}

#[test]
fn a_coordinator_whose_connection_does_not_end_is_replaced() {
    let mut agent = committed(9 * SECOND);
    let again = LineId(2);
    let soon = give(&mut agent, again, hello("c"), COORDINATOR_SILENCE);
    assert!(reason(&soon).contains("has a coordinator"));
    // The clock has not ticked since, as on a host that stood still.
    let late = give(&mut agent, again, hello("c"), COORDINATOR_SILENCE + 1);
    assert_eq!(late[0], AgentAction::Close(LINE));
    agent.lost(LINE);
    let collected = give(&mut agent, again, Order::Collect, COORDINATOR_SILENCE + 2);
    assert_eq!(
        collected,
        [AgentAction::Reply(again, Reply::Collected)],
        "nothing is over yet"
    );
    // A tick ends the connection itself.
    let mut agent = committed(9 * SECOND);
    let actions = agent.tick(COORDINATOR_SILENCE + 1);
    assert_eq!(actions.last(), Some(&AgentAction::Close(LINE)));
    let other = give(&mut agent, again, hello("d"), COORDINATOR_SILENCE + 2);
    assert!(matches!(
        other[0],
        AgentAction::Reply(_, Reply::Hello { .. })
    ));
}

#[test]
fn steps_of_the_wall_clock_count_from_the_begin_of_the_campaign() {
    let mut agent = agent();
    let step = 1_000_000_000;
    agent.order(LINE, hello("c"), (0, step), &|_| Ok(()));
    let mut stepped = |wall| {
        let replies = agent.order(LINE, Order::Alive, (1, wall), &|_| Ok(()));
        let [AgentAction::Reply(_, Reply::Alive { stepped, .. })] = replies[..] else {
            panic!("{replies:?}");
        };
        stepped
    };
    assert_eq!(stepped(step), 0);
    assert_eq!(stepped(3 * step), 2 * step);
    assert_eq!(stepped(0), -step);
}

#[test]
fn a_start_of_another_campaign_is_refused() {
    // A commit that was recorded in campaign c.
    let starts = [1, 2].map(|id| Start { id, at: 9 * SECOND });
    let commit = || Order::Commit {
        starts: starts.to_vec(),
    };
    let mut agent = agent();
    give(&mut agent, LINE, hello("d"), 0);
    let unprepared = give(&mut agent, LINE, commit(), 0);
    assert_eq!(reason(&unprepared), "load 1 is not prepared");
    // Twice in the same campaign.
    let mut agent = committed(9 * SECOND);
    assert_eq!(
        reason(&give(&mut agent, LINE, commit(), 0)),
        "load 1 is not prepared"
    );
    // By a connection that has not greeted.
    let mut agent = committed(9 * SECOND);
    assert!(reason(&give(&mut agent, LineId(3), commit(), 0)).contains("hello"));
}
