// The table of arms: only the lines in sight are in the document, however many arms there are.
import { byId, clock, el, words } from "./dom.js";

const LINE = 32;
const HEAD = 36;
const BEYOND = 8;
const ORDER = { held: 0, offline: 1, unknown: 2, online: 3 };
const WAITS = { held: 0, unknown: 1, writing: 2, accepted: 3 };
const SIGNS = { online: "●", offline: "○", held: "■", unknown: "?" };

const COLUMNS = [
  { key: "arm", title: "Arm", rank: (row) => row.id },
  { key: "presence", title: "Presence", rank: (row) => (ORDER[row.presence] ?? 4) * 2 + (row.ready ? 1 : 0) },
  { key: "mode", title: "Mode", rank: (row) => row.mode ?? "" },
  { key: "authority", title: "Authority", rank: (row) => row.authority ?? "" },
  { key: "pending", title: "Pending", rank: (row) => -(row.pending ?? 0) * 10 + (WAITS[row.waits] ?? 9) },
  { key: "drift", title: "Differs", rank: (row) => -(row.drift ?? 0) },
  { key: "override", title: "Override", rank: (row) => `${row.overdue ? 0 : row.ends ? 1 : 2}${row.ends ?? ""}` },
  { key: "model", title: "Model", rank: (row) => row.model ?? "" },
];

export const calm = (row) => row.presence === "online" && row.ready && !row.pending && !row.drift && !row.lock && !row.overdue;

export const CHIPS = [
  { key: "all", title: "All", has: () => true },
  { key: "attention", title: "Attention", has: (row) => !calm(row) },
  { key: "online", title: "Online", has: (row) => row.presence === "online" },
  { key: "offline", title: "Offline", has: (row) => row.presence === "offline" },
  { key: "held", title: "Held", has: (row) => row.presence === "held" },
  { key: "pending", title: "Pending", has: (row) => row.pending > 0 },
  { key: "differs", title: "Differs", has: (row) => row.drift > 0 },
  { key: "locked", title: "Locked", has: (row) => Boolean(row.lock) },
  { key: "overrides", title: "Overrides", has: (row) => row.overrides > 0 },
];

export function presenceOf(row) {
  const state = row.presence ?? "unknown";
  const busy = state === "online" && !row.ready;
  return { sign: busy ? "◐" : (SIGNS[state] ?? "?"), text: busy ? "not ready" : state, kind: busy ? "busy" : state };
}

function lineText(row) {
  const marks = [row.ready ? "ready" : "busy", row.pending ? "pending" : "", row.drift ? "differs" : "", row.lock ? "locked" : "", row.overrides ? "overrides" : "", row.overdue ? "overdue" : ""];
  return [row.id, row.presence ?? "unknown", row.mode, row.authority, row.model, row.serial, row.lock, row.why, row.waits, row.recipe, ...marks]
    .join(" ").toLowerCase();
}

export class Table {
  constructor({ rows, isOld, open, follow, picked, changed }) {
    Object.assign(this, { rows, isOld, open, follow, picked, changed });
    this.grid = byId("grid");
    this.body = byId("rows");
    this.sort = { key: "arm", down: false };
    this.chip = "all";
    this.filter = "";
    this.active = "";
    this.list = [];
    this.pool = [];
    this.texts = new Map();
    this.makeHead();
    this.grid.addEventListener("scroll", () => this.draw(), { passive: true });
    this.grid.addEventListener("keydown", (event) => this.key(event));
    this.grid.addEventListener("focus", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.grid);
  }

  makeHead() {
    const cells = COLUMNS.map(({ key, title }) =>
      el("div", { role: "columnheader", class: `c-${key}`, data: { key } },
        el("button", { type: "button", click: () => this.sortBy(key) }, title, el("span", { class: "arrow" }))));
    byId("head").append(el("div", { class: "c-pick", role: "columnheader", "aria-label": "Picked" }), ...cells);
    this.markSort();
  }

  sortBy(key) {
    this.sort = { key, down: this.sort.key === key && !this.sort.down };
    this.markSort();
    this.arrange();
  }

  markSort() {
    for (const cell of byId("head").querySelectorAll("[data-key]")) {
      const on = cell.dataset.key === this.sort.key;
      cell.setAttribute("aria-sort", on ? (this.sort.down ? "descending" : "ascending") : "none");
      cell.querySelector(".arrow").textContent = on ? (this.sort.down ? " ▾" : " ▴") : "";
    }
  }

  textOf(row) {
    const known = this.texts.get(row.id);
    if (known && known.row === row) return known.text;
    const text = lineText(row);
    this.texts.set(row.id, { row, text });
    return text;
  }

  /** Choose and sort the lines anew. */
  arrange() {
    const parts = this.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const has = CHIPS.find((chip) => chip.key === this.chip).has;
    const rank = COLUMNS.find((column) => column.key === this.sort.key).rank;
    const sign = this.sort.down ? -1 : 1;
    const found = [];
    for (const row of this.rows.values()) {
      if (!has(row)) continue;
      const text = parts.length ? this.textOf(row) : "";
      if (parts.every((part) => text.includes(part))) found.push({ row, at: rank(row) });
    }
    found.sort((a, b) => (a.at < b.at ? -sign : a.at > b.at ? sign : a.row.id < b.row.id ? -1 : 1));
    this.list = found.map(({ row }) => row.id);
    this.places = new Map(this.list.map((id, place) => [id, place]));
    if (!this.places.has(this.active)) this.active = this.list[0] ?? "";
    this.body.style.height = `${this.list.length * LINE}px`;
    this.grid.setAttribute("aria-rowcount", this.list.length);
    byId("none").hidden = this.list.length > 0;
    byId("none").textContent = this.rows.size ? "No arm matches." : "No arm is known here yet.";
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.grid.scrollTop / LINE) - BEYOND);
    const last = Math.min(this.list.length, Math.ceil((this.grid.scrollTop + this.grid.clientHeight - HEAD) / LINE) + BEYOND);
    while (this.pool.length < last - first) this.pool.push(this.makeLine());
    this.pool.forEach((line, place) => {
      const at = first + place;
      line.node.hidden = at >= last;
      if (at < last) this.fill(line, at);
      else {
        line.key = "";
        line.node.removeAttribute("id");
      }
    });
    const there = this.places?.get(this.active);
    const shown = there !== undefined && there >= first && there < last;
    if (shown) this.grid.setAttribute("aria-activedescendant", `arm-${this.active}`);
    else this.grid.removeAttribute("aria-activedescendant");
  }

  makeLine() {
    const line = { cells: {}, key: "" };
    line.pick = el("div", { class: "c-pick", role: "gridcell" });
    const cells = COLUMNS.map(({ key }) => (line.cells[key] = el("div", { class: `c-${key}`, role: "gridcell" })));
    line.node = el("div", { class: "line", role: "row" }, line.pick, ...cells);
    line.node.addEventListener("click", (event) => {
      this.active = line.id;
      if (event.target === line.pick || event.ctrlKey || event.metaKey) this.pick(line.id);
      else this.open(line.id);
      this.draw();
    });
    this.body.append(line.node);
    return line;
  }

  fill(line, at) {
    const id = this.list[at];
    const row = this.rows.get(id);
    const { node, cells } = line;
    const state = `${at} ${id} ${this.isOld(row)} ${this.picked.has(id)} ${id === this.active} ${id === this.shown}`;
    if (line.key === state && line.row === row) return;
    Object.assign(line, { key: state, row, id });
    node.id = `arm-${id}`;
    node.style.transform = `translateY(${at * LINE}px)`;
    node.setAttribute("aria-rowindex", at + 1);
    node.setAttribute("aria-selected", this.picked.has(id));
    node.classList.toggle("active", id === this.active);
    node.classList.toggle("shown", id === this.shown);
    node.classList.toggle("old", this.isOld(row));
    const { sign, text, kind } = presenceOf(row);
    line.pick.textContent = this.picked.has(id) ? "☑" : "☐";
    cells.arm.textContent = id;
    cells.presence.replaceChildren(el("span", { class: `sign ${kind}`, "aria-hidden": "true" }, sign), this.isOld(row) ? `${text} (old)` : text);
    cells.presence.title = row.why ?? "";
    cells.mode.textContent = row.mode ? words(row.mode) : "–";
    if (row.asked) cells.mode.append(el("span", { class: "asked" }, ` → ${words(row.asked)}`));
    cells.authority.textContent = row.authority ?? "–";
    if (row.lock) cells.authority.append(el("span", { class: "lock", title: `held by ${row.lock}` }, " ⊘ locked"));
    cells.pending.textContent = row.pending ? `${row.pending} ${row.waits ?? ""}` : "";
    cells.pending.className = `c-pending ${row.waits ? `w-${row.waits}` : ""}`;
    cells.drift.textContent = row.drift ? `≠ ${row.drift}` : "";
    cells.override.textContent = row.overdue ? `✕ ${row.overdue} overdue` : row.overrides ? `to ${clock(row.ends).replace(/\.\d+$/, "")}` : "";
    cells.override.className = `c-override ${row.overdue ? "w-held" : ""}`;
    cells.override.title = row.overrides ? `${row.overrides} changes with an end` : "";
    cells.model.textContent = row.model ?? "";
  }

  pick(id) {
    if (!this.picked.delete(id)) this.picked.add(id);
    this.changed();
  }

  key(event) {
    if (event.target !== this.grid) return;
    const there = this.places.get(this.active) ?? 0;
    const page = Math.max(1, Math.floor(this.grid.clientHeight / LINE) - 1);
    const steps = { ArrowDown: there + 1, ArrowUp: there - 1, PageDown: there + page, PageUp: there - page, Home: 0, End: this.list.length - 1 };
    if (event.key in steps) {
      this.go(steps[event.key]);
      this.follow();
    }
    else if (event.key === "Enter" && this.active) this.open(this.active);
    else if (event.key === " " && this.active) this.pick(this.active);
    else return;
    event.preventDefault();
    this.draw();
  }

  go(place) {
    const to = Math.max(0, Math.min(this.list.length - 1, place));
    this.active = this.list[to] ?? "";
    const top = to * LINE;
    if (top < this.grid.scrollTop) this.grid.scrollTop = top;
    else if (top + LINE + HEAD > this.grid.scrollTop + this.grid.clientHeight) this.grid.scrollTop = top + LINE + HEAD - this.grid.clientHeight;
  }
}
