// One node's history: what it was to do, what was tried, reported, checked and decided, and by which rule.

class Panel {
  constructor(model, source) {
    this.model = model;
    this.source = source;
    this.panel = $("panel");
    this.drafts = new Map();
    this.panel.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !(event.target instanceof HTMLTextAreaElement)) app.closePanel({ focus: true });
    });
  }

  async show(i) {
    const again = this.i === i;
    this.i = i;
    const row = this.model.rows[i];
    const fetched = this.source.nodeHistory(row);
    if (!again) this.draw(row, null);
    let nodeHistory;
    try {
      nodeHistory = await fetched;
    } catch (error) {
      nodeHistory = { sections: [["History", [["", `It could not be read: ${error.message}`, "bad"]]]], events: [], leftOut: 0 };
    }
    if (this.i === i) this.draw(this.model.rows[i], nodeHistory, again);
  }

  draw(row, nodeHistory, again = false) {
    const typing = document.activeElement instanceof HTMLTextAreaElement && this.panel.contains(document.activeElement);
    if (again && typing) return; // what somebody types is not taken away
    const scrolled = again ? this.panel.scrollTop : 0;
    const open = again ? new Set([...this.panel.querySelectorAll("details[open]")].map((one) => one.dataset.n)) : new Set();
    this.panel.replaceChildren(this.head(row), this.used(row), ...(this.actions(row) || []), ...this.parts(row), ...(nodeHistory ? this.nodeHistory(nodeHistory, open) : []));
    this.panel.scrollTop = scrolled;
  }

  head(row) {
    const crumbs = [];
    for (let above = this.model.rows[row.parent]; above && crumbs.length < 4; above = this.model.rows[above.parent]) crumbs.unshift(link(above));
    const name = row.path || ".";
    return el("div", { class: "panel-head" },
      el("div", { class: "line" },
        el("span", { class: `pill ${tone(row.state)}` }, icon(row.state), row.state),
        el("span", { class: "crumbs" }, crumbs, el("b", { class: "mono", title: row.path.slice(-400) }, name.length > 24 ? `…${name.slice(-24)}` : name)),
        el("button", { class: "button quiet small", type: "button", "aria-label": "Close", on: { click: () => app.closePanel({ focus: true }) } }, "✕")),
      el("h2", null, row.title),
      this.detail(row) && el("p", { class: "faint" }, this.detail(row)));
  }

  detail(row) { return row.doing || (row.state === "waiting" ? "" : row.detail); }

  used(row) {
    const shown = (spent) => [spent[SECONDS] && duration(spent[SECONDS]), spent[TOKENS] && `${amount(spent[TOKENS])} tokens`, spent[COST] && money(spent[COST]), spent[CALLS] && counted(spent[CALLS], "call")].filter(Boolean).join(", ") || "nothing";
    const facts = [["worker", row.worker], ["attempts", String(row.attempts)], ["level", number(row.depth)], ["used", shown(row.spent)]];
    if (row.children.length) facts.push(["with all below", shown(row.total)]);
    if (row.kind) facts.push(["kind", row.kind.replaceAll("_", " ")]);
    if (row.dimension) facts.push(["split along", row.dimension.replaceAll("_", " ")]);
    if (row.onPath) facts.push(["on the", "critical path"]);
    return el("div", { class: "used" }, facts.map(([name, value]) => el("span", null, `${name} `, el("b", null, value))));
  }

  /** What can be asked of the node; None in a file. */
  actions(row) {
    if (!this.source.ask) return null;
    const made = [];
    if (row.state === "waiting") {
      const text = el("textarea", { "aria-label": "Answer", placeholder: "Your answer", on: { input: () => this.drafts.set(row.path, text.value) } });
      text.value = this.drafts.get(row.path) || "";
      const send = el("button", { class: "button main", type: "submit" }, "Answer");
      made.push(el("h3", null, "Question"), el("form", { class: "say", on: { submit: async (event) => {
        event.preventDefault();
        if (!text.value.trim()) return text.focus();
        send.disabled = true;
        if (await this.source.ask("answer", { node: row.path, text: text.value })) {
          this.drafts.delete(row.path);
          text.value = "";
          text.blur();
        }
        send.disabled = false;
        return undefined;
      } } }, el("p", null, row.detail), text, send));
    }
    if (!ENDED.has(row.state) && row.i > 0)
      made.push(el("div", { class: "say" }, el("button", { class: "button danger", type: "button", on: { click: () => app.cancel(row) } }, "Cancel this node")));
    return made;
  }

  parts(row) {
    if (!row.children.length) return [];
    const most = 30;
    return [el("h3", null, `Parts`), el("ul", { class: "parts" }, row.children.slice(0, most).map((i) => {
      const child = this.model.rows[i];
      return el("li", { class: tone(child.state) }, icon(child.state), link(child), el("span", { class: "what", title: child.title }, child.title));
    }), row.children.length > most && el("li", { class: "faint" }, `… and ${number(row.children.length - most)} more`))];
  }

  nodeHistory(nodeHistory, open) {
    const made = [];
    const answering = this.source.ask && this.model.rows[this.i].state === "waiting";
    for (const [title, rows] of nodeHistory.sections) {
      if (title === "Question" && answering) continue;
      made.push(el("h3", null, title), el("dl", null, this.pairs(rows)));
    }
    if (nodeHistory.events.length) made.push(el("h3", null, "What happened"), this.events(nodeHistory, open));
    return made;
  }

  pairs(rows) {
    let before = null;
    return rows.map(([label, text, how]) => {
      const shown = label && label !== before ? label : "";
      before = label;
      const classes = { code: "code", good: "good", bad: "bad", open: "open-tone" }[how] || "";
      const value = el("dd", { class: classes + (label ? "" : " wide"), tabindex: how === "code" ? "0" : null }, text);
      return label ? [el("dt", null, shown), value] : [value];
    });
  }

  events({ events, leftOut }, open) {
    const half = Math.floor(events.length / 2);
    return el("ol", { class: "events" }, events.map(([at, type, lines, data], n) => [
      leftOut > 0 && n === half && el("li", null, el("span"), el("span", { class: "faint" }, `… ${counted(leftOut, "event")} left out`)),
      el("li", null, el("span", { class: "at", title: type }, duration(Math.max(at, 0))),
        data === "{}" ? el("span", { class: "words" }, lines.join("\n"))
          : el("details", { "data-n": n, open: open.has(String(n)) }, el("summary", { class: "words" }, lines.join("\n")), this.data(data))),
    ]));
  }

  /** An event's data, indented when it is opened. */
  data(text) {
    let shown = text;
    try {
      shown = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      // it was cut
    }
    return el("div", { class: "code words" }, shown);
  }
}
