//! Diagnostic output during a test: `-d`, and `DUMP_TCP_INFO`.

use std::net::SocketAddr;

use netperf_cli::RunCommand;
use netperf_engine::EndReport;
use netperf_model::{Hosts, Limit, TestPlan};
use netperf_program::output::{err, out};

use crate::hosts::socket_address;

/// Output of `-d`: the lines that scripts look for (output.md, debug output).
pub(super) struct Trace(pub(super) Option<fn(&str)>);

impl Trace {
    /// On standard output, unless that is for JSON alone.
    pub(super) fn of(run: &RunCommand) -> Self {
        let print = if run.report.format.is_json() {
            err
        } else {
            out
        };
        Self((run.debug_level > 0).then_some(print))
    }

    pub(super) fn say(&self, line: &str) {
        if let Some(print) = self.0 {
            print(&format!("{line}\n"));
        }
    }

    pub(super) fn hosts(&self, plan: &TestPlan, hosts: &Hosts) {
        for (asked, host) in [
            (&plan.remote_data, &hosts.remote),
            (&plan.local_data, &hosts.local),
        ] {
            let address: SocketAddr = socket_address(host, host.port);
            self.say(&format!(
                "complete_addrinfo using hostname {} port {} family {} found {address}",
                asked.host,
                asked.port,
                host.family_label()
            ));
        }
    }

    pub(super) fn timer(&self, plan: &TestPlan) {
        if let Limit::Time(time) = plan.limit {
            self.say(&format!(
                "About to start a timer for {} seconds.",
                time.as_secs()
            ));
        }
    }
}

/// Output of `DUMP_TCP_INFO`, including the misspelt name that scripts parse.
pub(super) fn dump_tcp_info(plan: &TestPlan, ran: &EndReport) {
    let Some(info) = ran.tcp_info.filter(|_| plan.dump_tcp_info) else {
        return;
    };
    err(&format!(
        "tcpi_rto {} tcpi_ato {} tcpi_pmtu {} tcpi_rcv_ssthresh {}\n\
         tcpi_rtt {} tcpi_rttvar {} tcpi_snd_ssthresh {} tpci_snd_cwnd {}\n\
         tcpi_reordering {} tcpi_total_retrans {}\n",
        info.rto,
        info.ato,
        info.pmtu,
        info.rcv_ssthresh,
        info.rtt,
        info.rttvar,
        info.snd_ssthresh,
        info.snd_cwnd,
        info.reordering,
        info.total_retrans
    ));
}
