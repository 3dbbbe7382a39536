// Calls of the control interface. The token is sent as a header field, never in an address.

const key = "haul-token";
let token = sessionStorage.getItem(key);

export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
  get isAway() { return this.status === 0; }
}

// Exchanges the one-time code of the address for a token.
// Resolves to the reason why there is no access; null if there is.
export async function begin() {
  const code = /^#code=([0-9a-f]+)$/.exec(location.hash)?.[1];
  if (!code) return token ? null : "";
  history.replaceState(null, "", location.pathname);
  try {
    token = (await call("POST", "session", { code })).token;
    sessionStorage.setItem(key, token);
    return null;
  } catch (problem) {
    return token ? null : problem.message;
  }
}

export function forget() {
  token = null;
  sessionStorage.removeItem(key);
}

function headers(more) {
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

export async function call(method, path, body, { key: idempotency, keepalive = false } = {}) {
  const options = { method, headers: headers({}), keepalive, cache: "no-store", credentials: "omit" };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  if (idempotency) options.headers["Idempotency-Key"] = idempotency;
  let answer;
  try {
    answer = await fetch(`/api/v1/${path}`, options);
  } catch {
    throw new Problem(0, "the daemon does not answer");
  }
  if (answer.ok) return answer.status === 202 ? null : answer.json();
  const problem = await answer.json().catch(() => ({}));
  throw new Problem(answer.status, problem.detail ?? `the daemon answered ${answer.status}`);
}

// Calls `take(name, data)` for each message of the event stream; returns when the connection ends.
export async function stream(take, opened, signal) {
  let answer;
  try {
    answer = await fetch("/api/v1/events", { headers: headers({}), cache: "no-store", credentials: "omit", signal });
  } catch {
    throw new Problem(0, "the daemon does not answer");
  }
  if (!answer.ok) throw new Problem(answer.status, (await answer.json().catch(() => ({}))).detail ?? "");
  opened();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch(() => ({ done: true }));
    if (done) return;
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
