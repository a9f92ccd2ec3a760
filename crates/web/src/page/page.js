"use strict";
(() => {
  const tip = document.getElementById("tip");
  let on = null;
  const hide = () => {
    if (on) on.mark.classList.remove("on");
    on = null;
    tip.hidden = true;
  };
  const show = (mark) => {
    if (on && on.mark === mark) return;
    hide();
    on = { mark };
    mark.classList.add("on");
    tip.textContent = mark.dataset.tip;
    tip.hidden = false;
    const box = mark.getBoundingClientRect();
    const own = tip.getBoundingClientRect();
    const room = document.documentElement.clientWidth;
    const left = Math.max(4, Math.min(box.left + box.width / 2 - own.width / 2, room - own.width - 4));
    const above = box.top - own.height - 8;
    tip.style.left = left + window.scrollX + "px";
    tip.style.top = (above > 0 ? above : box.bottom + 8) + window.scrollY + "px";
  };

  /* Numbers and ticks of axes, as the program that wrote the page has them. */
  const apart = (text) => {
    const [, sign, whole, rest] = text.match(/^(-?)(\d+)(.*)$/);
    return sign + (whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole) + rest;
  };
  const short = (value) => {
    const size = Math.abs(value);
    if (size >= 1e6 || (size < 1e-3 && size > 0))
      return Number(value.toPrecision(12)).toExponential().replace("e+", "e");
    return apart(value.toFixed(4).replace(/\.?0+$/, ""));
  };
  const fixed = (value, decimals) => {
    if (Math.abs(value) >= 1e7) return short(value);
    const text = value.toFixed(decimals);
    return apart(Number(text) === 0 ? "0" : text);
  };
  const stepOf = (length, wanted) => {
    const rough = length / wanted;
    const power = Number("1e" + Math.floor(Math.log10(rough)));
    return power * ([1, 2, 2.5, 5].find((factor) => factor * power >= rough * 0.999) ?? 10);
  };
  const decimalsOf = (step) => {
    const off = (count) => Math.abs(step * 10 ** count - Math.round(step * 10 ** count)) / (step * 10 ** count);
    let count = 0;
    while (count < 12 && !(off(count) < 1e-6)) count += 1;
    return count;
  };
  const linearTicks = (low, high, wanted) => {
    const step = stepOf(high - low, wanted);
    const decimals = decimalsOf(step);
    const ticks = [];
    for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-6 && ticks.length < 40; at += 1)
      ticks.push([at * step, fixed(at * step, decimals)]);
    return ticks.length < 3 && wanted < 32 ? linearTicks(low, high, wanted * 2) : ticks;
  };
  /* Some digits times powers of ten: as many digits as there is space for, or nothing if all are too few. */
  const decadeTicks = (low, high, wanted, choices) => {
    const ticksOf = (digits) => {
      const ticks = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1)
        for (const digit of digits) {
          const value = digit * Number("1e" + power);
          if (value >= low * 0.999999 && value <= high * 1.000001) ticks.push([value, power]);
        }
      return ticks;
    };
    const all = choices.map(ticksOf);
    if (all[0].length < 3) return null;
    return all.find((ticks) => ticks.length <= wanted + 1) ?? all.at(-1);
  };
  const laws = {
    linear: {
      bend: (value) => value,
      unbend: (bent) => bent,
      ticks: (low, high, wanted, factor) =>
        linearTicks(low / factor, high / factor, wanted).map(([value, text]) => [value * factor, text]),
    },
    log: {
      bend: (value) => Math.log10(value),
      unbend: (bent) => 10 ** bent,
      ticks: (low, high, wanted) => {
        const ticks = decadeTicks(low, high, wanted, [[1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]]);
        return (ticks ?? linearTicks(low, high, wanted)).map(([value]) => [value, short(value)]);
      },
    },
    nines: {
      bend: (value) => -Math.log10(1 - value),
      unbend: (bent) => 1 - 10 ** -bent,
      ticks: (low, high, wanted) => {
        const ticks = decadeTicks(1 - high, 1 - low, wanted, [[1, 2, 5], [1]]);
        if (!ticks) return linearTicks(low * 100, high * 100, wanted).map(([value, text]) => [value / 100, text + " %"]);
        const text = ([left, power]) => (100 - left * 100).toFixed(Math.max(-power - 2, 0)) + " %";
        return ticks.map((tick) => [1 - tick[0], text(tick)]).reverse();
      },
    },
  };
  /* About how wide a label is, also in a chart that is not shown. */
  const widthOf = (text) => [...text].reduce((sum, letter) => sum + (/[.\s]/.test(letter) ? 4 : letter === "%" ? 11.4 : 7.7), 0);

  /* A plot that can show a part of its horizontal axis, given as shares of its width. */
  const MOVED = ["d", "cx", "x", "width", "transform", "display"];
  const put = (element, name, value) => {
    if (value === null) element.removeAttribute(name);
    else element.setAttribute(name, value);
  };
  const plotOf = (chart) => {
    const numbers = (name) => (chart.dataset[name] ?? "").split(" ").filter(Boolean).map(Number);
    const [left, top, right, bottom] = numbers("plot");
    const { bend, unbend, ticks } = laws[chart.dataset.law];
    const [first, last] = numbers("ends").map(bend);
    const width = right - left;
    const wanted = chart.viewBox.baseVal.width < 500 ? 4 : 8;
    const make = (name, attributes, text = "") => {
      const element = document.createElementNS(chart.namespaceURI, name);
      for (const key in attributes) element.setAttribute(key, attributes[key]);
      element.textContent = text;
      return element;
    };
    const children = [...chart.children];
    const group = (items, name) => {
      const parent = make("g", { class: name });
      items[0].before(parent);
      parent.append(...items);
      return parent;
    };
    const own = children.slice(...numbers("ticks"));
    const items = children.slice(numbers("values")[0]);
    const axis = group(own, "ticks");
    const plot = group(items, "plot");
    const ground = make("rect", { x: left, y: top, width, height: bottom - top, fill: "none", "pointer-events": "all" });
    plot.prepend(ground);
    const band = make("rect", { class: "band", y: top, height: bottom - top });
    const frame = { x: left, y: top - 3, width, height: bottom - top + 6 };
    const clip = make("svg", { ...frame, viewBox: Object.values(frame).join(" ") });
    const lines = items.filter((item) => item.matches(".l, .a"));
    const before = items.map((item) => MOVED.map((name) => item.getAttribute(name)));
    const restore = () => items.forEach((item, index) => MOVED.forEach((name, at) => put(item, name, before[index][at])));

    const move = (item, place) => {
      const at = (name) => Number(item.getAttribute(name));
      const seen = (x) => {
        if (x < left - 0.1 || x > right + 0.1) item.setAttribute("display", "none");
        return x;
      };
      if (item.matches("circle")) return item.setAttribute("cx", seen(place(at("cx"))));
      if (item.matches("text")) return item.setAttribute("x", seen(place(at("x"))));
      if (item.matches("rect")) {
        const begin = Math.max(place(at("x")), left);
        const end = Math.min(place(at("x") + at("width")), right);
        if (end <= begin) return item.setAttribute("display", "none");
        item.setAttribute("x", begin);
        return item.setAttribute("width", end - begin);
      }
      const d = item.getAttribute("d");
      if (!item.matches(".k")) return item.setAttribute("d", d.replace(/[ML](-?[\d.]+)/g, (all, x) => all[0] + place(Number(x))));
      const corners = [...d.matchAll(/[ML](-?[\d.]+)/g)].map((corner) => Number(corner[1]));
      const middle = (Math.min(...corners) + Math.max(...corners)) / 2;
      item.setAttribute("transform", "translate(" + (seen(place(middle)) - middle) + ")");
    };
    const ticksBetween = (low, high) => {
      const measured = numbers("measured").filter((value) => value >= low && value <= high);
      if (measured.length > 1) return measured.map((value) => [value, short(value)]);
      return ticks(low, high, wanted, numbers("factor")[0]);
    };
    const label = own.find((item) => item.matches("text"));
    const drawAxis = (from, to) => {
      const room = chart.viewBox.baseVal.width;
      const value = (share) => unbend(first + (last - first) * share);
      const drawn = [];
      let end = -Infinity;
      for (const [number, text] of ticksBetween(value(from), value(to))) {
        const x = left + (width * ((bend(number) - first) / (last - first) - from)) / (to - from);
        const half = widthOf(text) / 2;
        if (x < left - 0.1 || x > right + 0.1 || x - half < end + 8) continue;
        end = x + half;
        if (chart.dataset.law === "nines") drawn.push(make("path", { class: "l grid", d: `M${x} ${top}V${bottom}` }));
        drawn.push(make("path", { class: "l axis", d: `M${x} ${bottom}v5` }));
        const middle = Math.max(Math.min(x, room - half), half);
        drawn.push(make("text", { class: "tick mid", x: middle, y: label.getAttribute("y") }, text));
      }
      axis.replaceChildren(...drawn);
    };
    return {
      chart,
      /* The share of the whole axis at a position in pixels of the chart. */
      share: (x) => Math.max(0, Math.min(1, (x - left) / width)),
      draw: (from, to) => {
        restore();
        if (to - from >= 1) {
          plot.replaceChildren(ground, ...items);
          return axis.replaceChildren(...own);
        }
        const place = (x) => Math.round((left + (x - left - from * width) / (to - from)) * 100) / 100;
        for (const item of items) move(item, place);
        clip.replaceChildren(...lines);
        plot.replaceChildren(ground, clip, ...items.filter((item) => !lines.includes(item)));
        drawAxis(from, to);
      },
      /* Shows which part would be selected, in shares of what is shown; without one, none. */
      select: (from, to) => {
        if (from === undefined) return band.remove();
        band.setAttribute("x", left + width * from);
        band.setAttribute("width", width * (to - from));
        chart.append(band);
      },
      /* Where a mark is on the whole axis. */
      origin: (mark) => {
        const index = items.indexOf(mark);
        const [, cx, x, wide] = before[index];
        return (Number(cx ?? x) + Number(wide ?? 0) / 2 - left) / width;
      },
    };
  };

  /* The smallest part of an axis: positions have tenths of a pixel, which must not show. */
  const SMALLEST = 1 / 32;
  /* Pixels that a pointer has to be dragged. */
  const DRAGGED = 6;
  const zoomOf = (figure) => {
    const filled = (chart) => chart.children.length > Number(chart.dataset.values);
    const plots = [...figure.querySelectorAll("svg[data-plot]")].filter(filled).map(plotOf);
    if (!plots.length) return null;
    let [from, to] = [0, 1];
    const button = document.createElement("button");
    button.type = "button";
    button.className = "reset";
    button.textContent = "Reset zoom";
    button.hidden = true;
    figure.querySelector(".enlarge").before(button);
    const look = (begin, end) => {
      const wide = Math.min(Math.max(end - begin, SMALLEST), 1);
      from = Math.max(0, Math.min((begin + end - wide) / 2, 1 - wide));
      to = from + wide;
      hide();
      for (const plot of plots) plot.draw(from, to);
      button.hidden = wide === 1;
    };
    const reset = () => {
      if (button.hidden) return false;
      const focused = document.activeElement === button;
      look(0, 1);
      const seen = plots.find((plot) => plot.chart.getBoundingClientRect().width > 0);
      if (focused && seen) seen.chart.focus({ preventScroll: true });
      return true;
    };
    button.addEventListener("click", reset);
    let stop = () => false;
    for (const plot of plots) {
      const { chart } = plot;
      let drag = null;
      const part = () => [drag.from, drag.to].sort((one, other) => one - other);
      const end = () => {
        const was = drag;
        drag = null;
        plot.select();
        return Boolean(was);
      };
      const shareAt = (event) => {
        const { a, e } = chart.getScreenCTM();
        return plot.share((event.clientX - e) / a);
      };
      chart.classList.add("zooms");
      chart.addEventListener("pointerdown", (event) => {
        if (event.button || !event.isPrimary || !event.target.closest(".plot")) return;
        drag = { x: event.clientX, from: shareAt(event), far: false };
        stop = end;
        chart.setPointerCapture(event.pointerId);
      });
      chart.addEventListener("pointermove", (event) => {
        if (!drag || !event.isPrimary) return;
        drag.to = shareAt(event);
        drag.far = Math.abs(event.clientX - drag.x) >= DRAGGED;
        if (drag.far) plot.select(...part());
        else plot.select();
      });
      chart.addEventListener("pointerup", () => {
        const [begin, last] = drag && drag.far ? part().map((share) => from + (to - from) * share) : [];
        end();
        if (begin !== undefined) look(begin, last);
      });
      chart.addEventListener("pointercancel", end);
      chart.addEventListener("lostpointercapture", end);
      chart.addEventListener("dblclick", reset);
    }
    return {
      /* Ends a selection or, if there is none, the zoom; false if there was neither. */
      leave: () => stop() || reset(),
      /* Shows a part `factor` times as wide, in which the mark stays where it is. */
      by: (factor, mark) => {
        const plot = plots.find((plot) => plot.chart.contains(mark));
        const middle = plot ? plot.origin(mark) : (from + to) / 2;
        look(middle - (middle - from) * factor, middle + (to - middle) * factor);
        if (plot) show(mark);
      },
    };
  };

  const zooms = new Map();
  const small = (figure) => {
    figure.classList.remove("large");
    figure.querySelector(".enlarge").textContent = "Enlarge";
    hide();
  };
  for (const button of document.querySelectorAll(".enlarge")) {
    const figure = button.closest("figure");
    const zoom = zoomOf(figure);
    zooms.set(figure, zoom);
    button.hidden = false;
    button.addEventListener("click", () => {
      if (figure.classList.contains("large")) return small(figure);
      figure.classList.add("large");
      button.textContent = "Close";
    });
    figure.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || (zoom && zoom.leave())) return;
      if (figure.classList.contains("large")) small(figure);
    });
  }
  for (const chart of document.querySelectorAll("svg.chart")) {
    const zoom = zooms.get(chart.closest("figure"));
    const all = [...chart.querySelectorAll(".m")];
    for (const mark of all) {
      const title = mark.querySelector("title");
      mark.dataset.tip = title.textContent;
      title.remove();
    }
    if (!all.length) continue;
    const shown = () => all.filter((mark) => !mark.hasAttribute("display"));
    const nearest = (event) => {
      let best = null;
      let least = Infinity;
      for (const mark of shown()) {
        const box = mark.getBoundingClientRect();
        const x = Math.max(box.left - event.clientX, 0, event.clientX - box.right);
        const y = Math.max(box.top - event.clientY, 0, event.clientY - box.bottom);
        const far = x * x + y * y * 0.2;
        if (far < least) [best, least] = [mark, far];
      }
      return least < 3600 ? best : null;
    };
    const point = (event) => {
      const mark = nearest(event);
      if (mark) show(mark);
      else hide();
    };
    chart.addEventListener("pointermove", point);
    chart.addEventListener("pointerdown", point);
    chart.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch") hide();
    });
    chart.addEventListener("pointercancel", hide);
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const marks = shown();
      const now = on ? marks.indexOf(on.mark) : -1;
      const last = marks.length - 1;
      const next = {
        ArrowRight: Math.min(now + 1, last),
        ArrowLeft: Math.max(now - 1, 0),
        PageDown: Math.min(now + 10, last),
        PageUp: Math.max(now - 10, 0),
        Home: 0,
        End: last,
      }[event.key];
      const factor = { "+": 0.5, "=": 0.5, "-": 2 }[event.key];
      if (event.key === "Escape") hide();
      if (zoom && factor) zoom.by(factor, on && on.mark);
      if (next === undefined || last < 0) return;
      event.preventDefault();
      show(marks[next]);
    });
  }
})();
