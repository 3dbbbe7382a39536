// The keyboard and the pointer on the list.

import { $, dialog, el } from "./dom.js";
import { mayMove, move, run, shift } from "./actions.js";
import * as details from "./details.js";
import * as list from "./list.js";
import { rows } from "./model.js";
import { undoLast } from "./toasts.js";

const grid = $("list");
const help = dialog("keys-dialog");
$("keys").addEventListener("click", () => help.showModal());

const commands = { p: ["pause", "resume"], s: ["start"], r: ["retry", "restart"], c: ["cancel"], Delete: ["remove"] };

export function start() {
  grid.addEventListener("keydown", onKey);
  grid.addEventListener("pointerdown", onDown);
  grid.addEventListener("dblclick", (event) => { if (!event.target.closest("button") && list.slotOf(event.target)) openCurrent(); });
  grid.addEventListener("focus", () => { if (list.currentIndex() < 0 && list.shown().length > 0) list.setCurrent(0, false); });
  addEventListener("keydown", onPageKey);
}

function onPageKey(event) {
  const isTyping = event.target.closest?.("input, textarea, select, dialog");
  if (event.key === "?" && !isTyping) {
    event.preventDefault();
    help.showModal();
  } else if ((event.ctrlKey || event.metaKey) && event.key === "z" && !isTyping) {
    event.preventDefault();
    undoLast();
  } else if (event.key === "/" && !isTyping) {
    event.preventDefault();
    $("search").focus();
  } else if (event.key === "Escape" && details.isOpen() && !isTyping) {
    details.close();
  }
}

// The items that a key acts on: the selection, or the focused row.
function subjects() {
  if (list.selection.size > 0) return list.chosen();
  const item = list.shown()[list.currentIndex()];
  return item === undefined ? [] : [item];
}

function onKey(event) {
  if (event.target !== grid) return;
  const index = list.currentIndex();
  const last = list.shown().length - 1;
  const isControl = event.ctrlKey || event.metaKey;
  const steps = { ArrowUp: index - 1, ArrowDown: index + 1, PageUp: index - list.pageLength(), PageDown: index + list.pageLength(), Home: 0, End: last };
  if (event.altKey) {
    const direction = { ArrowUp: "up", ArrowDown: "down", Home: "first", End: "last" }[event.key];
    if (!direction) return;
    event.preventDefault();
    return shift(subjects(), direction, list.shown());
  }
  if (event.key in steps) list.step(steps[event.key], event.shiftKey, isControl);
  else if (event.key === "ArrowRight") list.fold(index, false);
  else if (event.key === "ArrowLeft") list.fold(index, true);
  else if (event.key === " ") list.toggleCurrent();
  else if (event.key === "Enter") openCurrent();
  else if (isControl && event.key === "a") list.selectAll();
  else if (event.key === "Escape" && !details.isOpen()) list.selectOnly(null);
  else if (!isControl && commands[event.key]) for (const name of commands[event.key]) run(name, subjects());
  else return;
  event.preventDefault();
}

function openCurrent() {
  const item = list.shown()[list.currentIndex()];
  if (typeof item === "string") details.open(rows.get(item), true);
  else list.fold(list.currentIndex(), !document.querySelector(".row.current")?.classList.contains("open") ? false : true);
}

// A press selects; a press that moves drags the selection.
function onDown(event) {
  const slot = list.slotOf(event.target);
  if (!slot || event.button !== 0 || event.target.closest("button")) return;
  const isTouch = event.pointerType !== "mouse";
  // A finger scrolls the list; it drags only by the mark at the left.
  const mayDrag = mayMove() && (!isTouch || event.target.closest(".mark"));
  const wasSelected = list.selection.has(slot.key);
  const isPlain = !event.shiftKey && !event.ctrlKey && !event.metaKey;
  const item = list.shown()[slot.index];
  const isChevron = typeof item !== "string" && event.target.closest(".mark, .name");
  // A tap on the mark selects, also several; a tap on the rest opens the details.
  const isTick = isTouch && isPlain && Boolean(event.target.closest(".mark")) && typeof item === "string";
  if (!(isTouch || (wasSelected && isPlain))) list.press(slot, event);
  else list.setCurrent(slot.index, false);
  const key = slot.key;
  let line = null;
  let target = null;
  const y = event.clientY;

  const onMove = (moved) => {
    if (!line && (Math.abs(moved.clientY - y) < 6 || !mayDrag)) return;
    if (!line) {
      if (isTouch && !wasSelected) list.selectOnly(key);
      line = el("div", { className: "drop-line" });
      grid.append(line);
      grid.classList.add("dragging");
      grid.setPointerCapture(event.pointerId);
    }
    scrollNear(moved.clientY);
    target = Math.max(0, Math.min(list.shown().length, Math.round(list.indexAt(moved.clientY))));
    line.style.transform = `translateY(${target * parseFloat(getComputedStyle(grid).getPropertyValue("--row"))}px)`;
  };
  const onUp = (released) => {
    // A drag that ends beside the list moves nothing.
    const box = grid.getBoundingClientRect();
    if (released && (released.clientX < box.left || released.clientX > box.right || released.clientY < box.top - 30 || released.clientY > box.bottom + 30)) target = null;
    removeEventListener("pointermove", onMove);
    removeEventListener("pointerup", onUp);
    removeEventListener("pointercancel", onCancel);
    if (line) {
      line.remove();
      grid.classList.remove("dragging");
      drop(target);
    } else if (released && isTick) {
      list.toggleCurrent();
    } else if (released && isTouch) {
      list.selectOnly(null);
    } else if (wasSelected && isPlain) {
      list.selectOnly(key);
    }
    if (!line && isChevron && (released || !isTouch)) list.fold(list.currentIndex(), document.querySelector(".row.current")?.classList.contains("open"));
    if (!line && released && isTouch && !isTick && typeof item === "string") details.open(rows.get(item));
  };
  const onCancel = () => { target = null; onUp(); };
  if (isTouch && mayDrag) event.preventDefault();
  addEventListener("pointermove", onMove);
  addEventListener("pointerup", onUp);
  addEventListener("pointercancel", onCancel);
}

function scrollNear(y) {
  const box = grid.getBoundingClientRect();
  if (y < box.top + 30) grid.scrollTop -= 12;
  else if (y > box.bottom - 30) grid.scrollTop += 12;
}

// Moves before the first transfer below the line that is not itself dragged.
function drop(target) {
  if (target === null) return;
  const items = list.shown();
  const dragged = list.chosen();
  const own = new Set(dragged.flatMap((item) => (typeof item === "string" ? [item] : item.ids)));
  for (let index = target; index < items.length; index += 1) {
    const ids = typeof items[index] === "string" ? [items[index]] : items[index].ids;
    const before = ids.find((id) => !own.has(id));
    if (before) return move(dragged, before);
  }
  return move(dragged, null);
}
