//! The page of a campaign of 64 hosts in a real browser.

use netperf_campaign::inventory::{self, InventoryMember, InventoryOptions};
use netperf_campaign::outcome::{
    CampaignCell, CampaignDocument, CampaignMember, CellFigures, FORMAT,
};
use netperf_campaign::outliers::{self, Suspect};
use netperf_campaign::plan::CampaignPlan;
use netperf_testkit::{Browser, Invocation, Scratch, ours};
use serde_json::json;

use crate::report::{BACKGROUND, DARK, LIGHT, keep};

const HOSTS: usize = 64;
/// A slow sender, a slow path, and a member that was lost.
const SLOW: usize = 11;
const PATH: (usize, usize) = (20, 41);
const LOST: usize = 50;

/// 64 hosts in 4 racks, with rates that differ by some percent.
fn campaign() -> CampaignDocument {
    let hosts: String = (0..HOSTS)
        .map(|host| format!("node{host:02}.example.net rack=r{}\n", host / 16))
        .collect();
    let members = inventory::read(hosts.as_bytes(), &InventoryOptions::default());
    let members = members.expect("an inventory").into_iter();
    let mut document = CampaignDocument {
        format: FORMAT.to_owned(),
        campaign: "64b1341cc868".to_owned(),
        started_unix_seconds: 1.764e9,
        plan: CampaignPlan::read("pattern = \"pairs\"\ntest = \"TCP_STREAM\"").expect("a plan"),
        complete: false,
        ended: None,
        members: members.map(member).collect(),
        cut_error_seconds: Some(7e-6),
        cells_planned: HOSTS * (HOSTS - 1),
        cells_measured: (HOSTS - 1) * (HOSTS - 2),
        cells: paths().map(|path| cell(path, 0)).collect(),
        cells_file: None,
        sums: Vec::new(),
        cells_again: Vec::new(),
        outliers: Vec::new(),
    };
    let matrices = document.matrices();
    let suspects = outliers::suspects(&matrices);
    document.cells_again = again(&suspects);
    document.outliers = document.judged(&matrices, &suspects);
    expect_outliers(&document);
    document
}

/// The page has outliers of two kinds to show.
fn expect_outliers(document: &CampaignDocument) {
    let reported = document.outliers.iter().filter(|one| one.is_reported());
    let places: Vec<_> = reported.map(|one| (one.from, one.to)).collect();
    assert!(places.contains(&(Some(SLOW), None)), "{places:?}");
    assert!(places.contains(&(Some(PATH.0), Some(PATH.1))), "{places:?}");
}

fn paths() -> impl Iterator<Item = (usize, usize)> {
    let all = (0..HOSTS).flat_map(|from| (0..HOSTS).map(move |to| (from, to)));
    all.filter(|(from, to)| from != to)
}

fn member(member: InventoryMember) -> CampaignMember {
    CampaignMember {
        member,
        version: Some("0.1.0".to_owned()),
        cpus: Some(32),
        clock: None,
        lost: None,
    }
}

fn cell((from, to): (usize, usize), round: usize) -> CampaignCell {
    let is_lost = [from, to].contains(&LOST);
    let noise = ((from * 31 + to * 17) % 97) as f64 / 97.0;
    let share = match (from, to) {
        (SLOW, _) => 0.5,
        PATH => 0.3,
        _ => 1.0,
    };
    let bits = 9.4e9 * share * (0.98 + 0.02 * noise);
    let figures = CellFigures {
        bits_per_second: Some(bits),
        retransmitted_segments: Some((noise * 40.0).floor()),
        ..CellFigures::default()
    };
    CampaignCell {
        from,
        to,
        round,
        window: None,
        figures: if is_lost {
            CellFigures::default()
        } else {
            figures
        },
        missing: is_lost.then(|| "node50.example.net is lost: it is silent for 2 s".to_owned()),
        warnings: Vec::new(),
    }
}

/// The same values again.
fn again(suspects: &[Suspect]) -> Vec<CampaignCell> {
    let cells = outliers::cells(suspects);
    let cells = cells.into_iter().map(|one| cell((one.from, one.to), 126));
    cells.collect()
}

/// Charts, tables and texts that are wider than the page, and texts that are too small.
const FAULTS: &str = r#"
const faults = [];
const wide = document.documentElement.scrollWidth;
if (wide > innerWidth) faults.push("the page has " + wide + " px");
for (const box of document.querySelectorAll("svg.chart, .scroll, h1, h2, p, section > table, nav")) {
  const at = box.getBoundingClientRect();
  const seen = at.width > 0;
  if (seen && (at.right > innerWidth + 1 || at.left < -1))
    faults.push(box.tagName + " " + box.className + " from " + at.left + " to " + at.right);
}
for (const box of document.querySelectorAll("figure > .scroll"))
  if (box.scrollWidth > box.clientWidth + 1) faults.push("a matrix has to be scrolled: " + box.scrollWidth);
const seen = [...document.querySelectorAll("svg.chart")].filter((chart) => chart.getBoundingClientRect().width > 0);
if (seen.length < 1) faults.push("charts that are seen: " + seen.length);
for (const chart of seen) {
  const own = chart.getBoundingClientRect();
  const texts = [...chart.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
  for (const [text, box] of texts) {
    if (box.left < own.left - 1 || box.right > own.right + 1 || box.bottom > own.bottom + 1) faults.push(text + " is outside");
    if (box.height < 11) faults.push(text + " is too small to be read: " + box.height);
    for (const [other, at] of texts)
      if (box !== at && box.left < at.right - 1 && at.left < box.right - 1 && box.top < at.bottom - 3 && at.top < box.bottom - 3)
        faults.push(text + " is on " + other);
  }
}
return faults;
"#;

#[test]
fn the_page_of_sixty_four_hosts_fits_a_screen_and_needs_no_network() {
    page_fits_in(&[("dark", true, DARK)], Pictures::NotTaken);
}

#[test]
#[ignore = "nightly: two windows of a browser"]
fn the_page_of_sixty_four_hosts_fits_a_screen_by_day_and_by_night() {
    let windows = [("light", false, LIGHT), ("dark", true, DARK)];
    page_fits_in(&windows, Pictures::Kept);
}

/// True if a test keeps pictures of its pages, which take as long as the rest of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pictures {
    Kept,
    NotTaken,
}

fn page_fits_in(windows: &[(&str, bool, &str)], pictures: Pictures) {
    let folder = Scratch::new();
    let document = serde_json::to_string(&campaign()).expect("a document");
    std::fs::write(folder.path().join("result.json"), document).expect("a file");
    let shown = Invocation::new(&ours!().netperf)
        .folder(folder.path())
        .args(["campaign", "show", "result.json", "--page", "page.html"])
        .run()
        .expect_clean();
    let more = "more missing cells: see --json";
    assert!(shown.stdout.contains(more), "{}", shown.stdout);
    let length = std::fs::metadata(folder.path().join("page.html"));
    let length = length.expect("a page").len();
    assert!(length < 1_000_000, "{length} bytes");
    let Some(browser) = Browser::start() else {
        return;
    };
    let address = format!("file://{}/page.html", folder.path().display());
    for &(name, dark, background) in windows {
        browser.screen(1280, dark);
        browser.visit(&address);
        assert_eq!(browser.script(FAULTS), json!([]), "{name}");
        assert_eq!(browser.script(BACKGROUND), background, "{name}");
        if pictures == Pictures::Kept {
            keep(&format!("campaign-{name}.png"), &browser.picture());
        }
        assert_eq!(browser.console(), [""; 0], "{name}");
        assert_eq!(browser.requests(), [address.as_str()], "{name}");
    }
}
