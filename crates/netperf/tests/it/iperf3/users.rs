//! RSA authentication: users of a server, at both ends and with the original at either.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use netperf_measure::clock;
use netperf_testkit::require::root_for;
use netperf_testkit::rsa;
use netperf_testkit::tmux::Terminal;

use super::served::Alone;
use super::*;

/// Keys and users in files.
struct Files {
    scratch: Scratch,
    own: PathBuf,
}

impl Files {
    fn new() -> Self {
        let scratch = Scratch::new();
        let own = link(&scratch);
        let files = Self { scratch, own };
        files.write("private.pem", rsa::PRIVATE);
        files.write("protected.pem", rsa::PROTECTED);
        files.write("public.pem", rsa::PUBLIC);
        files.write("other.pem", rsa::OTHER_PUBLIC);
        files.write("users.csv", rsa::USERS);
        files.write("broken.csv", "# users\nuser1\n");
        files
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.scratch.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Words in which names of the files are replaced by their paths.
    fn words(&self, words: &[&str]) -> Vec<String> {
        let path = |word: &str| self.scratch.path().join(word).display().to_string();
        let is_file = |word: &str| word.ends_with(".pem") || word.ends_with(".csv");
        let words = words.iter().map(|word| {
            if is_file(word) {
                path(word)
            } else {
                (*word).to_owned()
            }
        });
        words.collect()
    }

    fn server(&self, program: &Path, more: &[&str]) -> ServerWithUsers {
        let alone = Alone::start_by(program, |port| {
            let words = [&["-s", "--forceflush", "-p", port], &OF_SERVER[..], more].concat();
            self.words(&words)
        });
        ServerWithUsers { alone, tests: 0 }
    }

    fn run(&self, program: &Path, port: u16, words: &[&str], password: &str) -> Finished {
        Invocation::new(program)
            .args(["-c", "127.0.0.1", "-p", &port.to_string(), "-n", "64K"])
            .args(self.words(words))
            .env("IPERF3_PASSWORD", password)
            .patience(PATIENCE)
            .run()
    }

    /// Ours, and the original.
    fn programs(&self) -> Vec<PathBuf> {
        stock().into_iter().chain([self.own.clone()]).collect()
    }
}

/// A server with users. The original closes its listener between two tests.
struct ServerWithUsers {
    alone: Alone,
    tests: u32,
}

impl ServerWithUsers {
    /// Runs a client once the server awaits the next one.
    fn client(
        &mut self,
        files: &Files,
        program: &Path,
        words: &[&str],
        password: &str,
    ) -> Finished {
        self.tests += 1;
        let head = format!("(test #{})", self.tests);
        assert!(self.alone.running.prints(&head, PATIENCE), "{head}");
        files.run(program, self.alone.port, words, password)
    }
}

const OF_SERVER: [&str; 4] = [
    "--rsa-private-key-path",
    "private.pem",
    "--authorized-users-path",
    "users.csv",
];
const USER: [&str; 4] = ["--username", "user1", "--rsa-public-key-path", "public.pem"];

const REFUSED: &str = "iperf3: error - test authorization failed\n";

#[test]
fn users_are_served_at_both_ends_with_the_original_at_either() {
    let files = Files::new();
    for server in files.programs() {
        let mut restricted = files.server(&server, &[]);
        for program in files.programs() {
            let finished = restricted.client(&files, &program, &USER, "secret");
            finished.expect_clean();
        }
    }
}

#[test]
fn threat_model_strangers_are_refused_by_a_server_with_users() {
    let files = Files::new();
    let other_key = ["--username", "user1", "--rsa-public-key-path", "other.pem"];
    let other_user = ["--username", "user2", "--rsa-public-key-path", "public.pem"];
    let cases = [
        (&USER[..], "Secret", "wrong password of the user \"user1\""),
        (&other_user, "secret", "no user \"user2\""),
        (
            &other_key,
            "secret",
            "not encrypted with this server's public key",
        ),
        (&[], "", "the client has no user"),
    ];
    for server in files.programs() {
        let is_own = server == files.own;
        let mut restricted = files.server(&server, &[]);
        let mut reasons = Vec::new();
        for program in files.programs() {
            for (words, password, reason) in cases {
                let refused = restricted.client(&files, &program, words, password);
                let refused = refused.expect_exit(1);
                assert_eq!(refused.stderr, REFUSED, "{}", refused.account());
                reasons.push(reason);
            }
        }
        restricted
            .client(&files, &files.own, &USER, "secret")
            .expect_clean();
        let finished = restricted.alone.interrupt();
        let mut lines = finished.stderr.lines();
        for reason in reasons {
            let told = "iperf3: error - test authorization failed";
            let line = lines
                .find(|line| line.starts_with(told))
                .unwrap_or_default();
            assert!(line.contains(reason) || !is_own, "{line:?}: {reason}");
        }
    }
}

#[test]
fn threat_model_refused_user_does_not_end_a_server_of_one_test() {
    let files = Files::new();
    let mut restricted = files.server(&files.own, &["-1"]);
    for _ in 0..2 {
        let refused = restricted.client(&files, &files.own, &USER, "wrong");
        refused.expect_exit(1);
    }
    restricted
        .client(&files, &files.own, &USER, "secret")
        .expect_clean();
    let finished = restricted.alone.running.finish().expect_exit(0);
    assert!(
        finished.stdout.contains("(test #3)"),
        "{}",
        finished.account()
    );
}

#[test]
fn threat_model_refusals_of_users_differ_neither_in_text_nor_in_least_time() {
    let files = Files::new();
    let mut restricted = files.server(&files.own, &[]);
    let other_key = ["--username", "user1", "--rsa-public-key-path", "other.pem"];
    for (words, password) in [(&USER, "wrong"), (&other_key, "secret")] {
        let begun = clock::now();
        let refused = restricted.client(&files, &files.own, words, password);
        let refused = refused.expect_exit(1);
        assert!(begun.elapsed() >= Duration::from_millis(100));
        assert_eq!(refused.stderr, REFUSED, "{}", refused.account());
    }
}

#[test]
fn threat_model_process_that_serves_clients_does_not_decrypt() {
    if !root_for("the memory map of a process that cannot be dumped") {
        return;
    }
    let files = Files::new();
    let mut restricted = files.server(&files.own, &[]);
    restricted
        .client(&files, &files.own, &USER, "secret")
        .expect_clean();
    let maps = |id: u32| std::fs::read_to_string(format!("/proc/{id}/maps")).unwrap_or_default();
    let own = maps(restricted.alone.running.pid());
    assert!(
        own.contains("libc.so") && !own.contains("libcrypto"),
        "{own}"
    );
}

#[test]
fn users_are_encrypted_with_the_padding_of_the_options() {
    let files = Files::new();
    let oaep = [&USER[..], &["--use-oaep-padding"]].concat();
    let pkcs1 = [&USER[..], &["--use-pkcs1-padding"]].concat();
    for (of_server, expected) in [
        (&[][..], [0, 0, 0]),
        (&["--use-pkcs1-padding"], [0, 0, 1]),
        (&["--use-oaep-padding"], [1, 1, 0]),
    ] {
        let mut restricted = files.server(&files.own, of_server);
        let clients = [&USER[..], &pkcs1, &oaep];
        let found = clients.map(|words| {
            let finished = restricted.client(&files, &files.own, words, "secret");
            finished.status.code().unwrap()
        });
        assert_eq!(found, expected, "{of_server:?}");
    }
}

#[test]
fn users_of_a_client_are_ignored_by_a_server_without_users() {
    let files = Files::new();
    let netserver = Server::ours(&[]);
    let alone = Alone::start(&files.own, &[]);
    for port in [netserver.port(), alone.port] {
        files.run(&files.own, port, &USER, "any").expect_clean();
    }
}

/// Command lines with a wrong option or file, and the end of the line about it.
const WRONG: &[(&str, &str)] = &[
    (
        "-s --authorized-users-path users.csv --rsa-private-key-path absent.pem",
        "absent.pem: No such file or directory",
    ),
    (
        "-s --authorized-users-path users.csv --rsa-private-key-path public.pem",
        "public.pem: this is a public key: use the private key of the pair",
    ),
    (
        "-s --authorized-users-path users.csv --rsa-private-key-path users.csv",
        "users.csv: no RSA key in PEM format: create a pair with openssl genrsa and openssl rsa -pubout",
    ),
    (
        "-s --authorized-users-path users.csv --rsa-private-key-path protected.pem",
        "protected.pem: a passphrase protects the key: remove it with openssl rsa",
    ),
    (
        "-s --rsa-private-key-path private.pem --authorized-users-path absent.csv",
        "absent.csv: No such file or directory",
    ),
    (
        "-s --rsa-private-key-path private.pem --authorized-users-path broken.csv",
        "broken.csv: line 2 is not a user: write NAME,SHA256, with the digest of {NAME}PASSWORD",
    ),
    (
        "-s --rsa-private-key-path private.pem",
        "--authorized-users-path is missing",
    ),
    (
        "-s --authorized-users-path users.csv",
        "--rsa-private-key-path is missing",
    ),
    (
        "-c 127.0.0.1 --username user1 --rsa-public-key-path absent.pem",
        "absent.pem: No such file or directory",
    ),
    (
        "-c 127.0.0.1 --username user1 --rsa-public-key-path private.pem",
        "private.pem: this is a private key: use the public key, from openssl rsa -pubout",
    ),
    (
        "-c 127.0.0.1 --username user1",
        "--rsa-public-key-path is missing",
    ),
    (
        "-c 127.0.0.1 --rsa-public-key-path public.pem",
        "--username is missing",
    ),
];

#[test]
fn users_with_a_wrong_option_or_file_are_one_line() {
    let files = Files::new();
    for (words, end) in WRONG {
        let words: Vec<&str> = words.split(' ').collect();
        let command = Invocation::new(&files.own).args(files.words(&words));
        let command = command.env("IPERF3_PASSWORD", "secret").patience(PATIENCE);
        let refused = command.run().expect_exit(1);
        let line = refused.stderr.strip_suffix('\n').unwrap_or_default();
        let begin = "iperf3: parameter error - you must specify a ";
        let is_one = !line.contains('\n') && refused.stdout.is_empty();
        assert!(
            is_one && line.starts_with(begin) && line.ends_with(end),
            "{}",
            refused.account()
        );
    }
}

#[test]
fn users_whose_private_key_others_can_read_are_served_with_a_warning() {
    let files = Files::new();
    let key = files.scratch.path().join("private.pem");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let mut restricted = files.server(&files.own, &["-1"]);
    restricted
        .client(&files, &files.own, &USER, "secret")
        .expect_clean();
    let finished = restricted.alone.running.finish().expect_exit(0);
    let line = format!(
        "iperf3: warning - others can read or change the private key: chmod 600 {}\n",
        key.display()
    );
    assert_eq!(finished.stderr, line);
}

#[test]
fn user_of_a_later_server_that_closes_is_told_of_the_other_padding() {
    let files = Files::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut control, _) = listener.accept().unwrap();
        control.read_exact(&mut [0; 37]).unwrap();
        control.write_all(&[9]).unwrap();
        let mut length = [0; 4];
        control.read_exact(&mut length).unwrap();
        let mut text = vec![0; u32::from_be_bytes(length) as usize];
        control.read_exact(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    });
    let refused = files.run(&files.own, port, &USER, "secret").expect_exit(1);
    assert!(
        refused.stderr.contains("try --use-oaep-padding"),
        "{}",
        refused.account()
    );
    let sent: Value = serde_json::from_str(&server.join().unwrap()).unwrap();
    assert_eq!(sent["authtoken"].as_str().map(str::len), Some(344));
}

#[test]
fn password_is_asked_on_the_terminal_and_not_shown() {
    let files = Files::new();
    let restricted = files.server(&files.own, &[]);
    let words = files.words(&USER).join(" ");
    let own = files.own.display();
    let script = format!(
        "{own} -c 127.0.0.1 -p {} -n 64K {words}",
        restricted.alone.port
    );
    let Some(terminal) = Terminal::start((100, 30), &[], &script) else {
        return;
    };
    terminal.until("a question", |screen| screen.contains("Password:"));
    terminal.press("secret");
    terminal.press("Enter");
    let screen = terminal.until("an end", |screen| screen.contains("ended with"));
    assert!(
        screen.contains("iperf Done.") && screen.contains("ended with 0"),
        "{screen}"
    );
    assert!(!screen.contains("secret"), "{screen}");
}

#[test]
fn password_without_a_terminal_is_asked_of_the_environment() {
    let files = Files::new();
    let own = files.own.to_str().unwrap();
    let words = [&["-w", own, "-c", "127.0.0.1"][..], &USER].concat();
    let command = Invocation::new(Path::new("/usr/bin/setsid")).args(files.words(&words));
    let refused = command.patience(PATIENCE).run().expect_exit(1);
    let line =
        "no terminal to ask for the password (No such device or address): set IPERF3_PASSWORD\n";
    assert!(refused.stderr.ends_with(line), "{}", refused.account());
}
