//! The operating system: one safe function per call, and the only unsafe code.
//!
//! Every operating system fulfils this list, in a folder of its own:
//!
//! - [`address`]: socket addresses that are not IP addresses
//! - [`link`]: interfaces, and the addresses of packet and LLC sockets
//! - [`atm`]: circuits of ATM
//! - [`filter`]: which messages reach a socket
//! - [`io`]: move bytes: send, receive, to and from an address, from a file, into nowhere
//! - [`pass`]: hand open sockets to another process
//! - [`parts`]: move a header and a payload with one call
//! - [`batch`]: many datagrams in one call
//! - [`zerocopy`]: send without a copy, and hear when the bytes are free again
//! - [`epoll`]: wait for one socket by epoll(7)
//! - [`uring`]: have the kernel make calls that are written down in shared memory
//! - [`flow_label`]: labels of packets over IPv6
//! - [`sockopt`]: socket options that `socket2` does not have
//! - [`tcp`]: what TCP knows about a connection
//! - [`sctp`]: associations: messages in parts, notifications, what SCTP knows about one
//! - [`ktls`]: have the kernel make the TLS records of a connection
//! - [`bell`]: end a run on time by interrupting a blocked call
//! - [`resolve`]: names to addresses
//! - [`lock`]: lock a file against other processes
//! - [`wait`]: wait for a descriptor, with a deadline
//! - [`events`]: wait for many descriptors at once
//! - [`process`]: detach, bind to a CPU, priority, name, descriptor 0
//! - [`terminal`]: a screen to draw on, and back
//! - [`ticks`]: the counter of the processor, and the monotonic clock
//! - [`signals`]: signals as something to read
//! - [`stamps`]: when the kernel sent and received
//! - [`hwstamp`]: whether a device says so, too
//! - [`privileges`]: users, capabilities, limits
//! - [`landlock`], [`seccomp`]: what a session may still do
//! - [`system`]: CPUs online, clock ticks, names of system and machine
//! - [`net`]: addresses, drivers and offloads of interfaces
//! - [`qdisc`]: queueing disciplines
//!
//! Calls go through libc symbols, so that socket stacks preloaded in front of
//! libc see every one of them.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub use linux::{
    address, alarm, atm, batch, epoll, events, filter, flow_label, hwstamp, io, ktls, landlock,
    link, lock, net, parts, pass, privileges, process, qdisc, resolve, sctp, seccomp, signals,
    sockopt, stamps, system, tcp, terminal, ticks, uring, wait, zerocopy,
};
pub use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};
