//! A connection to a PostgreSQL server, on which one statement runs at a time.

use std::error::Error as _;
use std::io;
use std::net::ToSocketAddrs as _;
use std::pin::pin;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, NoTls};

use super::address::{PostgresAddress, ServerHost, TlsMode};
use super::login::LoginCheck;
use super::tls;
use crate::database::{SqlRow, SqlValue};

/// The longest time to wait for a server to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// The longest silence of a server: longer than its own limit for a statement.
const SILENCE: Duration = Duration::from_secs(70);
/// The longest time to wait for the end of a connection.
const CLOSE: Duration = Duration::from_secs(1);
/// Asks whether the server can do TLS (PostgreSQL manual, 55.7, SSLRequest).
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// A stream of bytes to the server and back.
trait Carrier: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Carrier for T {}

/// A connection that is ready for a statement.
#[derive(Debug)]
pub(super) struct Connection {
    /// Runs on this thread, only while a statement is waited for.
    runtime: Runtime,
    client: Option<Client>,
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
        let connected = runtime.block_on(async {
            let (carrier, is_authenticated) = carrier(address).await?;
            let (reader, writer) = tokio::io::split(carrier);
            let has_password = address.password.is_some();
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
        self.runtime.block_on(async {
            let values = values.iter().map(|value| (value, value.kind()));
            let answer = patient(client.query_typed_raw(statement, values)).await?;
            let mut answer = pin!(answer);
            let mut rows = Vec::new();
            while let Some(row) = patient(answer.try_next()).await? {
                let values = (0..row.len()).map(|column| row.try_get(column));
                let values = values.collect::<Result<_, _>>();
                rows.push(SqlRow::new(values.map_err(|error| problem(&error))?));
            }
            Ok((rows, answer.rows_affected().unwrap_or(0)))
        })
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
    format!("the server was silent for {} s", SILENCE.as_secs())
}

/// An error of a statement, in one line.
fn problem(error: &tokio_postgres::Error) -> String {
    if let Some(answer) = error.as_db_error() {
        return netperf_web::escape::line(answer.message());
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
    netperf_web::escape::line(&crate::error::plain(error))
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
        (b'N', _) => Err("the server does no TLS, which the sslmode asks for".to_owned()),
        (kind, _) => Err(format!(
            "the server is no PostgreSQL: it answered {} to the request for TLS",
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
            Err(error) => problem = crate::error::plain(&error),
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
        assert_eq!(silent(), "the server was silent for 70 s");
    }
}
