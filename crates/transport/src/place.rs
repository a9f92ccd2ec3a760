//! Binding of data sockets, and the address to announce to the other end.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use netperf_model::address::parse_circuit;
use netperf_model::{Address, Domain, PlacePlan, TransportId};
use netperf_os::{SockAddr, Socket, without};
use netperf_os::{address as os_address, atm as os_atm};

use crate::{atm, link, socket, xti};

/// Requested local address of a data socket.
#[derive(Clone, Copy, Debug)]
pub struct PlaceRequest<'a> {
    /// Transport of the socket.
    pub transport: TransportId,
    /// IP address and port, for IP transports.
    pub inet: SocketAddr,
    /// Address for all other transports.
    pub place: &'a PlacePlan,
    /// True for the requesting end. If both ends share an address space and a station, it uses
    /// a service access point other than the one that it addresses.
    pub asking: bool,
}

/// A bound socket. Dropping it removes the socket file, if any.
#[derive(Debug, Default)]
pub struct Placed {
    /// Local address; `None` for a socket that need not be bound.
    pub address: Option<Address>,
    _file: Option<SocketFile>,
}

impl Placed {
    /// IP or vsock port; 0 if the transport has none.
    #[must_use]
    pub fn port(&self) -> u32 {
        match &self.address {
            Some(Address::Inet(address)) => u32::from(address.port()),
            Some(Address::Vsock { port, .. }) => *port,
            Some(Address::Unix(_) | Address::Link { .. } | Address::Atm { .. }) | None => 0,
        }
    }
}

/// A socket file, removed on drop.
#[derive(Debug)]
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // The file may already have been removed.
        let _gone = std::fs::remove_file(&self.0);
    }
}

/// Checks that a requested address is valid for the transport.
///
/// # Errors
/// `InvalidInput` with the name of the invalid part.
pub fn check(transport: TransportId, place: &PlacePlan) -> io::Result<()> {
    xti::check(transport, place.device.as_deref())
}

/// Binds a socket and returns its address.
///
/// # Errors
/// Whatever bind(2) reports; `NotFound` for an unknown device.
pub fn bind(socket: &Socket, wanted: &PlaceRequest<'_>) -> io::Result<Placed> {
    match wanted.transport.row().domain {
        Domain::Inet => {
            bind_inet(socket, wanted)?;
            if wanted.transport == TransportId::SctpMany {
                // A one-to-many socket accepts associations after listen(2) (RFC 6458 section
                // 3.1.3).
                socket.listen(socket::BACKLOG)?;
            }
            Ok(at(Address::Inet(SocketAddr::new(
                wanted.inet.ip(),
                socket::local_port(socket),
            ))))
        }
        Domain::Unix => bind_unix(socket, wanted),
        Domain::Vsock => {
            socket.bind(&os_address::vsock(
                os_address::VSOCK_ANY,
                os_address::VSOCK_ANY,
            ))?;
            let (_, port) = os_address::as_vsock(&socket.local_addr()?).ok_or_else(odd_address)?;
            let cid = os_address::local_cid().unwrap_or(os_address::VSOCK_ANY);
            Ok(at(Address::Vsock { cid, port }))
        }
        Domain::Link => link::bind(socket, wanted).map(at),
        Domain::Atm => {
            let circuit = circuit(wanted.place)?;
            atm::attach(socket, &circuit_address(&circuit)?)?;
            Ok(at(circuit))
        }
    }
}

/// The circuit named by the device.
fn circuit(place: &PlacePlan) -> io::Result<Address> {
    let device = place.device.as_deref().unwrap_or_default();
    parse_circuit(device).ok_or_else(|| {
        let text = format!("no circuit '{device}': name one as interface.vpi.vci (--device)");
        io::Error::new(io::ErrorKind::NotFound, text)
    })
}

/// Socket address of a circuit.
fn circuit_address(circuit: &Address) -> io::Result<SockAddr> {
    let Address::Atm {
        interface,
        vpi,
        vci,
    } = *circuit
    else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let narrow = |number| i16::try_from(number).map_err(io::Error::other);
    Ok(os_atm::circuit(
        narrow(interface)?,
        narrow(vpi)?,
        vci.into(),
    ))
}

fn at(address: Address) -> Placed {
    Placed {
        address: Some(address),
        _file: None,
    }
}

fn odd_address() -> io::Error {
    io::Error::other("the socket's address is of another family")
}

/// Number of attempts to find an unused file name.
const TRIES: usize = 100;
/// Prefix of the original's file names; six characters follow (control-protocol.md 2.7.5).
const PREFIX: &str = "netpe";
/// Longest path in a message of the Unix-domain tests, without the NUL.
const LONGEST_PATH: usize = 31;

fn bind_unix(socket: &Socket, wanted: &PlaceRequest<'_>) -> io::Result<Placed> {
    let directory = directory(wanted.place.directory.as_deref());
    for _ in 0..TRIES {
        let path = directory.join(file_name());
        match socket.bind(&SockAddr::unix(&path)?) {
            Ok(()) => {
                let file = SocketFile(path.clone());
                share(&path)?;
                return Ok(Placed {
                    address: Some(Address::Unix(path)),
                    _file: Some(file),
                });
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

/// Directory for socket files: the requested one if it exists and its paths fit into a message,
/// else the system's temporary directory, as in the original.
fn directory(asked: Option<&Path>) -> PathBuf {
    let fits = |path: &Path| path.as_os_str().len() + 1 + PREFIX.len() + 6 <= LONGEST_PATH;
    let system = std::env::temp_dir();
    [asked, Some(&system)]
        .into_iter()
        .flatten()
        .find(|path| path.is_dir() && fits(path))
        .unwrap_or(Path::new("/tmp"))
        .to_owned()
}

/// Permits all users to send to a socket file, because the peer may run as another user. A
/// confined session cannot change file permissions, so it sets the umask before bind(2).
fn share(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    const EVERYBODY: u32 = 0o666;
    let mode = std::fs::metadata(path)?.permissions().mode();
    if mode & EVERYBODY == EVERYBODY {
        return Ok(());
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(EVERYBODY))
}

const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// This many characters of `number`, the lowest digit first.
fn characters(mut number: u64, count: usize) -> String {
    let mut name = String::new();
    for _ in 0..count {
        let index = usize::try_from(number % LETTERS.len() as u64).unwrap_or(0);
        name.push(char::from(LETTERS[index]));
        number /= LETTERS.len() as u64;
    }
    name
}

/// Start of the names of a process' socket files: four characters are enough for every process
/// number (proc_sys_kernel(5), `pid_max`).
fn name_of_process(number: u32) -> String {
    format!("{PREFIX}{}", characters(number.into(), 4))
}

/// An unlikely name of a socket file of this process.
fn file_name() -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let random = RandomState::new().build_hasher().finish();
    name_of_process(std::process::id()) + &characters(random, 2)
}

/// Removes the socket files that a process has left in the system's directory for temporary files.
pub fn remove_socket_files(process: u32) {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::FileTypeExt;
    let start = name_of_process(process);
    let entries = std::fs::read_dir(directory(None));
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_of_process =
            name.len() == start.len() + 2 && name.as_bytes().starts_with(start.as_bytes());
        if is_of_process && entry.file_type().is_ok_and(|kind| kind.is_socket()) {
            // It may be gone already.
            let _removed = std::fs::remove_file(entry.path());
        }
    }
}

/// Socket address of the peer.
///
/// # Errors
/// `InvalidInput` when the address does not belong to the transport.
pub fn sock_addr(transport: TransportId, address: &Address) -> io::Result<SockAddr> {
    match (transport.row().domain, address) {
        (Domain::Inet, Address::Inet(address)) => Ok((*address).into()),
        (Domain::Unix, Address::Unix(path)) => SockAddr::unix(path),
        (Domain::Vsock, Address::Vsock { cid, port }) => Ok(os_address::vsock(*cid, *port)),
        (Domain::Link, Address::Link { station, sap }) => {
            Ok(link::sock_addr(transport, *station, *sap))
        }
        (Domain::Atm, Address::Atm { .. }) => circuit_address(address),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Binds to an address of IP. If datagram sockets may share a port (`SO_REUSEADDR`, socket(7)),
/// datagrams of one test come to another: netserver's share none, and netperf's only a port that
/// the user names.
fn bind_inet(socket: &Socket, wanted: &PlaceRequest<'_>) -> io::Result<()> {
    let named = wanted.asking && wanted.inet.port() != 0;
    let shares = wanted.transport.is_connected() || named;
    without::share_port(socket, shares);
    socket::bind(socket, wanted.inet)?;
    without::share_port(socket, true);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use netperf_model::{Family, SocketPlan};

    #[test]
    fn no_two_datagram_sockets_are_given_the_same_port() {
        netperf_os::process::raise_open_files().unwrap();
        let place = PlacePlan::default();
        let request = PlaceRequest {
            transport: TransportId::Udp,
            ..wanted(&place)
        };
        let bound = |_| {
            let plan = SocketPlan::default();
            let opened = socket::open(TransportId::Udp, Family::V4, &plan).unwrap();
            let placed = bind(&opened.socket, &request).unwrap();
            (opened.socket, placed.port())
        };
        let sockets: Vec<_> = (0..800).map(bound).collect();
        let ports: std::collections::BTreeSet<u32> =
            sockets.iter().map(|(_, port)| *port).collect();
        assert_eq!(ports.len(), sockets.len());
        // The responder of a test takes another socket at the same port.
        let (first, _) = &sockets[0];
        assert!(first.reuse_address().unwrap());
    }

    fn wanted(place: &PlacePlan) -> PlaceRequest<'_> {
        PlaceRequest {
            transport: TransportId::UnixStream,
            inet: SocketAddr::from(([0, 0, 0, 0], 0)),
            place,
            asking: false,
        }
    }

    #[test]
    fn a_socket_file_has_a_name_of_its_own_and_goes_with_the_socket() {
        let place = PlacePlan::default();
        let plan = SocketPlan::default();
        let open = || {
            socket::open(TransportId::UnixStream, Family::V4, &plan)
                .unwrap()
                .socket
        };
        let (one, other) = (open(), open());
        let first = bind(&one, &wanted(&place)).unwrap();
        let second = bind(&other, &wanted(&place)).unwrap();
        let path = |placed: &Placed| match &placed.address {
            Some(Address::Unix(path)) => path.clone(),
            other => panic!("{other:?}"),
        };
        assert_ne!(path(&first), path(&second));
        assert!(path(&first).exists());
        assert!(path(&first).as_os_str().len() <= LONGEST_PATH);
        let mode = std::fs::metadata(path(&first)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o666, "anybody may send to it");
        let gone = path(&first);
        drop(first);
        assert!(!gone.exists() && path(&second).exists());
    }

    #[test]
    fn a_directory_that_is_none_falls_back_to_the_systems() {
        let place = PlacePlan {
            directory: Some("/no/such".into()),
            ..PlacePlan::default()
        };
        assert_eq!(directory(place.directory.as_deref()), directory(None));
    }
}
