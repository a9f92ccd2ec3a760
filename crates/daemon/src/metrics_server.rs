//! HTTP/1.1 server for `GET /metrics` and `GET /health`.
//!
//! The accept loop runs it, so an answer shows that the loop is alive. HTTP libraries use
//! separate threads or block on slow clients, so this module implements the little that is
//! needed: each connection carries one short request and one short answer.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use netperf_measure::clock::{self, Moment};

use super::poller::{PollToken, ServerPoller};

/// Time limit of a request.
const ASK_WITHIN: Duration = Duration::from_secs(2);
/// Largest number of concurrent requests.
const MOST: usize = 16;
/// Largest request, bytes.
const LONGEST: usize = 8192;

/// A connection with an incomplete request.
#[derive(Debug)]
struct Asking {
    stream: TcpStream,
    said: Vec<u8>,
    until: Moment,
}

/// The listener and its connections.
#[derive(Debug)]
pub struct MetricsServer {
    listener: TcpListener,
    asking: VecDeque<Asking>,
}

impl MetricsServer {
    /// Listens at this address.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub fn open(at: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            asking: VecDeque::new(),
        })
    }

    /// Registers the listener with the poller.
    ///
    /// # Errors
    /// Whatever epoll_ctl(2) reports.
    pub fn register(&self, poller: &ServerPoller) -> io::Result<()> {
        poller.watch_edge(self.listener.as_fd(), PollToken::MetricsServer)
    }

    /// Deadline of the oldest request.
    pub fn until(&self) -> Option<Moment> {
        self.asking.front().map(|one| one.until)
    }

    /// Accepts connections and answers complete requests; `answer` returns status and body for
    /// a path.
    pub fn serve(
        &mut self,
        poller: &ServerPoller,
        answer: impl Fn(&str) -> (&'static str, String),
    ) {
        while let Ok((stream, _)) = self.listener.accept() {
            let heard = stream.set_nonblocking(true);
            if heard
                .and_then(|()| poller.watch_edge(stream.as_fd(), PollToken::MetricsServer))
                .is_err()
            {
                continue;
            }
            if self.asking.len() >= MOST {
                self.asking.pop_front();
            }
            self.asking.push_back(Asking {
                stream,
                said: Vec::new(),
                until: clock::now().plus(ASK_WITHIN),
            });
        }
        self.asking.retain_mut(|one| !one.is_over(&answer));
    }
}

impl Asking {
    /// Returns true if the request has been answered or has failed.
    fn is_over(&mut self, answer: &impl Fn(&str) -> (&'static str, String)) -> bool {
        let mut chunk = [0; 1024];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return true,
                Ok(count) => self.said.extend(chunk.iter().take(count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return true,
            }
            if self.said.len() > LONGEST {
                return true;
            }
        }
        if !self.said.windows(4).any(|end| end == b"\r\n\r\n") {
            return self.until.left().is_zero();
        }
        let (status, body) = match path(&self.said) {
            Some(path) => answer(&path),
            None => ("405 Method Not Allowed", String::new()),
        };
        let whole = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        // It fits into an empty socket buffer; a client that has gone gets no answer.
        let _gone = self.stream.write_all(whole.as_bytes());
        true
    }
}

/// Path of a GET request.
fn path(said: &[u8]) -> Option<String> {
    let said = String::from_utf8_lossy(said);
    let mut words = said.lines().next()?.split(' ');
    (words.next()? == "GET").then_some(())?;
    let path = words.next()?;
    Some(path.split('?').next().unwrap_or(path).to_owned())
}

/// Message for an invalid address.
pub const EXPECTED: &str = "expected an IP address and a port, such as 127.0.0.1:9465";

/// Parses an address; a port alone means loopback.
pub fn address(text: &str) -> Option<SocketAddr> {
    let local = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    let port = text.strip_prefix(':').unwrap_or(text);
    text.parse().ok().or_else(|| port.parse().ok().map(local))
}

/// Queries /health of a netserver.
///
/// # Errors
/// When netserver cannot be reached, or is not healthy.
pub fn ask(at: SocketAddr) -> io::Result<()> {
    const WITHIN: Duration = Duration::from_secs(5);
    let mut stream = TcpStream::connect_timeout(&at, WITHIN)?;
    stream.set_read_timeout(Some(WITHIN))?;
    stream.set_write_timeout(Some(WITHIN))?;
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: netserver\r\nConnection: close\r\n\r\n")?;
    let mut said = String::new();
    stream.take(LONGEST as u64).read_to_string(&mut said)?;
    if said.starts_with("HTTP/1.1 200 ") {
        return Ok(());
    }
    let body = said.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Err(io::Error::other(match body.trim() {
        "" => "invalid response from netserver".to_owned(),
        body => body.to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_one_of_this_host() {
        assert_eq!(address("9465"), address("127.0.0.1:9465"));
        assert_eq!(address(":9465"), address("127.0.0.1:9465"));
        assert!(address("[::1]:9465").unwrap().is_ipv6());
        assert_eq!(address("host:9465"), None);
        assert_eq!(address("99999"), None);
    }

    #[test]
    fn only_the_path_of_a_get_is_heard() {
        assert_eq!(
            path(b"GET /health?x HTTP/1.1\r\n\r\n").as_deref(),
            Some("/health")
        );
        assert_eq!(path(b"POST /health HTTP/1.1\r\n\r\n"), None);
        assert_eq!(path(b"\xff\r\n\r\n"), None);
    }
}
