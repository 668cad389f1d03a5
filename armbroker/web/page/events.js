// Events, newest first: of all arms in the strip, of one arm in its detail.
import { clock, el, shown, words } from "./dom.js";

export const KEPT = 1000;
const IN_SIGHT = 100;

const bad = (line) => line.stage === "refused" || !line.event || ["REQUEST_DENIED", "CHANGE_CONTROL_MODE_FAILED"].includes(line.event) || (line.event === "PLAN_ENDED" && !["done", "reversed"].includes(line.cause));

/** Whether a value changed, on one line, with the unit of its item. */
function changeText(line) {
  if (line.before === undefined && line.after === undefined) return "";
  if (line.item === "lock") return line.after ? `“${line.after.reason ?? ""}”` : "";
  const unit = line.unit ?? "";
  const text = `${shown(line.before, unit)} → ${shown(line.after, unit)}`;
  return unit && typeof (line.after ?? line.before) !== "object" ? `${text} ${unit}` : text;
}

export function eventLine(line, withArm) {
  const what = line.event ? words(line.event) : "Events can be missing here";
  return el("li", { class: bad(line) ? "bad" : "", data: { arm: line.arm, seq: line.seq ?? 0 } },
    el("time", { datetime: line.at, title: line.at }, clock(line.at)),
    withArm ? el("b", {}, line.arm || "all arms") : null,
    el("span", { class: "what" }, `${bad(line) ? "✕ " : ""}${what}`, line.slot ? el("i", {}, ` ${words(line.slot)}`) : null),
    el("span", { class: "change" }, changeText(line)),
    el("span", { class: "by" }, [line.about, line.cause, line.kind, line.by ? `by ${line.by}` : "", line.reason ? `“${line.reason}”` : ""].filter(Boolean).join(" · ")));
}

export class Events {
  constructor(list) {
    this.list = list;
    this.kept = [];
  }

  reset(lines) {
    this.kept = lines.slice(-KEPT);
    this.redraw();
  }

  redraw() {
    this.list.replaceChildren(...this.kept.slice(-IN_SIGHT).reverse().map((line) => eventLine(line, true)));
  }

  add(lines) {
    this.kept.push(...lines);
    if (this.kept.length > KEPT) this.kept.splice(0, this.kept.length - KEPT);
    this.list.prepend(...lines.slice(-IN_SIGHT).reverse().map((line) => eventLine(line, true)));
    while (this.list.children.length > IN_SIGHT) this.list.lastElementChild.remove();
  }

  of(arm) {
    return this.kept.filter((line) => line.arm === arm).reverse();
  }
}
