//! Output of `--list`: every test and transport, its requirements, and its support.

use serde::Serialize;

use crate::document::DocumentHeader;
use crate::format::json::pretty;

/// Support of a test or a transport on a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "SupportDocument", rename = "support")]
pub enum Support {
    /// It can.
    Supported,
    /// It cannot, and why.
    Missing(String),
    /// Unknown: a stock netserver does not report it.
    Unknown,
}

impl Support {
    const fn word(&self) -> &'static str {
        match self {
            Self::Supported => "yes",
            Self::Missing(_) => "no",
            Self::Unknown => "unknown",
        }
    }

    /// The reason of missing support.
    fn reason(&self) -> Option<&str> {
        match self {
            Self::Missing(reason) => Some(reason),
            Self::Supported | Self::Unknown => None,
        }
    }
}

/// Support of a test or a transport on a host.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename = "support")]
struct SupportDocument {
    /// True if the host can run it. Null if unknown, as of a stock netserver.
    supported: Option<bool>,
    /// The reason of missing support. Null otherwise.
    reason: Option<String>,
}

impl From<Support> for SupportDocument {
    fn from(support: Support) -> Self {
        let (supported, reason) = match support {
            Support::Supported => (Some(true), None),
            Support::Missing(reason) => (Some(false), Some(reason)),
            Support::Unknown => (None, None),
        };
        Self { supported, reason }
    }
}

/// A test or a transport in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename = "listed")]
pub struct SupportRow<'a> {
    /// The name of the test, or of the protocol in results.
    pub name: &'a str,
    /// The word for its transport.
    pub transport: &'a str,
    /// Requirements on the system. Null if every Linux meets them.
    #[serde(serialize_with = "text_or_null")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub needs: &'a str,
    /// Support on this host.
    pub here: Support,
    /// Support on netserver's host. Null if no host was named.
    pub there: Option<Support>,
}

fn text_or_null<S: serde::Serializer>(text: &&str, to: S) -> Result<S::Ok, S::Error> {
    Some(text).filter(|text| !text.is_empty()).serialize(to)
}

/// All tests and transports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct List<'a> {
    /// netserver's host as given. Null if none was named.
    pub host: Option<&'a str>,
    /// Every test.
    pub tests: Vec<SupportRow<'a>>,
    /// Every transport that OMNI takes after `-T`.
    pub transports: Vec<SupportRow<'a>>,
}

/// The document of `--list --json`: every test and transport, and its support.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename = "list")]
pub(crate) struct ListDocument<'a> {
    /// Schema and program.
    #[serde(flatten)]
    header: DocumentHeader,
    /// The list.
    #[serde(flatten)]
    list: &'a List<'a>,
}

/// The list for people: two tables.
#[must_use]
pub fn table(list: &List<'_>) -> String {
    let mut out = String::from("Tests, after -t:\n\n");
    let mut rows = vec![titles("test", list)];
    rows.extend(list.tests.iter().map(|row| cells(row, list)));
    out.push_str(&aligned(&rows));
    out.push_str("\nTransports of OMNI, after -T behind --:\n\n");
    let mut rows = vec![titles("protocol", list)];
    rows.extend(list.transports.iter().map(|row| cells(row, list)));
    out.push_str(&aligned(&rows));
    out
}

/// The list as a JSON document, `#/$defs/list` of the schema.
#[must_use]
pub fn json(list: &List<'_>) -> String {
    pretty(&ListDocument {
        header: DocumentHeader::own(),
        list,
    })
}

fn titles(first: &str, list: &List<'_>) -> Vec<String> {
    let host = list.host.map(str::to_owned);
    [first, "transport", "here"]
        .map(str::to_owned)
        .into_iter()
        .chain(host)
        .chain(["needs".to_owned()])
        .collect()
}

fn cells(row: &SupportRow<'_>, list: &List<'_>) -> Vec<String> {
    let there = list.host.map(|_| row.there.as_ref());
    let there_word = there.map(|there| there.map_or("unknown", Support::word));
    let why = |place: &str, support: Option<&Support>| {
        let reason = support.and_then(Support::reason)?;
        Some(format!("{place}: {reason}"))
    };
    let notes = [
        (!row.needs.is_empty()).then(|| row.needs.to_owned()),
        why("here", Some(&row.here)),
        list.host.and_then(|host| why(host, row.there.as_ref())),
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    [row.name, row.transport, row.here.word()]
        .into_iter()
        .chain(there_word)
        .map(str::to_owned)
        .chain([notes.join("; ")])
        .collect()
}

/// Columns with two blanks between them and in front of a line.
fn aligned(rows: &[Vec<String>]) -> String {
    let text = netperf_text::columns::aligned(rows, &[]);
    text.lines().map(|line| format!("  {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(host: Option<&'static str>) -> List<'static> {
        let there = |support| host.map(|_| support);
        let sctp = "the kernel module sctp";
        List {
            host,
            tests: vec![
                SupportRow {
                    name: "TCP_STREAM",
                    transport: "tcp",
                    needs: "",
                    here: Support::Supported,
                    there: there(Support::Supported),
                },
                SupportRow {
                    name: "SCTP_RR",
                    transport: "sctp",
                    needs: sctp,
                    here: Support::Missing("Protocol not supported".to_owned()),
                    there: there(Support::Unknown),
                },
            ],
            transports: vec![SupportRow {
                name: "SCTP",
                transport: "sctp",
                needs: sctp,
                here: Support::Supported,
                there: there(Support::Missing("no such module".to_owned())),
            }],
        }
    }

    #[test]
    fn the_table_of_this_host_says_what_is_missing_and_what_it_needs() {
        let expected = "\
Tests, after -t:

  test        transport  here  needs
  TCP_STREAM  tcp        yes
  SCTP_RR     sctp       no    the kernel module sctp; here: Protocol not supported

Transports of OMNI, after -T behind --:

  protocol  transport  here  needs
  SCTP      sctp       yes   the kernel module sctp
";
        assert_eq!(table(&list(None)), expected);
    }

    #[test]
    fn another_host_has_a_column_of_its_own() {
        let expected = "\
Tests, after -t:

  test        transport  here  db1      needs
  TCP_STREAM  tcp        yes   yes
  SCTP_RR     sctp       no    unknown  the kernel module sctp; here: Protocol not supported

Transports of OMNI, after -T behind --:

  protocol  transport  here  db1  needs
  SCTP      sctp       yes   no   the kernel module sctp; db1: no such module
";
        assert_eq!(table(&list(Some("db1"))), expected);
    }

    #[test]
    fn json_says_the_same_and_leaves_open_what_is_not_known() {
        let read = |host| {
            let text = json(&list(host));
            serde_json::from_str::<serde_json::Value>(&text).expect("JSON")
        };
        let alone = read(None);
        assert!(alone["host"].is_null());
        assert!(alone["tests"][0]["there"].is_null());
        assert_eq!(alone["tests"][0]["here"]["supported"], true);
        assert!(alone["tests"][0]["needs"].is_null());
        let both = read(Some("db1"));
        assert_eq!(both["host"], "db1");
        let sctp = &both["tests"][1];
        assert_eq!(sctp["name"], "SCTP_RR");
        assert_eq!(sctp["here"]["supported"], false);
        assert_eq!(sctp["here"]["reason"], "Protocol not supported");
        assert!(sctp["there"]["supported"].is_null());
        assert_eq!(both["transports"][0]["there"]["reason"], "no such module");
    }
}
