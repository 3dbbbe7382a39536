// Calls of the control interface. Another program may have taken the port of the daemon, so nothing is sent before
// the server has proved that it is the daemon of this session (docs/decisions/021-page-sessions.md).

const stored = "haul-token";
const encoder = new TextEncoder();
const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const bytes = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));

let session = null;
// Whether it began with the password.
let isLogin = false;
// Only in the memory of this page, and never sent: it outlives the daemon, and no reload.
let key = null;
// Good until the daemon ends; null while nothing has proved that it is the daemon.
let token = null;
let proving = null;

export class Problem extends Error {
  constructor(status, detail, isStranger = false) {
    super(detail);
    this.status = status;
    this.isStranger = isStranger;
  }
  get isAway() { return this.status === 0; }
}

// Exchanges the one-time code of the address for a key.
// Resolves to the reason why there is no access; null if there is.
export async function begin() {
  const code = /^#code=([0-9a-f]+)$/.exec(location.hash)?.[1];
  let refusal = "";
  if (code) {
    history.replaceState(null, "", location.pathname);
    try {
      await take(await content(await send("session", json("POST", { code }))));
      return null;
    } catch (problem) {
      refusal = problem.message;
    }
  }
  token = sessionStorage.getItem(stored);
  const isSecure = location.protocol === "https:";
  if (!token && !isSecure) return refusal;
  // This page was loaded again: the daemon that gave it the token, and no other, gives it the key. After the login
  // page it has a cookie, which is sent with TLS only, and with no other request.
  try {
    const again = token ? authorized({ method: "GET" }) : { method: "GET" };
    await take(await content(await send("session", isSecure ? { ...again, credentials: "same-origin" } : again)));
    return null;
  } catch (problem) {
    forget();
    return refusal || (problem.status === 401 ? "The session of this page has ended, or Haul was started again before the page was reloaded." : problem.message);
  }
}

async function take(answer) {
  session = answer.session;
  isLogin = answer.login === true;
  key = await crypto.subtle.importKey("raw", bytes(answer.key), { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
  await prove();
  // What reads it after the end of this daemon has nothing.
  sessionStorage.setItem(stored, token);
}

export function forget() {
  token = key = session = null;
  sessionStorage.removeItem(stored);
}

// The session, if it began with the password.
export const login = () => (isLogin ? session : null);

// Goes to the page that asks for the password, if there is one. Without TLS, another program may answer.
export async function toLogin() {
  if (location.protocol !== "https:") return false;
  const answer = await fetch("login", { cache: "no-store", credentials: "omit", redirect: "error" }).catch(() => null);
  if (!answer?.ok) return false;
  location.replace("login");
  return true;
}

// Lets the server prove that it is the daemon of this session, and makes the token for it.
function prove() {
  proving ??= proveOnce().finally(() => { proving = null; });
  return proving;
}

async function proveOnce() {
  token = null;
  if (!key) throw new Problem(401, "");
  const challenge = hex(crypto.getRandomValues(new Uint8Array(32)));
  const answer = await send("session/proof", json("POST", { session, challenge }));
  const { start, proof } = (await answer.json().catch(() => null)) ?? {};
  const said = encoder.encode(`daemon\n${location.host}\n${challenge}\n${start}`);
  if (!await crypto.subtle.verify("HMAC", key, bytes(String(proof)), said)) {
    throw new Problem(0, "Another program answers here in place of Haul. It was sent nothing. Close this page, and open a new one: haul ui", true);
  }
  token = `${session}.${hex(await crypto.subtle.sign("HMAC", key, encoder.encode(`page\n${start}`)))}`;
}

function json(method, body) {
  return { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

function authorized(options) {
  return { ...options, headers: { ...options.headers, Authorization: `Bearer ${token}` } };
}

async function send(path, options) {
  // The daemon has none: it is of a program that had this port, and would read along.
  if (navigator.serviceWorker?.controller) {
    throw new Problem(0, "Another program has used the address of this page, and reads what it sends. Close this page, and open a new one: haul ui", true);
  }
  try {
    // Relative, because a proxy may offer the page below a path.
    return await fetch(`api/v1/${path}`, { credentials: "omit", ...options, cache: "no-store", redirect: "error" });
  } catch {
    throw new Problem(0, "the daemon does not answer");
  }
}

// Sends a request with the token, once more if the daemon has started again meanwhile.
async function ask(path, options) {
  if (!token) await prove();
  const answer = await send(path, authorized(options));
  if (answer.status !== 401) return answer;
  await prove();
  return send(path, authorized(options));
}

async function content(answer) {
  if (answer.ok) return [202, 204].includes(answer.status) ? null : answer.json();
  const problem = await answer.json().catch(() => ({}));
  throw new Problem(answer.status, problem.detail ?? `the daemon answered ${answer.status}`);
}

export async function call(method, path, body, { key: idempotency, keepalive = false } = {}) {
  const options = body === undefined ? { method } : json(method, body);
  if (idempotency) options.headers["Idempotency-Key"] = idempotency;
  return content(await ask(path, { ...options, keepalive }));
}

// Calls `take(name, data)` for each message of the event stream; returns when the connection ends.
export async function stream(take, opened, signal) {
  const answer = await ask("events", { method: "GET", signal });
  if (!answer.ok) await content(answer);
  opened();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch(() => ({ done: true }));
    if (done) {
      token = null;
      return;
    }
    const text = rest + value;
    let start = 0;
    for (let end; (end = text.indexOf("\n\n", start)) >= 0; start = end + 2) message(text.slice(start, end), take);
    rest = text.slice(start);
  }
}

function message(frame, take) {
  let name = "";
  let data = "";
  for (const line of frame.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) data = line.slice(6);
  }
  if (name) take(name, data);
}
