// Groups and plans: what is under way over many arms, and how it stands.
import { clock, el, leftOf, paced, words } from "./dom.js";

const OPEN = ["waiting", "stored"];
const BAD = ["partial", "refused", "aborted", "expired", "quarantined"];
const MOST_NAMED = 8;
const COUNTS = ["held", "faults", "overdue", "differs", "locked", "pending", "overrides"];
const ALARMS = ["held", "faults", "overdue"];

export class Fleet {
  constructor(side, { groups, plans, closed }) {
    Object.assign(this, { side, groups, plans, closed, open: false });
    this.renew = paced(300, () => this.draw());
  }

  show() {
    this.open = true;
    this.draw();
  }

  close() {
    this.open = false;
  }

  draw() {
    if (!this.open) return;
    const kept = this.side.querySelector(".scroll")?.scrollTop ?? 0;
    const plans = [...this.plans.values()].sort((a, b) => b.plan - a.plan);
    const groups = [...this.groups.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    this.side.replaceChildren(
      el("div", { class: "bar" }, el("h2", {}, "Groups and plans"), el("button", { type: "button", class: "close", "aria-label": "Close", click: () => this.closed() }, "✕")),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Groups and plans" },
        el("h3", {}, "Plans"), ...(plans.length ? plans.map(planBlock) : [el("p", { class: "note" }, "No plan is told of.")]),
        el("h3", {}, "Groups"), ...(groups.length ? groups.map(groupBlock) : [el("p", { class: "note" }, "No group is told of.")])));
    this.side.querySelector(".scroll").scrollTop = kept;
  }
}

function attention(found) {
  if (!found?.length) return [];
  const more = found.length > MOST_NAMED ? [el("li", {}, `and ${found.length - MOST_NAMED} more`)] : [];
  return [el("ul", { class: "attention" }, ...found.slice(0, MOST_NAMED).map((each) => el("li", {}, el("b", {}, each.arm), ` ${each.why}`)), ...more)];
}

function planBlock(plan) {
  const { total = 0, ended = 0, counts = {}, state = "", outcome = "" } = plan;
  const bad = BAD.includes(outcome);
  const parts = Object.entries(counts).map(([name, count]) => `${count} ${name}`).join(" · ");
  const fill = el("div", { class: `fill ${bad ? "p-bad" : state === "ended" ? "p-done" : "p-live"}` });
  fill.style.width = `${total ? (100 * ended) / total : 0}%`;
  const said = `${ended} of ${total} arms have their end`;
  return el("article", { class: "plan", id: `plan-${plan.plan}` },
    el("h4", {}, `${plan.plan} `, el("span", { class: bad ? "fault-word" : "state-word" }, `${bad ? "✕ " : ""}${outcome || state}`), ` ${plan.method ?? ""} of ${plan.target ?? ""}`),
    el("div", { class: "track", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": total, "aria-valuenow": ended, "aria-valuetext": said, "aria-label": `Plan ${plan.plan}` }, fill),
    el("p", {}, `${said}${plan.waves ? `, wave ${plan.wave ?? 0} of ${plan.waves - 1}` : ""}: ${parts}`),
    el("p", { class: "soft" }, [`by ${plan.by ?? ""}`, plan.approved_by ? `approved by ${plan.approved_by}` : "", `since ${clock(plan.at)}`, plan.until ? `until ${clock(plan.until)}` : "", plan.reason ? `“${plan.reason}”` : ""].filter(Boolean).join(" · ")),
    ...(state === "proposed" ? [el("p", { class: "warn" }, `Waits for a second person, ${leftOf(plan.expires)} left.`)] : []),
    ...(plan.why ? [el("p", { class: "warn" }, plan.why)] : []),
    ...attention(plan.failed?.filter((each) => !OPEN.includes(each.why))));
}

function groupBlock(group) {
  const counted = COUNTS.filter((name) => group[name]).map((name) => el("span", { class: ALARMS.includes(name) ? "fault-word" : "warn" }, ` ${group[name]} ${name}`));
  const recipes = Object.entries(group.recipes ?? {}).map(([name, count]) => `${name} on ${count}`).join(", ");
  return el("article", { class: "group", id: `group-${group.name}` },
    el("h4", {}, `@${group.name}`),
    el("p", {}, `${group.online ?? 0} of ${group.arms ?? 0} online, ${group.ready ?? 0} ready`, ...counted),
    ...(group.next_end ? [el("p", { class: "soft" }, `next end ${clock(group.next_end)}, in ${leftOf(group.next_end)}`)] : []),
    ...(recipes ? [el("p", { class: "soft" }, `${recipes}${group.recipe_drift ? `; ${group.recipe_drift} not as it says` : ""}`)] : []),
    ...attention(group.attention));
}

/** The overrides of an arm as lines of its facts; their countdowns go on by themselves. */
export function overrideLines(overrides, shown) {
  return overrides.map((each) => el("li", {},
    el("b", { class: each.state === "overdue" ? "w-held" : "w-writing" }, each.state),
    ` ${each.paths.map((path) => path.split("/").map((part) => (/^[A-Z_]+$/.test(part) ? words(part) : part.replaceAll("_", " "))).join(" · ")).join(", ")}, ${each.direction}, rev ${each.rev}, by ${each.by}, until ${clock(each.until)}: `,
    el("span", { class: "left", data: { until: each.until } }, leftOf(each.until)), " left",
    Object.keys(each.ground).length ? `, then ${Object.values(each.ground).map((value) => shown(value)).join(", ")}` : ""));
}
