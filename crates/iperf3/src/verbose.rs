//! Further lines for people (`-V`).

use crate::messages::{Parameters, Protocol, Results, StreamDirection};

use super::figures::Totals;
use super::json::TestFacts;
use super::text::TextView;

/// The lines of what the client asks for.
pub fn wanted(facts: &TestFacts) -> String {
    let parameters = &facts.parameters;
    let mut text = format!("      Cookie: {}\n", facts.cookie);
    if parameters.protocol == Protocol::Tcp {
        let given = if parameters.mss.is_some() {
            ""
        } else {
            " (default)"
        };
        let mss = parameters.mss.unwrap_or(facts.mss);
        text.push_str(&format!("      TCP MSS: {mss}{given}\n"));
    }
    if parameters.bandwidth > 0 {
        text.push_str(&format!("      Target Bitrate: {}\n", parameters.bandwidth));
    }
    text
}

/// The line before the first row.
pub fn starting(parameters: &Parameters) -> String {
    let protocol = match parameters.protocol {
        Protocol::Udp => "UDP",
        Protocol::Tcp | Protocol::Sctp => "TCP",
    };
    let amount = if parameters.num > 0 {
        format!("{} bytes to send", parameters.num)
    } else if parameters.blockcount > 0 {
        format!("{} blocks to send", parameters.blockcount)
    } else {
        format!("{} second test", parameters.time)
    };
    format!(
        "Starting Test: protocol: {protocol}, {} streams, {} byte blocks, omitting {} seconds, \
         {amount}, tos {}\n",
        parameters.parallel, parameters.len, parameters.omit, parameters.tos
    )
}

/// The lines behind the last rows of the streams of one direction, which this end `sends` or
/// receives. What the peer has not reported is 0, as in the original: a server shows its lines before.
pub fn utilisation(
    view: &TextView,
    sends: bool,
    totals: &Totals,
    peer: Option<&Results>,
) -> String {
    let one = |cpu: [f64; 3]| {
        let [total, user, system] = cpu;
        format!("{total:.1}% ({user:.1}%u/{system:.1}%s)")
    };
    let mut text = String::new();
    let both = view.parameters.direction == StreamDirection::Both;
    let roles = [("sender", "receiver", true), ("receiver", "sender", both)];
    for (own, other, shown) in roles {
        if sends && shown {
            let host = one(totals.cpu);
            let remote = one(peer.map_or([0.0; 3], |peer| peer.cpu));
            text.push_str(&format!(
                "CPU Utilization: local/{own} {host}, remote/{other} {remote}\n"
            ));
        }
    }
    let peers = peer.and_then(|peer| peer.congestion.as_ref());
    let peers = peers.filter(|_| view.client);
    let own = totals.congestion.as_ref();
    let (sender, receiver) = if sends { (own, peers) } else { (peers, own) };
    let tcp = view.parameters.protocol == Protocol::Tcp;
    for (key, name) in [("snd", sender), ("rcv", receiver)] {
        if let Some(name) = name.filter(|_| tcp) {
            text.push_str(&format!("{key}_tcp_congestion {name}\n"));
        }
    }
    text
}
