// Small things that everything else uses. Text from a run only ever becomes a text node.

const $ = (id) => document.getElementById(id);

/** An element. `on`: listeners by type; `style`: properties by name; other properties are attributes. */
function el(tag, properties, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") made.className = value;
    else if (name === "on") for (const [type, act] of Object.entries(value)) made.addEventListener(type, act);
    else if (name === "style") for (const [key, one] of Object.entries(value)) made.style.setProperty(key, one);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";
const RING = "M8 1.6a6.4 6.4 0 1 0 0 12.8a6.4 6.4 0 1 0 0-12.8z";
/** Each state's sign, on a square of 16: lines, and a filled shape. It always stands beside the word. */
const SIGNS = {
  pending: [RING, "M8 7a1 1 0 1 0 0 2a1 1 0 1 0 0-2z"],
  running: ["M14.4 8A6.4 6.4 0 1 1 8 1.6", "M8 6a2 2 0 1 0 0 4a2 2 0 1 0 0-4z"],
  waiting: [RING + "M6 6.3a2 2 0 1 1 2.7 1.9c-.5.2-.7.5-.7 1", "M8 10.6a.9.9 0 1 0 0 1.8a.9.9 0 1 0 0-1.8z"],
  split: ["M8 14V8.5M8 8.5L3.5 3.5M8 8.5l4.5-5", "M3.2 1.6a1.6 1.6 0 1 0 .1 0zM12.8 1.6a1.6 1.6 0 1 0 .1 0z"],
  success: [RING + "M5 8.3l2.1 2.1L11 6", ""],
  failed: [RING + "M5.6 5.6l4.8 4.8M10.4 5.6l-4.8 4.8", ""],
  killed: [RING + "M5.6 5.6l4.8 4.8M10.4 5.6l-4.8 4.8", ""],
  skipped: [RING + "M3.6 12.4l8.8-8.8", ""],
  blocked: [RING + "M6.2 5.6v4.8M9.8 5.6v4.8", ""],
  interrupted: [RING + "M6.2 5.6v4.8M9.8 5.6v4.8", ""],
  cancelled: [RING, "M5.6 5.6h4.8v4.8H5.6z"],
  exhausted: ["M1.8 3h12.4L8 13.6z", ""],
};

function icon(state) {
  const made = document.createElementNS(SVG, "svg");
  made.setAttribute("viewBox", "0 0 16 16");
  made.setAttribute("class", "icon");
  made.setAttribute("aria-hidden", "true");
  const [lines, full] = SIGNS[state] || SIGNS.pending;
  for (const [d, name] of [[lines, state === "running" ? "turn" : ""], [full, "full"]]) {
    if (!d) continue;
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", d);
    if (name) path.setAttribute("class", name);
    made.append(path);
  }
  return made;
}

/** Class of a state's colour; only of states that there are. */
const tone = (state) => (Object.hasOwn(SIGNS, state) ? `s-${state}` : "");
const KINDS = ["attempt", "split", "review", "atomic", "check", "judge", "merge", "integrate", "land"];
const kindClass = (kind) => (KINDS.includes(kind) ? `k-${kind}` : "");

function duration(seconds) {
  if (seconds < 9.95) return `${seconds.toFixed(1)}s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole}s`;
  const two = (n) => String(n).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

function age(seconds) {
  for (const [limit, unit, size] of [[60, "s", 1], [3600, "min", 60], [86400, "h", 3600]])
    if (seconds < limit) return `${Math.floor(Math.max(seconds, 0) / size)} ${unit}`;
  return `${Math.floor(seconds / 86400)} d`;
}

const number = (n) => n.toLocaleString("en-US");
const counted = (n, thing) => `${number(n)} ${thing}${n === 1 ? "" : "s"}`;
const amount = (n) => (n < 1000 ? String(n) : n < 999950 ? `${(n / 1000).toFixed(1)}k` : `${(n / 1e6).toFixed(1)}M`);
const money = (n) => (n >= 1 || !n ? `$${n.toFixed(2)}` : `$${n.toFixed(4)}`);
const narrow = window.matchMedia("(max-width: 760px)");

/** The text with what was searched for marked. */
function marked(text, wanted) {
  if (!wanted) return [text];
  const parts = [];
  const low = text.toLowerCase();
  let from = 0;
  // Lower case may change the length of rare letters; then nothing is marked rather than the wrong thing.
  for (let at = low.length === text.length ? low.indexOf(wanted) : -1; at >= 0; at = low.indexOf(wanted, from)) {
    parts.push(text.slice(from, at), el("mark", null, text.slice(at, at + wanted.length)));
    from = at + wanted.length;
  }
  return [...parts, text.slice(from)];
}

/** Light or dark: as the system has it until a choice is made here. */
function setUpTheme() {
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const stored = (value) => {
    try {
      if (value) localStorage.setItem("sol-theme", value);
      return localStorage.getItem("sol-theme");
    } catch {
      return value; // a file may have no storage
    }
  };
  const now = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  const show = () => {
    $("theme").textContent = now() === "dark" ? "☀" : "☾";
    window.dispatchEvent(new Event("theme"));
  };
  const chosen = stored();
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  $("theme").addEventListener("click", () => {
    root.dataset.theme = now() === "dark" ? "light" : "dark";
    stored(root.dataset.theme);
    show();
  });
  dark.addEventListener("change", show);
  show();
}

function notice(text) {
  $("notice").textContent = text || "";
  $("notice").hidden = !text;
}
