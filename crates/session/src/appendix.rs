//! Appendices: measurements of netserver that do not fit into its results, sent in pages.
//!
//! The results announce each appendix with its length; netperf requests pages, many with one
//! request, and joins them. Both ends know the largest size beforehand
//! (docs/spec/extension.md, "Appendices").

use std::time::Duration;

use netperf_model::{EndResult, TestPlan};
use netperf_wire::messages::{Extension, HeaderOnly, ItemKind, Page};
use netperf_wire::{Frame, Header, Message, RemoteErrno, RequestKind, Stage};

use crate::error::SessionError;
use crate::{arrivals, flows, series, settings, stamps};

/// The most bytes that one appendix can have.
pub const MOST_BYTES: usize = 4 << 20;
/// The most pages that are asked for, and sent, at once.
pub const AT_ONCE: u16 = 512;
/// Time limit for the transfer of all appendices of a run.
pub const HANDING_OVER: Duration = Duration::from_secs(60);

/// Subject of an appendix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendixKind {
    /// [`EndResult::series`].
    Series,
    /// [`EndResult::stamps`].
    Stamps,
    /// [`EndResult::flows`].
    Flows,
    /// [`EndResult::settings`].
    Settings,
    /// [`EndResult::arrivals`].
    Arrivals,
}

impl AppendixKind {
    const ALL: [Self; 5] = [
        Self::Series,
        Self::Stamps,
        Self::Flows,
        Self::Settings,
        Self::Arrivals,
    ];

    /// Its number, which never changes.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Series => 1,
            Self::Stamps => 2,
            Self::Flows => 3,
            Self::Settings => 4,
            Self::Arrivals => 5,
        }
    }

    fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }

    /// True if a plan requests it from netserver.
    fn is_wanted(self, plan: &TestPlan) -> bool {
        match self {
            Self::Series => plan.remote.series.is_some(),
            Self::Stamps => plan.remote.stamps.is_some(),
            Self::Flows => plan.many.is_some(),
            // Requested beside the plan.
            Self::Settings | Self::Arrivals => true,
        }
    }

    /// Its bytes; `None` where there is none.
    fn of(self, result: &EndResult) -> Option<Vec<u8>> {
        match self {
            Self::Series => result.series.as_ref().map(series::encode),
            Self::Stamps => result.stamps.as_ref().map(stamps::encode),
            Self::Flows => result.flows.as_deref().map(flows::encode),
            Self::Settings => result.settings.as_deref().map(settings::encode),
            Self::Arrivals => result.arrivals.as_ref().map(arrivals::encode),
        }
    }

    /// Reads its bytes into a result.
    fn put(self, bytes: &[u8], result: &mut EndResult) -> Result<(), SessionError> {
        match self {
            Self::Series => result.series = whole(series::decode(bytes), "the series is cut")?,
            Self::Stamps => result.stamps = whole(stamps::decode(bytes), "the stamps are cut")?,
            Self::Flows => result.flows = whole(flows::decode(bytes), "the flows are cut")?,
            Self::Settings => {
                result.settings = whole(settings::decode(bytes), "the settings are cut")?;
            }
            Self::Arrivals => {
                result.arrivals = whole(arrivals::decode(bytes), "the arrivals are cut")?;
            }
        }
        Ok(())
    }
}

fn whole<T>(decoded: Option<T>, otherwise: &str) -> Result<Option<T>, SessionError> {
    match decoded {
        Some(_) => Ok(decoded),
        None => Err(SessionError::Malformed(otherwise.to_owned())),
    }
}

/// The appendices of a run, at netserver, until the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Appendices(Vec<(AppendixKind, Vec<u8>)>);

impl Appendices {
    /// The parts of a result that do not fit into its record.
    #[must_use]
    pub fn of(result: &EndResult) -> Self {
        let kinds = AppendixKind::ALL.into_iter();
        let all = kinds.filter_map(|kind| Some((kind, kind.of(result)?)));
        Self(all.filter(|(_, bytes)| bytes.len() <= MOST_BYTES).collect())
    }

    /// Says what there is.
    pub(crate) fn announce(&self, told: &mut Extension) {
        let each = self.0.iter().flat_map(|(kind, bytes)| {
            let length = u32::try_from(bytes.len()).unwrap_or(0).to_be_bytes();
            [kind.number()].into_iter().chain(length)
        });
        let value: Vec<u8> = each.collect();
        if !value.is_empty() {
            told.push(ItemKind::Appendices, &value);
        }
    }

    /// The pages that a request asks for; an error number where there are none of them.
    #[must_use]
    pub fn answer(&self, wanted: WantedPages) -> Vec<Frame> {
        let pages = self.pages(wanted).unwrap_or_default();
        let header = Header::response(RequestKind::CpuCalibrate);
        if pages.is_empty() {
            return vec![HeaderOnly.encode(header.with_errno(RemoteErrno::ENODATA))];
        }
        pages.iter().map(|page| page.encode(header)).collect()
    }

    fn pages(&self, wanted: WantedPages) -> Option<Vec<Page>> {
        let kind = AppendixKind::from_number(wanted.kind)?;
        let (_, bytes) = self.0.iter().find(|(other, _)| *other == kind)?;
        let first = usize::try_from(wanted.first).ok()?;
        let rest = bytes.get(first.checked_mul(Page::SPACE)?..)?;
        let numbers = wanted.first..=u32::MAX;
        let pages = numbers.zip(rest.chunks(Page::SPACE));
        let pages = pages.take(usize::from(wanted.count.min(AT_ONCE)));
        let page = |(number, bytes): (u32, &[u8])| Page {
            kind: wanted.kind,
            number,
            bytes: bytes.to_vec(),
        };
        Some(pages.map(page).collect())
    }
}

/// Pages that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedPages {
    kind: u8,
    first: u32,
    count: u16,
}

impl WantedPages {
    /// The pages of a request; `None` if it requests none.
    pub(crate) fn read(asked: &Extension) -> Option<Self> {
        let value = asked.value(ItemKind::PagesWanted)?;
        let [kind, a, b, c, d, e, f] = <[u8; 7]>::try_from(value).ok()?;
        Some(Self {
            kind,
            first: u32::from_be_bytes([a, b, c, d]),
            count: u16::from_be_bytes([e, f]),
        })
    }

    fn request(self) -> Result<Frame, SessionError> {
        let mut value = vec![self.kind];
        value.extend(self.first.to_be_bytes());
        value.extend(self.count.to_be_bytes());
        let mut asked = Extension::default();
        asked.push(ItemKind::PagesWanted, &value);
        let mut frame = HeaderOnly.encode(Header::request(RequestKind::CpuCalibrate));
        asked.encode_over(Stage::Request, &mut frame)?;
        Ok(frame)
    }
}

/// Appendices on their way to netperf.
#[derive(Clone, Debug, PartialEq)]
pub struct Fetching {
    result: EndResult,
    /// Appendices not yet complete, with their lengths in bytes; the last one is in
    /// transfer.
    left: Vec<(AppendixKind, usize)>,
    got: Vec<u8>,
    /// Pages that were asked for and have not come.
    awaited: u16,
}

/// The next step of the transfer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// Ask for more pages.
    Ask(Box<Frame>, Fetching),
    /// Wait for the next page.
    Wait(Fetching),
    /// The result is complete.
    Done(EndResult),
}

/// The first step after the results.
///
/// # Errors
/// When netserver announces more than an appendix can be.
pub(crate) fn begin(
    plan: &TestPlan,
    result: EndResult,
    frame: &Frame,
) -> Result<Next, SessionError> {
    let fetching = Fetching {
        result,
        left: announced(plan, frame)?,
        got: Vec::new(),
        awaited: 0,
    };
    fetching.next()
}

fn announced(plan: &TestPlan, frame: &Frame) -> Result<Vec<(AppendixKind, usize)>, SessionError> {
    let told = Extension::decode(Stage::Results, frame).ok().flatten();
    let told = told.unwrap_or_default();
    let value = told.value(ItemKind::Appendices).unwrap_or_default();
    let mut left: Vec<(AppendixKind, usize)> = Vec::new();
    for entry in value.chunks_exact(5) {
        let [number, a, b, c, d] = <[u8; 5]>::try_from(entry).unwrap_or_default();
        // An appendix that was not requested, or is unknown, is not fetched.
        let kind = AppendixKind::from_number(number).filter(|kind| kind.is_wanted(plan));
        let twice = |kind: &AppendixKind| left.iter().any(|(other, _)| other == kind);
        let Some(kind) = kind.filter(|kind| !twice(kind)) else {
            continue;
        };
        let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        if length > MOST_BYTES {
            let text = format!("{length} bytes of appendix {number} are announced");
            return Err(SessionError::Malformed(text));
        }
        left.push((kind, length));
    }
    Ok(left)
}

impl Fetching {
    /// Takes in a page.
    ///
    /// # Errors
    /// When it is not the one that is awaited, or not as long as it must be.
    pub(crate) fn take(mut self, frame: &Frame) -> Result<Next, SessionError> {
        if !frame.errno().is_ok() {
            return Err(SessionError::Remote(frame.errno()));
        }
        let malformed = || SessionError::Malformed("not the page that was asked for".to_owned());
        let page = Page::decode(frame).ok().flatten().ok_or_else(malformed)?;
        let (kind, length) = *self.left.last().ok_or_else(malformed)?;
        let missing = length.saturating_sub(self.got.len());
        let number = u32::try_from(self.got.len() / Page::SPACE).unwrap_or(u32::MAX);
        let is_it = page.kind == kind.number() && page.number == number;
        if !is_it || page.bytes.len() != missing.min(Page::SPACE) {
            return Err(malformed());
        }
        self.got.extend(page.bytes);
        self.awaited = self.awaited.saturating_sub(1);
        self.next()
    }

    fn next(mut self) -> Result<Next, SessionError> {
        while let Some((kind, length)) = self.left.last().copied() {
            if self.awaited > 0 {
                return Ok(Next::Wait(self));
            }
            let missing = length.saturating_sub(self.got.len());
            if missing > 0 {
                let pages = missing.div_ceil(Page::SPACE).min(usize::from(AT_ONCE));
                self.awaited = u16::try_from(pages).unwrap_or(AT_ONCE);
                let wanted = WantedPages {
                    kind: kind.number(),
                    first: u32::try_from(self.got.len() / Page::SPACE).unwrap_or(u32::MAX),
                    count: self.awaited,
                };
                return Ok(Next::Ask(Box::new(wanted.request()?), self));
            }
            kind.put(&std::mem::take(&mut self.got), &mut self.result)?;
            self.left.pop();
        }
        Ok(Next::Done(self.result))
    }
}
