//! Linux.

pub mod address;
pub mod alarm;
pub mod atm;
pub mod batch;
mod call;
#[cfg(target_arch = "x86_64")]
pub mod entries;
pub mod epoll;
pub mod error_queue;
pub mod events;
pub mod filter;
pub mod flow_label;
pub mod hwstamp;
mod interruptions;
pub mod io;
pub mod ktls;
pub mod landlock;
pub mod link;
pub mod lock;
mod message;
pub mod net;
pub mod openssl;
pub mod parts;
pub mod pass;
mod pass_here;
pub mod privileges;
pub mod process;
pub mod qdisc;
pub mod resolve;
pub mod rights;
pub mod sctp;
#[cfg_attr(
    not(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64"
    )),
    path = "linux/absent/seccomp.rs"
)]
pub mod seccomp;
pub mod signals;
pub mod sockopt;
pub mod stamps;
pub mod system;
pub mod tcp;
pub mod terminal;
pub mod ticks;
#[cfg_attr(
    not(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64",
        target_arch = "loongarch64",
        target_arch = "powerpc64"
    )),
    path = "linux/absent/uring.rs"
)]
pub mod uring;
pub mod wait;
pub mod without;
pub mod zerocopy;
