//! The netperf 2.7 control messages: layouts, encode and decode.
//!
//! Everything on the control connection is a [`Frame`]: 656 bytes, of which the
//! first eight are a [`Header`] and some of the rest a [`Message`]. Each message
//! is one struct in [`messages`], declared as the table of the wire document
//! (`docs/spec/control-protocol.md`) that it is tested against.
//!
//! ```
//! use netperf_wire::messages::CpuCalibrateReply;
//! use netperf_wire::{Header, Message, RequestKind};
//!
//! let reply = CpuCalibrateReply { cpu_rate: 100.0, num_cpus: 8 };
//! let frame = reply.encode(Header::response(RequestKind::CpuCalibrate));
//! assert!(frame.errno().is_ok());
//! assert_eq!(CpuCalibrateReply::decode(&frame), Ok(reply));
//! ```
//!
//! A value that is not known is kept as it is, so decoding and encoding again gives
//! the same bytes. Nothing here reads or writes a socket.

#![deny(clippy::indexing_slicing, clippy::host_endian_bytes)]

mod address;
pub mod codec;
mod double;
mod frame;
mod kind;
mod layout;
pub mod messages;
mod text;
mod values;

pub use address::{ip_to_words, words_to_ip};
pub use codec::DecodeError;
pub use double::LowWordFirst;
pub use frame::{FRAME_LEN, Frame, HEADER_LEN, Header};
pub use kind::{RemoteErrno, RequestKind, Stage};
pub use layout::{FieldKind, FieldLayout, FieldValue, Message, Values};
pub use text::{FixedStr, SwappedBytes, SwappedStr};
pub use values::{Direction, OmniFlags, WireFamily, WireProtocol, WireSocketType};
