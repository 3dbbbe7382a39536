// Asks the servers for the names and the sizes of what is to be added.

import { call } from "./api.js";
import { $, el, setText } from "./dom.js";
import { bytes, plural } from "./format.js";
import { announce } from "./toasts.js";

// The daemon answers eight at once.
const together = 4;
const most = 50;
const list = $("probes");
let round = 0;

export function clear() {
  round += 1;
  list.replaceChildren();
  setText($("probe-sum"), "");
}

// - Parameter room: the bytes that are free, if known.
export async function ask(requests, room) {
  clear();
  const mine = round;
  const asked = requests.slice(0, most);
  const items = asked.map(({ url }) => el("li", {}, el("span", { className: "probe-name" }, name(url)), el("span", { className: "note" }, "asking…")));
  list.replaceChildren(...items);
  const found = [];
  let next = 0;
  await Promise.all(Array.from({ length: together }, async () => {
    while (next < asked.length && mine === round) {
      const index = next;
      next += 1;
      const answer = await call("POST", "probe", asked[index]).catch((problem) => problem);
      if (mine !== round) return;
      if (!(answer instanceof Error)) found.push(answer);
      show(items[index], answer);
    }
  }));
  if (mine !== round) return null;
  sum(found, asked.length, requests.length, room);
  return found;
}

function name(url) {
  return decodeSafely(url.replace(/[?#].*/, "").replace(/\/+$/, "").split("/").at(-1)) || url;
}

function decodeSafely(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function show(item, answer) {
  const isBad = answer instanceof Error;
  item.className = isBad ? "bad" : "";
  const [title, note] = item.children;
  if (!isBad) setText(title, answer.name);
  const facts = isBad ? [answer.message] : [
    answer.size === undefined ? "size unknown" : bytes(answer.size),
    answer.resumes ? "resumes" : answer.ranges ? "resumes only with a checksum" : "does not resume",
    /^text\/html\b/i.test(answer.type ?? "") ? "a web page" : "",
  ];
  setText(note, facts.filter(Boolean).join(" · "));
}

function sum(found, asked, all, room) {
  const size = found.reduce((total, { size: one }) => total + (one ?? 0), 0);
  const parts = [];
  if (asked > 1) parts.push(`${plural(found.length, "file")}, ${bytes(size)} together`);
  if (all > asked) parts.push(`the first ${asked} were asked`);
  if (room !== undefined && size > room) parts.push(`more than the ${bytes(room)} that are free`);
  setText($("probe-sum"), parts.join("; "));
  if (asked === 1) announce([...list.firstChild.children].map((part) => part.textContent).join(": "));
}
