//! A conversation with a PostgreSQL server: one question, one answer.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::address::{Address, Host, Tls};
use super::scram::{Expected, MECHANISM, Scram};
use super::{tls, wire};
use crate::database::{Row, Value};

/// How long a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// How long it may be silent: longer than it is given for a statement.
const SILENCE: Duration = Duration::from_secs(70);
/// The longest message that is taken from it.
const LONGEST: usize = 1 << 30;

/// What carries the bytes.
trait Carrier: Read + Write + Send {}
impl<T: Read + Write + Send> Carrier for T {}

/// A connection that is ready for a statement.
pub(super) struct Connection {
    carrier: Box<dyn Carrier>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

/// A message from the server.
struct Said {
    kind: u8,
    body: Vec<u8>,
}

impl Connection {
    /// Connects and proves who we are. An error is a line without the address.
    pub(super) fn open(address: &Address) -> Result<Self, String> {
        let (carrier, secret) = carrier(address)?;
        let mut connection = Self { carrier };
        connection.send(&wire::startup(&address.user, &address.database))?;
        connection.authenticate(address, secret)?;
        // Parameters and the key for cancelling are of no use here.
        while connection.hear()?.kind != b'Z' {}
        Ok(connection)
    }

    /// Answers the server until it is satisfied. `secret` says that nobody can listen.
    fn authenticate(&mut self, address: &Address, secret: bool) -> Result<(), String> {
        let mut proof: Option<Scram> = None;
        let mut expected: Option<Expected> = None;
        let mut proven = false;
        loop {
            let said = self.hear()?;
            if said.kind != b'R' {
                return Err(unexpected(said.kind));
            }
            let mut rest = wire::Cursor(&said.body);
            let wanted = rest.int();
            let text = || String::from_utf8_lossy(said.body.get(4..).unwrap_or_default());
            let password = || {
                let password = address.password.as_ref().map(|secret| secret.0.as_str());
                password.ok_or(
                    "the server asks for a password: give it in the URL, in PGPASSWORD or in \
                     ~/.pgpass",
                )
            };
            match wanted {
                // Somebody who knows nothing of the password could say so as well.
                Some(0) if proof.is_some() && !proven => {
                    return Err("the server did not prove that it knows the password".to_owned());
                }
                Some(0) => return Ok(()),
                Some(3) if secret => self.send(&wire::password(password()?))?,
                Some(3) => {
                    return Err(
                        "the server asks for the password in clear, and the connection \
                                is not encrypted: sslmode=require encrypts it"
                            .to_owned(),
                    );
                }
                Some(10) => {
                    if !text().split('\0').any(|name| name == MECHANISM) {
                        return Err(format!("the server does not know {MECHANISM}"));
                    }
                    password()?;
                    let scram = Scram::begin().ok_or("the system has no random bytes")?;
                    self.send(&wire::sasl_initial(MECHANISM, &scram.first()))?;
                    proof = Some(scram);
                }
                Some(11) => {
                    let answer = proof.as_ref().zip(Some(password()?));
                    let answer = answer.and_then(|(scram, word)| scram.answer(&text(), word));
                    let (answer, due) = answer.ok_or("the server's challenge makes no sense")?;
                    self.send(&wire::sasl_response(&answer))?;
                    expected = Some(due);
                }
                Some(12) => {
                    proven = expected.as_ref().is_some_and(|due| due.is_met(&text()));
                }
                Some(5) => {
                    return Err(
                        "the server asks for an MD5 proof, which is broken: have it \
                                keep the password as scram-sha-256"
                            .to_owned(),
                    );
                }
                _ => {
                    return Err("the server asks for a proof that is not a password".to_owned());
                }
            }
        }
    }

    /// Runs a statement: its rows, and how many it touched.
    pub(super) fn ask(
        &mut self,
        statement: &str,
        values: &[Value],
    ) -> Result<(Vec<Row>, u64), String> {
        let question = wire::statement(statement, values).ok_or("too many values")?;
        self.send(&question)?;
        let (mut columns, mut rows, mut touched) = (Vec::new(), Vec::new(), 0);
        let mut problem = None;
        loop {
            let said = self.hear_all()?;
            match said.kind {
                b'T' => columns = wire::columns(&said.body).ok_or_else(|| unexpected(b'T'))?,
                b'D' => {
                    let row = wire::row(&said.body, &columns).ok_or_else(|| unexpected(b'D'))?;
                    rows.push(Row::new(row));
                }
                b'C' => touched = wire::touched(&said.body),
                b'E' => problem = Some(wire::error(&said.body)),
                b'Z' => break,
                // Parse and Bind are complete, there are no rows, there was no statement.
                b'1' | b'2' | b'n' | b'I' => {}
                kind => return Err(unexpected(kind)),
            }
        }
        match problem {
            Some(problem) => Err(problem),
            None => Ok((rows, touched)),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        let sent = self.carrier.write_all(bytes);
        sent.and_then(|()| self.carrier.flush())
            .map_err(|error| broken(&error))
    }

    /// The next message; an error of the server is one of ours.
    fn hear(&mut self) -> Result<Said, String> {
        match self.hear_all()? {
            Said { kind: b'E', body } => Err(wire::error(&body)),
            said => Ok(said),
        }
    }

    /// The next message that is not one of those that may come at any time: notices, and
    /// parameters that changed.
    fn hear_all(&mut self) -> Result<Said, String> {
        loop {
            let mut head = [0; 5];
            self.carrier
                .read_exact(&mut head)
                .map_err(|error| broken(&error))?;
            let [kind, length @ ..] = head;
            let length = usize::try_from(i32::from_be_bytes(length)).ok();
            let length = length
                .and_then(|length| length.checked_sub(4))
                .filter(|length| *length <= LONGEST)
                .ok_or_else(|| unexpected(kind))?;
            let mut body = Vec::new();
            // What is announced is not made room for before it comes.
            let wanted = u64::try_from(length).unwrap_or(u64::MAX);
            let read = (&mut self.carrier).take(wanted).read_to_end(&mut body);
            match read {
                Ok(read) if read == length => {}
                Ok(_) => return Err("the server closed the connection".to_owned()),
                Err(error) => return Err(broken(&error)),
            }
            if !matches!(kind, b'N' | b'S' | b'A') {
                return Ok(Said { kind, body });
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // The server notices by itself, too.
        self.send(&wire::terminate()).ok();
    }
}

fn unexpected(kind: u8) -> String {
    let kind = char::from(kind).escape_default();
    format!("the server said something that PostgreSQL does not say (message {kind})")
}

fn broken(error: &io::Error) -> String {
    use io::ErrorKind::{TimedOut, UnexpectedEof, WouldBlock};
    if [WouldBlock, TimedOut].contains(&error.kind()) {
        return format!("the server was silent for {} s", SILENCE.as_secs());
    }
    if error.kind() == UnexpectedEof {
        return "the server closed the connection".to_owned();
    }
    netperf_web::escape::line(&crate::trouble::plain(error))
}

/// A connection, and whether nobody on the way can listen.
fn carrier(address: &Address) -> Result<(Box<dyn Carrier>, bool), String> {
    let name = match &address.host {
        Host::Folder(folder) => {
            let path = folder.join(format!(".s.PGSQL.{}", address.port));
            let stream = UnixStream::connect(path).map_err(|error| broken(&error))?;
            let patient = stream
                .set_read_timeout(Some(SILENCE))
                .and_then(|()| stream.set_write_timeout(Some(SILENCE)));
            patient.map_err(|error| broken(&error))?;
            return Ok((Box::new(stream), true));
        }
        Host::Name(name) => name,
    };
    let mut stream = tcp(name, address.port)?;
    let roots = match &address.tls {
        Tls::Disable => return Ok((Box::new(stream), false)),
        Tls::Prefer | Tls::Require => None,
        Tls::VerifyFull(roots) => Some(roots.as_path()),
    };
    stream
        .write_all(&wire::ask_for_tls())
        .map_err(|error| broken(&error))?;
    let mut answer = [0];
    stream
        .read_exact(&mut answer)
        .map_err(|error| broken(&error))?;
    match (answer, &address.tls) {
        ([b'S'], _) => Ok((Box::new(tls::over(stream, name, roots)?), true)),
        ([b'N'], Tls::Prefer) => Ok((Box::new(stream), false)),
        ([b'N'], _) => Err("the server does no TLS, which the sslmode asks for".to_owned()),
        ([kind], _) => Err(unexpected(kind)),
    }
}

fn tcp(name: &str, port: u16) -> Result<TcpStream, String> {
    let found = (name, port)
        .to_socket_addrs()
        .map_err(|error| broken(&error))?;
    let mut problem = "the host has no address".to_owned();
    for address in found {
        let connected = TcpStream::connect_timeout(&address, CONNECT).and_then(|stream| {
            stream.set_read_timeout(Some(SILENCE))?;
            stream.set_write_timeout(Some(SILENCE))?;
            stream.set_nodelay(true)?;
            Ok(stream)
        });
        match connected {
            Ok(stream) => return Ok(stream),
            Err(error) => problem = crate::trouble::plain(&error),
        }
    }
    Err(problem)
}
