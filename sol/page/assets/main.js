// Puts the parts together: what is chosen, what is filtered, and when what is drawn.

const app = {
  begin(data, source) {
    this.source = source;
    this.model = new Model(data);
    this.time = new Time(this.model);
    this.tree = new Tree(this.model, this.time);
    this.panel = new Panel(this.model, source);
    if (!data.rows.length) {
      notice(["Nothing of this run is there to be shown yet.", ...data.about.faults].join(" "));
      return;
    }
    $("run").hidden = false;
    this.setUp();
    this.drawAll();
    const named = decodeURIComponent(location.hash.slice(1));
    const found = named && this.model.rows.find((row) => (row.path || ".") === named);
    if (found) this.select(found.i, { show: true });
  },

  setUp() {
    let typed = 0;
    $("search").addEventListener("input", () => {
      clearTimeout(typed);
      typed = setTimeout(() => {
        this.model.filter.text = $("search").value.trim().toLowerCase();
        this.refilter();
      }, 80);
    });
    $("search").addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "Enter") { event.preventDefault(); $("tree").focus(); }
    });
    document.addEventListener("keydown", (event) => {
      const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) { event.preventDefault(); $("search").focus(); }
    });
    $("open-all").addEventListener("click", () => { this.model.setAll(true); this.tree.refresh(); });
    $("close-all").addEventListener("click", () => { this.model.setAll(false); this.tree.refresh(); });
    this.drawColumns();
    window.addEventListener("beforeprint", () => this.drawPrint());
    window.addEventListener("afterprint", () => $("print").replaceChildren());
    narrow.addEventListener("change", () => this.drawAll());
  },

  drawAll() {
    drawGlance(this.model);
    const { faults } = this.model.about;
    if (faults.length) notice(`The journal of this run is damaged. ${faults.join("; ")}`);
    this.drawStates();
    $("strip").hidden = !this.model.spans.length;
    this.time.draw();
    this.tree.refresh();
  },

  drawStates() {
    const { filter, counts, criticalRows } = this.model;
    const chip = (name, label, n, pressed, act) => el("button", { class: `chip ${name}`, type: "button", "aria-pressed": String(pressed), "data-chip": label, on: { click: act } },
      label === "critical path" ? el("i", { class: "swatch line", "aria-hidden": "true" }) : icon(label), el("span", null, label), el("b", null, number(n)));
    const made = ORDER.filter((state) => counts[state] || filter.states.has(state)).map((state) =>
      chip(tone(state), state, counts[state] || 0, filter.states.has(state), () => {
        if (!filter.states.delete(state)) filter.states.add(state);
        this.refilter();
      }));
    if (criticalRows.size)
      made.push(chip("critical", "critical path", criticalRows.size, filter.critical, () => { filter.critical = !filter.critical; this.refilter(); }));
    keepingFocus(() => $("states").replaceChildren(...made));
  },

  drawColumns() {
    const columns = [[TIME, "Time line"], ...Object.entries(MEASURES).map(([key, measure]) => [Number(key), measure.name])];
    $("columns").replaceChildren(...columns.filter(([key]) => key === TIME || this.model.rows[0].total[key] || key === SECONDS).sort(([a], [b]) => (a === TIME ? -1 : b === TIME ? 1 : b - a))
      .map(([key, name]) => el("button", { class: "button quiet small", type: "button", "aria-pressed": String(this.tree.column === key), "data-chip": name,
        on: { click: () => { this.tree.column = key; keepingFocus(() => this.drawColumns()); this.tree.refresh(); } } }, name)));
  },

  refilter() {
    this.drawStates();
    $("scroll").scrollTop = 0;
    this.tree.refresh();
  },

  onlyStates(states) {
    this.model.filter.states = new Set(states);
    this.refilter();
    $("tree").focus();
  },

  /** Choose a node. `show`: open all above it and its panel; `panel`: open its panel; `enter`: and go there. */
  select(i, { show = false, panel = show, enter = false } = {}) {
    const { tree, model } = this;
    if (show) {
      if (model.filtered && !tree.places.has(i)) this.clearFilter();
      model.reveal(i);
    }
    tree.chosen = i;
    tree.active = i;
    if (panel && $("panel").hidden) {
      $("panel").hidden = false;
      $("split").classList.add("with-panel");
      this.time.draw();
    }
    tree.refresh();
    tree.focus(i);
    history.replaceState(null, "", `#${encodeURIComponent(model.rows[i].path.slice(0, 2000) || ".")}`);
    this.panel.show(i);
    if (enter || narrow.matches) $("panel").focus();
  },

  clearFilter() {
    Object.assign(this.model.filter, { text: "", states: new Set(), critical: false });
    $("search").value = "";
    this.drawStates();
  },

  closePanel({ focus = false } = {}) {
    $("panel").hidden = true;
    $("split").classList.remove("with-panel");
    this.panel.i = -1;
    this.tree.chosen = -1;
    history.replaceState(null, "", location.pathname + location.search);
    this.tree.refresh();
    if (focus) $("tree").focus({ preventScroll: true });
  },

  /** Ask whether a node, or the run, is really to be cancelled. */
  cancel(row) {
    const what = row.i ? `node ${row.path.slice(-40)}` : "the whole run";
    const reason = el("textarea", { "aria-label": "Reason", placeholder: "Why (it is kept with the run)" });
    const dialog = $("ask");
    dialog.replaceChildren(el("form", { method: "dialog", on: { submit: (event) => {
      event.preventDefault();
      const wanted = event.submitter?.value === "yes";
      dialog.close();
      if (wanted) this.source.ask("cancel", { node: row.path, reason: reason.value });
    } } }, el("h2", null, `Cancel ${what}?`), el("p", null, row.title), el("p", { class: "faint" }, "It and all below it end for good. What was stored is kept."), reason,
    el("div", { class: "line" }, el("button", { class: "button", type: "submit", value: "no" }, "Keep it"), el("button", { class: "button danger", type: "submit", value: "yes" }, "Cancel it"))));
    dialog.showModal();
    reason.focus();
  },

  /** On paper: the rows as they are open now, without scrolling. */
  drawPrint() {
    const most = 1500;
    const rows = this.tree.shown.slice(0, most).map((i) => {
      const row = this.model.rows[i];
      return el("div", { class: "p", style: { "padding-left": `${Math.min(row.depth, 20) * 12}px` } }, el("span", { class: tone(row.state) }, icon(row.state)),
        el("span", null, row.state), el("span", { class: "mono faint" }, row.path.slice(-24) || "."), el("span", { class: "what" }, row.title, this.tree.detail(row) && el("span", { class: "faint" }, ` — ${this.tree.detail(row)}`)),
        el("span", { class: "faint" }, duration(row.total[SECONDS])));
    });
    const rest = this.tree.shown.length - rows.length;
    $("print").replaceChildren(...rows, rest > 0 ? el("p", null, `… and ${number(rest)} more`) : "");
  },

  // --- live ---

  async follow(source) {
    let overview;
    try {
      overview = await source.overview();
    } catch (error) {
      notice(`This run cannot be shown: ${error.message}`);
      return;
    }
    if (this.model) {
      location.reload();
      return;
    }
    this.begin(overview, source);
    this.showCancel();
    source.follow(overview, (patch) => this.changed(patch), () => location.reload());
    setInterval(() => this.tick(), 1000);
  },

  changed({ about, rows, spans, critical }) {
    if ($("run").hidden) {
      if (rows.length) location.reload();
      return;
    }
    const chosen = rows.some(([i]) => i === this.tree.chosen);
    this.model.update(about, rows, spans, critical);
    this.showCancel();
    this.drawAll();
    this.drawColumns();
    if (chosen && !$("panel").hidden) this.panel.show(this.tree.chosen);
  },

  showCancel() {
    const root = this.model.rows[0];
    $("cancel-run").hidden = !root || ENDED.has(root.state);
    $("cancel-run").onclick = () => this.cancel(this.model.rows[0]);
  },

  tick() {
    if (!this.model.live || document.hidden) return;
    const elapsed = $("elapsed");
    if (elapsed) elapsed.textContent = duration(this.model.elapsed);
    this.time.draw();
    if (this.tree.column === TIME) this.tree.draw();
  },
};

/** Draw something anew, and leave the focus where it was. */
function keepingFocus(draw) {
  const { chip } = document.activeElement?.dataset || {};
  draw();
  if (chip) document.querySelector(`[data-chip="${CSS.escape(chip)}"]`)?.focus();
}

{
  setUpTheme();
  const data = JSON.parse($("data").textContent);
  if (!data.live) app.begin(data, new FileSource(data.packed));
  else {
    const [, id] = location.pathname.match(/^\/run\/([^/]+)$/) || [];
    $("back").hidden = !id;
    if (id) app.follow(new LiveSource(data.live, decodeURIComponent(id)));
    else showRuns();
  }
}
