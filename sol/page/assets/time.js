// Time: the strip over the whole run, its zoom, and the bars of one row.

/** Most bars that one row draws; of more, the longest. */
const LANE_BARS = 80;

class Time {
  constructor(model) {
    this.model = model;
    this.view = null; // seconds [from, to]; null: the whole run
    this.canvas = $("strip-canvas");
    this.setUp();
    this.drawLegend();
  }

  get from() { return this.view ? this.view[0] : 0; }
  get to() { return this.view ? this.view[1] : this.model.until; }
  share(seconds) { return (seconds - this.from) / (this.to - this.from || 1); }

  zoom(from, to) {
    const until = this.model.until;
    const least = until / 1e4;
    const width = Math.max(Math.min(to - from, until), least);
    const start = Math.max(0, Math.min(from, until - width));
    this.view = width >= until * 0.999 ? null : [start, start + width];
    app.drawAll();
  }

  setUp() {
    const at = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return this.from + ((event.clientX - box.left) / box.width) * (this.to - this.from);
    };
    let begun = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      begun = { at: at(event), x: event.clientX };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (begun) this.draw([begun.at, at(event)]);
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (begun && Math.abs(event.clientX - begun.x) > 4) this.zoom(Math.min(begun.at, at(event)), Math.max(begun.at, at(event)));
      else this.draw();
      begun = null;
    });
    this.canvas.addEventListener("pointercancel", () => { begun = null; this.draw(); });
    this.canvas.addEventListener("dblclick", () => { this.view = null; app.drawAll(); });
    this.canvas.addEventListener("keydown", (event) => {
      const [from, width] = [this.from, this.to - this.from];
      const moves = {
        "+": [from + width / 4, from + (width * 3) / 4], "=": [from + width / 4, from + (width * 3) / 4],
        "-": [from - width / 2, from + width * 1.5], ArrowLeft: [from - width / 4, from + (width * 3) / 4],
        ArrowRight: [from + width / 4, from + width * 1.25], 0: [0, this.model.until],
      };
      if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.zoom(...moves[event.key]);
    });
    $("unzoom").addEventListener("click", () => { this.view = null; app.drawAll(); });
    window.addEventListener("theme", () => this.draw());
  }

  drawLegend() {
    const kinds = [["attempt", "attempt"], ["split", "split"], ["check", "check, judge"], ["integrate", "merge, integrate"], ["", "other"]];
    $("legend").replaceChildren(...kinds.map(([kind, words]) => el("span", null, el("i", { class: `swatch ${kindClass(kind)}` }), words)),
      el("span", null, el("i", { class: "swatch line" }), "critical path"));
  }

  /** How many were at work at each moment, by kind, and below it the critical path. */
  draw(picked) {
    const canvas = this.canvas;
    const box = canvas.getBoundingClientRect();
    if (!box.width) return;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, width, height);
    const names = ["--k-attempt", "--k-split", "--k-check", "--k-integrate", "--k-other"];
    const { steps, path } = this.sums(width);
    const most = Math.max(...steps.map((row) => row[names.length]), 1);
    const pathHeight = Math.round(7 * ratio);
    const room = height - pathHeight - Math.round(6 * ratio);
    names.forEach((name, k) => {
      context.fillStyle = resolved(name);
      for (let x = 0; x < width; x++) {
        const row = steps[x];
        let below = 0;
        for (let j = 0; j < k; j++) below += row[j];
        if (row[k]) context.fillRect(x, room + 3 * ratio - ((below + row[k]) / most) * room, 1, (row[k] / most) * room);
      }
    });
    context.fillStyle = resolved("--accent");
    for (let x = 0; x < width; x++) if (path[x]) context.fillRect(x, height - pathHeight, 1, Math.round(3 * ratio));
    if (picked) {
      context.fillStyle = resolved("--focus");
      context.globalAlpha = 0.25;
      const [a, b] = picked.map((seconds) => this.share(seconds) * width);
      context.fillRect(Math.min(a, b), 0, Math.abs(b - a), height);
      context.globalAlpha = 1;
    }
    $("range").textContent = this.view ? `${duration(this.from)} – ${duration(this.to)} of ${duration(this.model.until)}` : `${duration(this.model.until)}, at most ${number(Math.round(most))} at once`;
    $("unzoom").hidden = !this.view;
  }

  /** For each pixel: how much of each kind went on on average, and whether the critical path was at work there. */
  sums(width) {
    const steps = Array.from({ length: width }, () => [0, 0, 0, 0, 0, 0]);
    const path = new Uint8Array(width);
    const whole = Array.from({ length: 5 }, () => new Float64Array(width + 1));
    const until = this.model.until;
    for (const span of this.model.spans) {
      const a = this.share(span.start) * width;
      const b = this.share(span.end ?? until) * width;
      if (b < 0 || a > width) continue;
      const kind = KIND_PLACE[span.kind] ?? 4;
      const [left, right] = [Math.max(a, 0), Math.min(b, width)];
      const [first, last] = [Math.min(Math.floor(left), width - 1), Math.min(Math.floor(right), width - 1)];
      if (first === last) steps[first][kind] += right - left;
      else {
        steps[first][kind] += first + 1 - left;
        steps[last][kind] += right - last;
        whole[kind][first + 1] += 1;
        whole[kind][last] -= 1;
      }
      if (span.critical) path.fill(1, first, last + 1);
    }
    for (let kind = 0; kind < 5; kind++) {
      let running = 0;
      for (let x = 0; x < width; x++) {
        running += whole[kind][x];
        steps[x][kind] += running;
        steps[x][5] += steps[x][kind];
      }
    }
    return { steps, path };
  }

  /** The bars of a row, and a thin line for all below it. */
  lane(row) {
    const lane = el("div", { class: "lane" });
    const until = this.model.until;
    const add = (from, to, properties) => {
      const [a, b] = [this.share(from), this.share(to)];
      if (b < 0 || a > 1) return;
      const left = Math.max(a, 0);
      lane.append(el("i", { ...properties, style: { left: `${left * 100}%`, width: `${(Math.min(b, 1) - left) * 100}%` } }));
    };
    if (row.children.length && row.first < Infinity) add(row.first, row.running ? until : row.last, { class: "under" });
    let spans = row.spans;
    if (spans.length > LANE_BARS)
      spans = [...spans].sort((a, b) => (b.end ?? until) - b.start - ((a.end ?? until) - a.start)).slice(0, LANE_BARS);
    for (const span of spans) {
      const end = span.end ?? until;
      const classes = [kindClass(span.kind), span.end === null && "open", span.critical && "critical"].filter(Boolean).join(" ");
      add(span.start, end, { class: classes, title: `${span.kind} ${span.n}: ${duration(end - span.start)}, from ${duration(span.start)}${span.critical ? ", on the critical path" : ""}` });
    }
    return lane;
  }

  /** Where round seconds are. */
  ticks() {
    const width = this.to - this.from;
    const rough = width / 5;
    const base = 10 ** Math.floor(Math.log10(rough));
    const sizes = rough > 30 ? [30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400, 604800] : [base, 2 * base, 5 * base, 10 * base];
    const step = sizes.find((size) => size >= rough) || sizes.at(-1);
    const found = [];
    for (let k = Math.ceil(this.from / step); k * step < this.to && found.length < 20; k++)
      found.push([k * step, step < 0.1 ? `${Math.round(k * step * 1000)}ms` : duration(k * step)]);
    return found;
  }
}

const KIND_PLACE = { attempt: 0, split: 1, review: 1, atomic: 1, check: 2, judge: 2, merge: 3, integrate: 3, land: 3 };

/** A colour as the canvas takes it: `light-dark()` is worked out by an element, not by the variable. */
function resolved(name) {
  const probe = resolved.probe || (resolved.probe = document.body.appendChild(el("i", { hidden: true })));
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}
