//! The `KEY=value` lines a `-k` selection prints.

use std::collections::BTreeMap;

/// Parsed `-k` output.
#[derive(Debug, Clone, Default)]
pub struct Values(BTreeMap<String, String>);

impl Values {
    /// Takes every line with a `=`; the last of equal keys wins.
    pub fn parse(stdout: &str) -> Self {
        Self(
            stdout
                .lines()
                .filter_map(|line| line.split_once('='))
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        )
    }

    /// The text of a key, which must be there.
    pub fn text(&self, key: &str) -> &str {
        let known = || self.0.keys().cloned().collect::<Vec<_>>().join(" ");
        self.0
            .get(key)
            .unwrap_or_else(|| panic!("no {key} among: {}", known()))
    }

    /// In each direction something was sent, and all of it arrived.
    #[track_caller]
    pub fn arrived_both_ways(&self) {
        for (sent, received) in [
            ("LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD"),
            ("REMOTE_BYTES_SENT", "LOCAL_BYTES_RECVD"),
        ] {
            assert!(self.count(sent) > 0, "{sent}: {self:?}");
            assert_eq!(self.count(sent), self.count(received), "{self:?}");
        }
    }

    /// In each direction something was sent, and some of it arrived: netserver goes on by itself
    /// when the time of a connection for each direction is over.
    #[track_caller]
    pub fn moved_both_ways(&self) {
        for (sent, received) in [
            ("LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD"),
            ("REMOTE_BYTES_SENT", "LOCAL_BYTES_RECVD"),
        ] {
            let (sent, received) = (self.count(sent), self.count(received));
            assert!(received > 0 && received <= sent, "{self:?}");
        }
    }

    /// netserver's count of bytes sent is -1, or at least what netperf received. It has no
    /// count if it has no result at all, which a loaded machine may cause.
    #[track_caller]
    pub fn sends_of_netserver_are_known_or_missing(&self) {
        if self.count("REMOTE_BYTES_RECVD") == 0 {
            return;
        }
        let sent = self.count("REMOTE_BYTES_SENT");
        let received = self.count("LOCAL_BYTES_RECVD");
        assert!(received > 0 && (sent == -1 || sent >= received), "{self:?}");
    }

    /// The number of a key, which must be there and be one.
    pub fn number(&self, key: &str) -> f64 {
        let text = self.text(key);
        text.trim()
            .parse()
            .unwrap_or_else(|_| panic!("{key}={text} is no number"))
    }

    /// The whole number of a key: a count.
    pub fn count(&self, key: &str) -> i64 {
        let text = self.text(key);
        text.trim()
            .parse()
            .unwrap_or_else(|_| panic!("{key}={text} is no count"))
    }
}
