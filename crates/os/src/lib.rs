//! The operating system: one safe function per call, and the only unsafe code.
//!
//! Each operating system has a folder that implements this list:
//!
//! - [`address`]: socket addresses that are not IP addresses
//! - [`link`]: interfaces, and the addresses of packet and LLC sockets
//! - [`atm`]: ATM circuits
//! - [`filter`]: socket filters
//! - [`io`]: move bytes: send, receive, to and from an address, from a file, discard
//! - [`pass`]: hand open sockets to another process
//! - [`parts`]: move a header and a payload with one call
//! - [`batch`]: many datagrams in one call
//! - [`zerocopy`]: send without a copy, and completion notifications
//! - [`epoll`]: wait for one socket by epoll(7)
//! - [`uring`]: submit calls through shared memory (io_uring)
//! - [`flow_label`]: IPv6 flow labels
//! - [`sockopt`]: socket options that `socket2` does not have
//! - [`tcp`]: TCP connection information
//! - [`sctp`]: associations: partial messages, notifications, status
//! - [`ktls`]: kernel TLS
//! - [`alarm`]: end a run on time by interrupting a blocked call
//! - [`resolve`]: names to addresses
//! - [`lock`]: lock a file against other processes
//! - [`wait`]: wait for a descriptor, with a deadline
//! - [`without`]: what happens without a call that a system lacks
//! - [`error_queue`]: errors that the kernel keeps for a socket
//! - [`events`]: wait for many descriptors at once
//! - [`process`]: detach, bind to a CPU, priority, name, descriptor 0
//! - [`terminal`]: terminal modes for drawing, and questions whose answer is a secret
//! - [`openssl`]: RSA and SHA-256 of OpenSSL, loaded when needed
//! - [`memory`]: alignment of buffers
//! - [`ticks`]: the counter of the processor, and the monotonic clock
//! - [`signals`]: signals as a readable descriptor
//! - [`stamps`]: kernel timestamps
//! - [`hwstamp`]: device timestamps
//! - [`privileges`]: users, capabilities, limits
//! - [`rights`]: calls that another process makes, which has the right
//! - [`landlock`], [`seccomp`]: sandbox
//! - `entries`: calls by every entry of the kernel, for tests of the sandbox (x86-64)
//! - [`system`]: CPUs online, clock ticks, names of system and machine
//! - [`net`]: addresses, drivers and offloads of interfaces
//! - [`qdisc`]: queueing disciplines
//!
//! Calls go through libc symbols, so that socket stacks preloaded in front of
//! libc see every one of them.

#[cfg(target_os = "linux")]
mod linux;
pub mod memory;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use linux::entries;
#[cfg(target_os = "linux")]
pub use linux::{
    address, alarm, atm, batch, epoll, error_queue, events, filter, flow_label, hwstamp, io, ktls,
    landlock, link, lock, net, openssl, parts, pass, privileges, process, qdisc, resolve, rights,
    sctp, seccomp, signals, sockopt, stamps, system, tcp, terminal, ticks, uring, wait, without,
    zerocopy,
};
pub use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};
