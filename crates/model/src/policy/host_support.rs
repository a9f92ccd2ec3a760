//! Transports and features that a listener found on its host, as text for its sessions.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::TransportSet;
use crate::io::Feature;

/// Transports and features of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSupport {
    /// Transports whose sockets can be opened.
    pub transports: TransportSet,
    /// Features of its kernel.
    pub features: Vec<Feature>,
    /// Context id of vsock(7), if known.
    pub cid: Option<u32>,
}

/// A text that is not a [`HostSupport`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not what a host supports")]
pub struct BadHostSupport;

impl fmt::Display for HostSupport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let features: Vec<&str> = self.features.iter().map(|one| one.word()).collect();
        write!(f, "{} {}", self.transports, features.join(","))?;
        self.cid.map_or(Ok(()), |cid| write!(f, " {cid}"))
    }
}

impl FromStr for HostSupport {
    type Err = BadHostSupport;

    fn from_str(text: &str) -> Result<Self, BadHostSupport> {
        let (transports, rest) = text.split_once(' ').ok_or(BadHostSupport)?;
        let (features, cid) = match rest.split_once(' ') {
            Some((features, cid)) => (features, Some(cid.parse().map_err(|_| BadHostSupport)?)),
            None => (rest, None),
        };
        let transports = match transports {
            "" => TransportSet::all().filtered(|_| false),
            named => named.parse().map_err(|_| BadHostSupport)?,
        };
        let named = |word: &str| Feature::from_word(word).ok_or(BadHostSupport);
        let words = features.split(',').filter(|word| !word.is_empty());
        Ok(Self {
            transports,
            features: words.map(named).collect::<Result<_, _>>()?,
            cid,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_reads_what_the_listener_wrote() {
        let none = TransportSet::all().filtered(|_| false);
        for transports in [none, TransportSet::default(), TransportSet::all()] {
            for (features, cid) in [
                (Vec::new(), None),
                (Feature::all().collect(), None),
                (Feature::all().collect(), Some(3)),
            ] {
                let found = HostSupport {
                    transports,
                    features,
                    cid,
                };
                assert_eq!(found.to_string().parse(), Ok(found));
            }
        }
        for wrong in ["", "ip", "smoke ", "ip smoke", "ip poll x"] {
            assert_eq!(wrong.parse::<HostSupport>(), Err(BadHostSupport));
        }
    }
}
