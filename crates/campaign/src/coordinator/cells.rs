//! Cells and their loads: what is to be measured, and what has come.

use crate::outcome::CellFigures;
use crate::pattern::Cell;
use crate::protocol::LoadResult;
use serde_json::Value;

/// Warnings of a test that are kept.
const MOST_WARNINGS: usize = 16;
/// Letters of a warning that are kept.
const LONGEST_WARNING: usize = 1000;

/// Direction of its cell that a load measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadPart {
    /// Latency before any load.
    Unloaded,
    /// Latency beside the load.
    Loaded,
    /// The test of the plan.
    Test,
}

/// A load of the campaign. There may be a million of them.
#[derive(Debug)]
pub(super) struct CampaignLoadRun {
    cell: u32,
    pub(super) slot: u32,
    pub(super) part: LoadPart,
    is_open: bool,
}

/// A cell of a round.
#[derive(Debug)]
pub(super) struct CellRun {
    from: u32,
    to: u32,
    pub(super) round: u32,
    /// Loads without a result.
    open: u8,
    /// It is measured again.
    pub(super) again: bool,
    /// It was measured.
    pub(super) measured: bool,
    /// The file of the cells has it.
    pub(super) written: bool,
    /// Results so far; empty once a file has them.
    pub(super) came: Option<Box<CellResult>>,
}

/// Results of a cell so far.
#[derive(Clone, Debug, Default)]
pub(super) struct CellResult {
    pub(super) figures: CellFigures,
    /// Begin of the window by the clock of the sender, and its length in seconds.
    pub(super) window: Option<(u64, f64)>,
    /// Agreed begin of the window, by the own clock.
    pub(super) due: u64,
    pub(super) missing: Option<String>,
    pub(super) warnings: Vec<String>,
}

impl CellRun {
    pub(super) const fn cell(&self) -> Cell {
        Cell {
            from: self.from as usize,
            to: self.to as usize,
        }
    }
}

/// Loads that are agreed about together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LoadStage {
    /// Begin of its first load.
    pub(super) begin: u64,
    pub(super) first_load: usize,
    pub(super) first_slot: u32,
    pub(super) slots: u32,
}

/// All cells and loads.
#[derive(Debug, Default)]
pub(super) struct CampaignCells {
    pub(super) cells: Vec<CellRun>,
    loads: Vec<CampaignLoadRun>,
    /// Loads without a result.
    open: usize,
    /// The same for each slot: a round, or the probes before it.
    open_of_slot: Vec<u32>,
    pub(super) stage: LoadStage,
}

fn short(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl CampaignCells {
    /// Adds a stage with these rounds, of which the first `probed` are measured by probes alone
    /// before.
    pub(super) fn expect(&mut self, rounds: &[Vec<Cell>], probed: Option<usize>, again: bool) {
        self.stage = LoadStage {
            begin: 0,
            first_load: self.loads.len(),
            first_slot: short(self.open_of_slot.len()),
            slots: 0,
        };
        let first_cell = self.cells.len();
        for (number, round) in rounds.iter().enumerate() {
            self.cells.extend(round.iter().map(|cell| CellRun {
                from: short(cell.from),
                to: short(cell.to),
                round: short(number),
                open: 0,
                again,
                measured: false,
                written: false,
                came: None,
            }));
        }
        for part in [LoadPart::Unloaded, LoadPart::Test] {
            let count = match part {
                LoadPart::Unloaded => probed.unwrap_or(0),
                LoadPart::Loaded | LoadPart::Test => rounds.len(),
            };
            let mut cell = first_cell;
            for round in rounds.iter().take(count) {
                for at in cell..cell + round.len() {
                    self.add(at, part);
                }
                // Behind all others: an agent checks words that follow each other once.
                if part == LoadPart::Test && probed.is_some() {
                    for at in cell..cell + round.len() {
                        self.add(at, LoadPart::Loaded);
                    }
                }
                cell += round.len();
                self.stage.slots += 1;
                let slots = self.stage.first_slot + self.stage.slots;
                self.open_of_slot.resize(slots as usize, 0);
            }
        }
    }

    fn add(&mut self, cell: usize, part: LoadPart) {
        let slot = self.stage.first_slot + self.stage.slots;
        self.open_of_slot.resize(slot as usize + 1, 0);
        if let (Some(run), Some(open)) = (
            self.cells.get_mut(cell),
            self.open_of_slot.get_mut(slot as usize),
        ) {
            run.open += 1;
            *open += 1;
            self.open += 1;
            self.loads.push(CampaignLoadRun {
                cell: short(cell),
                slot,
                part,
                is_open: true,
            });
        }
    }

    /// The loads of the stage: number, load and cell.
    pub(super) fn of_stage(&self) -> impl Iterator<Item = (u32, &CampaignLoadRun, Cell)> + '_ {
        let first = self.stage.first_load;
        let loads = self.loads.iter().enumerate().skip(first);
        loads.filter_map(|(id, load)| {
            let cell = self.cells.get(load.cell as usize)?.cell();
            Some((short(id), load, cell))
        })
    }

    /// The load of a number that has no result yet.
    pub(super) fn load(&self, id: u32) -> Option<(&CampaignLoadRun, Cell)> {
        let load = self.loads.get(id as usize).filter(|load| load.is_open)?;
        Some((load, self.cells.get(load.cell as usize)?.cell()))
    }

    /// Number of rounds of the stage, and of those that are over.
    pub(super) fn rounds(&self) -> (usize, usize) {
        let first = self.stage.first_slot as usize;
        let slots = self.open_of_slot.get(first..).unwrap_or_default();
        (
            slots.len(),
            slots.iter().take_while(|open| **open == 0).count(),
        )
    }

    /// True while a result is expected.
    pub(super) const fn is_open(&self) -> bool {
        self.open > 0
    }

    /// Takes a result; returns the number of the cell that is complete now.
    pub(super) fn take(&mut self, id: u32, came: CellResult) -> Option<usize> {
        let load = self
            .loads
            .get_mut(id as usize)
            .filter(|load| load.is_open)?;
        load.is_open = false;
        self.open -= 1;
        if let Some(open) = self.open_of_slot.get_mut(load.slot as usize) {
            *open -= 1;
        }
        let number = load.cell as usize;
        let part = load.part;
        let cell = self.cells.get_mut(number)?;
        cell.open -= 1;
        let all = cell.came.get_or_insert_default();
        match part {
            LoadPart::Test => {
                let probes = all.figures;
                all.figures = CellFigures {
                    unloaded_latency_p50_seconds: probes.unloaded_latency_p50_seconds,
                    unloaded_latency_p99_seconds: probes.unloaded_latency_p99_seconds,
                    loaded_latency_p50_seconds: probes.loaded_latency_p50_seconds,
                    loaded_latency_p99_seconds: probes.loaded_latency_p99_seconds,
                    ..came.figures
                };
                (all.window, all.due, all.missing) = (came.window, came.due, came.missing);
                all.warnings.extend(came.warnings);
                cell.measured = all.missing.is_none();
            }
            LoadPart::Loaded | LoadPart::Unloaded => {
                all.figures
                    .take_probe(&came.figures, part == LoadPart::Loaded);
                all.warnings
                    .extend(came.missing.map(|why| format!("probe: {why}")));
            }
        }
        (cell.open == 0).then_some(number)
    }

    /// A file has the cell now. Those that are measured again are few, and the document has them.
    pub(super) fn written(&mut self, number: usize) {
        if let Some(run) = self.cells.get_mut(number) {
            run.written = true;
            run.came = run.came.take().filter(|_| run.again);
        }
    }

    /// The open loads of a sender.
    pub(super) fn open_of(&self, sender: usize) -> Vec<u32> {
        let own = self
            .of_stage()
            .filter(|(_, load, cell)| load.is_open && cell.from == sender);
        own.map(|(id, ..)| id).collect()
    }

    /// The pairs of a stage, each once, in order.
    pub(super) fn pairs(&self) -> Vec<Cell> {
        let mut cells: Vec<Cell> = self.of_stage().map(|(_, _, cell)| cell).collect();
        cells.sort_unstable();
        cells.dedup();
        cells
    }
}

impl CellResult {
    /// Text of a result; `why` is the reason of a missing one without its own.
    pub(super) fn of(result: &LoadResult, due: u64, why: impl FnOnce() -> String) -> Self {
        let document = result.document.as_ref().filter(|_| result.error.is_none());
        let window = document.and_then(|document| {
            let run = &document["iterations"][0]["flows"];
            let begin = run["window_begin_nanoseconds"].as_u64()?;
            Some((begin, run["counted_seconds"].as_f64()?))
        });
        let figures = window.and(document).map(CellFigures::of);
        let figures = figures.unwrap_or_default();
        let missing = figures.main().is_none().then(|| {
            let none = || document.map_or_else(why, |_| "its result has no window".to_owned());
            let error = result.error.clone().unwrap_or_else(none);
            netperf_web::escape::line(&error)
        });
        let warnings = document.and_then(|one| one["warnings"].as_array());
        let text = |one: &Value| {
            let message = one["message"].as_str()?;
            let message: String = message.chars().take(LONGEST_WARNING).collect();
            Some(netperf_web::escape::line(&message))
        };
        Self {
            figures,
            window,
            due,
            missing,
            warnings: warnings
                .into_iter()
                .flatten()
                .take(MOST_WARNINGS)
                .filter_map(text)
                .collect(),
        }
    }

    /// The result of a load that has none, with the reason.
    pub(super) fn without(why: String) -> Self {
        Self {
            missing: Some(why),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(from: usize, to: usize) -> Cell {
        Cell { from, to }
    }

    fn measured(rate: f64, p99: f64) -> CellResult {
        CellResult {
            figures: CellFigures {
                bits_per_second: Some(rate),
                latency_p99_seconds: Some(p99),
                ..CellFigures::default()
            },
            ..CellResult::default()
        }
    }

    #[test]
    fn rounds_are_over_when_all_their_loads_are() {
        let mut cells = CampaignCells::default();
        cells.expect(
            &[vec![cell(0, 1), cell(2, 3)], vec![cell(1, 0)]],
            None,
            false,
        );
        assert_eq!((cells.rounds(), cells.is_open()), ((2, 0), true));
        assert_eq!(cells.take(0, measured(1.0, 0.0)), Some(0));
        assert_eq!(cells.take(0, measured(2.0, 0.0)), None, "twice");
        assert_eq!(cells.rounds(), (2, 0));
        assert_eq!(cells.open_of(2), [1]);
        assert_eq!(
            cells.take(1, CellResult::without("lost".to_owned())),
            Some(1)
        );
        assert_eq!(cells.rounds(), (2, 1));
        assert_eq!(cells.take(2, measured(1.0, 0.0)), Some(2));
        assert_eq!((cells.rounds(), cells.is_open()), ((2, 2), false));
        let done: Vec<bool> = cells.cells.iter().map(|one| one.measured).collect();
        assert_eq!(done, [true, false, true]);
        // The second stage has its own rounds, and numbers that go on.
        cells.expect(&[vec![cell(0, 1)]], None, true);
        assert_eq!(cells.rounds(), (1, 0));
        let stage: Vec<(u32, Cell)> = cells.of_stage().map(|(id, _, cell)| (id, cell)).collect();
        assert_eq!(stage, [(3, cell(0, 1))]);
        assert_eq!(cells.take(3, measured(1.0, 0.0)), Some(3));
    }

    #[test]
    fn probes_are_measured_before_and_beside_a_load() {
        let mut cells = CampaignCells::default();
        let rounds = [vec![cell(0, 1), cell(1, 0)], vec![cell(0, 1)]];
        cells.expect(&rounds, Some(1), false);
        let parts: Vec<(u32, LoadPart)> = cells
            .of_stage()
            .map(|(_, load, _)| (load.slot, load.part))
            .collect();
        let [alone, test, beside] = [LoadPart::Unloaded, LoadPart::Test, LoadPart::Loaded];
        let wanted = [
            (0, alone),
            (0, alone),
            (1, test),
            (1, test),
            (1, beside),
            (1, beside),
            (2, test),
            (2, beside),
        ];
        assert_eq!(parts, wanted);
        assert_eq!(cells.rounds().0, 3);
        assert_eq!(cells.pairs(), [cell(0, 1), cell(1, 0)]);
        assert_eq!(cells.take(0, measured(1.0, 1e-4)), None);
        assert_eq!(cells.take(2, measured(5e6, 0.5)), None);
        assert_eq!(cells.take(4, measured(1.0, 3e-4)), Some(0));
        let came = cells.cells[0].came.as_ref().unwrap();
        let figures = came.figures;
        assert_eq!(figures.unloaded_latency_p99_seconds, Some(1e-4));
        assert_eq!(figures.loaded_latency_p99_seconds, Some(3e-4));
        assert_eq!(figures.bits_per_second, Some(5e6));
        // A probe that failed takes nothing from the load.
        assert_eq!(cells.take(3, measured(5e6, 0.5)), None);
        assert_eq!(cells.take(5, CellResult::without("x".to_owned())), None);
        assert_eq!(cells.take(1, measured(1.0, 1e-4)), Some(1));
        assert!(cells.cells[1].measured);
        assert_eq!(cells.cells[1].came.as_ref().unwrap().warnings, ["probe: x"]);
    }
}
