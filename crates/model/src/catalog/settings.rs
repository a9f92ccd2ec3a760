//! Socket options that both ends honour: one row each. The options of the command line, the
//! negotiation, JSON and the manual are made from the rows.

#[cfg(feature = "schema")]
pub(crate) mod schema;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::IgnoredAny;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Declares [`Setting`] and [`SETTINGS`], so that an option stands in one place.
macro_rules! settings {
    ($($(#[$doc:meta])* $id:ident {
        option: $option:literal,
        ends: $ends:ident,
        number: $number:expr,
        word: $word:literal,
        value: $value:expr,
        json: $json:literal,
        over: $over:ident,
        needs: $needs:literal,
        heading: $heading:ident,
        help: $help:literal,
        more: $more:literal,
    })*) => {
        /// Names one row of [`SETTINGS`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Setting {
            $($(#[$doc])* $id,)*
        }

        /// Every setting, in the order of help and JSON.
        pub static SETTINGS: &[SettingRow] = &[
            $(SettingRow {
                id: Setting::$id,
                option: concat!("--", $option),
                ends: SettingEnds::$ends,
                number: $number,
                word: $word,
                value: $value,
                json: $json,
                over: SettingLayer::$over,
                needs: $needs,
                heading: SettingHeading::$heading,
                help: $help,
                more: $more,
            },)*
        ];

        /// Number of settings.
        const COUNT: usize = [$(Setting::$id,)*].len();
    };
}

/// One socket option that both ends honour.
#[derive(Debug)]
pub struct SettingRow {
    /// The setting that the row describes.
    pub id: Setting,
    /// The option of the command line, with its dashes.
    pub option: &'static str,
    /// The ends that the option sets.
    pub ends: SettingEnds,
    /// Number in messages, which never changes (docs/spec/extension.md); `None` for a name,
    /// which has an item to itself.
    pub number: Option<u8>,
    /// Word by which netserver offers it, which never changes.
    pub word: &'static str,
    /// Values that it takes.
    pub value: SettingType,
    /// Key in JSON, with the unit.
    pub json: &'static str,
    /// Transports that have it.
    pub over: SettingLayer,
    /// Requirements of the host; empty where every Linux of today has it.
    pub needs: &'static str,
    /// Heading in help.
    pub heading: SettingHeading,
    /// Description in one line.
    pub help: &'static str,
    /// Further description for the manual.
    pub more: &'static str,
}

/// Ends that an option sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingEnds {
    /// Both, with one value or two.
    Both,
    /// Only netserver's.
    Remote,
}

/// Values that a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingType {
    /// On or off.
    Switch,
    /// A whole number from 0.
    Count,
    /// Bytes, more than 0.
    Size,
    /// A whole number in a range, both limits included.
    Within(u32, u32),
    /// The name of an interface.
    Name,
}

impl SettingType {
    /// True if it takes this value.
    #[must_use]
    pub const fn takes(self, value: SettingValue) -> bool {
        match (self, value) {
            (Self::Within(least, most), SettingValue::Number(number)) => {
                least <= number && number <= most
            }
            (Self::Switch | Self::Count | Self::Size, SettingValue::Number(_))
            | (Self::Name, SettingValue::Name(_)) => true,
            _ => false,
        }
    }
}

/// Transports that have a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingLayer {
    /// TCP alone.
    Tcp,
    /// Every transport over IP.
    Ip,
}

/// Heading of a setting in help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingHeading {
    /// Options of the data sockets.
    Sockets,
    /// Data paths.
    Paths,
    /// Speed limits.
    Pacing,
}

settings! {
    /// `SO_MAX_PACING_RATE` in bytes per second.
    PacingRate {
        option: "remote-pacing-rate",
        ends: Remote,
        number: Some(6),
        word: "pacing",
        value: SettingType::Size,
        json: "pacing_bytes_per_second",
        over: Ip,
        needs: "",
        heading: Pacing,
        help: "let netserver's kernel pace its sockets at this rate, in bits per second",
        more: "SO_MAX_PACING_RATE at netserver; needs this project's netserver; --pacing-rate is for \
             netperf's end. TCP paces by itself, other protocols only if the queueing discipline \
             of the interface is fq.",
    }
    /// `SO_BUSY_POLL` in microseconds.
    BusyPoll {
        option: "busy-poll",
        ends: Both,
        number: Some(1),
        word: "busy-poll",
        value: SettingType::Count,
        json: "busy_poll_microseconds",
        over: Ip,
        needs: "a kernel with CONFIG_NET_RX_BUSY_POLL, and CAP_NET_ADMIN",
        heading: Paths,
        help: "let calls poll the device for this many microseconds",
        more: "SO_BUSY_POLL. Values above the system's setting need CAP_NET_ADMIN, and the driver \
               must support it. One value is for client and server.",
    }
    /// `TCP_QUICKACK`, of a connection.
    QuickAck {
        option: "quickack",
        ends: Both,
        number: Some(2),
        word: "quickack",
        value: SettingType::Switch,
        json: "quickack",
        over: Tcp,
        needs: "",
        heading: Sockets,
        help: "on or off: acknowledge TCP segments at once",
        more: "TCP_QUICKACK, set when the connection is open; the kernel may change it later. One \
               value is for client and server.",
    }
    /// `TCP_NOTSENT_LOWAT` in bytes.
    NotSentLowAt {
        option: "notsent-lowat",
        ends: Both,
        number: Some(3),
        word: "notsent-lowat",
        value: SettingType::Size,
        json: "notsent_low_bytes",
        over: Tcp,
        needs: "Linux 3.12",
        heading: Sockets,
        help: "limit of unsent bytes in the socket buffer",
        more: "TCP_NOTSENT_LOWAT. One value is for client and server.",
    }
    /// `SO_BINDTODEVICE`: the interface that data must pass.
    Device {
        option: "bind-device",
        ends: Both,
        number: None,
        word: "device",
        value: SettingType::Name,
        json: "device",
        over: Ip,
        needs: "an interface of that name, and CAP_NET_RAW",
        heading: Sockets,
        help: "network interface for the data",
        more: "SO_BINDTODEVICE. One value is for client and server; give two if the interfaces \
               have different names. `eth0,` is for netperf alone.",
    }
    /// `SO_MARK`.
    Mark {
        option: "mark",
        ends: Both,
        number: Some(4),
        word: "mark",
        value: SettingType::Count,
        json: "mark",
        over: Ip,
        needs: "CAP_NET_ADMIN",
        heading: Sockets,
        help: "mark packets for firewall and routing rules",
        more: "SO_MARK; needs CAP_NET_ADMIN. One value is for client and server.",
    }
    /// `IPV6_FLOWLABEL_MGR`: the flow label of packets over IPv6 (RFC 8200).
    FlowLabel {
        option: "flow-label",
        ends: Both,
        number: Some(5),
        word: "flow-label",
        value: SettingType::Within(1, 0xf_ffff),
        json: "flow_label",
        over: Ip,
        needs: "IPv6, and at netserver's end of TCP net.ipv6.flowlabel_consistency = 0",
        heading: Sockets,
        help: "flow label of packets over IPv6",
        more: "A number from 1 to 1048575, over TCP and UDP; IPV6_FLOWLABEL_MGR. One value is for \
               client and server: netserver reflects netperf's label, which over TCP needs \
               net.ipv6.flowlabel_consistency = 0 at netserver; `7,` is for netperf alone. Refused \
               over IPv4.",
    }
}

impl Setting {
    /// Every setting, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        SETTINGS.iter().map(|row| row.id)
    }

    /// Its row.
    #[must_use]
    pub fn row(self) -> &'static SettingRow {
        &SETTINGS[self as usize]
    }

    /// The setting of this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::all().find(|setting| setting.row().number == Some(number))
    }
}

/// One value of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingValue {
    /// A number; 1 for a switch that is on.
    Number(u32),
    /// The name of an interface.
    Name(InterfaceName),
}

/// The name of an interface: 1 to 15 bytes (`IFNAMSIZ`).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct InterfaceName {
    bytes: [u8; Self::MOST],
    length: u8,
}

impl InterfaceName {
    /// The most bytes that a name can have.
    pub const MOST: usize = 15;

    /// The name; `None` for an empty or longer one.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let mut bytes = [0; Self::MOST];
        bytes
            .get_mut(..name.len())?
            .copy_from_slice(name.as_bytes());
        let length = u8::try_from(name.len()).ok().filter(|length| *length > 0)?;
        Some(Self { bytes, length })
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.length));
        std::str::from_utf8(bytes.unwrap_or_default()).unwrap_or_default()
    }
}

impl fmt::Debug for InterfaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// Values of settings: those asked for, or those in force.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings([Option<SettingValue>; COUNT]);

impl Settings {
    /// The value of a setting; `None` where it has none.
    #[must_use]
    pub const fn value(&self, setting: Setting) -> Option<SettingValue> {
        self.0[setting as usize]
    }

    /// The number of a setting; `None` for a name.
    #[must_use]
    pub const fn number(&self, setting: Setting) -> Option<u32> {
        match self.value(setting) {
            Some(SettingValue::Number(number)) => Some(number),
            Some(SettingValue::Name(_)) | None => None,
        }
    }

    /// Gives a setting a value, or none.
    pub const fn set(&mut self, setting: Setting, value: Option<SettingValue>) {
        self.0[setting as usize] = value;
    }

    /// The same with this number.
    #[must_use]
    pub const fn with(mut self, setting: Setting, number: u32) -> Self {
        self.set(setting, Some(SettingValue::Number(number)));
        self
    }

    /// The same with the values that `other` has.
    #[must_use]
    pub fn with_all(mut self, other: &Self) -> Self {
        for (setting, value) in other.iter() {
            self.set(setting, Some(value));
        }
        self
    }

    /// True if no setting has a value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Writes only the settings that have a value.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize_known<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        for (setting, value) in self.iter() {
            entry(&mut map, setting.row(), Some(value))?;
        }
        map.end()
    }

    /// Settings that have a value, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (Setting, SettingValue)> + '_ {
        Setting::all().filter_map(|setting| Some((setting, self.value(setting)?)))
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// An object with every setting under its key: a switch as a boolean, others as `null` where
/// they have no value.
impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(COUNT))?;
        for row in SETTINGS {
            entry(&mut map, row, self.value(row.id))?;
        }
        map.end()
    }
}

fn entry<M: SerializeMap>(
    map: &mut M,
    row: &SettingRow,
    value: Option<SettingValue>,
) -> Result<(), M::Error> {
    match value {
        _ if row.value == SettingType::Switch => map.serialize_entry(row.json, &value.is_some()),
        None => map.serialize_entry(row.json, &None::<u32>),
        Some(SettingValue::Number(number)) => map.serialize_entry(row.json, &number),
        Some(SettingValue::Name(name)) => map.serialize_entry(row.json, name.as_str()),
    }
}

/// Keys that are not in the table are left to others.
impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        /// A value as JSON has it.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Json {
            Switch(bool),
            Number(u32),
            Name(String),
            Other(IgnoredAny),
        }

        let mut settings = Self::default();
        for (key, value) in BTreeMap::<String, Json>::deserialize(from)? {
            let Some(row) = SETTINGS.iter().find(|row| row.json == key) else {
                continue;
            };
            let value = match value {
                Json::Switch(on) => on.then_some(SettingValue::Number(1)),
                Json::Number(number) => Some(SettingValue::Number(number)),
                Json::Name(name) => InterfaceName::new(&name).map(SettingValue::Name),
                Json::Other(IgnoredAny) => None,
            };
            settings.set(row.id, value.filter(|value| row.value.takes(*value)));
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_names_and_numbers() {
        for setting in Setting::all() {
            let row = setting.row();
            assert_eq!(row.id, setting);
            let same = |other: &&SettingRow| other.word == row.word || other.json == row.json;
            assert_eq!(SETTINGS.iter().filter(same).count(), 1, "{setting:?}");
            if let Some(number) = row.number {
                assert_eq!(Setting::from_number(number), Some(setting));
            }
        }
    }

    #[test]
    fn the_name_of_an_interface_has_1_to_15_bytes() {
        let name = "a-long-name.100";
        assert_eq!(InterfaceName::new(name).unwrap().as_str(), name);
        assert_eq!(InterfaceName::new("a-longer-name.10"), None);
        assert_eq!(InterfaceName::new(""), None);
    }

    #[test]
    fn values_of_another_type_are_not_taken() {
        let name = SettingValue::Name(InterfaceName::new("eth0").unwrap());
        assert!(SettingType::Name.takes(name));
        assert!(!SettingType::Count.takes(name));
        assert!(!SettingType::Name.takes(SettingValue::Number(1)));
        assert!(!SettingType::Within(1, 9).takes(SettingValue::Number(10)));
    }
}
