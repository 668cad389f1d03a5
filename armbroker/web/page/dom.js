// What all parts share: elements without markup in texts, numbers, times, units.

/** An element: properties, `class`, `data` and ARIA attributes, listeners as functions, then children. */
export function el(tag, given = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (name.startsWith("aria-") && typeof value === "boolean") node.setAttribute(name, String(value));
    if (value === null || value === undefined || typeof value === "boolean" && (!value || name.startsWith("aria-"))) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else if (name === "class") node.className = value;
    else if (name === "data") Object.assign(node.dataset, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export const byId = (id) => document.getElementById(id);

/** Ask the service of the page for a document; its refusal is raised in its own words. */
export async function ask(path, signal) {
  const answer = await fetch(path, { signal });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

const two = (number) => String(number).padStart(2, "0");

/** The local time of day, to the millisecond; with the day in front if it is not today. */
export function clock(at) {
  const when = new Date(at);
  if (!at || Number.isNaN(when.getTime())) return "–";
  const time = `${two(when.getHours())}:${two(when.getMinutes())}:${two(when.getSeconds())}`;
  const today = when.toDateString() === new Date().toDateString();
  const day = `${when.getFullYear()}-${two(when.getMonth() + 1)}-${two(when.getDate())} `;
  return `${today ? "" : day}${time}.${String(when.getMilliseconds()).padStart(3, "0")}`;
}

/** What is left until a time, in two units at most. */
export function leftOf(until) {
  const left = Math.floor((Date.parse(until) - Date.now()) / 1000);
  if (Number.isNaN(left)) return "–";
  if (left <= 0) return "nothing";
  const [days, hours, minutes, seconds] = [Math.floor(left / 86400), Math.floor(left / 3600) % 24, Math.floor(left / 60) % 60, left % 60];
  if (days) return `${days} d ${hours} h`;
  if (hours) return `${hours} h ${minutes} min`;
  return minutes ? `${minutes} min ${seconds} s` : `${seconds} s`;
}

export function zone() {
  const minutes = -new Date().getTimezoneOffset();
  const ahead = Math.abs(minutes);
  return minutes === 0 ? "UTC" : `UTC${minutes < 0 ? "−" : "+"}${Math.floor(ahead / 60)}:${two(ahead % 60)}`;
}

/** CARTESIAN_JOYSTICK as people read it. */
export function words(name) {
  const text = name.replace(/_CHANGED$/, "").replaceAll("_", " ").toLowerCase();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export const settings = { degrees: localStorage.getItem("units") !== "rad" };
const TURN = 180 / Math.PI;

/** A number and its unit as the reader wants angles: [number, unit]. */
export function inUnit(number, unit) {
  const angle = /^(rad|deg)(?=$|\/)/.exec(unit);
  if (!angle || typeof number !== "number") return [number, unit];
  const wanted = settings.degrees ? "deg" : "rad";
  if (angle[1] === wanted) return [number, unit];
  return [wanted === "deg" ? number * TURN : number / TURN, unit.replace(angle[1], wanted)];
}

/** Digits behind the point so that numbers up to `most` show three or four digits. */
export function digits(most) {
  if (!most) return 2;
  const wanted = 3 - Math.floor(Math.log10(Math.abs(most)));
  return Math.min(Math.abs(most) >= 0.1 ? 3 : 6, Math.max(0, wanted));
}

const MODES = /^[A-Z]+(_[A-Z]+)*$/;

export function plain(number) {
  if (typeof number !== "number") return String(number);
  return number === 0 ? "0" : String(Number(number.toFixed(digits(number))));
}

/** A value of any kind on one line: alike numbers of a list once. */
export function shown(value, unit = "") {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return plain(inUnit(value, unit)[0]);
  if (Array.isArray(value)) {
    const parts = value.map((each) => shown(each, unit));
    if (parts.length > 1 && parts.every((part) => part === parts[0])) return `${parts.length} × ${parts[0]}`;
    return parts.length ? parts.join(", ") : "none";
  }
  if (typeof value === "object") {
    const parts = Object.entries(value).map(([name, each]) => `${name} ${shown(each, unit)}`);
    return parts.length === 1 ? shown(Object.values(value)[0], unit) : parts.length ? parts.join(" · ") : "none";
  }
  if (value === "Infinity" || value === "-Infinity") return value === "Infinity" ? "∞" : "−∞";
  if (MODES.test(value)) return words(value);
  return value === "" ? "–" : String(value);
}

export const unitShown = (unit) => inUnit(1, unit)[1];

/** `call` at most once in so many milliseconds, the last time for sure. */
export function paced(milliseconds, call) {
  let timer = 0;
  let last = -Infinity;
  return () => {
    if (timer) return;
    const wait = Math.max(0, last + milliseconds - performance.now());
    timer = setTimeout(() => {
      timer = 0;
      last = performance.now();
      call();
    }, wait);
  };
}
