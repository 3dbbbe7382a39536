// Short messages, also for screen readers.

import { $, el, setText } from "./dom.js";

const place = $("messages");
const box = $("toasts");
const live = $("live");
let announced = 0;

// All but an open dialog is dark and cannot be pressed: the messages are in it.
function follow() {
  const host = [...document.querySelectorAll("dialog:modal")].at(-1) ?? document.body;
  if (place.parentElement !== host) host.append(place);
}
new MutationObserver(follow).observe(document.body, { attributeFilter: ["open"], subtree: true });

export function announce(text) {
  // Screen readers read a repeated text again only if it differs.
  announced += 1;
  setText(live, announced % 2 ? text : `${text}\u00a0`);
}

export function toast(text, { isBad = false, time = isBad ? 8000 : 4000, action, run } = {}) {
  const item = el("div", { className: isBad ? "toast bad" : "toast" }, el("span", {}, text));
  const close = () => item.remove();
  if (action) item.append(el("button", { type: "button", "data-action": action, onclick: () => { close(); run(); } }, action));
  box.append(item);
  while (box.children.length > 4) box.firstChild.remove();
  announce(action === "Undo" ? `${text}. ${action} with Control Z.` : text);
  setTimeout(close, time);
  return { close };
}

// The newest message that can be undone.
export function undoLast() {
  const buttons = box.querySelectorAll("[data-action=Undo]");
  buttons[buttons.length - 1]?.click();
}
