// Starts the page, and keeps it up to date with the daemon.

import { begin, call, forget, stream, toLogin } from "./api.js";
import { fitting, mayMove, needsSelection, prioritize, rowsOf, run, shift } from "./actions.js";
import * as add from "./add.js";
import * as charts from "./charts.js";
import * as details from "./details.js";
import { $, el, icon, iconButton, setIcon, setText } from "./dom.js";
import * as format from "./format.js";
import * as keys from "./keys.js";
import * as limits from "./limits.js";
import * as list from "./list.js";
import * as model from "./model.js";
import * as notices from "./notices.js";
import * as sessions from "./sessions.js";
import * as share from "./share.js";
import { toast } from "./toasts.js";

let isDirty = true;
let isConnected = false;
let isLoaded = false;
let isSuspended = false;
let sides = 0;

model.listen((isOwn) => { list.structureChanged(isOwn); isDirty = true; }, notices.ended, waited);
list.start(() => { sides = 0; toolbar(); if (details.isOpen() && list.currentRow()) details.open(list.currentRow()); }, () => details.open(list.currentRow()));
keys.start();

// Draws all changes since the last frame at once.
function frame() {
  if (isDirty) {
    isDirty = !list.refresh();
    details.refresh();
    filters();
  }
  requestAnimationFrame(frame);
}

let seconds = 0;
setInterval(async () => {
  seconds += 1;
  // Waits count down.
  isDirty = true;
  charts.sample();
  notices.tick();
  details.poll();
  toolbar();
  held();
  if (!isConnected) return;
  // Another program may have suspended the queue. The rows that wait say so at once, in the stream.
  if (seconds % 5 === 0) readStatus().catch(isOver);
  else if (model.stateCounts().waiting === 0 && !document.hidden) call("GET", "queue").then((queue) => suspended(queue.is_suspended), () => {});
  if (model.takeStaleOrder()) {
    try {
      model.setOrder((await call("GET", "order")).ids);
    } catch {
      // A lost connection begins with the whole list, in its order.
    }
  }
}, 1000);

// A row waits for another reason. The first of many shows that the queue was suspended, or is no longer; some waits
// are notices.
const noticed = new Set(["disk-full", "directory-missing", "offline"]);
function waited(code, before) {
  if (isConnected && (code === "suspended") !== isSuspended && [code, before].includes("suspended")) {
    isSuspended = code === "suspended";
    readStatus().catch(isOver);
  }
  if (noticed.has(code) || noticed.has(before)) notices.changed();
}

// True if the session of this page was ended.
function isOver(problem) {
  if (problem.status !== 401) return false;
  forget();
  locked("The session of this page has ended.");
  return true;
}

// The daemon may end and start again, with the same port and this page's session.
async function follow() {
  let delay = 250;
  call("GET", "transfers?limit=100").then((page) => { model.takeFirst(page.transfers); isDirty = true; }, () => {});
  for (;;) {
    try {
      await stream((name, data) => {
        model.take(name, data);
        isDirty = true;
        if (name === "ready") {
          isLoaded = true;
          // Ends are announced from now on.
          document.body.dataset.list = "whole";
        }
      }, () => {
        delay = 250;
        connected(true);
      });
      connected(false);
    } catch (problem) {
      if (isOver(problem)) return;
      connected(false, problem.isStranger ? problem.message : undefined);
    }
    await new Promise((resolve) => setTimeout(resolve, delay));
    delay = Math.min(delay * 2, 4000);
  }
}

const awayText = "Haul does not answer. Its transfers resume when it runs again; this page waits for it. To start it, or for a new address of this page: haul ui";

async function connected(is, reason = awayText) {
  const away = $("away");
  isConnected = is;
  away.hidden = is;
  document.body.dataset.connection = is ? "open" : "away";
  setText(away, is ? "" : reason);
  if (!is) return;
  try {
    await readStatus();
    await notices.load();
  } catch {
    // The stream fails too, and reconnects.
  }
}

async function readStatus() {
  const status = await call("GET", "status");
  add.start(status.roots ?? []);
  suspended(status.is_suspended);
  held(status.waiting);
}

limits.listen(() => readStatus().catch(() => {}));
$("held-schedule").addEventListener("click", () => $("limits").click());

// What holds all transfers back, until when.
let closed = null;
function held(wait = closed) {
  closed = wait?.code === "schedule" ? wait : null;
  const { waiting } = model.stateCounts();
  const number = `${format.plural(waiting, "transfer")} ${waiting === 1 ? "waits" : "wait"}`;
  const opening = closed?.until ? ` It opens ${format.time(closed.until)}.` : "";
  const words = isSuspended ? `Suspended until you press Unsuspend: nothing new starts, what runs continues. ${number}.`
    : closed && waiting > 0 ? `${closed.message[0].toUpperCase()}${closed.message.slice(1)}: nothing new starts, ${number}.${opening}` : "";
  $("held").hidden = !words;
  $("held-schedule").hidden = isSuspended || !words;
  setText($("held").children[1], words);
}

function suspended(is) {
  if (is !== isSuspended) {
    model.suspensionChanged(is);
    isDirty = true;
  }
  isSuspended = is;
  $("suspend").classList.toggle("on", is);
  setIcon($("suspend").firstChild, is ? "play" : "pause");
  setText($("suspend").lastChild, is ? "Unsuspend" : "Suspend");
  $("suspend").dataset.label = is ? "Unsuspend" : "Suspend";
  held();
  $("suspend").title = is ? "Nothing new is started now: let the queue start transfers again" : "Start nothing new; what runs continues";
}

$("suspend").addEventListener("click", async () => {
  try {
    suspended((await call("PATCH", "queue", { is_suspended: !isSuspended })).is_suspended);
    const running = model.stateCounts().active;
    const others = running > 0 ? `; ${format.plural(running, "running transfer")} ${running === 1 ? "continues" : "continue"}` : "";
    toast(isSuspended ? `Nothing new starts${others}` : "Transfers start again");
  } catch (problem) {
    toast(problem.message, { isBad: true });
  }
});

$("search").addEventListener("input", (event) => { model.view.text = event.target.value.trim(); model.structureRefresh(); });

// Light, dark, or as the system says.
const themes = ["", "light", "dark"];
function theme(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  const label = `Colours: ${name || "as the system"}`;
  $("theme").title = label;
  $("theme").setAttribute("aria-label", label);
  charts.forgetColors();
  charts.drawTotal();
}
$("theme").addEventListener("click", () => {
  const next = themes[(themes.indexOf(document.documentElement.dataset.theme ?? "") + 1) % themes.length];
  localStorage.setItem("haul-theme", next);
  theme(next);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { charts.forgetColors(); isDirty = true; });

// Commands for the selection.
const commands = [
  ["resume", "Resume", "play", "Continue where it stopped"], ["pause", "Pause", "pause", "Stop for now, and keep what is there"],
  ["start", "Start now", "now", "Start before all others, beyond the limit of transfers"],
  ["retry", "Retry", "retry", "Try again, and keep what is there"], ["restart", "Restart", "restart", "Download again from the beginning"],
  ["cancel", "Cancel", "cancel", "Stop, and delete what is there"], ["remove", "Remove", "remove", "Remove from the list; finished files stay"],
  ["delete", "Delete files", "delete", "Remove from the list, and delete the finished files"],
];
const moves = [["first", "To the top", "top"], ["up", "Up", "up"], ["down", "Down", "down"], ["last", "To the end", "bottom"]];
const orders = [["queue", "Order of the queue"], ["name", "By name"], ["size", "By size"], ["state", "By state"], ["speed", "By speed"], ["added", "By time added"], ["ended", "By time ended"]];
const order = el("select", { "aria-label": "Order of the list", onchange: () => sort(order.value, ["size", "speed", "added", "ended"].includes(order.value)) },
  ...orders.map(([value, text]) => el("option", { value }, text)));
const direction = iconButton("down", "", () => sort(model.view.sort, !model.view.isDown));

// Kept until the tab is closed.
const sortKey = "haul-sort";
function sort(by, isDown) {
  Object.assign(model.view, { sort: by, isDown });
  sessionStorage.setItem(sortKey, JSON.stringify([by, isDown]));
  order.value = by;
  direction.hidden = mayMove();
  setIcon(direction.firstChild, isDown ? "down" : "up");
  direction.title = isDown ? "Descending; press for ascending" : "Ascending; press for descending";
  direction.setAttribute("aria-label", direction.title);
  document.body.dataset.sort = by;
  for (const head of document.querySelectorAll(".heads [data-sort]")) {
    const isThis = head.dataset.sort === by;
    head.setAttribute("aria-pressed", isThis);
    head.dataset.direction = isThis ? (isDown ? "▾" : "▴") : "";
    head.title = isThis ? `Sorted by ${by}, ${isDown ? "descending" : "ascending"}` : `Sort by ${head.dataset.sort}`;
  }
  model.structureRefresh();
  toolbar();
}
// The third press goes back to the order of the queue.
for (const head of document.querySelectorAll(".heads [data-sort]")) {
  const by = head.dataset.sort;
  const first = ["size", "speed"].includes(by);
  head.addEventListener("click", () => (model.view.sort !== by ? sort(by, first) : model.view.isDown === first ? sort(by, !first) : sort("queue", false)));
}
const subject = el("output", { className: "subject", title: "Commands are for what is selected, or for all that are shown" });
const all = iconButton("all", "Select all", () => (list.selection.size > 0 ? list.selectOnly(null) : list.selectAll()));
const commandButtons = commands.map(([name, label, image]) =>
  el("button", { type: "button", title: label, "aria-label": label, onclick: () => run(name, list.chosen()) }, icon(image), el("span", {}, label)));
const moveButtons = moves.map(([direction, label, image]) =>
  el("button", { type: "button", className: "icon", title: `${label} of the order`, "aria-label": label, onclick: () => shift(list.chosen(), direction, list.shown()) }, icon(image)));
const priority = el("select", { "aria-label": "Priority", onchange: (event) => { prioritize(list.chosen(), event.target.value); event.target.value = ""; } },
  el("option", { value: "", disabled: true, selected: true }, "Priority"), ...format.priorities.map(([value, text]) => el("option", { value }, text)));
$("actions").append(all, subject, ...commandButtons, priority, el("span", { className: "moves" }, ...moveButtons));
$("orders").append(order, direction);

function toolbar() {
  const chosen = list.chosen();
  const isSelection = list.selection.size > 0;
  // A sample suffices to decide which commands to offer for a hundred thousand rows.
  const some = rowsOf(chosen.length > 2000 ? chosen.slice(0, 2000) : chosen);
  const number = !isSelection ? list.shownCount() : chosen.length > 2000 ? rowsOf(chosen).length : some.length;
  setText(subject, isSelection ? `${format.count(number)} selected` : format.plural(number, "transfer"));
  all.title = isSelection ? "Select none" : "Select all";
  all.setAttribute("aria-label", all.title);
  all.setAttribute("aria-pressed", isSelection);
  commandButtons.forEach((button, index) => {
    const [name, , , tip] = commands[index];
    const isMissing = needsSelection(name) && !isSelection;
    button.disabled = isMissing || fitting(name, some).length === 0;
    button.title = isMissing ? "Select transfers first (Control A: all)" : tip;
  });
  for (const button of moveButtons) button.disabled = !isSelection || !mayMove();
  priority.disabled = !isSelection;
}

// Filters with the number of transfers that each has.
const stateNames = [["all", "All"], ["active", "Running"], ["waiting", "Waiting"], ["paused", "Paused"], ["failed", "Failed"], ["completed", "Completed"], ["cancelled", "Cancelled"]];

function filters() {
  if (performance.now() - sides < 300) return;
  sides = performance.now();
  const counts = model.stateCounts();
  choices($("states"), stateNames.map(([value, label]) => [value, label, counts[value]]), model.view.state, (value) => { model.view.state = value; });
  const top = (map, number) => [...map].map(([name, value]) => [name, name, number(value)]).sort((a, b) => (a[0] < b[0] ? -1 : 1)).slice(0, 200);
  choices($("groups"), top(model.groups, (sum) => sum.members), model.view.group, (value) => { model.view.group = model.view.group === value ? null : value; });
  choices($("hosts"), top(model.hosts, (number) => number), model.view.host, (value) => { model.view.host = model.view.host === value ? null : value; });
  for (const id of ["groups", "hosts"]) $(id).parentElement.hidden = $(id).children.length === 0;
  empty();
}

function choices(box, entries, current, choose) {
  while (box.children.length > entries.length) box.lastChild.remove();
  entries.forEach(([value, label, number], index) => {
    let button = box.children[index];
    if (!button) {
      button = el("button", { type: "button" }, el("span"), el("b"));
      button.addEventListener("click", () => { button.choose(button.value_); list.selectOnly(null); model.structureRefresh(); sides = 0; });
      box.append(button);
    }
    button.value_ = value;
    button.choose = choose;
    setText(button.firstChild, label);
    setText(button.lastChild, format.count(number));
    button.setAttribute("aria-pressed", value === current);
  });
}

function empty() {
  const box = $("empty");
  const isEmpty = list.shown().length === 0;
  box.hidden = !isEmpty;
  if (!isEmpty) return;
  const text = !isLoaded ? "Reading the list…" : model.rows.size === 0
    ? "Nothing here yet. Add an address, paste one anywhere on this page, or drop a link or a text file of addresses."
    : model.stateCounts().all === 0 ? "Nothing here any more." : "No transfer matches the search and the filters at the left.";
  setText(box, text);
}

async function locked(reason) {
  if (await share.pass()) return passed();
  $("locked-shared").hidden = !share.isWaiting();
  if (await toLogin()) return;
  setText($("locked-reason"), reason);
  if ($("locked").open) return;
  $("locked").showModal();
  // Without access nothing else works; a browser closes a dialog at the second Escape in any case.
  $("locked").addEventListener("close", () => $("locked").showModal());
}

// Another tab shows what this one was given.
function passed() {
  $("close-tab").addEventListener("click", () => close());
  $("passed").showModal();
}

// A new address in the same tab does not load the page by itself.
addEventListener("hashchange", () => { if (location.hash.startsWith("#code=")) location.reload(); });
theme(localStorage.getItem("haul-theme") ?? "");
sort(...(JSON.parse(sessionStorage.getItem(sortKey)) ?? ["queue", false]));
$("copy-command").addEventListener("click", () => navigator.clipboard.writeText("haul ui").then(() => toast("Copied"), () => {}));
requestAnimationFrame(frame);
const refusal = await begin();
if (refusal === null) {
  sessions.start();
  follow();
  share.receive(add.openShared);
} else {
  locked(refusal);
}
