// The page: its stream, its state, its keys.
import { byId, clock, el, leftOf, paced, settings, zone } from "./dom.js";
import { Compare } from "./compare.js";
import { Detail } from "./detail.js";
import { Events } from "./events.js";
import { Fleet } from "./fleet.js";
import { CHIPS, Table } from "./table.js";

const MOST_PICKED = 8;
const RETRY_MS = 3000;
const THEMES = ["auto", "light", "dark"];
const rows = new Map();
const groups = new Map();
const plans = new Map();
const picked = new Set();
const standing = { services: [], link: { up: true }, reached: false, since: 0 };
const side = byId("side");

const isOld = (row) => !standing.reached || !standing.link.up || !standing.services.some((service) => service.instance === row.svc && service.online);
const events = new Events(byId("events"));
const detail = new Detail(side, { events, isOld, closed: closeSide });
const compare = new Compare(side, { closed: closeSide });
const fleet = new Fleet(side, { groups, plans, closed: closeSide });
const table = new Table({ rows, isOld, open: openArm, follow: paced(120, follow), picked, changed: pickChanged });
const arrange = paced(60, () => { table.arrange(); counts(); });
const compareAgain = paced(500, () => compare.load());
let comparing = false;

// ---- the side

function openArm(id) {
  comparing = false;
  fleet.close();
  table.shown = id;
  side.hidden = false;
  detail.open(id);
  table.draw();
}

/** The detail goes along with the arm that is chosen. */
function follow() {
  if (!side.hidden && !comparing && !fleet.open && table.active) openArm(table.active);
}

function closeSide() {
  const back = side.contains(document.activeElement);
  comparing = false;
  table.shown = "";
  side.hidden = true;
  side.replaceChildren();
  detail.close();
  fleet.close();
  table.draw();
  if (back) table.grid.focus();
}

function openCompare() {
  if (picked.size < 2) return;
  detail.close();
  fleet.close();
  table.shown = "";
  comparing = true;
  side.hidden = false;
  compare.open([...picked]);
}

function openFleet() {
  if (fleet.open) {
    closeSide();
    return;
  }
  detail.close();
  table.shown = "";
  comparing = false;
  side.hidden = false;
  fleet.show();
  table.draw();
}

function pickChanged() {
  while (picked.size > MOST_PICKED) picked.delete(picked.values().next().value);
  const button = byId("compare");
  button.disabled = picked.size < 2;
  button.textContent = picked.size ? `Compare ${picked.size}` : "Compare";
  table.draw();
  if (comparing && picked.size > 1) openCompare();
}

// ---- what counts

function counts() {
  byId("counts").replaceChildren(...CHIPS.map((chip) => {
    let number = 0;
    for (const row of rows.values()) number += chip.has(row) ? 1 : 0;
    return el("button", { type: "button", id: `chip-${chip.key}`, class: `chip k-${chip.key}${number ? "" : " zero"}`, "aria-pressed": table.chip === chip.key, click: () => { table.chip = chip.key; arrange(); } },
      `${chip.title} `, el("b", {}, number.toLocaleString("en")));
  }));
  document.body.dataset.arms = rows.size;
}

function fleetChanged() {
  const live = [...plans.values()].filter((plan) => plan.state !== "ended").length;
  byId("groups").textContent = live ? `Groups · ${live} live` : "Groups";
  fleet.renew();
}

function banner() {
  const said = [];
  if (!standing.reached) said.push(standing.full ?? "armbroker web is not reached, trying again: what is shown is old.");
  else if (!standing.link.up) said.push(`No connection to the MQTT server, what is shown is old: ${standing.link.why ?? ""}`);
  else if (!standing.services.length) said.push("No armbroker service tells of itself below this root.");
  if (standing.reached) {
    for (const service of standing.services.filter((each) => !each.online)) {
      said.push(`Service ${service.instance} is ${service.state}, what its arms show is old (last seen ${clock(service.seen_at)}).`);
    }
  }
  if (standing.slow) said.push("This page was too slow and was let go. Reload it.");
  byId("banner").hidden = !said.length;
  byId("banner").replaceChildren(...said.map((text) => el("p", {}, text)), ...(standing.slow ? [el("button", { type: "button", click: () => location.reload() }, "Reload")] : []));
  document.body.dataset.link = said.length ? "old" : "live";
}

// ---- the stream

let source = null;
let openedOnce = false;

function take(told) {
  for (const row of told.rows ?? []) {
    rows.set(row.id, row);
    if (row.id === detail.arm) detail.renew();
    if (comparing && picked.has(row.id)) compareAgain();
  }
  for (const id of told.gone ?? []) {
    rows.delete(id);
    table.texts.delete(id);
    if (picked.delete(id)) pickChanged();
  }
  for (const group of told.groups ?? []) groups.set(group.name, group);
  for (const name of told.groups_gone ?? []) groups.delete(name);
  for (const plan of told.plans ?? []) plans.set(plan.plan, plan);
  for (const number of told.plans_gone ?? []) plans.delete(number);
  if (told.groups || told.groups_gone || told.plans || told.plans_gone) fleetChanged();
  if (told.skipped) events.add([{ arm: "", at: new Date().toISOString(), reason: `${told.skipped} events came faster than this page could take them` }]);
  if (told.services) {
    standing.services = told.services;
    standing.link = told.link;
  }
  banner();
}

function connect() {
  if (standing.slow) return;
  source = new EventSource("api/stream");
  source.addEventListener("all", (event) => {
    const told = JSON.parse(event.data);
    Object.assign(standing, { reached: true, full: undefined });
    for (const known of [rows, groups, plans]) known.clear();
    fleetChanged();
    events.reset(told.events);
    take({ ...told, events: undefined });
    table.arrange();
    counts();
    if (openedOnce) events.add([{ arm: "", at: new Date().toISOString(), reason: "the stream to this page was interrupted" }]);
    openedOnce = true;
  });
  source.addEventListener("delta", (event) => {
    const told = JSON.parse(event.data);
    take(told);
    if (told.events) {
      events.add(told.events);
      if (detail.tab === "events" && told.events.some((line) => line.arm === detail.arm)) detail.draw();
    }
    if (told.rows || told.gone || told.services) arrange();
  });
  source.addEventListener("slow", () => {
    standing.slow = true;
    source.close();
    lost();
  });
  source.onerror = () => {
    const ended = source.readyState === EventSource.CLOSED;
    lost(ended ? "armbroker web takes no further page now, trying again." : undefined);
    if (ended && !document.hidden) setTimeout(connect, RETRY_MS);
  };
}

function lost(full) {
  Object.assign(standing, { reached: false, full });
  banner();
  table.draw();
}

// ---- keys and settings

function setTheme(theme) {
  localStorage.setItem("theme", theme);
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme;
}

function turnUnits() {
  settings.degrees = !settings.degrees;
  localStorage.setItem("units", settings.degrees ? "deg" : "rad");
  byId("units").textContent = settings.degrees ? "deg" : "rad";
  events.redraw();
  if (comparing) compare.draw();
  else if (detail.arm) detail.draw();
}

const nextTheme = () => setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]);

function escape() {
  const filter = byId("filter");
  if (byId("keys").open) byId("keys").close();
  else if (document.activeElement === filter && filter.value) setFilter("");
  else if (!side.hidden) closeSide();
  else if (filter.value || table.chip !== "all") { table.chip = "all"; setFilter(""); }
  if (!byId("keys").open) table.grid.focus();
}

function setFilter(text) {
  byId("filter").value = text;
  table.filter = text;
  arrange();
}

const KEYS = {
  "/": () => { byId("filter").focus(); byId("filter").select(); },
  c: openCompare,
  g: openFleet,
  u: turnUnits,
  t: nextTheme,
  "?": () => byId("keys").showModal(),
  1: () => detail.show("limits"),
  2: () => detail.show("values"),
  3: () => detail.show("history"),
  4: () => detail.show("events"),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") { escape(); event.preventDefault(); return; }
  if (event.target === byId("filter")) {
    if (event.key === "Enter" || event.key === "ArrowDown") { table.grid.focus(); event.preventDefault(); }
    return;
  }
  if (event.target.matches("select, input") || !Object.hasOwn(KEYS, event.key)) return;
  KEYS[event.key]();
  event.preventDefault();
});

byId("filter").addEventListener("input", (event) => { table.filter = event.target.value; arrange(); });
byId("compare").addEventListener("click", openCompare);
byId("groups").addEventListener("click", openFleet);
byId("units").addEventListener("click", turnUnits);
byId("theme").addEventListener("click", nextTheme);
byId("help").addEventListener("click", KEYS["?"]);
byId("units").textContent = settings.degrees ? "deg" : "rad";
byId("zone").textContent = zone();
setTheme(THEMES.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "auto");
setInterval(() => {
  for (const left of side.querySelectorAll(".left")) left.textContent = leftOf(left.dataset.until);
}, 1000);
table.arrange();
table.grid.focus();
connect();
