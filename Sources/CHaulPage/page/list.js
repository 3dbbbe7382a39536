// The visible rows of a list of any length. The grid keeps the focus, because the element of a row
// is reused for another row when the list scrolls.

import { $, el, icon, iconButton, setIcon, setText, setTitle } from "./dom.js";
import * as format from "./format.js";
import { activeStates, groups, order, rows, sorts, view, visible } from "./model.js";
import { fitting, run } from "./actions.js";

const list = $("list");
const body = $("rows");
const pool = [];
let items = [];
let places = new Map();
let rowHeight = 36;
let isStale = true;
let isUrgent = true;
let built = 0;

export const selection = new Set();
let current = null;
let anchor = null;
let changed = () => {};
let opened = () => {};

export const keyOf = (item) => (typeof item === "string" ? item : `group ${item.group}`);
export const shown = () => items;
export const currentRow = () => (typeof current === "string" ? rows.get(current) : undefined);

export function start(onSelection, onOpen) {
  changed = onSelection;
  opened = onOpen;
  list.tabIndex = 0;
  list.addEventListener("scroll", () => draw(), { passive: true });
  new ResizeObserver(measure).observe(list);
  measure();
}

// The style sheet sets the height of a row; it is larger on a narrow screen.
function measure() {
  const height = parseFloat(getComputedStyle(list).getPropertyValue("--row")) || 36;
  if (height !== rowHeight) {
    rowHeight = height;
    pool.forEach(hide);
    body.style.height = `${items.length * rowHeight}px`;
  }
  draw();
}

export function structureChanged(isOwn = true) {
  isStale = true;
  isUrgent ||= isOwn;
}

// Called once a frame at most. A long list is rebuilt at most four times a second, and a sorted one every second.
// Returns whether the rows are up to date.
export function refresh() {
  const isDue = view.sort in sorts ? performance.now() - built > 1000 : items.length < 5000 || performance.now() - built > 250;
  if (isStale && (isUrgent || isDue)) {
    isStale = isUrgent = false;
    built = performance.now();
    items = visible();
    places = new Map(items.map((item, index) => [keyOf(item), index]));
    for (const key of selection) if (!places.has(key) && !isFolded(key)) selection.delete(key);
    if (current !== null && !places.has(current)) current = null;
    body.style.height = `${items.length * rowHeight}px`;
    list.setAttribute("aria-rowcount", items.length);
    changed();
  }
  draw();
  return !isStale;
}

const isFolded = (id) => { const row = rows.get(id); return row?.group !== null && row && view.closed.has(row.group); };

function draw() {
  const first = Math.max(0, Math.floor(list.scrollTop / rowHeight) - 4);
  const last = Math.min(items.length, first + Math.ceil(list.clientHeight / rowHeight) + 9);
  while (pool.length < last - first) pool.push(makeRow());
  // A row keeps its element while it stays in the window.
  const free = pool.filter((slot) => slot.index < first || slot.index >= last || slot.key !== key(slot.index));
  const taken = new Set(pool.filter((slot) => !free.includes(slot)).map((slot) => slot.index));
  for (let index = first; index < last; index += 1) if (!taken.has(index)) place(free.pop(), index);
  for (const slot of free) hide(slot);
  for (const slot of pool) if (slot.index >= 0) fill(slot);
  const active = current === null ? undefined : pool.find((slot) => slot.key === current && slot.index >= 0);
  if (active) list.setAttribute("aria-activedescendant", active.element.id);
  else list.removeAttribute("aria-activedescendant");
}

const key = (index) => (index >= 0 && index < items.length ? keyOf(items[index]) : null);

function hide(slot) {
  if (slot.index < 0) return;
  slot.index = -1;
  slot.key = null;
  slot.element.hidden = true;
}

function place(slot, index) {
  slot.index = index;
  slot.key = keyOf(items[index]);
  slot.version = -1;
  slot.element.hidden = false;
  slot.element.style.transform = `translateY(${index * rowHeight}px)`;
  slot.element.setAttribute("aria-rowindex", index + 1);
}

function cell(className, ...children) {
  return el("span", { className, role: "gridcell" }, ...children);
}

function makeRow() {
  const slot = { index: -1, key: null, version: -1 };
  slot.mark = icon("wait");
  slot.name = el("span", { className: "name" });
  slot.host = el("span", { className: "host" });
  slot.sent = el("i", { className: "sent" });
  slot.fill = el("i");
  slot.percent = el("span", { className: "percent" });
  slot.bar = el("span", { className: "meter", role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100" }, slot.sent, slot.fill);
  slot.size = cell("n size");
  slot.rate = cell("n rate");
  slot.left = cell("n left");
  slot.connections = cell("n connections");
  slot.state = cell("state");
  const act = (choose) => (event) => { event.stopPropagation(); const name = choose(slot); if (name) run(name, [items[slot.index]]); };
  slot.main = iconButton("pause", "Pause", act(() => slot.mainCommand), { tabIndex: -1 });
  slot.end = iconButton("cancel", "Cancel", act(() => slot.endCommand), { tabIndex: -1 });
  slot.more = iconButton("chevron", "Details", (event) => { event.stopPropagation(); setCurrent(slot.index); selectOnly(slot.key); opened(); }, { tabIndex: -1 });
  slot.element = el("div", { className: "row", role: "row", id: `row-${pool.length}`, hidden: true },
    cell("mark", slot.mark), cell("title", slot.name, slot.host), cell("progress", slot.bar, slot.percent),
    slot.size, slot.state, slot.rate, slot.left, slot.connections, cell("buttons", slot.main, slot.end, slot.more));
  slot.element.slot_ = slot;
  body.append(slot.element);
  return slot;
}

const marks = {
  queued: "wait", running: "down", publishing: "down", stopping: "wait", paused: "pause",
  failed: "fail", completed: "check", cancelled: "cancel",
};

function setClass(slot, names) {
  if (slot.element.className !== names) slot.element.className = names;
}

// Waits that need no help from a user.
const patient = new Set(["slot", "host-limit", "host-refusal", "dependency", "start-time", "schedule", "suspended"]);

function fill(slot) {
  const item = items[slot.index];
  const isSelected = selection.has(slot.key);
  const extra = `${isSelected ? " selected" : ""}${slot.key === current ? " current" : ""}`;
  if (slot.isSelected !== isSelected) slot.element.setAttribute("aria-selected", (slot.isSelected = isSelected));
  if (typeof item !== "string") return fillFolder(slot, item, extra);
  const row = rows.get(item);
  if (!row) return;
  slot.element.removeAttribute("aria-expanded");
  const isBlocked = row.state === "queued" && row.waiting && !patient.has(row.waiting.code);
  setClass(slot, `row is-${row.state}${isBlocked ? " is-blocked" : ""}${row.group !== null ? " member" : ""}${extra}`);
  // A countdown is written each time.
  if (slot.version === row.version && row.state !== "queued") return;
  slot.version = row.version;
  const isUpload = row.kind === "upload";
  setIcon(slot.mark, isUpload && marks[row.state] === "down" ? "up" : marks[row.state] ?? "wait");
  setText(slot.name, row.name);
  setText(slot.host, isUpload && row.host ? `to ${row.host}` : row.host ?? "");
  setTitle(slot.name, row.name);
  meter(slot, format.percent(row), row.state === "running", format.acknowledgedPercent(row));
  setText(slot.size, row.total === null ? (row.bytes > 0 ? format.bytes(row.bytes) : "") :
    row.state === "completed" || row.bytes === 0 ? format.bytes(row.total) : `${format.bytes(row.bytes)} of ${format.bytes(row.total)}`);
  setText(slot.rate, row.state === "running" ? format.rate(row.rate) : "");
  const left = format.secondsLeft(row);
  setText(slot.left, left === null ? "" : format.span(left));
  setText(slot.connections, row.connections > 0 ? String(row.connections) : "");
  const state = format.state(row);
  setText(slot.state, state);
  setTitle(slot.state, state);
  buttons(slot, [row]);
  label(slot.more, "chevron", "Details");
}

// Two bars for an upload: what was sent, and what the server is known to have.
function meter(slot, percent, isRunning, acknowledged = null) {
  const isUnknown = percent === null && isRunning;
  slot.bar.classList.toggle("unknown", isUnknown);
  slot.sent.style.transform = `scaleX(${acknowledged === null ? 0 : (percent ?? 0) / 100})`;
  slot.fill.style.transform = `scaleX(${(acknowledged ?? percent ?? 0) / 100})`;
  const parts = acknowledged === null ? "" : `${percent.toFixed(1)} % sent, ${acknowledged.toFixed(1)} % acknowledged by the server`;
  if (slot.bar.title !== parts) slot.bar.title = parts;
  const text = percent === null ? "" : `${percent === 100 ? 100 : percent.toFixed(1)} %`;
  setText(slot.percent, text);
  if (percent === null) slot.bar.removeAttribute("aria-valuenow");
  else slot.bar.setAttribute("aria-valuenow", Math.floor(percent));
  const name = parts ? `Progress: ${parts}` : "Progress";
  if (slot.bar.ariaLabel !== name) slot.bar.ariaLabel = name;
}

function fillFolder(slot, folder, extra) {
  const sum = groups.get(folder.group);
  if (!sum) return;
  const isOpen = !view.closed.has(folder.group);
  const states = sum.states;
  const done = states.completed ?? 0;
  const failed = states.failed ?? 0;
  setClass(slot, `row folder${isOpen ? " open" : ""}${failed > 0 && failed + done + (states.cancelled ?? 0) === sum.members ? " is-failed" : done === sum.members ? " is-completed" : ""}${extra}`);
  slot.element.setAttribute("aria-expanded", isOpen);
  slot.version = -1;
  setIcon(slot.mark, "folder");
  setText(slot.name, folder.group);
  setTitle(slot.name, folder.group);
  setText(slot.host, `${format.count(done)} of ${format.count(sum.members)} completed`);
  // Each member counts the same, because the sizes of waiting ones are unknown.
  meter(slot, done === sum.members ? 100 : Math.min(99.9, Math.max(0, (100 * sum.fraction) / sum.members)), false);
  const isKnown = sum.unknown === 0 && sum.total > 0;
  setText(slot.size, isKnown && sum.bytes < sum.total ? `${format.bytes(sum.bytes)} of ${format.bytes(sum.total)}` : sum.bytes > 0 ? format.bytes(sum.bytes) : "");
  const runs = (states.running ?? 0) > 0;
  setText(slot.rate, runs ? format.rate(sum.rate) : "");
  setText(slot.left, isKnown && runs && sum.rate > 0 ? format.span((sum.total - sum.bytes) / sum.rate) : "");
  setText(slot.connections, "");
  const words = [["running", "running"], ["queued", "waiting"], ["paused", "paused"], ["failed", "failed"], ["cancelled", "cancelled"]]
    .filter(([name]) => states[name] > 0).map(([name, word]) => `${format.count(states[name])} ${word}`);
  const state = words.length > 0 ? words.join(", ") : "completed";
  setText(slot.state, state);
  setTitle(slot.state, state);
  buttons(slot, folder.ids.slice(0, 2000).map((id) => rows.get(id)).filter(Boolean));
}

const labels = {
  pause: ["pause", "Pause"], resume: ["play", "Resume"], retry: ["retry", "Retry"],
  cancel: ["cancel", "Cancel"], remove: ["remove", "Remove"],
};

// The two commands that a row is most likely to need.
function buttons(slot, some) {
  const fits = (name) => fitting(name, some).length > 0;
  slot.mainCommand = ["pause", "resume", "retry"].find(fits) ?? null;
  slot.endCommand = fits("cancel") && !some.every((row) => row.state === "failed") ? "cancel" : "remove";
  slot.main.hidden = slot.mainCommand === null;
  if (slot.mainCommand) label(slot.main, ...labels[slot.mainCommand]);
  label(slot.end, ...labels[slot.endCommand]);
}

function label(button, iconName, text) {
  setIcon(button.firstChild, iconName);
  if (button.title === text) return;
  button.title = text;
  button.setAttribute("aria-label", text);
}

// Selection.

export function selectOnly(key) {
  selection.clear();
  if (key !== null) selection.add(key);
  anchor = key;
  changed();
  draw();
}

function toggle(key) {
  if (!selection.delete(key)) selection.add(key);
  anchor = key;
  changed();
  draw();
}

function selectTo(index) {
  const from = places.get(anchor) ?? index;
  selection.clear();
  for (let place = Math.min(from, index); place <= Math.max(from, index); place += 1) selection.add(keyOf(items[place]));
  changed();
  draw();
}

export function selectAll() {
  for (const item of items) selection.add(keyOf(item));
  changed();
  draw();
}

export function setCurrent(index, scroll = true) {
  if (index < 0 || index >= items.length) return;
  current = keyOf(items[index]);
  const top = index * rowHeight;
  if (scroll && top < list.scrollTop) list.scrollTop = top;
  else if (scroll && top + rowHeight > list.scrollTop + list.clientHeight) list.scrollTop = top + rowHeight - list.clientHeight;
  draw();
}

export const currentIndex = () => (current === null ? -1 : places.get(current) ?? -1);

export function fold(index, closed) {
  const folder = items[index];
  if (!folder || typeof folder === "string") return;
  const isClosed = view.closed.has(folder.group);
  if (closed === isClosed) return;
  if (isClosed) view.closed.delete(folder.group);
  else view.closed.add(folder.group);
  structureChanged();
  refresh();
}

// Shows a row, whatever the filters were, and selects it.
export function reveal(id) {
  Object.assign(view, { state: "all", group: null, host: null, text: "" });
  $("search").value = "";
  if (rows.get(id)?.group) view.closed.delete(rows.get(id).group);
  structureChanged();
  refresh();
  selectOnly(id);
  setCurrent(places.get(id) ?? -1);
}

// How many transfers are shown; the members of open folders are items of their own.
export const shownCount = () => items.reduce((sum, item) => sum + (typeof item === "string" ? 1 : view.closed.has(item.group) ? item.ids.length : 0), 0);

// The items that a command is for: the selection; otherwise everything that is shown.
export function chosen() {
  return selection.size > 0 ? items.filter((item) => selection.has(keyOf(item))) : items;
}

export function indexAt(y) {
  const top = list.getBoundingClientRect().top;
  return (y - top + list.scrollTop) / rowHeight;
}

export function slotOf(target) { return target.closest?.(".row")?.slot_; }

export function press(slot, event) {
  const index = slot.index;
  setCurrent(index, false);
  if (event.shiftKey) selectTo(index);
  else if (event.ctrlKey || event.metaKey) toggle(slot.key);
  else selectOnly(slot.key);
}

export function step(index, isExtending, isKeeping) {
  const to = Math.max(0, Math.min(items.length - 1, index));
  setCurrent(to);
  if (items.length === 0) return;
  if (isExtending) selectTo(to);
  else if (!isKeeping) selectOnly(keyOf(items[to]));
}

export const pageLength = () => Math.max(1, Math.floor(list.clientHeight / rowHeight) - 1);
export const toggleCurrent = () => { if (current !== null) toggle(current); };
export { activeStates, order };
