//! Rates and first answers of honest clients under attack.

use super::*;

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Time until the answer to a first message.
fn first_answer(target: &Target, message: &[u8]) -> Duration {
    let waiting = Stopwatch::start();
    let mut stream = attack(&target.server, "127.9.9.9", message);
    stream.read_exact(&mut [0; FRAME_LEN]).expect("an answer");
    waiting.elapsed()
}

/// Rate of honest clients during an attack, as a share of the rate right before, and a quiet rate as
/// a share of the quiet rate before it: the medians of fifteen pairs.
fn rates_kept(rate: impl Fn() -> f64, attacked: impl Fn() -> f64) -> (f64, f64) {
    const PAIRS: usize = 15;
    let (mut kept, mut quiet) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let before = rate();
        quiet.push(before);
        kept.push(attacked() / before);
    }
    let alike = quiet.windows(2).map(|pair| pair[1] / pair[0]).collect();
    (median(kept), median(alike))
}

/// Time until what an attack left at the netserver is gone, and whether it went.
fn time_until_nothing_is_left(target: &Target) -> (bool, Duration) {
    let files = || std::fs::read_dir(target.folder.path()).map_or(0, Iterator::count);
    let gone = || target.server.sessions().is_empty() && files() == 0;
    let end = Stopwatch::start();
    let is_gone = eventually(Duration::from_secs(5), gone);
    (is_gone, end.elapsed())
}

/// Measures the rate of honest clients, and the time until first answers, with and without each
/// attack: those that `NETPERF_ATTACKS` names, separated by commas, or all. All are measured before
/// one is judged.
fn keeps_rate_and_answers(target: &Target) {
    const ANSWERS: usize = 200;
    let messages = Messages::new();
    let rate = || {
        let words = ["-t", "TCP_RR", "-l", "1", "-v", "0", "-T", "0,1"];
        let finished = target.honest(&words).run().expect_clean();
        finished.stdout.trim().parse::<f64>().expect("a rate")
    };
    let mut missed = Vec::new();
    let named = netperf_testkit::environment("NETPERF_ATTACKS");
    let is_named = |kind: &Attack| {
        let names = named.as_deref().map(|names| names.split(','));
        names.is_none_or(|mut names| names.any(|name| format!("{kind:?}") == name))
    };
    let kinds = [&ON_GREETING[..], &BY_RECORDS].concat();
    let kinds: Vec<Attack> = kinds.into_iter().filter(is_named).collect();
    assert!(!kinds.is_empty(), "no attack is named {named:?}");
    for kind in kinds {
        netperf_testkit::watchdog::restart();
        let campaign = Campaign {
            messages: &messages,
            kinds: &[kind],
            sources: &SOURCES[..2],
            interval: INTERVAL,
        };
        let (kept, without) = rates_kept(rate, || under(&target.server, campaign, rate));
        let message = if target.has_key {
            messages.of(Attack::Greeting, 0)
        } else {
            messages.of(Attack::Idle, 0)
        };
        let mut times: Vec<Duration> = under(&target.server, campaign, || {
            let answers = (0..ANSWERS).map(|_| first_answer(target, &message));
            answers.collect()
        });
        times.sort();
        let late = times[ANSWERS * 99 / 100];
        let (is_gone, rest) = time_until_nothing_is_left(target);
        let line = format!(
            "{kind:?}: {kept:.3} of the rate (without it {without:.3}), first answers \
             {late:?}, nothing left after {rest:?}: {is_gone}"
        );
        note(&line);
        if !is_gone || kept < RATE_KEPT || late >= FIRST_ANSWER {
            missed.push(line);
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
#[ignore = "nightly: depends on the speed of the machine"]
fn honest_clients_keep_rate_and_first_answers_under_attacks_on_a_netserver_of_root() {
    let _whole = machine::whole();
    keeps_rate_and_answers(&Target::of_root());
}

#[test]
#[ignore = "nightly: depends on the speed of the machine"]
fn honest_clients_keep_rate_and_first_answers_under_attacks_on_a_netserver_of_a_user() {
    let _whole = machine::whole();
    keeps_rate_and_answers(&Target::of_user());
}

#[test]
#[ignore = "nightly: depends on the speed of the machine"]
fn honest_clients_keep_rate_and_first_answers_under_attacks_on_a_hardened_netserver() {
    let _whole = machine::whole();
    keeps_rate_and_answers(&Target::hardened());
}

#[test]
#[ignore = "nightly: 900 processes, and depends on the speed of the machine"]
fn first_answers_come_early_beside_900_sessions_and_20000_forged_datagrams_a_second() {
    const SESSIONS: u16 = 900;
    const ANSWERS: usize = 200;
    /// Datagrams sent together, and the interval between their begins: 22,000 a second.
    const TOGETHER: (usize, Duration) = (198, Duration::from_millis(9));
    let _whole = machine::whole();
    let options = ["-D", "--max-session-rate", "100000,100000"];
    let target = Target::new(&ours!(), &options, false);
    let question = netperf_session::offer::reason_request().expect("a message");
    let held: Vec<TcpStream> = (0..SESSIONS)
        .map(|number| {
            let from = format!("127.5.{}.1", number % 90);
            let mut stream = attack(&target.server, &from, question.as_bytes());
            stream.read_exact(&mut [0; FRAME_LEN]).expect("an answer");
            stream
        })
        .collect();
    assert_eq!(target.server.sessions().len(), usize::from(SESSIONS));
    let (done, sent) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (times, seconds) = std::thread::scope(|scope| {
        let end = AttackEnd(&done);
        scope.spawn(|| {
            let socket = UdpSocket::bind("127.0.0.2:0").expect("a loopback address");
            let messages = Messages::new();
            let flood = Stopwatch::start();
            for round in 0.. {
                let datagram = messages.of(Attack::Datagram, round);
                for _ in 0..TOGETHER.0 {
                    // A full buffer drops it.
                    let _dropped = socket.send_to(&datagram, ("127.0.0.1", target.server.port()));
                    sent.fetch_add(1, Ordering::Relaxed);
                }
                if done.load(Ordering::Relaxed) {
                    return;
                }
                let due = TOGETHER.1 * u32::try_from(round + 1).expect("few rounds");
                std::thread::sleep(due.saturating_sub(flood.elapsed()));
            }
        });
        let under_way = || sent.load(Ordering::Relaxed) > 10 * TOGETHER.0;
        assert!(eventually(Duration::from_secs(60), under_way));
        let (before, begun) = (sent.load(Ordering::Relaxed), Stopwatch::start());
        let answers = (0..ANSWERS).map(|_| first_answer(&target, question.as_bytes()));
        let mut times: Vec<Duration> = answers.collect();
        times.sort();
        let seconds = begun.elapsed().as_secs_f64();
        let sent = sent.load(Ordering::Relaxed) - before;
        drop(end);
        (times, (sent, seconds))
    });
    let late = times[ANSWERS * 99 / 100];
    note(&format!(
        "{late:?}, {} datagrams in {} s",
        seconds.0, seconds.1
    ));
    assert!(late < Duration::from_millis(50), "{late:?}");
    drop(held);
}
