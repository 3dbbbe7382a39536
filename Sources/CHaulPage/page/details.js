// The details of one transfer: its bytes, its speed, its history.

import { call } from "./api.js";
import * as edit from "./edit.js";
import { curveOf, drawCurve, drawMap } from "./charts.js";
import { $, el, icon, iconButton, setText } from "./dom.js";
import * as format from "./format.js";
import { endedStates, place, rows, take } from "./model.js";
import { fitting, run } from "./actions.js";
import { toast } from "./toasts.js";

const pane = $("details");
let id = null;
let parts = null;
let details = null;
let version = -1;
// The last known parts of transfers that no longer run.
const maps = new Map();

export const isOpen = () => id !== null;
export const openedId = () => id;

export function open(row, takesFocus = false) {
  if (!row) return close();
  if (id !== row.id) {
    id = row.id;
    details = null;
    version = -1;
    build();
    poll();
  }
  pane.hidden = false;
  document.body.classList.add("with-details");
  if (takesFocus) parts.title.focus();
}

function lastRun({ state, ended, fetched, error }) {
  const what = state === "failed" ? `failed: ${error?.message ?? "for an unknown reason"}`
    : fetched > 0 ? `completed: ${format.bytes(fetched)}` : "not changed";
  return ended ? `${format.time(ended)}, ${what}` : what;
}

export function close() {
  if (id === null) return;
  id = null;
  pane.hidden = true;
  document.body.classList.remove("with-details");
  $("list").focus({ preventScroll: true });
}

const commands = [
  ["pause", "Pause", "pause"], ["resume", "Resume", "play"], ["start", "Start now", "now"], ["retry", "Retry", "retry"],
  ["restart", "Restart", "restart"], ["cancel", "Cancel", "cancel"], ["remove", "Remove", "remove"],
  ["delete", "Delete file", "delete"],
];

function build() {
  const facts = {};
  const fact = (name) => { facts[name] = el("dd"); return [el("dt", {}, name), facts[name]]; };
  const names = ["Kind", "State", "Progress", "Speed", "Time left", "Connections", "Speed limit", "Acknowledged", "Place in the queue", "Priority", "Address", "File", "Group", "Digest", "Checked by",
    "Added", "Starts at", "Repeats", "Next run", "Last run", "Started", "Ended", "Your name", "Id"];
  parts = {
    facts,
    title: el("h2", { tabIndex: -1 }),
    map: el("canvas", { className: "map", role: "img" }),
    mapText: el("p", { className: "note" }),
    curve: el("canvas", { className: "curve", role: "img" }),
    buttons: commands.map(([name, label, image]) => el("button", { type: "button", onclick: () => run(name, [id]) }, icon(image), label)),
    attempts: el("ol", { className: "attempts" }),
    attemptsTitle: el("h3", {}, "Failed attempts"),
    edit: edit.form(id),
  };
  pane.replaceChildren(
    el("div", { className: "head" }, parts.title, iconButton("cancel", "Close the details", close)),
    el("div", { className: "commands" }, ...parts.buttons),
    parts.map, parts.mapText,
    parts.curveTitle = el("h3", {}, "Speed of the last two minutes"), parts.curve,
    el("dl", {}, ...names.flatMap(fact)),
    parts.attemptsTitle, parts.attempts,
    el("details", { className: "change" }, el("summary", {}, "Change"), parts.edit.element));
}

// Once a second, while it is open.
export async function poll() {
  const asked = id;
  if (asked === null || document.hidden) return;
  try {
    const answer = await call("GET", `transfers/${asked}/details`);
    // The daemon sends nothing if only the reason to wait has changed.
    const now = rows.get(asked)?.state === "queued" ? await call("GET", `transfers/${asked}`) : null;
    if (asked !== id) return;
    if (now && rows.has(asked)) take("transfer", JSON.stringify(now));
    details = answer;
    if (answer.present) maps.set(asked, answer);
    if (maps.size > 100) maps.delete(maps.keys().next().value);
    version = -1;
    refresh();
  } catch {
    // The list shows that the daemon does not run; this is repeated a second later.
  }
}

export function refresh() {
  if (id === null) return;
  const row = rows.get(id);
  if (!row) return close();
  if (version === row.version && row.state !== "queued") return;
  version = row.version;
  setText(parts.title, row.name);
  const isMissing = details?.missing === true && row.state === "completed";
  parts.buttons.forEach((button, index) => {
    const [name] = commands[index];
    button.hidden = fitting(name, [row]).length === 0 || (name === "delete" && isMissing);
  });
  parts.edit.fill(row);
  const isRunning = row.state === "running";
  const percent = format.percent(row);
  const left = format.secondsLeft(row);
  show("Kind", row.kind === "upload" ? "upload" : null);
  show("State", row.isEnding ? `${row.state}; ${row.isEnding === "cancel" ? "cancelled" : "removed"} in a moment` : format.state(row));
  show("Progress", row.total === null ? format.bytes(row.bytes)
    : `${format.bytes(row.bytes)} of ${format.bytes(row.total)} (${percent === 100 ? 100 : percent.toFixed(1)} %)`);
  show("Speed", isRunning ? format.rate(row.rate) : null);
  show("Time left", left === null ? null : format.span(left));
  show("Connections", row.connections > 0 ? String(row.connections) : null);
  show("Speed limit", row.rateLimit ? format.rate(row.rateLimit) : null);
  const acknowledged = format.acknowledgedPercent(row);
  show("Acknowledged", acknowledged === null ? null : `${format.bytes(row.acknowledged)} (${acknowledged.toFixed(1)} %) by the server`);
  show("Place in the queue", row.state === "queued" ? place(row) : null);
  const [, priority] = format.priorities.find(([value]) => value === row.priority) ?? [];
  show("Priority", endedStates.has(row.state) || row.priority === "default" ? null : priority);
  show("Address", row.url, true);
  show("File", details?.sources?.join("\n") || row.path || row.lastRun?.path, true, isMissing ? "It is no longer there. Restart downloads it again." : "");
  show("Group", row.group);
  show("Digest", Object.entries(row.result?.checksum ?? {}).map(([name, hex]) => `${name}=${hex}`).join("\n") || null, true);
  show("Checked by", { checksum: "its checksum", length: "its length", framing: "the end that the server marked" }[row.result?.verified]);
  show("Added", format.time(details?.added));
  show("Starts at", row.startsAt && !row.every ? format.time(row.startsAt) : null);
  show("Repeats", row.every);
  show("Next run", row.nextRun ? format.time(row.nextRun) : null);
  show("Last run", row.lastRun ? lastRun(row.lastRun) : null);
  show("Started", format.time(details?.started));
  show("Ended", endedStates.has(row.state) ? format.time(details?.ended) : null);
  show("Your name", row.identifier);
  show("Id", row.id, true);
  fillMap(row, isMissing);
  const curve = curveOf(id);
  const hasCurve = isRunning && curve.length >= 2;
  parts.curve.hidden = parts.curveTitle.hidden = !hasCurve;
  if (hasCurve) {
    drawCurve(parts.curve, curve);
    parts.curve.ariaLabel = `Speed: now ${format.rate(curve.at(-1))}, at most ${format.rate(Math.max(...curve))}`;
  }
  fillAttempts(row);
}

function fillMap(row, isMissing) {
  const isDone = row.state === "completed" && row.total > 0;
  const map = isDone ? { length: row.total, present: [[0, row.total]], active: [] } : maps.get(row.id);
  const length = map?.length ?? row.total;
  parts.map.hidden = parts.mapText.hidden = !length || !map;
  if (parts.map.hidden) return;
  const active = row.state === "running" ? map.active : [];
  drawMap(parts.map, length, map.present, active, isDone && !isMissing ? "--good" : isDone ? "--edge" : "--accent");
  const bytes = map.present.reduce((sum, [from, to]) => sum + to - from, 0);
  const text = isDone ? row.kind === "upload" ? "The server has all of it." : isMissing ? "All of it was saved, but the file was deleted or moved since." : format.was(row) ?? "All of it was saved."
    : `${Math.floor((100 * bytes) / length)} % on disk in ${format.plural(map.present.length, "part")}; ${format.plural(active.length, "part")} being fetched.`;
  setText(parts.mapText, text);
  parts.map.ariaLabel = text;
}

function fillAttempts(row) {
  const attempts = details?.attempts ?? [];
  const lines = attempts.map((attempt) => `${format.time(attempt.time)}: ${attempt.error.message}`);
  if (row.state === "failed" && row.error) lines.push(`ended: ${format.failure(row.error)}`);
  parts.attempts.hidden = parts.attemptsTitle.hidden = lines.length === 0;
  while (parts.attempts.children.length > lines.length) parts.attempts.lastChild.remove();
  lines.forEach((line, index) => {
    const item = parts.attempts.children[index] ?? parts.attempts.appendChild(el("li"));
    setText(item, line);
  });
}

function show(name, text, isCopied = false, remark = "") {
  const place = parts.facts[name];
  const isHidden = text === null || text === undefined || text === "";
  place.hidden = place.previousSibling.hidden = isHidden;
  if (isHidden || place.dataset.text === text + remark) return;
  place.dataset.text = text + remark;
  place.replaceChildren(el("span", {}, text, remark && el("em", {}, remark)));
  if (isCopied) {
    place.append(iconButton("copy", `Copy: ${name}`, () => navigator.clipboard.writeText(text).then(() => toast("Copied"), () => {})));
  }
}
