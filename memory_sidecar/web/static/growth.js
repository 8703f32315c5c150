// Draws each chart of the view in the colours of the page, and anew when these or its size change.
"use strict";

const HALF_WEEK_S = 3.5 * 86400;
const date = (s) => new Date(1000 * s).toUTCString().slice(5, 16); // 02 Nov 2026

function draw() {
  document.querySelectorAll("[data-chart]").forEach((place) => {
    place.querySelector(".uplot")?.remove();
    const ink = (name) => getComputedStyle(place).getPropertyValue(name).trim();
    const [accent, warn, muted] = ["--accent", "--warn", "--muted"].map(ink);
    const bars = uPlot.paths.bars({ size: [0.6, 40], radius: 0.15 });
    const series = place.dataset.names.split(" ").map((label, at) => ({
      label, width: 0, fill: at ? warn : accent, stroke: at ? warn : accent, paths: bars, points: { show: false },
    }));
    const wide = (_, labels) => 13 + 7 * Math.max(3, ...(labels ?? []).map((label) => label.length));
    const axis = { stroke: muted, font: "11px system-ui", ticks: { show: false } };
    const data = JSON.parse(place.dataset.chart);
    const newest = data[0].length - 1;
    const step = Math.ceil((60 * data[0].length) / place.clientWidth); // weeks between two dates
    new uPlot({
      width: place.clientWidth,
      height: 150,
      hooks: { setLegend: [(chart) => { if (chart.legend.idx == null) chart.setLegend({ idx: newest }); }] },
      cursor: { y: false, drag: { x: false }, points: { show: false } },
      scales: { x: { range: (_, first, last) => [first - HALF_WEEK_S, last + HALF_WEEK_S] }, y: { range: (_, __, most) => [0, Math.max(most, 4) * 1.05] } },
      axes: [
        { ...axis, grid: { show: false }, splits: () => data[0].filter((_, at) => (newest - at) % step === 0), values: (_, all) => all.map((s) => date(s).slice(0, 6)), size: 26 },
        { ...axis, grid: { stroke: ink("--grid"), width: 1 }, size: wide, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 10000, 50000] },
      ],
      series: [{ label: "week of", value: (_, s) => (s == null ? "" : date(s)) }, ...series],
    }, data, place);
  });
}

let waiting = 0;
addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(draw, 100); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
draw();
document.addEventListener("htmx:afterSwap", draw);
