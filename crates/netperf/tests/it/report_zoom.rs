//! A part of the horizontal axis of a chart, chosen on the page of `netperf report`.

use netperf_testkit::{Browser, Invocation, Scratch, eventually, ours};
use serde_json::{Value, json};

use crate::report::{FAULTS, KEYS, keep, sample_page};

/// Begin of the scripts below. `chart` is the one of the number that is filled in.
const COMMON: &str = r#"
const charts = [...document.querySelectorAll("svg[data-plot]")].filter((one) => one.getBoundingClientRect().width > 0);
const chart = charts[NUMBER];
const figure = chart.closest("figure");
const [left, top, right, bottom] = chart.dataset.plot.split(" ").map(Number);
const share = (x) => (x - left) / (right - left);
const marks = [...chart.querySelectorAll(".m")];
const at = (mark, name) => share(Number(mark.getAttribute(name)));
const span = (mark) => mark.tagName === "circle" ? [at(mark, "cx"), at(mark, "cx")]
  : [at(mark, "x"), at(mark, "x") + Number(mark.getAttribute("width")) / (right - left)];
"#;

/// Remembers the chart as it is, and returns where its plot is in the window: its left edge,
/// its width, and its middle from above. Before a page is drawn, it takes no input.
const REMEMBER: &str = r#"
chart.scrollIntoView({ block: "center", behavior: "instant" });
window.remembered = { text: chart.outerHTML, spans: marks.map(span) };
const frame = () => new Promise((drawn) => requestAnimationFrame(drawn));
return frame().then(frame).then(() => {
  const { a, e, f } = chart.getScreenCTM();
  return [e + left * a, (right - left) * a, f + (top + bottom) / 2 * a];
});
"#;

/// Lists the faults of the part of the axis from `FROM` to `TO` that is shown.
const ZOOM_FAULTS: &str = r#"
const faults = [];
const [from, to] = [FROM, TO];
const bend = { linear: (v) => v, log: Math.log10, nines: (v) => -Math.log10(1 - v) }[chart.dataset.law];
const [first, last] = chart.dataset.ends.split(" ").map(Number).map(bend);
const ticks = [...chart.querySelectorAll(".ticks text")];
if (ticks.length < 2) faults.push("ticks: " + ticks.length);
for (const tick of ticks) {
  const number = Number(tick.textContent.replace(/[\s%]/g, ""));
  const value = tick.textContent.endsWith("%") ? number / 100 : number * chart.dataset.factor;
  const wanted = ((bend(value) - first) / (last - first) - from) / (to - from);
  const is = share(Number(tick.previousSibling.getAttribute("d").match(/^M([\d.]+)/)[1]));
  if (!(wanted > -0.01 && wanted < 1.01)) faults.push(tick.textContent + " is not in the part");
  if (!(Math.abs(is - wanted) < 0.005)) faults.push(tick.textContent + " is at " + is + " instead of " + wanted);
}
let inside = 0;
marks.forEach((mark, index) => {
  const was = window.remembered.spans[index].map((one) => (one - from) / (to - from));
  const seen = mark.getBoundingClientRect().width > 0;
  if (was[1] < -0.005 || was[0] > 1.005) {
    if (seen) faults.push(mark.dataset.tip + " is outside and seen");
  } else if (was[1] > 0.005 && was[0] < 0.995) {
    inside += 1;
    const is = span(mark);
    const off = Math.max(...was.map((one, side) => Math.abs(Math.min(Math.max(one, 0), 1) - is[side])));
    if (!seen || !(off < 0.003)) faults.push(mark.dataset.tip + " is off by " + off);
  }
});
if (marks.length > 4 && (!inside || inside === marks.length)) faults.push(inside + " marks of " + marks.length + " are inside");
const clip = chart.querySelector(".plot svg");
if (chart.querySelector(".plot .l") && !clip) faults.push("lines are not clipped");
if (clip && getComputedStyle(clip).overflowX !== "hidden") faults.push("lines are seen outside");
if (figure.querySelector(".reset").hidden) faults.push("there is no way back");
if (chart.querySelector(".band")) faults.push("the selection is still shown");
return faults;
"#;

/// The middle of the first mark that is shown, and what it says; nothing if there is none.
const FIRST: &str = r#"
const mark = marks.find((mark) => mark.getBoundingClientRect().width > 4);
if (!mark) return null;
const box = mark.getBoundingClientRect();
return [box.left + box.width / 2, box.top + box.height / 2, mark.dataset.tip];
"#;

/// True if the chart is as it was remembered, and nothing is left to be reset.
const IS_AS_BEFORE: &str =
    "return chart.outerHTML === window.remembered.text && figure.querySelector('.reset').hidden";

const TIP: &str =
    "const tip = document.getElementById('tip'); return tip.hidden || tip.textContent";

/// A place of the window where no chart is: what a pointer is on looks different.
const OUTSIDE: (f64, f64) = (1.0, 1.0);

/// A chart of a page, by its number among those that are seen.
struct ChartUnderTest<'b> {
    browser: &'b Browser,
    number: usize,
    /// Its left edge, its width, and its middle from above, in pixels of the window.
    at: [f64; 3],
}

impl<'b> ChartUnderTest<'b> {
    fn new(browser: &'b Browser, number: usize) -> Self {
        let mut chart = Self {
            browser,
            number,
            at: [0.0; 3],
        };
        let at = chart.script(REMEMBER);
        chart.at = [0, 1, 2].map(|index| at[index].as_f64().expect("a position"));
        chart
    }

    fn script(&self, text: &str) -> Value {
        let common = COMMON.replace("NUMBER", &self.number.to_string());
        self.browser.script(&format!("{common}{text}"))
    }

    /// The whole pixel at a share of its width.
    fn pixel(&self, share: f64) -> f64 {
        (self.at[0] + self.at[1] * share).round()
    }

    fn move_to(&self, share: f64) -> Value {
        json!({ "type": "pointerMove", "duration": 0, "origin": "viewport",
            "x": self.pixel(share), "y": self.at[2].round() })
    }

    /// A pointer pressed at one share of its width and moved to another.
    fn drag(&self, from: f64, to: f64) -> Vec<Value> {
        let down = json!({ "type": "pointerDown", "button": 0 });
        let between = self.move_to(f64::midpoint(from, to));
        vec![self.move_to(from), down, between, self.move_to(to)]
    }

    /// Selects a part with the mouse, and does not release it.
    fn hold(&self, from: f64, to: f64) {
        self.browser.pointer("mouse", &json!(self.drag(from, to)));
    }

    /// Releases the mouse, and waits until the page has taken notice.
    fn release(&self) {
        self.browser.pointer("mouse", &json!([Self::up()]));
        let bands = "return chart.querySelectorAll('.band').length";
        assert!(eventually(KEYS, || self.script(bands) == 0));
    }

    /// Selects a part with a finger.
    fn swipe(&self, from: f64, to: f64) {
        let mut actions = self.drag(from, to);
        actions.push(Self::up());
        self.browser.pointer("touch", &json!(actions));
    }

    fn up() -> Value {
        json!({ "type": "pointerUp", "button": 0 })
    }

    /// The faults when the part between two shares is shown.
    fn faults(&self, from: f64, to: f64) -> Value {
        let exact = |share| (self.pixel(share) - self.at[0]) / self.at[1];
        let script = ZOOM_FAULTS
            .replace("FROM", &exact(from).to_string())
            .replace("TO", &exact(to).to_string());
        self.script(&script)
    }

    #[track_caller]
    fn expect_as_before(&self, what: &str) {
        assert_eq!(self.script(IS_AS_BEFORE), true, "{what}");
    }

    fn click(&self, times: usize, (x, y): (f64, f64)) {
        let to = json!({ "type": "pointerMove", "duration": 0, "origin": "viewport",
            "x": x.round(), "y": y.round() });
        let mut actions = vec![to];
        for _ in 0..times {
            actions.push(json!({ "type": "pointerDown", "button": 0 }));
            actions.push(Self::up());
        }
        self.browser.pointer("mouse", &json!(actions));
    }

    /// Two clicks that are one double click however long they take: WebDriver's would be two where
    /// the machine is busy for half a second between them.
    fn double_click(&self, (x, y): (f64, f64)) {
        let event = |kind: &str, count: u32| {
            let event = json!({ "type": kind, "x": x.round(), "y": y.round(), "button": "left",
                "clickCount": count });
            self.browser.own("Input.dispatchMouseEvent", &event);
        };
        for count in [1, 2] {
            event("mousePressed", count);
            event("mouseReleased", count);
        }
    }

    fn click_reset(&self) {
        let at = self.script(
            "const box = figure.querySelector('.reset').getBoundingClientRect(); \
             return [box.left + box.width / 2, box.top + box.height / 2]",
        );
        let at = |index: usize| at[index].as_f64().expect("a position");
        self.click(1, (at(0), at(1)));
    }
}

/// The number of charts that are seen and have a part to show.
fn charts(browser: &Browser) -> usize {
    let count = browser.script(&format!(
        "{}return charts.length",
        COMMON.replace("NUMBER", "0")
    ));
    usize::try_from(count.as_u64().expect("a count")).expect("few")
}

/// Selects the middle half of each chart of the page and goes back.
#[track_caller]
fn expect_all_zoom(browser: &Browser, (name, least): (&str, usize)) {
    let count = charts(browser);
    assert!(count >= least, "{name}: {count} charts");
    for number in 0..count {
        let name = format!("{name}, chart {number}");
        let chart = ChartUnderTest::new(browser, number);
        chart.hold(0.25, 0.75);
        let band = chart.script("return chart.querySelectorAll('.band').length");
        assert_eq!(band, 1, "{name}");
        chart.release();
        assert_eq!(chart.faults(0.25, 0.75), json!([]), "{name}");
        assert_eq!(browser.script(FAULTS), json!([]), "{name}");
        let first = chart.script(FIRST);
        // Of two points that are far apart, none may be in the middle.
        if let [Some(x), Some(y)] = [0, 1].map(|index| first[index].as_f64()) {
            chart.click(0, (x, y));
            assert_eq!(browser.script(TIP), first[2], "{name}");
        }
        chart.click_reset();
        chart.expect_as_before(&name);
    }
}

/// Keeps pictures of the page before, during and after selections.
fn keep_pictures(browser: &Browser, address: &str) {
    for (name, width, dark) in [
        ("wide", 1440, false),
        ("wide-dark", 1440, true),
        ("narrow", 390, false),
        ("narrow-dark", 390, true),
    ] {
        browser.screen(width, dark);
        browser.visit(address);
        let picture = |when: &str| keep(&format!("zoom-{name}-{when}.png"), &browser.picture());
        picture("before");
        for number in 0..charts(browser) {
            let chart = ChartUnderTest::new(browser, number);
            chart.hold(0.4, 0.7);
            if number == 0 {
                picture("during");
            }
            chart.release();
        }
        picture("after");
    }
}

#[test]
fn a_part_of_a_chart_is_selected_by_a_pointer_and_left_again() {
    selects_by_a_pointer_in(&[("narrow", 390)], |_, _| {});
}

#[test]
#[ignore = "nightly: all windows of a browser, with pictures"]
fn a_part_of_a_chart_is_selected_by_a_pointer_in_windows_of_every_width() {
    selects_by_a_pointer_in(&[("wide", 1440), ("narrow", 390)], keep_pictures);
}

fn selects_by_a_pointer_in(windows: &[(&str, u32)], leave: impl Fn(&Browser, &str)) {
    let folder = Scratch::new();
    let Some((browser, address)) = sample_page(&folder) else {
        return;
    };
    for &(name, width) in windows {
        browser.screen(width, false);
        browser.visit(&address);
        // Rates and latency over time, and percentiles.
        expect_all_zoom(&browser, (name, 3));
        assert_eq!(browser.console(), [""; 0], "{name}");
    }
    let chart = ChartUnderTest::new(&browser, 0);
    chart.hold(0.5, 0.5 + 4.0 / chart.at[1]);
    chart.release();
    chart.click(0, OUTSIDE);
    chart.expect_as_before("four pixels are no selection");
    chart.swipe(0.25, 0.75);
    let zoomed = eventually(KEYS, || chart.faults(0.25, 0.75) == json!([]));
    assert!(zoomed, "{}", chart.faults(0.25, 0.75));
    let touch = chart.script("return getComputedStyle(chart).touchAction");
    assert_eq!(touch, "pan-y");
    let middle = (chart.pixel(0.5), chart.at[2]);
    chart.click(0, middle);
    chart.double_click(middle);
    chart.click(0, OUTSIDE);
    chart.expect_as_before("a double click");
    leave(&browser, &address);
}

#[test]
#[ignore = "nightly: another start of a browser"]
fn a_part_of_a_logarithmic_axis_has_ticks_of_its_own() {
    let folder = Scratch::new();
    let server = ours!().serve();
    let port = server.port().to_string();
    Invocation::new(&ours!().netperf)
        .args(["sweep", "-o", "swept", "--over", "r=1,16,64,256,4K", "--"])
        .args(["-H", "127.0.0.1", "-p", &port, "--count", "200"])
        .args(["-t", "TCP_RR", "-j", "--", "-r", "{r}"])
        .folder(folder.path())
        .run()
        .expect_clean();
    let Some(browser) = Browser::start() else {
        return;
    };
    let address = format!("file://{}/swept/report.html", folder.path().display());
    browser.screen(1000, false);
    browser.visit(&address);
    expect_all_zoom(&browser, ("sweep", 1));
    let chart = ChartUnderTest::new(&browser, 0);
    assert_eq!(chart.script("return chart.dataset.law"), "log");
    // Between two values that were measured.
    chart.hold(0.55, 0.75);
    chart.release();
    let ticks = "return [...chart.querySelectorAll('.ticks text')].length";
    assert!(chart.script(ticks).as_u64() >= Some(3));
    keep("zoom-sweep.png", &browser.picture());
    browser.press("Escape", 27);
    let left = eventually(KEYS, || chart.script(IS_AS_BEFORE) == true);
    assert!(left);
}

#[test]
#[ignore = "nightly: another start of a browser"]
fn a_part_of_a_chart_is_selected_by_keys_and_left_again() {
    let folder = Scratch::new();
    let Some((browser, address)) = sample_page(&folder) else {
        return;
    };
    browser.screen(1440, false);
    browser.visit(&address);
    browser.focus();
    let chart = ChartUnderTest::new(&browser, 0);
    chart.script("chart.focus({ preventScroll: true })");
    browser.press("+", 187);
    assert_eq!(chart.faults(0.25, 0.75), json!([]), "around the centre");
    browser.press("ArrowRight", 39);
    let selected = browser.script(TIP);
    assert_eq!(selected, chart.script(FIRST)[2]);
    browser.press("+", 187);
    assert_eq!(browser.script(TIP), selected, "around a mark");
    let first = chart.script("return marks.indexOf(chart.querySelector('.m.on'))");
    assert!(first.as_u64() > Some(0), "{first}");
    browser.press("-", 189);
    assert_eq!(chart.faults(0.25, 0.75), json!([]), "as far as before");
    // The button is the next stop of the keyboard before the chart.
    chart.script("figure.querySelector('.reset').focus()");
    chart.script("document.activeElement.click()");
    assert_eq!(
        chart.script("return document.activeElement === chart"),
        true
    );
    chart.expect_as_before("the button");
    browser.press("+", 187);
    chart.script("figure.querySelector('.enlarge').click()");
    browser.press("Escape", 27);
    chart.expect_as_before("Escape");
    let large = "return figure.classList.contains('large')";
    assert_eq!(chart.script(large), true, "the first Escape ends the zoom");
    browser.press("Escape", 27);
    assert_eq!(chart.script(large), false, "the second makes it small");
    assert_eq!(browser.console(), [""; 0]);
}
