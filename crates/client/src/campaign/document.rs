//! The result of a campaign.

use netperf_campaign::clock::ClockCourse;
use netperf_campaign::outcome::{
    CampaignCell, CampaignDocument, CampaignMember, CellWindow, ClockMethod, FORMAT, LostMember,
    MemberClock,
};
use netperf_campaign::pattern::Cell;

use super::cells::CellRun;
use super::run::{CampaignRun, Member};

/// Nanoseconds of a second.
const SECOND: f64 = 1e9;

impl CampaignRun<'_> {
    /// Members with what the greeting and the clocks said.
    pub(super) fn members(&self) -> Vec<CampaignMember> {
        let seconds = |nanos: f64| nanos / SECOND;
        let member = |member: &Member| CampaignMember {
            member: member.entry.clone(),
            version: member.version.clone(),
            cpus: member.cpus,
            clock: member.before.map(|before| MemberClock {
                method: ClockMethod::Inband,
                offset_seconds: seconds(before.offset),
                bound_seconds: seconds(before.bound),
                bound_after_seconds: member.after.map(|after| seconds(after.bound)),
                round_trip_seconds: seconds(before.round_trip),
                drift_ppm: course(member).and_then(|course| course.drift_ppm()),
                #[expect(clippy::cast_precision_loss, reason = "a step of a clock")]
                wall_clock_stepped_seconds: seconds(member.stepped as f64),
            }),
            lost: member.lost.as_ref().map(|(reason, at)| LostMember {
                reason: reason.clone(),
                at_seconds: (self.begin > 0).then(|| seconds(difference(*at, self.begin))),
            }),
        };
        self.members.iter().map(member).collect()
    }

    /// The document, without outliers.
    pub(super) fn document(&self) -> CampaignDocument {
        let has_file = self.sink.is_some();
        let of = |again: bool| {
            let cells = self
                .cells
                .cells
                .iter()
                .filter(move |run| run.again == again);
            cells.map(|run| self.cell(run))
        };
        let cells: Vec<CampaignCell> = if has_file {
            Vec::new()
        } else {
            of(false).collect()
        };
        let errors = cells.iter().filter_map(|cell| cell.window);
        let worst = errors.map(|window| window.cut_error_seconds);
        let worst = worst.chain(self.cut).reduce(f64::max);
        let planned = self.cells.cells.iter().filter(|run| !run.again);
        let (mut cells_planned, mut cells_measured) = (0, 0);
        for run in planned {
            cells_planned += 1;
            cells_measured += usize::from(run.measured);
        }
        let members = self.members();
        let complete = self.ended.is_none()
            && members.iter().all(|one| one.lost.is_none())
            && cells_measured == cells_planned;
        CampaignDocument {
            format: FORMAT.to_owned(),
            campaign: self.id.clone(),
            started_unix_seconds: self.started_unix,
            plan: self.plan.clone(),
            complete,
            ended: self.ended.clone(),
            members,
            cut_error_seconds: worst,
            cells_planned,
            cells_measured,
            cells,
            cells_file: self.sink.as_ref().map(super::sink::CellFile::name),
            cells_again: of(true).collect(),
            outliers: Vec::new(),
        }
    }

    pub(super) fn cell(&self, run: &CellRun) -> CampaignCell {
        let Cell { from, to } = run.cell();
        let came = run.came.as_deref();
        let window = came.and_then(|came| {
            let (begin, seconds) = came.window?;
            let (here, error) = course(self.members.get(from)?)?.here(begin);
            Some(CellWindow {
                begin_seconds: (here - difference(self.begin, 0)) / SECOND,
                late_seconds: (here - difference(came.due, 0)) / SECOND,
                seconds,
                cut_error_seconds: error / SECOND,
            })
        });
        let missing = came.and_then(|came| came.missing.clone());
        let missing = missing.or_else(|| (!run.measured).then(|| self.why_missing(from)));
        CampaignCell {
            from,
            to,
            round: run.round as usize,
            window,
            figures: came.map(|came| came.figures).unwrap_or_default(),
            missing,
            warnings: came.map(|came| came.warnings.clone()).unwrap_or_default(),
        }
    }

    /// Writes the cells that are not in their file yet, and its end.
    ///
    /// # Errors
    /// One line.
    pub(super) fn finish_cells(&mut self, complete: bool, lost: Vec<String>) -> Result<(), String> {
        if let Some(why) = self.broken.take() {
            return Err(why);
        }
        self.begin_cells();
        let Some(mut sink) = self.sink.take() else {
            return Ok(());
        };
        let left = self.cells.cells.iter().filter(|run| !run.written);
        let mut written = left.map(|run| sink.write(&self.cell(run), run.again));
        let written = written.try_for_each(|written| written);
        let finished = written.and_then(|()| sink.finish(complete, lost));
        self.sink = Some(sink);
        finished
    }

    pub(super) fn why_missing(&self, from: usize) -> String {
        let member = self.members.get(from);
        match member.and_then(|member| member.lost.as_ref()) {
            Some((why, _)) => format!("{} is lost: {why}", self.name(from)),
            None => "the campaign ended before".to_owned(),
        }
    }
}

fn course(member: &Member) -> Option<ClockCourse> {
    Some(ClockCourse {
        before: member.before?,
        after: member.after,
    })
}

#[expect(clippy::cast_precision_loss, reason = "times of a campaign")]
fn difference(later: u64, earlier: u64) -> f64 {
    if later >= earlier {
        (later - earlier) as f64
    } else {
        -((earlier - later) as f64)
    }
}
