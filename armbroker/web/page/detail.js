// One arm: its limits as bars, its values, the history of one, its events.
import { ask, clock, digits, el, inUnit, paced, shown, unitShown, words } from "./dom.js";
import { eventLine } from "./events.js";
import { overrideLines } from "./fleet.js";
import { plotOf } from "./plot.js";
import { presenceOf } from "./table.js";

const TABS = ["limits", "values", "history", "events"];
const TIGHTEST = "";
const RELOAD_MS = 200;
const HISTORY_MS = 2000; // each asks the service

export class Detail {
  constructor(side, { events, isOld, closed }) {
    Object.assign(this, { side, events, isOld, closed });
    this.tab = "limits";
    this.arm = "";
    this.mode = null;
    this.value = "";
    this.reload = paced(RELOAD_MS, () => this.load());
    this.reloadHistory = paced(HISTORY_MS, () => this.load());
  }

  open(arm) {
    if (arm !== this.arm) Object.assign(this, { arm, mode: null, data: null, points: null, asked: null });
    this.load();
  }

  /** Something of the arm is another. */
  renew() {
    if (this.tab === "history") this.reloadHistory();
    else this.reload();
  }

  close() {
    this.arm = "";
    this.asking?.abort();
  }

  async load() {
    const arm = this.arm;
    if (!arm) return;
    this.asking?.abort();
    this.asking = new AbortController();
    const mode = this.mode === null ? "" : `?mode=${encodeURIComponent(this.mode)}`;
    try {
      const data = await ask(`api/arm/${encodeURIComponent(arm)}${mode}`, this.asking.signal);
      if (arm !== this.arm) return;
      this.data = data;
      if (this.tab === "history") {
        await this.loadHistory();
      }
      this.draw();
      if (this.tab === "limits" && this.asked) await this.explain(this.asked.limit);
    } catch (error) {
      if (error.name !== "AbortError" && arm === this.arm) this.side.replaceChildren(this.bar(), el("p", { class: "fault" }, error.message));
    }
  }

  async loadHistory() {
    const value = this.data.values.find((each) => keyOf(each) === this.value) ?? this.data.values.find((each) => each.item === "twist_linear_soft_limit") ?? this.data.values[0];
    if (!value) return;
    this.value = keyOf(value);
    if (!this.points) this.draw();
    const query = new URLSearchParams({ item: value.item, slot: value.slot, path: value.path });
    this.points = await ask(`api/history/${encodeURIComponent(this.arm)}?${query}`, this.asking.signal);
  }

  /** Ask which layers stand behind a limit, and show them below it. */
  async explain(limit) {
    const asked = this.asked?.key === placeOf(limit) ? this.asked : { key: placeOf(limit), limit, told: null };
    this.asked = asked;
    this.draw();
    const query = new URLSearchParams({ quantity: limit.quantity, joint: limit.joint, mode: this.data.mode });
    try {
      asked.told = await ask(`api/layers/${encodeURIComponent(this.arm)}?${query}`, this.asking.signal);
    } catch (error) {
      if (error.name === "AbortError") return;
      asked.told = { layers: [], why: error.message };
    }
    if (this.asked === asked) this.draw();
  }

  turn(limit) {
    if (this.asked?.key === placeOf(limit)) {
      this.asked = null;
      this.draw();
    } else this.explain(limit);
  }

  show(tab) {
    this.tab = tab;
    if (!this.data) return;
    if (tab === "history") this.load();
    else this.draw();
  }

  bar() {
    return el("div", { class: "bar" }, el("h2", {}, this.arm), el("button", { type: "button", class: "close", "aria-label": "Close", click: () => this.closed() }, "✕"));
  }

  draw() {
    if (!this.data) return;
    const kept = this.side.querySelector(".scroll")?.scrollTop ?? 0;
    const focused = this.side.contains(document.activeElement) ? document.activeElement.id : "";
    const tabs = TABS.map((tab, place) => el("button", { type: "button", role: "tab", id: `tab-${tab}`, "aria-selected": tab === this.tab, "aria-controls": "panel", title: `${place + 1}`, click: () => this.show(tab) }, tab));
    const panel = el("div", { class: "scroll", role: "tabpanel", id: "panel", tabindex: "0", "aria-labelledby": `tab-${this.tab}` }, ...this[`${this.tab}Panel`]());
    this.side.replaceChildren(this.bar(), this.facts(), el("div", { role: "tablist", "aria-label": "What of the arm" }, ...tabs), panel);
    panel.scrollTop = kept;
    if (focused) document.getElementById(focused)?.focus();
  }

  facts() {
    const { row, pending, overrides, adapter, firmware, mode_seen_at: seen, mode_by: by, lock_why: lockWhy, lock_until: until, read_at: read } = this.data;
    const { sign, text, kind } = presenceOf(row);
    const pair = (name, ...value) => [el("dt", {}, name), el("dd", {}, ...value)];
    const old = this.isOld(row) ? " (old: the service is away)" : "";
    return el("dl", { class: "facts" },
      ...pair("Presence", el("span", { class: `sign ${kind}`, "aria-hidden": "true" }, sign), `${text}${old}, since ${clock(row.since)}`),
      ...(row.why ? pair("Why", row.why) : []),
      ...pair("Mode", `${row.mode ? words(row.mode) : "not known"}${row.asked ? ` → ${words(row.asked)} asked${by ? ` by ${by}` : ""}` : ""}${seen ? `, seen ${clock(seen)}` : ""}`),
      ...pair("Authority", row.authority || "–"),
      ...(row.lock ? pair("Held by", `${row.lock}${lockWhy ? `: “${lockWhy}”` : ""}${until ? `, until ${clock(until)}` : ""}`) : []),
      ...pair("Arm", [row.model, row.serial, adapter, firmware].filter(Boolean).join(" · ")),
      ...(pending.length ? pair("Pending", el("ul", {}, ...pending.map((entry) => el("li", {}, el("b", { class: `w-${entry.state}` }, entry.state), ` ${entry.item.replaceAll("_", " ")}${entry.slot ? ` (${words(entry.slot)})` : ""}, rev ${entry.rev}, since ${clock(entry.since)}${entry.why ? `: ${entry.why}` : ""}`)))) : []),
      ...(overrides.length ? pair("Overrides", el("ul", {}, ...overrideLines(overrides, shown))) : []),
      ...(row.recipe ? pair("Recipe", `${row.recipe}${row.recipe_drift ? `, ${row.recipe_drift} values are not its` : ""}`) : []),
      ...pair("Read", clock(read)));
  }

  limitsPanel() {
    const { limits, modes, mode, row } = this.data;
    const names = [...new Set([TIGHTEST, ...(row.mode ? [row.mode] : []), ...modes])];
    const choice = el("select", { id: "mode", change: (event) => { this.mode = event.target.value; this.asked = null; this.load(); } },
      ...names.map((name) => el("option", { value: name, selected: name === mode }, name === TIGHTEST ? "tightest over all modes" : words(name) + (name === row.mode ? " (now)" : ""))));
    const blocks = blocksOf(limits);
    return [el("label", { class: "choice" }, "Limits in mode ", choice),
      ...blocks.map(({ title, limits: each }) => limitBlock(title, each, this)),
      limits.length ? el("p", { class: "note" }, "Each bar goes from zero to the hard limit of the arm; the name beside it is the layer that binds, and opens what the others say.") : el("p", {}, "No limit is known of this arm.")];
  }

  valuesPanel() {
    const lines = this.data.values.map((value) => el("tr", { class: value.differs ? "differs" : "" },
      el("th", { scope: "row" }, labelOf(value), value.unit ? el("span", { class: "unit" }, ` ${unitShown(value.unit)}`) : null),
      el("td", {}, shown(value.reported, value.unit)),
      el("td", {}, value.differs ? `≠ ${shown(value.desired, value.unit)}` : "="),
      el("td", {}, el("button", { type: "button", class: "link", "aria-label": `History of ${labelOf(value)}`, click: () => { this.value = keyOf(value); this.points = null; this.show("history"); } }, "history"))));
    return [el("table", { class: "values" }, el("thead", {}, el("tr", {}, ...["Value", "Reported", "Desired", ""].map((title) => el("th", { scope: "col" }, title)))), el("tbody", {}, ...lines))];
  }

  historyPanel() {
    const { values } = this.data;
    const value = values.find((each) => keyOf(each) === this.value);
    const choice = el("select", { id: "value", change: (event) => { this.value = event.target.value; this.points = null; this.load(); } },
      ...values.map((each) => el("option", { value: keyOf(each), selected: keyOf(each) === this.value }, labelOf(each))));
    const parts = [el("label", { class: "choice" }, "History of ", choice, value?.unit ? ` ${unitShown(value.unit)}` : "")];
    if (!this.points) return [...parts, el("p", {}, "asking …")];
    const { points, why } = this.points;
    if (why) parts.push(el("p", { class: "note warn" }, why));
    parts.push(plotOf(points, value?.unit ?? "") ?? el("p", {}, "It was never changed, as far as is told."));
    const lines = [...points].reverse().map((point) => el("tr", { class: point.done ? "" : "bad" },
      el("td", {}, el("time", { datetime: point.at }, clock(point.at))),
      el("td", {}, `${shown(point.before, value?.unit)} → ${shown(point.after, value?.unit)}`),
      el("td", {}, `${point.done ? "" : "✕ "}${point.outcome || "not settled"}`),
      el("td", {}, point.by), el("td", {}, point.reason)));
    if (lines.length) parts.push(el("table", { class: "changes" }, el("thead", {}, el("tr", {}, ...["When", "Change", "Outcome", "By", "Reason"].map((title) => el("th", { scope: "col" }, title)))), el("tbody", {}, ...lines)));
    return parts;
  }

  eventsPanel() {
    const found = this.events.of(this.arm);
    return found.length ? [el("ol", { class: "events" }, ...found.map((line) => eventLine(line, false)))] : [el("p", {}, "No event of this arm was seen yet.")];
  }
}

const placeOf = (limit) => `${limit.quantity}/${limit.joint}`;
const keyOf = (value) => [value.item, value.slot, value.path].join("/");

function labelOf(value) {
  const slot = value.slot ? ` · ${words(value.slot)}` : "";
  return `${value.item.replaceAll("_", " ")}${value.path && value.path !== value.item ? ` ${value.path.replaceAll("_", " ")}` : ""}${slot}`;
}

/** The limits by quantity; quantities that say the same stand together. */
function blocksOf(limits) {
  const blocks = [];
  for (const limit of limits) {
    const block = blocks.find((each) => each.quantity === limit.quantity);
    if (block) block.limits.push(limit);
    else blocks.push({ quantity: limit.quantity, title: words(limit.quantity), limits: [limit] });
  }
  const said = (block) => JSON.stringify(block.limits.map(({ quantity, ...rest }) => rest));
  const apart = [];
  for (const block of blocks) {
    const same = apart.find((each) => said(each) === said(block));
    if (same) same.title += `, ${block.title.toLowerCase()}`;
    else apart.push(block);
  }
  return apart;
}

/** The layers behind a limit, as lines of its table. */
function layerLines({ told }, limit, text) {
  if (!told) return [el("tr", { class: "stack" }, el("td", { colspan: 5 }, "asking …"))];
  if (told.why) return [el("tr", { class: "stack" }, el("td", { colspan: 5, class: "warn" }, told.why))];
  return told.layers.map((layer) => el("tr", { class: "stack", title: `${layer.source}, by ${layer.by}, since ${layer.since}` },
    el("td", {}), el("td", { class: "source" }, layer.source),
    el("td", { class: "n" }, text(layer.value, limit.unit)), el("td", { class: "of" }, layer.binds ? "◀ binds" : ""),
    el("td", {}, layer.layer, el("span", { class: "by" }, ` ${layer.by} ${clock(layer.since)}`))));
}

function limitBlock(title, limits, detail) {
  const unit = limits[0].unit;
  const most = Math.max(...limits.flatMap((limit) => [limit.value, limit.hard ?? 0].map((each) => Math.abs(inUnit(each, limit.unit)[0]))));
  const places = digits(most);
  const text = (number, of) => (number === null ? "–" : inUnit(number, of)[0].toFixed(places));
  const lines = limits.flatMap((limit) => {
    const share = limit.hard ? Math.min(1, Math.max(0, limit.value / limit.hard)) : 0;
    const fill = el("div", { class: `fill l-${limit.layer}` });
    fill.style.width = `${share * 100}%`;
    const said = `${text(limit.value, limit.unit)} of ${limit.hard === null ? "no hard limit told" : text(limit.hard, limit.unit)} ${unitShown(limit.unit)}`;
    const track = limit.hard === null ? el("div", { class: "track none" }, "no hard limit told")
      : el("div", { class: "track", role: "meter", "aria-valuemin": 0, "aria-valuemax": limit.hard, "aria-valuenow": limit.value, "aria-valuetext": `${said}, ${limit.layer}`, "aria-label": `${title} ${limit.joint}` }, fill);
    const open = detail.asked?.key === placeOf(limit);
    const line = el("tr", { title: `${limit.source}, by ${limit.by}, since ${limit.since}` },
      el("th", { scope: "row" }, limit.joint || "arm"), el("td", { class: "meter" }, track),
      el("td", { class: "n" }, text(limit.value, limit.unit)), el("td", { class: "n of" }, limit.hard === null ? "" : `/ ${text(limit.hard, limit.unit)}`),
      el("td", { class: "layer" }, el("button", { type: "button", id: `layer-${placeOf(limit)}`, "aria-expanded": open, "aria-label": `${limit.layer}: the layers of ${limit.quantity} ${limit.joint}`, click: () => detail.turn(limit) },
        el("span", { class: `dot l-${limit.layer}`, "aria-hidden": "true" }), limit.layer, el("span", { class: "by" }, limit.layer === "hard" ? "" : ` ${limit.by}`))));
    return open ? [line, ...layerLines(detail.asked, limit, text)] : [line];
  });
  return el("section", { class: "limits" }, el("h3", {}, title, el("span", { class: "unit" }, ` ${unitShown(unit)}`)), el("table", {}, el("tbody", {}, ...lines)));
}
