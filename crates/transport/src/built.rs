//! Contents of this build: cargo features turn transports, data paths and many flows off.

use std::io::{self, Error};

use netperf_model::{Feature, TransportId};

/// The cargo features that a build may lack: name, presence and transports.
const OPTIONAL: [(&str, bool, &[TransportId]); 2] = [
    (
        "tls",
        cfg!(feature = "tls"),
        &[TransportId::Tls, TransportId::Ktls],
    ),
    (
        "suites",
        cfg!(feature = "suites"),
        &[
            TransportId::Sctp,
            TransportId::SctpMany,
            TransportId::Dccp,
            TransportId::XtiTcp,
            TransportId::XtiUdp,
            TransportId::Llc1,
            TransportId::Llc2,
            TransportId::Packet,
            TransportId::Atm,
        ],
    ),
];

/// The cargo feature that a transport takes; `None` for those that every build has.
pub(crate) fn feature_of(transport: TransportId) -> Option<(&'static str, bool)> {
    let mut optional = OPTIONAL.iter();
    let (name, built, _) = optional.find(|(_, _, members)| members.contains(&transport))?;
    Some((name, *built))
}

/// Reports a transport that this build does not contain.
///
/// # Errors
/// `Unsupported`, with the name of the missing cargo feature.
pub fn check_transport(transport: TransportId) -> Result<(), Error> {
    match feature_of(transport) {
        Some((name, false)) => Err(not_built(name)),
        Some((_, true)) | None => Ok(()),
    }
}

/// Reports many flows in a build that does not contain them.
///
/// # Errors
/// `Unsupported`, with the name of the missing cargo feature.
pub fn check_flows() -> Result<(), Error> {
    if cfg!(feature = "flows") {
        Ok(())
    } else {
        Err(not_built("flows"))
    }
}

/// Names the cargo feature that this build lacks.
pub(crate) fn not_built(name: &str) -> Error {
    Error::new(
        io::ErrorKind::Unsupported,
        format!("this program is built without the feature '{name}'"),
    )
}

/// Features of this build, whatever this kernel has.
pub(crate) fn features() -> impl Iterator<Item = Feature> {
    Feature::all().filter(|feature| check_feature(*feature).is_ok())
}

/// Reports a feature that this build does not contain.
///
/// # Errors
/// `Unsupported`, with the name of the missing cargo feature.
pub fn check_feature(feature: Feature) -> io::Result<()> {
    let always = matches!(
        feature,
        Feature::Setting(_)
            | Feature::Pages
            | Feature::Series
            | Feature::Sequence
            | Feature::OnePort
            | Feature::Until
            | Feature::Arrivals
            | Feature::FailedSends
            | Feature::Numbers
    );
    if !always && !cfg!(feature = "paths") {
        return Err(not_built("paths"));
    }
    Ok(())
}
