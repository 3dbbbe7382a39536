// Changes what a transfer was added with: rate, start time, priority, group, address, and what it proves itself with.

import { call } from "./api.js";
import { el, setText } from "./dom.js";
import { priorities } from "./format.js";
import { rows } from "./model.js";
import { fitting, groupNames, run } from "./actions.js";
import { toast } from "./toasts.js";

// In the zone of this browser, as a field of that type wants it.
export function localTime(seconds) {
  const date = new Date(seconds * 1000);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

// The lines of a field as header fields.
// - Throws: the error as text.
export function headerLines(text) {
  return text.split("\n").filter((line) => line.trim()).map((line) => {
    const colon = line.indexOf(":");
    if (colon < 1) throw new Error(`the header field “${line.trim()}” has no colon`);
    return { name: line.slice(0, colon).trim(), value: line.slice(colon + 1).trim() };
  });
}

// `Basic`, of a user name and a password in UTF-8 (RFC 7617).
function basic(user, password) {
  if (user.includes(":")) throw new Error("a user name has no colon");
  const octets = new TextEncoder().encode(`${user}:${password}`);
  return `Basic ${btoa(String.fromCharCode(...octets))}`;
}

// The form for one transfer; `fill(row)` shows what it has now.
export function form(id) {
  const secret = { type: "password", autocomplete: "new-password", spellcheck: false };
  const plain = { autocomplete: "off", spellcheck: false };
  const fields = {
    priority: el("select", {}, ...priorities.map(([value, text]) => el("option", { value }, text))),
    rate: el("input", { type: "number", min: "0", max: "1000000000", inputMode: "numeric", placeholder: "none" }),
    at: el("input", { type: "datetime-local" }),
    every: el("input", { autocomplete: "off", spellcheck: false }),
    group: el("input", { ...plain, placeholder: "none" }),
    url: el("input", { type: "url", placeholder: "https://…", ...plain }),
    user: el("input", { ...plain, autocapitalize: "off" }),
    password: el("input", secret),
    token: el("input", secret),
    headers: el("textarea", { rows: 2, spellcheck: false, autocapitalize: "off", placeholder: "Name: value" }),
  };
  fields.group.setAttribute("list", "group-names");
  const label = (text, name, className) => el("label", { className }, text, fields[name]);
  const error = el("p", { className: "error", role: "alert", hidden: true });
  const note = el("p", { className: "note" });
  const access = el("details", {}, el("summary", {}, "User name, password, token, header fields"),
    el("p", { className: "note" }, "What you give here replaces what was given. It is sent to the server only, and never shown."),
    el("div", { className: "fields" }, label("User name", "user"), label("Password", "password"), label("Token (Bearer)", "token", "wide"),
      label("Header fields, one in each line; without a value, it is removed", "headers", "wide")));
  const rate = label("Speed limit in KiB/s", "rate");
  const at = label("Start at", "at");
  const every = label("Repeat (12h, mon-fri 06:00)", "every");
  const address = label("Another address of the same file", "url", "wide address");
  const submit = el("button", { type: "submit", className: "primary" }, "Save");
  let shown = {};

  const values = (row) => ({
    priority: row.priority, rate: row.rateLimit ? String(Math.ceil(row.rateLimit / 1024)) : "",
    at: row.startsAt ? localTime(row.startsAt) : "", group: row.group ?? "",
    every: row.every ?? "",
  });

  // Only what is different from what was shown.
  function change() {
    const text = (name) => fields[name].value.trim();
    const wanted = {};
    if (text("priority") !== shown.priority) wanted.priority = text("priority");
    if (text("rate") !== shown.rate) wanted.rate_limit = Math.round(Number(text("rate")) * 1024);
    if (text("at") !== shown.at) wanted.starts_at = text("at") ? new Date(text("at")).getTime() / 1000 : 0;
    if (text("every") !== shown.every) wanted.every = text("every");
    if (text("group") !== shown.group) wanted.group = text("group");
    if (text("url")) wanted.url = text("url");
    const headers = headerLines(fields.headers.value).map(({ name, value }) => ({ name, value: value || null }));
    if (text("token") && text("user")) throw new Error("give either a token, or a user name and a password");
    if (fields.password.value && !text("user")) throw new Error("a password needs a user name");
    if (text("token")) headers.push({ name: "Authorization", value: `Bearer ${text("token")}` });
    if (text("user")) headers.push({ name: "Authorization", value: basic(text("user"), fields.password.value) });
    if (headers.length > 0) wanted.headers = headers;
    return wanted;
  }

  // The daemon itself stops what runs for another address or start time. Header fields count from its next request on, so it makes that now.
  async function save(wanted) {
    const { state } = await call("PATCH", `transfers/${id}`, wanted);
    if (!wanted.headers || state !== "running") return;
    for (const command of ["pause", "resume"]) await call("POST", "commands", { command, transfers: { ids: [id] } });
  }

  async function onSubmit(event) {
    event.preventDefault();
    showError("");
    submit.disabled = true;
    try {
      const wanted = change();
      if (Object.keys(wanted).length === 0) return showError("nothing is different");
      await save(wanted);
      for (const name of ["url", "user", "password", "token", "headers"]) fields[name].value = "";
      shown = {};
      const row = rows.get(id);
      const isOver = row && fitting("retry", [row]).length > 0;
      toast(wanted.url ? "The address was changed" : "Saved", isOver ? { time: 8000, action: "Retry", run: () => run("retry", [id]) } : {});
      if (row) fill(row);
    } catch (problem) {
      showError(problem.message);
      if (fields.headers.value) access.open = true;
    } finally {
      submit.disabled = false;
    }
  }

  function showError(message) {
    error.hidden = !message;
    setText(error, message);
  }

  // A field that its user has changed keeps that.
  function fill(row) {
    const now = values(row);
    for (const [name, value] of Object.entries(now)) {
      if ((shown[name] ?? fields[name].value) === fields[name].value && document.activeElement !== fields[name]) {
        fields[name].value = value;
        shown[name] = value;
      }
      shown[name] ??= value;
    }
    const isProgram = row.url === null;
    rate.hidden = isProgram;
    at.hidden = ["completed", "failed", "cancelled"].includes(row.state);
    every.hidden = at.hidden || row.kind !== "download";
    address.hidden = access.hidden = isProgram || row.state === "completed";
    setText(note, row.state === "running" ? "For another start time or address, and for header fields and a login, it stops for a moment." : "");
    note.hidden = row.state !== "running";
  }

  fields.group.addEventListener("focus", () => {
    document.getElementById("group-names").replaceChildren(...groupNames().map((name) => el("option", { value: name })));
  });
  const element = el("form", { className: "edit", onsubmit: onSubmit },
    el("div", { className: "fields" }, label("Priority", "priority"), rate, label("Group", "group"), at, every, address),
    access, note, error, el("div", { className: "edit-ends" }, submit));
  element.addEventListener("input", () => showError(""));
  return { element, fill };
}
