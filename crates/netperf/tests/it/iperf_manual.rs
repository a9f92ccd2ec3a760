//! The commands of the chapters on iperf and iperf3 run, with our server and with the original's.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use netperf_testkit::{
    Finished, Invocation, Netserver, Place, Scratch, ours, rsa, server::free_port,
};

/// Longest time of a command.
const PATIENCE: Duration = Duration::from_secs(60);

/// The commands of a chapter that begin with a word, in blocks of code.
fn commands(chapter: &str, program: &str) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manual/src");
    let text = std::fs::read_to_string(path.join(chapter)).expect("a chapter");
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = !inside;
        }
        let mut words = line.trim_start_matches("$ ").split_whitespace();
        if inside && words.next() == Some(program) {
            found.push(words.map(str::to_owned).collect());
        }
    }
    found
}

/// True for a command of a server with users, or of a user.
fn has_users(words: &[String]) -> bool {
    let names = ["--username", "--authorized-users-path"];
    words.iter().any(|word| names.contains(&word.as_str()))
}

/// The command of a client with a short time, and the address and port of a server.
fn run(program: &Path, words: &[String], port: u16) -> Finished {
    let mut short = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-t" | "-i" => {
                let _long = words.next();
                short.extend([word.clone(), "1".to_owned()]);
            }
            "server" | "server.example" => short.push("127.0.0.1".to_owned()),
            _ => short.push(word.clone()),
        }
    }
    let done = Invocation::new(program)
        .args(short)
        .args(["-p", &port.to_string()])
        .patience(PATIENCE)
        .run();
    assert_eq!(done.status.code(), Some(0), "{}", done.account());
    assert!(done.stderr.is_empty(), "{}", done.account());
    done
}

#[test]
fn clients_run_with_our_server() {
    clients_run(false);
}

#[test]
#[ignore = "nightly: the originals, of which the server of iperf 2 has races of its own"]
fn clients_run_with_both_peers() {
    clients_run(true);
}

fn clients_run(with_stock: bool) {
    let scratch = Scratch::new();
    for (name, chapter, service, sign) in [
        ("iperf", "iperf2.md", "--iperf2", "/sec"),
        ("iperf3", "iperf3.md", "--iperf3", "\"bits_per_second\""),
    ] {
        let own = scratch.path().join(name);
        symlink(ours!().netperf, &own).expect("a link");
        let all = commands(chapter, name);
        let clients = all
            .iter()
            .filter(|words| words.iter().any(|word| word == "-c") && !has_users(words));
        let clients: Vec<&Vec<String>> = clients.collect();
        assert!(!clients.is_empty(), "{chapter}: {all:?}");
        if !with_stock {
            let run = |words| {
                let port = free_port();
                let options = ["-D", service, &port.to_string()];
                let _netserver = Netserver::start_with(&ours!(), &Place::Here, &options, &[]);
                let done = run(&own, words, port);
                assert!(done.stdout.contains(sign), "{}", done.account());
            };
            // A few at a time.
            for some in clients.chunks(4) {
                std::thread::scope(|scope| {
                    for words in some {
                        scope.spawn(|| run(words));
                    }
                });
            }
            continue;
        }
        for words in clients {
            let stock = Path::new("/usr/bin").join(name);
            if !stock.exists() {
                continue;
            }
            let port = free_port();
            let mut server = Invocation::new(Path::new("/usr/bin/stdbuf"));
            server = server
                .arg("-oL")
                .arg(&stock)
                .args(["-s", "-p", &port.to_string()]);
            if words.iter().any(|word| word == "-u") && name == "iperf" {
                server = server.arg("-u");
            }
            let mut server = server.patience(PATIENCE).spawn();
            assert!(server.prints("Server listening", PATIENCE));
            let done = run(&own, words, port);
            assert!(done.stdout.contains(sign), "{}", done.account());
        }
    }
}

#[test]
fn servers_serve() {
    let scratch = Scratch::new();
    for (name, chapter) in [("iperf", "iperf2.md"), ("iperf3", "iperf3.md")] {
        let own = scratch.path().join(name);
        symlink(ours!().netperf, &own).expect("a link");
        let all = commands(chapter, name);
        let servers = all
            .iter()
            .filter(|words| words.iter().any(|word| word == "-s") && !has_users(words));
        let foreground = servers.filter(|words| !words.iter().any(|word| word == "-D"));
        let mut count = 0;
        for words in foreground {
            count += 1;
            let port = free_port();
            let mut server = Invocation::new(&own)
                .args(words)
                .args(["-p", &port.to_string()])
                .patience(PATIENCE)
                .spawn();
            if !words.iter().any(|word| word == "-J") {
                assert!(server.prints("Server listening", PATIENCE));
            }
            let udp = words.iter().any(|word| word == "-u");
            let client = ["-c", "server", "-n", "64K"].map(str::to_owned);
            let mut client = client.to_vec();
            client.extend(udp.then(|| "-u".to_owned()));
            let served = netperf_testkit::eventually(PATIENCE, || {
                let done = Invocation::new(&own)
                    .args(
                        client
                            .iter()
                            .map(|word| word.replace("server", "127.0.0.1")),
                    )
                    .args(["-p", &port.to_string()])
                    .patience(PATIENCE)
                    .run();
                done.status.success() && done.stderr.is_empty()
            });
            assert!(served, "{words:?}");
            server.signal("INT");
            let done = server.finish();
            assert!(!done.stdout.is_empty(), "{}", done.account());
        }
        assert!(count >= 2, "{chapter}");
    }
}

#[test]
fn users_are_served() {
    let scratch = Scratch::new();
    for (name, text) in [
        ("private.pem", rsa::PRIVATE),
        ("public.pem", rsa::PUBLIC),
        ("users.csv", rsa::USERS),
    ] {
        std::fs::write(scratch.path().join(name), text).expect("a file");
    }
    let own = scratch.path().join("iperf3");
    symlink(ours!().netperf, &own).expect("a link");
    let mut all = commands("iperf3.md", "iperf3");
    all.retain(|words| has_users(words));
    let [server, client] = all.as_slice() else {
        panic!("commands of users: {all:?}");
    };
    let port = free_port().to_string();
    let command = |words: &[String]| {
        let words = words
            .iter()
            .map(|word| word.replace("server.example", "127.0.0.1"));
        let command = Invocation::new(&own).folder(scratch.path()).args(words);
        command.args(["-p", &port]).patience(PATIENCE)
    };
    let mut server = command(server).spawn();
    assert!(server.prints("Server listening", PATIENCE));
    let client = command(client).args(["-n", "64K"]);
    client.env("IPERF3_PASSWORD", "secret").run().expect_clean();
}
