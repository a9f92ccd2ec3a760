//! Every message, one file per family.

mod control;
mod dlpi;
mod extension;
mod maerts;
mod omni;
mod page;
mod rr;
mod sctp;
mod stream;
mod udp_stream;
mod unix;
mod xti;

pub use control::{CpuCalibrateReply, HeaderOnly, Passphrase, SysInfoReply};
pub use dlpi::{
    DlpiClRrRequest, DlpiClRrResponse, DlpiClStreamRequest, DlpiClStreamResults, DlpiCoRrRequest,
    DlpiCoRrResponse, DlpiCoStreamRequest, DlpiCoStreamResponse, DlpiCoStreamResults,
    DlpiRrResults,
};
pub use extension::{Extension, ItemKind, NoRoom};
pub use maerts::{MaertsRequest, MaertsResponse, MaertsResults};
pub use omni::{OmniRequest, OmniResponse, OmniResults};
pub use page::Page;
pub use rr::{RrRequest, RrResponse, RrResults};
pub use sctp::{
    SctpRrRequest, SctpRrResponse, SctpStreamRequest, SctpStreamResponse, SctpStreamResults,
};
pub use stream::{StreamRequest, StreamResponse, StreamResults};
pub use udp_stream::{UdpStreamRequest, UdpStreamResponse, UdpStreamResults};
pub use unix::{
    DgRrRequest, DgRrResponse, DgRrResults, DgStreamRequest, DgStreamResponse, DgStreamResults,
    StreamRrRequest, StreamRrResponse, StreamRrResults, StreamStreamRequest, StreamStreamResponse,
    StreamStreamResults,
};
pub use xti::{XtiRrRequest, XtiTcpStreamRequest, XtiTcpStreamResults, XtiUdpStreamRequest};

use crate::codec::DecodeError;
use crate::frame::{Frame, Header};
use crate::kind::{RequestKind, Stage};
use crate::layout::{FieldLayout, FieldValue, Message, Values};

/// Declares a message as the wire document's table does: where, what, of which type.
///
/// Gives the struct, and a [`Message`] that reads and writes the fields in order. The
/// declaration does not compile unless the offsets follow from the types.
macro_rules! message {
    (
        $(#[$meta:meta])*
        pub struct $name:ident ends $end:literal {
            $($(#[$field_meta:meta])* $offset:literal => $field:ident: $type:ty,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)+
        }

        const _: () = assert!(
            $crate::layout::is_contiguous(<$name as $crate::Message>::LAYOUT, $end),
            "the fields do not fill the record from the header to the end"
        );

        impl $crate::Message for $name {
            const NAME: &'static str = stringify!($name);
            const LAYOUT: &'static [$crate::FieldLayout] = &[$($crate::FieldLayout {
                name: stringify!($field),
                offset: $offset,
                len: <$type as $crate::layout::Field>::LEN,
                kind: <$type as $crate::layout::Field>::KIND,
            },)+];
            const END: usize = $end;

            fn decode(frame: &$crate::Frame) -> Result<Self, $crate::DecodeError> {
                let mut reader = frame.body();
                Ok(Self {
                    $($field: $crate::layout::Field::read(&mut reader, stringify!($field))?,)+
                })
            }

            fn encode_over(&self, base: &mut $crate::Frame) {
                let mut writer = base.body_mut();
                $($crate::layout::Field::write(&self.$field, &mut writer);)+
            }

            fn values(&self) -> $crate::Values {
                vec![$((
                    stringify!($field),
                    $crate::layout::Field::value(&self.$field),
                ),)+]
            }
        }
    };
}
use message;

/// A message whose type does not matter: what a trace, a test or a fuzzer needs.
#[derive(Debug)]
pub struct MessageRow {
    /// The name of the struct.
    pub name: &'static str,
    /// Which record of an exchange it is.
    pub stage: Stage,
    /// True if it is the one for this request.
    pub carries: fn(RequestKind) -> bool,
    /// End of the message, in bytes from the start of the record.
    pub end: usize,
    /// Position of each field.
    pub layout: &'static [FieldLayout],
    /// Decodes a record, and gives each field by name.
    pub values: fn(&Frame) -> Result<Values, DecodeError>,
    /// Decodes a record and encodes the message over a copy of it.
    pub reencode: fn(&Frame) -> Result<Frame, DecodeError>,
    /// Decodes a record and makes another from zeros, with the same header.
    pub rebuild: fn(&Frame) -> Result<Frame, DecodeError>,
}

impl MessageRow {
    /// The record with these values of fields, zeros in the others.
    pub fn build(&self, header: Header, value: impl Fn(&str) -> Option<FieldValue>) -> Frame {
        let mut frame = Frame::new(header);
        for field in self.layout {
            if let Some(value) = value(field.name) {
                field.put(&value, &mut frame);
            }
        }
        frame
    }
}

/// Every message. Round-trip tests, captured exchanges and the fuzzer go through it.
pub static ALL: &[MessageRow] = &[
    row::<OmniRequest>(Stage::Request, |k| k == RequestKind::Omni),
    row::<OmniResponse>(Stage::Response, |k| k == RequestKind::Omni),
    row::<OmniResults>(Stage::Results, |k| k == RequestKind::Omni),
    row::<StreamRequest>(Stage::Request, |k| k == RequestKind::TcpStream),
    row::<StreamResponse>(Stage::Response, is_tcp_stream),
    row::<StreamResults>(Stage::Results, |k| k == RequestKind::TcpStream),
    row::<MaertsRequest>(Stage::Request, is_maerts),
    row::<MaertsResponse>(Stage::Response, is_maerts),
    row::<MaertsResults>(Stage::Results, is_maerts),
    row::<RrRequest>(Stage::Request, is_rr),
    row::<RrResponse>(Stage::Response, has_rr_response),
    row::<RrResults>(Stage::Results, has_rr_results),
    row::<UdpStreamRequest>(Stage::Request, |k| k == RequestKind::UdpStream),
    row::<UdpStreamResponse>(Stage::Response, is_udp_stream),
    row::<UdpStreamResults>(Stage::Results, is_udp_stream),
    row::<StreamStreamRequest>(Stage::Request, |k| k == RequestKind::StreamStream),
    row::<StreamStreamResponse>(Stage::Response, |k| k == RequestKind::StreamStream),
    row::<StreamStreamResults>(Stage::Results, |k| k == RequestKind::StreamStream),
    row::<StreamRrRequest>(Stage::Request, |k| k == RequestKind::StreamRr),
    row::<StreamRrResponse>(Stage::Response, |k| k == RequestKind::StreamRr),
    row::<StreamRrResults>(Stage::Results, |k| k == RequestKind::StreamRr),
    row::<DgStreamRequest>(Stage::Request, |k| k == RequestKind::DgStream),
    row::<DgStreamResponse>(Stage::Response, |k| k == RequestKind::DgStream),
    row::<DgStreamResults>(Stage::Results, |k| k == RequestKind::DgStream),
    row::<DgRrRequest>(Stage::Request, |k| k == RequestKind::DgRr),
    row::<DgRrResponse>(Stage::Response, |k| k == RequestKind::DgRr),
    row::<DgRrResults>(Stage::Results, |k| k == RequestKind::DgRr),
    row::<SctpStreamRequest>(Stage::Request, is_sctp_stream),
    row::<SctpRrRequest>(Stage::Request, is_sctp_rr),
    row::<XtiTcpStreamRequest>(Stage::Request, |k| k == RequestKind::XtiTcpStream),
    row::<XtiRrRequest>(Stage::Request, is_xti_rr),
    row::<XtiUdpStreamRequest>(Stage::Request, |k| k == RequestKind::XtiUdpStream),
    row::<DlpiCoStreamRequest>(Stage::Request, |k| k == RequestKind::DlpiCoStream),
    row::<DlpiCoStreamResponse>(Stage::Response, |k| k == RequestKind::DlpiCoStream),
    row::<DlpiCoStreamResults>(Stage::Results, |k| k == RequestKind::DlpiCoStream),
    row::<DlpiCoRrRequest>(Stage::Request, |k| k == RequestKind::DlpiCoRr),
    row::<DlpiCoRrResponse>(Stage::Response, has_dlpi_co_rr_response),
    row::<DlpiRrResults>(Stage::Results, is_dlpi_rr),
    row::<DlpiClStreamRequest>(Stage::Request, |k| k == RequestKind::DlpiClStream),
    row::<DlpiClStreamResults>(Stage::Results, |k| k == RequestKind::DlpiClStream),
    row::<DlpiClRrRequest>(Stage::Request, |k| k == RequestKind::DlpiClRr),
    row::<DlpiClRrResponse>(Stage::Response, |k| k == RequestKind::DlpiClRr),
    row::<SctpStreamResponse>(Stage::Response, is_sctp_stream),
    row::<SctpStreamResults>(Stage::Results, is_sctp_stream),
    row::<SctpRrResponse>(Stage::Response, is_sctp_rr),
    row::<XtiTcpStreamResults>(Stage::Results, |k| k == RequestKind::XtiTcpStream),
    row::<Passphrase>(Stage::Request, |k| k == RequestKind::Passphrase),
    row::<CpuCalibrateReply>(Stage::Response, |k| k == RequestKind::CpuCalibrate),
    row::<SysInfoReply>(Stage::Response, |k| k == RequestKind::SysInfo),
    row::<HeaderOnly>(Stage::Request, is_bare_request),
    row::<HeaderOnly>(Stage::Response, has_bare_reply),
];

/// The message that a record of this request holds; none if there is no such record.
#[must_use]
pub fn find(kind: RequestKind, stage: Stage) -> Option<&'static MessageRow> {
    ALL.iter()
        .find(|row| row.stage == stage && (row.carries)(kind))
}

const fn row<M: Message>(stage: Stage, carries: fn(RequestKind) -> bool) -> MessageRow {
    MessageRow {
        name: M::NAME,
        stage,
        carries,
        end: M::END,
        layout: M::LAYOUT,
        values: |frame| Ok(M::decode(frame)?.values()),
        reencode: |frame| {
            let mut copy = frame.clone();
            M::decode(frame)?.encode_over(&mut copy);
            Ok(copy)
        },
        rebuild: |frame| Ok(M::decode(frame)?.encode(frame.header())),
    }
}

const fn is_rr(kind: RequestKind) -> bool {
    matches!(
        kind,
        RequestKind::TcpRr | RequestKind::TcpCrr | RequestKind::TcpCc | RequestKind::UdpRr
    )
}

/// Responses of XTI are those of the tests without it.
const fn is_tcp_stream(kind: RequestKind) -> bool {
    matches!(kind, RequestKind::TcpStream | RequestKind::XtiTcpStream)
}

const fn is_udp_stream(kind: RequestKind) -> bool {
    matches!(kind, RequestKind::UdpStream | RequestKind::XtiUdpStream)
}

const fn has_rr_response(kind: RequestKind) -> bool {
    is_rr(kind) || is_xti_rr(kind)
}

const fn has_rr_results(kind: RequestKind) -> bool {
    has_rr_response(kind) || is_sctp_rr(kind)
}

const fn is_maerts(kind: RequestKind) -> bool {
    matches!(kind, RequestKind::TcpMaerts | RequestKind::SdpMaerts)
}

const fn is_sctp_stream(kind: RequestKind) -> bool {
    matches!(
        kind,
        RequestKind::SctpStream | RequestKind::SctpStreamMany | RequestKind::SdpStream
    )
}

const fn is_sctp_rr(kind: RequestKind) -> bool {
    matches!(
        kind,
        RequestKind::SctpRr
            | RequestKind::SctpRrMany
            | RequestKind::SdpRr
            | RequestKind::SdpCrr
            | RequestKind::SdpCc
    )
}

const fn is_xti_rr(kind: RequestKind) -> bool {
    matches!(
        kind,
        RequestKind::XtiTcpRr | RequestKind::XtiUdpRr | RequestKind::XtiTcpCrr
    )
}

const fn has_dlpi_co_rr_response(kind: RequestKind) -> bool {
    matches!(kind, RequestKind::DlpiCoRr | RequestKind::DlpiClStream)
}

const fn is_dlpi_rr(kind: RequestKind) -> bool {
    matches!(kind, RequestKind::DlpiCoRr | RequestKind::DlpiClRr)
}

const fn is_bare_request(kind: RequestKind) -> bool {
    matches!(kind, RequestKind::CpuCalibrate | RequestKind::SysInfo) || has_bare_reply(kind)
}

const fn has_bare_reply(kind: RequestKind) -> bool {
    matches!(
        kind,
        RequestKind::DebugOn
            | RequestKind::DebugOff
            | RequestKind::NodeIdentify
            | RequestKind::Unknown(_)
    )
}
