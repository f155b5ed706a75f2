// The five answers at the top: where it is now, what is stuck and why, how it was split, what it cost, what was checked.

const LISTED = 3;

/** A button that leads to a node. */
function link(row) {
  const name = row.path || ".";
  return el("button", { class: "go", type: "button", title: row.title, "aria-label": `Node ${name}: ${row.title}`, "data-node": name,
    on: { click: () => app.select(row.i, { show: true }) } }, name.length > 12 ? `…${name.slice(-11)}` : name);
}

function card(title, ...content) {
  return el("section", { class: "card" }, el("h2", null, title), ...content);
}

function item(row, words, state = row.state) {
  return el("li", { class: tone(state) }, icon(state), link(row), el("span", { class: "what", title: words }, words));
}

function listed(rows, words, more) {
  const rest = rows.length - LISTED;
  return el("ul", null, rows.slice(0, LISTED).map((row) => item(row, words(row))),
    rest > 0 && el("li", { class: "faint" }, el("button", { class: "go", type: "button", on: { click: more } }, `${number(rest)} more`)));
}

function nowCard(model) {
  const { about } = model;
  const busy = model.rows.filter((row) => row.doing);
  if (busy.length && model.live)
    return card("Now", el("p", { class: "big" }, `${number(busy.length)} at work`),
      listed(busy, (row) => row.doing, () => app.onlyStates(["running"])));
  const words = {
    success: "Solved", waiting: "Waits for an answer", killed: "Its process was killed", interrupted: "Interrupted",
    pending: "Not begun", running: "Between two steps",
  }[about.status] || `Ended ${about.status}`;
  const next = { waiting: "Nobody works on it until the question is answered.", killed: "Resume it to go on where it was.",
    interrupted: "Resume it to go on where it was." }[about.status] || (about.status !== "success" && about.resumable ? "It can be resumed." : "");
  return card("Now", el("p", { class: "big" }, words),
    about.reason && el("p", null, about.reason), next && el("p", { class: "faint" }, next));
}

/** Nodes that ended badly by themselves, grouped by why. */
function troubles(model) {
  const groups = new Map();
  for (const row of model.rows) {
    if (!BAD.has(row.state) || row.children.some((i) => BAD.has(model.rows[i].state))) continue;
    const why = row.detail || row.kind || row.state;
    const key = `${row.state}\n${why}`;
    if (!groups.has(key)) groups.set(key, { state: row.state, why, rows: [] });
    groups.get(key).rows.push(row);
  }
  return [...groups.values()].sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || b.rows.length - a.rows.length);
}

function stuckCard(model) {
  const asking = model.rows.filter((row) => row.state === "waiting");
  const groups = troubles(model);
  if (!asking.length && !groups.length) return card("Stuck", el("p", { class: "big" }, "Nothing"));
  const lines = asking.slice(0, LISTED).map((row) => item(row, row.detail || "asks"));
  if (asking.length > LISTED)
    lines.push(el("li", null, el("button", { class: "go", type: "button", on: { click: () => app.onlyStates(["waiting"]) } }, `${asking.length - LISTED} more questions`)));
  for (const group of groups.slice(0, LISTED)) {
    const more = group.rows.length - 1;
    lines.push(el("li", { class: tone(group.state) }, icon(group.state), link(group.rows[0]),
      more > 0 && el("button", { class: "go", type: "button", on: { click: () => app.onlyStates([group.state]) } }, `+${number(more)}`),
      el("span", { class: "what", title: group.why }, group.why)));
  }
  const rest = groups.slice(LISTED).reduce((sum, group) => sum + group.rows.length, 0);
  if (rest) lines.push(el("li", null, el("button", { class: "go", type: "button", on: { click: () => app.onlyStates([...BAD]) } }, `${number(rest)} more`)));
  const bad = groups.reduce((sum, group) => sum + group.rows.length, 0);
  const words = [asking.length && counted(asking.length, "question"), bad && `${number(bad)} ended badly`].filter(Boolean).join(", ");
  return card("Stuck", el("p", { class: "big" }, words), el("ul", null, lines));
}

function splitCard(model) {
  const splits = model.rows.filter((row) => row.splits);
  if (!splits.length) return card("Split", el("p", { class: "big" }, "Never"), el("p", { class: "faint" }, counted(model.rows.length, "node")));
  const by = new Map();
  let again = 0;
  for (const row of splits) {
    by.set(row.dimension || "?", (by.get(row.dimension || "?") || 0) + 1);
    again += row.splits - 1;
  }
  const along = [...by].sort((a, b) => b[1] - a[1]).slice(0, 3).map(([name, n]) => `${name.replaceAll("_", " ")} ${number(n)}×`).join(", ");
  const limit = model.about.maxDepth;
  return card("Split", el("p", { class: "big" }, `${counted(splits.length, "time")}, ${counted(model.rows.length, "node")}`),
    el("p", { class: "faint" }, `along ${along}`),
    el("p", { class: "faint" }, `depth ${number(model.maxDepth)}${limit === null || limit === undefined ? "" : ` of at most ${number(limit)}`}${again ? `, ${number(again)} split anew` : ""}`));
}

function meter(spent, limit, words) {
  const share = limit ? Math.min(spent / limit, 1) : 1;
  const made = el("div", { class: "meter", role: "meter", "aria-label": words, "aria-valuemin": "0", "aria-valuemax": String(limit), "aria-valuenow": String(Math.min(spent, limit)) }, el("i"));
  made.firstChild.style.width = `${100 * share}%`;
  return made;
}

function costCard(model) {
  const { spent, budget } = model.about;
  const parts = [spent.cost && money(spent.cost), spent.tokens && `${amount(spent.tokens)} tokens`, counted(spent.calls, "call")].filter(Boolean);
  const used = { calls: spent.calls, tokens: spent.tokens, cost: spent.cost, seconds: model.elapsed };
  const shown = { calls: (n) => `${number(n)} calls`, tokens: (n) => `${amount(n)} tokens`, cost: money, seconds: duration };
  const measure = spent.cost ? COST : spent.tokens ? TOKENS : SECONDS;
  const dearest = model.rows.reduce((best, row) => (row.spent[measure] > (best ? best.spent[measure] : 0) ? row : best), null);
  const [most, ...rest] = parts;
  return card("Cost", el("p", { class: "big" }, most, rest.length > 0 && el("span", { class: "less" }, `, ${rest.join(", ")}`)),
    Object.entries(budget).map(([name, limit]) => el("div", { class: "limit faint" }, `${shown[name](used[name])} of ${shown[name](limit)}`, meter(used[name], limit, `${name} used`))),
    dearest && model.rows.length > 1 && el("p", { class: "faint" }, `${duration(spent.seconds)} of work, most by `, link(dearest)),
    spent.unreported > 0 && el("p", { class: "faint" }, `${number(spent.unreported)} did not say what they used`));
}

function checkCard(model) {
  const sums = [0, 0, 0];
  let unchecked = 0;
  for (const row of model.rows) {
    row.checks.forEach((n, k) => { sums[k] += n; });
    if (row.state === "success" && row.kind === "unchecked") unchecked++;
  }
  const [held, broke, open] = sums;
  if (!held && !broke && !open) return card("Checked", el("p", { class: "big" }, "Nothing yet"));
  const bar = el("div", { class: "meter", "aria-hidden": "true" });
  for (const [n, color] of [[held, "--success"], [broke, "--failed"], [open, "--held"]]) {
    if (!n) continue;
    const part = el("i");
    part.style.flex = String(n);
    part.style.background = `var(${color})`;
    bar.append(part);
  }
  return card("Checked", el("p", { class: "big" }, held ? `${number(held)} hold` : broke ? "None holds" : "By nobody"), bar,
    el("p", { class: "faint" }, [broke && `${number(broke)} ${broke === 1 ? "does" : "do"} not hold`, open && `${number(open)} not checked`].filter(Boolean).join(", ")),
    unchecked > 0 && el("p", { class: "faint" }, `${counted(unchecked, "result")} accepted unchecked`));
}

/** Put a card in place of an old one; the focus stays on the same node's button. */
function replaceCard(old, made) {
  const focused = old.contains(document.activeElement) ? document.activeElement.dataset.node : undefined;
  old.replaceWith(made);
  if (focused !== undefined) made.querySelector(`[data-node="${CSS.escape(focused)}"]`)?.focus();
}

function drawGlance(model) {
  const { about } = model;
  const shownStatus = about.status;
  $("status").className = `pill ${tone(shownStatus)}`;
  $("status").replaceChildren(icon(shownStatus), el("span", null, shownStatus));
  $("title").textContent = about.title || about.id;
  $("title").title = about.title;
  document.title = `${about.status}: ${about.title || about.id}`;
  const facts = [["run", about.id], about.workflow ? ["workflow", about.workflow] : ["strategy", about.strategy],
    ["Sol", about.models.sol], ["Luna", about.models.luna], ["begun", new Date(about.created * 1000).toLocaleString()]];
  $("facts").replaceChildren(...facts.filter(([, value]) => value).map(([name, value]) => el("span", null, `${name} `, el("b", null, value))),
    el("span", null, "took ", el("b", { id: "elapsed" }, duration(model.elapsed))));
  // What somebody is reading or has the focus in is not drawn anew without need.
  const cards = [nowCard, stuckCard, splitCard, costCard, checkCard].map((make) => make(model));
  const old = [...$("glance").children];
  if (!old.length) $("glance").replaceChildren(...cards);
  else cards.forEach((made, k) => { if (!made.isEqualNode(old[k])) old[k].replaceWith(made); });
}
