//! The user of a client, which a server with users asks for.

use std::io;

use netperf_iperf3::messages::{Credentials, TokenPadding, token};
use netperf_iperf3::options::{Iperf3Login, LOGIN};
use netperf_measure::clock;
use netperf_os::openssl::{OpenSsl, RsaError, RsaKey, RsaPart};
use netperf_os::terminal;
use netperf_program::iperf3::rsa_padding;
use netperf_program::key::variable;
use netperf_program::output::system_text;
use zeroize::Zeroizing;

/// Environment variable with the password.
const PASSWORD: &str = "IPERF3_PASSWORD";
/// Question of the original.
const QUESTION: &str = "Password: ";

/// A user, and how the password is encrypted.
#[derive(Clone, PartialEq)]
pub struct Iperf3User {
    name: String,
    password: Zeroizing<String>,
    /// File of the public key of the server, and its contents.
    file: String,
    pem: Vec<u8>,
    padding: TokenPadding,
}

impl std::fmt::Debug for Iperf3User {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, file, padding) = (&self.name, &self.file, self.padding);
        write!(f, "Iperf3User({name:?}, {file:?}, {padding:?})")
    }
}

impl Iperf3User {
    /// Reads the key, and the password from the environment or the terminal.
    ///
    /// # Errors
    /// The text that follows `iperf3: `.
    pub fn new(login: &Iperf3Login) -> Result<Self, String> {
        Self::with(login, || {
            variable(PASSWORD).map_or_else(
                || terminal::ask_secretly(QUESTION),
                |password| Ok(Zeroizing::new(password)),
            )
        })
    }

    fn with(
        login: &Iperf3Login,
        password: impl FnOnce() -> io::Result<Zeroizing<String>>,
    ) -> Result<Self, String> {
        let file = &login.public_key;
        let pem = std::fs::read(file)
            .map_err(|error| incomplete(&format!("{file}: {}", system_text(&error))))?;
        let mut user = Self {
            name: login.user.clone(),
            password: Zeroizing::default(),
            file: file.clone(),
            pem,
            padding: login.padding,
        };
        user.key()?;
        if user.name.is_empty() || user.name.contains('\n') {
            return Err(incomplete("--username is not a name"));
        }
        user.password = password().map_err(|error| no_password(&error))?;
        // A text that is too long is an error before the server is asked.
        user.token()?;
        Ok(user)
    }

    fn key(&self) -> Result<RsaKey, String> {
        let library = OpenSsl::load().map_err(|error| format!("error - {error}"))?;
        let key = library.key(RsaPart::Public, &self.pem);
        key.map_err(|error| incomplete(&format!("{}: {error}", self.file)))
    }

    /// The padding of the token.
    pub(super) const fn padding(&self) -> TokenPadding {
        self.padding
    }

    /// A token of this time for the parameters of a test.
    ///
    /// # Errors
    /// The text that follows `iperf3: `.
    pub(super) fn token(&self) -> Result<String, String> {
        let credentials = Credentials {
            user: self.name.clone(),
            password: self.password.clone(),
            seconds: i64::try_from(clock::since_epoch().as_secs()).unwrap_or(i64::MAX),
        };
        let text = credentials.text();
        let padding = rsa_padding(self.padding);
        let sealed = self.key()?.encrypt(padding, text.as_bytes());
        let sealed = sealed.map_err(|error: RsaError| {
            let file = &self.file;
            format!("error - user name and password are too long for the key {file}: {error}")
        })?;
        Ok(token(&sealed))
    }
}

/// The text of the original about an incomplete user, and what is missing.
fn incomplete(what: &str) -> String {
    format!("parameter error - {LOGIN}: {what}")
}

fn no_password(error: &io::Error) -> String {
    let is = |kind| error.kind() == kind;
    let why = if is(io::ErrorKind::Interrupted) {
        return "interrupt - the client has terminated".to_owned();
    } else if is(io::ErrorKind::UnexpectedEof) {
        "the password is empty".to_owned()
    } else if is(io::ErrorKind::InvalidData) {
        "the password is not UTF-8".to_owned()
    } else {
        let system = system_text(error);
        format!("no terminal to ask for the password ({system})")
    };
    incomplete(&format!("{why}: set {PASSWORD}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netperf_os::openssl::RsaPadding;
    use std::path::Path;

    fn login(file: &str, padding: TokenPadding) -> Iperf3Login {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/src/rsa");
        Iperf3Login {
            user: "user1".to_owned(),
            public_key: folder.join(file).display().to_string(),
            padding,
        }
    }

    fn secret(text: &str) -> io::Result<Zeroizing<String>> {
        Ok(Zeroizing::new(text.to_owned()))
    }

    #[test]
    fn user_is_encrypted_with_either_padding() {
        for (padding, of_key) in [
            (TokenPadding::Pkcs1, RsaPadding::Pkcs1),
            (TokenPadding::Oaep, RsaPadding::Oaep),
        ] {
            let user = Iperf3User::with(&login("public.pem", padding), || secret("a b")).unwrap();
            let sealed = netperf_iperf3::messages::token_bytes(&user.token().unwrap()).unwrap();
            let pem = include_bytes!("../../../testkit/src/rsa/private.pem");
            let private = OpenSsl::load().unwrap().key(RsaPart::Private, pem).unwrap();
            let read = Credentials::read(&private.decrypt(of_key, &sealed).unwrap()).unwrap();
            assert_eq!((&*read.user, &**read.password), ("user1", "a b"));
            assert!(!format!("{user:?}").contains("a b"));
        }
    }

    #[test]
    fn user_with_a_wrong_file_or_password_is_told_which() {
        let error = |file: &str, password: fn() -> io::Result<Zeroizing<String>>| {
            Iperf3User::with(&login(file, TokenPadding::Oaep), password).unwrap_err()
        };
        for (file, password, text) in [
            (
                "absent.pem",
                (|| secret("x")) as fn() -> _,
                "absent.pem: No such file or directory",
            ),
            ("private.pem", || secret("x"), "this is a private key"),
            ("elliptic-public.pem", || secret("x"), "not an RSA key"),
            (
                "public.pem",
                || Err(io::ErrorKind::UnexpectedEof.into()),
                "the password is empty: set IPERF3_PASSWORD",
            ),
            (
                "public.pem",
                || Err(io::Error::from_raw_os_error(6)),
                "no terminal to ask for the password (No such device or address): set IPERF3_PASSWORD",
            ),
            (
                "public.pem",
                || secret(&"x".repeat(200)),
                "user name and password are too long for the key",
            ),
            (
                "public.pem",
                || Err(io::ErrorKind::Interrupted.into()),
                "interrupt - the client has terminated",
            ),
        ] {
            let line = error(file, password);
            assert!(line.contains(text) && !line.contains('\n'), "{line}");
        }
    }
}
