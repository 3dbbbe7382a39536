// Curves and maps on canvases, in the colours of the style sheet.

import { $, setText } from "./dom.js";
import { rate, span } from "./format.js";
import { rows, total } from "./model.js";

const seconds = 120;
const curves = new Map();
const totals = [];

// Once a second: the speed of everything, and of each transfer that runs.
export function sample() {
  totals.push(Math.max(0, total.rate));
  if (totals.length > seconds) totals.shift();
  let watched = 0;
  if ((total.states.running ?? 0) > 0) {
    for (const row of rows.values()) {
      if (row.state !== "running") continue;
      let curve = curves.get(row.id);
      if (!curve) curves.set(row.id, (curve = []));
      curve.push(row.rate);
      if (curve.length > seconds) curve.shift();
      if ((watched += 1) >= 200) break;
    }
  }
  if (curves.size > 400) for (const id of curves.keys()) if (rows.get(id)?.state !== "running") curves.delete(id);
  drawTotal();
}

export const curveOf = (id) => curves.get(id) ?? [];

const color = (name) => getComputedStyle(document.body).getPropertyValue(name).trim();

// A canvas has no light-dark(): the colour of an element does.
const resolved = new Map();
export function forgetColors() { resolved.clear(); }

function role(name) {
  if (!resolved.has(name)) {
    const probe = document.createElement("i");
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    resolved.set(name, getComputedStyle(probe).color || color(name));
    probe.remove();
  }
  return resolved.get(name);
}

function context(canvas) {
  const scale = devicePixelRatio || 1;
  const width = Math.round(canvas.clientWidth * scale);
  const height = Math.round(canvas.clientHeight * scale);
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const draw = canvas.getContext("2d");
  draw.clearRect(0, 0, width, height);
  return [draw, width, height];
}

export function drawCurve(canvas, values) {
  const [draw, width, height] = context(canvas);
  if (values.length === 0 || width === 0) return;
  const top = Math.max(1, ...values) * 1.1;
  const x = (index) => width - ((values.length - 1 - index) * width) / (seconds - 1);
  const y = (value) => height - 1 - (value / top) * (height - 3);
  draw.beginPath();
  values.forEach((value, index) => (index === 0 ? draw.moveTo(x(0), y(value)) : draw.lineTo(x(index), y(value))));
  draw.lineWidth = 1.5 * (devicePixelRatio || 1);
  draw.strokeStyle = role("--accent");
  draw.stroke();
  draw.lineTo(width, height);
  draw.lineTo(x(0), height);
  draw.globalAlpha = 0.14;
  draw.fillStyle = role("--accent");
  draw.fill();
  draw.globalAlpha = 1;
}

export function drawTotal() {
  drawCurve($("total-chart"), totals);
  const now = totals.at(-1) ?? 0;
  setText($("total-rate"), rate(now));
  const left = now > 0 && total.left > 0 ? span(total.left / now) : "";
  // What has not been asked for yet has no size.
  setText($("total-left"), left && `${total.unsized > 0 ? "more than " : ""}${left} left`);
}

// Which parts of a file are on disk, and which are being fetched.
export function drawMap(canvas, length, present, active, color_) {
  const [draw, width, height] = context(canvas);
  if (!length) return;
  const part = ([from, to], name, inset) => {
    draw.fillStyle = role(name);
    draw.fillRect((from / length) * width, inset, Math.max(1, ((to - from) / length) * width), height - 2 * inset);
  };
  for (const range of active) part(range, "--fetching", 0);
  for (const range of present) part(range, color_, 0);
  // The position at which each connection writes.
  for (const [from] of active) {
    draw.fillStyle = role("--text");
    draw.fillRect(Math.min(width - 2, (from / length) * width), 0, 2, height);
  }
}
