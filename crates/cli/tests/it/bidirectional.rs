//! Plans of `--bidirectional`.

use crate::common::run;
use netperf_model::{Duplex, Flow};

#[test]
fn bulk_data_goes_both_ways_over_one_connection_or_over_two() {
    for (word, over) in [("same", Duplex::Same), ("separate", Duplex::Separate)] {
        for test in ["TCP_STREAM", "TCP_MAERTS", "UDP_STREAM"] {
            let plan = run(&format!("-t {test} --bidirectional {word}")).plan;
            assert_eq!(plan.flow, Flow::both_ways(over));
            assert!(!plan.flow.is_request_response() && !plan.flow.counts_transactions());
            assert_eq!((plan.request, plan.response), (None, None));
            // One socket for both takes a netserver that knows of it; two do not.
            let ends = [&plan.local, &plan.remote];
            assert!(ends.iter().all(|end| end.duplex == (over == Duplex::Same)));
        }
    }
    assert_eq!(run("-t TCP_STREAM").plan.flow.duplex, None);
}
