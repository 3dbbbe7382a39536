// The list of notices, and the number of unseen ones. The daemon keeps them; if it does not, this
// page collects them while it is open.

import { call } from "./api.js";
import * as details from "./details.js";
import { $, el, setText } from "./dom.js";
import * as format from "./format.js";
import { rows } from "./model.js";
import * as sound from "./sound.js";
import { announce } from "./toasts.js";

const panel = $("notice-panel");
const button = $("notices");
let kept = null;
let own = [];
let unseen = 0;
let ends = [];
let isLoading = false;
const clear = el("button", { type: "button", hidden: true, onclick: clearAll }, "Clear");
$("notice-list").before(clear);
let lastNumber = 0;

button.addEventListener("click", () => (panel.hidden ? open() : close()));
addEventListener("keydown", (event) => { if (event.key === "Escape" && !panel.hidden) { close(); button.focus(); } });
addEventListener("pointerdown", (event) => { if (!panel.hidden && !panel.contains(event.target) && !button.contains(event.target)) close(); });

// The end of a transfer while this page was open.
export function ended(row) {
  ends.push({ transfer: row.id, name: row.name, state: row.state, group: row.group, path: row.path, text: row.error?.message ?? "", time: Date.now() / 1000 });
}

// The daemon has another notice soon.
let isChanged = false;
export function changed() { isChanged = true; }

// Once a second: announces what has ended since.
export async function tick() {
  if (isChanged) {
    isChanged = false;
    await load();
  }
  const some = ends;
  ends = [];
  if (some.length === 0) return;
  own = some.reverse().concat(own).slice(0, 100);
  say(some);
  if (some.some((end) => end.state !== "cancelled")) sound.play(some.some((end) => end.state === "failed"));
  if (kept === null) setUnseen(panel.hidden ? unseen + some.length : 0);
  else await load();
}

function say(some) {
  if (some.length <= 2) return announce(some.map((end) => `${end.name} ${end.state}${end.text ? `: ${end.text}` : ""}`).join(". "));
  const counts = ["completed", "failed", "cancelled"].map((state) => [some.filter((end) => end.state === state).length, state]);
  announce(counts.filter(([number]) => number > 0).map(([number, state]) => `${format.plural(number, "transfer")} ${state}`).join(", "));
}

export async function load() {
  if (isLoading) return;
  isLoading = true;
  try {
    const answer = await call("GET", "notices");
    kept = answer.notices;
    lastNumber = Math.max(0, ...kept.map((notice) => notice.number));
    if (panel.hidden) setUnseen(answer.unseen);
    else await seen();
  } catch {
    kept = null;
  } finally {
    isLoading = false;
  }
}

async function seen() {
  setUnseen(0);
  fill();
  if (kept !== null && lastNumber > 0) await call("PATCH", "notices", { seen_up_to: lastNumber }).catch(() => {});
}

// Those that are shown; what ends meanwhile stays.
async function clearAll() {
  own = [];
  if (kept !== null) {
    try {
      kept = (await call("PATCH", "notices", { seen_up_to: lastNumber, clear: true })).notices;
    } catch (problem) {
      return announce(problem.message);
    }
  }
  fill();
  announce("The notices were cleared");
  $("notices").focus();
}

function setUnseen(number) {
  unseen = number;
  const badge = $("unseen");
  badge.hidden = number === 0;
  setText(badge, number > 99 ? "99+" : String(number));
  button.setAttribute("aria-label", number > 0 ? `What has ended: ${number} not seen` : "What has ended");
  document.title = number > 0 ? `(${number}) Haul` : "Haul";
  navigator.setAppBadge?.(number).catch(() => {});
}

async function open() {
  panel.hidden = false;
  button.setAttribute("aria-expanded", "true");
  fill();
  await seen();
}

function close() {
  panel.hidden = true;
  button.setAttribute("aria-expanded", "false");
}

function fill() {
  const list = kept === null ? own.map((end) => ({ ...end, title: `${end.name}: ${end.state}` })) : [...kept].sort((a, b) => b.number - a.number);
  clear.hidden = list.length === 0;
  const items = list.slice(0, 100).map((notice) => el("li", { className: `is-${notice.state ?? notice.kind}` },
    el("strong", {}, title(notice)), el("span", {}, notice.text),
    el("small", {}, format.time(typeof notice.time === "number" ? notice.time : Date.parse(notice.time) / 1000))));
  $("notice-list").replaceChildren(items.length > 0 ? el("ul", {}, ...items) : el("p", { className: "note" }, "Nothing has ended yet."));
}

// Opens the details, if the transfer is still in the list.
function title(notice) {
  if (notice.kind === "group" || !rows.has(notice.transfer)) return notice.title;
  return el("button", { type: "button", title: "Details", onclick: () => { close(); details.open(rows.get(notice.transfer), true); } }, notice.title);
}
