//! The options of what netperf does besides tests: the words that may stand first.

use std::path::PathBuf;

/// The options of `netperf check`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckArgs {
    /// The host with netserver.
    pub host: String,
    /// Options of netperf for every measurement.
    pub words: Vec<String>,
    /// `-p`: the control port.
    pub port: Option<String>,
    /// `-4` or `-6`.
    pub family: Option<char>,
    /// `--time`: the length of a measurement in seconds; `None` is the default.
    pub time: Option<String>,
    /// `--db`: where the history is.
    pub place: Option<String>,
    /// `--no-history`.
    pub forget: bool,
    /// `--json`: print a document.
    pub json: bool,
}

/// The options of `netperf report`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportArgs {
    /// Sets of files and folders with results, in order.
    pub sets: Vec<Vec<String>>,
    /// `-o`: where the page goes.
    pub page: Option<PathBuf>,
    /// `--svg`: a folder for charts.
    pub svg: Option<PathBuf>,
    /// `--png`: a folder for charts.
    pub png: Option<PathBuf>,
    /// `--markdown`: where the tables go.
    pub markdown: Option<PathBuf>,
    /// `--csv`: where the numbers go.
    pub csv: Option<PathBuf>,
    /// `--open`: open the page.
    pub open: bool,
}

/// The options of `netperf compare` and `netperf run`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompareArgs {
    /// Files and folders of the first set, or the first command line of `netperf`.
    pub first: Vec<String>,
    /// The same of the second.
    pub second: Vec<String>,
    /// `--vary` of `run`: the name and the values of an option that differ, instead of a second
    /// command line.
    pub vary: Option<String>,
    /// `--paired` of `compare`: runs belong together one by one, in the order of their files.
    pub paired: bool,
    /// `--pairs` of `run`: number of runs of each command line; `None` is the default.
    pub pairs: Option<u32>,
    /// `--keep` of `run`: a folder for the results.
    pub keep: Option<PathBuf>,
    /// `--false-alarms`: their probability, as a share; `None` is the default.
    pub chance: Option<f64>,
    /// `--margin`: the largest change that is equivalence, as a share; `None` is the default.
    pub margin: Option<f64>,
    /// `--json`: print a document.
    pub json: bool,
    /// `--markdown`: print a table of Markdown.
    pub markdown: bool,
}

/// The options of `netperf sweep`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepArgs {
    /// `-o`: the folder.
    pub folder: Option<PathBuf>,
    /// `--plan`: a file with the rest.
    pub file: Option<PathBuf>,
    /// The plan; empty to continue an existing sweep.
    pub plan: SweepWords,
}

/// Plan of a sweep, as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SweepWords {
    /// Arguments of `netperf`, with placeholders.
    pub command: Vec<String>,
    /// `--over`: names and values.
    pub over: Vec<String>,
    /// `--repeat`: how often; `None` is once.
    pub repeat: Option<u32>,
}

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

/// The options of `netperf history`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryArgs {
    /// Arguments of the subcommand: files or results.
    pub words: Vec<String>,
    /// `--db`: where the history is.
    pub place: Option<String>,
    /// `--test`.
    pub test: Option<String>,
    /// `--host`.
    pub host: Option<String>,
    /// `--label`.
    pub label: Option<String>,
    /// `--configuration`.
    pub configuration: Option<String>,
    /// `--since`: a date or an age.
    pub since: Option<String>,
    /// `--before`: the same.
    pub before: Option<String>,
    /// `--limit`: how many are shown; `None` is the usual number.
    pub limit: Option<u32>,
    /// `--figure`: its name; `None` is the result itself.
    pub figure: Option<String>,
    /// `--last`: how many results of a configuration are looked at.
    pub last: Option<u32>,
    /// `--false-alarms`: the chance of one, as a share.
    pub chance: Option<f64>,
    /// `--keep-last`: how many results of each configuration stay.
    pub keep_last: Option<u32>,
    /// `--older-than`: an age.
    pub older_than: Option<String>,
    /// `--dry-run`: forget nothing.
    pub dry_run: bool,
    /// `--csv`: where an export goes.
    pub csv: Option<PathBuf>,
    /// `--json`: print a document.
    pub json: bool,
}
