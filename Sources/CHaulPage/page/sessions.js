// The sessions of pages, for those that know the password: which there are, and their end.

import { call, forget, login, toLogin } from "./api.js";
import { $, el, iconButton } from "./dom.js";
import * as format from "./format.js";
import { toast } from "./toasts.js";

const rows = el("tbody");
const close = el("button", { type: "button", onclick: () => box.close() }, "Close");
const box = el("dialog", { "aria-labelledby": "sessions-title" },
  el("h2", { id: "sessions-title" }, "Sessions"),
  el("p", { className: "note" }, "The pages that have access. One that was not used for 30 days ends by itself; a new password (haul ui password) ends those of the old one."),
  el("table", { className: "keys" }, rows),
  el("div", { className: "ends" }, close));

// A page that 'haul ui' opened sees no others: that command lists and ends them.
export function start() {
  if (!login()) return;
  document.body.append(box);
  $("keys").before(iconButton("user", "Sessions, and signing out", show, { id: "sessions", "data-label": "Sessions" }));
}

async function show() {
  try {
    const { sessions } = await call("GET", "sessions");
    rows.replaceChildren(...sessions.map(row));
    if (!box.open) box.showModal();
  } catch (problem) {
    toast(problem.message, { isBad: true });
  }
}

function row({ id, browser, begun, used }) {
  const isOwn = id === login();
  return el("tr", {},
    el("td", {}, browser || "unknown"),
    el("td", {}, `since ${format.time(begun)}, used ${format.time(used)}`),
    el("td", {}, el("button", { type: "button", onclick: () => end(id, isOwn) }, isOwn ? "Sign out" : "End")));
}

async function end(id, isOwn) {
  try {
    await call("DELETE", `sessions/${id}`);
  } catch (problem) {
    return toast(problem.message, { isBad: true });
  }
  if (!isOwn) return show();
  forget();
  if (!await toLogin()) location.reload();
}
