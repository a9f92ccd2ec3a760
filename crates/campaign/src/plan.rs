//! The plan of a campaign: who measures what to whom, and how long.

mod groups;

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::inventory::InventoryMember;
use crate::pattern::{Cell, PairDirections, Pattern, PatternRequest, ScheduleMembers, Uplinks};
use crate::protocol::LoadParts;
use crate::schedule::RoundSchedule;

pub use self::groups::{CellWords, PlanGroup};

/// Reaction to the loss of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// All load stops, and the campaign ends with what it has.
    Abort,
    /// The campaign goes on without the member.
    Drop,
}

/// A plan, as in its file (TOML). Times are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CampaignPlan {
    /// Pattern of senders and receivers.
    pub pattern: Pattern,
    /// The test, such as `TCP_STREAM`; all tests of groups.
    #[serde(default)]
    pub test: String,
    /// Further words of its command line, such as `["--flows", "4", "--", "-m", "16K"]`.
    #[serde(default)]
    pub options: Vec<String>,
    /// Time that counts.
    #[serde(default = "default_window")]
    pub window: f64,
    /// Time before it.
    #[serde(default = "default_warmup")]
    pub warmup: f64,
    /// Time after it.
    #[serde(default = "default_cooldown")]
    pub cooldown: f64,
    /// The member of incast and fanout to which, or from which, all others send; the first
    /// without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hub: Option<String>,
    /// The two directions of pairs, bisections and rings: `separate` or `together`.
    #[serde(default)]
    pub directions: PairDirections,
    /// Pairs of the pattern list: sender and receiver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<(String, String)>,
    /// Tests of the pattern groups, which run at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<PlanGroup>,
    /// Order of members in the pattern pairs.
    #[serde(default)]
    pub seed: u64,
    /// Number of repetitions of all rounds.
    #[serde(default = "default_repeat")]
    pub repeat: u32,
    /// Measures the latency of each cell beside its load as well, and without load before.
    #[serde(default)]
    pub probe: bool,
    /// Measures cells that look like outliers again after the last round.
    #[serde(default = "default_recheck")]
    pub recheck: bool,
    /// Label that names the rack of a member.
    #[serde(default = "default_rack")]
    pub rack_label: String,
    /// Most pairs that leave or enter a rack at the same time; without limit if zero.
    #[serde(default)]
    pub uplink: usize,
    /// Reaction to the loss of a member: `abort` or `drop`. Without it, `drop` for pairs and
    /// list, and `abort` otherwise, since the others change what is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
    /// Time without a sign of life after which a member, or the coordinator, counts as lost.
    #[serde(default = "default_silence")]
    pub silence: f64,
    /// Fewest members with which the campaign goes on.
    #[serde(default = "default_members")]
    pub min_members: usize,
}

const fn default_window() -> f64 {
    5.0
}

const fn default_warmup() -> f64 {
    2.0
}

const fn default_cooldown() -> f64 {
    0.5
}

const fn default_silence() -> f64 {
    2.0
}

const fn default_recheck() -> bool {
    true
}

const fn default_repeat() -> u32 {
    1
}

const fn default_members() -> usize {
    2
}

fn default_rack() -> String {
    "rack".to_owned()
}

/// An error in a plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadCampaignPlan {
    /// It is no plan.
    #[error("{0}")]
    Toml(String),
    /// A value makes no sense.
    #[error("{0}")]
    Value(String),
}

/// The words of a test.
fn words_of(test: &str, options: &[String]) -> Vec<String> {
    let test = ["-t".to_owned(), test.to_owned()];
    test.into_iter().chain(options.iter().cloned()).collect()
}

fn bad<T>(text: String) -> Result<T, BadCampaignPlan> {
    Err(BadCampaignPlan::Value(text))
}

/// A message about TOML in the words of TOML.
fn plain(message: &str) -> String {
    let words = [
        ("\n", " "),
        ("expected f64", "expected a number of seconds"),
        (
            "expected a sequence",
            "expected a list: [\"--flows\", \"4\"]",
        ),
        ("expected usize", "expected a whole number"),
        ("expected u32", "expected a whole number"),
        ("expected u64", "expected a whole number"),
        ("missing field", "a key is missing:"),
        ("unknown field", "there is no key"),
        ("unknown variant", "there is no"),
    ];
    let message = message.to_owned();
    words
        .iter()
        .fold(message, |message, (from, to)| message.replace(from, to))
}

/// The test of probes.
const PROBE: [&str; 4] = ["-t", "TCP_RR", "--rate", "100"];

/// Longest part of a run, seconds.
const LONGEST: f64 = 86_400.0;
/// Longest silence, seconds: an agent permits half a second more.
const LONGEST_SILENCE: f64 = 60.0;

impl CampaignPlan {
    /// Reads a plan.
    ///
    /// # Errors
    /// The first error.
    pub fn read(text: &str) -> Result<Self, BadCampaignPlan> {
        let mut plan: Self = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| {
                let before = text.get(..span.start).unwrap_or_default();
                before.matches('\n').count() + 1
            });
            let message = plain(error.message());
            BadCampaignPlan::Toml(
                line.map_or_else(|| message.clone(), |line| format!("line {line}: {message}")),
            )
        })?;
        plan.check()?;
        if !plan.groups.is_empty() {
            plan.test = plan.tests().join(" + ");
        }
        Ok(plan)
    }

    fn check(&self) -> Result<(), BadCampaignPlan> {
        let times = [
            ("window", self.window, 0.01),
            ("warmup", self.warmup, 0.0),
            ("cooldown", self.cooldown, 0.0),
        ];
        let silence = ("silence", self.silence, 2.0, LONGEST_SILENCE);
        let times = times.map(|(name, value, least)| (name, value, least, LONGEST));
        for (name, value, least, most) in times.into_iter().chain([silence]) {
            if !(least..=most).contains(&value) {
                return bad(format!("{name} = {value}: from {least} to {most} seconds"));
            }
        }
        let parts = self.parts();
        if parts.warmup == 0 && parts.cooldown == 0 {
            let why = "a window is cut from a longer run: leave one of them out";
            return bad(format!("warmup = 0 and cooldown = 0: {why}"));
        }
        if !(1..=1000).contains(&self.repeat) {
            return bad(format!("repeat = {}: from 1 to 1000", self.repeat));
        }
        if (self.pattern == Pattern::List) == self.pairs.is_empty() {
            return bad("the pattern list, and no other, has pairs = [[\"a\", \"b\"]]".to_owned());
        }
        if (self.pattern == Pattern::Groups) == self.groups.is_empty() {
            return bad("the pattern groups, and no other, has [[groups]]".to_owned());
        }
        let has_test = !self.test.is_empty() || !self.options.is_empty();
        if self.groups.is_empty() && self.test.is_empty() {
            return bad("a key is missing: test".to_owned());
        }
        if !self.groups.is_empty() && has_test {
            return bad("each of the groups has its own test and options".to_owned());
        }
        let hub = matches!(self.pattern, Pattern::Incast | Pattern::Fanout);
        if self.hub.is_some() && !hub {
            return bad("hub is for the patterns incast and fanout".to_owned());
        }
        Ok(())
    }

    /// Reaction to the loss of a member.
    #[must_use]
    pub fn on_failure(&self) -> OnFailure {
        let usual = match self.pattern {
            Pattern::Pairs | Pattern::List => OnFailure::Drop,
            Pattern::Mesh
            | Pattern::Incast
            | Pattern::Fanout
            | Pattern::Bisection
            | Pattern::Ring
            | Pattern::Groups => OnFailure::Abort,
        };
        self.on_failure.unwrap_or(usual)
    }

    /// Silence of a member after which it counts as lost, nanoseconds.
    #[must_use]
    pub fn silence(&self) -> u64 {
        nanos(self.silence)
    }

    /// The parts of each load.
    #[must_use]
    pub fn parts(&self) -> LoadParts {
        LoadParts {
            warmup: nanos(self.warmup),
            window: nanos(self.window),
            cooldown: nanos(self.cooldown),
        }
    }

    /// The names of its tests, each once.
    fn tests(&self) -> Vec<&str> {
        let mut tests: Vec<&str> = Vec::new();
        for group in &self.groups {
            if !tests.contains(&group.test.as_str()) {
                tests.push(&group.test);
            }
        }
        tests
    }

    /// Each test with the words of its loads.
    #[must_use]
    pub fn loads(&self) -> Vec<(&str, Vec<String>)> {
        if self.groups.is_empty() {
            return vec![(self.test.as_str(), words_of(&self.test, &self.options))];
        }
        let groups = self.groups.iter();
        groups
            .map(|one| (one.test.as_str(), words_of(&one.test, &one.options)))
            .collect()
    }

    /// Words of the load of each cell of these members.
    ///
    /// # Errors
    /// When groups are empty or not apart.
    pub fn words(&self, members: &[InventoryMember]) -> Result<CellWords, BadCampaignPlan> {
        if self.groups.is_empty() {
            return Ok(CellWords::of_all(words_of(&self.test, &self.options)));
        }
        CellWords::of_groups(&self.groups, members)
    }

    /// True if the cells of a round share no host.
    #[must_use]
    pub const fn has_disjoint_rounds(&self) -> bool {
        matches!(self.pattern, Pattern::Pairs | Pattern::List)
    }

    /// The name of the pattern.
    #[must_use]
    pub const fn pattern_name(&self) -> &'static str {
        match self.pattern {
            Pattern::Pairs => "pairs",
            Pattern::Mesh => "mesh",
            Pattern::Incast => "incast",
            Pattern::Fanout => "fanout",
            Pattern::Bisection => "bisection",
            Pattern::Ring => "ring",
            Pattern::Groups => "groups",
            Pattern::List => "list",
        }
    }

    /// Words of the probes: open-loop transactions, so that a slow one delays no other.
    #[must_use]
    pub fn probe_words() -> Vec<String> {
        PROBE.map(str::to_owned).to_vec()
    }

    /// Rounds that measure these cells again, for members whose rounds were `all`. Where the
    /// cells of a round ran at the same time on purpose, all of them do so again.
    ///
    /// # Errors
    /// Those of [`Self::rounds`].
    pub fn rounds_again(
        &self,
        members: &[InventoryMember],
        all: &[Vec<Cell>],
        cells: &[Cell],
    ) -> Result<Vec<Vec<Cell>>, BadCampaignPlan> {
        if !self.has_disjoint_rounds() {
            let mut rounds: Vec<Vec<Cell>> = Vec::new();
            for round in all {
                let has_one = round.iter().any(|cell| cells.contains(cell));
                if has_one && !rounds.contains(round) {
                    rounds.push(round.clone());
                }
            }
            return Ok(rounds);
        }
        let request = PatternRequest {
            list: cells.to_vec(),
            ..PatternRequest::of(Pattern::List)
        };
        let schedule = RoundSchedule::of(&request, &self.members(members));
        let schedule = schedule.map_err(|bad| BadCampaignPlan::Value(bad.to_string()))?;
        Ok(schedule.rounds)
    }

    /// Number of rounds of one repetition, among all rounds.
    #[must_use]
    pub fn rounds_once(&self, all: usize) -> usize {
        all / usize::try_from(self.repeat).unwrap_or(1).max(1)
    }

    /// The rounds for these members.
    ///
    /// # Errors
    /// When a name is not among the members, or no member can send.
    pub fn rounds(&self, members: &[InventoryMember]) -> Result<RoundSchedule, BadCampaignPlan> {
        let index = |name: &str| {
            let found = members.iter().position(|one| one.name == name);
            found.ok_or_else(|| BadCampaignPlan::Value(format!("{name} is not in the inventory")))
        };
        let hub = self.hub.as_deref().map(index).transpose()?;
        let cell = |(from, to): &(String, String)| {
            Ok(Cell {
                from: index(from)?,
                to: index(to)?,
            })
        };
        let list: Result<Vec<Cell>, BadCampaignPlan> = self.pairs.iter().map(cell).collect();
        let list = if self.pattern == Pattern::Groups {
            Ok(self.words(members)?.cells())
        } else {
            list
        };
        let request = PatternRequest {
            directions: self.directions,
            hub: hub.unwrap_or_default(),
            list: list?,
            seed: self.seed,
            ..PatternRequest::of(self.pattern)
        };
        let schedule = RoundSchedule::of(&request, &self.members(members));
        let mut schedule = schedule.map_err(|bad| BadCampaignPlan::Value(bad.to_string()))?;
        let once = std::mem::take(&mut schedule.rounds);
        schedule.rounds = (0..self.repeat)
            .flat_map(|_| once.iter().cloned())
            .collect();
        Ok(schedule)
    }

    fn members(&self, members: &[InventoryMember]) -> ScheduleMembers {
        let mut names: Vec<String> = Vec::new();
        let number = |one: &InventoryMember| {
            let name = one.labels.get("node").unwrap_or(&one.name).clone();
            let found = names.iter().position(|known| *known == name);
            found.unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
        };
        let hosts = members.iter().map(number).collect();
        let label = |one: &InventoryMember| one.labels.get(&self.rack_label).cloned();
        let racks: Vec<Option<String>> = members.iter().map(label).collect();
        let racks: Vec<Option<&str>> = racks.iter().map(Option::as_deref).collect();
        let uplinks = NonZeroUsize::new(self.uplink)
            .map(|flows| Uplinks::by_label(&self.rack_label, &racks, flows));
        let receives_only = |(index, one): (usize, &InventoryMember)| (!one.agent).then_some(index);
        ScheduleMembers {
            count: members.len(),
            hosts,
            receive_only: members
                .iter()
                .enumerate()
                .filter_map(receives_only)
                .collect(),
            uplinks: uplinks.into_iter().collect(),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked: from 0 to a day"
)]
fn nanos(seconds: f64) -> u64 {
    // Whole milliseconds, as on netperf's command line.
    (seconds * 1e3).round() as u64 * 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory;

    #[test]
    fn a_plan_has_defaults_and_its_errors_name_the_line() {
        let plan = CampaignPlan::read("pattern = \"pairs\"\ntest = \"TCP_STREAM\"\n").unwrap();
        assert_eq!(plan.parts().total(), 7_500_000_000);
        assert_eq!(plan.on_failure(), OnFailure::Drop);
        let said = |text: &str| CampaignPlan::read(text).unwrap_err().to_string();
        assert!(said("pattern = \"star\"\ntest = \"x\"").starts_with("line 1: "));
        assert!(said("pattern = \"mesh\"").contains("test"));
        assert!(said("pattern = \"mesh\"\ntest = \"x\"\nwindows = 5").contains("line 3"));
        let text = said("pattern = \"mesh\"\ntest = \"x\"\nwindow = \"5s\"");
        assert!(text.ends_with("expected a number of seconds"), "{text}");
        let list = said("pattern = \"mesh\"\ntest = \"x\"\noptions = \"-m 1\"");
        assert!(list.contains("expected a list: ["), "{list}");
        assert!(said("pattern = \"mesh\"\ntest = \"x\"\nwindow = 0").contains("window = 0"));
        assert!(said("pattern = \"mesh\"\ntest = \"x\"\nsilence = 1").contains("from 2 to 60"));
        let whole = said("pattern = \"mesh\"\ntest = \"x\"\nwarmup = 0\ncooldown = 0.0001");
        assert!(whole.contains("warmup = 0 and cooldown = 0"), "{whole}");
        assert!(said("pattern = \"list\"\ntest = \"x\"").contains("pairs"));
        assert!(said("pattern = \"mesh\"\ntest = \"x\"\nhub = \"a\"").contains("hub"));
    }

    #[test]
    fn rounds_are_of_the_members_of_the_inventory() {
        let members = inventory::read(
            "a\nb\nold agent=no\n".as_bytes(),
            &crate::inventory::InventoryOptions::default(),
        )
        .unwrap();
        let rounds = |text: &str| {
            let plan = CampaignPlan::read(text)?;
            plan.rounds(&members).map(|schedule| schedule.rounds)
        };
        let mesh = rounds("pattern = \"mesh\"\ntest = \"x\"").unwrap();
        assert_eq!(mesh[0].len(), 4);
        let list = "pattern = \"list\"\ntest = \"x\"\nrepeat = 2\npairs = [[\"a\", \"old\"]]";
        let cell = Cell { from: 0, to: 2 };
        assert_eq!(rounds(list).unwrap(), [[cell], [cell]]);
        let said = rounds("pattern = \"incast\"\ntest = \"x\"\nhub = \"z\"").unwrap_err();
        assert_eq!(said.to_string(), "z is not in the inventory");
        let back = "pattern = \"list\"\ntest = \"x\"\npairs = [[\"old\", \"a\"]]";
        assert!(rounds(back).is_err());
    }

    #[test]
    fn groups_have_tests_of_their_own_at_the_same_time() {
        let members = inventory::read(
            "a rack=x\nb rack=x\nc\nold agent=no\n".as_bytes(),
            &crate::inventory::InventoryOptions::default(),
        )
        .unwrap();
        let text = |from: &str, to: &str| {
            format!(
                "pattern = \"groups\"\n[[groups]]\ntest = \"TCP_STREAM\"\noptions = [\"-c\"]\n\
                 from = [\"rack=x\"]\nto = [\"c\", \"old\"]\n[[groups]]\ntest = \"TCP_RR\"\n\
                 from = [\"{from}\"]\nto = [\"{to}\"]\n"
            )
        };
        let cell = |from, to| Cell { from, to };
        let plan = CampaignPlan::read(&text("c", "rack=x")).unwrap();
        assert_eq!(plan.test, "TCP_STREAM + TCP_RR");
        assert_eq!(plan.on_failure(), OnFailure::Abort);
        let bulk = [cell(0, 2), cell(0, 3), cell(1, 2), cell(1, 3)];
        let requests = [cell(2, 0), cell(2, 1)];
        let rounds = plan.rounds(&members).unwrap().rounds;
        assert_eq!(rounds, [[&bulk[..], &requests[..]].concat()]);
        let words = plan.words(&members).unwrap();
        assert_eq!(words.of(cell(1, 3)), ["-t", "TCP_STREAM", "-c"]);
        assert_eq!(words.of(cell(2, 1)), ["-t", "TCP_RR"]);
        let said = |text: &str| {
            let plan = CampaignPlan::read(text)?;
            plan.rounds(&members).map(|_| ())
        };
        let said = |text: &str| said(text).unwrap_err().to_string();
        let twice = said(&text("a", "c"));
        assert!(twice.starts_with("a -> c is in two groups"), "{twice}");
        let nobody = said(&text("rack=y", "c"));
        assert_eq!(nobody, "rack=y is no name and no label of the inventory");
        assert_eq!(said(&text("old", "c")), "member 3 cannot send");
        assert!(said("pattern = \"groups\"").contains("[[groups]]"));
        let other = "pattern = \"mesh\"\n[[groups]]\ntest = \"x\"\nfrom = []\nto = []";
        assert!(said(other).contains("[[groups]]"));
        let both = text("c", "a").replacen('\n', "\ntest = \"x\"\n", 1);
        assert!(said(&both).contains("its own test"));
    }

    #[test]
    fn cells_are_measured_again_as_they_were() {
        let text = "a\nb\nc\nd\n".as_bytes();
        let members = inventory::read(text, &crate::inventory::InventoryOptions::default());
        let members = members.unwrap();
        let again = |text: &str, cells: &[Cell]| {
            let plan = CampaignPlan::read(text).unwrap();
            let all = plan.rounds(&members).unwrap().rounds;
            assert_eq!(plan.rounds_once(all.len()) * 2, all.len());
            plan.rounds_again(&members, &all, cells).unwrap()
        };
        let cell = |from, to| Cell { from, to };
        let wanted = [cell(0, 1), cell(0, 2), cell(2, 3)];
        let pairs = again("pattern = \"pairs\"\ntest = \"x\"\nrepeat = 2", &wanted);
        assert_eq!(pairs, [vec![cell(0, 1), cell(2, 3)], vec![cell(0, 2)]]);
        // The cells of a mesh are what they are beside all others.
        let mesh = again("pattern = \"mesh\"\ntest = \"x\"\nrepeat = 2", &wanted);
        assert_eq!(mesh.iter().map(Vec::len).collect::<Vec<_>>(), [12]);
    }
}
