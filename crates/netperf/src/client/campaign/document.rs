//! The result of a campaign.

use netperf_campaign::clock::ClockCourse;
use netperf_campaign::outcome::{
    CampaignCell, CampaignDocument, CampaignMember, CellFigures, CellWindow, ClockMethod, FORMAT,
    LostMember, MemberClock,
};
use netperf_campaign::pattern::Cell;

use super::run::{CampaignRun, Measured, Member};

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

    /// The document.
    pub(super) fn document(&self) -> CampaignDocument {
        let cells: Vec<CampaignCell> = self.loads.iter().map(|load| self.cell(load)).collect();
        let errors = cells.iter().filter_map(|cell| cell.window);
        let worst = errors
            .map(|window| window.cut_error_seconds)
            .reduce(f64::max);
        let members = self.members();
        let complete = self.ended.is_none()
            && members.iter().all(|one| one.lost.is_none())
            && cells.iter().all(|cell| cell.missing.is_none());
        CampaignDocument {
            format: FORMAT.to_owned(),
            campaign: self.id.clone(),
            started_unix_seconds: self.started_unix,
            plan: self.plan.clone(),
            complete,
            ended: self.ended.clone(),
            members,
            cut_error_seconds: worst,
            cells,
        }
    }

    pub(super) fn cell(&self, load: &Measured) -> CampaignCell {
        let Cell { from, to } = load.cell;
        let result = load.result.as_ref();
        let document = result.filter(|one| one.error.is_none());
        let document = document.and_then(|one| one.document.as_ref());
        let window = document.and_then(|document| {
            let run = &document["iterations"][0]["flows"];
            let begin = run["window_begin_nanoseconds"].as_u64()?;
            let seconds = run["counted_seconds"].as_f64()?;
            let course = course(self.members.get(from)?)?;
            let (here, error) = course.here(begin);
            let due = self.begin_of(load.round) + self.plan.parts().warmup;
            Some(CellWindow {
                begin_seconds: (here - difference(self.begin, 0)) / SECOND,
                late_seconds: (here - difference(due, 0)) / SECOND,
                seconds,
                cut_error_seconds: error / SECOND,
            })
        });
        let figures = window
            .and(document)
            .map(CellFigures::of)
            .unwrap_or_default();
        let missing = if figures.main().is_some() {
            None
        } else {
            let error = result.and_then(|one| one.error.clone());
            Some(error.unwrap_or_else(|| self.why_missing(from)))
        };
        let warnings = document.and_then(|one| one["warnings"].as_array());
        let warnings = warnings.into_iter().flatten();
        CampaignCell {
            from,
            to,
            round: load.round,
            window,
            figures,
            missing: missing.map(|why| netperf_web::escape::line(&why)),
            warnings: warnings
                .filter_map(|one| one["message"].as_str().map(netperf_web::escape::line))
                .collect(),
        }
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
