// Adding: each line is one transfer. Lines that cannot be added stay, each with its reason.

import { call } from "./api.js";
import { $, dialog, el, setText } from "./dom.js";
import { plural, priorities } from "./format.js";
import { groupNames } from "./actions.js";
import { choose, find } from "./files.js";
import { reveal } from "./list.js";
import { toast } from "./toasts.js";

const box = dialog("add-dialog");
const text = $("addresses");
const errors = $("line-errors");
let roots = [];
let problems = new Map();

export function start(rootDirectories) {
  roots = rootDirectories;
  if (!$("f-directory").value) $("f-directory").value = roots[0] ?? "";
}

$("f-priority").append(...priorities.map(([value, name]) => el("option", { value, selected: value === "default" }, name)));
$("add").addEventListener("click", () => open());
$("add-form").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
// What is half written survives that the page is loaded again.
const draft = "haul-addresses";
text.value = sessionStorage.getItem(draft) ?? "";
const keep = () => sessionStorage.setItem(draft, text.value);
text.addEventListener("input", () => { problems = new Map(); showProblems(); keep(); });
// What was wrong may be right now.
$("add-form").addEventListener("input", () => showError(""));
// A field that is refused, or has a value, is shown.
const otherFields = $("add-more");
otherFields.addEventListener("invalid", () => { otherFields.open = true; }, true);
text.addEventListener("scroll", () => { errors.style.transform = `translateY(${-text.scrollTop}px)`; });
text.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) $("add-form").requestSubmit(); });
$("address-file").addEventListener("change", async (event) => {
  for (const file of event.target.files) await openFile(file);
  event.target.value = "";
});

$("choose-file").addEventListener("click", () => {
  const place = value("f-put").startsWith("/") ? value("f-put").replace(/\/[^/]*$/, "") : "";
  choose(roots, roots.some((root) => `${place}/`.startsWith(`${root}/`)) ? place : roots[0] ?? "/", uploads);
});

function uploads(path) {
  $("f-put").value = path;
  open();
  text.focus();
}

export function open(more = "") {
  $("group-names").replaceChildren(...groupNames().map((name) => el("option", { value: name })));
  const own = text.value.trimEnd();
  if (more) text.value = `${own}${own ? "\n" : ""}${more}\n`;
  keep();
  $("add-error").hidden = true;
  otherFields.open ||= [...otherFields.querySelectorAll("input, textarea, select")].some((field) => field.value);
  if (!box.open) box.showModal();
  text.focus();
}

// An address ends at a space, at a quote or angle bracket, and before punctuation behind which another begins.
const stop = "\\s<>\"“”„«»`";
const inText = new RegExp(`https?://[^${stop}]+?(?=[,;|'’)\\]}]+['‘([{]*https?://|[${stop}]|$)`, "gi");
const opening = { ")": "(", "]": "[", "}": "{" };

// The sentence's punctuation, and a bracket that the address does not open, are not of the address.
function withoutPunctuation(address) {
  const count = (character) => address.split(character).length;
  const last = address.at(-1);
  const isForeign = opening[last] ? count(last) > count(opening[last]) : /[.,:;!?'*‘’…。，、；：！？]/.test(last);
  return isForeign && address.length > 1 ? withoutPunctuation(address.slice(0, -1)) : address;
}

// A drop or a paste outside of a field: the addresses, also from the midst of a line, and lines that
// seem to be meant as one. The other lines are left out, which is said.
function addressesIn(words) {
  const [found, others] = [[], []];
  for (const line of words.split(/\r?\n/).map((line) => line.trim()).filter(Boolean)) {
    const written = line.match(inText) ?? (/^\S*[.:]\S*$/.test(line) ? [line] : []);
    const addresses = written.map(withoutPunctuation);
    found.push(...addresses);
    if (addresses.length === 0 && !line.startsWith("#")) others.push(line);
  }
  return found.some((line) => /^https?:/i.test(line) || wrong(line) === null) ? { found, others } : { found: [], others };
}

function openFound({ found, others }) {
  open(found.join("\n"));
  if (others.length > 0) showError(`left out, without an address: ${plural(others.length, "line")}, such as “${others[0].slice(0, 60)}”`);
}

export async function openFile(file) {
  const lines = file.size > 8 << 20 ? { found: [] } : addressesIn(await file.text());
  if (lines.found.length > 0) return openFound(lines);
  const why = file.size > 8 << 20 ? "is too large for a list of addresses" : "has no line that is an address";
  const path = await find(roots, file);
  if (path) uploads(path);
  toast(path ? `“${file.name}” ${why}; it is set to be uploaded` : `“${file.name}” ${why}. To upload it, use Add and “Choose…”`, { isBad: !path });
}

function openText(words) {
  if (/^file:\/\/\/\S+\s*$/.test(words)) {
    uploads(decodeURIComponent(new URL(words.trim()).pathname));
    return true;
  }
  const lines = addressesIn(words);
  if (lines.found.length > 0) openFound(lines);
  else if (words.trim()) toast("No address was found in that text. An address begins with http:// or https://", { isBad: true });
  return lines.found.length > 0;
}

const isField = (target) => target.closest?.("input, textarea, select") !== null && target.closest !== undefined;

addEventListener("paste", (event) => {
  if (!isField(event.target) && openText(event.clipboardData.getData("text/plain"))) event.preventDefault();
});
addEventListener("dragover", (event) => { if (event.dataTransfer) event.preventDefault(); });
addEventListener("drop", (event) => {
  if (isField(event.target)) return;
  event.preventDefault();
  for (const file of event.dataTransfer.files) openFile(file);
  if (event.dataTransfer.files.length === 0) openText(event.dataTransfer.getData("text/uri-list") || event.dataTransfer.getData("text/plain"));
});

// The errors of a line that this page can detect.
function wrong(line) {
  if (/\s/.test(line)) return "an address has no spaces";
  let url;
  try {
    url = new URL(line);
  } catch {
    return /^[\w-]+(\.[\w-]+)+([/:]|$)/.test(line) ? "put https:// in front of it" : "not an address";
  }
  return ["http:", "https:"].includes(url.protocol) ? null : "give http:// or https://";
}

const value = (id) => $(id).value.trim();

// - Throws: the error as text.
function path(given, what, mayOnly, root) {
  if (given.startsWith("~")) throw new Error(`write the ${what} in full, such as ${roots[0] ?? "/home/me/Downloads"}`);
  const whole = given.startsWith("/") || roots.length === 0 ? given : `${roots[0]}/${given}`;
  if (!whole.startsWith("/")) throw new Error(`the ${what} must be an absolute path, such as /home/me/Downloads`);
  if (roots.length > 0 && !roots.some((root) => `${whole}/`.startsWith(`${root}/`))) {
    throw new Error(`this page may ${mayOnly} only below ${roots.join(", ")}; to allow another directory, start the daemon with: haul serve --root ${root(whole)}`);
  }
  return whole;
}

// - Throws: the error as text.
function options(isSingle) {
  const put = value("f-put");
  const shared = put ? upload(put, isSingle) : download(isSingle);
  const headers = value("f-headers").split("\n").filter((line) => line.trim()).map((line) => {
    const colon = line.indexOf(":");
    if (colon < 1) throw new Error(`the header field “${line.trim()}” has no colon`);
    return { name: line.slice(0, colon).trim(), value: line.slice(colon + 1).trim() };
  });
  shared.priority = $("f-priority").value;
  if (headers.length > 0) shared.headers = headers;
  if (value("f-group")) shared.group = value("f-group");
  if (value("f-rate")) shared.rate_limit = Math.round(Number(value("f-rate")) * 1024);
  if (value("f-at")) shared.starts_at = new Date(value("f-at")).getTime() / 1000;
  if (value("f-exists")) shared.if_exists = value("f-exists");
  return shared;
}

function upload(given, isSingle) {
  if (!isSingle) throw new Error("an upload is to one address, but there are several");
  for (const [id, what] of [["f-name", "a file name"], ["f-checksum", "a checksum"]]) {
    if (value(id)) throw new Error(`${what} is for a download; an upload goes to its address`);
  }
  return { put: path(given, "file to upload", "upload files", (whole) => whole.replace(/\/[^/]*$/, "") || "/") };
}

function download(isSingle) {
  const directory = path(value("f-directory").replace(/(.)\/+$/, "$1"), "directory", "write", (whole) => whole);
  const name = value("f-name");
  if (name && !isSingle) throw new Error("a file name is for one address, but there are several");
  if (name.includes("/")) throw new Error("a file name has no slash");
  const checksum = value("f-checksum");
  if (checksum && !isSingle) throw new Error("a checksum is for one address, but there are several");
  const shared = { creates_directories: true };
  if (name) shared.file = `${directory}/${name}`;
  else shared.directory = directory;
  if (checksum) shared.checksums = [digest(checksum.includes("=") ? checksum : `sha-256=${checksum}`)];
  if (value("f-connections")) shared.connections = Number(value("f-connections"));
  return shared;
}

const digits = { crc32c: 8, md5: 32, "sha-1": 40, "sha-256": 64, "sha-384": 96, "sha-512": 128 };

// - Throws: the error as text.
function digest(given) {
  const [name, hex] = [given.replace(/=.*/, "").trim(), given.replace(/^[^=]*=/, "").trim()];
  const expected = digits[name.toLowerCase().replace(/^sha(?!-)/, "sha-")];
  if (!expected) throw new Error(`there is no checksum “${name}”; use ${Object.keys(digits).join(", ")}`);
  if (!/^[0-9a-f]*$/i.test(hex) || hex.length !== expected) throw new Error(`the checksum: ${name} has ${expected} hexadecimal digits, and “${hex}” is not so`);
  return `${name}=${hex}`;
}

// In a directory of the server the file keeps its name; with tus+ the server chooses the place.
function target(line, { put }) {
  if (!put) return { url: line };
  const url = line.replace(/^tus\+/i, "");
  if (url !== line) return { url, method: "tus" };
  return { url: url.endsWith("/") ? url + encodeURIComponent(put.replace(/.*\//, "")) : url };
}

async function submit() {
  if (!text.value.trim() && value("f-put")) {
    text.focus();
    return showError("give the address to which the file is uploaded");
  }
  const lines = text.value.split("\n").map((line) => line.trim());
  const wanted = lines.map((line, index) => ({ line, index })).filter(({ line }) => line && !line.startsWith("#"));
  problems = new Map();
  showError("");
  if (wanted.length === 0) return showError("give at least one address");
  let shared;
  try {
    shared = options(wanted.length === 1);
  } catch (error) {
    otherFields.open = true;
    return showError(error.message);
  }
  for (const { line, index } of wanted) {
    const reason = wrong(shared.put ? line.replace(/^tus\+/i, "") : line);
    if (reason) problems.set(index, reason);
  }
  const good = wanted.filter(({ index }) => !problems.has(index));
  $("add-submit").disabled = true;
  const added = new Set();
  const ids = [];
  try {
    for (let start = 0; start < good.length; start += 1000) await send(good.slice(start, start + 1000), shared, added, ids);
  } catch (problem) {
    showError(problem.message);
  } finally {
    $("add-submit").disabled = false;
  }
  if (added.size > 0) toast(`${plural(added.size, "transfer")} added`, { action: "Show", run: () => reveal(ids[0]) });
  // Added lines are removed; the others keep their reasons.
  const kept = lines.map((line, index) => ({ line, reason: problems.get(index), index })).filter(({ index }) => !added.has(index));
  text.value = kept.map(({ line }) => line).join("\n").trim();
  problems = new Map(kept.filter(({ line }, place) => line || place > 0).map(({ reason }, place) => [place, reason]).filter(([, reason]) => reason));
  showProblems();
  keep();
  if (text.value === "" && added.size > 0) {
    // The next addresses may be of another host, to which a password must not go.
    for (const id of ["f-name", "f-checksum", "f-group", "f-at", "f-put", "f-headers", "f-connections", "f-rate", "f-exists"]) $(id).value = "";
    $("f-priority").value = "default";
    box.close();
    $("list").focus();
  }
}

// A call adds all or nothing: halves find the lines that are refused.
async function send(some, shared, added, ids) {
  const transfers = some.map(({ line }) => ({ ...target(line, shared), ...shared }));
  // A call whose response is lost is repeated: because of its key, nothing is added twice.
  const key = crypto.randomUUID();
  try {
    const answer = await call("POST", "transfers", { transfers }, { key }).catch((problem) => {
      if (!problem.isAway) throw problem;
      return call("POST", "transfers", { transfers }, { key });
    });
    ids.push(...answer.ids);
    for (const { index } of some) added.add(index);
  } catch (problem) {
    if (problem.isAway || problem.status === 401 || problem.status >= 500) throw problem;
    if (some.length === 1) return problems.set(some[0].index, problem.message);
    const middle = some.length >> 1;
    await send(some.slice(0, middle), shared, added, ids);
    await send(some.slice(middle), shared, added, ids);
  }
}

function showError(message) {
  $("add-error").hidden = !message;
  setText($("add-error"), message);
}

function showProblems() {
  const count = text.value === "" ? 0 : text.value.split("\n").length;
  errors.replaceChildren();
  box.classList.toggle("with-problems", problems.size > 0);
  if (problems.size === 0) return;
  for (let index = 0; index < count; index += 1) {
    const reason = problems.get(index);
    errors.append(el("li", { className: reason ? "bad" : "", value: index + 1, title: reason }, reason ? `Line ${index + 1}: ${reason}` : ""));
  }
  text.focus();
  showError(`${plural(problems.size, "line")} cannot be added; the reason stands beside it`);
}
