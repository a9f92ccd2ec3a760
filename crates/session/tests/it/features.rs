//! Every feature of the table crosses from netperf's plan to netserver's job.

use std::time::Duration;

use crate::common::{local_end, much, plan};
use netperf_model::rate::{Arrival, RatePlan, RateUnit};
use netperf_model::{
    Duplex, EndPlan, Feature, Flow, InterfaceName, IoMethod, SeriesPlan, SettingType, SettingValue,
    Stamper, TestPlan, TransportId,
};
use netperf_session::dialect::Dialect;
use netperf_session::offer;
use netperf_wire::RemoteErrno;

/// The plan of an end that asks for a feature.
fn asking_for(feature: Feature) -> EndPlan {
    let mut end = EndPlan::default();
    match feature {
        Feature::Poll => end.io.method = IoMethod::Poll,
        Feature::Epoll => end.io.method = IoMethod::Epoll,
        Feature::Uring => end.io.method = IoMethod::Uring,
        Feature::ZeroCopy => end.io.zerocopy = true,
        Feature::Discard => end.io.discard = true,
        Feature::Batch => end.io.batch = Some(8),
        Feature::Segments => end.io.segments = true,
        Feature::Splice => end.io.splice = true,
        Feature::Pages | Feature::Series => {
            end.series = Some(SeriesPlan {
                every: Duration::from_millis(100),
                flows: 1,
            });
        }
        Feature::Timestamps => end.stamps = Some(Stamper::Kernel),
        Feature::DeviceStamps => end.stamps = Some(Stamper::Device),
        Feature::Rate => {
            end.rate = Some(RatePlan {
                per_second: 1e6,
                unit: RateUnit::Bits,
                arrival: Arrival::Constant,
                seed: None,
            });
        }
        Feature::Sequence => end.sequence = true,
        Feature::Duplex => end.duplex = true,
        Feature::OnePort => end.one_port = true,
        Feature::Until => end.until = true,
        Feature::Arrivals => end.arrivals = true,
        Feature::FailedSends => end.failed_sends = true,
        Feature::Numbers => end.numbers = Some(1),
        Feature::Fractions => end.short_by = Some(Duration::from_millis(800)),
        Feature::Setting(setting) => {
            let value = match setting.row().value {
                SettingType::Switch => SettingValue::Number(1),
                SettingType::Count | SettingType::Size => SettingValue::Number(1000),
                SettingType::Within(least, _) => SettingValue::Number(least),
                SettingType::Name => SettingValue::Name(InterfaceName::new("eth0").unwrap()),
            };
            end.socket.settings.set(setting, Some(value));
        }
    }
    end
}

#[test]
fn every_feature_that_netperf_asks_for_reaches_netserver() {
    for feature in Feature::all() {
        let remote = asking_for(feature);
        assert!(remote.features().contains(&feature), "{feature:?}");
        let flow = if feature == Feature::Duplex {
            Flow::both_ways(Duplex::Same)
        } else if matches!(feature, Feature::Rate | Feature::Until) {
            Flow::RECEIVE
        } else {
            Flow::SEND
        };
        let plan = TestPlan {
            flow,
            remote,
            ..plan()
        };
        let request = offer::request(&plan, &local_end()).unwrap();
        let (_, job) = Dialect::understand(&request, None).unwrap();
        assert_eq!(job.end.features(), plan.remote.features(), "{feature:?}");
        assert_eq!(job.end.socket.settings, plan.remote.socket.settings);
        assert_eq!(job.end.io, plan.remote.io, "{feature:?}");
    }
}

#[test]
fn features_of_a_single_sender_are_refused_elsewhere() {
    let understood = |feature, flow, transport| {
        let plan = TestPlan {
            flow,
            transport,
            remote: asking_for(feature),
            ..plan()
        };
        let request = offer::request(&plan, &local_end()).unwrap();
        Dialect::understand(&request, None).map(drop)
    };
    for feature in [Feature::Until, Feature::Rate] {
        assert!(understood(feature, Flow::RECEIVE, TransportId::Tcp).is_ok());
        for flow in [Flow::SEND, Flow::RR] {
            let refused = understood(feature, flow, TransportId::Tcp);
            assert_eq!(refused, Err(RemoteErrno::EINVAL), "{feature:?}");
        }
    }
    let unheard = understood(Feature::Until, Flow::RECEIVE, TransportId::Sctp);
    assert_eq!(unheard, Err(RemoteErrno::EINVAL));
}

#[test]
fn netservers_failed_sends_are_in_its_results_where_netperf_asks_for_them() {
    let sends = TestPlan {
        flow: Flow::RECEIVE,
        transport: TransportId::Udp,
        ..plan()
    };
    let mut asking = sends.clone();
    assert_eq!(offer::optional(&sends), [Feature::FailedSends]);
    offer::request_optional(&mut asking, Feature::FailedSends);
    let mut counted = much();
    counted.tally.failed_sends = 5_000_000_000;
    for (plan, told) in [(&sends, None), (&asking, Some(5_000_000_000))] {
        let request = offer::request(plan, &local_end()).unwrap();
        let (dialect, _) = Dialect::understand(&request, None).unwrap();
        let result = offer::results(plan, true, &dialect.results(&counted)).unwrap();
        assert_eq!(result.failed_sends_unknown, told.is_none());
        assert_eq!(result.tally.failed_sends, told.unwrap_or(0));
    }
    // Nothing precedes the request of a test of transactions for this alone.
    let transactions = TestPlan {
        flow: Flow::RR,
        ..sends
    };
    assert_eq!(offer::optional(&transactions), []);
    assert!(!offer::greets(&transactions));
}

#[test]
fn numbers_are_asked_of_a_netserver_that_has_them() {
    let mut rated = TestPlan {
        flow: Flow::RR,
        transport: TransportId::Udp,
        request: Some(4),
        response: Some(2),
        ..plan()
    };
    let numbers = |plan: &TestPlan| {
        let request = offer::request(plan, &local_end()).unwrap();
        Dialect::understand(&request, None).unwrap().1.end.numbers
    };
    rated.local.rate = Some(RatePlan {
        per_second: 100.0,
        unit: RateUnit::Transactions,
        arrival: Arrival::Constant,
        seed: None,
    });
    assert!(offer::greets(&rated));
    assert_eq!(offer::optional(&rated), [Feature::Numbers]);
    assert_eq!(numbers(&rated), None);
    offer::request_optional(&mut rated, Feature::Numbers);
    assert_eq!(numbers(&rated), Some(2));
}
