// Adding: each line is one transfer. Lines that cannot be added stay, each with its reason.

import { call } from "./api.js";
import { $, dialog, el, setText } from "./dom.js";
import { bytes, plural, priorities } from "./format.js";
import { groupNames, mayEnd } from "./actions.js";
import { headerLines } from "./edit.js";
import { choose, find } from "./files.js";
import * as probe from "./probe.js";
import * as share from "./share.js";
import { reveal } from "./list.js";
import { toast } from "./toasts.js";

const box = dialog("add-dialog");
const text = $("addresses");
const errors = $("line-errors");
let roots = [];
let problems = new Map();

export function start(rootDirectories) {
  roots = rootDirectories;
  if ($("f-directory").value || roots.length === 0) return;
  $("f-directory").value = roots[0];
  showRoom();
}

$("f-priority").append(...priorities.map(([value, name]) => el("option", { value, selected: value === "default" }, name)));
$("add").addEventListener("click", () => open());
$("add-form").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
// What is half written survives that the page is loaded again.
const draft = "haul-addresses";
text.value = sessionStorage.getItem(draft) ?? "";
const keep = () => sessionStorage.setItem(draft, text.value);
text.addEventListener("input", () => { problems = new Map(); showProblems(); keep(); probe.clear(); });
// What was wrong may be right now.
$("add-form").addEventListener("input", () => showError(""));
// A field that is refused, or has a value, is shown.
const otherFields = $("add-more");
const folds = [otherFields, $("add-access")];
const openFilled = () => {
  for (const fold of folds) fold.open ||= [...fold.querySelectorAll("input, textarea, select")].some((field) => field.value);
};
for (const fold of folds) fold.addEventListener("invalid", () => { fold.open = true; }, true);

// How much room there is, asked again for another directory.
let room;
async function showRoom() {
  let directory = null;
  try {
    directory = path(value("f-directory"), "directory", "write", (whole) => whole);
  } catch {
    // It is said once it is to be added.
  }
  const answer = directory && await call("GET", `space?directory=${encodeURIComponent(directory)}`).catch(() => null);
  room = answer?.free;
  setText($("f-space"), room === undefined ? "" : `${bytes(room)} free`);
}
$("f-directory").addEventListener("change", showRoom);

$("probe").addEventListener("click", async () => {
  const lines = wantedLines();
  showError("");
  try {
    const { headers, login } = access();
    const good = lines.filter(({ line }) => !wrong(line));
    if (good.length === 0) return showError("give at least one address");
    const found = await probe.ask(good.map(({ line }) => ({ url: login(line), ...(headers.length > 0 && { headers }) })), room);
    if (found?.length === 1 && lines.length === 1) $("f-name").placeholder = found[0].name;
  } catch (error) {
    folds[1].open = true;
    showError(error.message);
  }
});

$("bookmarklet").href = share.script;
setText($("bookmarklet-text"), share.script);
$("bookmarklet").addEventListener("click", (event) => {
  event.preventDefault();
  toast("Drag it to the bookmarks of this browser");
});
$("copy-bookmarklet").addEventListener("click", () => navigator.clipboard.writeText(share.script).then(() => toast("Copied"), () => {}));
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
  openFilled();
  probe.clear();
  $("f-name").placeholder = "from the address";
  if (!box.open) box.showModal();
  showRoom();
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

// What another page or program shares. The same address is often in two of its parts.
export function openShared(words) {
  const { found } = addressesIn(words);
  const known = new Set(text.value.split("\n").map((line) => line.trim()));
  const fresh = [...new Set(found)].filter((line) => !known.has(line));
  if (found.length === 0) return toast("What was shared has no address. An address begins with http:// or https://", { isBad: true });
  open(fresh.join("\n"));
}

const isField = (target) => target.closest?.("input, textarea, select") !== null && target.closest !== undefined;

addEventListener("paste", (event) => {
  if (!isField(event.target) && openText(event.clipboardData.getData("text/plain"))) event.preventDefault();
});
// Links, files or a selection from other windows. What is dragged within this page has none of these.
const dropTarget = $("drop-target");
const brings = (event) => event.dataTransfer?.types.some((type) => ["Files", "text/uri-list", "text/plain", "text/html"].includes(type));
let dragged = 0;
function dragsOver(change) {
  dragged = Math.max(0, change === 0 ? 0 : dragged + change);
  dropTarget.hidden = dragged === 0;
}
addEventListener("dragenter", (event) => { if (brings(event)) dragsOver(1); });
addEventListener("dragleave", (event) => { if (brings(event)) dragsOver(-1); });
addEventListener("dragover", (event) => {
  if (!event.dataTransfer) return;
  if (!isField(event.target)) event.dataTransfer.dropEffect = "copy";
  event.preventDefault();
});
addEventListener("drop", (event) => {
  dragsOver(0);
  if (isField(event.target)) return;
  event.preventDefault();
  const { files } = event.dataTransfer;
  for (const file of files) openFile(file);
  if (files.length === 0) openText(dropped(event.dataTransfer));
});

// Several links of a page are dragged as a selection: their addresses are only in its markup.
function dropped(data) {
  const list = data.getData("text/uri-list").split(/\r?\n/).filter((line) => line && !line.startsWith("#"));
  if (list.length > 0) return list.join("\n");
  const plainText = data.getData("text/plain");
  const links = [...data.getData("text/html").slice(0, 1 << 20).matchAll(/<a\s[^>]*?href\s*=\s*(?:"([^"]*)"|'([^']*)')/gi)]
    .map(([, double, single]) => (double ?? single).replaceAll("&amp;", "&")).filter((line) => /^https?:/i.test(line));
  return links.length > 0 && !/https?:\/\//i.test(plainText) ? [...new Set(links)].join("\n") : plainText;
}

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
  const { headers } = access();
  shared.priority = $("f-priority").value;
  if (headers.length > 0) shared.headers = headers;
  if (value("f-group")) shared.group = value("f-group");
  if (value("f-rate")) shared.rate_limit = Math.round(Number(value("f-rate")) * 1024);
  if (value("f-at")) shared.starts_at = new Date(value("f-at")).getTime() / 1000;
  if (value("f-every")) shared.every = value("f-every");
  if (value("f-exists")) shared.if_exists = value("f-exists");
  return shared;
}

// What proves who asks: header fields, and the address with the user name and the password.
// - Throws: the error as text.
function access() {
  const headers = headerLines($("f-headers").value);
  const [user, password, bearer] = [value("f-user"), $("f-password").value, value("f-token")];
  if (password && !user) throw new Error("a password needs a user name");
  if ((user ? 1 : 0) + (bearer ? 1 : 0) + (headers.some(({ name }) => /^authorization$/i.test(name)) ? 1 : 0) > 1) {
    throw new Error("give one of: a user name, a token, a header field Authorization");
  }
  if (bearer) headers.push({ name: "Authorization", value: `Bearer ${bearer}` });
  const own = `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
  return { headers, login: (line) => (user ? line.replace(/^(\w+:\/\/)(?:[^/?#]*@)?/, `$1${own.replaceAll("$", "$$$$")}`) : line) };
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

const wantedLines = () => text.value.split("\n").map((line, index) => ({ line: line.trim(), index }))
  .filter(({ line }) => line && !line.startsWith("#"));

async function submit() {
  if (!text.value.trim() && value("f-put")) {
    text.focus();
    return showError("give the address to which the file is uploaded");
  }
  const lines = text.value.split("\n").map((line) => line.trim());
  const wanted = wantedLines();
  problems = new Map();
  showError("");
  if (wanted.length === 0) return showError("give at least one address");
  let shared;
  try {
    shared = options(wanted.length === 1);
  } catch (error) {
    otherFields.open = true;
    openFilled();
    return showError(error.message);
  }
  for (const { line, index } of wanted) {
    const reason = wrong(shared.put ? line.replace(/^tus\+/i, "") : line);
    if (reason) problems.set(index, reason);
  }
  const good = wanted.filter(({ index }) => !problems.has(index));
  $("add-submit").disabled = true;
  const added = new Set();
  const [ids, same] = [[], []];
  try {
    for (let start = 0; start < good.length; start += 1000) await send(good.slice(start, start + 1000), shared, added, ids, same);
  } catch (problem) {
    showError(problem.message);
  } finally {
    $("add-submit").disabled = false;
  }
  if (added.size > 0) toast(summary(ids, same), { action: "Show", run: () => reveal(same[0] ?? ids[0]) });
  // Added lines are removed; the others keep their reasons.
  const kept = lines.map((line, index) => ({ line, reason: problems.get(index), index })).filter(({ index }) => !added.has(index));
  text.value = kept.map(({ line }) => line).join("\n").trim();
  problems = new Map(kept.filter(({ line }, place) => line || place > 0).map(({ reason }, place) => [place, reason]).filter(([, reason]) => reason));
  showProblems();
  keep();
  if (text.value === "" && added.size > 0) {
    // The next addresses may be of another host, to which a password must not go.
    for (const id of ["f-name", "f-checksum", "f-group", "f-at", "f-every", "f-put", "f-headers", "f-user", "f-password", "f-token", "f-connections", "f-rate", "f-exists"]) $(id).value = "";
    $("f-priority").value = "default";
    $("f-paused").checked = false;
    for (const fold of folds) fold.open = false;
    box.close();
    $("list").focus();
  }
}

function summary(ids, same) {
  const added = new Set(ids).size - new Set(same).size;
  const there = same.length > 0 && `${same.length} ${same.length === 1 ? "is" : "are"} in the list already`;
  return [(added > 0 || !there) && `${plural(added, "transfer")} added`, there].filter(Boolean).join("; ");
}

// A call adds all or nothing: halves find the lines that are refused.
async function send(some, shared, added, ids, same) {
  const { login } = access();
  const transfers = some.map(({ line }) => ({ ...target(login(line), shared), ...shared }));
  // As the command does: who adds an address again seldom wants the file twice. What this page is about to cancel or remove is not found: it will not be there.
  const body = { transfers, ...(!shared.put && !mayEnd() && { find_same: true }), ...($("f-paused").checked && { paused: true }) };
  // A call whose response is lost is repeated: because of its key, nothing is added twice.
  const key = crypto.randomUUID();
  try {
    const answer = await call("POST", "transfers", body, { key }).catch((problem) => {
      if (!problem.isAway) throw problem;
      return call("POST", "transfers", body, { key });
    });
    ids.push(...answer.ids);
    same.push(...answer.same ?? []);
    for (const { index } of some) added.add(index);
  } catch (problem) {
    if (problem.isAway || problem.status === 401 || problem.status >= 500) throw problem;
    if (some.length === 1) return problems.set(some[0].index, problem.message);
    const middle = some.length >> 1;
    await send(some.slice(0, middle), shared, added, ids, same);
    await send(some.slice(middle), shared, added, ids, same);
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
