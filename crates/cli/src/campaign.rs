//! The command line of `netperf campaign`.

use crate::args::CampaignArgs;
use crate::options::campaign::TABLE;
use crate::subcommand::{Subcommand, SubcommandSpec};

/// Subcommand of `netperf campaign`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CampaignVerb {
    /// Measure by a plan.
    Run,
    /// Connect to all agents, and tell what is known about them.
    Check,
    /// Print a result again.
    Show,
    /// Print an inventory in the normal form.
    Inventory,
    /// Make a key.
    Key,
    /// The process of an agent; netserver starts it.
    Agent,
}

/// `netperf campaign`.
pub(crate) const CAMPAIGN: SubcommandSpec<CampaignArgs> = SubcommandSpec {
    word: "campaign",
    about: "measure between many hosts",
    program: "netperf campaign",
    table: TABLE,
    usage: "\
Usage: netperf campaign run plan.toml --inventory file --key-file file
       netperf campaign run plan.toml --join-listen :port --expect count --key-file file
       netperf campaign check --inventory file --key-file file
       netperf campaign show result.json
       netperf campaign inventory [file]      members in the normal form
       netperf campaign key [-o file]         a new key for agents

Measures between many hosts. On each of them runs netserver --agent --key-file
file. The inventory is a list of hosts, the output of ansible-inventory --list
or of kubectl get pods -o json, or a host file of MPI; - is standard input. All
loads of a round begin at one moment, and only the time in which all of them
run counts.

  netperf campaign key -o key
  netserver --agent --key-file key           on each host
  netperf campaign run plan.toml --inventory hosts --key-file key -o result.json

A plan, with times in seconds:

  pattern = \"pairs\"   # or mesh, incast, fanout, bisection, ring, list
  test = \"TCP_STREAM\"
  options = [\"--flows\", \"4\"]
  window = 5
  warmup = 2

Exit status: 0 everything was measured, 1 a member was lost or a measurement is
missing, 2 nothing was measured: the command line, a file or a host is wrong.
",
    command: campaign,
};

fn campaign(mut args: CampaignArgs, words: Vec<String>) -> Result<Subcommand, String> {
    let wrong = |why: &str| Err(format!("netperf campaign: {why}"));
    let mut words = words.into_iter();
    let verb = match words.next().as_deref() {
        Some("run") => CampaignVerb::Run,
        Some("check") => CampaignVerb::Check,
        Some("show") => CampaignVerb::Show,
        Some("inventory") => CampaignVerb::Inventory,
        Some("key") => CampaignVerb::Key,
        Some("agent") => CampaignVerb::Agent,
        Some(other) => {
            let other = other.escape_default();
            return wrong(&format!(
                "there is no {other}: there are run, check, show, inventory and key"
            ));
        }
        None => return wrong("say what: run, check, show, inventory or key"),
    };
    args.file = words.next();
    if words.next().is_some() {
        return wrong("one file at a time");
    }
    let connects = matches!(verb, CampaignVerb::Run | CampaignVerb::Check);
    let takes_file = !matches!(
        verb,
        CampaignVerb::Check | CampaignVerb::Key | CampaignVerb::Agent
    );
    if args.file.is_some() != takes_file && verb != CampaignVerb::Inventory {
        return wrong(if takes_file {
            "a file is required: a plan for run, a result for show"
        } else {
            "it takes no file"
        });
    }
    let who = args.inventory.is_some() || args.join_listen.is_some();
    if connects && !who {
        return wrong("who takes part? --inventory file, or --join-listen and --expect");
    }
    if args.join_listen.is_some() != args.expect.is_some() {
        return wrong("--join-listen and --expect need each other");
    }
    if args.inventory.as_deref() == Some("-") && args.file.as_deref() == Some("-") {
        return wrong("standard input cannot be the plan and the inventory");
    }
    Ok(Subcommand::Campaign(verb, Box::new(args)))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::subcommand::subcommand;

    fn read(line: &str) -> Subcommand {
        let argv: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        subcommand(&argv).unwrap().unwrap()
    }

    #[test]
    fn what_it_does_is_the_first_word() {
        let line = "netperf campaign run p.toml --inventory hosts --key-file k --json";
        let Subcommand::Campaign(verb, args) = read(line) else {
            panic!("no campaign");
        };
        assert_eq!(verb, CampaignVerb::Run);
        assert_eq!(args.file.as_deref(), Some("p.toml"));
        assert_eq!(args.inventory.as_deref(), Some("hosts"));
        assert!(args.json);
    }

    #[test]
    fn what_is_missing_is_named() {
        for (words, said) in [
            ("", "say what"),
            (" fly", "there is no fly"),
            (" run --inventory h", "a file is required"),
            (" run p", "who takes part"),
            (" check p --inventory h", "it takes no file"),
            (" run p --join-listen :1", "need each other"),
            (" run - --inventory -", "standard input"),
            (" show a b", "one file"),
        ] {
            let Subcommand::Usage(usage) = read(&format!("netperf campaign{words}")) else {
                panic!("{words}");
            };
            assert!(usage.text.contains(said), "{words}: {}", usage.text);
        }
    }
}
