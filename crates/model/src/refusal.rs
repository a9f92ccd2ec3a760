//! Combinations of options, tests and transports: one table of what goes together, and the
//! reason where something does not.

mod conditions;
mod flows;
mod options;
mod places;

use std::borrow::Cow;

use thiserror::Error;

pub use self::flows::serves;
use crate::catalog::settings::Setting;
use crate::catalog::tests::TestId;
use crate::catalog::transports::TransportId;
use crate::io::Feature;
use crate::plan::{EndPlan, TestPlan};

/// An option that has no place in a test.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{option}: {why}")]
pub struct Refusal {
    /// The option.
    pub option: &'static str,
    /// The reason, with a way out where there is one.
    pub why: Cow<'static, str>,
}

/// Checks that everything that a plan asks for goes together.
///
/// # Errors
/// The first option that does not, and why.
pub fn check(plan: &TestPlan) -> Result<(), Refusal> {
    if plan.until.is_some() {
        of_feature(&EndCase::local(plan), Feature::Until, "--until")?;
    }
    flows::check(plan)?;
    if plan.flow.duplex.is_some() {
        let option = Feature::Duplex.option();
        of_feature(&EndCase::local(plan), Feature::Duplex, option)?;
    }
    options::check(plan)?;
    for case in [EndCase::local(plan), EndCase::remote(plan)] {
        for feature in case.end.features() {
            // A plan says these of both ends, which was checked above.
            if !matches!(feature, Feature::Duplex | Feature::Until) {
                of_feature(&case, feature, option_of(&case, feature))?;
            }
        }
    }
    Ok(())
}

/// Checks one feature of an end.
fn of_feature(case: &EndCase<'_>, feature: Feature, option: &'static str) -> Result<(), Refusal> {
    places::why_not(case, feature).map_or(Ok(()), |why| {
        let why = why.into();
        Err(Refusal { option, why })
    })
}

/// The option that asks an end for a feature.
fn option_of(case: &EndCase<'_>, feature: Feature) -> &'static str {
    let own = std::ptr::eq(case.end, &case.plan.local);
    if own && feature == Feature::Setting(Setting::PacingRate) {
        "--pacing-rate"
    } else {
        feature.option()
    }
}

/// The part of an end in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndPart {
    /// It sends data one way.
    Send,
    /// It receives data one way.
    Receive,
    /// It sends and receives data both ways at once.
    BothWays,
    /// Requests and responses over one connection or socket.
    Transactions,
    /// Operations that open and close a connection each.
    Connections,
    /// It moves nothing.
    Nothing,
}

/// One end of a plan.
struct EndCase<'a> {
    plan: &'a TestPlan,
    end: &'a EndPlan,
    sends: bool,
    receives: bool,
}

impl<'a> EndCase<'a> {
    /// netperf's end.
    fn local(plan: &'a TestPlan) -> Self {
        Self {
            plan,
            end: &plan.local,
            sends: plan.flow.sends,
            receives: plan.flow.receives,
        }
    }

    /// netserver's end.
    fn remote(plan: &'a TestPlan) -> Self {
        Self {
            plan,
            end: &plan.remote,
            sends: plan.flow.receives,
            receives: plan.flow.sends,
        }
    }

    fn part(&self) -> EndPart {
        let flow = self.plan.flow;
        match (self.sends, self.receives) {
            _ if flow.connects => EndPart::Connections,
            _ if flow.duplex.is_some() => EndPart::BothWays,
            (true, true) => EndPart::Transactions,
            (true, false) => EndPart::Send,
            (false, true) => EndPart::Receive,
            (false, false) => EndPart::Nothing,
        }
    }

    /// True if the transport is one of these.
    fn over(&self, transports: &[TransportId]) -> bool {
        transports.contains(&self.plan.transport)
    }

    /// True if the test is this one.
    fn is(&self, test: TestId) -> bool {
        self.plan.test == test
    }
}

const TCP: &[TransportId] = &[TransportId::Tcp, TransportId::IpDefault];
const UDP: &[TransportId] = &[TransportId::Udp];

/// True if the transport uses TCP and its sockets have `TCP_INFO`.
#[must_use]
pub fn tells_of_tcp(transport: TransportId) -> bool {
    conditions::TELLS_OF_TCP.contains(&transport)
}

/// True if requests or responses are empty, so that they look like an end.
fn is_empty(plan: &TestPlan) -> bool {
    [plan.request, plan.response].contains(&Some(0))
}
