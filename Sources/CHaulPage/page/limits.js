// The limits and the schedule, changed while the queue runs.

import { call } from "./api.js";
import { $, dialog, el, setText } from "./dom.js";
import { toast } from "./toasts.js";

const box = dialog("limits-dialog");
let changed = () => {};
export const listen = (run) => { changed = run; };
const days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const fields = { active: "l-active", active_per_host: "l-per-host", connections: "l-connections", connections_per_host: "l-host-connections" };

$("limits").addEventListener("click", async () => {
  try {
    fill(await call("GET", "limits"));
    showError("");
    box.showModal();
  } catch (problem) {
    toast(problem.message, { isBad: true });
  }
});
// The second click of two would meet the button that removes the new line.
$("add-window").addEventListener("click", (event) => event.detail < 2 && $("windows").append(line({ days: days.slice(), from: "22:00", to: "06:00" })));
$("reset-limits").addEventListener("click", async () => {
  try {
    fill(await call("DELETE", "limits"));
    changed();
    toast("The limits are those of haul.conf and haul serve again");
  } catch (problem) {
    showError(problem.message);
  }
});
$("limits-form").addEventListener("submit", (event) => { event.preventDefault(); save(); });

function fill(limits) {
  for (const [name, id] of Object.entries(fields)) $(id).value = limits[name];
  $("l-rate").value = Math.round(limits.rate / 1024);
  $("windows").replaceChildren(...limits.schedule.map(line));
}

function line(window) {
  const names = days.map((day) => el("label", { className: "day" },
    el("input", { type: "checkbox", value: day, checked: window.days.includes(day) }), `${day[0].toUpperCase()}${day.slice(1, 3)}`));
  const item = el("div", { className: "window" }, el("span", { className: "days" }, ...names),
    el("label", {}, "from", el("input", { type: "time", className: "from", value: window.from, required: true })),
    el("label", {}, "to", el("input", { type: "time", className: "to", value: window.to === "24:00" ? "00:00" : window.to, required: true })),
    el("label", {}, "at most", el("input", { type: "number", className: "rate", min: 0, step: "any", placeholder: "no limit", value: window.rate ? window.rate / 1024 : "" }), "KiB/s"),
    el("button", { type: "button", onclick: () => item.remove() }, "Remove"));
  return item;
}

async function save() {
  const limits = { rate: Math.round(Number($("l-rate").value) * 1024) };
  for (const [name, id] of Object.entries(fields)) limits[name] = Number($(id).value);
  limits.schedule = [...$("windows").children].map((item) => ({
    days: [...item.querySelectorAll("[type=checkbox]:checked")].map((box) => box.value),
    from: item.querySelector(".from").value, to: item.querySelector(".to").value,
    ...(Number(item.querySelector(".rate").value) > 0 && { rate: Math.ceil(Number(item.querySelector(".rate").value) * 1024) }),
  }));
  try {
    await call("PATCH", "limits", limits);
    box.close();
    changed();
    toast("The limits were changed");
  } catch (problem) {
    showError(problem.message);
  }
}

$("limits-form").addEventListener("input", () => showError(""));

function showError(message) {
  $("limits-error").hidden = !message;
  setText($("limits-error"), message);
}
