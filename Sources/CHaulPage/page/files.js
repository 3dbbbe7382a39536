// Chooses a file that the daemon may read: a browser hides where the files of its user are.

import { call } from "./api.js";
import { $, dialog, el, icon, setText } from "./dom.js";
import { bytes } from "./format.js";

const box = dialog("files-dialog");
const entries = $("files");
const places = $("file-roots");
let chosen = () => {};

// Calls `done(path)` for the chosen file.
export function choose(roots, directory, done) {
  chosen = done;
  places.replaceChildren(...roots.map((root) => el("option", {}, root)));
  places.parentElement.hidden = roots.length < 2;
  box.showModal();
  open(directory);
}

places.addEventListener("change", () => open(places.value));

// - Parameter from: the directory that was left, which gets the focus.
async function open(directory, from) {
  entries.ariaBusy = "true";
  try {
    show(await call("GET", `files?directory=${encodeURIComponent(directory)}`), from);
    showError("");
  } catch (problem) {
    showError(problem.message);
  }
  entries.ariaBusy = "false";
}

function show({ directory, parent, entries: all, has_more: hasMore }, from) {
  // Downloads that are not complete are not to be sent.
  const found = all.filter(({ name }) => !/\.haul\.(part|journal)$/.test(name));
  const inside = (name) => `${directory === "/" ? "" : directory}/${name}`;
  const items = found.toSorted((a, b) => b.is_directory - a.is_directory).map(({ name, is_directory: isDirectory, size }) =>
    button(isDirectory ? "folder" : "file", name, isDirectory ? "" : bytes(size), () => (isDirectory ? open(inside(name)) : finish(inside(name)))));
  if (parent) items.unshift(button("up", "..", "", () => open(parent, directory.split("/").at(-1)), `Up to ${parent}`));
  setText($("file-directory"), directory);
  const root = [...places.options].find((option) => `${directory}/`.startsWith(`${option.value}/`));
  if (root) places.value = root.value;
  entries.replaceChildren(...items.map((item) => el("li", {}, item)));
  setText($("files-note"), hasMore ? "Only the first 5,000 are shown; write the path of another one in the field." : found.length === 0 ? "Nothing here can be sent." : "");
  const focused = items.find((item) => from && item.firstElementChild.nextElementSibling.textContent === from) ?? items[0];
  if (focused) focus(focused);
}

function button(image, name, size, run, label) {
  return el("button", { type: "button", tabIndex: -1, onclick: run, "aria-label": label }, icon(image), el("span", {}, name), el("b", {}, size));
}

// One of them is reached with Tab, the others with arrows.
function focus(item) {
  for (const other of entries.querySelectorAll("button")) other.tabIndex = -1;
  item.tabIndex = 0;
  item.focus();
}

entries.addEventListener("keydown", (event) => {
  const all = [...entries.querySelectorAll("button")];
  const index = all.indexOf(document.activeElement);
  const to = { ArrowUp: index - 1, ArrowDown: index + 1, PageUp: index - 10, PageDown: index + 10, Home: 0, End: all.length - 1 }[event.key];
  if (event.key === "ArrowLeft" && all[0]?.ariaLabel) all[0].click();
  else if (to !== undefined && all.length > 0) focus(all[Math.max(0, Math.min(all.length - 1, to))]);
  else return;
  event.preventDefault();
});

function finish(path) {
  box.close();
  chosen(path);
}

function showError(message) {
  $("files-error").hidden = !message;
  setText($("files-error"), message);
}

// The path of a file of this name and size directly in a root; null if there is none. A dropped file has no path.
export async function find(roots, file) {
  for (const directory of roots) {
    const answer = await call("GET", `files?directory=${encodeURIComponent(directory)}`).catch(() => null);
    if (answer?.entries.some(({ name, size }) => name === file.name && size === file.size)) return `${directory}/${file.name}`;
  }
  return null;
}
