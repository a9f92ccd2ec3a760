use std::time::Duration;

use netperf_model::latency::Bucket;
use netperf_model::{CpuUsage, Latency, ThroughputUnit};

use super::*;
use crate::tick::{About, FlowTick, Interval, LatencyTick, LiveTick};

const SMALL: ScreenSize = ScreenSize {
    columns: 80,
    rows: 24,
};
const LARGE: ScreenSize = ScreenSize {
    columns: 200,
    rows: 50,
};
const PLAIN: Capabilities = Capabilities {
    colour: false,
    unicode: true,
};
const ASCII: Capabilities = Capabilities {
    colour: false,
    unicode: false,
};

fn about() -> About {
    About {
        test: "TCP_RR".to_owned(),
        host: "198.51.100.7".to_owned(),
        unit: ThroughputUnit::Transactions,
        flow_unit: ThroughputUnit::MegaBits,
        end: RunEnd::After(Duration::from_secs(10)),
        tcp: true,
        remote_cpu: true,
        each: None,
        flows: 1,
    }
}

fn cpu(busy: f64) -> CpuUsage {
    CpuUsage {
        method: netperf_model::CpuMethod::ProcStat,
        busy,
        shares: netperf_model::CpuShares::default(),
        cpus: 2,
        peak_id: 1,
        peak_busy: busy * 1.5,
    }
}

fn latency(times: &[u64]) -> Latency {
    let mut all = Latency::default();
    for time in times {
        all.merge(&Latency {
            buckets: vec![Bucket {
                from: *time,
                to: *time,
                count: 1,
            }],
            count: 1,
            min: *time,
            max: *time,
            ..Latency::default()
        });
    }
    all
}

/// A run of `ticks` quarters of a second with `flows` flows.
fn view(about: About, ticks: u32, flows: u32) -> LiveView {
    let mut view = LiveView::new(about);
    view.begin(1);
    let mut all = Interval::default();
    for tick in 1..=ticks {
        let work = f64::from(9_000 + tick * 50);
        all.work += work;
        all.seconds += 0.25;
        let tcp = |number: u32| TcpTick {
            retransmitted: u64::from(tick / 8 * number),
            round_trip: Some(44 + number),
            window: Some(10),
            of: 1,
        };
        let flow = |number: u32| FlowTick {
            number,
            work: f64::from(number * tick) * 1e6,
            tcp: Some(tcp(number)),
        };
        view.take(LiveTick {
            elapsed: Duration::from_millis(250) * tick,
            now: Interval {
                work,
                seconds: 0.25,
            },
            all,
            packets: None,
            latency: Some(LatencyTick {
                now: latency(&[20_000, 21_000, 25_000 + u64::from(tick) * 1000]),
                all: latency(&[20_000, 21_000, 1_250_000]),
            }),
            tcp: Some(tcp(1)),
            cpu: Some(cpu(40.0 + f64::from(tick % 5))),
            flows: (1..=flows).map(flow).collect(),
        });
    }
    view
}

fn many(flows: u32) -> About {
    About {
        each: Some(Each::Flow),
        flows,
        ..about()
    }
}

fn fits(rows: &[String], size: ScreenSize) {
    assert!(rows.len() <= usize::from(size.rows), "{rows:#?}");
    for row in rows {
        let width = row.chars().count();
        assert!(width <= usize::from(size.columns), "{width}: {row}");
        assert!(!row.contains('\x1b'), "{row:?}");
    }
}

#[test]
fn one_connection_on_a_small_screen() {
    let rows = view(about(), 17, 0).screen(SMALL, PLAIN);
    fits(&rows, SMALL);
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn many_flows_on_a_small_screen() {
    let rows = view(many(12), 17, 12).screen(SMALL, PLAIN);
    fits(&rows, SMALL);
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn many_flows_on_a_large_screen() {
    let rows = view(many(12), 39, 12).screen(LARGE, PLAIN);
    fits(&rows, LARGE);
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn a_run_that_has_not_begun_has_no_numbers_but_those_of_its_plan() {
    let rows = LiveView::new(about()).screen(SMALL, ASCII);
    fits(&rows, SMALL);
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn ascii_alone_where_nothing_else_can_be_shown() {
    let rows = view(many(3), 17, 3).screen(SMALL, ASCII);
    fits(&rows, SMALL);
    assert!(rows.concat().is_ascii());
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn datagrams_have_packets_per_second_and_no_latency() {
    let mut view = LiveView::new(About {
        test: "UDP_STREAM".to_owned(),
        unit: ThroughputUnit::MegaBits,
        tcp: false,
        remote_cpu: false,
        end: RunEnd::Open,
        ..about()
    });
    view.take(LiveTick {
        elapsed: Duration::from_secs(200),
        now: Interval {
            work: 1e6,
            seconds: 0.25,
        },
        all: Interval {
            work: 8e8,
            seconds: 200.0,
        },
        packets: Some(700.0),
        ..LiveTick::default()
    });
    view.finish();
    insta::assert_snapshot!(view.screen(SMALL, PLAIN).join("\n"));
}

#[test]
fn no_screen_is_too_small() {
    let view = view(many(40), 300, 40);
    for columns in 0..90 {
        for rows in 0..40 {
            let size = ScreenSize { columns, rows };
            fits(&view.screen(size, PLAIN), size);
            assert!(view.line(columns, true).chars().count() <= usize::from(columns));
        }
    }
}

#[test]
fn colours_change_nothing_but_the_colour() {
    let view = view(many(5), 17, 5);
    let colour = Capabilities {
        colour: true,
        ..PLAIN
    };
    let coloured = view.screen(SMALL, colour);
    assert!(coloured.concat().contains('\x1b'));
    let stripped: Vec<String> = coloured.iter().map(|row| strip(row)).collect();
    assert_eq!(stripped, view.screen(SMALL, PLAIN));
}

/// A row without escape sequences, which end with an `m`.
fn strip(row: &str) -> String {
    let mut parts = row.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.split_once('m').map_or("", |(_, rest)| rest)
    })
}

#[test]
fn a_line_says_how_far_it_is_and_how_fast() {
    let view = view(about(), 17, 0);
    insta::assert_snapshot!(
        view.line(60, true),
        @"TCP_RR 4.2 s of 10 s, 39.4k transactions/s ▇▇███████"
    );
    insta::assert_snapshot!(view.line(30, true), @"TCP_RR 4.2 s of 10 s, 39.4k t");
}
