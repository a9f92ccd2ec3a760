//! The options of `netperf campaign`.

use std::path::PathBuf;

use netperf_arguments::group::Group;
use netperf_arguments::kind::ValueKind;
use netperf_arguments::row::plain_help_row;
use netperf_arguments::table::{Action, OptionSpec};

/// The options of `netperf campaign`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CampaignArgs {
    /// `--page`: where the page goes.
    pub page: Option<PathBuf>,
    /// `--cells`: where the cells go.
    pub cells: Option<PathBuf>,
    /// `--live`: a full screen.
    pub live: bool,
    /// `--history`: keep the result; empty without a place.
    pub history: Option<String>,
    /// `--db`: the history of a comparison or a list.
    pub place: Option<String>,
    /// Arguments of the subcommand: a file or an engine.
    pub words: Vec<String>,
    /// The first of them: the plan or the result.
    pub file: Option<String>,
    /// `--inventory`: the hosts.
    pub inventory: Option<String>,
    /// `--join-listen`: where agents join.
    pub join_listen: Option<String>,
    /// `--expect`: how many.
    pub expect: Option<u32>,
    /// `--from`: the form of the inventory.
    pub from: Option<String>,
    /// `--port`: that of the agents; `None` is the default.
    pub port: Option<u16>,
    /// `--group`: of an inventory of Ansible.
    pub group: Option<String>,
    /// `--topology`: a file.
    pub topology: Option<String>,
    /// `--allow-restarted`.
    pub allow_restarted: bool,
    /// `--allow-shared-nodes`.
    pub allow_shared_nodes: bool,
    /// `--json`: print the document, or JSON lines on a terminal too.
    pub json: bool,
    /// `--agents`: how many.
    pub agents: Option<u32>,
    /// `--plan`: a file.
    pub plan: Option<String>,
    /// `--minutes`: the time limit.
    pub minutes: Option<u32>,
    /// `--launcher`: srun or mpirun.
    pub launcher: Option<String>,
    /// `--daemonset`.
    pub daemonset: bool,
    /// `--image`.
    pub image: Option<String>,
    /// `--namespace`.
    pub namespace: Option<String>,
    /// `--key-file`: with the key of the agents.
    pub key_file: Option<PathBuf>,
    /// `-o`: a file for the result, or a new one for a key.
    pub output: Option<PathBuf>,
    /// `--name`: that of a new key.
    pub name: Option<String>,
}

type Opt = OptionSpec<CampaignArgs>;

/// Forms of an inventory.
const FORMS: ValueKind =
    ValueKind::Word(&["auto", "kubernetes", "ansible", "slurm", "mpi", "lines"]);

/// Every option.
pub(crate) static TABLE: &[Opt] = &[
    Opt::named("inventory", Group::Campaign)
        .takes("file", ValueKind::File)
        .set(|a, text| a.inventory = Some(text.to_owned()))
        .help("the hosts that take part; - is standard input")
        .more(
            "A host on each line, with its port, labels and address for data: h1:12865 rack=r1 \
             data=10.0.0.1. Also the output of kubectl get pods -o json, ansible-inventory --list \
             and scontrol show hostnames, a host file of MPI, and what netperf campaign inventory \
             prints.",
        ),
    Opt::named("join-listen", Group::Campaign)
        .takes("host:port", ValueKind::Text)
        .set(|a, text| a.join_listen = Some(text.to_owned()))
        .help("wait here for agents with --join")
        .more(
            "For agents that the coordinator cannot reach. :port means all addresses. It waits up \
             to two minutes.",
        ),
    Opt::named("expect", Group::Campaign)
        .takes("count", ValueKind::Count)
        .set(|a, text| a.expect = text.parse().ok())
        .help("number of agents that join"),
    Opt::named("agents", Group::Campaign)
        .takes("number", ValueKind::Within(2, 100_000))
        .set(|a, text| a.agents = text.parse().ok())
        .help("number of agents in a manifest of slurm or k8s")
        .more(
            "For slurm, the number of nodes; without it, sbatch takes --nodes. For k8s, agents of \
             an indexed Job, which are spread over the nodes.",
        ),
    Opt::named("port", Group::Campaign)
        .takes("port", ValueKind::Within(1, 65_534))
        .set(|a, text| a.port = text.parse().ok())
        .help("port of the agents")
        .more(
            "The default is 12865. In an inventory, the port of hosts that have none there. In a \
             manifest, agents that connect to the coordinator find it at the next port.",
        ),
    Opt::named("plan", Group::Campaign)
        .takes("file", ValueKind::File)
        .set(|a, text| a.plan = Some(text.to_owned()))
        .help("the plan that a manifest runs")
        .more(
            "The default is plan.toml. A manifest of k8s contains the text of this file; without \
             the option, its first lines describe how to store the plan in the cluster.",
        ),
    Opt::named("minutes", Group::Campaign)
        .takes("number", ValueKind::Within(1, 100_000))
        .set(|a, text| a.minutes = text.parse().ok())
        .help("time limit of the jobs in a manifest")
        .more("The default is 60. Agents of a job end with it; those of a DaemonSet do not."),
    Opt::named("launcher", Group::Campaign)
        .takes("program", ValueKind::Word(&["srun", "mpirun"]))
        .set(|a, text| a.launcher = Some(text.to_owned()))
        .help("program that starts the agents in a job of Slurm")
        .more("The default is srun; mpirun is that of Open MPI."),
    Opt::named("daemonset", Group::Campaign)
        .flag(|a| a.daemonset = true)
        .help("in a manifest of k8s, one agent on every node")
        .more("--agents is then the number of nodes, for which the coordinator waits."),
    Opt::named("image", Group::Campaign)
        .takes("reference", ValueKind::Text)
        .set(|a, text| a.image = Some(text.to_owned()))
        .help("image with both programs in a manifest of k8s"),
    Opt::named("namespace", Group::Campaign)
        .takes("name", ValueKind::Text)
        .set(|a, text| a.namespace = Some(text.to_owned()))
        .help("namespace in a manifest of k8s")
        .more("The default is netperf."),
    Opt::named("key-file", Group::Campaign)
        .takes("file", ValueKind::File)
        .set(|a, text| a.key_file = Some(PathBuf::from(text)))
        .help("file with the key of the agents")
        .more(
            "Without it the key comes from NETPERF_KEY_FILE in the environment; a manifest of k8s \
             then has a new key.",
        ),
    Opt::named("from", Group::Campaign)
        .takes("form", FORMS)
        .set(|a, text| a.from = Some(text.to_owned()))
        .help("form of the inventory")
        .more("The default, auto, recognises it by its content."),
    Opt::named("group", Group::Campaign)
        .takes("name", ValueKind::Text)
        .set(|a, text| a.group = Some(text.to_owned()))
        .help("only the hosts of this group of Ansible"),
    Opt::named("topology", Group::Campaign)
        .takes("file", ValueKind::File)
        .set(|a, text| a.topology = Some(text.to_owned()))
        .help("racks and zones of the nodes of an inventory")
        .more(
            "The output of kubectl get nodes -o json or of scontrol show topology. A member on a \
             node that is not ready, or that the file does not have, is refused.",
        ),
    Opt::named("allow-restarted", Group::Campaign)
        .flag(|a| a.allow_restarted = true)
        .help("accept pods that were restarted"),
    Opt::named("allow-shared-nodes", Group::Campaign)
        .flag(|a| a.allow_shared_nodes = true)
        .help("accept several pods on one node")
        .more("They share its interface and its CPUs."),
    Opt::named("name", Group::Campaign)
        .takes("name", ValueKind::Text)
        .set(|a, text| a.name = Some(text.to_owned()))
        .help("name of a new key, for logs")
        .more("The default is campaign. At most 64 letters, digits and -_.@."),
    Opt::lettered('o', "output", Group::Output)
        .takes("file", ValueKind::File)
        .set(|a, text| a.output = Some(PathBuf::from(text)))
        .help("write the result, or a new key, to this file")
        .more("The file of a key must not exist; only its owner can read it."),
    Opt::named("json", Group::Output)
        .flag(|a| a.json = true)
        .help("print the result or the inventory as JSON"),
    Opt::named("page", Group::Output)
        .takes("file", ValueKind::File)
        .set(|a, text| a.page = Some(text.into()))
        .help("write the result to this file as a page with matrices")
        .more("One HTML file of at most a million bytes that needs no network."),
    Opt::named("cells", Group::Output)
        .takes("file", ValueKind::File)
        .set(|a, text| a.cells = Some(text.into()))
        .help("write each cell to this file when it arrives, as JSON lines")
        .more(
            "For campaigns of hundreds of members: the document has no cells then, and names the \
             file, which show and compare read.",
        ),
    Opt::named("history", Group::Output)
        .takes("[place]", ValueKind::Text)
        .action(Action::NextUnlessDash(|a, word| {
            a.history = Some(word.unwrap_or_default().to_owned());
            None
        }))
        .help("store the campaign in a history")
        .more("The value is that of netperf --history. list prints the campaigns of the history."),
    Opt::named("db", Group::History)
        .takes("place", ValueKind::Text)
        .set(|a, text| a.place = Some(text.to_owned()))
        .help("location of the history, as in netperf history"),
    Opt::named("live", Group::Output)
        .flag(|a| a.live = true)
        .help("show the matrix on a full screen while it fills")
        .more("Needs a terminal. q ends the campaign."),
    plain_help_row(),
];
