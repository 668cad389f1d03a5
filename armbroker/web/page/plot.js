// The history of one value: steps over time; lists of numbers as a line each, texts as lanes.
import { clock, digits, el, inUnit, unitShown, words } from "./dom.js";

const WIDE = 640, HIGH = 260, LEFT = 64, RIGHT = 12, TOP = 12, LOW = 28;
const SVG = "http://www.w3.org/2000/svg";

function svg(tag, given, text = "") {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(given)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  return node;
}

const numbers = (value) => (Array.isArray(value) ? value : [value]).map((each) => (typeof each === "number" ? each : null));

/** What was in force: [{ms, value}], the value before the first change included. */
function steps(points) {
  const done = points.filter((point) => point.done && point.after !== null);
  if (!done.length) return [];
  const first = Date.parse(done[0].at);
  const begin = done[0].before === null ? [] : [{ ms: null, value: done[0].before }];
  return [...begin, ...done.map((point) => ({ ms: Date.parse(point.at), value: point.after }))]
    .map((step) => ({ ...step, ms: step.ms ?? first - Math.max(60000, (Date.now() - first) * 0.05) }));
}

function ticks(low, high) {
  const span = high - low || 1;
  const base = 10 ** Math.floor(Math.log10(span / 4));
  const step = [1, 2, 5, 10].map((factor) => factor * base).find((each) => span / each <= 5);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(at);
  return found;
}

/** The plot, or null where no change was told. */
export function plotOf(points, unit) {
  const path = steps(points);
  if (!path.length) return null;
  const numeric = path.every((step) => numbers(step.value).every((each) => each !== null));
  const texts = numeric ? [] : [...new Set(path.map((step) => JSON.stringify(step.value)))];
  const rows = path.map((step) => ({
    ms: step.ms,
    ys: numeric ? numbers(step.value).map((each) => inUnit(each, unit)[0]) : [texts.indexOf(JSON.stringify(step.value))],
  }));
  const all = rows.flatMap((row) => row.ys);
  const most = Math.max(...all), least = Math.min(...all);
  const high = numeric ? (most > 0 ? most * 1.08 : most + Math.abs(most) * 0.08 + 1e-9) : texts.length - 0.5;
  const low = numeric ? (least < 0 ? least * 1.08 : 0) : -0.5;
  const from = rows[0].ms, to = Date.now();
  const x = (ms) => LEFT + ((ms - from) / (to - from || 1)) * (WIDE - LEFT - RIGHT);
  const y = (value) => HIGH - LOW - ((value - low) / (high - low || 1)) * (HIGH - LOW - TOP);
  const root = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "plot", role: "img", "aria-label": `History, ${points.length} changes${unit ? ` in ${unitShown(unit)}` : ""}` });
  const marks = numeric ? ticks(low, high) : texts.map((_, place) => place);
  for (const mark of marks) {
    root.append(svg("line", { x1: LEFT, x2: WIDE - RIGHT, y1: y(mark), y2: y(mark), class: "rule" }));
    const label = numeric ? mark.toFixed(Math.min(4, digits(high))).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "") : words(String(JSON.parse(texts[mark]))).slice(0, 11);
    root.append(svg("text", { x: LEFT - 6, y: y(mark) + 4, "text-anchor": "end", class: "mark" }, label));
  }
  for (const [share, anchor] of [[0, "start"], [0.5, "middle"], [1, "end"]]) {
    const ms = from + (to - from) * share;
    root.append(svg("text", { x: x(ms), y: HIGH - 8, "text-anchor": anchor, class: "mark" }, share === 1 ? "now" : clock(new Date(ms).toISOString()).replace(/\.\d+$/, "")));
  }
  const lines = Math.max(...rows.map((row) => row.ys.length));
  for (let line = 0; line < lines; line += 1) {
    let way = "";
    rows.forEach((row, place) => {
      if (row.ys[line] === undefined) return;
      const end = place + 1 < rows.length ? rows[place + 1].ms : to;
      way += `${way ? "L" : "M"}${x(row.ms).toFixed(1)} ${y(row.ys[line]).toFixed(1)}H${x(end).toFixed(1)}`;
    });
    root.append(svg("path", { d: way, class: `way way-${line % 7}` }));
  }
  for (const point of points.filter((each) => !each.done)) {
    const mark = svg("text", { x: x(Date.parse(point.at)), y: TOP + 10, "text-anchor": "middle", class: "not-done" }, "✕");
    mark.append(svg("title", {}, `${point.outcome || "not settled"} ${point.by}`));
    root.append(mark);
  }
  const figure = el("figure", {}, root);
  if (lines > 1) {
    figure.append(el("figcaption", {}, ...Array.from({ length: lines }, (_, line) => el("span", { class: `key way-${line % 7}` }, `${line + 1}`)), " joints"));
  }
  return figure;
}
