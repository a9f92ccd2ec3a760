//! The rate that netserver is to keep to, and what came of it, in the extension block.

use netperf_model::rate::Points;
use netperf_model::{Arrival, EndPlan, Lateness, Paced, RatePlan, RateUnit};
use netperf_wire::messages::{Extension, ItemKind};

use crate::paths::NotUnderstood;

/// Asks netserver to keep to a rate.
pub(crate) fn ask(extension: &mut Extension, end: &EndPlan) {
    let asked = end.rate.as_ref();
    if let Some((rate, unit)) = asked.and_then(|rate| Some((rate, rate.unit.code()?))) {
        let mut value = vec![unit];
        value.extend(rate.per_second.to_be_bytes());
        extension.push(ItemKind::Rate, &value);
    }
}

/// The rate that netperf asks for.
///
/// # Errors
/// When it asks for one that cannot be kept to.
pub(crate) fn asked(extension: &Extension) -> Result<Option<RatePlan>, NotUnderstood> {
    extension
        .value(ItemKind::Rate)
        .map(|value| plan(value).ok_or(NotUnderstood))
        .transpose()
}

fn plan(value: &[u8]) -> Option<RatePlan> {
    let (unit, per_second) = value.split_first()?;
    let per_second = f64::from_be_bytes(per_second.try_into().ok()?);
    let possible = per_second.is_finite() && per_second > 0.0;
    Some(RatePlan {
        per_second: Some(per_second).filter(|_| possible)?,
        unit: RateUnit::from_code(*unit)?,
        arrival: Arrival::Constant,
        seed: None,
    })
}

/// Tells what keeping to it came to.
pub(crate) fn tell(extension: &mut Extension, paced: &Paced) {
    let points = match &paced.lateness {
        Lateness::Whole(times) => Points::of(times),
        Lateness::Told(points) => *points,
    };
    let [p50, p90, p99, p999] = points.quantiles;
    let numbers = [
        paced.due,
        paced.sent,
        paced.seconds.to_bits(),
        points.count,
        points.mean.to_bits(),
        p50,
        p90,
        p99,
        p999,
        points.max,
    ];
    let value: Vec<u8> = numbers.into_iter().flat_map(u64::to_be_bytes).collect();
    extension.push(ItemKind::Paced, &value);
}

/// netserver's account of the rate.
pub(crate) fn told(extension: &Extension) -> Option<Paced> {
    let value = extension.value(ItemKind::Paced)?;
    let mut numbers = value
        .chunks(8)
        .filter_map(|bytes| <[u8; 8]>::try_from(bytes).ok())
        .map(u64::from_be_bytes);
    let mut next = || numbers.next();
    let figure = |bits| Some(f64::from_bits(bits)).filter(|figure| figure.is_finite());
    Some(Paced {
        due: next()?,
        sent: next()?,
        seconds: figure(next()?)?,
        lateness: Lateness::Told(Points {
            count: next()?,
            mean: figure(next()?)?,
            quantiles: [next()?, next()?, next()?, next()?],
            max: next()?,
        }),
        ..Paced::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_arrives_as_it_was_asked_for() {
        for unit in [RateUnit::Bits, RateUnit::Packets] {
            let rate = RatePlan {
                per_second: 0.1,
                unit,
                arrival: Arrival::Constant,
                seed: None,
            };
            let end = EndPlan {
                rate: Some(rate),
                ..EndPlan::default()
            };
            let mut extension = Extension::default();
            ask(&mut extension, &end);
            assert_eq!(asked(&extension), Ok(Some(rate)));
        }
        assert_eq!(asked(&Extension::default()), Ok(None));
    }

    #[test]
    fn a_rate_that_cannot_be_kept_to_is_refused() {
        for (unit, per_second) in [
            (1, 0.0),
            (1, -1.0),
            (1, f64::NAN),
            (2, f64::INFINITY),
            (9, 1.0),
        ] {
            let mut value = vec![unit];
            value.extend(f64::to_be_bytes(per_second));
            let mut extension = Extension::default();
            extension.push(ItemKind::Rate, &value);
            assert_eq!(asked(&extension), Err(NotUnderstood), "{unit} {per_second}");
        }
        let mut extension = Extension::default();
        extension.push(ItemKind::Rate, &[1, 0]);
        assert_eq!(asked(&extension), Err(NotUnderstood));
    }

    #[test]
    fn rate_results_arrive() {
        let paced = Paced {
            due: 7,
            sent: u64::MAX,
            seconds: 1.5,
            lateness: Lateness::Told(Points {
                count: 3,
                mean: 0.25,
                quantiles: [1, 2, 3, 4],
                max: 5,
            }),
            ..Paced::default()
        };
        let mut extension = Extension::default();
        tell(&mut extension, &paced);
        assert_eq!(told(&extension), Some(paced));
    }
}
