//! A sweep: one command line with places for values, and the values.

use std::borrow::Cow;

use netperf_model::units::without_size_letter;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The file of a plan.
#[derive(Serialize, Deserialize)]
#[serde(tag = "format")]
enum PlanFile<'p> {
    #[serde(rename = "netperf-sweep-1")]
    Sweep(Cow<'p, Plan>),
}

/// The most runs of a sweep.
pub const MOST_RUNS: usize = 100_000;
/// The most values of one parameter.
const MOST_VALUES: usize = 10_000;

/// A parameter that is varied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name, as it stands between braces.
    pub name: String,
    /// Its values, as they are put in its place.
    pub values: Vec<String>,
}

/// The runs of a sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The words behind `netperf`, with `{name}` where values go.
    pub command: Vec<String>,
    /// The varied parameters; the first is the axis of the curve.
    pub over: Vec<Parameter>,
    /// The number of measurements of each point.
    pub repeat: u32,
}

/// An error in a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadPlan(String);

fn bad<T>(text: String) -> Result<T, BadPlan> {
    Err(BadPlan(text))
}

impl Parameter {
    /// Reads `name=values`; `option` is the name of the option in errors.
    ///
    /// # Errors
    /// When there is no name, or a value makes no sense.
    pub fn read(option: &str, text: &str) -> Result<Self, BadPlan> {
        let Some((name, values)) = text.split_once('=') else {
            return bad(format!(
                "{option} {text}: there is no name: write m=64,1K,64K"
            ));
        };
        if !is_name(name) {
            return bad(format!(
                "{option} {text}: a name has letters, digits, - and _, such as m"
            ));
        }
        let mut all: Vec<String> = Vec::new();
        for word in values.split(',') {
            let more = match word.split_once("..") {
                Some((from, rest)) => range(from, rest).ok_or_else(|| {
                    BadPlan(format!(
                        "{option} {text}: {word} is not a range: write 64..64K*2 or 0..100+25"
                    ))
                })?,
                None => vec![word.to_owned()],
            };
            for value in more {
                if !all.contains(&value) {
                    all.push(value);
                }
            }
            if all.len() > MOST_VALUES {
                return bad(format!(
                    "{option} {name}: there are more than {MOST_VALUES} values"
                ));
            }
        }
        if all.iter().any(String::is_empty) {
            return bad(format!("{option} {text}: a value is empty"));
        }
        Ok(Self {
            name: name.to_owned(),
            values: all,
        })
    }

    /// Its values as numbers, where all are numbers and in growing order.
    #[must_use]
    pub fn numbers(&self) -> Option<Vec<f64>> {
        let numbers: Vec<f64> = self
            .values
            .iter()
            .map(|value| number(value))
            .collect::<Option<_>>()?;
        numbers.is_sorted().then_some(numbers)
    }
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.chars().all(fits)
}

/// A number with a size letter as netperf has them: K, M, G of 1024, k, m, g of 1000.
fn number(text: &str) -> Option<f64> {
    let (digits, factor) = without_size_letter(text);
    let plain = digits.starts_with(|c: char| c.is_ascii_digit());
    let value: f64 = digits.parse().ok().filter(|_| plain)?;
    value.is_finite().then_some(value * f64::from(factor))
}

fn whole(text: &str) -> Option<u64> {
    let value = number(text).filter(|value| value.fract() == 0.0 && *value < 1e15)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number from 0 to 10^15"
    )]
    Some(value as u64)
}

/// The values of a range such as `64..64K*2` or `0..100+25`, its end included.
fn range(from: &str, rest: &str) -> Option<Vec<String>> {
    let at = rest.find(['*', '+']);
    let (to, step) = at.map_or((rest, "+1"), |at| rest.split_at(at));
    let (from, to) = (whole(from)?, whole(to)?);
    let times = step.starts_with('*');
    let step = whole(step.get(1..)?)?;
    let goes_on = if times {
        step > 1 && from > 0
    } else {
        step > 0
    };
    if from > to || !goes_on {
        return None;
    }
    let next = |value: &u64| {
        if times {
            value.checked_mul(step)
        } else {
            value.checked_add(step)
        }
    };
    let values = std::iter::successors(Some(from), next).take_while(|value| *value <= to);
    let values: Vec<String> = values
        .take(MOST_VALUES + 1)
        .map(|value| value.to_string())
        .collect();
    Some(values)
}

impl Plan {
    /// A plan of what was typed.
    ///
    /// # Errors
    /// When names and places do not fit each other, or there would be too many runs.
    pub fn new(command: Vec<String>, over: &[String], repeat: u32) -> Result<Self, BadPlan> {
        let over = over
            .iter()
            .map(|text| Parameter::read("--over", text))
            .collect::<Result<Vec<_>, _>>()?;
        let plan = Self {
            command,
            over,
            repeat,
        };
        plan.check()?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), BadPlan> {
        for (at, parameter) in self.over.iter().enumerate() {
            let name = &parameter.name;
            let earlier = self.over.get(..at).unwrap_or_default();
            if earlier.iter().any(|other| other.name == *name) {
                return bad(format!("--over {name}: it is given twice"));
            }
            let place = format!("{{{name}}}");
            if !self.command.iter().any(|word| word.contains(&place)) {
                return bad(format!("--over {name}: the command has no {place}"));
            }
        }
        if let Some(name) = self.command.iter().find_map(|word| self.unknown(word)) {
            return bad(format!(
                "{{{name}}} in the command: there is no --over {name}=..."
            ));
        }
        let points = self
            .over
            .iter()
            .try_fold(1_usize, |all, one| all.checked_mul(one.values.len()));
        let repeat = usize::try_from(self.repeat).unwrap_or(usize::MAX);
        match points.and_then(|points| points.checked_mul(repeat)) {
            Some(runs) if runs <= MOST_RUNS => Ok(()),
            _ => bad(format!("these are more than {MOST_RUNS} runs")),
        }
    }

    /// A place in a word for which there is no parameter.
    fn unknown<'w>(&self, word: &'w str) -> Option<&'w str> {
        let places = word.split('{').skip(1).filter_map(|rest| {
            let (name, _) = rest.split_once('}')?;
            is_name(name).then_some(name)
        });
        let mut unknown = places.filter(|name| !self.over.iter().any(|known| known.name == *name));
        unknown.next()
    }

    /// The values of every point, the first parameter's changing slowest.
    #[must_use]
    pub fn points(&self) -> Vec<Vec<String>> {
        let mut points = vec![Vec::new()];
        for parameter in &self.over {
            let longer = points.iter().flat_map(|point: &Vec<String>| {
                parameter.values.iter().map(move |value| {
                    let mut point = point.clone();
                    point.push(value.clone());
                    point
                })
            });
            points = longer.collect();
        }
        points
    }

    /// The command line of a point.
    #[must_use]
    pub fn command_of(&self, values: &[String]) -> Vec<String> {
        let put = |word: &String| {
            let pairs = self.over.iter().zip(values);
            pairs.fold(word.clone(), |word, (parameter, value)| {
                word.replace(&format!("{{{}}}", parameter.name), value)
            })
        };
        self.command.iter().map(put).collect()
    }

    /// The name of a point: `m=1024 b=4`.
    #[must_use]
    pub fn name_of(&self, values: &[String]) -> String {
        let pairs = self.over.iter().zip(values);
        let words: Vec<String> = pairs
            .map(|(parameter, value)| format!("{}={value}", parameter.name))
            .collect();
        words.join(" ")
    }

    /// The plan as a file.
    #[must_use]
    pub fn text(&self) -> String {
        let file = json!(PlanFile::Sweep(Cow::Borrowed(self)));
        format!("{file:#}\n")
    }

    /// The plan that a file holds.
    ///
    /// # Errors
    /// When it is none.
    pub fn of_text(text: &str) -> Result<Self, BadPlan> {
        let PlanFile::Sweep(plan) = serde_json::from_str(text)
            .map_err(|_| BadPlan("this is not a plan of a sweep".to_owned()))?;
        plan.check()?;
        Ok(plan.into_owned())
    }

    /// The difference that prevents a sweep of this plan from continuing with `other`, in
    /// words. More repetitions are no difference. `shown` makes the words of the command for the
    /// message.
    #[must_use]
    pub fn differs(
        &self,
        other: &Self,
        shown: impl Fn(&[String]) -> Vec<String>,
    ) -> Option<String> {
        if self.command != other.command {
            let command = shown(&self.command).join(" ");
            return Some(format!("its command is: {command}"));
        }
        if self.over != other.over {
            let over: Vec<String> = self
                .over
                .iter()
                .map(|one| format!("--over {}={}", one.name, one.values.join(",")))
                .collect();
            return Some(format!("its options are {}", over.join(" ")));
        }
        (other.repeat < self.repeat).then(|| format!("it has --repeat {}", self.repeat))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        Parameter::read("--over", text).unwrap().values
    }

    fn plan(command: &str, over: &[&str], repeat: u32) -> Result<Plan, BadPlan> {
        let over: Vec<String> = over.iter().map(|&text| text.to_owned()).collect();
        Plan::new(
            command.split(' ').map(str::to_owned).collect(),
            &over,
            repeat,
        )
    }

    #[test]
    fn values_are_words_numbers_and_ranges() {
        assert_eq!(values("m=64,1K,x"), ["64", "1K", "x"]);
        assert_eq!(values("m=64..1K*4"), ["64", "256", "1024"]);
        assert_eq!(values("m=0..100+50,7"), ["0", "50", "100", "7"]);
        assert_eq!(values("m=1..3"), ["1", "2", "3"]);
        assert_eq!(values("m=1..3,2"), ["1", "2", "3"]);
        assert_eq!(values("t=TCP_RR,UDP_RR"), ["TCP_RR", "UDP_RR"]);
        for bad in [
            "m",
            "=1",
            "m=",
            "m=1,,2",
            "m=3..1",
            "m=0..8*2",
            "m=1..8*1",
            "m=1..8+0",
            "m=a..b",
            "m x=1",
            "m=1..1000000",
        ] {
            assert!(Parameter::read("--over", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_make_an_axis_and_words_do_not() {
        let numbers = |text| Parameter::read("--over", text).unwrap().numbers();
        assert_eq!(numbers("m=1,1K,1m"), Some(vec![1.0, 1024.0, 1e6]));
        assert_eq!(numbers("m=2,1"), None);
        assert_eq!(numbers("m=TCP_RR"), None);
        assert_eq!(numbers("m=nan"), None);
    }

    #[test]
    fn every_combination_is_a_point() {
        let plan = plan("-t {t} -- -m {m},{m}", &["m=1,2", "t=A,B"], 1).unwrap();
        let points = plan.points();
        let names: Vec<String> = points.iter().map(|point| plan.name_of(point)).collect();
        assert_eq!(names, ["m=1 t=A", "m=1 t=B", "m=2 t=A", "m=2 t=B"]);
        assert_eq!(plan.command_of(&points[1]), ["-t", "B", "--", "-m", "1,1"]);
    }

    #[test]
    fn names_and_places_have_to_fit() {
        for (command, over, why) in [
            ("-m {m}", &["n=1"][..], "no {n}"),
            ("-m {m} {n}", &["m=1"], "no --over n"),
            ("-m {m}", &["m=1", "m=2"], "given twice"),
            ("-m {m}", &["m=1..9999", "m2=1"], "no {m2}"),
        ] {
            let said = plan(command, over, 1).unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        }
        assert!(plan("-m {m}", &["m=1..9000"], 1000).is_err());
        // Braces that are no place are the command's own.
        assert!(plan("-m {m} {} {a,b}", &["m=1"], 1).is_ok());
    }

    #[test]
    fn a_plan_is_read_back_and_a_changed_one_is_told_from_it() {
        let first = plan("-m {m}", &["m=1,2"], 2).unwrap();
        assert_eq!(Plan::of_text(&first.text()).unwrap(), first);
        assert!(Plan::of_text("{}").is_err());
        assert!(Plan::of_text("x").is_err());
        let differs = |other: Plan| first.differs(&other, <[String]>::to_vec);
        assert_eq!(differs(first.clone()), None);
        assert_eq!(differs(plan("-m {m}", &["m=1,2"], 5).unwrap()), None);
        let less = differs(plan("-m {m}", &["m=1,2"], 1).unwrap());
        assert_eq!(less.as_deref(), Some("it has --repeat 2"));
        let over = differs(plan("-m {m}", &["m=1"], 2).unwrap()).unwrap();
        assert!(over.contains("m=1,2"));
        let command = differs(plan("-M {m}", &["m=1,2"], 2).unwrap()).unwrap();
        assert!(command.contains("-m {m}"));
    }
}
