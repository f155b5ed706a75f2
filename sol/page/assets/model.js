// The run as it is known here: rows, bars, what is open, what is filtered. Draws nothing.

const ENDED = new Set(["success", "failed", "skipped", "blocked", "cancelled", "exhausted"]);
const BAD = new Set(["failed", "exhausted", "cancelled", "blocked", "skipped"]);
const ORDER = ["waiting", "running", "failed", "exhausted", "cancelled", "blocked", "skipped", "pending", "success", "split"];
const [CALLS, TOKENS, COST, SECONDS] = [0, 1, 2, 3];

class Model {
  constructor(data) {
    this.rows = [];
    this.spans = [];
    this.filter = { text: "", states: new Set(), critical: false };
    this.update(data.about, data.rows.map((row, i) => [i, ...row]), data.spans.map((span, i) => [i, ...span]));
    this.openFirst();
  }

  /** Take in what has changed: rows and bars, each with its place in front; `critical` is the whole path if given. */
  update(about, rows, spans, critical) {
    this.about = about;
    this.received = performance.now();
    for (const raw of rows) this.setRow(raw);
    for (const [place, at, kind, n, start, end, onPath] of spans) {
      const old = this.spans[place];
      const span = { at, kind, n, start, end, critical: Boolean(onPath) };
      this.spans[place] = span;
      if (!this.rows[at]) continue;
      if (old) this.rows[at].spans.splice(this.rows[at].spans.indexOf(old), 1, span);
      else this.rows[at].spans.push(span);
    }
    if (critical) {
      const path = new Set(critical);
      this.spans.forEach((span, i) => { span.critical = path.has(i); });
    }
    this.sum();
  }

  setRow([i, parent, suffix, state, kind, title, detail, doing, worker, attempts, dimension, splits, checks, spent]) {
    const above = this.rows[parent];
    let row = this.rows[i];
    if (!row) {
      row = { i, parent, children: [], spans: [], open: false };
      row.path = typeof suffix === "string" ? (above ? above.path : "") + suffix : suffix[0];
      row.depth = above ? above.depth + 1 : 0;
      this.rows[i] = row;
      if (above) {
        if (above.depth < 2 && this.rows.length < 400) above.open = true;
        above.children.push(i);
      }
    }
    Object.assign(row, { kind, title, detail, doing, worker, attempts, dimension, splits, checks, spent });
    row.state = doing && !ENDED.has(state) ? "running" : state;
    row.hay = undefined;
  }

  /** What each node and all below it have used, and when; how many nodes are in which state. */
  sum() {
    this.counts = {};
    this.maxDepth = 0;
    this.end = 0;
    this.criticalRows = new Set();
    for (const row of this.rows) {
      row.total = [...row.spent];
      row.first = Infinity;
      row.last = -Infinity;
      row.running = false;
      row.onPath = false;
      this.counts[row.state] = (this.counts[row.state] || 0) + 1;
      this.maxDepth = Math.max(this.maxDepth, row.depth);
    }
    for (const span of this.spans) {
      this.end = Math.max(this.end, span.end ?? span.start);
      const row = this.rows[span.at];
      if (!row) continue;
      row.first = Math.min(row.first, span.start);
      row.last = Math.max(row.last, span.end ?? span.start);
      if (span.end === null) row.running = true;
      if (span.critical) {
        this.criticalRows.add(span.at);
        row.onPath = true;
      }
    }
    for (let i = this.rows.length - 1; i > 0; i--) {
      const row = this.rows[i];
      const above = this.rows[row.parent];
      for (let k = 0; k < 4; k++) above.total[k] += row.total[k];
      above.first = Math.min(above.first, row.first);
      above.last = Math.max(above.last, row.last);
      above.running ||= row.running;
    }
  }

  /** Seconds from the beginning to the last thing that is known, or to now while somebody is at work. */
  get until() {
    if (!this.live) return Math.max(this.end, 0.001);
    const now = this.about.now - this.about.began + (performance.now() - this.received) / 1000;
    return Math.max(this.end, now, 0.001);
  }

  get live() {
    return Boolean(this.about.heldBy) && this.about.status === "running";
  }

  get elapsed() {
    if (this.live) return (this.about.elapsed ?? 0) + (performance.now() - this.received) / 1000;
    return this.about.elapsed ?? this.until;
  }

  /** Open what somebody who comes here wants to see first. */
  openFirst() {
    const small = this.rows.length <= 120;
    for (const row of this.rows) row.open = small || row.depth < 3;
    const urgent = this.rows.filter((row) => row.state === "waiting" || row.doing || row.state === "failed");
    for (const row of urgent.slice(0, 20)) this.reveal(row.i);
  }

  reveal(i) {
    for (let row = this.rows[this.rows[i].parent]; row; row = this.rows[row.parent]) row.open = true;
  }

  setAll(open) {
    for (const row of this.rows) row.open = open || row.i === 0;
  }

  get filtered() {
    return Boolean(this.filter.text || this.filter.states.size || this.filter.critical);
  }

  matches(row) {
    const { text, states, critical } = this.filter;
    if (states.size && !states.has(row.state)) return false;
    if (critical && !row.onPath) return false;
    if (!text) return true;
    row.hay ??= `${row.path || "."}\n${row.title}\n${row.detail}\n${row.doing}\n${row.worker}\n${row.kind}`.toLowerCase();
    return row.hay.includes(text);
  }

  /** Places of the rows to show, in tree order; with a filter, of those that match and all above them. */
  visible() {
    if (!this.rows.length) return [];
    let kept = null;
    this.matching = null;
    if (this.filtered) {
      kept = new Set();
      this.matching = new Set();
      for (const row of this.rows) {
        if (!this.matches(row)) continue;
        this.matching.add(row.i);
        for (let i = row.i; i >= 0 && !kept.has(i); i = this.rows[i].parent) kept.add(i);
      }
    }
    const shown = [];
    const todo = kept && !kept.has(0) ? [] : [0];
    while (todo.length) {
      const row = this.rows[todo.pop()];
      shown.push(row.i);
      if (!row.open && !kept) continue;
      for (let k = row.children.length - 1; k >= 0; k--)
        if (!kept || kept.has(row.children[k])) todo.push(row.children[k]);
    }
    return shown;
  }
}
