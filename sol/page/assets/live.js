// Where the data comes from: this file, or the server that the page came from.

const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** A file: histories lie packed in blocks, which are unpacked when one of them is looked at. */
class FileSource {
  constructor(packed) {
    this.packed = packed;
    this.blocks = new Map();
  }

  async nodeHistory(row) {
    const n = Math.floor(row.i / this.packed.size);
    if (!this.blocks.has(n)) this.blocks.set(n, this.unpack(n));
    return (await this.blocks.get(n))[row.i % this.packed.size];
  }

  async unpack(n) {
    if (typeof DecompressionStream === "undefined") throw new Error("this browser is too old to unpack it");
    const bytes = fromBase64($(`histories-${n}`).textContent);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }
}

/** A server: it tells what has changed for as long as the page is open. */
class LiveSource {
  constructor(settings, id) {
    this.settings = settings;
    this.id = id;
    this.base = `/api/runs/${encodeURIComponent(id)}`;
  }

  async overview() { return getJson(this.base); }

  async nodeHistory(row) { return getJson(`${this.base}/history?node=${encodeURIComponent(row.path)}`); }

  /** Ask something of the run; whether it was taken. What came of it is told either way. */
  async ask(kind, payload) {
    try {
      const response = await fetch(`${this.base}/${kind}`, { method: "POST", body: JSON.stringify(payload),
        headers: { "Content-Type": "application/json", "X-Sol-Token": this.settings.post } });
      const said = await response.json();
      notice(response.ok ? said.said : said.error);
      return response.ok;
    } catch (error) {
      notice(`The server cannot be reached: ${error.message}`);
      return false;
    }
  }

  follow(after, changed, reload) {
    const stream = new EventSource(`${this.base}/events?after=${after.seq}&generation=${after.generation}`);
    const tell = (words) => { $("link").textContent = words; };
    stream.addEventListener("open", () => tell("live"));
    stream.addEventListener("error", () => tell(stream.readyState === EventSource.CLOSED ? "not connected" : "connecting again …"));
    stream.addEventListener("changed", (event) => changed(JSON.parse(event.data)));
    stream.addEventListener("reload", () => { stream.close(); reload(); });
    window.addEventListener("pagehide", () => stream.close(), { once: true });
    return stream;
  }
}

async function getJson(address) {
  const response = await fetch(address, { headers: { Accept: "application/json" } });
  const found = await response.json();
  if (!response.ok) throw new Error(found.error || response.statusText);
  return found;
}

// --- the list of runs ------------------------------------------------------------------------------------------------

const LIST_EVERY_MS = 2000;

async function showRuns() {
  $("runs").hidden = false;
  document.title = "Sol: runs";
  $("title").textContent = "Runs";
  let shown = "";
  const draw = async () => {
    try {
      const found = await getJson("/api/runs");
      const text = JSON.stringify(found.runs.map(({ age: _age, ...run }) => run));
      $("facts").replaceChildren(el("span", null, found.where));
      $("link").textContent = "";
      if (text !== shown) $("runs").replaceChildren(runTable(found.runs));
      shown = text;
    } catch (error) {
      $("link").textContent = `not connected: ${error.message}`;
    }
    setTimeout(draw, LIST_EVERY_MS);
  };
  await draw();
}

function runTable(runs) {
  if (!runs.length) return el("p", { class: "faint pad" }, "There are no runs yet. Start one with: sol solve TASK");
  const spent = (run) => [run.cost && money(run.cost), run.tokens && `${amount(run.tokens)} tokens`, run.calls && counted(run.calls, "call")].filter(Boolean).join(", ");
  return el("table", null,
    el("thead", null, el("tr", null, ["Run", "Status", "Task"].map((name) => el("th", { scope: "col" }, name)), ["Nodes", "Took", "Spent", "Begun"].map((name) => el("th", { scope: "col", class: "wide" }, name)))),
    el("tbody", null, runs.map((run) => el("tr", null,
      el("td", { class: "mono" }, el("a", { href: `/run/${encodeURIComponent(run.id)}` }, run.id)),
      el("td", null, el("span", { class: `state ${tone(run.status)}` }, icon(run.status), run.status)),
      el("td", { class: "title" }, run.title),
      el("td", { class: "number wide" }, run.nodes ? number(run.nodes) : ""),
      el("td", { class: "number wide" }, run.elapsed === null ? "" : duration(run.elapsed)),
      el("td", { class: "wide" }, spent(run)),
      el("td", { class: "wide" }, `${age(run.age)} ago`)))));
}
