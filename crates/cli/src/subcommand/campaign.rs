//! The command line of `netperf campaign`: what to do, and with which hosts.

mod options;
mod verbs;

pub use self::options::CampaignArgs;
use self::options::TABLE;
use self::verbs::{OF_INVENTORY, VERBS};
use super::spec::{SubcommandSpec, names_given};
use crate::entry::Operands;

use netperf_arguments::long::shown;

/// Subcommand of `netperf campaign`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CampaignVerb {
    /// Measure by a plan.
    Run,
    /// Connect to all agents, and tell what is known about them.
    Check,
    /// Print a result again.
    Show,
    /// Compare two results, cell by cell.
    Compare,
    /// List the campaigns of a history.
    List,
    /// Print the members that an inventory has.
    Inventory,
    /// Print what makes an engine start agents.
    Manifest,
    /// Make a key.
    Key,
    /// The process of an agent; netserver starts it.
    Agent,
}

/// The verb with which netserver starts the process of an agent.
const AGENT: &str = "agent";

/// Engines of `netperf campaign manifest`.
pub(crate) const ENGINES: [&str; 5] = ["ssh", "ansible", "slurm", "mpi", "k8s"];

/// Options of a manifest that only some engines have.
const OF_ENGINES: [(&str, &[&str]); 8] = [
    ("agents", &["slurm", "k8s"]),
    ("group", &["ansible"]),
    ("minutes", &["ansible", "slurm", "k8s"]),
    ("launcher", &["slurm"]),
    ("daemonset", &["k8s"]),
    ("image", &["k8s"]),
    ("namespace", &["k8s"]),
    ("key-file", &["k8s"]),
];

/// `netperf campaign`.
pub(super) static CAMPAIGN: SubcommandSpec<CampaignArgs, (CampaignVerb, CampaignArgs)> =
    SubcommandSpec {
        word: "campaign",
        about: "measure between many hosts",
        table: TABLE,
        usage: "\
Usage: netperf campaign run plan.toml --inventory file --key-file file
       netperf campaign run plan.toml --join-listen :port --expect count ...
       netperf campaign check --inventory file --key-file file
       netperf campaign show result           a file, or a campaign of a history
       netperf campaign compare before after  which cells changed
       netperf campaign list                  the campaigns of a history
       netperf campaign inventory file        the members; - is standard input
       netperf campaign manifest engine       ssh, ansible, slurm, mpi or k8s
       netperf campaign key [-o file]         a new key for agents

Measures between many hosts. Each host runs netserver --agent --key-file file.
All loads of a round begin together, and only the time in which all of them run
counts.

  netperf campaign key -o key
  netserver --agent --key-file key           on each host
  netperf campaign check --inventory hosts --key-file key
  netperf campaign run plan.toml --inventory hosts --key-file key -o result.json
  netperf campaign show result.json

`netperf campaign run --help` shows a plan, and the options of run; the other
commands have --help, too. hosts is a file with the name of a host on each line.

Exit status: 0 everything was measured or printed, 1 a member was lost, a
measurement is missing, or an output could not be written, 2 nothing was
measured: the command line, a file or a host is wrong, or a member of the
inventory is refused, each with a line on standard error. compare: 0 no cell
got worse, 4 a cell did, 5 the noise hides changes, 2 not comparable.
",
        verbs: || VERBS.iter().map(|(_, row)| row).collect(),
        operands: Operands::Verb,
        command: campaign,
    };

fn campaign(
    mut args: CampaignArgs,
    words: Vec<String>,
) -> Result<(CampaignVerb, CampaignArgs), String> {
    let mut words = words.into_iter();
    let verb = words.next();
    args.words = words.collect();
    args.file = args.words.first().cloned();
    let verb =
        understood(verb.as_deref(), &args).map_err(|why| format!("netperf campaign{why}"))?;
    Ok((verb, args))
}

fn understood(verb: Option<&str>, args: &CampaignArgs) -> Result<CampaignVerb, String> {
    let all: Vec<&str> = VERBS.iter().map(|(_, row)| row.word).collect();
    let all = all.join(", ");
    let Some(word) = verb else {
        return Err(format!(": missing command: {all}"));
    };
    if word == AGENT {
        return Ok(CampaignVerb::Agent);
    }
    let Some((verb, row)) = VERBS.iter().find(|(_, row)| row.word == word) else {
        return Err(format!(
            ": '{}' is unknown; the verbs are {all}",
            shown(word)
        ));
    };
    if let Some(name) = args.given().into_iter().find(|name| !row.has(name)) {
        return Err(format!(" {word}: --{name} does not apply"));
    }
    let lack =
        match *verb {
            CampaignVerb::Run | CampaignVerb::Check | CampaignVerb::Show | CampaignVerb::Agent => {
                let lack = run_lack(*verb, args).map(str::to_owned);
                lack.or_else(|| inventory_lack(args))
            }
            CampaignVerb::Compare => (args.words.len() != 2)
                .then(|| "two results are needed: files, or campaigns of a history".to_owned()),
            CampaignVerb::List => (!args.words.is_empty())
                .then(|| "unexpected word: --db names the history".to_owned()),
            CampaignVerb::Inventory => (args.words.len() != 1)
                .then(|| "one file is needed; - is standard input".to_owned()),
            CampaignVerb::Manifest => manifest_lack(args),
            CampaignVerb::Key => (!args.words.is_empty())
                .then(|| "unexpected word: --output names the file".to_owned()),
        };
    match lack {
        Some(lack) => Err(format!(" {word}: {lack}")),
        None => Ok(*verb),
    }
}

/// Error in the words and options of a run, a check or a result.
fn run_lack(verb: CampaignVerb, args: &CampaignArgs) -> Option<&'static str> {
    let connects = verb != CampaignVerb::Show;
    let takes_file = verb != CampaignVerb::Check;
    let who = args.inventory.is_some() || args.join_listen.is_some();
    let standard = Some("-");
    match args.words.len() {
        0 if verb == CampaignVerb::Show => {
            Some("the result is missing: give its file, or the number of a campaign of a history")
        }
        0 if takes_file => Some("the plan is missing: give its file; - is standard input"),
        1.. if !takes_file => Some("it takes no file"),
        2.. => Some("one file at a time"),
        _ if connects && !who => {
            Some("the members are missing: give --inventory file, or --join-listen and --expect")
        }
        _ if args.join_listen.is_some() != args.expect.is_some() => {
            Some("--join-listen and --expect need each other")
        }
        _ if args.inventory.as_deref() == standard && args.file.as_deref() == standard => {
            Some("standard input cannot be the plan and the inventory")
        }
        _ if args.topology.as_deref() == standard && args.file.as_deref() == standard => {
            Some("standard input cannot be the plan and the topology")
        }
        _ => None,
    }
}

/// The option of an inventory that is given without one.
fn inventory_lack(args: &CampaignArgs) -> Option<String> {
    let given = args.given();
    let alone = OF_INVENTORY
        .iter()
        .find(|name| args.inventory.is_none() && given.contains(name));
    alone.map(|name| format!("--{name} needs --inventory"))
}

/// Error in the words and options of a manifest.
fn manifest_lack(args: &CampaignArgs) -> Option<String> {
    let [engine] = args.words.as_slice() else {
        return Some(format!("one engine is needed: {}", ENGINES.join(", ")));
    };
    if !ENGINES.contains(&engine.as_str()) {
        return Some(format!("the engine is one of {}", ENGINES.join(", ")));
    }
    let given = args.given();
    let foreign = OF_ENGINES
        .iter()
        .find(|(name, engines)| given.contains(name) && !engines.contains(&engine.as_str()));
    if let Some((name, engines)) = foreign {
        return Some(format!("--{name} is only for {}", engines.join(", ")));
    }
    let lacks_agents = engine == "k8s" && args.agents.is_none();
    lacks_agents.then(|| {
        "the number of agents is needed: --agents N; with --daemonset, that of the nodes".to_owned()
    })
}

impl CampaignArgs {
    /// The names of the options that were given.
    fn given(&self) -> Vec<&'static str> {
        let all = [
            ("inventory", self.inventory.is_some()),
            ("join-listen", self.join_listen.is_some()),
            ("expect", self.expect.is_some()),
            ("from", self.from.is_some()),
            ("port", self.port.is_some()),
            ("group", self.group.is_some()),
            ("topology", self.topology.is_some()),
            ("allow-restarted", self.allow_restarted),
            ("allow-shared-nodes", self.allow_shared_nodes),
            ("json", self.json),
            ("page", self.page.is_some()),
            ("cells", self.cells.is_some()),
            ("history", self.history.is_some()),
            ("live", self.live),
            ("db", self.place.is_some()),
            ("agents", self.agents.is_some()),
            ("plan", self.plan.is_some()),
            ("minutes", self.minutes.is_some()),
            ("launcher", self.launcher.is_some()),
            ("daemonset", self.daemonset),
            ("image", self.image.is_some()),
            ("namespace", self.namespace.is_some()),
            ("key-file", self.key_file.is_some()),
            ("output", self.output.is_some()),
            ("name", self.name.is_some()),
        ];
        names_given(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subcommand::Subcommand;
    use crate::subcommand::testing::read;

    #[test]
    fn a_verb_stands_in_front_of_its_file_or_engine() {
        let line = "netperf campaign inventory --from slurm - --topology t --port 4000";
        let Subcommand::Campaign(verb, args) = read(line) else {
            panic!("a command");
        };
        assert_eq!(verb, CampaignVerb::Inventory);
        assert_eq!(args.words, ["-"]);
        assert_eq!(args.from.as_deref(), Some("slurm"));
        assert_eq!(args.port, Some(4000));
        let line = "netperf campaign run p --inventory i --topology t --allow-restarted";
        let Subcommand::Campaign(verb, args) = read(line) else {
            panic!("a command");
        };
        assert_eq!(verb, CampaignVerb::Run);
        assert_eq!(args.topology.as_deref(), Some("t"));
        assert!(args.allow_restarted && !args.allow_shared_nodes);
        let line = "netperf campaign manifest k8s --agents 3 --daemonset";
        let Subcommand::Campaign(verb, args) = read(line) else {
            panic!("a command");
        };
        assert_eq!(verb, CampaignVerb::Manifest);
        assert_eq!((args.agents, args.daemonset), (Some(3), true));
    }

    #[test]
    fn campaign_refuses_options_of_other_verbs() {
        for (line, said) in [
            ("netperf campaign", "missing command"),
            ("netperf campaign inventry", "'inventry' is unknown"),
            ("netperf campaign inventory", "one file is needed"),
            ("netperf campaign inventory a b", "one file is needed"),
            (
                "netperf campaign inventory a --agents 3",
                "--agents does not apply",
            ),
            (
                "netperf campaign check --join-listen :1 --expect 2 --topology t",
                "--topology needs --inventory",
            ),
            (
                "netperf campaign run - --inventory hosts --topology -",
                "cannot be the plan and the topology",
            ),
            ("netperf campaign manifest", "one engine is needed"),
            (
                "netperf campaign manifest nomad",
                "the engine is one of ssh, ansible, slurm, mpi, k8s",
            ),
            (
                "netperf campaign manifest ssh --agents 3",
                "--agents is only for slurm, k8s",
            ),
            ("netperf campaign manifest k8s", "--agents N"),
            (
                "netperf campaign manifest mpi --image x",
                "--image is only for k8s",
            ),
            ("netperf campaign key file", "--output names the file"),
            ("netperf campaign key --json", "--json does not apply"),
        ] {
            let Subcommand::Usage(usage) = read(line) else {
                panic!("{line}");
            };
            assert_eq!(usage.exit, 2, "{line}");
            assert!(usage.text.contains(said), "{line}: {}", usage.text);
        }
    }

    #[test]
    fn every_option_of_the_table_is_known_to_a_verb() {
        for row in TABLE {
            let known = row.long == "help" || VERBS.iter().any(|(_, verb)| verb.has(row.long));
            assert!(known, "--{}", row.long);
        }
        for (name, _) in OF_ENGINES {
            let manifest = VERBS.iter().find(|(_, verb)| verb.word == "manifest");
            assert!(manifest.is_some_and(|(_, verb)| verb.has(name)), "--{name}");
        }
    }

    #[test]
    fn campaign_verb_is_the_first_word() {
        let line = "netperf campaign run p.toml --inventory hosts --key-file k --json";
        let Subcommand::Campaign(verb, args) = read(line) else {
            panic!("no campaign");
        };
        assert_eq!(verb, CampaignVerb::Run);
        assert_eq!(args.file.as_deref(), Some("p.toml"));
        assert_eq!(args.inventory.as_deref(), Some("hosts"));
        assert!(args.json);
        let line = "netperf campaign run p --inventory h --history --cells c --live";
        let Subcommand::Campaign(_, args) = read(line) else {
            panic!("no campaign");
        };
        assert_eq!(args.history.as_deref(), Some(""));
        assert_eq!(args.cells.as_deref(), Some(std::path::Path::new("c")));
        assert!(args.live);
        let line = "netperf campaign compare a b --db h.sqlite";
        let Subcommand::Campaign(verb, args) = read(line) else {
            panic!("no campaign");
        };
        assert_eq!((verb, args.words.len()), (CampaignVerb::Compare, 2));
        assert_eq!(args.place.as_deref(), Some("h.sqlite"));
    }

    #[test]
    fn help_of_a_verb_has_its_options_alone_and_an_example() {
        let help = |line: &str| {
            let (Subcommand::Usage(usage) | Subcommand::Help(usage)) = read(line) else {
                panic!("{line}");
            };
            usage.text
        };
        for (_, verb) in VERBS {
            let text = help(&format!("netperf campaign {} --help", verb.word));
            let usage = format!("Usage: netperf campaign {} ", verb.word);
            assert!(text.starts_with(&usage), "{text}");
            let example = format!("\n  netperf campaign {} ", verb.word);
            let has_example = text.contains(&example) || text.contains(example.trim_end());
            assert!(has_example, "{text}");
            let wide = text.lines().find(|line| line.chars().count() > 80);
            assert_eq!(wide, None);
            for row in TABLE {
                let name = format!("--{}", row.long);
                let mut heads = text.lines().map(|line| {
                    let words = line.split_whitespace();
                    words.take(2).find(|word| word.starts_with("--"))
                });
                let shown = heads.any(|head| head == Some(&name));
                let has = row.long == "help" || verb.has(row.long);
                assert_eq!(shown, has, "--{} of {}\n{text}", row.long, verb.word);
            }
            assert_eq!(text, help(&format!("netperf help campaign {}", verb.word)));
            let late = format!("netperf campaign {} file --help", verb.word);
            assert_eq!(text, help(&late));
            let all = help("netperf campaign --help");
            assert!(all.contains(&format!("netperf campaign {} ", verb.word)));
        }
        let wrong = help("netperf campaign run");
        let hint = "`netperf campaign run --help` shows the options.";
        assert!(wrong.contains(hint), "{wrong}");
    }

    #[test]
    fn campaign_names_missing_words() {
        for (words, said) in [
            ("", "missing command"),
            (" fly", "'fly' is unknown; the verbs are "),
            (" run --inventory h", "the plan is missing: give its file"),
            (" show", "the result is missing: give its file"),
            (" run p", "the members are missing"),
            (" check p --inventory h", "it takes no file"),
            (" run p --join-listen :1", "need each other"),
            (" run - --inventory -", "standard input"),
            (" show a b", "one file"),
            (" compare a", "two results"),
            (" list a", "unexpected word"),
            (" check --inventory h --live", "--live does not apply"),
        ] {
            let Subcommand::Usage(usage) = read(&format!("netperf campaign{words}")) else {
                panic!("{words}");
            };
            assert!(usage.text.contains(said), "{words}: {}", usage.text);
        }
    }
}
