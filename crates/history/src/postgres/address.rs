//! Address of a PostgreSQL database and its user: a URL (PostgreSQL manual, 34.1.1
//! Connection Strings), completed from the environment.

use std::collections::HashMap;
use std::fmt;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use netperf_model::system_text;

use crate::error::HistoryError;
use crate::location::Variables;

/// The default port.
const PORT: u16 = 5432;
/// The directory of the local socket in Debian and most other distributions.
const FOLDER: &str = "/var/run/postgresql";

/// A server, a database, and a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresAddress {
    pub(super) host: ServerHost,
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) database: String,
    pub(super) password: Option<Password>,
    pub(super) tls: TlsMode,
}

/// The endpoint of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServerHost {
    /// A TCP port of this host.
    Name(String),
    /// A socket in this directory.
    Folder(PathBuf),
}

/// Encryption of the connection, and authentication of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TlsMode {
    /// No encryption.
    Disable,
    /// Encryption if the server supports it; the server is not authenticated.
    Prefer,
    /// Encryption; the server is not authenticated, as with libpq.
    Require,
    /// Encryption, and a certificate for the server's name, signed by one in this file.
    VerifyFull(PathBuf),
}

/// Text that no message may contain.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Password(pub(super) String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Without the password.
impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = match &self.host {
            ServerHost::Name(name) if name.contains(':') => {
                format!("{}@[{name}]:{}/{}", self.user, self.port, self.database)
            }
            ServerHost::Name(name) => {
                format!("{}@{name}:{}/{}", self.user, self.port, self.database)
            }
            ServerHost::Folder(folder) => {
                format!("{}@/{}?host={}", self.user, self.database, folder.display())
            }
        };
        write!(f, "postgres://{}", netperf_web::escape::line(&line))
    }
}

/// The parts of a URL by the names of its options.
type UrlParts = HashMap<&'static str, String>;

/// The names of options.
const OPTIONS: [&str; 7] = [
    "host",
    "port",
    "user",
    "dbname",
    "password",
    "sslmode",
    "sslrootcert",
];

impl PostgresAddress {
    /// Parses the part after `postgres://`.
    pub(crate) fn read(rest: &str, variables: Variables<'_>) -> Result<Self, HistoryError> {
        let mut parts = parts(rest)?;
        let mut part = |own: &str, name: &str| parts.remove(own).or_else(|| variables(name));
        let user = part("user", "PGUSER")
            .or_else(|| variables("USER"))
            .ok_or_else(|| wrong("names no user, and neither do PGUSER and USER"))?;
        let port = match part("port", "PGPORT") {
            Some(port) => port
                .parse()
                .map_err(|_| wrong("has an invalid port: use a number from 1 to 65535"))?,
            None => PORT,
        };
        let host = part("host", "PGHOST").unwrap_or_else(|| FOLDER.to_owned());
        let host = if host.starts_with('/') {
            ServerHost::Folder(PathBuf::from(host))
        } else {
            ServerHost::Name(host)
        };
        let password = part("password", "PGPASSWORD");
        let (mode, roots) = (parts.remove("sslmode"), parts.remove("sslrootcert"));
        let tls = tls(mode.as_deref(), roots)?;
        let database = parts.remove("dbname").unwrap_or_else(|| user.clone());
        let mut address = Self {
            tls,
            host,
            port,
            user,
            database,
            password: None,
        };
        address.password = match password {
            Some(password) => Some(Password(password)),
            None => address.in_password_file(variables)?,
        };
        Ok(address)
    }

    /// The password in `PGPASSFILE` or ~/.pgpass (PostgreSQL manual, 34.16 The Password
    /// File). A file that other users can read is refused.
    fn in_password_file(&self, variables: Variables<'_>) -> Result<Option<Password>, HistoryError> {
        let home = || variables("HOME").map(|home| Path::new(&home).join(".pgpass"));
        let named = variables("PGPASSFILE").map(PathBuf::from);
        let Some(path) = named.or_else(home) else {
            return Ok(None);
        };
        let shown = netperf_web::escape::line(&path.to_string_lossy());
        let Ok(facts) = std::fs::metadata(&path) else {
            return Ok(None);
        };
        if facts.permissions().mode() & 0o077 != 0 {
            return Err(HistoryError::Place(format!(
                "{shown} can be read by others: chmod 600 it, or give the password elsewhere"
            )));
        }
        let text = std::fs::read_to_string(&path)
            .map_err(|error| HistoryError::Place(format!("{shown}: {}", system_text(&error))))?;
        Ok(text
            .lines()
            .find_map(|line| self.password_of(line))
            .map(Password))
    }

    /// The password of a line, if the line matches this address.
    fn password_of(&self, line: &str) -> Option<String> {
        let host = match &self.host {
            ServerHost::Name(name) => name.clone(),
            // For any directory.
            ServerHost::Folder(_) => "localhost".to_owned(),
        };
        let fields = fields(line);
        let (password, names) = fields.split_last()?;
        let own = [&host, &self.port.to_string(), &self.database, &self.user];
        let same = names.len() == own.len()
            && names
                .iter()
                .zip(own)
                .all(|(name, own)| name == "*" || name == own);
        (same && !line.starts_with('#')).then(|| password.clone())
    }
}

/// The five fields of a line, separated by colons; a backslash escapes the next character.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let plain = match letter {
            '\\' => letters.next(),
            ':' if fields.len() < 5 => {
                fields.push(String::new());
                continue;
            }
            letter => Some(letter),
        };
        if let Some(field) = fields.last_mut() {
            field.extend(plain);
        }
    }
    fields
}

fn wrong(why: &str) -> HistoryError {
    HistoryError::Place(format!("the postgres:// address {why}"))
}

fn parts(rest: &str) -> Result<UrlParts, HistoryError> {
    let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
    let (server, database) = place.split_once('/').unwrap_or((place, ""));
    let (who, server) = server.rsplit_once('@').unwrap_or(("", server));
    let (user, password) = match who.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (who, None),
    };
    let (host, port) = match server
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
    {
        Some((host, port)) => (host, port.strip_prefix(':')),
        None => match server.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (server, None),
        },
    };
    let mut parts = UrlParts::new();
    for (name, text) in [
        ("host", host),
        ("port", port.unwrap_or_default()),
        ("user", user),
        ("dbname", database),
        ("password", password.unwrap_or_default()),
    ] {
        if !text.is_empty() {
            parts.insert(name, decoded(text)?);
        }
    }
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let Some(known) = OPTIONS.into_iter().find(|known| *known == name) else {
            let name = netperf_web::escape::line(name);
            return Err(wrong(&format!(
                "has an option {name}; there are host, port, user, dbname, password, sslmode \
                 and sslrootcert"
            )));
        };
        parts.insert(known, decoded(value)?);
    }
    Ok(parts)
}

fn tls(mode: Option<&str>, roots: Option<String>) -> Result<TlsMode, HistoryError> {
    match (mode, roots) {
        (None | Some("prefer"), _) => Ok(TlsMode::Prefer),
        (Some("disable"), _) => Ok(TlsMode::Disable),
        (Some("require"), None) => Ok(TlsMode::Require),
        // libpq too verifies the certificate if there is a file of roots.
        (Some("require" | "verify-full"), Some(roots)) => Ok(TlsMode::VerifyFull(roots.into())),
        (Some("verify-full"), None) => Err(wrong("needs sslrootcert=FILE for verify-full")),
        (Some(_), _) => Err(wrong(
            "has a sslmode that is not disable, prefer, require or verify-full",
        )),
    }
}

/// Text with `%xx` in it (RFC 3986, 2.1).
fn decoded(text: &str) -> Result<String, HistoryError> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(rest.next()), digit(rest.next()));
        let value = high
            .zip(low)
            .and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(value.ok_or_else(|| wrong("has a % without two hexadecimal digits"))?);
    }
    String::from_utf8(bytes).map_err(|_| wrong("is not text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rest: &str) -> Result<PostgresAddress, HistoryError> {
        let variable = |name: &str| (name == "USER").then(|| "me".to_owned());
        PostgresAddress::read(rest, &variable)
    }

    #[test]
    fn an_address_is_read_with_all_its_parts() {
        let full = read("u:p%40ss@db:5433/results?sslmode=disable").unwrap();
        assert_eq!(full.password, Some(Password("p@ss".to_owned())));
        assert_eq!(full.to_string(), "postgres://u@db:5433/results");
        assert_eq!(full.tls, TlsMode::Disable);
        let least = read("").unwrap();
        assert_eq!(
            least.to_string(),
            "postgres://me@/me?host=/var/run/postgresql"
        );
        assert_eq!(least.port, 5432);
        let six = read("u@[::1]:1/x").unwrap();
        assert_eq!(
            (six.host, six.port),
            (ServerHost::Name("::1".to_owned()), 1)
        );
        let folder = read("/x?host=/tmp/a%20b&port=7").unwrap();
        assert_eq!(folder.host, ServerHost::Folder("/tmp/a b".into()));
        assert_eq!(folder.port, 7);
    }

    #[test]
    fn an_address_is_completed_from_the_environment() {
        let variables = [
            ("USER", "me"),
            ("PGUSER", "u"),
            ("PGHOST", "db"),
            ("PGPORT", "7"),
            ("PGPASSWORD", "geheim"),
        ];
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let found = PostgresAddress::read("", &variable).unwrap();
        assert_eq!(found.to_string(), "postgres://u@db:7/u");
        assert_eq!(found.password, Some(Password("geheim".to_owned())));
        let named = PostgresAddress::read("v:x@[::1]:8/d", &variable).unwrap();
        assert_eq!(named.to_string(), "postgres://v@[::1]:8/d");
        assert_eq!(named.password, Some(Password("x".to_owned())));
        let nobody = PostgresAddress::read("", &|_| None)
            .unwrap_err()
            .to_string();
        assert!(nobody.contains("names no user"), "{nobody}");
    }

    #[test]
    fn a_mode_of_tls_is_one_of_four() {
        let roots = || TlsMode::VerifyFull("/r".into());
        for (options, expected) in [
            ("", TlsMode::Prefer),
            ("?sslmode=prefer&sslrootcert=/r", TlsMode::Prefer),
            ("?sslmode=disable&sslrootcert=/r", TlsMode::Disable),
            ("?sslmode=require", TlsMode::Require),
            ("?sslmode=require&sslrootcert=/r", roots()),
            ("?sslmode=verify-full&sslrootcert=/r&", roots()),
        ] {
            assert_eq!(
                read(&format!("h/d{options}")).unwrap().tls,
                expected,
                "{options}"
            );
        }
    }

    #[test]
    fn a_percent_sign_stands_before_two_hexadecimal_digits() {
        assert_eq!(decoded("a%2Fb%c3%bC").unwrap(), "a/b\u{fc}");
        for (text, said) in [
            ("%", "hexadecimal"),
            ("%4", "hexadecimal"),
            ("%4g", "hexadecimal"),
        ] {
            assert!(
                decoded(text).unwrap_err().to_string().contains(said),
                "{text}"
            );
        }
        assert!(
            decoded("%ff")
                .unwrap_err()
                .to_string()
                .contains("is not text")
        );
    }

    #[test]
    fn a_socket_is_localhost_in_the_password_file() {
        let address = read("u@/d?host=/tmp/x&port=1").unwrap();
        assert_eq!(
            address.password_of("localhost:1:d:u:secret").as_deref(),
            Some("secret")
        );
        assert_eq!(address.password_of("/tmp/x:1:d:u:secret"), None);
    }

    #[test]
    fn address_errors_do_not_show_the_password() {
        for (text, said) in [
            ("u:geheim@h:x/d", "port"),
            ("u:geheim@h/d?sslmode=always", "sslmode"),
            ("u:geheim@h/d?sslmode=verify-full", "sslrootcert"),
            ("u:geheim@h/d?color=red", "color"),
            ("u:geheim%@h/d", "hexadecimal"),
        ] {
            let line = read(text).unwrap_err().to_string();
            assert!(line.contains(said), "{line}");
            assert!(!line.contains("geheim"), "{line}");
        }
        let shown = format!("{:?}", read("u:geheim@h/d").unwrap());
        assert!(shown.contains("password: Some(Secret)"), "{shown}");
        assert!(!shown.contains("geheim"), "{shown}");
    }

    #[test]
    fn the_password_file_is_read_as_libpq_reads_it() {
        let address = read("u@h:1/d").unwrap();
        for (line, password) in [
            ("h:1:d:u:secret", Some("secret")),
            ("*:*:*:u:a\\:b:c", Some("a:b:c")),
            ("h:2:d:u:secret", None),
            ("#h:1:d:u:secret", None),
            ("h:1:d:u", None),
            ("", None),
        ] {
            assert_eq!(address.password_of(line).as_deref(), password, "{line}");
        }
    }

    #[test]
    fn a_password_file_that_others_may_read_is_refused() {
        let scratch = netperf_testkit::Scratch::new();
        let path = scratch.path().join("pass");
        std::fs::write(&path, "h:5432:d:u:geheim\n").unwrap();
        let variable =
            |name: &str| (name == "PGPASSFILE").then(|| path.to_string_lossy().into_owned());
        let read = || PostgresAddress::read("u@h/d", &variable);
        for mode in [0o644, 0o640, 0o604, 0o610] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert!(
                read().unwrap_err().to_string().contains("chmod 600"),
                "{mode:o}"
            );
        }
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(
            read().unwrap().password,
            Some(Password("geheim".to_owned()))
        );
        let pgpass = scratch.path().join(".pgpass");
        std::fs::rename(&path, pgpass).unwrap();
        assert_eq!(read().unwrap().password, None);
        let home =
            |name: &str| (name == "HOME").then(|| scratch.path().to_string_lossy().into_owned());
        let at_home = PostgresAddress::read("u@h/d", &home).unwrap();
        assert_eq!(at_home.password, Some(Password("geheim".to_owned())));
    }
}
