// The list as the event stream sent it, with sums that are kept while it changes.

import { count as words, plain } from "./format.js";

export const rows = new Map();
export let order = [];
export const groups = new Map();
export const hosts = new Map();
export const total = sums();
// Hidden until their removal is certain; they are in no sum.
export const hidden = new Set();
export const view = { state: "all", group: null, host: null, text: "", closed: new Set(), sort: "queue", isDown: false };

let generation = 0;
let arriving = null;
// Ids that were added and have their positions, although their rows come with a later message:
// rows added together arrive in the order of their ids, not of the list.
const announced = new Set();
let isWhole = false;
let isOrderStale = false;
// The argument says whether this page made the change; then it is shown at once.
let structureListener = () => {};
let endListener = () => {};
let waitListener = () => {};

export const activeStates = new Set(["running", "publishing", "stopping"]);
export const endedStates = new Set(["completed", "failed", "cancelled"]);

export function listen(structure, ended, waits) {
  structureListener = structure;
  endListener = ended;
  waitListener = waits;
}

export function structureRefresh() { structureListener(true); }

function sums() {
  return { members: 0, bytes: 0, total: 0, unknown: 0, left: 0, unsized: 0, fraction: 0, rate: 0, states: {} };
}

function count(sum, row, sign) {
  sum.members += sign;
  sum.bytes += sign * row.bytes;
  sum.total += sign * (row.total ?? row.bytes);
  if (row.total === null && !endedStates.has(row.state)) sum.unknown += sign;
  if (row.state === "queued" || activeStates.has(row.state)) {
    if (row.total === null) sum.unsized += sign;
    else sum.left += sign * Math.max(0, row.total - row.bytes);
  }
  sum.fraction += sign * (row.state === "completed" ? 1 : row.total > 0 ? row.bytes / row.total : 0);
  sum.rate += sign * row.rate;
  sum.states[row.state] = (sum.states[row.state] ?? 0) + sign;
}

function countAll(row, sign) {
  count(total, row, sign);
  if (row.group !== null) {
    if (!groups.has(row.group)) groups.set(row.group, sums());
    const sum = groups.get(row.group);
    count(sum, row, sign);
    if (sum.members === 0) groups.delete(row.group);
  }
  if (row.host) {
    const left = (hosts.get(row.host) ?? 0) + sign;
    if (left > 0) hosts.set(row.host, left);
    else hosts.delete(row.host);
  }
}

export function hide(row) {
  if (!hidden.has(row.id)) countAll(row, -1);
  hidden.add(row.id);
}

export function unhide(id) {
  if (hidden.delete(id) && rows.has(id)) countAll(rows.get(id), 1);
}

// Numbers within names compare as numbers.
const nameKey = (name) => name.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(12, "0"));
const stateOrder = ["running", "publishing", "stopping", "queued", "paused", "failed", "completed", "cancelled"];

// What a column is sorted by; folders have sums in place of rows.
export const sorts = {
  name: (row) => (row.nameKey ??= nameKey(row.name)),
  size: (row) => row.total ?? row.bytes,
  state: (row) => stateOrder.indexOf(row.state),
  speed: (row) => row.rate,
  added: (row) => row.added ?? 0,
  ended: (row) => row.ended ?? 0,
};

// Sorting is stable: what is equal stays in the order of the queue.
function sorted(items) {
  const value = sorts[view.sort];
  if (!value) return items;
  const keyed = items.map((item) => ({ item, key: typeof item === "string" ? value(rows.get(item)) : folderValue(item, value) }));
  const sign = view.isDown ? -1 : 1;
  keyed.sort((left, right) => (left.key < right.key ? -sign : left.key > right.key ? sign : 0));
  return keyed.map(({ item }) => item);
}

function folderValue(folder, value) {
  if (view.sort === "name") return nameKey(folder.group);
  const values = folder.ids.map((id) => value(rows.get(id)));
  if (view.sort === "size" || view.sort === "speed") return values.reduce((sum, one) => sum + one, 0);
  return values.reduce((most, one) => (view.sort === "state" ? Math.min(most, one) : Math.max(most, one)));
}

function hostOf(url) {
  const match = /^[a-z]+:\/\/([^/?#]*)/i.exec(url ?? "");
  return match ? match[1] : null;
}

function put(document) {
  const old = rows.get(document.id);
  const row = old ?? { id: document.id, url: undefined, host: null };
  const [was, group] = [old?.state, old?.group];
  const sort = sorts[view.sort];
  const key = old && sort?.(old);
  if (old && !hidden.has(old.id)) countAll(old, -1);
  if (row.url !== document.url) {
    row.url = document.url;
    row.host = hostOf(document.url);
  }
  row.kind = document.kind;
  const reason = row.waiting?.code;
  const name = plain(document.name);
  if (row.name !== name) Object.assign(row, { name, nameKey: null });
  row.identifier = document.identifier;
  row.group = document.group;
  row.priority = document.priority;
  row.state = document.state;
  row.phase = document.phase;
  row.waiting = document.waiting;
  row.start = document.start;
  row.bytes = document.bytes;
  row.acknowledged = document.acknowledged ?? null;
  row.total = document.total;
  row.rate = document.state === "running" ? document.rate : 0;
  row.connections = document.connections ?? 0;
  row.rateLimit = document.rate_limit;
  row.startsAt = document.starts_at;
  row.every = document.every;
  row.nextRun = document.next_run;
  row.lastRun = document.last_run;
  row.path = document.path;
  row.error = document.error;
  row.result = document.result;
  row.generation = generation;
  row.version = (row.version ?? 0) + 1;
  const isLive = isWhole && !arriving;
  const hasEnded = isLive && was !== row.state && endedStates.has(row.state);
  // The message of an event may be written before the daemon has noted its time.
  row.added = document.added ?? row.added ?? (isLive ? Date.now() / 1000 : null);
  row.ended = !endedStates.has(row.state) ? null : hasEnded ? Date.now() / 1000 : document.ended ?? row.ended ?? null;
  if (!hidden.has(row.id)) countAll(row, 1);
  if (!old) {
    rows.set(row.id, row);
    if (!announced.delete(row.id) && (!arriving || arriving.shows)) order.push(row.id);
  }
  if (arriving) arriving.ids.push(row.id);
  if (!old || group !== row.group || (was !== row.state && view.state !== "all") || (sort && sort(row) !== key)) structureListener(false);
  // A short transfer may end before its first message. What is there when the page opens ended before.
  if (hasEnded) endListener(row);
  if (isLive && row.waiting?.code !== reason) waitListener(row.waiting?.code, reason);
}

function drop(id) {
  announced.delete(id);
  const row = rows.get(id);
  if (!row) return;
  if (!hidden.delete(id)) countAll(row, -1);
  rows.delete(id);
  structureListener(false);
}

// One message of the event stream.
export function take(name, data) {
  switch (name) {
    case "reset":
      generation += 1;
      announced.clear();
      // The old list stays on the screen until the new one is whole.
      arriving = { ids: [], shows: !isWhole };
      break;
    case "ready":
      if (!arriving) break;
      for (const row of [...rows.values()]) if (row.generation !== generation) drop(row.id);
      order = arriving.ids;
      arriving = null;
      isWhole = true;
      structureListener(true);
      break;
    case "transfer": put(JSON.parse(data)); break;
    case "event": {
      // Most are progress, which is also in the message of the transfer.
      if (data.includes('"type":"progress"')) break;
      const event = JSON.parse(data);
      if (event.type === "added" && !rows.has(event.id) && !announced.has(event.id)) {
        announced.add(event.id);
        order.push(event.id);
      }
      if (event.type === "removed") drop(event.id);
      if (event.type === "moved") isOrderStale = true;
      break;
    }
  }
}

// The first rows, shown before the stream has started.
export function takeFirst(documents) {
  if (rows.size === 0) documents.forEach(put);
}

// The queue was suspended, or is not any more: the reason of each waiting row, until its next message.
export function suspensionChanged(isSuspended) {
  for (const row of rows.values()) {
    if (row.state !== "queued" || (row.waiting?.code === "suspended") === isSuspended) continue;
    if (isSuspended && row.waiting?.code !== "slot" && row.waiting !== null) continue;
    row.waiting = isSuspended ? { code: "suspended", message: "the queue is suspended" } : null;
    row.version += 1;
  }
}

// Whether the order must be fetched. Reading it resets it.
export function takeStaleOrder() {
  const stale = isOrderStale;
  isOrderStale = false;
  return stale;
}

export function setOrder(ids) {
  const known = ids.filter((id) => rows.has(id) || announced.has(id));
  if (known.length < rows.size + announced.size) {
    const seen = new Set(known);
    for (const id of announced) if (!seen.has(id)) announced.delete(id);
    for (const id of rows.keys()) if (!seen.has(id)) known.push(id);
  }
  order = known;
  structureListener(true);
}

// Moves ids before another one, or to the end, without waiting for the daemon.
export function moveLocally(ids, before) {
  const moving = new Set(ids);
  const rest = order.filter((id) => !moving.has(id));
  const place = before === null ? rest.length : rest.indexOf(before);
  order = [...rest.slice(0, place), ...order.filter((id) => moving.has(id)), ...rest.slice(place)];
  structureListener(true);
}

// Where a waiting transfer stands among those that wait, as “3 of 12”. Priorities share the starts, so it is not a promise.
export function place(row) {
  let [before, all] = [0, 0];
  let isFound = false;
  for (const id of order) {
    if (rows.get(id)?.state !== "queued" || hidden.has(id)) continue;
    all += 1;
    if (!isFound) before += 1;
    isFound ||= id === row.id;
  }
  return isFound ? `${words(before)} of ${words(all)}` : null;
}

const filters = {
  all: () => true,
  active: (row) => activeStates.has(row.state),
  waiting: (row) => row.state === "queued",
  paused: (row) => row.state === "paused",
  failed: (row) => row.state === "failed",
  completed: (row) => row.state === "completed",
  cancelled: (row) => row.state === "cancelled",
};

// What the list shows: ids, and a folder before the members of each group.
export function visible() {
  const takes = filters[view.state];
  const text = view.text.toLowerCase();
  const items = [];
  const folders = new Map();
  // Removed ones leave the order here, all at once.
  if (!arriving && order.length !== rows.size) order = order.filter((id) => rows.has(id) || announced.has(id));
  for (const id of order) {
    const row = rows.get(id);
    if (!row || hidden.has(id) || !takes(row)) continue;
    if (view.group !== null && row.group !== view.group) continue;
    if (view.host !== null && row.host !== view.host) continue;
    if (text && !row.name.toLowerCase().includes(text) && !(row.url ?? "").toLowerCase().includes(text)) continue;
    if (row.group === null) {
      items.push(id);
      continue;
    }
    let folder = folders.get(row.group);
    if (!folder) {
      folder = { group: row.group, ids: [] };
      folders.set(row.group, folder);
      items.push(folder);
    }
    folder.ids.push(id);
  }
  if (folders.size === 0) return sorted(items);
  const flat = [];
  for (const item of sorted(items)) {
    flat.push(item);
    if (item.group !== undefined && !view.closed.has(item.group)) for (const id of sorted(item.ids)) flat.push(id);
  }
  return flat;
}

export const stateCounts = () => {
  const { states } = total;
  return {
    all: total.members,
    active: (states.running ?? 0) + (states.publishing ?? 0) + (states.stopping ?? 0),
    waiting: states.queued ?? 0, paused: states.paused ?? 0, failed: states.failed ?? 0,
    completed: states.completed ?? 0, cancelled: states.cancelled ?? 0,
  };
};
