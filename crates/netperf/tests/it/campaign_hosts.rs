//! Agents at their own hosts, for the tests of campaigns.

pub(crate) use netperf_testkit::documents::number;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use netperf_testkit::{
    Finished, Invocation, Netserver, Programs, Scratch, Star, eventually, ours, procfs, require,
};
use serde_json::Value;

/// Time for anything that takes a few seconds on an idle host.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Difference of the clocks of neighbouring hosts, seconds.
pub(crate) const APART: u32 = 1_000;

/// Agents at the hosts of a star, and a coordinator at the last host.
pub(crate) struct CampaignHosts {
    pub(crate) star: Star,
    pub(crate) agents: Vec<Netserver>,
    pub(crate) folder: Scratch,
    /// Programs of each host.
    programs: Vec<Programs>,
    env: Vec<(String, OsString)>,
}

impl CampaignHosts {
    /// Hosts with the clock of this machine.
    pub(crate) fn new(agents: u8) -> Option<Self> {
        let star = Star::new(agents + 1)?;
        let programs = (0..agents).map(|_| ours!()).collect();
        Some(Self::started(star, programs, Scratch::new(), Vec::new()))
    }

    /// Hosts with this variable in the environment of their agents.
    pub(crate) fn with(agents: u8, folder: Scratch, env: Vec<(String, OsString)>) -> Option<Self> {
        let star = Star::new(agents + 1)?;
        let programs = (0..agents).map(|_| ours!()).collect();
        Some(Self::started(star, programs, folder, env))
    }

    /// The monotonic clock of host 0 is 1,000 s ahead, that of host 1 by 2,000 s and so on.
    pub(crate) fn in_other_times(agents: u8) -> Option<Self> {
        let star = Star::new(agents + 1)?;
        let folder = Scratch::new();
        let programs = (0..agents).map(|number| ahead(&folder, number)).collect();
        Some(Self::started(star, programs, folder, Vec::new()))
    }

    fn started(
        star: Star,
        programs: Vec<Programs>,
        folder: Scratch,
        env: Vec<(String, OsString)>,
    ) -> Self {
        let made = Invocation::new(&ours!().netperf)
            .folder(folder.path())
            .args(["campaign", "key", "-o", "key"])
            .run();
        made.expect_clean();
        let mut hosts = Self {
            star,
            agents: Vec::new(),
            folder,
            programs,
            env,
        };
        hosts.agents = (0..hosts.programs.len())
            .map(|number| hosts.agent(number))
            .collect();
        hosts.write_inventory();
        hosts
    }

    /// Starts the agent of a host.
    fn agent(&self, number: usize) -> Netserver {
        let key = self.folder.path().join("key");
        let key = key.to_str().expect("a path in UTF-8");
        let own = ["--agent", "--log", "text", "--key-file", key];
        let options = [&own, require::same_user()].concat();
        let place = self.star.place(number);
        let programs = self.programs.get(number).expect("a host");
        Netserver::start_with(programs, &place, &options, &self.env)
    }

    /// Starts an agent again where it has ended.
    pub(crate) fn revive(&mut self) {
        for number in 0..self.agents.len() {
            if !self.agents[number].alive() {
                self.agents[number] = self.agent(number);
            }
        }
        self.write_inventory();
    }

    fn write_inventory(&self) {
        let line = |(number, agent): (usize, &Netserver)| {
            let (address, port) = (self.star.address(number), agent.port());
            format!("{address}:{port} name=h{number}\n")
        };
        let lines: String = self.agents.iter().enumerate().map(line).collect();
        self.write("hosts", &lines);
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).expect("a file");
    }

    /// `netperf campaign` at the coordinator's host.
    pub(crate) fn command(&self, words: &[&str]) -> Invocation {
        Invocation::new(&ours!().netperf)
            .folder(self.folder.path())
            .within(&self.star.place(self.agents.len()))
            .arg("campaign")
            .args(words)
            .args(["--inventory", "hosts", "--key-file", "key"])
            .patience(Duration::from_secs(250))
    }

    /// A campaign whose agents may be silent for a while, unless the plan says for how long.
    pub(crate) fn campaign(&self, plan: &str) -> Invocation {
        let silence = if plan.contains("silence") {
            ""
        } else {
            "silence = 30\n"
        };
        self.write("plan.toml", &format!("{plan}{silence}"));
        self.command(&["run", "plan.toml", "--json"])
    }

    /// Process of an agent beside its netserver.
    pub(crate) fn beside(&self, number: usize) -> u32 {
        let is_agent = |pid: &u32| procfs::words(*pid).ends_with(&words(&["campaign", "agent"]));
        let netserver = self.agents[number].pid();
        let children = procfs::children(netserver);
        children.into_iter().find(is_agent).expect("an agent")
    }

    /// Processes of loads that are no entries waiting to be reaped.
    pub(crate) fn loads(&self) -> Vec<u32> {
        let addresses: Vec<_> = (0..self.agents.len())
            .map(|number| self.star.address(number))
            .collect();
        let of_ours = |pid: &u32| {
            let words = procfs::words(*pid);
            words.iter().any(|word| word == "--begin-at")
                && words.iter().any(|word| addresses.contains(word))
                && self.has(*pid)
        };
        procfs::all().into_iter().filter(of_ours).collect()
    }

    /// True if the process runs at one of these hosts.
    fn has(&self, pid: u32) -> bool {
        let agents = 0..self.agents.len();
        procfs::alive(pid) && agents.into_iter().any(|one| self.star.runs(one, pid))
    }

    /// Waits until nothing but the agents is left: no load, no session, no connection.
    pub(crate) fn assert_no_process_left(&self) {
        let left = || {
            let agents = self.agents.iter().enumerate();
            let agents = agents.filter(|(_, agent)| agent.alive());
            let busy = agents.filter(|(number, agent)| {
                procfs::descendants(agent.pid()).len() != 1
                    || !self.star.connections(*number).trim().is_empty()
            });
            busy.map(|(number, _)| number).collect::<Vec<_>>()
        };
        let ended = eventually(PATIENCE, || self.loads().is_empty() && left().is_empty());
        if !ended {
            let hosts = left();
            let shown: Vec<_> = hosts
                .iter()
                .map(|one| self.star.connections(*one))
                .collect();
            let said: Vec<_> = hosts.iter().map(|one| self.agents[*one].said()).collect();
            let tree: Vec<_> = hosts
                .iter()
                .flat_map(|one| procfs::descendants(self.agents[*one].pid()))
                .map(procfs::words)
                .collect();
            panic!(
                "left: {:?} {hosts:?} {tree:?} {shown:?} {said:?}",
                self.loads()
            );
        }
    }
}

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|&word| word.to_owned()).collect()
}

/// Programs of a host whose monotonic clock is ahead.
fn ahead(folder: &Scratch, number: u8) -> Programs {
    let seconds = APART * (u32::from(number) + 1);
    let programs = ours!();
    let script = format!(
        "#!/bin/sh\nexec unshare --time --monotonic {seconds} --boottime {seconds} {} \"$@\"\n",
        programs.netserver.display()
    );
    let netserver = folder.path().join(format!("netserver-{number}"));
    std::fs::write(&netserver, script).expect("a script");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&netserver, mode).expect("its mode");
    Programs {
        netserver,
        ..programs
    }
}

/// The document of a campaign with this exit status.
pub(crate) fn document(finished: Finished, status: i32) -> Value {
    let document: Option<Value> = serde_json::from_str(&finished.stdout).ok();
    if finished.status.code() != Some(status) {
        let cells = document.as_ref().and_then(|one| one["cells"].as_array());
        let missing = cells.into_iter().flatten().map(|cell| &cell["missing"]);
        let missing: Vec<_> = missing.filter(|why| !why.is_null()).collect();
        panic!("missing: {missing:?}\n{}", finished.account());
    }
    document.unwrap_or_else(|| panic!("{}", finished.account()))
}
