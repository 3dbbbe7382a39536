// Elements. Text from outside always becomes text, never markup, and without characters that hide something.

import { plain } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);

// A new element: properties, attributes (with a dash, or of ARIA), handlers (on...), children.
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, given] of Object.entries(properties)) {
    if (given === undefined || given === null) continue;
    const value = typeof given === "string" && name !== "value" ? plain(given) : given;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role" || name === "for") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined)
    .map((child) => (typeof child === "string" ? plain(child) : child)));
  return element;
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

export function setIcon(svg, name) {
  const href = `#i-${name}`;
  const use = svg.firstChild;
  if (use.getAttribute("href") !== href) use.setAttribute("href", href);
}

// Writes only what has changed: each write costs layout.
export function setText(element, text) {
  const shown = plain(text);
  if (element.textContent !== shown) element.textContent = shown;
}

export function setTitle(element, text) {
  const shown = plain(text);
  if (element.title !== shown) element.title = shown;
}

export function iconButton(name, label, run, properties = {}) {
  return el("button", { type: "button", className: "icon", title: label, "aria-label": label, onclick: run, ...properties },
    icon(name));
}

// Closes a dialog by its own buttons.
export function dialog(id) {
  const element = $(id);
  element.querySelectorAll("[data-close]").forEach((button) => button.addEventListener("click", () => element.close()));
  return element;
}
