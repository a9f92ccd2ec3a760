//! The extension of netperf 2.7 between two ends of this program.
//!
//! An extension is a block behind the end of an OMNI message, or of a CPU_CALIBRATE
//! request and its answer, where a stock program
//! sends zeros or residue and reads nothing (docs/spec/extension.md). Its mark holds a
//! NUL in the middle, which no residue of a text can, and differs between request and
//! answer, so that no echo is taken for one.

use std::ops::RangeInclusive;

use thiserror::Error;

use crate::codec::{DecodeError, Reader, Writer};
use crate::frame::Frame;
use crate::kind::Stage;

/// The version of the block that is written. What a later one adds is skipped.
const VERSION: u8 = 1;
/// Bytes in front of the items: mark, version, a byte of zero, length.
const HEAD: usize = 12;
/// The longest value that an item can have.
#[cfg(test)]
const LONGEST: usize = u8::MAX as usize;

/// Kinds that are kept for a coordinator, who is neither end: none may be skipped by a
/// reader that does not know it.
const COORDINATION: RangeInclusive<u8> = 0xe0..=0xef;

/// The items behind a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extension {
    items: Vec<ExtensionItem>,
    /// The first value longer than its item.
    too_long: Option<NoRoom>,
}

/// One item: its number and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ExtensionItem {
    kind: u8,
    value: Vec<u8>,
    /// True if the block is complete without it.
    optional: bool,
}

/// Why items cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoRoom {
    /// A value is longer than its item.
    #[error("{length} bytes do not fit into the item {kind:?}, which has space for {space}")]
    Item {
        /// The item.
        kind: ItemKind,
        /// Bytes of the value.
        length: usize,
        /// Capacity of the item in bytes.
        space: usize,
    },
    /// The items together are longer than the rest of the record.
    #[error("items of {length} bytes do not fit behind the message, which has space for {space}")]
    Block {
        /// Bytes of all items that are needed.
        length: usize,
        /// Bytes behind the message.
        space: usize,
    },
}

/// Declares [`ItemKind`], so that a kind stands in one place: its number, which never changes,
/// and the longest value that is written, in bytes.
macro_rules! items {
    ($($(#[$doc:meta])* $kind:ident = $number:literal, $space:literal;)*) => {
        /// Kind of an item.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ItemKind {
            $($(#[$doc])* $kind,)*
        }

        impl ItemKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// Its number, which never changes.
            #[must_use]
            pub const fn number(self) -> u8 {
                match self {
                    $(Self::$kind => $number,)*
                }
            }

            /// The longest value that is written, in bytes: what one record may hold fits then.
            #[must_use]
            pub const fn space(self) -> usize {
                match self {
                    $(Self::$kind => $space,)*
                }
            }
        }
    };
}

items! {
    /// Request: the answers that are wanted, a set of bits.
    Wants = 0x01, 4;
    /// Request: the address that netperf sends data to, 4 or 16 bytes.
    DataAddress = 0x02, 16;
    /// Request: the code of the CPU method to use, one byte.
    CpuMethod = 0x03, 1;
    /// Response: the fields that a stock server never sets are set; no bytes.
    FieldsSet = 0x10, 0;
    /// Response: the operating system's name.
    Sysname = 0x11, 16;
    /// Response: its release.
    Release = 0x12, 64;
    /// Response: its version.
    Version = 0x13, 72;
    /// Response: the hardware's name.
    Machine = 0x14, 16;
    /// Response: the interface's name.
    Interface = 0x20, 16;
    /// Response: vendor, device, subvendor and subdevice, two bytes each.
    PciIds = 0x21, 8;
    /// Response: the interface's slot.
    Slot = 0x22, 24;
    /// Response: the driver's name.
    Driver = 0x23, 32;
    /// Response: the driver's version.
    DriverVersion = 0x24, 32;
    /// Response: the firmware's version.
    Firmware = 0x25, 32;
    /// Response: where the driver says that the device is.
    Bus = 0x26, 32;
    /// Both: the name of a transport that OMNI itself cannot name; a response repeats it.
    Transport = 0x40, 16;
    /// Both: the address of the sender's data socket, as text.
    SocketAddress = 0x41, 40;
    /// Response: why netserver cannot bind to the CPU of the request, an error number in four
    /// bytes; 0 if it does.
    CpuRefused = 0x56, 4;
    /// Request: the device that netserver's data socket is on.
    Device = 0x42, 32;
    /// Request: the number of that device, four bytes.
    Unit = 0x43, 4;
    /// Request: the service access point, one byte.
    AccessPoint = 0x44, 1;
    /// Request: the windows of a link-level connection in frames, four bytes for sending
    /// and four for receiving; 0 leaves the system's choice.
    Window = 0x45, 8;
    /// Answer to a greeting: the transports that netserver's host can do, with blanks
    /// between them.
    Transports = 0x50, 180;
    /// Answer to a greeting: the most flows at once, four bytes.
    MostFlows = 0x70, 4;
    /// Request: how many flows come, four bytes.
    Flows = 0x71, 4;
    /// Request: how many threads serve them, four bytes. Results: how many did.
    Threads = 0x72, 4;
    /// Request: the CPUs they run on, as text. Results: those they ran on.
    Cpus = 0x73, 128;
    /// Request: the rule by which they are placed on CPUs.
    Placement = 0x74, 16;
    /// Response: the ports of the data sockets of many flows, in order, two bytes for the
    /// first of some that follow each other and two for their number.
    Ports = 0x75, 240;
    /// Request: what netserver counts on each flow is wanted as an appendix.
    FlowCounts = 0x76, 0;
    /// Request: what netserver receives by time is wanted as an appendix; nothing, or the longest time
    /// between two counts, microseconds in four bytes.
    Arrivals = 0x77, 4;
    /// Request: a reading of netserver's clock is wanted; no bytes. Response: the reading in
    /// nanoseconds, eight bytes.
    Clock = 0x78, 8;
    /// Answer to a greeting: the transports that netserver's policy does not permit, with blanks
    /// between them.
    TransportsOff = 0x53, 180;
    /// Answer to a greeting: the functions that netserver's policy does not permit to this client,
    /// with blanks between them.
    FeaturesOff = 0x55, 60;
    /// Answer to a greeting: what else netserver and its host can do.
    Features = 0x51, 240;
    /// Request: how netserver is to move its bytes, six bytes.
    DataPath = 0x60, 6;
    /// Request: options of netserver's socket, five bytes each.
    SocketOptions = 0x61, 60;
    /// Request: the interface that netserver's data must pass.
    BindDevice = 0x62, 15;
    /// Response: all that was asked for by the three before this is in force; five bytes for
    /// each socket option that was read back.
    AsAsked = 0x63, 60;
    /// Results: what went on underneath netserver's messages, six counts of eight bytes.
    PathCounts = 0x64, 48;
    /// Results: what can be had besides in pages, five bytes for each: its kind, and how
    /// many bytes it has.
    Appendices = 0x90, 40;
    /// Request for pages: the kind, the first page and how many, seven bytes.
    PagesWanted = 0x91, 7;
    /// Request: microseconds from one sample of a connection to the next, and how many
    /// connections at most, four bytes each.
    Series = 0x92, 8;
    /// Request: the rate that netserver is to keep to when it sends, nine bytes.
    Rate = 0x80, 9;
    /// Results: what keeping to it came to, ten numbers of eight bytes.
    Paced = 0x81, 80;
    /// Both: the connection is to be, or will be, encrypted, in this way, one byte.
    Secure = 0xa0, 1;
    /// Response: why netserver refuses, as text.
    Refusal = 0xa1, 200;
    /// Request: stamp the messages of transactions; one byte, by which clock.
    Timestamps = 0x93, 1;
    /// Request: datagrams carry numbers; one byte, the version of their layout.
    Sequence = 0x84, 1;
    /// Results: what the numbers told, twelve numbers of eight bytes.
    Quality = 0x85, 104;
    /// Request: the data socket carries bulk data both ways at once; no bytes.
    Duplex = 0x86, 0;
    /// Request: that number is wanted; no bytes. Results: sends that a local queue dropped; eight
    /// bytes.
    FailedSends = 0x66, 8;
    /// Request and response: each response begins with so many bytes of its request; one byte.
    Numbers = 0x87, 1;
    /// Request: data comes in by the port of the control connection; one byte, in which way.
    OnePort = 0xa2, 1;
    /// Response: what that data begins with, sixteen bytes.
    Token = 0xa3, 16;
    /// Request: netperf may end the run before its time; no bytes.
    Until = 0x54, 0;
    /// Request: the test is so many microseconds shorter than its whole seconds; four bytes.
    ShortBy = 0x57, 4;
    /// Response: the kinds of the request that are kept for a coordinator, which this
    /// netserver does not serve; one byte each.
    NotOffered = 0xef, 16;
}

impl Extension {
    /// The extension behind a message; `None` where there is no mark.
    ///
    /// # Errors
    /// When there is a mark, and behind it not what a mark promises.
    pub fn decode(stage: Stage, frame: &Frame) -> Result<Option<Self>, DecodeError> {
        let mut head = frame.at(offset(stage));
        if head.take::<8>("mark")? != mark(stage) || head.take::<1>("version")? == [0] {
            return Ok(None);
        }
        head.take::<1>("zero")?;
        let length = u16::from_be_bytes(head.take::<2>("length")?);
        let mut items = head.part(usize::from(length), "items")?;
        let mut extension = Self::default();
        while !items.is_empty() {
            extension.items.push(ExtensionItem::read(&mut items)?);
        }
        Ok(Some(extension))
    }

    /// Writes the extension behind a message. Optional items that do not fit are left
    /// out.
    ///
    /// # Errors
    /// When a value is longer than its item, or the required items do not fit. The message has
    /// no extension then.
    pub fn encode_over(&self, stage: Stage, frame: &mut Frame) -> Result<(), NoRoom> {
        if let Some(error) = self.too_long {
            return Err(error);
        }
        let mut writer = frame.at_mut(offset(stage));
        let space = writer.space().saturating_sub(HEAD);
        let needed = self.items.iter().filter(|item| !item.optional);
        let needed = needed.map(ExtensionItem::length).sum();
        let left = space.checked_sub(needed);
        let mut left = left.ok_or(NoRoom::Block {
            length: needed,
            space,
        })?;
        let mut fitting = Vec::new();
        for item in &self.items {
            if !item.optional {
                fitting.push(item);
            } else if let Some(rest) = left.checked_sub(item.length()) {
                fitting.push(item);
                left = rest;
            }
        }
        writer.put(mark(stage));
        writer.put([VERSION, 0]);
        let length = u16::try_from(space - left).unwrap_or(0);
        writer.put(length.to_be_bytes());
        for item in fitting {
            item.write(&mut writer);
        }
        Ok(())
    }

    /// Adds an item. A value longer than the capacity of its kind is an error of
    /// [`encode_over`](Self::encode_over).
    pub fn push(&mut self, kind: ItemKind, value: &[u8]) {
        if value.len() > kind.space() {
            self.too_long.get_or_insert(NoRoom::Item {
                kind,
                length: value.len(),
                space: kind.space(),
            });
        }
        self.items.push(ExtensionItem {
            kind: kind.number(),
            value: value.to_vec(),
            optional: false,
        });
    }

    /// Adds an item that may be left out. Its value, a text for display, is cut to the
    /// capacity of its kind.
    pub fn push_optional(&mut self, kind: ItemKind, value: &[u8]) {
        let value = value.get(..kind.space()).unwrap_or(value);
        self.items.push(ExtensionItem {
            kind: kind.number(),
            value: value.to_vec(),
            optional: true,
        });
    }

    /// True if it has no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The value of the first item of this kind.
    #[must_use]
    pub fn value(&self, kind: ItemKind) -> Option<&[u8]> {
        let found = self.items.iter().find(|item| item.kind == kind.number());
        found.map(|item| item.value.as_slice())
    }
}

impl Extension {
    /// The kinds among its items that are kept for a coordinator.
    #[must_use]
    pub fn coordination(&self) -> Vec<u8> {
        let kinds = self.items.iter().map(|item| item.kind);
        kinds.filter(|kind| COORDINATION.contains(kind)).collect()
    }
}

impl ExtensionItem {
    fn length(&self) -> usize {
        2 + self.value.len()
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let [kind, length] = reader.take::<2>("item")?;
        let value = reader.part(usize::from(length), "value")?;
        Ok(Self {
            kind,
            value: value.rest().to_vec(),
            optional: false,
        })
    }

    /// The length of every value fits into a byte: it was read from one, or is within the
    /// capacity of its kind.
    fn write(&self, writer: &mut Writer<'_>) {
        writer.put([self.kind]);
        writer.put([u8::try_from(self.value.len()).unwrap_or(0)]);
        writer.put_all(&self.value);
    }
}

/// Start of the block: behind the message, at a whole word.
const fn offset(stage: Stage) -> usize {
    match stage {
        Stage::Request => 208,
        Stage::Response => 212,
        Stage::Results => 292,
    }
}

/// Neither ASCII nor the same from its end, a NUL in front of other bytes, and a byte
/// that tells what kind of message it stands behind.
const fn mark(stage: Stage) -> [u8; 8] {
    let last = match stage {
        Stage::Request => 0x11,
        Stage::Response => 0x22,
        Stage::Results => 0x33,
    };
    [0xb5, b'n', b'p', 0, 0xc7, b'r', b's', last]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{FRAME_LEN, Header};
    use crate::layout::Message;
    use crate::messages::{OmniRequest, OmniResponse, OmniResults};

    #[test]
    fn the_block_starts_behind_the_message() {
        assert!(offset(Stage::Request) >= OmniRequest::END);
        assert!(offset(Stage::Response) >= OmniResponse::END);
        assert!(offset(Stage::Results) >= OmniResults::END);
    }

    /// Bytes of items at their longest.
    fn longest(kinds: &[ItemKind]) -> usize {
        kinds.iter().map(|kind| 2 + kind.space()).sum()
    }

    fn space(stage: Stage) -> usize {
        FRAME_LEN - offset(stage) - HEAD
    }

    #[test]
    fn every_item_of_a_request_fits_at_its_longest() {
        let request = [
            ItemKind::Wants,
            ItemKind::DataAddress,
            ItemKind::CpuMethod,
            ItemKind::Transport,
            ItemKind::SocketAddress,
            ItemKind::Device,
            ItemKind::Unit,
            ItemKind::AccessPoint,
            ItemKind::Window,
            ItemKind::Flows,
            ItemKind::Threads,
            ItemKind::Cpus,
            ItemKind::Placement,
            ItemKind::FlowCounts,
            ItemKind::Arrivals,
            ItemKind::DataPath,
            ItemKind::SocketOptions,
            ItemKind::BindDevice,
            ItemKind::Timestamps,
            ItemKind::Series,
            ItemKind::Rate,
            ItemKind::Sequence,
            ItemKind::Duplex,
            ItemKind::OnePort,
            ItemKind::Until,
        ];
        // A part of a second is for a netserver that sends, arrivals are for one that receives.
        assert!(ItemKind::ShortBy.space() <= ItemKind::Arrivals.space());
        // Without a value in a request. Requests are numbered only where netserver has no rate, whose
        // item is longer.
        let failed_sends = 2;
        assert!(longest(&request) + failed_sends <= space(Stage::Request));
    }

    #[test]
    fn every_item_of_a_response_fits_at_its_longest() {
        let needed = [
            ItemKind::Transport,
            ItemKind::SocketAddress,
            ItemKind::AsAsked,
            ItemKind::Ports,
            ItemKind::Token,
            ItemKind::FieldsSet,
        ];
        assert!(longest(&needed) <= space(Stage::Response));
        let greeting = [
            ItemKind::Transports,
            ItemKind::MostFlows,
            ItemKind::Features,
        ];
        assert!(longest(&greeting) <= space(Stage::Response));
        // The facts, behind the transport, the address and no socket options.
        let in_response = |kind: &ItemKind| matches!(kind.number(), 0x10..=0x41);
        let facts: Vec<ItemKind> = ItemKind::ALL.iter().copied().filter(in_response).collect();
        assert!(longest(&facts) + 2 <= space(Stage::Response));
        assert!(ItemKind::ALL.iter().all(|kind| kind.space() <= LONGEST));
    }

    #[test]
    fn an_optional_item_that_does_not_fit_is_left_out_and_the_others_are_not() {
        let mut extension = Extension::default();
        for _ in 0..3 {
            extension.push_optional(ItemKind::Refusal, &[0; LONGEST]);
        }
        extension.push(ItemKind::CpuMethod, &[4]);
        let mut frame = Frame::new(Header::default());
        extension.encode_over(Stage::Request, &mut frame).unwrap();
        let read = Extension::decode(Stage::Request, &frame).unwrap().unwrap();
        assert_eq!(read.items.len(), 3);
        assert_eq!(read.value(ItemKind::CpuMethod), Some([4].as_slice()));
    }

    #[test]
    fn a_value_that_does_not_fit_is_an_error_that_names_its_item() {
        let mut extension = Extension::default();
        extension.push(ItemKind::SocketOptions, &[0; 65]);
        let mut frame = Frame::new(Header::default());
        let error = extension.encode_over(Stage::Request, &mut frame);
        assert_eq!(
            error.unwrap_err().to_string(),
            "65 bytes do not fit into the item SocketOptions, which has space for 60"
        );
        assert_eq!(Extension::decode(Stage::Request, &frame), Ok(None));
    }

    #[test]
    fn items_that_do_not_fit_together_are_an_error() {
        let mut extension = Extension::default();
        extension.push(ItemKind::Ports, &[0; 240]);
        extension.push(ItemKind::Features, &[0; 240]);
        let mut frame = Frame::new(Header::default());
        let error = extension.encode_over(Stage::Response, &mut frame);
        let expected = NoRoom::Block {
            length: 484,
            space: 432,
        };
        assert_eq!(error, Err(expected));
    }
}
