//! A connection to a PostgreSQL server, on which one statement runs at a time.

use std::error::Error as _;
use std::io;
use std::net::ToSocketAddrs as _;
use std::pin::pin;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use netperf_model::system_text;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, NoTls};

use super::address::{PostgresAddress, ServerHost, TlsMode};
use super::budget::{AnswerBudget, Budgeted, TOO_MUCH};
use super::login::LoginCheck;
use super::tls;
use crate::database::{SqlRow, SqlValue};

/// The longest time to wait for a server to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// The longest time of a statement: more than the server's own limit.
const SILENCE: Duration = Duration::from_secs(70);
/// The longest time to wait for the end of a connection.
const CLOSE: Duration = Duration::from_secs(1);
/// Asks whether the server can do TLS (PostgreSQL manual, 55.7, SSLRequest).
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Most bytes of a server until the login is over.
const LOGIN: u64 = 1 << 20;
/// Most letters of a message of a server.
const MESSAGE: usize = 500;
/// Memory of a row, beside its values, bytes.
const ROW: usize = size_of::<SqlRow>();

/// Limit of a server's response to a statement.
#[derive(Clone, Copy, Debug)]
struct AnswerLimits {
    /// Bytes that it sends, and that its rows take in memory.
    bytes: u64,
    /// Time for all of it.
    time: Duration,
}

impl Default for AnswerLimits {
    fn default() -> Self {
        Self {
            bytes: 1 << 30,
            time: SILENCE,
        }
    }
}

/// A stream of bytes to the server and back.
trait Carrier: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Carrier for T {}

/// A connection that is ready for a statement.
#[derive(Debug)]
pub(super) struct Connection {
    /// Runs on this thread, only while a statement is waited for.
    runtime: Runtime,
    client: Option<Client>,
    limits: AnswerLimits,
    /// Bytes that the server may still send.
    budget: AnswerBudget,
    /// Moves the messages between the client and the socket.
    messages: JoinHandle<()>,
}

impl Connection {
    /// Connects and logs in. An error is a line without the address.
    pub(super) fn open(address: &PostgresAddress) -> Result<Self, String> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| broken(&error))?;
        let mut config = Config::new();
        config
            .user(&address.user)
            .dbname(&address.database)
            .application_name("netperf history")
            // TLS is below: this module checks the certificate and the login messages.
            .ssl_mode(SslMode::Disable);
        if let Some(password) = &address.password {
            config.password(&password.0);
        }
        let budget = AnswerBudget::default();
        budget.renew(LOGIN);
        let connected = runtime.block_on(async {
            let (carrier, is_authenticated) = carrier(address).await?;
            let (reader, writer) = tokio::io::split(carrier);
            let has_password = address.password.is_some();
            let reader = Budgeted::new(reader, budget.clone());
            let reader = LoginCheck::new(reader, is_authenticated, has_password);
            let stream = tokio::io::join(reader, writer);
            let (client, messages) = patient(config.connect_raw(stream, NoTls)).await?;
            // The client hears of a broken connection with its next statement.
            let messages = tokio::spawn(async { drop(messages.await) });
            Ok::<_, String>((client, messages))
        });
        let (client, messages) = connected?;
        Ok(Self {
            runtime,
            client: Some(client),
            limits: AnswerLimits::default(),
            budget,
            messages,
        })
    }

    /// Runs a statement: its rows, and the number of rows it changed.
    pub(super) fn ask(
        &mut self,
        statement: &str,
        values: &[SqlValue],
    ) -> Result<(Vec<SqlRow>, u64), String> {
        let client = self.client.as_ref().ok_or("the connection is closed")?;
        self.budget.renew(self.limits.bytes);
        let answer = async {
            let values = values.iter().map(|value| (value, value.kind()));
            let answer = client.query_typed_raw(statement, values).await;
            let mut answer = pin!(answer.map_err(|error| problem(&error))?);
            let (mut rows, mut left) = (Vec::new(), self.limits.bytes);
            while let Some(row) = answer.try_next().await.map_err(|error| problem(&error))? {
                let values = (0..row.len()).map(|column| row.try_get(column));
                let values: Result<Vec<SqlValue>, _> = values.collect();
                let values = values.map_err(|error| problem(&error))?;
                left = left.checked_sub(memory(&values)).ok_or(TOO_MUCH)?;
                rows.push(SqlRow::new(values));
            }
            Ok((rows, answer.rows_affected().unwrap_or(0)))
        };
        let answer = async { tokio::time::timeout(self.limits.time, answer).await };
        let answered = self.runtime.block_on(answer);
        let answer = answered.unwrap_or_else(|_| Err(silent()));
        // A statement that was not read to its end would answer the next one.
        let broken = |why: &String| *why == silent() || *why == TOO_MUCH;
        if self.budget.is_spent() || answer.as_ref().is_err_and(broken) {
            self.client = None;
        }
        // The client knows only that its connection has ended.
        let spent = self.budget.is_spent();
        answer.map_err(|why| if spent { TOO_MUCH.to_owned() } else { why })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Without a client the task says goodbye and ends.
        self.client = None;
        let messages = &mut self.messages;
        let ended = async { tokio::time::timeout(CLOSE, messages).await.ok() };
        drop(self.runtime.block_on(ended));
    }
}

/// Memory of a row, bytes.
fn memory(values: &[SqlValue]) -> u64 {
    let values = values.iter().map(|value| {
        let rest = match value {
            SqlValue::Null | SqlValue::Whole(_) | SqlValue::Real(_) => 0,
            SqlValue::Text(text) => text.len(),
            SqlValue::Bytes(bytes) => bytes.len(),
        };
        size_of::<SqlValue>() + rest
    });
    u64::try_from(ROW + values.sum::<usize>()).unwrap_or(u64::MAX)
}

/// Waits for the server, but not for one that is silent.
async fn patient<T>(
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, String> {
    match tokio::time::timeout(SILENCE, work).await {
        Ok(done) => done.map_err(|error| problem(&error)),
        Err(_) => Err(silent()),
    }
}

fn silent() -> String {
    format!("the server has not answered in {} s", SILENCE.as_secs())
}

/// An error of a statement, in one line.
fn problem(error: &tokio_postgres::Error) -> String {
    if let Some(answer) = error.as_db_error() {
        let message: String = answer.message().chars().take(MESSAGE).collect();
        return netperf_web::escape::line(&message);
    }
    if error.is_closed() {
        return "the server closed the connection".to_owned();
    }
    let source = error.source();
    match source.and_then(|source| source.downcast_ref::<io::Error>()) {
        Some(error) => broken(error),
        None => netperf_web::escape::line(&error.to_string()),
    }
}

/// An error of the socket, in one line.
fn broken(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return "the server closed the connection".to_owned();
    }
    netperf_web::escape::line(&system_text(error))
}

/// A connection, and true if the server is authenticated: by its certificate, or because it
/// listens in a directory of this host.
async fn carrier(address: &PostgresAddress) -> Result<(Box<dyn Carrier>, bool), String> {
    let name = match &address.host {
        ServerHost::Folder(folder) => {
            let path = folder.join(format!(".s.PGSQL.{}", address.port));
            let stream = UnixStream::connect(path).await;
            return Ok((Box::new(stream.map_err(|error| broken(&error))?), true));
        }
        ServerHost::Name(name) => name,
    };
    let mut stream = tcp(name, address.port)?;
    let roots = match &address.tls {
        TlsMode::Disable => return Ok((Box::new(stream), false)),
        TlsMode::Prefer | TlsMode::Require => None,
        TlsMode::VerifyFull(roots) => Some(roots.as_path()),
    };
    let asked = async {
        stream.write_all(&TLS_REQUEST).await?;
        stream.read_u8().await
    };
    let answer = tokio::time::timeout(SILENCE, asked).await;
    let answer = answer.map_err(|_| silent())?;
    match (answer.map_err(|error| broken(&error))?, &address.tls) {
        (b'S', _) => {
            let (connector, name) = tls::connector(name, roots)?;
            let stream = tokio::time::timeout(SILENCE, connector.connect(name, stream)).await;
            let stream = stream.map_err(|_| silent())?;
            let stream = stream.map_err(|error| broken(&error))?;
            Ok((Box::new(stream), roots.is_some()))
        }
        (b'N', TlsMode::Prefer) => Ok((Box::new(stream), false)),
        (b'N', _) => Err("the server does not support TLS, which sslmode requires".to_owned()),
        (kind, _) => Err(format!(
            "not a PostgreSQL server: it answered {} to the request for TLS",
            char::from(kind).escape_default()
        )),
    }
}

fn tcp(name: &str, port: u16) -> Result<TcpStream, String> {
    let found = (name, port)
        .to_socket_addrs()
        .map_err(|error| broken(&error))?;
    let mut problem = "the host has no address".to_owned();
    for address in found {
        let connected = std::net::TcpStream::connect_timeout(&address, CONNECT);
        let ready = connected.and_then(|stream| {
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            TcpStream::from_std(stream)
        });
        match ready {
            Ok(stream) => return Ok(stream),
            Err(error) => problem = system_text(&error),
        }
    }
    Err(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_connection_is_told_in_one_line() {
        // ECONNREFUSED.
        assert_eq!(
            broken(&io::Error::from_raw_os_error(111)),
            "Connection refused"
        );
        assert_eq!(broken(&io::Error::other("a\nb")), "a\u{fffd}b");
        let end = io::Error::from(io::ErrorKind::UnexpectedEof);
        assert_eq!(broken(&end), "the server closed the connection");
        assert_eq!(silent(), "the server has not answered in 70 s");
    }
    /// A message of a server.
    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap();
        [&[kind][..], &length.to_be_bytes(), body].concat()
    }

    /// A connection to a server that answers each statement with these bytes again and again.
    fn endless(limits: AnswerLimits, bytes: Vec<u8>) -> Connection {
        use std::io::{Read as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut buf = [0; 4096];
            let _startup = client.read(&mut buf).unwrap();
            let login = [message(b'R', &[0; 4]), message(b'Z', b"I")].concat();
            client.write_all(&login).unwrap();
            let _statement = client.read(&mut buf).unwrap();
            // Parsed, bound, and a column of text.
            let column = [b"a\0".as_slice(), &[0; 6], &25_u32.to_be_bytes(), &[0; 8]].concat();
            let columns = [&[0, 1][..], &column].concat();
            let answer = [
                message(b'1', &[]),
                message(b'2', &[]),
                message(b'T', &columns),
            ];
            client.write_all(&answer.concat()).unwrap();
            while client.write_all(&bytes).is_ok() {}
        });
        let url = format!("u@127.0.0.1:{port}/d?sslmode=disable");
        let address = PostgresAddress::read(&url, &|_| None).unwrap();
        let mut connection = Connection::open(&address).unwrap();
        connection.limits = limits;
        connection
    }

    #[test]
    fn rows_without_end_are_refused_by_what_they_take_in_memory() {
        let limits = AnswerLimits {
            bytes: 1 << 20,
            time: SILENCE,
        };
        let row = message(b'D', &[0, 1, 0, 0, 0, 1, b'x']).repeat(100);
        let mut connection = endless(limits, row);
        let refused = connection.ask("SELECT 1", &[]);
        assert_eq!(refused.unwrap_err(), TOO_MUCH);
        // One row that never ends.
        let long = message(
            b'D',
            &[b"\0\x01\0\x10\0\0".as_slice(), &[b'x'; 0x0010_0000]].concat(),
        );
        let mut connection = endless(limits, long);
        let refused = connection.ask("SELECT 1", &[]);
        assert_eq!(refused.unwrap_err(), TOO_MUCH);
    }

    #[test]
    fn statement_whose_rows_come_slowly_ends_in_time() {
        let limits = AnswerLimits {
            bytes: 1 << 30,
            time: Duration::from_millis(100),
        };
        // A message of which nothing is taken.
        let status = message(b'S', b"a\0b\0").repeat(100);
        let mut connection = endless(limits, status);
        assert_eq!(connection.ask("SELECT 1", &[]).unwrap_err(), silent());
    }
}
