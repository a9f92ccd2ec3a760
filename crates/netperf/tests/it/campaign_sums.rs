//! Sums of the rounds of a campaign, and the CPU time of its members.

use netperf_testkit::documents::number;
use serde_json::Value;

use crate::campaign::Agents;
use crate::campaign_hosts::document;

#[test]
fn sums_of_a_campaign_are_those_of_its_cells_with_the_cpu_time_of_all_members() {
    let agents = Agents::new(3);
    let plan = "pattern = \"incast\"\ntest = \"TCP_RR\"\noptions = [\"-c\", \"-C\", \"--rate\", \
                \"200\"]\nwindow = 2\nwarmup = 2\ncooldown = 0.1\nsilence = 30\nrepeat = 2\n";
    let found = document(agents.campaign(plan).run(), 0);
    let (sums, cells) = (&found["sums"], found["cells"].as_array().expect("cells"));
    for round in [0, 1] {
        let sum = &sums[round];
        assert_eq!((&sum["cells"], &sum["missing"]), (&2.into(), &0.into()));
        let own = cells.iter().filter(|cell| cell["round"] == round);
        let each = own.map(|cell| number(&cell["metrics"]["transactions_per_second"]));
        let all: f64 = each.sum();
        assert!((number(&sum["transactions_per_second"]) - all).abs() < 1e-6);
        // The first member is the one that receives.
        let hub = &sum["members"][0];
        assert_eq!(
            (&hub["member"], &hub["sent_transactions_per_second"]),
            (&0.into(), &Value::Null)
        );
        assert!((number(&hub["received_transactions_per_second"]) - all).abs() < 1e-6);
        let members = sum["members"].as_array().expect("members");
        assert_eq!(members.len(), 3);
        let cpus = |member: &Value| {
            let index = member["member"].as_u64().expect("an index");
            let index = usize::try_from(index).expect("an index");
            number(&found["members"][index]["cpus"])
        };
        let busy = members.iter();
        let busy: f64 = busy
            .map(|member| number(&member["cpu_percent"]) / 100.0 * cpus(member))
            .sum();
        let demand = number(&sum["demand_microseconds_per_transaction"]);
        assert!((demand - busy * 1e6 / all).abs() < 1e-6 * demand, "{sum:#}");
    }
    agents.assert_no_process_left();
}
