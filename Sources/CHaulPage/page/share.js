// Addresses from outside: shared from a telephone, sent by the bookmarklet. They are only put into the dialog for adding, where
// the user looks at them first: any page may lead a tab here.

const kept = "haul-shared";
const longest = 1 << 16;
// The pages of this address; a page that is served at another path of this host has other transfers.
const home = location.href.replace(/[?#].*/, "");
const channel = new BroadcastChannel(home);
const first = location.href;
let take = null;

const bookmarklet = `(()=>{const s=getSelection(),l=[...document.links].filter(a=>!s.isCollapsed&&s.containsNode(a,true)).map(a=>a.href);open(${JSON.stringify(home)}+"#add="+encodeURIComponent(l.length?l.join("\\n"):location.href))})()`;
export const script = `javascript:${encodeURIComponent(bookmarklet)}`;

// What an address of this page brings; empty for nothing.
function words(address) {
  const { searchParams, hash } = new URL(address);
  try {
    const text = hash.startsWith("#add=") ? decodeURIComponent(hash.slice(5))
      : ["url", "text", "title"].map((name) => searchParams.get(name) ?? "").filter(Boolean).join("\n");
    return text.slice(0, longest);
  } catch {
    return "";
  }
}

// Kept until this tab has access, also through a login that leads back here.
function keep(text) {
  if (text) sessionStorage.setItem(kept, text);
  if (/^#(?!code=)/.test(location.hash)) history.replaceState(null, "", home);
  else if (location.search) history.replaceState(null, "", home + location.hash);
}
keep(words(first));

function give() {
  const text = sessionStorage.getItem(kept);
  if (!text || !take) return;
  sessionStorage.removeItem(kept);
  take(text);
}

export const isWaiting = () => sessionStorage.getItem(kept) !== null;

// Calls `run(text)` for what comes, now that this tab has access.
export function receive(run) {
  take = run;
  give();
  const own = crypto.randomUUID();
  channel.addEventListener("message", ({ data }) => {
    if (data.ask) channel.postMessage({ offer: data.ask, from: own });
    if (data.to === own && typeof data.text === "string") take(data.text.slice(0, longest));
  });
}

// Passes it to a page that is open and has access. Resolves to whether there is one.
export function pass() {
  const text = sessionStorage.getItem(kept);
  if (!text) return Promise.resolve(false);
  const ask = crypto.randomUUID();
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), 700);
    channel.addEventListener("message", function listen({ data }) {
      if (data.offer !== ask) return;
      channel.removeEventListener("message", listen);
      clearTimeout(timer);
      sessionStorage.removeItem(kept);
      channel.postMessage({ to: data.from, text });
      resolve(true);
    });
    channel.postMessage({ ask });
  });
}

// The bookmarklet may find this tab again, and an installed page is not loaded again for what is shared.
addEventListener("hashchange", () => { keep(words(location.href)); give(); });
let isFirst = true;
window.launchQueue?.setConsumer(({ targetURL }) => {
  const isKnown = isFirst && targetURL === first;
  isFirst = false;
  if (!targetURL || isKnown) return;
  keep(words(targetURL));
  give();
});
