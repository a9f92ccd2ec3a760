//! Settings in force at each end after negotiation.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::catalog::settings::Settings;
use crate::fields::NotNegative;
use crate::plan::Family;

/// One data host after name resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The canonical name the resolver gave, or the numeric text as typed.
    pub name: String,
    /// The first address.
    pub address: IpAddr,
    /// The scope of a link-local IPv6 address, 0 otherwise.
    pub scope: u32,
    /// The port, 0 when the system chooses.
    pub port: u16,
    /// The context id, where the host is reached by vsock(7); it then has no IP address.
    pub vsock: Option<u32>,
}

impl Host {
    /// The name of the family, as messages and the banner print it.
    #[must_use]
    pub const fn family_label(&self) -> &'static str {
        match self.vsock {
            Some(_) => "AF_VSOCK",
            None => self.family().label(),
        }
    }

    /// The family of the address.
    #[must_use]
    pub const fn family(&self) -> Family {
        match self.address {
            IpAddr::V4(_) => Family::V4,
            IpAddr::V6(_) => Family::V6,
        }
    }
}

/// Both data hosts after name resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// netperf's.
    pub local: Host,
    /// netserver's.
    pub remote: Host,
}

/// Data socket and buffers of one program, in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename = "agreed")]
pub struct EndSetup {
    /// `SO_SNDBUF` at the beginning, bytes; null if unknown.
    #[serde(rename = "send_buffer_bytes")]
    pub send_buffer: Option<u32>,
    /// `SO_RCVBUF` at the beginning, bytes; null if unknown.
    #[serde(rename = "recv_buffer_bytes")]
    pub recv_buffer: Option<u32>,
    /// Bytes per send; null if this program does not send.
    #[serde(rename = "send_size_bytes")]
    pub send_size: Option<u32>,
    /// Bytes per receive; null if this program does not receive.
    #[serde(rename = "recv_size_bytes")]
    pub recv_size: Option<u32>,
    /// Send buffers in the ring, 0 if the ring is not used.
    #[serde(rename = "send_buffer_count")]
    pub send_width: u32,
    /// Receive buffers in the ring, 0 if the ring is not used.
    #[serde(rename = "recv_buffer_count")]
    pub recv_width: u32,
    /// `TCP_NODELAY` in force.
    pub nodelay: bool,
    /// `SO_PRIORITY`; null if it was not asked for or refused.
    // -1: not asked, -2: refused, -3: not supported.
    #[serde(with = "NotNegative")]
    pub priority: i32,
    /// Type of service; null if it was not asked for or refused.
    // -1: not asked, -2: refused.
    #[serde(rename = "type_of_service", with = "NotNegative")]
    pub tos: i32,
    /// Requested socket options of client and server, as read back.
    #[serde(
        rename = "socket_options",
        serialize_with = "Settings::serialize_known",
        skip_serializing_if = "Settings::is_empty"
    )]
    #[cfg_attr(
        feature = "schema",
        schemars(schema_with = "crate::catalog::settings::schema::known_schema")
    )]
    pub settings: Settings,
    /// Error number if this end could not bind to the CPU that it was asked to use.
    #[serde(skip)]
    pub cpu_refused: Option<i32>,
}

/// Settings in force at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// netperf's end.
    pub local: EndSetup,
    /// netserver's end; `None` with `-N`.
    pub remote: Option<EndSetup>,
    /// The port netserver's data socket is on, 0 where there is none.
    pub data_port: u32,
    /// True if netserver measures its CPU.
    pub remote_cpu: bool,
}
