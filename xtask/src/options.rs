//! Options of the tasks.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use netperf_testkit::Programs;
use netperf_testkit::peers::Make;

/// The two optimised profiles of `Cargo.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Quick to build.
    Release,
    /// Contents of packages.
    Dist,
}

impl Profile {
    const fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Dist => "dist",
        }
    }

    fn named(word: &str) -> Result<Self, String> {
        [Self::Release, Self::Dist]
            .into_iter()
            .find(|profile| profile.name() == word)
            .ok_or_else(|| format!("{word} is no profile: release or dist"))
    }
}

/// The options of all tasks.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) pairs: usize,
    pub(crate) seconds: u32,
    /// Rows and groups of the benchmark.
    pub(crate) words: Vec<String>,
    /// Programs to leave out of it.
    pub(crate) without: Vec<String>,
    /// Only their names.
    pub(crate) list: bool,
    /// Folder of the table.
    pub(crate) out: PathBuf,
    pub(crate) check: bool,
    pub(crate) client_cpu: u32,
    pub(crate) server_cpu: u32,
    pub(crate) profile: Profile,
    ours: PathBuf,
    stock: PathBuf,
}

impl Options {
    /// Reads the words behind the task's name.
    pub(crate) fn parse(words: &[String]) -> Result<Self, String> {
        let mut options = Self {
            pairs: 7,
            seconds: 2,
            words: Vec::new(),
            without: Vec::new(),
            list: false,
            out: built()?.join("bench"),
            check: false,
            client_cpu: 0,
            server_cpu: 1,
            profile: Profile::Dist,
            ours: built()?.join(Profile::Dist.name()),
            stock: "/usr/bin".into(),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--pairs" => options.pairs = number(value()?)?,
                "--seconds" => options.seconds = number(value()?)?,
                "--without" => options
                    .without
                    .extend(value()?.split(',').map(str::to_owned)),
                "--list" => options.list = true,
                "--out" => options.out = value()?.into(),
                "--check" => options.check = true,
                "--profile" => {
                    options.profile = Profile::named(value()?)?;
                    options.ours = built()?.join(options.profile.name());
                }
                "--ours" => options.ours = value()?.into(),
                "--stock" => options.stock = value()?.into(),
                "--cpus" => (options.client_cpu, options.server_cpu) = two_numbers(value()?)?,
                _ if !word.starts_with('-') => options.words.push(word.clone()),
                _ => return Err(format!("unknown option {word}\n{}", crate::USAGE)),
            }
        }
        if options.seconds == 0 || options.pairs == 0 {
            return Err("rounds and their length are at least 1".to_owned());
        }
        Ok(options)
    }

    /// The programs of this workspace, or the original.
    pub(crate) fn programs(&self, make: Make) -> Result<Programs, String> {
        match make {
            Make::Ours => programs(make, &self.ours),
            Make::Stock => programs(make, &self.stock),
        }
    }
}

/// Binds a process, and those it will start, to a processor.
pub(crate) fn pin(pid: u32, cpu: u32) -> Result<(), String> {
    let bound = Command::new("taskset")
        .args(["-c", "-p", &cpu.to_string(), &pid.to_string()])
        .output();
    match bound {
        Ok(output) if output.status.success() => Ok(()),
        other => Err(format!("taskset failed: {other:?}")),
    }
}

fn programs(make: Make, folder: &Path) -> Result<Programs, String> {
    let programs = Programs {
        make,
        netperf: folder.join("netperf"),
        netserver: folder.join("netserver"),
    };
    match (programs.netperf.exists(), programs.netserver.exists()) {
        (true, true) => Ok(programs),
        _ => Err(format!("no netperf and netserver in {}", folder.display())),
    }
}

/// The folder in which cargo has a folder for each profile.
fn built() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let profiles = program.parent().and_then(Path::parent);
    Ok(profiles.unwrap_or(Path::new(".")).to_owned())
}

fn number<T: FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("{word} is no number"))
}

fn two_numbers(word: &str) -> Result<(u32, u32), String> {
    let (first, second) = word
        .split_once(',')
        .ok_or_else(|| format!("{word} is no pair"))?;
    Ok((number(first)?, number(second)?))
}
