//! Methods by which an end moves its bytes, and the features of host and peer that they need.

use crate::catalog::settings::Setting;
use crate::words::words;

words! {
    /// Method of waiting while a call has nothing to do.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum IoMethod {
        /// The call sleeps, as in the original.
        #[default]
        Blocking = "blocking",
        /// The call returns at once and is repeated.
        Poll = "poll",
        /// The end sleeps in epoll_wait(2).
        Epoll = "epoll",
        /// io_uring(7): submits calls and sleeps in one system call.
        Uring = "uring",
    }
}

impl IoMethod {
    /// The feature that a host needs; `None` for blocking calls.
    #[must_use]
    pub const fn feature(self) -> Option<Feature> {
        match self {
            Self::Blocking => None,
            Self::Poll => Some(Feature::Poll),
            Self::Epoll => Some(Feature::Epoll),
            Self::Uring => Some(Feature::Uring),
        }
    }

    /// Returns true if a thread repeats non-blocking calls instead of sleeping.
    #[must_use]
    pub const fn spins(self) -> bool {
        matches!(self, Self::Poll)
    }

    /// Its number in messages, which never changes: its place in the order of methods.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The method of this number.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.code() == code)
    }
}

/// Data path of an end. The default is one blocking call for each message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoPlan {
    /// Method of waiting.
    pub method: IoMethod,
    /// Sends without a copy (`MSG_ZEROCOPY`).
    pub zerocopy: bool,
    /// The kernel counts received data and discards it (`MSG_TRUNC`).
    pub discard: bool,
    /// Messages per call (sendmmsg(2), recvmmsg(2)); `None` is one.
    pub batch: Option<u32>,
    /// The kernel cuts one long datagram into many and puts many together again
    /// (`UDP_SEGMENT`, `UDP_GRO`).
    pub segments: bool,
    /// Received data goes through a pipe into the null device (splice(2)).
    pub splice: bool,
}

impl IoPlan {
    /// The most messages that one call can move (`UIO_MAXIOV`).
    pub const MOST_MESSAGES: u32 = 1024;

    /// True if one call moves many datagrams.
    #[must_use]
    pub const fn is_batched(&self) -> bool {
        self.batch.is_some() || self.segments
    }

    /// The part that applies to an end, or a direction of it, that only sends.
    #[must_use]
    pub const fn of_sender(self) -> Self {
        Self {
            discard: false,
            splice: false,
            ..self
        }
    }

    /// The part that applies to an end, or a direction of it, that only receives.
    #[must_use]
    pub const fn of_receiver(self) -> Self {
        Self {
            zerocopy: false,
            ..self
        }
    }
}

/// Counts of system calls and completions of a run whose calls move several messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoCounts {
    /// System calls that sent something.
    pub send_calls: u64,
    /// System calls that received something.
    pub recv_calls: u64,
    /// Zero-copy sends that the kernel reported as complete.
    pub zerocopy_done: u64,
    /// Zero-copy sends of these whose bytes the kernel copied after all.
    pub zerocopy_copied: u64,
}

impl IoCounts {
    /// The counts of both.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            send_calls: self.send_calls + other.send_calls,
            recv_calls: self.recv_calls + other.recv_calls,
            zerocopy_done: self.zerocopy_done + other.zerocopy_done,
            zerocopy_copied: self.zerocopy_copied + other.zerocopy_copied,
        }
    }

    /// Calls that each sent one message.
    #[must_use]
    pub fn of_sends(send_calls: u64) -> Self {
        Self {
            send_calls,
            ..Self::default()
        }
    }

    /// Calls that each received one message.
    #[must_use]
    pub fn of_receives(recv_calls: u64) -> Self {
        Self {
            recv_calls,
            ..Self::default()
        }
    }

    /// The counts of two parts of a run, each with what it counts as where its calls were not
    /// counted: a call for each message. `None` if those of neither were.
    #[must_use]
    pub fn of_parts(one: (Option<Self>, Self), other: (Option<Self>, Self)) -> Option<Self> {
        let is_counted = one.0.is_some() || other.0.is_some();
        let counts = |part: (Option<Self>, Self)| part.0.unwrap_or(part.1);
        is_counted.then(|| counts(one).plus(counts(other)))
    }

    /// The share of zero-copy sends that were not copied, from 0 to 1; `None` without any.
    #[must_use]
    pub fn zerocopy_share(&self) -> Option<f64> {
        let real = self.zerocopy_done.saturating_sub(self.zerocopy_copied);
        #[expect(clippy::cast_precision_loss, reason = "a share needs no 53 bits")]
        let share = real as f64 / self.zerocopy_done as f64;
        (self.zerocopy_done > 0).then_some(share)
    }
}

/// Declares [`Feature`], so that a feature stands in one place.
macro_rules! features {
    ($($(#[$doc:meta])* $id:ident: $word:literal, $option:literal, $needs:literal;)*) => {
        /// A capability that some netservers and kernels lack.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Feature {
            $($(#[$doc])* $id,)*
            /// A socket option that both ends honour.
            Setting(Setting),
        }

        impl Feature {
            /// Every feature.
            pub fn all() -> impl Iterator<Item = Self> {
                let settings = Setting::all().map(Self::Setting);
                [$(Self::$id,)*].into_iter().chain(settings)
            }

            /// Its name between our ends, which never changes.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$id => $word,)*
                    Self::Setting(setting) => setting.row().word,
                }
            }

            /// The option that asks for it.
            #[must_use]
            pub fn option(self) -> &'static str {
                match self {
                    $(Self::$id => $option,)*
                    Self::Setting(setting) => setting.row().option,
                }
            }

            /// Requirements of a host; empty where every current Linux has it.
            #[must_use]
            pub fn needs(self) -> &'static str {
                match self {
                    $(Self::$id => $needs,)*
                    Self::Setting(setting) => setting.row().needs,
                }
            }
        }
    };
}

features! {
    /// [`IoMethod::Poll`].
    Poll: "poll", "--io poll", "";
    /// [`IoMethod::Epoll`].
    Epoll: "epoll", "--io epoll", "";
    /// [`IoMethod::Uring`].
    Uring: "uring", "--io uring",
        "Linux 6.1 that lets this user have io_uring (kernel.io_uring_disabled)";
    /// [`IoPlan::zerocopy`].
    ZeroCopy: "zerocopy", "--zerocopy", "Linux 4.14";
    /// [`IoPlan::discard`].
    Discard: "discard", "--discard", "";
    /// [`IoPlan::batch`].
    Batch: "batch", "--batch", "";
    /// [`IoPlan::segments`].
    Segments: "segments", "--segment-offload", "Linux 5.0";
    /// Appendices: results that have no space in their record.
    Pages: "pages", "--series", "";
    /// [`EndPlan::series`](crate::plan::EndPlan::series).
    Series: "series", "--series", "";
    /// [`EndPlan::stamps`](crate::plan::EndPlan::stamps).
    Timestamps: "timestamps", "--timestamps", "Linux 4.6";
    /// The same by the network device.
    DeviceStamps: "hw-stamps", "--timestamps hardware",
        "an interface whose device stamps all that it sends and receives (ethtool -T), \
         and that has been told to (hwstamp_ctl -t 1 -r 1)";
    /// [`EndPlan::rate`](crate::EndPlan::rate).
    Rate: "rate", "--rate", "";
    /// [`IoPlan::splice`].
    Splice: "splice", "--splice", "";
    /// Numbers in datagrams, and the loss, order and delay that they tell.
    Sequence: "sequence", "--sequence", "";
    /// Bulk data both ways at once over one connection or socket.
    Duplex: "duplex", "--bidirectional", "";
    /// Data through the port of the control connection.
    OnePort: "one-port", "--one-port",
        "a listener of its own (not inetd, nor -f), and --one-port tcp or on there";
    /// An end before its time where netserver alone sends.
    Until: "until", "--until where it alone sends", "";
    /// Fractions of a second in the time of what netserver alone sends.
    Fractions: "fractions", "--time", "";
    /// Counts of what netserver receives, by time.
    Arrivals: "arrivals", "--warmup", "";
    /// The number of messages that a full queue of netserver's host dropped.
    FailedSends: "failed-sends", "datagrams from netserver", "";
    /// Requests with a number, which their responses repeat.
    Numbers: "numbers", "--rate with datagrams", "";
}

impl Feature {
    /// Methods of waiting beside the calls of every transport that has plain ones.
    pub const WAITS: &[Self] = &[Self::Poll, Self::Epoll];

    /// The feature of this name.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::all().find(|feature| feature.word() == word)
    }

    /// True if both ends must have it.
    #[must_use]
    pub const fn takes_both(self) -> bool {
        matches!(
            self,
            Self::Sequence | Self::Duplex | Self::OnePort | Self::Until
        )
    }

    /// Alternative to ask for; empty where there is none in particular.
    #[must_use]
    pub const fn instead(self) -> &'static str {
        if matches!(self, Self::Until) {
            "use -I, or a test in which netperf sends"
        } else {
            ""
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
        for feature in Feature::all() {
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
