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

/// Declares [`ALL`]: the stage of a message, its type, and the requests in whose exchange it is.
macro_rules! rows {
    ($($stage:ident $message:ident: $kinds:pat,)*) => {
        /// Every message. Round-trip tests, captured exchanges and the fuzzer go through it.
        pub static ALL: &[MessageRow] = &[$(
            row::<$message>(Stage::$stage, |kind| {
                use RequestKind::*;
                matches!(kind, $kinds)
            }),
        )*];
    };
}

rows! {
    Request OmniRequest: Omni,
    Response OmniResponse: Omni,
    Results OmniResults: Omni,
    Request StreamRequest: TcpStream,
    Response StreamResponse: TcpStream | XtiTcpStream,
    Results StreamResults: TcpStream,
    Request MaertsRequest: TcpMaerts | SdpMaerts,
    Response MaertsResponse: TcpMaerts | SdpMaerts,
    Results MaertsResults: TcpMaerts | SdpMaerts,
    Request RrRequest: TcpRr | TcpCrr | TcpCc | UdpRr,
    Response RrResponse: TcpRr | TcpCrr | TcpCc | UdpRr | XtiTcpRr | XtiUdpRr | XtiTcpCrr,
    Results RrResults: TcpRr | TcpCrr | TcpCc | UdpRr | XtiTcpRr | XtiUdpRr | XtiTcpCrr
            | SctpRr | SctpRrMany | SdpRr | SdpCrr | SdpCc,
    Request UdpStreamRequest: UdpStream,
    Response UdpStreamResponse: UdpStream | XtiUdpStream,
    Results UdpStreamResults: UdpStream | XtiUdpStream,
    Request StreamStreamRequest: StreamStream,
    Response StreamStreamResponse: StreamStream,
    Results StreamStreamResults: StreamStream,
    Request StreamRrRequest: StreamRr,
    Response StreamRrResponse: StreamRr,
    Results StreamRrResults: StreamRr,
    Request DgStreamRequest: DgStream,
    Response DgStreamResponse: DgStream,
    Results DgStreamResults: DgStream,
    Request DgRrRequest: DgRr,
    Response DgRrResponse: DgRr,
    Results DgRrResults: DgRr,
    Request SctpStreamRequest: SctpStream | SctpStreamMany | SdpStream,
    Request SctpRrRequest: SctpRr | SctpRrMany | SdpRr | SdpCrr | SdpCc,
    Request XtiTcpStreamRequest: XtiTcpStream,
    Request XtiRrRequest: XtiTcpRr | XtiUdpRr | XtiTcpCrr,
    Request XtiUdpStreamRequest: XtiUdpStream,
    Request DlpiCoStreamRequest: DlpiCoStream,
    Response DlpiCoStreamResponse: DlpiCoStream,
    Results DlpiCoStreamResults: DlpiCoStream,
    Request DlpiCoRrRequest: DlpiCoRr,
    Response DlpiCoRrResponse: DlpiCoRr | DlpiClStream,
    Results DlpiRrResults: DlpiCoRr | DlpiClRr,
    Request DlpiClStreamRequest: DlpiClStream,
    Results DlpiClStreamResults: DlpiClStream,
    Request DlpiClRrRequest: DlpiClRr,
    Response DlpiClRrResponse: DlpiClRr,
    Response SctpStreamResponse: SctpStream | SctpStreamMany | SdpStream,
    Results SctpStreamResults: SctpStream | SctpStreamMany | SdpStream,
    Response SctpRrResponse: SctpRr | SctpRrMany | SdpRr | SdpCrr | SdpCc,
    Results XtiTcpStreamResults: XtiTcpStream,
    Request Passphrase: Passphrase,
    Response CpuCalibrateReply: CpuCalibrate,
    Response SysInfoReply: SysInfo,
    Request HeaderOnly: CpuCalibrate | SysInfo | DebugOn | DebugOff | NodeIdentify | Unknown(_),
    Response HeaderOnly: DebugOn | DebugOff | NodeIdentify | Unknown(_),
}

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
