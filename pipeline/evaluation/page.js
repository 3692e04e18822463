// Charts in the colours of the page, drawn when they come into view; tables that a keyboard can scroll.
"use strict";

const DARK = matchMedia("(prefers-color-scheme: dark)");
const NARROW = matchMedia("(max-width: 720px)");
// colours of lines that a dark page would swallow
const LIGHTER = { "#0072B2": "#5B8DEF", "#000000": "#E5E9EE", "#009E73": "#1DBA8F" };
const DARK_SCALE = [[0, "#161d25"], [0.25, "#173a5c"], [0.5, "#2268a5"], [0.75, "#5aa6e0"], [1, "#d4eaff"]];

function themed(chart) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const layout = structuredClone(NARROW.matches && chart.narrow ? chart.narrow : chart.layout);
  layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
  layout.font.color = colour("--ink");
  layout.modebar = { bgcolor: "rgba(0,0,0,0)", color: colour("--soft"), activecolor: colour("--accent") };
  for (const [name, axis] of Object.entries(layout)) {
    if (/^[xy]axis/.test(name)) Object.assign(axis, { gridcolor: colour("--line"), linecolor: colour("--soft") });
  }
  for (const menu of layout.updatemenus || []) {
    Object.assign(menu, { bgcolor: colour("--card"), bordercolor: colour("--line") });
  }
  const data = structuredClone(chart.data);
  if (DARK.matches) {
    for (const trace of data) {
      if (trace.line) trace.line.color = LIGHTER[trace.line.color] || trace.line.color;
      if (trace.type === "heatmap") trace.colorscale = DARK_SCALE;
    }
  }
  return [data, layout];
}

function drawCharts() {
  const drawn = new Map();
  const draw = (place) => {
    const chart = JSON.parse(place.nextElementSibling.textContent);
    drawn.set(place, chart);
    place.style.height = "";
    Plotly.newPlot(place, ...themed(chart), chart.config);
  };
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((entry) => entry.isIntersecting)) {
      watcher.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "400px" });
  const places = document.querySelectorAll("[data-chart]");
  places.forEach((place) => watcher.observe(place));
  const again = () => drawn.forEach((chart, place) => Plotly.react(place, ...themed(chart), chart.config));
  DARK.addEventListener("change", again);
  NARROW.addEventListener("change", again);
  addEventListener("beforeprint", () => {
    watcher.disconnect();
    places.forEach((place) => drawn.has(place) || draw(place));
  });
}

function reachTables() {
  for (const table of document.querySelectorAll(".table")) {
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
    else table.removeAttribute("tabindex");
  }
}

addEventListener("DOMContentLoaded", () => {
  reachTables();
  addEventListener("resize", reachTables);
  if (window.Plotly) drawCharts();
});
