//! Verbs of `netperf campaign`, their options and their help.

use super::CampaignVerb;
use crate::subcommand::spec::VerbRow;

/// All verbs for a person.
pub(super) static VERBS: &[(CampaignVerb, VerbRow)] = &[
    (
        CampaignVerb::Run,
        VerbRow {
            word: "run",
            about: "measure by a plan",
            usage: RUN,
            takes: &[
                &OF_INVENTORY,
                &OF_AGENTS,
                &["output", "page", "cells", "history", "live"],
            ],
            files: true,
        },
    ),
    (
        CampaignVerb::Check,
        VerbRow {
            word: "check",
            about: "connect to all agents",
            usage: CHECK,
            takes: &[&OF_INVENTORY, &OF_AGENTS],
            files: false,
        },
    ),
    (
        CampaignVerb::Show,
        VerbRow {
            word: "show",
            about: "print a result again",
            usage: SHOW,
            takes: &[&["page", "db"]],
            files: true,
        },
    ),
    (
        CampaignVerb::Compare,
        VerbRow {
            word: "compare",
            about: "compare two results, cell by cell",
            usage: COMPARE,
            takes: &[&["db", "json"]],
            files: true,
        },
    ),
    (
        CampaignVerb::List,
        VerbRow {
            word: "list",
            about: "list the campaigns of a history",
            usage: LIST,
            takes: &[&["db", "json"]],
            files: false,
        },
    ),
    (
        CampaignVerb::Inventory,
        VerbRow {
            word: "inventory",
            about: "read the hosts of an engine",
            usage: INVENTORY,
            takes: &[&OF_INVENTORY, &["json"]],
            files: true,
        },
    ),
    (
        CampaignVerb::Manifest,
        VerbRow {
            word: "manifest",
            about: "print what starts agents",
            usage: MANIFEST,
            takes: &[&[
                "agents",
                "port",
                "group",
                "plan",
                "minutes",
                "launcher",
                "daemonset",
                "image",
                "namespace",
                "key-file",
            ]],
            files: false,
        },
    ),
    (
        CampaignVerb::Key,
        VerbRow {
            word: "key",
            about: "make a key",
            usage: KEY,
            takes: &[&["output", "name"]],
            files: false,
        },
    ),
];

/// Options that say how an inventory is read.
pub(super) const OF_INVENTORY: [&str; 6] = [
    "from",
    "port",
    "group",
    "topology",
    "allow-restarted",
    "allow-shared-nodes",
];

/// Options of what connects to agents.
const OF_AGENTS: [&str; 5] = ["inventory", "join-listen", "expect", "key-file", "json"];

const RUN: &str = "\
Usage: netperf campaign run plan.toml --inventory file --key-file file [options]
       netperf campaign run plan.toml --join-listen :port --expect count
                            --key-file file [options]

Measures by a plan between the agents of an inventory, or those that join, and
prints a matrix of senders and receivers. The plan names the pattern, the test
and the times in seconds; - is standard input. Ctrl-C ends it, and the result
so far is printed.

  pattern = \"pairs\"   # or mesh, incast, fanout, bisection, ring, list
  test = \"TCP_STREAM\"
  options = [\"--flows\", \"4\"]
  window = 5
  warmup = 2

  netperf campaign run plan.toml --inventory hosts --key-file key -o result.json
  netperf campaign run plan.toml --join-listen :12865 --expect 4 --key-file key

Exit status: 0 everything was measured, 1 a member was lost, a measurement is
missing, or an output could not be written, 2 nothing was measured: the command
line, a file or a host is wrong.
";

const CHECK: &str = "\
Usage: netperf campaign check --inventory file --key-file file [options]
       netperf campaign check --join-listen :port --expect count
                              --key-file file [options]

Connects to all agents of an inventory, or waits for those that join, and
prints for each its version, its number of CPUs, and how exactly its clock is
known. Nothing is measured.

  netperf campaign check --inventory hosts --key-file key

Exit status: 0 all agents are ready, 2 one is not, or the command line or a file
is wrong.
";

const SHOW: &str = "\
Usage: netperf campaign show result [options]

Prints a result again: a document (run -o), a file of cells (run --cells), or
a campaign of a history (run --history), by its identifier or the first six
digits of it.

  netperf campaign show result.json
  netperf campaign show result.json --page result.html
  netperf campaign show 64b134 --db history.sqlite

Exit status: 0 printed, 2 there is no such result, or it is not one.
";

const COMPARE: &str = "\
Usage: netperf campaign compare before after [options]

Compares two results cell by cell, and names the cells that changed, with a
false discovery rate of 1 %. Each is a document (run -o), a file of cells
(run --cells), or a campaign of a history, by its identifier or the first six
digits of it. Results of plans with another meaning are refused.

  netperf campaign compare before.json after.json
  netperf campaign compare 64b134 after.json --db history.sqlite

Exit status: 0 no cell got worse, 4 a cell did, 5 the noise hides changes,
2 not comparable.
";

const LIST: &str = "\
Usage: netperf campaign list [options]

Lists the campaigns of a history (run --history), the newest first.

  netperf campaign list
  netperf campaign list --db history.sqlite --json

Exit status: 0 listed, 2 there is no such history.
";

const INVENTORY: &str = "\
Usage: netperf campaign inventory file [options]

Reads the hosts of an engine, and prints one JSON object a line; on a terminal,
a table. The file, - for standard input, is the output of kubectl get pods
-o json, ansible-inventory --list, scontrol -o show node or scontrol show
hostnames, a hostfile of MPI, or lines with a host each, with labels (rack=r1)
and addresses for data (data=10.0.0.1). It is recognised by its content. A host
that is not ready, was restarted or occurs twice is refused.

  netperf campaign inventory hosts
  kubectl get pods -n netperf -o json | netperf campaign inventory -
  ansible-inventory --list | netperf campaign inventory --group db -

Exit status: 0 printed, 2 the file is wrong, or a member is refused.
";

const MANIFEST: &str = "\
Usage: netperf campaign manifest engine [options]

Prints a script (ssh, slurm, mpi), a playbook (ansible) or objects (k8s) that
start the agents, run a plan and remove everything. It applies nothing.

  netperf campaign manifest ssh > campaign-ssh && bash campaign-ssh hosts
  netperf campaign manifest slurm --agents 8 > campaign-slurm
  netperf campaign manifest k8s --agents 6 --plan plan.toml > campaign.yaml

Exit status: 0 printed, 2 the command line or a file is wrong.
";

const KEY: &str = "\
Usage: netperf campaign key [options]

Makes a new random key, and prints it or writes it to a private file. The agents
and the coordinator need the same key. Anyone who has the key can use every
agent that has it, so make a new one for each campaign.

  netperf campaign key -o key

Exit status: 0 made, 1 it could not be written, 2 the file exists, or the
command line is wrong.
";
