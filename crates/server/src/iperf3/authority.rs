//! The users of a server, and the process that knows its private key (`iperf3-users`).
//!
//! A process that serves a stranger has neither the key nor the passwords that clients encrypt with
//! it. It asks this one, which parses nothing but tokens, whether a token is that of a user.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use netperf_daemon::{helper_process, sandbox};
use netperf_iperf3::messages::{AuthorizedUsers, Credentials, token_bytes};
use netperf_iperf3::options::{ACCOUNTS, Iperf3Accounts};
use netperf_measure::clock;
use netperf_os::openssl::{OpenSsl, RsaKey, RsaPadding, RsaPart};
use netperf_os::pass::{self, PassWait};
use netperf_os::wait::{Deadline, Interest, sleep};
use netperf_os::{Socket, process};
use netperf_program::iperf3::rsa_padding;
use netperf_program::output::{err, system_text};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// Longest file that is read, bytes.
const LONGEST_FILE: u64 = 1 << 20;
/// Largest message of either process, bytes.
const MESSAGE: usize = 4096;
/// Time after which a client is refused, whatever the reason: its length would tell a stranger
/// whether a message that he made up decrypts, and with many of them the text of a token.
const REFUSED_AFTER: Duration = Duration::from_millis(100);
/// Time limit for the other process.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of the number of a question, which its answer repeats: a late answer is not that to the next
/// question.
const NUMBER: usize = 8;
/// Number of the answer that the process has started.
const START: [u8; NUMBER] = [0; NUMBER];
/// Byte of an answer that accepts; a text follows that refuses in every other.
const ACCEPTED: u8 = 1;
const REFUSED: u8 = 0;

/// The process with the key, as a session sees it.
#[derive(Debug)]
pub(crate) struct Authority {
    socket: Socket,
    /// Questions so far.
    asked: AtomicU64,
}

impl Authority {
    /// Starts the process, which reads the files.
    ///
    /// # Errors
    /// The text that follows `iperf3: `.
    pub(crate) fn start(accounts: &Iperf3Accounts) -> Result<Self, String> {
        let unable = |error: io::Error| {
            let why = system_text(&error);
            format!("error - unable to start the process with the RSA key: {why}")
        };
        warn_of_readers(&accounts.private_key);
        let (socket, asked) = pass::pair().map_err(unable)?;
        let started =
            helper_process::start(c"iperf3-users", &[asked.as_fd()], || run(&asked, accounts));
        started.map_err(unable)?;
        drop(asked);
        let authority = Self::at(socket);
        authority.answer(0).map(|()| authority)
    }

    const fn at(socket: Socket) -> Self {
        Self {
            socket,
            asked: AtomicU64::new(0),
        }
    }

    /// Compares the token of a client with the users.
    ///
    /// # Errors
    /// Why it is refused, for the log of the server. The client is not told.
    pub(crate) fn check(&self, token: Option<&str>) -> Result<(), String> {
        let token = token.ok_or("the client has no user")?;
        if token.len() > MESSAGE - NUMBER {
            return Err("the token is too long".to_owned());
        }
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let question = [&number.to_be_bytes(), token.as_bytes()].concat();
        let sent = pass::send(self.socket.as_fd(), &question, None);
        sent.map_err(|error| gone(&error))?;
        self.answer(number)
    }

    /// Waits for the answer to the question with this number.
    fn answer(&self, number: u64) -> Result<(), String> {
        let deadline = Deadline::after(PATIENCE);
        let mut bytes = [0; MESSAGE];
        loop {
            let waited = deadline.ready(self.socket.as_fd(), Interest::Read);
            if !waited.map_err(|error| gone(&error))? {
                return Err(gone(&io::ErrorKind::TimedOut.into()));
            }
            let read = pass::receive(self.socket.as_fd(), &mut bytes, PassWait::Never);
            let (count, _) = read.map_err(|error| gone(&error))?;
            let answer = bytes.get(..count).and_then(<[u8]>::split_first_chunk);
            let Some((answered, verdict)) = answer else {
                return Err(gone(&io::ErrorKind::BrokenPipe.into()));
            };
            if *answered == number.to_be_bytes() {
                return match verdict.split_first() {
                    Some((&ACCEPTED, _)) => Ok(()),
                    Some((_, text)) => Err(String::from_utf8_lossy(text).into_owned()),
                    None => Err(gone(&io::ErrorKind::InvalidData.into())),
                };
            }
        }
    }
}

/// Warns of a private key that every user can read or change.
fn warn_of_readers(file: &str) {
    const OTHERS: u32 = 0o006;
    let mode = std::fs::metadata(file).map_or(0, |file| file.mode());
    if mode & OTHERS != 0 {
        err(&format!(
            "iperf3: warning - others can read or change the private key: chmod 600 {file}\n"
        ));
    }
}

fn gone(error: &io::Error) -> String {
    format!("the process with the RSA key: {}", system_text(error))
}

/// The answer of the process to a question.
fn message(number: &[u8; NUMBER], verdict: &Result<(), String>) -> Vec<u8> {
    match verdict {
        Ok(()) => [number.as_slice(), &[ACCEPTED]].concat(),
        Err(text) => {
            let text = text.as_bytes();
            let text = text.get(..MESSAGE - NUMBER - 1).unwrap_or(text);
            [number.as_slice(), &[REFUSED], text].concat()
        }
    }
}

/// The process: reads the files, says how that went, and answers until the server ends.
fn run(asked: &Socket, accounts: &Iperf3Accounts) -> io::Result<()> {
    let ready = Judge::new(accounts).and_then(|judge| {
        let confined = sandbox::confine_server(None, false);
        confined.map_err(|error| format!("error - unable to confine: {}", system_text(&error)))?;
        Ok(judge)
    });
    let judge = match ready {
        Ok(judge) => judge,
        Err(text) => return pass::send(asked.as_fd(), &message(&START, &Err(text)), None),
    };
    pass::send(asked.as_fd(), &message(&START, &Ok(())), None)?;
    let mut bytes = [0; MESSAGE];
    loop {
        let (count, _) = pass::receive(asked.as_fd(), &mut bytes, PassWait::AsSet)?;
        let question = bytes.get(..count).and_then(<[u8]>::split_first_chunk);
        let Some((number, token)) = question else {
            return Ok(());
        };
        let refused_at = clock::now().plus(REFUSED_AFTER);
        let verdict = judge.check(token, clock::since_epoch());
        if verdict.is_err() {
            sleep(refused_at.left());
        }
        pass::send(asked.as_fd(), &message(number, &verdict), None)?;
    }
}

/// Knowledge of the process that checks users.
struct Judge {
    library: OpenSsl,
    key: RsaKey,
    users: AuthorizedUsers,
    paddings: Vec<RsaPadding>,
    skew: Duration,
}

impl Judge {
    fn new(accounts: &Iperf3Accounts) -> Result<Self, String> {
        let library = OpenSsl::load().map_err(|error| format!("error - {error}"))?;
        let pem = read(&accounts.private_key)?;
        let key = library.key(RsaPart::Private, &pem);
        let key = key.map_err(|error| unusable(&accounts.private_key, &error.to_string()))?;
        let text = read(&accounts.users)?;
        let users = std::str::from_utf8(&text)
            .map_err(|_| "the file is not text".to_owned())
            .and_then(|text| AuthorizedUsers::read(text).map_err(|error| error.to_string()));
        let judge = Self {
            library,
            key,
            users: users.map_err(|why| unusable(&accounts.users, &why))?,
            paddings: match accounts.padding {
                Some(padding) => vec![rsa_padding(padding)],
                None => vec![RsaPadding::Oaep, RsaPadding::Pkcs1],
            },
            skew: accounts.skew,
        };
        // The library opens files at first use, which the sandbox forbids later.
        let _none = judge.credentials(&[1; 256]);
        Ok(judge)
    }

    /// Compares a token with the users, at this time since the epoch.
    fn check(&self, token: &[u8], now: Duration) -> Result<(), String> {
        let token = std::str::from_utf8(token).ok().and_then(token_bytes);
        let token = token.ok_or("the token is not base64")?;
        let credentials = self.credentials(&token).ok_or(
            "the token is not encrypted with this server's public key, or with another padding",
        )?;
        let name = &credentials.user;
        let digest = self.library.sha256(credentials.hashed_text().as_bytes());
        match self.users.digest(name) {
            None => return Err(format!("no user {name:?}")),
            Some(known) if !bool::from(known.as_slice().ct_eq(&digest)) => {
                return Err(format!("wrong password of the user {name:?}"));
            }
            Some(_) => {}
        }
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let off = now.abs_diff(credentials.seconds);
        if off > self.skew.as_secs() {
            let most = self.skew.as_secs();
            return Err(format!(
                "the clock of the user {name:?} is {off} s off, more than --time-skew-threshold {most}"
            ));
        }
        Ok(())
    }

    fn credentials(&self, token: &[u8]) -> Option<Credentials> {
        let each = self.paddings.iter();
        let mut texts = each.filter_map(|padding| self.key.decrypt(*padding, token).ok());
        texts.find_map(|text| Credentials::read(&text))
    }
}

/// The text of the original about files that are not there or wrong, and what is wrong.
fn unusable(file: &str, why: &str) -> String {
    format!("parameter error - {ACCOUNTS}: {file}: {why}")
}

/// Reads a whole file.
fn read(path: &str) -> Result<Zeroizing<Vec<u8>>, String> {
    let contents = || {
        // A pipe without a writer does not block.
        let file: File = process::open_at_once(path.as_ref())?;
        let size = file.metadata()?.len();
        if size > LONGEST_FILE {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        // A buffer that grows would leave copies behind.
        let room = usize::try_from(size).unwrap_or_default() + 1;
        let mut bytes = Zeroizing::new(Vec::with_capacity(room));
        file.take(size).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    contents().map_err(|error| unusable(path, &system_text(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netperf_iperf3::messages::{TokenPadding, token};
    use netperf_testkit::{Scratch, rsa};

    const NOW: Duration = Duration::from_secs(1_800_000_000);

    /// Files of a server.
    fn accounts(scratch: &Scratch, padding: Option<TokenPadding>) -> Iperf3Accounts {
        let file = |name: &str, text: &str| {
            let path = scratch.path().join(name);
            std::fs::write(&path, text).expect("a file");
            path.display().to_string()
        };
        Iperf3Accounts {
            private_key: file("private.pem", rsa::PRIVATE),
            users: file("users.csv", rsa::USERS),
            skew: Duration::from_secs(10),
            padding,
        }
    }

    fn sealed(key: &str, padding: RsaPadding, text: &str) -> String {
        let library = OpenSsl::load().expect("install Debian's libssl3");
        let key = library.key(RsaPart::Public, key.as_bytes()).expect("a key");
        token(&key.encrypt(padding, text.as_bytes()).expect("a message"))
    }

    fn text(user: &str, password: &str, seconds: u64) -> String {
        format!("user: {user}\npwd:  {password}\nts:   {seconds}")
    }

    #[test]
    fn authority_accepts_users_with_each_padding_within_the_skew() {
        let scratch = Scratch::new();
        let judge = Judge::new(&accounts(&scratch, None)).unwrap();
        for padding in [RsaPadding::Pkcs1, RsaPadding::Oaep] {
            for seconds in [1_799_999_990, 1_800_000_000, 1_800_000_010] {
                let token = sealed(rsa::PUBLIC, padding, &text("user1", "secret", seconds));
                assert_eq!(judge.check(token.as_bytes(), NOW), Ok(()));
            }
        }
    }

    #[test]
    fn authority_with_one_padding_refuses_the_other() {
        let scratch = Scratch::new();
        for (only, good, bad) in [
            (TokenPadding::Pkcs1, RsaPadding::Pkcs1, RsaPadding::Oaep),
            (TokenPadding::Oaep, RsaPadding::Oaep, RsaPadding::Pkcs1),
        ] {
            let judge = Judge::new(&accounts(&scratch, Some(only))).unwrap();
            let text = text("user1", "secret", NOW.as_secs());
            let check = |padding| judge.check(sealed(rsa::PUBLIC, padding, &text).as_bytes(), NOW);
            assert_eq!(check(good), Ok(()));
            assert!(check(bad).unwrap_err().contains("another padding"));
        }
    }

    #[test]
    fn authority_names_why_it_refuses() {
        let scratch = Scratch::new();
        let judge = Judge::new(&accounts(&scratch, None)).unwrap();
        let oaep = |key, text: &str| sealed(key, RsaPadding::Oaep, text);
        let now = NOW.as_secs();
        let whole = oaep(rsa::PUBLIC, &text("user1", "secret", now));
        // Another letter than the first, whichever that is.
        let other = if whole.starts_with('A') { "B" } else { "A" };
        let broken = format!("{other}{}", whole.get(1..).unwrap());
        for (token, reason) in [
            (
                oaep(rsa::PUBLIC, &text("user1", "Secret", now)),
                "wrong password of the user \"user1\"",
            ),
            (
                oaep(rsa::PUBLIC, &text("x\u{1b}", "secret", now)),
                "no user \"x\\u{1b}\"",
            ),
            (
                oaep(rsa::PUBLIC, &text("user1", "secret", now - 11)),
                "11 s off",
            ),
            (
                oaep(rsa::PUBLIC, &text("user1", "secret", now + 11)),
                "11 s off",
            ),
            (oaep(rsa::PUBLIC, "user1"), "not encrypted"),
            (
                oaep(rsa::OTHER_PUBLIC, &text("user1", "secret", now)),
                "not encrypted",
            ),
            (broken, "not encrypted"),
            ("AAAA".to_owned(), "not encrypted"),
            ("no base64".to_owned(), "not base64"),
            (String::new(), "not base64"),
        ] {
            let refused = judge.check(token.as_bytes(), NOW).unwrap_err();
            assert!(refused.contains(reason), "{refused}");
        }
    }

    #[test]
    fn authority_names_the_file_that_is_wrong() {
        let scratch = Scratch::new();
        let good = accounts(&scratch, None);
        let file = |text: &str| {
            let path = scratch.path().join("wrong");
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let error = |accounts: &Iperf3Accounts| Judge::new(accounts).err().expect("an error");
        for (text, reason) in [
            (rsa::PUBLIC, "wrong: this is a public key"),
            (rsa::PROTECTED, "wrong: a passphrase protects the key"),
            ("", "wrong: no RSA key"),
        ] {
            let private_key = file(text);
            let line = error(&Iperf3Accounts {
                private_key,
                ..good.clone()
            });
            assert!(line.contains(reason) && !line.contains('\n'), "{line}");
        }
        for (text, reason) in [
            ("", "wrong: the file has no user"),
            ("user1\n", "wrong: line 1"),
        ] {
            let users = file(text);
            let line = error(&Iperf3Accounts {
                users,
                ..good.clone()
            });
            assert!(line.contains(reason) && !line.contains('\n'), "{line}");
        }
        let absent = Iperf3Accounts {
            users: "/absent".to_owned(),
            ..good
        };
        assert!(error(&absent).ends_with("/absent: No such file or directory"));
    }

    #[test]
    fn threat_model_a_late_answer_is_not_that_to_the_next_token() {
        let (near, far) = pass::pair().unwrap();
        let authority = Authority::at(near);
        // The answer to a question of before, which accepts, comes first.
        let answers = |number: u64, verdict| {
            let message = message(&number.to_be_bytes(), &verdict);
            pass::send(far.as_fd(), &message, None).unwrap();
        };
        answers(7, Ok(()));
        answers(1, Err("no user".to_owned()));
        assert_eq!(authority.check(Some("AAAA")), Err("no user".to_owned()));
        answers(1, Ok(()));
        answers(2, Ok(()));
        assert_eq!(authority.check(Some("AAAA")), Ok(()));
    }
}
