"use strict";
(() => {
// Memory text is data: it becomes text nodes and attribute values, never markup, address or style.
let data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const DAY = 86400000, ROW = 80;

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  return put(node, children);
}
function put(node, ...children) {
  node.append(...children.flat(Infinity).filter((child) => child || child === 0));
  return node;
}
function refill(node, ...children) {
  node.replaceChildren();
  return put(node, ...children);
}
const el = (tag, props = {}, ...children) => fill(document.createElement(tag), props, children);
const svg = (tag, props = {}, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
const button = (text, click, props = {}) => el("button", { type: "button", click, ...props }, text);
const many = (n, one, more = one + "s") => `${n.toLocaleString("en")} ${n === 1 ? one : more}`;

// --- what there is

let items, byId, today, chosen, shown = [];
function read() {
  items = data.items;
  byId = new Map(items.map((item) => [item.id, item]));
  today = Date.parse(data.day);
  for (const item of items) {
    item.kind ||= item.type || "";
    item.links ||= []; item.told ||= []; item.shown ||= []; item.life ||= []; item.tags ||= []; item.paths ||= [];
    item.back = [];
    item.date ||= "";
    item.age = item.age_days ?? (item.date ? Math.max(0, Math.round((today - Date.parse(item.date)) / DAY)) : 9999);
    item.count = item.reinforcement_count || 0;
    item.past = item.status === "retired" || item.what === "archive";
  }
  for (const item of items) for (const [kind, other] of item.links) byId.get(other)?.back.push([kind, item.id]);
  const seen = new Map();
  for (const item of items) seen.set(item.id.slice(0, 8), (seen.get(item.id.slice(0, 8)) || 0) + 1);
  for (const item of items) item.short = item.id.length > 8 && seen.get(item.id.slice(0, 8)) === 1 && !item.id.includes(":") ? item.id.slice(0, 8) : item.id;
}
const worded = (text) => text.toLowerCase().replace(/^\W*(no|nein|non)[,.!:]\s+/u, "").replace(/[^\p{L}\p{N}]+/gu, " ").trim();
// Small letters, Latin ones without marks: who types cafe finds café, as mem recall does.
const plain = (text) => text.toLowerCase().normalize("NFD").replace(/([a-z])[\u0300-\u036f]+/g, "$1").normalize();
// what an item says beyond its title
const beyond = (item) => !item.text || worded(item.text) === worded(item.title) ? "" : item.text;
const hay = (item) => item.hay ??= plain([item.title, item.text, item.tags.join(" "), item.paths.join(" "), item.path, item.kind, item.id, item.who].join("\n"));
const named = (id) => byId.get(id)?.title || id.slice(0, 13);
const days = (n) => n === 0 ? "today" : n === 9999 ? "no date" : n < 60 ? `${n} d` : n < 730 ? `${Math.round(n / 30)} mo` : `${Math.round(n / 365)} y`;

// --- search, filters, order

const AGES = { "": "any", 7: "a week", 30: "a month", 90: "three months", 365: "a year", old: "more than a year" };
const USES = { "": "any", told: "told by a hook", shown: "shown by a recall", used: "used", never: "never seen or used" };
const SORTS = {
  best: ["best match", null], new: ["newest", (a, b) => a.age - b.age], old: ["oldest", (a, b) => b.age - a.age],
  score: ["score", (a, b) => (b.score || 0) - (a.score || 0)], use: ["most used", (a, b) => b.count - a.count],
  told: ["last told", (a, b) => (b.told[0]?.[0] || "").localeCompare(a.told[0]?.[0] || "")],
  title: ["title", (a, b) => a.title.localeCompare(b.title)],
};
const filter = { what: "", level: "", kind: "", status: "", tag: "", path: "", age: "", use: "" };
let sort = "best", words = [];

function passes(item) {
  const f = filter;
  if (f.what && item.what !== f.what || f.level && item.level !== f.level || f.kind && item.kind !== f.kind) return false;
  if (f.status && !(f.status === "gone" ? item.gone : f.status === "live" ? !item.past && item.status : f.status === "retired" ? item.past : true)) return false;
  if (f.tag && !item.tags.includes(f.tag)) return false;
  if (f.path && !`${item.path || ""}\n${item.paths.join("\n")}`.toLowerCase().includes(f.path.toLowerCase())) return false;
  if (f.age && !(f.age === "old" ? item.age > 365 : item.age <= +f.age)) return false;
  if (f.use === "told" && !item.told.length || f.use === "shown" && !item.shown.length || f.use === "used" && !item.count) return false;
  return f.use !== "never" || !(item.told.length || item.shown.length || item.count);
}

function parsed(query) {
  const found = plain(query).matchAll(/(-?)(?:"([^"]+)"?|(\S+))/g);
  return [...found].map(([, minus, phrase, word]) => [phrase || word, minus === "-"]).filter(([word]) => word && word !== "-");
}

function find() {
  const asked = parsed($("query").value);
  words = asked.filter(([, minus]) => !minus).map(([word]) => word);
  shown = items.filter(passes);
  if (asked.length) shown = shown.filter((item) => asked.every(([word, minus]) => hay(item).includes(word) !== minus));
  if (sort === "best" && words.length) {
    const rank = new Map(shown.map((item) => {
      const title = plain(item.title);
      const hits = words.reduce((sum, word) => sum + (title.includes(word) ? 8 : 0) + (item.tags.some((tag) => plain(tag) === word) ? 4 : 0) + 1, 0);
      return [item, hits * (item.past ? .4 : 1) + (item.score || 0)];
    }));
    shown.sort((a, b) => rank.get(b) - rank.get(a));
  } else shown.sort(SORTS[sort][1] || SORTS.new[1]);
  $("sort").value = sort === "best" && !words.length ? "new" : sort;
  $("tally").textContent = shown.length === items.length ? counted() : `${shown.length.toLocaleString("en")} of ${items.length.toLocaleString("en")}`;
  $("rows").style.height = `${Math.max(1, shown.length) * ROW}px`;
  $("list").scrollTop = 0;
  if (innerWidth > 860) {  // there is room beside the list
    if (!shown.includes(chosen)) chosen = shown.find((item) => item.what === "entry") || shown[0] || null;
    detail();
  }
  draw();
}

// What people call an entry is one; a section of prose, an archived entry, a commit and an exchange of a session are counted apart.
const NOUNS = { entry: ["entry", "entries"], prose: ["section"], archive: ["archived"], session: ["exchange"], commit: ["commit"] };
function counted() {
  const counts = new Map(Object.keys(NOUNS).map((what) => [what, 0]));
  for (const item of items) counts.set(item.what, (counts.get(item.what) || 0) + 1);
  const parts = [...counts].filter(([, n]) => n).map(([what, n]) => what === "archive" ? `${n.toLocaleString("en")} archived` : many(n, ...(NOUNS[what] || [what])));
  return parts.join(", ") || many(0, "entry", "entries");
}

function lit(text) {
  if (!words.length || !text) return [text];
  // Letters with their marks, and of each character that is searched the letter it is of.
  const letters = text.normalize().match(/[^][\u0300-\u036f]*/gu);
  const plains = letters.map(plain);
  const places = plains.flatMap((part, place) => Array(part.length).fill(place));
  const any = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  const shown = [];
  let end = 0;
  for (const found of plains.join("").matchAll(new RegExp(any, "g"))) {
    const start = places[found.index], next = places[found.index + found[0].length - 1] + 1;
    if (start < end) continue;
    shown.push(letters.slice(end, start).join(""), el("mark", {}, letters.slice(start, next).join("")));
    end = next;
  }
  return [...shown, letters.slice(end).join("")];
}

// --- the list: only the rows in sight are there

let waiting = false;
function draw() {
  waiting = false;
  const list = $("list"), first = Math.max(0, Math.floor(list.scrollTop / ROW) - 6);
  const last = Math.min(shown.length, first + Math.ceil(list.clientHeight / ROW) + 12);
  const rows = [];
  for (let i = first; i < last; i++) rows.push(row(shown[i], i));
  if (!shown.length) rows.push(el("p", { class: "none" }, items.length ? "Nothing fits. Fewer words, or fewer filters?" : ["Nothing is remembered here yet. Begin with ", el("code", {}, 'mem add "what you learned"')]));
  $("rows").replaceChildren(...rows);
  const at = shown.indexOf(chosen);
  if (at >= first && at < last) list.setAttribute("aria-activedescendant", `row-${at}`);
  else list.removeAttribute("aria-activedescendant");
}
function row(item, i) {
  const place = item.line ? `${item.path}:${item.line}` : item.who || item.path || "";
  const more = [item.count && `used ${item.count}×`, item.told.length && `told ${item.told.length}×`, days(item.age)].filter(Boolean).join(" · ");
  const node = el("div", {
    class: `row ${item.kind}${item.past ? " past" : ""}`, id: `row-${i}`, role: "option", "aria-selected": String(item === chosen),
    "aria-setsize": shown.length, "aria-posinset": i + 1, click: () => open(item),
  }, el("b", { dir: "auto" }, leafFirst(item.title)), el("span", {}, el("i", {}, item.past ? "retired" : item.kind || item.what), el("i", { class: "place" }, el("bdi", {}, place)), el("em", {}, more)));
  node.style.top = `${i * ROW}px`;
  return node;
}
// Titles of one list often begin alike: what tells them apart stands first.
function leafFirst(title) {
  const parts = title.split(" > ");
  return parts.length > 1 ? [titled(parts.pop()), el("small", {}, titled(parts.join(" > ")))] : titled(title);
}
function move(by) {
  const at = shown.indexOf(chosen), to = Math.min(shown.length - 1, Math.max(0, at >= 0 ? at + by : Math.abs(by) > 1 ? by : 0));
  if (shown[to]) open(shown[to], true);
}
function reveal() {
  const at = shown.indexOf(chosen), list = $("list"), top = at * ROW;
  if (at < 0) return;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
}

// --- one entry

function open(item, stay = false) {
  address(`e/${encodeURIComponent(item.id)}`, stay);
  if (!stay && innerWidth <= 860) $("detail").focus();
}
const link = (id) => byId.has(id) ? button(titled(named(id)), () => open(byId.get(id)), { class: "plain", dir: "auto" }) : el("code", {}, id);

function detail() {
  const item = chosen, box = $("detail");
  if (!item) return refill(box, shown.length > 0 && el("p", { class: "none" }, "Choose an entry: ", el("kbd", {}, "j"), " and ", el("kbd", {}, "k"), " go down and up, ", el("kbd", {}, "/"), " searches."));
  const chips = [["kind " + item.kind, item.kind || item.what], ["", item.level], item.kind && item.what === "prose" && ["", item.what],
    item.past && ["bad", item.what === "archive" ? "archived" : "retired"], item.priority && ["", item.priority], ...item.tags.map((tag) => ["", "#" + tag])];
  const place = item.line ? `${item.path}:${item.line}` : item.path;
  refill(box,
    button("← All", () => go("entries"), { class: "back" }),
    el("h2", { dir: "auto" }, titled(item.title)),
    el("div", { class: "chips" }, chips.filter((chip) => chip && chip[1]).map(([kind, text]) => el("span", { class: `chip ${kind}` }, text))),
    place ? el("p", { class: "where" }, el("span", {}, place), button("Copy", () => copy(place))) : "",
    item.gone ? el("p", { class: "warn" }, "This entry ", item.gone, ".") : "",
    data.served ? acts(item) : "",
    el("div", { class: "text", dir: "auto" }, prose(beyond(item)), item.cut ? el("p", { class: "soft" }, `${many(item.cut, "line")} more: mem show ${item.short}`) : ""),
    el("h3", {}, "Commands"), el("ul", { class: "cmds" }, commands(item).map(command)),
    facts(item), relations(item), lives(item));
  box.scrollTop = 0;
}
function facts(item) {
  const from = item.from || {};
  const rows = [
    [item.who ? "Date" : "Learned", item.created || item.date], ["Used", item.count ? `${item.count}×, last ${item.used || "unknown"}` : item.what === "entry" ? "not yet" : ""],
    ["Told", item.told.length ? `${item.told.length}×, last ${item.told[0][0].replace("T", " ")}` : ""], ["Shown", item.shown.length ? `${item.shown.length}×, last ${item.shown[0][0]}` : ""],
    ["Weight", item.score && `${item.score.toFixed(2)}, of importance ${item.importance}, age, use and level`], ["Phase", item.phase === "unknown" ? "" : item.phase], ["By", item.who],
    ["Files", item.paths.join(", ")], ["On commands", (item.commands || []).join(", ")],
    ["Guard", guarded(item)],
    ...Object.entries(from).map(([key, value]) => [key[0].toUpperCase() + key.slice(1).replaceAll("_", " "), [value].flat().join(", ")]), ["Id", item.id],
  ].filter(([, value]) => value);
  return [el("h3", {}, "Where it comes from"), el("dl", { class: "facts" }, rows.map(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]))];
}
function guarded(item) {
  const stopped = item.told.filter(([, event]) => event === "guard");
  const last = stopped.length ? `stopped ${stopped.length}×, last ${stopped[0][0].replace("T", " ")}: ${stopped[0][2]}` : "";
  return [item.guard || (last && "lifted"), last].filter(Boolean).join("; ");
}
function relations(item) {
  const rows = [...item.links.map(([kind, other]) => [kind.replaceAll("_", " "), other]), ...item.back.filter(([kind]) => kind !== "similar" && kind !== "opposite").map(([kind, other]) => [`${kind.replaceAll("_", " ")} (from)`, other])];
  return rows.length ? el("section", {}, el("h3", {}, "Relations"), el("dl", { class: "facts" }, rows.slice(0, 60).map(([kind, other]) => [el("dt", {}, kind), el("dd", {}, link(other))]))) : "";
}
function lives(item) {
  const told = item.told.slice(0, 40).map(([at, event, why, session]) => el("li", {}, el("time", {}, at.replace("T", " ")), `${event === "guard" ? "stopped in" : `${event} to`} session ${session.slice(0, 8)}: ${why}`));
  const life = item.life.map(([commit, date, who, what, about]) => el("li", {}, el("time", {}, date || "now"), [about ? `${what} (${about})` : what, who, commit].filter(Boolean).join(", ")));
  return [["Life", life], ["Told", told]].map(([name, rows]) => rows.length ? el("section", {}, el("h3", {}, name), el("ul", { class: "life" }, rows)) : "");
}

const quote = (text) => /^[\w./:~@%+=,][\w./:~@%+=,-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
function commands(item) {
  const id = (item.short.startsWith("-") ? "-- " : "") + quote(item.short);
  if (item.what === "session" || item.what === "commit") return [`mem show ${id}`];
  if (item.what === "prose") return [`mem show ${id}`, `mem edit ${id}`, `mem compact --adopt ${quote(`${item.path}#${item.title.split(" > ").pop()}`)}`];
  if (item.past) return [`mem restore ${id}`, `mem show ${id}`, `mem log ${id}`];
  return [`mem edit ${id}`, `mem retire ${id} --because 'no longer true'`, `mem show ${id}`, `mem log ${id}`];
}
const command = (text) => el("li", {}, el("code", {}, text), button("Copy", () => copy(text), { "aria-label": `Copy ${text}` }));

async function copy(text) {
  try { await navigator.clipboard.writeText(text); } catch {
    const area = el("textarea", { readonly: true });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(`Copied: ${text}`);
}
let hush;
function say(text) {
  $("said").textContent = text;
  $("said").classList.add("on");
  clearTimeout(hush);
  hush = setTimeout(() => $("said").classList.remove("on"), 2600);
}

// A little markdown, as text nodes: fences, headings, lists, quotes, code, strong. A link is its words and address.
const NESTED = 8; // quotations within each other; what is deeper is text
function prose(text, depth = 0) {
  const out = [], lines = text.split("\n");
  let para = [], list = null;
  const end = () => { if (para.length) out.push(el("p", {}, inline(para.join("\n")))); para = []; list = null; };
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i], fence = /^\s*(```+|~~~+)/.exec(line), item = /^(\s*)(?:[-*+]|(\d{1,3}[.)]))\s+(.*)/.exec(line), head = /^#{1,6}\s+(.*)/.exec(line);
    if (fence) {
      end();
      const code = [];
      while (++i < lines.length && !lines[i].trim().startsWith(fence[1])) code.push(lines[i]);
      out.push(el("pre", {}, lit(code.join("\n"))));
    } else if (head) { end(); out.push(el("strong", { class: "head" }, inline(head[1]))); }
    else if (item) {
      if (!list) { end(); out.push(list = el("ul")); }
      const [, deep, number, words] = item;
      list.append(el("li", deep.length > 1 ? { class: "deep" } : {}, el("span", { class: "bullet" }, number || "•"), inline(words)));
    } else if (list && /^\s+\S/.test(line)) list.lastChild.append(" ", ...inline(line.trim()));
    else if (line.startsWith(">") && depth < NESTED) {
      end();
      const quoted = [line];
      while (lines[i + 1]?.startsWith(">")) quoted.push(lines[++i]);
      out.push(el("blockquote", {}, prose(quoted.map((one) => one.replace(/^> ?/, "")).join("\n"), depth + 1)));
    }
    else if (line.trim().startsWith("|")) {
      end();
      const rows = [line];
      while (lines[i + 1]?.trim().startsWith("|")) rows.push(lines[++i]);
      out.push(grid(rows));
    }
    else if (line.trim()) { if (list) end(); para.push(line); }
    else end();
  }
  end();
  return out;
}
function grid(lines) {
  const rows = lines.filter((line) => !/^[\s|:-]+$/.test(line)).map((line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/));
  return el("div", { class: "grid" }, el("table", {}, rows.map((cells, i) => el("tr", {}, cells.map((cell) => el(i ? "td" : "th", {}, inline(cell.trim().replaceAll("\\|", "|"))))))));
}
const titled = (text) => text.split(/(`[^`\n]+`)/).flatMap((part, i) => i % 2 ? el("code", {}, lit(part.slice(1, -1))) : lit(part));
function inline(text) {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*|(?<![*\w])\*(?![\s*])[^*\n]*[^*\s]\*(?![*\w])|\[[^\]\n]+\]\([^)\n]+\))/).flatMap((part, i) => {
    if (i % 2 === 0) return lit(part);
    if (part[0] === "`") return [el("code", {}, lit(part.slice(1, -1)))];
    if (part.startsWith("**")) return [el("strong", {}, lit(part.slice(2, -2)))];
    if (part[0] === "*") return [el("em", {}, lit(part.slice(1, -1)))];
    const [, words, address] = /^\[([^\]]+)\]\((.+)\)$/.exec(part);
    return [...lit(words), " ", el("code", {}, address)];
  });
}

// --- the timeline: what was learned, told, shown, used and left, by day, week or month

const SPANS = { 30: ["30 days", 1], 90: ["90 days", 7], 365: ["a year", 30], 0: ["all", 0] };
const EVENTS = { learned: "learned", told: "told", recalled: "recalled", used: "used", "left-at": "retired" };
const hidden = new Set();
let span = "90", bucket = null;

function happened() {
  const found = [];
  const add = (day, what, item, more = "") => { const at = Date.parse(day?.slice(0, 10)); if (at) found.push({ at, what, item, more }); };
  for (const item of items) {
    if (item.what === "session" || item.what === "commit") continue;
    add(item.created || item.date, "learned", item);
    if (item.count && item.used !== item.created) add(item.used, "used", item, `${item.count}× in all`);
    item.told.forEach(([at, event, why]) => add(at, "told", item, why));
    item.shown.forEach(([day]) => add(day, "recalled", item));
    add(item.from?.archived_at, "left-at", item, item.from?.archived_because || "");
  }
  return found.sort((a, b) => b.at - a.at);
}
function timeline() {
  let all = happened().filter((event) => !hidden.has(event.what));
  const oldest = all.length ? all[all.length - 1].at : today, whole = Math.max(1, (today - oldest) / DAY + 1);
  const reach = +span || whole, step = SPANS[span][1] || Math.max(1, Math.ceil(whole / 40));
  all = all.filter((event) => event.at > today - reach * DAY && event.at <= today);
  const n = Math.ceil(reach / step), at = (event) => n - 1 - Math.floor((today - event.at) / DAY / step);
  const counts = Array.from({ length: n }, () => ({}));
  all.forEach((event) => { const one = counts[at(event)]; if (one) one[event.what] = (one[event.what] || 0) + 1; });
  const most = Math.max(1, ...counts.map((one) => Object.values(one).reduce((a, b) => a + b, 0)));
  const width = innerWidth > 860 ? 1000 : 420, wide = width / n, chart = svg("svg", { viewBox: `0 0 ${width} 220`, role: "img", "aria-label": `${many(all.length, "event")} in ${SPANS[span][0]}` });
  counts.forEach((one, i) => {
    let y = 190;
    for (const what of Object.keys(EVENTS)) if (one[what]) {
      const high = 170 * one[what] / most;
      chart.append(svg("rect", { class: `fill ${what}`, x: i * wide + wide * .12, y: y -= high, width: wide * .76, height: Math.max(1, high - .6), rx: Math.min(3, wide / 5) }));
    }
    const from = new Date(today - ((n - i) * step - 1) * DAY).toISOString().slice(0, 10);
    const total = Object.entries(one).map(([what, count]) => `${count} ${EVENTS[what]}`).join(", ");
    chart.append(svg("rect", { class: "hit", x: i * wide, y: 0, width: wide, height: 195, click: () => { bucket = bucket === i ? null : i; timeline(); } }, svg("title", {}, `${from}: ${total || "nothing"}`)));
    if (i % Math.ceil(n * 120 / width) === 0 && i * wide + 72 < width) chart.append(svg("text", { x: i * wide + 2, y: 210 }, from));
  });
  const listed = bucket === null ? all : all.filter((event) => at(event) === bucket);
  refill($("timeline"),
    el("div", { class: "bar" }, el("label", {}, "Last ", select(Object.entries(SPANS).map(([key, [name]]) => [key, name]), span, (value) => { span = value; bucket = null; timeline(); }, "Span")),
      Object.entries(EVENTS).map(([what, name]) => legend(what, name, hidden, timeline))),
    all.length ? el("div", { class: "panel" }, chart) : el("p", { class: "none" }, `Nothing of these${+span ? ` in ${SPANS[span][0]}` : ""}.`),
    all.length > 0 && el("div", { class: "panel" }, el("h3", {}, bucket === null ? many(all.length, "event") : `${many(listed.length, "event")} there`, bucket === null ? "" : button(" show all", () => { bucket = null; timeline(); }, { class: "plain" })),
      el("ul", { class: "events" }, listed.slice(0, 300).map((event) => el("li", {}, el("time", {}, new Date(event.at).toISOString().slice(0, 10)), el("b", { class: event.what }, EVENTS[event.what]), link(event.item.id)))),
      listed.length > 300 ? el("p", { class: "soft" }, `and ${many(listed.length - 300, "more", "more")}: choose a bar`) : ""));
}
function legend(what, name, off, redraw) {
  const box = el("input", { type: "checkbox", name: what, change: () => { box.checked ? off.delete(what) : off.add(what); redraw(); $(tab).querySelector(`input[name="${what}"]`)?.focus(); } });
  box.checked = !off.has(what);
  return el("label", { class: what }, box, el("span", { class: "dot", "aria-hidden": "true" }), name);
}
function select(options, value, change, label) {
  const node = el("select", { "aria-label": label, change: () => change(node.value) }, options.map(([key, name]) => el("option", { value: key }, name)));
  node.value = value;
  return node;
}

// --- relations: at most so many nodes, the best linked ones, laid out once

const unlinked = new Set();
function graph() {
  const edges = [], degree = new Map(), known = new Set();
  for (const item of items) for (const [kind, other] of item.links) {
    const key = [item.id, other].sort().join("\0") + kind.replace(/_(from|to)$/, "");
    if (byId.has(other) && other !== item.id && !known.has(key)) { known.add(key); edges.push([item.id, other, kind]); }
  }
  const kinds = [...new Set(edges.map((edge) => edge[2]))];
  const used = edges.filter((edge) => !unlinked.has(edge[2]));
  for (const [a, b] of used) for (const id of [a, b]) degree.set(id, (degree.get(id) || 0) + 1);
  const weight = ([a, b]) => degree.get(a) + degree.get(b), linked = new Set();
  for (const [a, b] of [...used].sort((one, two) => weight(two) - weight(one))) if (linked.size < (innerWidth > 860 ? 220 : 24)) linked.add(a).add(b);
  const ids = [...linked].sort((a, b) => degree.get(b) - degree.get(a) || (a < b ? -1 : 1));
  const nodes = new Map(ids.map((id, i) => [id, { id, x: 12 * Math.sqrt(i) * Math.cos(i * 2.4), y: 12 * Math.sqrt(i) * Math.sin(i * 2.4), r: 7 + Math.min(9, Math.sqrt(degree.get(id)) * 2), u: 0, v: 0 }]));
  const drawn = used.filter(([a, b]) => nodes.has(a) && nodes.has(b)).map(([a, b, kind]) => [nodes.get(a), nodes.get(b), kind]);
  settle([...nodes.values()], drawn);
  const labelled = new Set([...nodes.values()].slice(0, innerWidth > 860 ? 60 : 10));
  spread([...nodes.values()], labelled);
  const size = large();
  const names = labels([...labelled].map((node) => byId.get(node.id)));
  const told = el("p", { class: "soft", "aria-live": "polite" }, "Point at a circle or tap it, or go through the list below.");
  const stage = svg("svg", { class: "stage", role: "img", "aria-label": `Graph of ${many(nodes.size, "entry", "entries")} and ${many(drawn.length, "relation")}` });
  for (const [a, b, kind] of drawn) stage.append(svg("line", { class: kind, x1: a.x, y1: a.y, x2: b.x, y2: b.y }));
  for (const node of nodes.values()) {
    const item = byId.get(node.id);
    const group = svg("g", { click: () => open(item), pointerenter: () => { told.textContent = `${item.title} (${item.kind || item.what}, ${item.path}:${item.line})`; group.classList.add("over"); }, pointerleave: () => group.classList.remove("over") },
      svg("circle", { class: `${item.kind}${item.past ? " past" : ""}`, cx: node.x, cy: node.y, r: node.r }), svg("title", {}, item.title),
      labelled.has(node) ? svg("text", { class: "name", "text-anchor": "middle" }, names.get(item).map((line, i) => svg("tspan", { x: node.x, y: node.y + node.r + (11 + 13 * i) * size }, line))) : "");
    stage.append(group);
  }
  view(stage, [...nodes.values()]);
  const left = degree.size - nodes.size;
  refill($("relations"),
    el("div", { class: "bar" }, kinds.length ? kinds.map((kind) => legend(kind, kind.replaceAll("_", " "), unlinked, graph)) : "", ids.length ? el("span", { class: "pair" }, button("−", () => stage.zoom(1.25), { "aria-label": "Zoom out" }), button("+", () => stage.zoom(.8), { "aria-label": "Zoom in" })) : ""),
    ids.length ? el("div", { class: "panel" }, stage, told, left ? el("p", { class: "soft" }, `${many(left, "entry", "entries")} with fewer relations ${left === 1 ? "is" : "are"} not drawn.`) : "") : el("p", { class: "none" }, "No entry names another one."),
    ids.length ? el("div", { class: "panel" }, el("h3", {}, "Best linked"), el("ul", { class: "events" }, ids.slice(0, 60).map((id) => el("li", {}, el("time", {}, many(degree.get(id), "relation")), el("b", { class: byId.get(id).kind }, byId.get(id).kind), link(id))))) : "");
}
// A title below its circle: two lines of how it begins; of those that begin alike how they end, else where they stand.
const WIDE = 24;
const large = () => innerWidth > 860 ? 1 : 1.7;  // a small screen draws the graph smaller
const short = (line) => line.length > WIDE ? `${line.slice(0, WIDE - 1)}…` : line;
const bare = (title) => title.replaceAll(": - ", ": ").replaceAll("`", "");
function folded(text) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (!lines.at(-1) || lines.at(-1).length + word.length < WIDE) lines.push(`${lines.pop()} ${word}`.trim());
    else lines.push(word);
  }
  const kept = lines.slice(0, 2).map(short);
  if (lines.length > 2 && !kept[1].endsWith("…")) kept[1] += " …";
  return kept;
}
const last = (text) => text.length > WIDE ? `…${text.slice(1 - WIDE).replace(/^\S* /, "")}` : text;
const WAYS = [
  (item) => folded(bare(item.title.split(" > ").pop())),
  (item) => [folded(bare(item.title))[0], last(bare(item.title))],
  (item) => [folded(bare(item.title))[0], last(`${item.path}:${item.line}`)],
];
function labels(items) {
  const found = new Map();
  let left = items;
  for (const way of WAYS) {
    const alike = new Map();
    for (const item of left) {
      const key = way(item).join("\n");
      alike.set(key, [...alike.get(key) || [], item]);
      found.set(item, way(item));
    }
    left = [...alike.values()].filter((group) => group.length > 1).flat();
  }
  return found;
}
// Circles move apart until no label lies on another one.
function spread(nodes, labelled) {
  const half = (node) => labelled.has(node) ? [74 * large(), node.r + 15 * large(), 15 * large()] : [node.r, node.r, 0];
  for (let turn = 0; turn < 80; turn++) for (const [i, a] of nodes.entries()) for (const b of nodes.slice(i + 1)) {
    const [aw, ah, down] = half(a), [bw, bh, low] = half(b), x = b.x - a.x, y = b.y + low - a.y - down;
    const overX = aw + bw - Math.abs(x), overY = ah + bh - Math.abs(y);
    if (overX <= 0 || overY <= 0) continue;
    if (overX < overY) { const by = Math.sign(x || 1) * overX / 2; a.x -= by; b.x += by; }
    else { const by = Math.sign(y || 1) * overY / 2; a.y -= by; b.y += by; }
  }
}
function settle(nodes, edges) {
  for (let turn = 0, heat = 1; turn < 160; turn++, heat *= .98) {
    for (let i = 0; i < nodes.length; i++) {
      const a = nodes[i];
      for (let k = i + 1; k < nodes.length; k++) {
        const b = nodes[k], x = a.x - b.x || .1, y = a.y - b.y || .1, push = Math.min(6, 900 / (x * x + y * y));
        a.u += x * push * .05; a.v += y * push * .05; b.u -= x * push * .05; b.v -= y * push * .05;
      }
      a.u -= a.x * (innerWidth > 860 ? .007 : .014); a.v -= a.y * (innerWidth > 860 ? .014 : .01);
    }
    for (const [a, b] of edges) {
      const x = b.x - a.x, y = b.y - a.y, pull = (Math.hypot(x, y) - 80) * .0009 * 20 / (20 + a.r + b.r);
      a.u += x * pull; a.v += y * pull; b.u -= x * pull; b.v -= y * pull;
    }
    for (const node of nodes) {
      const size = Math.hypot(node.u, node.v), most = Math.min(1, 14 * heat / (size || 1));
      node.x += node.u * most; node.y += node.v * most; node.u *= .55; node.v *= .55;
    }
  }
}
function view(stage, nodes) {
  const xs = nodes.map((node) => node.x), ys = nodes.map((node) => node.y), [left, right, top, foot] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const width = Math.max(right - left + 160 * large(), 340), height = Math.max(foot - top + 120, 340);  // a few circles stay small
  const box = [(left + right - width) / 2, (top + foot - height) / 2, width, height];
  const set = () => stage.setAttribute("viewBox", box.join(" "));
  stage.zoom = (by) => { box[0] += box[2] * (1 - by) / 2; box[1] += box[3] * (1 - by) / 2; box[2] *= by; box[3] *= by; set(); };
  stage.addEventListener("wheel", (event) => { if (event.ctrlKey || event.metaKey) { event.preventDefault(); stage.zoom(event.deltaY > 0 ? 1.1 : .9); } }, { passive: false });
  let from = null;
  stage.addEventListener("pointerdown", (event) => { from = [event.clientX, event.clientY]; });
  stage.addEventListener("pointermove", (event) => {
    if (!from || !event.buttons) return;
    const scale = Math.max(box[2] / stage.clientWidth, box[3] / stage.clientHeight);
    box[0] -= (event.clientX - from[0]) * scale; box[1] -= (event.clientY - from[1]) * scale;
    from = [event.clientX, event.clientY];
    set();
  });
  if (nodes.length) set();
}

// --- alike or opposed, side by side

const MEANS = { merged: "Say the same", contradiction: "Say the opposite", unsure: "May say the opposite", "alike but different": "Alike, but not the same" };
function review() {
  const pairs = data.pairs.map(([what, path, ids, detail]) => ({ what, path, detail, two: ids.filter((id) => byId.has(id)).map((id) => byId.get(id)) })).filter((pair) => pair.two.length > 1);
  refill($("review"), pairs.length ? pairs.slice(0, 200).map(pairOf) : el("p", { class: "none" }, "No duplicates and no opposites were found."));
}
function pairOf({ what, path, detail, two: [a, b] }) {
  const terms = (item) => new Set(`${item.title} ${item.text}`.toLowerCase().match(/[\p{L}\p{N}_.-]+/gu));
  const sides = [[a, b], [b, a]].map(([one, other]) => {
    const theirs = terms(other);
    const marked = (text) => text.split(/([\p{L}\p{N}_.-]+)/u).map((part, i) => i % 2 && !theirs.has(part.toLowerCase()) ? el("mark", {}, part) : part.replaceAll("`", ""));
    const about = [one.short, `${one.path}:${one.line}`, days(one.age), one.count && `used ${one.count}×`].filter(Boolean).join(" · ");
    return el("div", {}, el("h4", {}, button(marked(one.title), () => open(one), { class: "plain", dir: "auto" })), el("p", { class: "soft" }, about), beyond(one) ? el("div", { class: "text", dir: "auto" }, marked(one.text)) : "");
  });
  const keep = (one, other) => `mem retire ${quote(other.short)} --because ${quote(`superseded by ${one.short}`)}`;
  const ways = what === "merged" ? [[`mem compact ${quote(path)}`, "Merge them", { do: "merge", path }]] : [];
  if (what !== "alike but different") ways.push([keep(a, b), "Keep the first", { do: "retire", id: b.id, because: `superseded by ${a.short}` }], [keep(b, a), "Keep the second", { do: "retire", id: a.id, because: `superseded by ${b.short}` }]);
  return el("section", { class: "panel" }, el("h3", {}, MEANS[what]), detail ? el("p", { class: "soft why" }, detail === "marked" ? "One names the other as its opposite." : `What differs: ${detail}.`) : "", el("div", { class: "two" }, sides),
    ways.length ? el("h3", {}, "Settle it") : "", data.served ? el("div", { class: "acts" }, ways.map(([, name, task]) => button(name, () => act(task)))) : "", el("ul", { class: "cmds" }, ways.map(([text]) => command(text))));
}

// --- what sessions proposed, and waits for a yes

function proposals() {
  const waiting = data.proposals || [];
  refill($("proposals"), waiting.length ? waiting.map(proposalOf) : el("p", { class: "none" }, "Nothing waits for your yes."));
}
function proposalOf(item) {
  const ways = [[`mem keep ${quote(item.id.slice(0, 8))}`, "Keep", { do: "keep", id: item.id }], [`mem drop ${quote(item.id.slice(0, 8))}`, "Drop", { do: "drop", id: item.id }]];
  const source = item.source?.replace(/#@.*/, "").replace(/([0-9a-f]{8})-[0-9a-f-]{27}\S*/, "session $1");
  return el("section", { class: "panel" }, el("h4", { dir: "auto" }, titled(item.title)), el("p", { class: "soft", title: item.source }, [item.kind, `said by the ${item.by}`, item.since, source].filter(Boolean).join(" · ")),
    el("div", { class: "text", dir: "auto" }, prose(beyond(item))), item.around && item.around !== item.text ? el("p", { class: "soft around", dir: "auto" }, "Said there: ", item.around) : "",
    data.served ? el("div", { class: "acts" }, ways.map(([, name, task]) => button(name, () => act(task)))) : "", el("ul", { class: "cmds" }, ways.map(([text]) => command(text))));
}

// --- health

function health() {
  const h = data.health, ring = (rest, on) => svg("circle", { class: `ring ${on}`, cx: 56, cy: 56, r: 49, pathLength: 100, "stroke-dasharray": rest, transform: "rotate(-90 56 56)" });
  const counts = { "live entries": h.counts.live, tokens: h.counts.tokens, files: h.counts.files };
  const groups = [["7 days", 7], ["30 days", 30], ["90 days", 90], ["a year", 365], ["older", 9998]];
  const live = items.filter((item) => !item.past && item.level), most = Math.max(1, live.length);
  let before = -1;
  const ages = groups.map(([name, top]) => { const n = live.filter((item) => item.age > before && item.age <= top).length; before = top; return [name, n]; });
  const bar = (share, colour = "") => { const inner = el("i", { class: colour }); inner.style.width = `${share}%`; return el("div", { class: `track ${colour}` }, inner); };
  const colour = (value) => value >= 75 ? "green" : value >= 50 ? "yellow" : "red";
  const first = h.trend.length ? Date.parse(h.trend[0][0]) : 0, reach = h.trend.length ? Date.parse(h.trend.at(-1)[0]) - first || 1 : 1;
  refill($("health"),
    el("div", { class: "panel rate" }, svg("svg", { viewBox: "0 0 112 112", role: "img", "aria-label": `score ${Math.round(h.score)} of 100`, class: h.band }, ring("100", ""), ring(`${h.score} 100`, "on"), svg("text", { x: 56, y: 67 }, Math.round(h.score))),
      el("div", { class: "big" }, Object.entries(counts).map(([name, n]) => el("div", {}, el("b", {}, n.toLocaleString("en")), el("span", { class: "soft" }, name))))),
    el("div", { class: "panel" }, el("h3", {}, "What the score is made of"), h.few > 0 && el("p", { class: "soft why" }, `These figures mean something from ${h.few} entries on.`), el("div", { class: "cards" }, Object.entries(h.metrics).map(([name, one]) => el("div", {},
      el("b", {}, one.value === null ? "–" : Math.round(one.value)), el("strong", {}, name), bar(one.value ?? 0, one.value === null ? "" : colour(one.value)), el("p", {}, one.reason), one.value === 100 || !one.raise_with ? "" : el("p", { class: "soft" }, "Raise it with ", el("code", {}, one.raise_with)))))),
    el("div", { class: "panel" }, el("h3", {}, "Trend"), h.trend.length > 1 ? [svg("svg", { class: "trend", viewBox: "0 -4 1000 108", preserveAspectRatio: "none", height: 130, role: "img", "aria-label": "score by day" }, svg("polyline", { points: h.trend.map(([day, score]) => `${1000 * (Date.parse(day) - first) / reach},${100 - score}`).join(" ") })),
      el("p", { class: "soft" }, `${h.trend[0][0]}: ${Math.round(h.trend[0][1])} → ${h.trend.at(-1)[0]}: ${Math.round(h.trend.at(-1)[1])}`)] : el("p", { class: "soft" }, "Each day of mem health is kept; two make a line.")),
    el("div", { class: "panel" }, el("h3", {}, "Age of entries and sections"), el("div", { class: "ages" }, ages.flatMap(([name, n]) => [el("span", {}, name), bar(100 * n / most), el("span", {}, n)]))));
}

// --- with a server behind it: the same use cases as the commands

function acts(item) {
  const because = () => ask("Why is it no longer true?", [["because", "Reason", "no longer true"]], "Retire", (given) => act({ do: "retire", id: item.id, ...given }));
  const edit = () => ask("Edit", [["title", "Title", item.title], ["body", "Text", item.text]], "Save", (given) => act({ do: "edit", id: item.id, was: item.text || "", ...Object.fromEntries(Object.entries(given).filter(([key, value]) => value !== (key === "title" ? item.title : item.text))) }));
  if (item.past) return el("div", { class: "acts" }, button("Restore", () => act({ do: "restore", id: item.id }), { class: "main" }));
  return item.what !== "entry" ? "" : el("div", { class: "acts" }, item.cut ? "" : button("Edit", edit, { class: "main" }), button("Retire", because, { class: "bad" }));
}
function ask(title, fields, done, then) {
  const inputs = fields.map(([name, label, value]) => { const node = el(name === "body" ? "textarea" : "input", { name }); node.value = value; return [name, label, node]; });
  const dialog = $("form"), finish = () => { dialog.close(); then(Object.fromEntries(inputs.map(([name, , node]) => [name, node.value]))); };
  for (const [, , node] of inputs) node.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.isComposing && (node.tagName === "INPUT" || event.ctrlKey || event.metaKey)) { event.preventDefault(); finish(); } });
  refill(dialog, el("h2", {}, title), inputs.map(([, label, node]) => el("label", {}, label, node)),
    el("div", { class: "acts" }, button(done, finish, { class: "main" }), button("Cancel", () => dialog.close())));
  dialog.showModal();
}
async function act(task) {
  say("One moment …");
  try {
    const reply = await (await fetch("act", { method: "POST", headers: { "Content-Type": "application/json", "X-Mem-Token": data.served }, body: JSON.stringify(task) })).json();
    say(reply.said);
    if (reply.data) { const served = data.served; data = { ...reply.data, served }; begin(); }
  } catch { say("mem browse --serve has ended: nothing was changed"); }
}
async function stay() {
  try {
    const reader = (await fetch("alive", { method: "POST", headers: { "X-Mem-Token": data.served } })).body.getReader();
    while (!(await reader.read()).done);
  } catch { /* it has ended */ }
  document.querySelectorAll(".acts button").forEach((node) => { node.disabled = true; });
  $("undo").disabled = true;
  say("mem browse --serve has ended");
}

// --- the frame

const VIEWS = { entries: ["Entries", () => detail()], timeline: ["Timeline", timeline], relations: ["Relations", graph], review: ["Review", review], proposals: ["Proposals", proposals], health: ["Health", health] };
const drawn = new Set();
let tab = "";
function show(name) {
  if (tab === name) return;
  tab = name;
  for (const view of Object.keys(VIEWS)) $(view).hidden = view !== name;
  for (const node of $("tabs").children) node.toggleAttribute("aria-current", node.dataset.view === name);
  if (!drawn.has(name)) { drawn.add(name); VIEWS[name][1](); }
  if (name === "entries") draw();
}
// The address says what is seen: a view, or an entry. Going on through the list leaves no step to come back to.
function address(place, stay = false) {
  const to = `#/${place}`;
  if (to !== location.hash) history[stay ? "replaceState" : "pushState"](null, "", to);
  visit(stay);
}
const go = (name) => address(name);
function visit(stay = false) {
  let place = location.hash.replace(/^#\/?/, "") || data.start;
  try { place = decodeURIComponent(place); } catch { /* it is none of ours */ }
  const item = place.startsWith("e/") ? byId.get(place.slice(2)) : null;
  if (place.startsWith("e/") && !item) say(`${place.slice(2)} is not in this page`);
  if (!stay) $("entries").classList.toggle("open", Boolean(item));
  show(Object.hasOwn(VIEWS, place) ? place : "entries");
  if (item) {
    chosen = item;
    detail();
    reveal();
  }
  draw();
}

function controls() {
  const count = (key) => { const found = new Map(); for (const item of items) for (const value of [item[key]].flat()) if (value) found.set(value, (found.get(value) || 0) + 1); return [...found].sort((a, b) => b[1] - a[1]); };
  const of = (key) => [["", "all"], ...count(key).slice(0, 400).map(([value, n]) => [value, `${value} (${n})`])];
  const fields = { what: ["What", of("what")], kind: ["Kind", of("kind")], level: ["Level", of("level")], status: ["Status", [["", "all"], ["live", "live"], ["retired", "retired or archived"], ["gone", "names what is gone"]]], tag: ["Tag", of("tags")], age: ["Not older than", Object.entries(AGES)], use: ["Told or used", Object.entries(USES)] };
  const set = (key) => (value) => { filter[key] = value; $("more").classList.toggle("on", Object.values(filter).some(Boolean)); find(); };
  const path = el("input", { type: "text", "aria-label": "Path", placeholder: "src/", input: () => set("path")(path.value) });
  path.value = filter.path;
  refill($("filters"), Object.entries(fields).map(([key, [name, options]]) => el("label", {}, name, select(options, filter[key], set(key), name))), el("label", {}, "Path", path),
    button("Clear", () => { for (const key of Object.keys(filter)) filter[key] = ""; $("more").classList.remove("on"); controls(); find(); }));
  $("sort").replaceChildren(...Object.entries(SORTS).map(([key, [name]]) => el("option", { value: key }, name)));
  $("tabs").replaceChildren(...Object.entries(VIEWS).map(([key, [name]]) => {
    const node = button(name, () => go(key), { "data-view": key });
    if (key === "review" && data.pairs.length) node.append(el("small", {}, data.pairs.length));
    if (key === "proposals" && data.proposals?.length) node.append(el("small", {}, data.proposals.length));
    if (key === "health") node.append(el("small", {}, Math.round(data.health.score)));
    return node;
  }));
}

const KEYS = [["/", "search"], ["j k ↓ ↑", "next, previous entry"], ["Enter", "open (on a small screen)"], ["Esc", "back, or clear the search"], ["c", "copy mem show of the entry"], ["f", "filters"], ["1 … 6", "the views"], ["t", "light or dark"], ["?", "these keys"]];
function keys(event) {
  const typing = event.target.matches("textarea, select, input:not([type=checkbox])");
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const key = event.key;
  if (key === "Escape") {
    if ($("entries").classList.contains("open") && innerWidth <= 860) go("entries");
    else if (typing) { if ($("query").value) { $("query").value = ""; find(); } event.target.blur(); }
  } else if (typing && !(event.target.id === "query" && (key === "ArrowDown" || key === "ArrowUp" || key === "Enter"))) return;
  else if (key === "/") { if (tab !== "entries" || innerWidth <= 860) go("entries"); $("query").focus(); $("query").select(); }
  else if (tab === "entries" && (key === "j" || key === "ArrowDown")) move(1);
  else if (tab === "entries" && (key === "k" || key === "ArrowUp")) move(-1);
  else if (tab === "entries" && (key === "PageDown" || key === "PageUp")) move((key === "PageDown" ? 1 : -1) * Math.floor($("list").clientHeight / ROW));
  else if (tab === "entries" && key === "Home") move(-shown.length);
  else if (tab === "entries" && key === "End") move(shown.length);
  else if (tab === "entries" && key === "Enter" && !/^(BUTTON|SUMMARY)$/.test(event.target.tagName)) { if (shown.length) open(shown.includes(chosen) ? chosen : shown[0]); }
  else if (key === "c" && chosen) copy(`mem show ${quote(chosen.short)}`);
  else if (key === "f") $("more").click();
  else if (key === "t") $("theme").click();
  else if (key === "?") $("keys").click();
  else if (/^[1-6]$/.test(key)) go(Object.keys(VIEWS)[key - 1]);
  else return;
  event.preventDefault();
}

function begin() {
  const seen = tab, top = $("list").scrollTop;
  read();
  controls();
  drawn.clear();
  tab = "";
  chosen = byId.get(chosen?.id) || null;
  if (!chosen) $("entries").classList.remove("open");
  find();
  $("list").scrollTop = top;
  if (seen) show(seen);
  else visit();
  detail();
}

const store = { get: () => { try { return localStorage.getItem("mem-theme"); } catch { return null; } }, set: (value) => { try { localStorage.setItem("mem-theme", value); } catch { /* a file may not */ } } };
if (store.get()) document.documentElement.dataset.theme = store.get();
$("theme").addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  store.set(document.documentElement.dataset.theme);
});
$("keys").addEventListener("click", () => {
  refill($("help"), el("h2", {}, "Keys"), el("dl", { class: "facts" }, KEYS.map(([key, what]) => [el("dt", {}, key.split(" ").map((one) => one === "…" ? " … " : el("kbd", {}, one))), el("dd", {}, what)])),
    el("p", { class: "soft" }, `Words must all occur; "two words" together, -word not at all. Commands are run in ${data.root}.`), el("div", { class: "acts" }, button("Close", () => $("help").close())));
  $("help").showModal();
});
$("more").addEventListener("click", () => { const form = $("filters"); form.hidden = !form.hidden; $("more").setAttribute("aria-expanded", String(!form.hidden)); draw(); });
$("filters").addEventListener("submit", (event) => event.preventDefault());
$("query").addEventListener("input", find);
$("sort").addEventListener("change", () => { sort = $("sort").value; find(); });
$("list").addEventListener("scroll", () => { if (!waiting) { waiting = true; requestAnimationFrame(draw); } }, { passive: true });
addEventListener("resize", draw);
addEventListener("keydown", keys);
addEventListener("popstate", () => { if (byId) visit(); });
// Loaded again, the page has no memory in it: this window's own key asks for it.
const KEY = "mem-key";
async function again() {
  const served = sessionStorage.getItem(KEY) || "";
  const reply = await fetch("page", { method: "POST", headers: { "X-Mem-Token": served } });
  if (!reply.ok) throw new Error(await reply.text());
  data = { ...await reply.json(), served };
}
function started() {
  document.title = `Memory of ${data.name}`;
  $("name").textContent = data.name;
  begin();
  if (data.served) {
    sessionStorage.setItem(KEY, data.served);
    history.replaceState(null, "", location.pathname + location.hash);
    $("undo").hidden = false;
    $("undo").addEventListener("click", () => act({ do: "undo" }));
    stay();
  }
  const idle = self.requestIdleCallback || ((work) => setTimeout(() => work({ timeRemaining: () => 8 }), 30));
  let warmed = 0;
  idle(function warm(left) { while (warmed < items.length && left.timeRemaining() > 2) hay(items[warmed++]); if (warmed < items.length) idle(warm); });
}
if (data.shell) again().then(started, () => document.querySelector("main").replaceChildren(el("p", { class: "none" }, "This address worked once. mem browse --serve gives another.")));
else started();
})();
