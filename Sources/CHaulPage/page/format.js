// Numbers, times and states in words.

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytes(count) {
  let unit = 0;
  let value = Math.max(0, count);
  while (value >= 1023.95 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? Math.floor(value) : value.toFixed(1)} ${units[unit]}`;
}

export const rate = (bytesPerSecond) => `${bytes(bytesPerSecond)}/s`;

export function span(seconds) {
  if (!Number.isFinite(seconds) || seconds < 0 || seconds > 8.64e7) return "";
  const whole = Math.ceil(seconds);
  const pad = (number) => String(number).padStart(2, "0");
  const hours = Math.floor(whole / 3600);
  if (hours >= 100) return `${Math.floor(hours / 24)}d ${hours % 24}h`;
  const minutes = Math.floor(whole / 60) % 60;
  if (hours >= 10) return `${hours}h ${pad(minutes)}m`;
  return hours > 0 ? `${hours}:${pad(minutes)}:${pad(whole % 60)}` : `${minutes}:${pad(whole % 60)}`;
}

// Text from outside with escapes for the characters that cannot be seen, or show others in another order; as in a terminal.
export const plain = (text) => text.replace(/(?![\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
  (character) => `\\u{${character.codePointAt(0).toString(16)}}`);

export const count = (number) => number.toLocaleString("en");

export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

export function time(seconds) {
  if (!seconds) return "";
  const date = new Date(seconds * 1000);
  const isToday = date.toDateString() === new Date().toDateString();
  return date.toLocaleString([], isToday ? { timeStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" });
}

export const priorities = [
  ["user-interactive", "highest"], ["user-initiated", "high"], ["default", "normal"],
  ["utility", "low"], ["background", "lowest"],
];

const phases = {
  connecting: "waiting for an answer", verifying: "checking the digest", publishing: "moving into place",
  restarted: "beginning again", running: "running",
};

// The state of a transfer, or why it waits.
export function state(row) {
  if (row.isEnding === "cancel") return "will be cancelled";
  switch (row.state) {
    case "queued": {
      const reason = row.waiting ? sentence(row.waiting) : "waits for a slot";
      return row.start ? `moved to the front, still waits: ${reason}` : reason;
    }
    case "running": return row.waiting ? sentence(row.waiting) : phases[row.phase] ?? (row.phase || row.rate > 0 ? "transferring" : "waiting for an answer");
    case "publishing": return "moving into place";
    case "stopping": return "stopping";
    case "failed": return row.error ? failure(row.error) : "failed";
    case "completed":
      if (row.result?.warning === "unverified") return "completed, unverified: it may be incomplete";
      return was(row) ?? "completed";
    default: return row.state;
  }
}

// What a completed download found in place of fetching; null if it fetched.
export function was({ kind, result }) {
  if (kind !== "download" || !result || result.fetched > 0 || result.bytes === 0) return null;
  return result.verified === "unverified" ? "skipped: a file of that name exists" : "completed: it was there already";
}

// What the message of a command line would not help with here.
const advice = {
  unauthorized: "the server wants a user name and a password; add it again as https://user:password@… or with a header field",
  "checksum-mismatch": "the file differs from the checksum that you gave: a wrong checksum, or a damaged file; Restart downloads it again",
};

export const failure = (error) => advice[error.code] ?? error.message;

// The wait of a row counts down between two messages of the daemon.
function sentence(wait) {
  if (!wait.until) return wait.message;
  if (wait.code === "start-time") return `starts at ${time(wait.until)}`;
  return wait.message.replace(/\d+ s\b/, `${Math.max(0, Math.ceil(wait.until - Date.now() / 1000))} s`);
}

export function percent(row) {
  if (row.state === "completed") return 100;
  return row.total > 0 ? Math.min(99.9, (100 * row.bytes) / row.total) : null;
}

// What the server is known to have of an upload; null if that is all that is shown.
export const acknowledgedPercent = (row) => (row.state === "running" && row.acknowledged !== null && row.total > 0
  ? (100 * row.acknowledged) / row.total : null);

export function secondsLeft(row) {
  return row.state === "running" && row.total > 0 && row.rate > 0 ? (row.total - row.bytes) / row.rate : null;
}
