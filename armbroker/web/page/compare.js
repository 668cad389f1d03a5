// What differs between the arms that were picked.
import { ask, el, shown, unitShown, words } from "./dom.js";

export class Compare {
  constructor(side, { closed }) {
    this.side = side;
    this.closed = closed;
    this.arms = [];
    this.all = false;
  }

  async open(arms) {
    this.arms = arms;
    await this.load();
  }

  async load() {
    const query = this.arms.map((arm) => `arm=${encodeURIComponent(arm)}`).join("&");
    try {
      this.facts = (await ask(`api/compare?${query}`)).facts;
      this.draw();
    } catch (error) {
      this.side.replaceChildren(this.bar(), el("p", { class: "fault" }, error.message));
    }
  }

  bar() {
    return el("div", { class: "bar" }, el("h2", {}, `${this.arms.length} arms compared`),
      el("label", {}, el("input", { type: "checkbox", checked: this.all, change: (event) => { this.all = event.target.checked; this.draw(); } }), " also what is alike"),
      el("button", { type: "button", class: "close", "aria-label": "Close", click: () => this.closed() }, "✕"));
  }

  draw() {
    const facts = this.facts.filter((fact) => this.all || fact.differs);
    const alike = this.facts.length - this.facts.filter((fact) => fact.differs).length;
    const text = (fact, value) => shown(value, fact.unit);
    const lines = facts.map((fact) => {
      const texts = fact.values.map((value) => text(fact, value));
      return el("tr", { class: fact.differs ? "differs" : "" },
        el("th", { scope: "row" }, fact.what.split(" ").map((part) => (/^[A-Z_]+$/.test(part) ? words(part) : part.replaceAll("_", " "))).join(" "), fact.unit ? el("span", { class: "unit" }, ` ${unitShown(fact.unit)}`) : null),
        ...texts.map((each) => el("td", { class: fact.differs && each !== texts[0] ? "other" : "" }, fact.differs && each !== texts[0] ? `≠ ${each}` : each)));
    });
    this.side.replaceChildren(this.bar(), el("div", { class: "scroll" },
      el("table", { class: "compared" },
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Reported"), ...this.arms.map((arm) => el("th", { scope: "col" }, arm)))),
        el("tbody", {}, ...lines)),
      el("p", { class: "note" }, facts.length ? `${alike} facts are alike. ≠ marks what is not as with ${this.arms[0]}.` : "Nothing differs.")));
  }
}
