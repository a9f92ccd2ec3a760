//! How an end moves its bytes, and what it takes of the system and of a peer.

/// What an end does while a call has nothing to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IoMethod {
    /// It sleeps in the call, as netperf always did.
    #[default]
    Blocking,
    /// It makes the call again and again: calls return at once.
    Poll,
    /// It sleeps in epoll_wait(2).
    Epoll,
    /// It hands calls to io_uring(7) and sleeps there, in one system call.
    Uring,
}

impl IoMethod {
    /// Every method.
    pub const ALL: [Self; 4] = [Self::Blocking, Self::Poll, Self::Epoll, Self::Uring];

    /// Its name in options and output.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Blocking => "blocking",
            Self::Poll => "poll",
            Self::Epoll => "epoll",
            Self::Uring => "uring",
        }
    }

    /// The method of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.label() == name)
    }

    /// What it takes of a host; `None` for blocking calls, which every one makes.
    #[must_use]
    pub const fn feature(self) -> Option<Feature> {
        match self {
            Self::Blocking => None,
            Self::Poll => Some(Feature::Poll),
            Self::Epoll => Some(Feature::Epoll),
            Self::Uring => Some(Feature::Uring),
        }
    }

    /// Its number in messages, which never changes.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Blocking => 0,
            Self::Poll => 1,
            Self::Epoll => 2,
            Self::Uring => 3,
        }
    }

    /// The method of this number.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.code() == code)
    }
}

/// How an end moves its bytes. The default is one blocking call for each message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoPlan {
    /// What it does while there is nothing to do.
    pub method: IoMethod,
    /// Sends leave their bytes where they are (`MSG_ZEROCOPY`).
    pub zerocopy: bool,
    /// What is received is counted and thrown away in the kernel (`MSG_TRUNC`).
    pub discard: bool,
    /// Messages per call (sendmmsg(2), recvmmsg(2)); `None` is one.
    pub batch: Option<u32>,
    /// The kernel cuts one long datagram into many and puts many together again
    /// (`UDP_SEGMENT`, `UDP_GRO`).
    pub segments: bool,
    /// What is received goes through a pipe into the null device (splice(2)).
    pub splice: bool,
}

impl IoPlan {
    /// The most messages that one call can move (`UIO_MAXIOV`).
    pub const MOST_MESSAGES: u32 = 1024;

    /// Whether one call moves many datagrams.
    #[must_use]
    pub const fn is_batched(&self) -> bool {
        self.batch.is_some() || self.segments
    }
}

/// What went on underneath the messages of a run that did not move them one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoCounts {
    /// System calls that sent something.
    pub send_calls: u64,
    /// System calls that received something.
    pub recv_calls: u64,
    /// Sends of which the kernel said that it needs their bytes no more.
    pub zerocopy_done: u64,
    /// Of these, the ones whose bytes it copied after all.
    pub zerocopy_copied: u64,
}

impl IoCounts {
    /// The share of sends that were really without a copy, from 0 to 1; `None` when
    /// there was none to tell of.
    #[must_use]
    pub fn zerocopy_share(&self) -> Option<f64> {
        let real = self.zerocopy_done.saturating_sub(self.zerocopy_copied);
        #[expect(clippy::cast_precision_loss, reason = "a share needs no 53 bits")]
        let share = real as f64 / self.zerocopy_done as f64;
        (self.zerocopy_done > 0).then_some(share)
    }
}

/// Something that not every netserver and not every kernel can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// [`IoMethod::Poll`].
    Poll,
    /// [`IoMethod::Epoll`].
    Epoll,
    /// [`IoMethod::Uring`].
    Uring,
    /// [`IoPlan::zerocopy`].
    ZeroCopy,
    /// [`IoPlan::discard`].
    Discard,
    /// [`IoPlan::batch`].
    Batch,
    /// [`IoPlan::segments`].
    Segments,
    /// `SO_BUSY_POLL`.
    BusyPoll,
    /// `TCP_QUICKACK`.
    QuickAck,
    /// `TCP_NOTSENT_LOWAT`.
    NotSentLowAt,
    /// `SO_BINDTODEVICE`.
    Device,
    /// `SO_MARK`.
    Mark,
    /// Handing over, when a run is over, what its results have no room for.
    Pages,
    /// [`EndPlan::series`](crate::plan::EndPlan::series).
    Series,
    /// [`EndPlan::stamps`](crate::plan::EndPlan::stamps).
    Timestamps,
    /// The same by the network device.
    DeviceStamps,
    /// [`EndPlan::rate`](crate::EndPlan::rate).
    Rate,
    /// [`IoPlan::splice`].
    Splice,
    /// `IPV6_FLOWLABEL_MGR`.
    FlowLabel,
    /// `SO_MAX_PACING_RATE`.
    Pacing,
    /// Numbers in datagrams, and what they tell of loss, order and delay.
    Sequence,
    /// Bulk data both ways at once over one connection or socket.
    Duplex,
    /// Data through the port of the control connection.
    OnePort,
    /// An end before its time where netserver alone sends.
    Until,
}

impl Feature {
    /// Every feature.
    pub const ALL: [Self; 24] = [
        Self::Poll,
        Self::Epoll,
        Self::Uring,
        Self::ZeroCopy,
        Self::Discard,
        Self::Batch,
        Self::Segments,
        Self::BusyPoll,
        Self::QuickAck,
        Self::NotSentLowAt,
        Self::Device,
        Self::Mark,
        Self::Pages,
        Self::Series,
        Self::Timestamps,
        Self::DeviceStamps,
        Self::Rate,
        Self::Splice,
        Self::FlowLabel,
        Self::Pacing,
        Self::Sequence,
        Self::Duplex,
        Self::OnePort,
        Self::Until,
    ];

    /// Its name between our ends, which never changes.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Poll => "poll",
            Self::Epoll => "epoll",
            Self::Uring => "uring",
            Self::ZeroCopy => "zerocopy",
            Self::Discard => "discard",
            Self::Batch => "batch",
            Self::Segments => "segments",
            Self::BusyPoll => "busy-poll",
            Self::QuickAck => "quickack",
            Self::NotSentLowAt => "notsent-lowat",
            Self::Device => "device",
            Self::Mark => "mark",
            Self::Pages => "pages",
            Self::Series => "series",
            Self::Timestamps => "timestamps",
            Self::DeviceStamps => "hw-stamps",
            Self::Rate => "rate",
            Self::Splice => "splice",
            Self::FlowLabel => "flow-label",
            Self::Pacing => "pacing",
            Self::Sequence => "sequence",
            Self::Duplex => "duplex",
            Self::OnePort => "one-port",
            Self::Until => "until",
        }
    }

    /// The feature of this name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|feature| feature.word() == word)
    }

    /// The option that asks for it.
    #[must_use]
    pub const fn option(self) -> &'static str {
        match self {
            Self::Poll => "--io poll",
            Self::Epoll => "--io epoll",
            Self::Uring => "--io uring",
            Self::ZeroCopy => "--zerocopy",
            Self::Discard => "--discard",
            Self::Batch => "--batch",
            Self::Segments => "--segment-offload",
            Self::BusyPoll => "--busy-poll",
            Self::QuickAck => "--quickack",
            Self::NotSentLowAt => "--notsent-lowat",
            Self::Device => "--bind-device",
            Self::Mark => "--mark",
            Self::Pages | Self::Series => "--series",
            Self::Timestamps => "--timestamps",
            Self::DeviceStamps => "--timestamps hardware",
            Self::Rate => "--rate",
            Self::Splice => "--splice",
            Self::FlowLabel => "--flow-label",
            Self::Pacing => "--remote-pacing-rate",
            Self::Sequence => "--sequence",
            Self::Duplex => "--bidirectional",
            Self::OnePort => "--one-port",
            Self::Until => "--until where it alone sends",
        }
    }

    /// Whether it is nothing that one end can do alone.
    #[must_use]
    pub const fn takes_both(self) -> bool {
        matches!(
            self,
            Self::Sequence | Self::Duplex | Self::OnePort | Self::Until
        )
    }

    /// What to ask for instead; empty where there is nothing in particular.
    #[must_use]
    pub const fn instead(self) -> &'static str {
        if matches!(self, Self::Until) {
            "use -I, or a test in which netperf sends"
        } else {
            ""
        }
    }

    /// What a host needs for it; empty where every Linux of today has it.
    #[must_use]
    pub const fn needs(self) -> &'static str {
        match self {
            Self::Poll
            | Self::Epoll
            | Self::Discard
            | Self::Batch
            | Self::QuickAck
            | Self::Pages
            | Self::Series
            | Self::Rate
            | Self::Splice
            | Self::Pacing
            | Self::Sequence
            | Self::Duplex
            | Self::Until => "",
            Self::OnePort => {
                "a listener of its own (not inetd, nor -f), and --one-port tcp or on there"
            }
            Self::Uring => "Linux 6.1 that lets this user have io_uring (kernel.io_uring_disabled)",
            Self::ZeroCopy => "Linux 4.14",
            Self::Segments => "Linux 5.0",
            Self::Timestamps => "Linux 4.6",
            Self::DeviceStamps => {
                "an interface whose device stamps all that it sends and receives (ethtool -T), \
                 and that has been told to (hwstamp_ctl -t 1 -r 1)"
            }
            Self::BusyPoll => "a kernel with CONFIG_NET_RX_BUSY_POLL, and CAP_NET_ADMIN",
            Self::NotSentLowAt => "Linux 3.12",
            Self::Device => "an interface of that name, and CAP_NET_RAW",
            Self::Mark => "CAP_NET_ADMIN",
            Self::FlowLabel => {
                "IPv6, and at netserver's end of TCP net.ipv6.flowlabel_consistency = 0"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_back_to_what_they_name() {
        for method in IoMethod::ALL {
            assert_eq!(IoMethod::named(method.label()), Some(method));
            assert_eq!(IoMethod::from_code(method.code()), Some(method));
        }
        for feature in Feature::ALL {
            assert_eq!(Feature::from_word(feature.word()), Some(feature));
        }
    }

    #[test]
    fn the_share_without_a_copy_is_unknown_when_nothing_was_sent_that_way() {
        let mut counts = IoCounts::default();
        assert_eq!(counts.zerocopy_share(), None);
        counts.zerocopy_done = 4;
        counts.zerocopy_copied = 1;
        assert_eq!(counts.zerocopy_share(), Some(0.75));
    }
}
