// Commands to transfers, and the time in which two of them can be undone.

import { call } from "./api.js";
import { bytes, count, plural, priorities, state } from "./format.js";
import { groups, hidden, hide, moveLocally, order, rows, structureRefresh, take, unhide, view } from "./model.js";
import { toast } from "./toasts.js";

const undoTime = 10_000;
const batch = 5000;
const pending = new Set();

const has = (...states) => (row) => states.includes(row.state);

// The transfers whose state allows a command.
const fits = {
  pause: has("queued", "running"),
  resume: has("paused"),
  start: has("queued", "paused"),
  retry: has("failed", "cancelled"),
  restart: has("completed", "failed", "cancelled"),
  cancel: has("queued", "running", "paused", "publishing"),
  remove: () => true,
  delete: (row) => row.kind === "download" && row.state === "completed",
};

// Commands that lose something, or that go before all others: they are for a selection only, so that a second click on one of
// them, when the first has emptied the selection, is not for everything.
export const needsSelection = (name) => ["start", "restart", "cancel", "remove", "delete"].includes(name);

export const fitting = (name, some) => some.filter((row) => !row.isEnding && fits[name](row));

// The transfers of items of the list: rows, and all members of folders.
export function rowsOf(items) {
  const ids = new Set();
  for (const item of items) {
    if (typeof item === "string") ids.add(item);
    else for (const id of item.ids) ids.add(id);
  }
  return [...ids].map((id) => rows.get(id)).filter((row) => row && !hidden.has(row.id));
}

export async function run(name, items) {
  const all = rowsOf(items);
  const some = fitting(name, all);
  if (some.length === 0) return;
  if (name === "cancel" || name === "remove" || name === "delete") return later(name, some);
  const ids = some.map((row) => row.id);
  await report(() => send(name, ids, name === "start" ? { force: true } : {}));
  // What still waits says for what now; the daemon sends nothing if only that has changed.
  if (name !== "start") return;
  await Promise.all(ids.slice(0, 20).map(refresh));
  const waiting = ids.map((id) => rows.get(id)).filter((row) => row?.state === "queued" && row.start);
  if (waiting.length > 0) toast(`“${waiting[0].name}”${waiting.length > 1 ? ` and ${count(waiting.length - 1)} more` : ""}: ${state(waiting[0])}`, { time: 8000 });
}

async function refresh(id) {
  const document = await call("GET", `transfers/${id}`).catch(() => null);
  if (document) take("transfer", JSON.stringify(document));
  structureRefresh();
}

export async function prioritize(items, priority) {
  const ids = rowsOf(items).map((row) => row.id);
  await report(async () => {
    const answer = await send("prioritize", ids, { priority });
    const [, name] = priorities.find(([value]) => value === priority);
    if (answer.refused.length === 0) toast(`Priority of ${plural(ids.length, "transfer")}: ${name}`);
    return answer;
  });
}

// Whether the list is in the order of the queue, in which alone moving makes sense.
export const mayMove = () => view.sort === "queue";

// Moves before another transfer; to the end for null.
export async function move(items, before) {
  if (!mayMove()) return toast(`The list is sorted by ${view.sort}. To move transfers, choose “Order of the queue”.`);
  const ids = rowsOf(items).map((row) => row.id);
  if (ids.length === 0 || ids.includes(before)) return;
  moveLocally(ids, before);
  await report(() => send("move", ids, { to: before === null ? { last: true } : { before } }));
}

// Moves up or down past the neighbouring shown row, or to an end.
export function shift(items, direction, shownItems) {
  const moving = new Set(rowsOf(items).map((row) => row.id));
  const ids = rowsOf(shownItems).map((row) => row.id);
  const places = ids.map((id, index) => (moving.has(id) ? index : -1)).filter((index) => index >= 0);
  if (places.length === 0) return;
  switch (direction) {
    case "first": return move(items, order.find((id) => !moving.has(id)) ?? null);
    case "last": return move(items, null);
    case "up": {
      const before = ids.slice(0, places[0]).findLast((id) => !moving.has(id));
      return before && move(items, before);
    }
    case "down": {
      const after = ids.slice(places.at(-1) + 1).filter((id) => !moving.has(id));
      if (after.length === 0) return;
      return move(items, after[1] ?? order[order.indexOf(after[0]) + 1] ?? null);
    }
  }
}

async function send(command, ids, more = {}, options = {}) {
  const refused = [];
  const left = [];
  for (let start = 0; start < ids.length; start += batch) {
    const answer = await call("POST", "commands", { command, transfers: { ids: ids.slice(start, start + batch) }, ...more }, options);
    refused.push(...answer.refused);
    left.push(...answer.left);
  }
  return { refused, left };
}

async function report(work) {
  try {
    const { refused, left } = await work();
    if (refused.length > 0) toast(`${plural(refused.length, "transfer")} refused: ${refused[0].message}`, { isBad: true });
    if (left.length > 0) toast(`${plural(left.length, "file")} not deleted: ${left[0]}`, { isBad: true });
  } catch (problem) {
    toast(problem.message, { isBad: true });
  }
}

const words = { cancel: "Cancelled", remove: "Removed", delete: "Removed with file" };

// Whether something waits for a cancel or removal that can still be undone.
export const mayEnd = () => pending.size > 0;

// Pauses at once, and sends the command when it can no longer be undone.
async function later(name, some) {
  const what = some.length === 1 ? `“${some[0].name}”` : plural(some.length, "transfer");
  const work = { name, ids: some.map((row) => row.id), paused: fitting("pause", some).map((row) => row.id), isPaused: false, isOver: false };
  pending.add(work);
  for (const row of some) {
    if (name !== "cancel") hide(row);
    row.isEnding = name;
    row.version += 1;
  }
  structureRefresh();
  const stopped = work.paused.length > 0 ? report(async () => {
    const answer = await send("pause", work.paused);
    work.isPaused = true;
    return answer;
  }) : Promise.resolve();
  const lost = name === "cancel" ? some.reduce((sum, row) => sum + row.bytes, 0) : 0;
  const shown = toast(`${words[name]}: ${what}${lost > 0 ? `; ${bytes(lost)} will be deleted` : ""}`, { time: undoTime, action: "Undo", run: () => undo(work, stopped) });
  work.toast = shown;
  work.timer = setTimeout(() => finish(work, stopped), undoTime);
}

function release(work) {
  pending.delete(work);
  for (const id of work.ids) {
    unhide(id);
    const row = rows.get(id);
    if (row) {
      delete row.isEnding;
      row.version += 1;
    }
  }
  structureRefresh();
}

async function undo(work, stopped) {
  if (work.isOver) return;
  work.isOver = true;
  clearTimeout(work.timer);
  release(work);
  await stopped;
  if (work.paused.length > 0) await report(() => send("resume", work.paused.filter((id) => rows.get(id)?.state !== "running")));
}

const command = (work) => [work.name === "cancel" ? "cancel" : "remove", work.name === "delete" ? { delete_files: true } : {}];

// Another page, or a command, wanted it to continue after this one had paused it.
const wasResumed = (work, id) => work.isPaused && work.paused.includes(id) && has("queued", "running", "publishing", "completed")(rows.get(id) ?? {});

async function finish(work, stopped) {
  if (work.isOver) return;
  await stopped;
  const [name, more] = command(work);
  try {
    const ids = work.ids.filter((id) => rows.has(id) && !wasResumed(work, id));
    const resumed = work.ids.filter((id) => wasResumed(work, id));
    if (resumed.length > 0) toast(`${resumed.length === 1 ? `“${rows.get(resumed[0]).name}” was` : `${plural(resumed.length, "transfer")} were`} resumed meanwhile: not ${words[name].toLowerCase()}`);
    await report2(await send(name, ids, more));
  } catch (problem) {
    if (problem.isAway && !work.isOver) {
      // Sent again until the daemon runs.
      work.timer = setTimeout(() => finish(work, Promise.resolve()), 1000);
      return;
    }
    toast(problem.message, { isBad: true });
    // None was changed: what was paused meanwhile continues.
    if (!work.isOver && work.paused.length > 0) await report(() => send("resume", work.paused));
  }
  work.isOver = true;
  // The rows are removed by the daemon's own messages; refused ones are shown again.
  setTimeout(() => release(work), 500);
}

const report2 = (answer) => report(async () => answer);

// Pending commands are sent when the page is closed.
addEventListener("pagehide", () => {
  for (const work of pending) {
    if (work.isOver) continue;
    work.isOver = true;
    const [name, more] = command(work);
    // With keepalive, a request may have 64 KiB.
    send(name, work.ids.slice(0, 4000), more, { keepalive: true }).catch(() => {});
  }
});

export const groupNames = () => [...groups.keys()].sort();
