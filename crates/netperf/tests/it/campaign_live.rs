//! `netperf campaign run --live` in a terminal.

use std::time::Duration;

use netperf_testkit::{Invocation, Terminal, ours};

use crate::campaign::{Agents, plan};

const UTF8: (&str, &str) = ("LC_ALL", "C.UTF-8");

/// Runs a plan on a terminal of this size, and gives the screen once a cell has a value.
fn filling(agents: &Agents, size: (u16, u16), window: f64) -> Option<(Terminal, String)> {
    agents.write("live.toml", &plan("pairs", window, "recheck = false\n"));
    let program = ours!().netperf.display().to_string();
    let folder = agents.path().display();
    let command = format!(
        "cd '{folder}'; '{program}' campaign run live.toml --inventory hosts --key-file key --live"
    );
    let terminal = Terminal::start(size, &[UTF8], &command)?;
    let screen = terminal.until("a value", |screen| {
        screen.contains("transaction rate, transactions/s; rows send")
    });
    Some((terminal, screen))
}

#[test]
fn the_matrix_fills_on_the_screen_and_the_result_stays() {
    fills_the_screen(2, &[(80, 24)]);
}

#[test]
#[ignore = "nightly: 12 rounds of two campaigns, some 50 s"]
fn the_matrix_fills_on_screens_of_two_sizes_and_the_result_stays() {
    fills_the_screen(3, &[(80, 24), (120, 40)]);
}

fn fills_the_screen(count: usize, sizes: &[(u16, u16)]) {
    let agents = Agents::new(count);
    let cells = count * (count - 1);
    for &size in sizes {
        let Some((terminal, screen)) = filling(&agents, size, 1.0) else {
            return;
        };
        let lines: Vec<&str> = screen.lines().collect();
        assert!(lines.len() <= usize::from(size.1), "{screen}");
        let widest = lines.iter().map(|line| line.chars().count()).max();
        assert!(widest <= Some(usize::from(size.0)), "{screen}");
        assert!(lines[0].starts_with("Campaign "), "{screen}");
        let plan = format!("pairs of {count} members, TCP_RR");
        assert!(lines[0].ends_with(&plan), "{screen}");
        let hosts = format!("{count} hosts: ");
        assert!(lines[1].starts_with(&hosts), "{screen}");
        let rounds = format!(" of {cells} rounds; ");
        assert!(lines[2].contains(&rounds), "{screen}");
        let rows = (0..count).map(|host| format!("{} h{host} ", host + 1));
        for name in rows.chain(["q ends the campaign".to_owned()]) {
            assert!(lines.iter().any(|line| line.starts_with(&name)), "{screen}");
        }
        let all = terminal.end();
        assert!(all.contains("ended with 0"), "{all}");
        let measured = format!("Cells: {cells} of {cells} measured");
        assert!(all.contains(&measured), "{all}");
        assert!(
            !all.contains("q ends the campaign"),
            "the picture is gone: {all}"
        );
        assert!(!terminal.is("alternate_on") && terminal.is("cursor_flag"));
    }
    agents.assert_no_process_left();
}

#[test]
fn a_key_ends_a_campaign_on_the_screen() {
    let agents = Agents::new(2);
    let Some((terminal, _)) = filling(&agents, (80, 24), 1.0) else {
        return;
    };
    terminal.press("q");
    let all = terminal.end();
    assert!(all.contains("ended with 1"), "{all}");
    assert!(all.contains("It ended early: interrupted"), "{all}");
    agents.assert_no_process_left();
}

#[test]
fn without_a_terminal_nothing_is_begun() {
    let agents = Agents::new(2);
    agents.write("plan.toml", &plan("pairs", 1.0, ""));
    let finished = Invocation::new(&ours!().netperf)
        .folder(agents.path())
        .args(["campaign", "run", "plan.toml", "--inventory", "hosts"])
        .args(["--key-file", "key", "--live"])
        .patience(Duration::from_secs(60))
        .run()
        .expect_exit(2);
    let line = &finished.stderr;
    assert!(
        line.contains("--live") && line.lines().count() == 1,
        "{line}"
    );
}
