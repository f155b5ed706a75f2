// The tree: only the rows in sight exist, so that any number of nodes scrolls fast. Keys as in the ARIA tree pattern.

const MARGIN_ROWS = 8;
const DEEPEST_INDENT = 16;
const MEASURES = {
  [TOKENS]: { name: "Tokens", shown: (n) => (n ? amount(n) : "") },
  [COST]: { name: "Cost", shown: (n) => (n ? money(n) : "") },
  [SECONDS]: { name: "Work", shown: (n) => (n ? duration(n) : "") },
  [CALLS]: { name: "Calls", shown: (n) => (n ? number(n) : "") },
};
const TIME = "time";

class Tree {
  constructor(model, time) {
    this.model = model;
    this.time = time;
    this.box = $("scroll");
    this.tree = $("tree");
    this.active = 0;
    this.chosen = -1;
    this.column = TIME;
    this.drawn = new Map();
    this.setUp();
  }

  setUp() {
    this.box.addEventListener("scroll", () => this.later(), { passive: true });
    window.addEventListener("scroll", () => this.later(), { passive: true });
    window.addEventListener("resize", () => app.drawAll());
    this.tree.addEventListener("keydown", (event) => this.key(event));
    this.tree.addEventListener("click", (event) => {
      const found = event.target.closest(".row");
      if (!found) return;
      const i = Number(found.dataset.i);
      if (event.target.closest(".twist") && this.model.rows[i].children.length) this.toggle(i);
      else app.select(i, { panel: true });
    });
    this.tree.addEventListener("dblclick", (event) => {
      const found = event.target.closest(".row");
      if (found && !event.target.closest(".twist")) this.toggle(Number(found.dataset.i));
    });
  }

  get rowHeight() { return narrow.matches ? 56 : 30; }

  toggle(i, open = !this.model.rows[i].open) {
    if (this.model.filtered) return;
    this.model.rows[i].open = open;
    this.active = i;
    this.refresh();
  }

  /** The rows may have changed: work out which there are. */
  refresh() {
    this.shown = this.model.visible();
    this.places = new Map(this.shown.map((i, place) => [i, place]));
    if (!this.places.has(this.active)) this.active = this.shown[0] ?? 0;
    this.tree.style.height = `${this.shown.length * this.rowHeight}px`;
    $("nothing").hidden = this.shown.length > 0;
    this.siblings = new Map();
    this.draw();
  }

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw({ keep: true }); });
  }

  /** Draw what is in sight; `keep`: rows drawn before have not changed. */
  draw({ keep = false } = {}) {
    if (!this.shown) return;
    const height = this.rowHeight;
    const own = this.tree.getBoundingClientRect();
    const top = narrow.matches ? -own.top : this.box.scrollTop;
    const inSight = narrow.matches ? window.innerHeight : this.box.clientHeight;
    const first = Math.max(Math.floor(top / height) - MARGIN_ROWS, 0);
    const last = Math.min(Math.ceil((top + inSight) / height) + MARGIN_ROWS, this.shown.length);
    const wanted = new Map();
    for (let place = first; place < last; place++) wanted.set(this.shown[place], place);
    for (const [i, row] of this.drawn) if (!keep || !wanted.has(i)) { row.remove(); this.drawn.delete(i); }
    for (const [i, place] of wanted) {
      if (this.drawn.has(i)) continue;
      const row = this.row(this.model.rows[i], place);
      this.drawn.set(i, row);
      this.tree.append(row);
    }
    this.mark();
    document.documentElement.style.setProperty("--scrollbar", `${this.box.offsetWidth - this.box.clientWidth}px`);
    if (!keep) this.drawRuler();
  }

  mark() {
    for (const [i, row] of this.drawn) {
      row.classList.toggle("active", i === this.active);
      row.classList.toggle("chosen", i === this.chosen);
      row.setAttribute("aria-selected", String(i === this.chosen));
    }
    if (this.drawn.has(this.active)) this.tree.setAttribute("aria-activedescendant", `row-${this.active}`);
    else this.tree.removeAttribute("aria-activedescendant");
  }

  row(row, place) {
    const { model } = this;
    const above = model.rows[row.parent];
    const aside = model.matching && !model.matching.has(row.i);
    const open = model.filtered ? row.children.some((i) => this.places.has(i)) : row.open;
    const made = el("div", {
      class: `row${aside ? " aside" : ""}`, role: "treeitem", id: `row-${row.i}`, "data-i": row.i, "data-path": row.path || ".",
      "aria-level": row.depth + 1, "aria-expanded": row.children.length ? String(open) : null,
      "aria-setsize": above ? above.children.length : 1, "aria-posinset": above ? this.position(above, row.i) : 1,
      "aria-label": `${row.state}, node ${row.path || "root"}: ${row.title}${this.detail(row) ? `. ${this.detail(row)}` : ""}`,
      style: { top: `${place * this.rowHeight}px` },
    });
    made.append(this.main(row), this.right(row));
    return made;
  }

  position(above, i) {
    let places = this.siblings.get(above.i);
    if (!places) this.siblings.set(above.i, (places = new Map(above.children.map((child, k) => [child, k + 1]))));
    return places.get(i);
  }

  detail(row) { return row.doing || row.detail; }

  main(row) {
    const wanted = this.model.filter.text;
    const twist = el("span", { class: "twist", "aria-hidden": "true" });
    if (row.children.length) {
      const arrow = document.createElementNS(SVG, "svg");
      arrow.setAttribute("viewBox", "0 0 10 10");
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("d", "M2.5 0.5L8 5L2.5 9.5z");
      arrow.append(path);
      twist.append(arrow);
    }
    const step = narrow.matches ? 10 : 16;
    const deep = row.depth > DEEPEST_INDENT;
    const loud = row.state === "waiting" || row.state === "failed" || row.state === "running";
    const short = row.path.length > 14 ? `…${row.path.slice(-13)}` : row.path || ".";
    return el("div", { class: "main", style: { "padding-left": `${Math.min(row.depth, DEEPEST_INDENT) * step}px` } },
      twist, deep && el("span", { class: "deep" }, `↳ level ${number(row.depth)}`),
      el("span", { class: `state ${tone(row.state)}` }, icon(row.state), el("span", null, row.state)),
      el("span", { class: "path", title: row.path.slice(-400) }, marked(short, wanted)),
      el("span", { class: "title", title: row.title }, marked(row.title, wanted)),
      el("span", { class: `detail${loud ? ` loud ${tone(row.state)}` : ""}`, title: this.detail(row) }, marked(this.detail(row), wanted)));
  }

  right(row) {
    const right = el("div", { class: "right" });
    if (this.column === TIME) {
      right.append(this.time.lane(row));
      return right;
    }
    const whole = this.model.rows[0].total[this.column] || 1;
    const [own, total] = [row.spent[this.column], row.total[this.column]];
    const shown = MEASURES[this.column].shown;
    const words = `${shown(total) || "nothing"}${row.children.length ? `, of which ${shown(own) || "nothing"} by itself` : ""}`;
    right.append(el("div", { class: "amount", title: words },
      el("div", { class: "track" }, el("i", { class: "own", style: { width: `${(100 * own) / whole}%` } }),
        el("i", { class: "below", style: { width: `${(100 * (total - own)) / whole}%` } })),
      el("span", { class: "number" }, shown(total))));
    return right;
  }

  drawRuler() {
    const ticks = el("div", { class: "ticks" });
    if (this.column === TIME)
      for (const [seconds, words] of this.time.ticks())
        ticks.append(el("span", { style: { left: `${this.time.share(seconds) * 100}%` } }, words));
    else ticks.append(el("span", { class: "all" }, `${MEASURES[this.column].name.toLowerCase()}: dark by itself, light below it`));
    const words = this.model.matching ? `${counted(this.model.matching.size, "match").replace("matchs", "matches")} of ${counted(this.model.rows.length, "node")}` : counted(this.model.rows.length, "node");
    $("ruler").replaceChildren(el("span", { class: "name" }, words), ticks);
  }

  /** Make a row the active one, and bring it into sight. */
  focus(i) {
    if (!this.places.has(i)) return;
    this.active = i;
    const height = this.rowHeight;
    const top = this.places.get(i) * height;
    if (narrow.matches) {
      const y = this.tree.getBoundingClientRect().top + top;
      if (y < 100 || y > window.innerHeight - height) window.scrollBy(0, y - window.innerHeight / 3);
    } else if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + height > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + height - this.box.clientHeight;
    this.draw({ keep: true });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.shown.length) return;
    const row = this.model.rows[this.active];
    const place = this.places.get(this.active);
    const page = Math.max(Math.floor(this.box.clientHeight / this.rowHeight) - 1, 1);
    const to = (k) => this.go(this.shown[Math.max(0, Math.min(k, this.shown.length - 1))]);
    const inTree = row.children.find((i) => this.places.has(i));
    const acts = {
      ArrowDown: () => to(place + 1), ArrowUp: () => to(place - 1), Home: () => to(0), End: () => to(this.shown.length - 1),
      PageDown: () => to(place + page), PageUp: () => to(place - page),
      ArrowRight: () => (inTree !== undefined ? this.go(inTree) : row.children.length && this.toggle(row.i, true)),
      ArrowLeft: () => (inTree !== undefined && !this.model.filtered ? this.toggle(row.i, false) : row.parent >= 0 && this.go(row.parent)),
      Enter: () => app.select(row.i, { panel: true, enter: true }), " ": () => app.select(row.i, { panel: true }),
      "*": () => { for (const i of this.model.rows[row.parent]?.children || [0]) this.model.rows[i].open = true; this.refresh(); },
      Escape: () => app.closePanel(),
    };
    const act = acts[event.key];
    if (act) {
      event.preventDefault();
      act();
    } else if (event.key.length === 1 && event.key !== "/") this.type(event.key.toLowerCase());
  }

  go(i) {
    this.focus(i);
    if (!narrow.matches && !$("panel").hidden) app.select(i, { panel: true });
  }

  /** A letter leads to the next node whose title or path begins with it. */
  type(letter) {
    const from = this.places.get(this.active);
    for (let k = 1; k <= this.shown.length; k++) {
      const row = this.model.rows[this.shown[(from + k) % this.shown.length]];
      if (row.title.toLowerCase().startsWith(letter) || row.path.startsWith(letter)) return this.go(row.i);
    }
    return undefined;
  }
}
