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
  const small = (figure) => {
    figure.classList.remove("large");
    figure.querySelector(".enlarge").textContent = "Enlarge";
    hide();
  };
  for (const button of document.querySelectorAll(".enlarge")) {
    const figure = button.closest("figure");
    button.hidden = false;
    button.addEventListener("click", () => {
      if (figure.classList.contains("large")) return small(figure);
      figure.classList.add("large");
      button.textContent = "Close";
    });
    figure.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && figure.classList.contains("large")) small(figure);
    });
  }
  for (const chart of document.querySelectorAll("svg.chart")) {
    const marks = [...chart.querySelectorAll(".m")];
    for (const mark of marks) {
      const title = mark.querySelector("title");
      mark.dataset.tip = title.textContent;
      title.remove();
    }
    if (!marks.length) continue;
    const nearest = (event) => {
      let best = null;
      let least = Infinity;
      for (const mark of marks) {
        const box = mark.getBoundingClientRect();
        const x = Math.max(box.left - event.clientX, 0, event.clientX - box.right);
        const y = Math.max(box.top - event.clientY, 0, event.clientY - box.bottom);
        const far = x * x + y * y * 0.2;
        if (far < least) [best, least] = [mark, far];
      }
      return least < 3600 ? best : null;
    };
    chart.addEventListener("pointermove", (event) => {
      const mark = nearest(event);
      if (mark) show(mark);
      else hide();
    });
    chart.addEventListener("pointerleave", hide);
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (event) => {
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
      if (event.key === "Escape") hide();
      if (next === undefined) return;
      event.preventDefault();
      show(marks[next]);
    });
  }
})();
