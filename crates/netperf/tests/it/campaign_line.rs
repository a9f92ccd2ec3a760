//! The protocol of campaigns, spoken by a test: a coordinator, or agents that measure nothing.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::Duration;

use netperf_campaign::protocol::{BadMessage, Inbox, Order, Reply, encode};
use netperf_model::{KeyRing, Secret};
use netperf_os::wait::readable_of;
use netperf_os::{Domain, Socket, Type};
use netperf_session::access;
use netperf_testkit::Stopwatch;
use netperf_transport::secure::Channel;
use netperf_wire::{FRAME_LEN, Frame};

/// Time for anything that takes milliseconds on an idle host.
const PATIENCE: Duration = Duration::from_secs(60);

/// The key of a file that netperf campaign key made.
pub(crate) fn secret(file: &Path) -> Secret {
    let text = std::fs::read(file).expect("a key file");
    let keys = KeyRing::parse(&text).expect("keys");
    let key = keys.keys().first().expect("a key");
    key.secret.clone()
}

/// An encrypted connection from which these messages of a campaign come.
pub(crate) struct CampaignLine<T> {
    stream: TcpStream,
    channel: Channel,
    inbox: Inbox,
    take: fn(&mut Inbox) -> Result<Option<T>, BadMessage>,
}

impl CampaignLine<Reply> {
    /// Connects to an agent as a coordinator does. An error is what was answered instead.
    pub(crate) fn to_agent(port: u16, secret: &Secret) -> Result<Self, String> {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("a netserver");
        Self::of(stream, secret)
    }

    /// The same from its own loopback address.
    pub(crate) fn to_agent_from(
        from: Ipv4Addr,
        port: u16,
        secret: &Secret,
    ) -> Result<Self, String> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        let bound = socket.bind(&SocketAddr::from((from, 0)).into());
        bound.expect("a loopback address");
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        socket.connect(&to.into()).expect("a netserver");
        Self::of(socket.into(), secret)
    }

    fn of(mut stream: TcpStream, secret: &Secret) -> Result<Self, String> {
        stream.set_nodelay(true).expect("an option");
        stream.set_read_timeout(Some(PATIENCE)).expect("an option");
        let text = |error: std::io::Error| error.to_string();
        stream
            .write_all(access::greeting().as_bytes())
            .map_err(text)?;
        let mut answer = [0; FRAME_LEN];
        stream.read_exact(&mut answer).map_err(text)?;
        match access::is_answer(&Frame::from_bytes(answer)) {
            Ok(true) => Self::encrypted(stream, secret, Inbox::take),
            Ok(false) => Err("it has no key".to_owned()),
            Err(refused) => Err(refused.to_string()),
        }
    }

    /// Sends an order; one to an end that has closed is lost.
    pub(crate) fn tell(&mut self, order: &Order) {
        self.send(&encode(order).expect("a message"));
    }

    /// Sends an order and waits for the reply to it.
    pub(crate) fn ask(&mut self, order: &Order) -> Option<Reply> {
        self.tell(order);
        self.hear()
    }
}

impl CampaignLine<Order> {
    /// Joins a coordinator as an agent does.
    pub(crate) fn to_coordinator(port: u16, secret: &Secret) -> Result<Self, String> {
        let stream = TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.to_string())?;
        stream.set_nodelay(true).expect("an option");
        Self::encrypted(stream, secret, Inbox::take)
    }

    /// Sends a reply; one to an end that has closed is lost.
    pub(crate) fn tell(&mut self, reply: &Reply) {
        self.send(&encode(reply).expect("a message"));
    }
}

impl<T> CampaignLine<T> {
    fn encrypted(
        stream: TcpStream,
        secret: &Secret,
        take: fn(&mut Inbox) -> Result<Option<T>, BadMessage>,
    ) -> Result<Self, String> {
        let channel = Channel::connect(stream.as_fd(), secret, PATIENCE);
        let channel = channel.map_err(|why| format!("{why:?}"))?;
        stream.set_nonblocking(true).expect("an option");
        Ok(Self {
            stream,
            channel,
            inbox: Inbox::default(),
            take,
        })
    }

    /// Sends bytes that need be no message.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let _closed = self.channel.send(self.stream.as_fd(), bytes, PATIENCE);
    }

    /// The next message; `None` at the end of the connection.
    ///
    /// # Panics
    /// When nothing comes.
    pub(crate) fn hear(&mut self) -> Option<T> {
        self.hear_within(PATIENCE).expect("a message in time")
    }

    /// The same; an error if nothing comes in time.
    pub(crate) fn hear_within(&mut self, within: Duration) -> Result<Option<T>, ()> {
        let since = Stopwatch::start();
        let mut open = true;
        loop {
            // A message may have come with the end of the handshake.
            let mut buf = vec![0; 65_536];
            let mut got = false;
            while let Ok(Some(count @ 1..)) = self.channel.read(&mut buf) {
                self.inbox.add(buf.get(..count).expect("bytes"));
                got = true;
            }
            if let Some(message) = (self.take)(&mut self.inbox).expect("messages") {
                return Ok(Some(message));
            }
            if !open && !got {
                return Ok(None);
            }
            let left = within.saturating_sub(since.elapsed());
            let fd = self.stream.as_fd();
            let ready = readable_of([fd, fd], left).expect("poll");
            if ready == [false, false] {
                return Err(());
            }
            let blocked = |error: &std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
            let took = self.channel.take_in(self.stream.as_fd());
            open = took.unwrap_or_else(|error| blocked(&error));
        }
    }
}
