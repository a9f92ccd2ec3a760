//! When the kernel sent and received (`SO_TIMESTAMPING`, the kernel's
//! Documentation/networking/timestamping.rst). Times are nanoseconds since 1970 by the
//! system's clock.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use socket2::SockAddr;

use super::call::{clock, first, set_option};
use super::io::{STORAGE_LEN, Source, counted};
use super::message::{Control, ControlBuffer, controls, message, received_part, sent_part};

/// Destination or source of a message.
#[derive(Debug)]
pub enum Peer<'a> {
    /// The connected peer.
    Connected,
    /// An address.
    At(&'a SockAddr),
    /// The source of a message before.
    Source(&'a Source),
}

/// When a message left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxStamp {
    /// Which one. In a byte stream, the number of its last byte since stamps were switched
    /// on, from 0; else, the number of those that were to be stamped, from 0.
    pub id: u32,
    /// When the kernel handed it to the device, or, by the device's clock, when that sent it.
    pub nanos: u64,
    /// True for a device timestamp.
    pub by_device: bool,
}

/// When something arrived, as far as that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RxStamp {
    /// The kernel got it from the device.
    pub kernel: Option<u64>,
    /// The device received it, by the device's clock.
    pub device: Option<u64>,
    /// Type of service or traffic class with which it arrived.
    pub tos: Option<u8>,
}

/// Source of timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampSource {
    /// The kernel.
    Kernel,
    /// The kernel and the device.
    Device,
}

/// The clock by which the kernel stamps (`CLOCK_REALTIME`), nanoseconds since 1970.
#[inline]
#[must_use]
pub fn now() -> u64 {
    nanos(clock(libc::CLOCK_REALTIME)).unwrap_or(0)
}

/// Has every arrival stamped, and those departures that [`send`] asks for. Whether a device
/// stamps is another matter: see [`crate::hwstamp`].
///
/// # Errors
/// Whatever setsockopt(2) reports.
pub fn enable(fd: BorrowedFd<'_>, by: StampSource) -> io::Result<()> {
    let kernel = libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_RX_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    let flags = match by {
        StampSource::Kernel => kernel,
        StampSource::Device => {
            kernel
                | libc::SOF_TIMESTAMPING_RAW_HARDWARE
                | libc::SOF_TIMESTAMPING_RX_HARDWARE
                | libc::SOF_TIMESTAMPING_OPT_TX_SWHW
        }
    };
    set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &flags)
}

/// Has the kernel tell the type of service, or the traffic class, of each arrival.
///
/// # Errors
/// Whatever setsockopt(2) reports, if the socket supports neither.
pub fn tell_tos(fd: BorrowedFd<'_>) -> io::Result<()> {
    let on: libc::c_int = 1;
    // A socket of IPv6 also has the one of IPv4, for mapped addresses.
    let class = set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, &on);
    set_option(fd, libc::IPPROTO_IP, libc::IP_RECVTOS, &on).or(class)
}

/// Waits until the kernel stamps arrivals: it begins with that a while after the first
/// socket asked for it, and ends when the last such socket is closed. So the socket that is
/// given back is to be kept.
///
/// # Errors
/// When this host cannot send to itself, or its kernel does not stamp within the time.
pub fn begin(within: std::time::Duration) -> io::Result<std::net::UdpSocket> {
    use std::os::fd::AsFd;
    let probe = std::net::UdpSocket::bind((std::net::Ipv4Addr::LOCALHOST, 0))?;
    probe.connect(probe.local_addr()?)?;
    probe.set_read_timeout(Some(within))?;
    enable(probe.as_fd(), StampSource::Kernel)?;
    let until = now().saturating_add(u64::try_from(within.as_nanos()).unwrap_or(u64::MAX));
    while now() < until {
        probe.send(&[0])?;
        if recv(probe.as_fd(), &mut [0], None)?.1.kernel.is_some() {
            return Ok(probe);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// sendmsg(2), never raising `SIGPIPE`; `stamped` asks for a departure of each of these.
///
/// # Errors
/// Whatever sendmsg(2) reports.
pub fn send(
    fd: BorrowedFd<'_>,
    buf: &[u8],
    peer: &Peer<'_>,
    stamped: Option<StampSource>,
) -> io::Result<usize> {
    let mut part = [sent_part(buf)];
    let mut message = message(&mut part);
    match peer {
        Peer::Connected => {}
        Peer::At(address) => {
            message.msg_name = address.as_ptr().cast_mut().cast();
            message.msg_namelen = address.len();
        }
        Peer::Source(source) => {
            message.msg_name = (&raw const source.storage).cast_mut().cast();
            message.msg_namelen = source.len;
        }
    }
    let mut asked = stamped.map(ask);
    if let Some(control) = &mut asked {
        control.attach(&mut message);
    }
    // SAFETY: every pointer in `message` describes memory that outlives the call, which
    // the kernel only reads.
    counted(unsafe { libc::sendmsg(fd.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) })
}

/// Control data that asks for the stamp of one message.
fn ask(by: StampSource) -> Control<u32> {
    let whose = match by {
        StampSource::Kernel => libc::SOF_TIMESTAMPING_TX_SOFTWARE,
        StampSource::Device => {
            libc::SOF_TIMESTAMPING_TX_SOFTWARE | libc::SOF_TIMESTAMPING_TX_HARDWARE
        }
    };
    Control::new(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, whose)
}

/// recvmsg(2), with the arrival of the last packet of what was received, where the kernel
/// tells; `source`, if wanted, gets the sender.
///
/// # Errors
/// Whatever recvmsg(2) reports.
pub fn recv(
    fd: BorrowedFd<'_>,
    buf: &mut [u8],
    source: Option<&mut Source>,
) -> io::Result<(usize, RxStamp)> {
    let mut part = [received_part(buf)];
    let mut control = ControlBuffer::<128>::new();
    let mut message = message(&mut part);
    control.attach(&mut message);
    let mut source = source;
    if let Some(source) = &mut source {
        message.msg_name = source.storage();
        message.msg_namelen = STORAGE_LEN;
    }
    // SAFETY: every pointer in `message` describes memory that nothing else can see during
    // the call.
    let count = counted(unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, 0) })?;
    if let Some(source) = source {
        source.set_len(message.msg_namelen);
    }
    Ok((count, parse_control(&message).arrival))
}

/// The next departure in the error queue; `None` when there is none. Never blocks. What
/// else is in that queue is thrown away.
///
/// # Errors
/// Whatever recvmsg(2) reports.
pub fn tx_stamp(fd: BorrowedFd<'_>) -> io::Result<Option<TxStamp>> {
    loop {
        let mut control = ControlBuffer::<256>::new();
        let mut message = message(&mut []);
        control.attach(&mut message);
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        // SAFETY: every pointer in `message` describes memory that outlives the call.
        let result = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, flags) };
        if result < 0 {
            let error = io::Error::last_os_error();
            let empty = error.kind() == io::ErrorKind::WouldBlock;
            return if empty { Ok(None) } else { Err(error) };
        }
        if let Some(tx_stamp) = parse_control(&message).tx_stamp() {
            return Ok(Some(tx_stamp));
        }
    }
}

/// Decoded control data.
#[derive(Default)]
struct StampMessage {
    arrival: RxStamp,
    id: Option<u32>,
}

impl StampMessage {
    /// The transmit timestamp. A message about a transmission has a kernel or a device
    /// timestamp, never both.
    fn tx_stamp(&self) -> Option<TxStamp> {
        let (nanos, by_device) = match (self.arrival.device, self.arrival.kernel) {
            (Some(nanos), _) => (nanos, true),
            (None, Some(nanos)) => (nanos, false),
            (None, None) => return None,
        };
        let id = self.id?;
        Some(TxStamp {
            id,
            nanos,
            by_device,
        })
    }
}

fn parse_control(message: &libc::msghdr) -> StampMessage {
    let mut parsed = StampMessage::default();
    for (level, kind, data) in controls(message) {
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                // struct scm_timestamping.
                if let Some([kernel, _, device]) = first::<[libc::timespec; 3]>(data) {
                    parsed.arrival.kernel = nanos(kernel);
                    parsed.arrival.device = nanos(device);
                }
            }
            (libc::IPPROTO_IP, libc::IP_TOS) => parsed.arrival.tos = data.first().copied(),
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                let class = first::<libc::c_int>(data);
                parsed.arrival.tos = class.and_then(|class| u8::try_from(class).ok());
            }
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                let error = first::<libc::sock_extended_err>(data);
                let stamp =
                    error.filter(|error| error.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING);
                parsed.id = stamp.map(|error| error.ee_data).or(parsed.id);
            }
            _ => {}
        }
    }
    parsed
}

/// Nanoseconds since 1970; `None` for an empty field.
fn nanos(time: libc::timespec) -> Option<u64> {
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanos = u64::try_from(time.tv_nsec).ok()?;
    let all = seconds.checked_mul(1_000_000_000)?.checked_add(nanos)?;
    (all > 0).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsFd;

    fn departed(fd: BorrowedFd<'_>) -> TxStamp {
        let begun = now();
        loop {
            if let Some(tx_stamp) = tx_stamp(fd).unwrap() {
                return tx_stamp;
            }
            assert!(now() - begun < 10_000_000_000, "no stamp");
        }
    }

    #[test]
    fn a_byte_stream_is_stamped_at_both_ends_and_counts_its_bytes() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let server = listener.accept().unwrap().0;
        enable(client.as_fd(), StampSource::Kernel).unwrap();
        enable(server.as_fd(), StampSource::Kernel).unwrap();
        let before = now();
        send(client.as_fd(), &[1; 10], &Peer::Connected, None).unwrap();
        send(
            client.as_fd(),
            &[2; 5],
            &Peer::Connected,
            Some(StampSource::Kernel),
        )
        .unwrap();
        let left = departed(client.as_fd());
        assert_eq!(left.id, 14);
        assert_eq!(tx_stamp(client.as_fd()).unwrap(), None);
        let mut got = 0;
        let mut arrived = None;
        while got < 15 {
            let (count, stamp) = recv(server.as_fd(), &mut [0; 64], None).unwrap();
            got += count;
            arrived = stamp.kernel;
        }
        assert!((before..=now()).contains(&left.nanos));
        // The kernel begins to stamp arrivals a moment after it was asked to.
        if let Some(arrived) = arrived {
            assert!((left.nanos..=now()).contains(&arrived));
        }
    }

    #[test]
    fn datagrams_are_stamped_and_their_sender_is_known() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = SockAddr::from(server.local_addr().unwrap());
        enable(client.as_fd(), StampSource::Kernel).unwrap();
        for id in 0..2 {
            send(client.as_fd(), b"ask", &Peer::At(&to), None).unwrap();
            send(
                client.as_fd(),
                b"ask",
                &Peer::At(&to),
                Some(StampSource::Kernel),
            )
            .unwrap();
            assert_eq!(departed(client.as_fd()).id, id);
        }
        let mut source = Source::unknown();
        let (count, stamp) = recv(server.as_fd(), &mut [0; 8], Some(&mut source)).unwrap();
        assert_eq!((count, stamp), (3, RxStamp::default()));
        send(server.as_fd(), b"answer", &Peer::Source(&source), None).unwrap();
        assert_eq!(client.recv(&mut [0; 8]).unwrap(), 6);
    }

    #[test]
    fn arrivals_have_the_type_of_service_that_their_sender_set_over_ipv4_and_ipv6() {
        for (address, level, name) in [
            ("127.0.0.1:0", libc::IPPROTO_IP, libc::IP_TOS),
            ("[::1]:0", libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
        ] {
            let Ok(server) = UdpSocket::bind(address) else {
                // A host without IPv6.
                continue;
            };
            let client = UdpSocket::bind(address).unwrap();
            let to = SockAddr::from(server.local_addr().unwrap());
            tell_tos(server.as_fd()).unwrap();
            let class: libc::c_int = 0xb8;
            set_option(client.as_fd(), level, name, &class).unwrap();
            send(client.as_fd(), b"ask", &Peer::At(&to), None).unwrap();
            let (_, stamp) = recv(server.as_fd(), &mut [0; 8], None).unwrap();
            assert_eq!(stamp.tos, Some(0xb8), "{address}");
        }
    }

    #[test]
    fn a_socket_takes_stamps_of_devices_where_there_are_none_and_has_those_of_the_kernel() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        enable(client.as_fd(), StampSource::Device).unwrap();
        send(
            client.as_fd(),
            b"x",
            &Peer::Connected,
            Some(StampSource::Device),
        )
        .unwrap();
        assert!(!departed(client.as_fd()).by_device);
    }
}
