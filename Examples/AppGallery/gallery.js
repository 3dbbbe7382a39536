"use strict";
// A fixed pool of rows, each reused for another app while the list scrolls.

const ROW_HEIGHT = 64;
const ICON_SIDE = 48;

/** Loads icons, and keeps some: a row that comes back shows its icon at once. */
class Icons {
  static limit = 100;
  #kept = new Map();

  cached(app) {
    return this.#kept.get(app);
  }

  async load(app, signal) {
    const response = await fetch(`icons/${app}`, { signal });
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    const icon = await createImageBitmap(await response.blob());
    this.#kept.set(app, icon);
    if (this.#kept.size > Icons.limit) this.#kept.delete(this.#kept.keys().next().value);
    return icon;
  }

  purge() {
    this.#kept.clear();
  }
}

/**
 * What `ResourceSlot` is in Swift: it delivers a placeholder, then an icon or a failure, and never
 * those of an app that it no longer shows. An icon in memory is delivered at once.
 */
class Slot {
  #generation = 0;
  #request = null;

  load(app, icons, deliver) {
    this.cancel();
    const icon = icons.cached(app);
    if (icon) return deliver({ kind: "icon", icon });
    deliver({ kind: "placeholder" });
    const generation = this.#generation;
    const finish = (content) => {
      if (this.isCurrent(generation)) deliver(content);
    };
    this.#request = new AbortController();
    icons.load(app, this.#request.signal).then(
      (icon) => finish({ kind: "icon", icon }),
      (error) => finish({ kind: "failure", error }));
  }

  cancel() {
    this.#generation += 1;
    this.#request?.abort();
    this.#request = null;
  }

  isCurrent(generation) {
    return generation === this.#generation;
  }
}

/** A row of the pool. */
class Row {
  #slot = new Slot();
  #app = 0;
  #drawing;

  constructor(list) {
    this.element = document.createElement("div");
    this.element.className = "row";
    this.element.setAttribute("role", "listitem");
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = ICON_SIDE;
    this.#drawing = canvas.getContext("2d", { willReadFrequently: true });
    this.element.append(canvas, ...["name", "kind", "number"].map((name) => {
      const text = document.createElement("span");
      text.className = name;
      return text;
    }));
    list.append(this.element);
  }

  show(app, { name, kind }, icons) {
    if (app === this.#app) return;
    this.#app = app;
    this.element.style.transform = `translateY(${(app - 1) * ROW_HEIGHT}px)`;
    const [, nameText, kindText, numberText] = this.element.children;
    nameText.textContent = name;
    kindText.textContent = kind;
    numberText.textContent = `#${app}`;
    this.#slot.load(app, icons, (content) => this.#draw(content));
  }

  remove() {
    this.#slot.cancel();
    this.element.remove();
  }

  #draw({ kind, icon, error }) {
    this.#drawing.fillStyle = "#d9dee5";
    this.#drawing.fillRect(0, 0, ICON_SIDE, ICON_SIDE);
    if (icon) this.#drawing.drawImage(icon, 0, 0);
    this.element.dataset.content = kind;
    this.element.title = error?.message ?? "";
  }
}

/** Shows the apps that are in view, in as few rows as fill the list. */
class Table {
  #list = document.getElementById("list");
  #space = document.createElement("div");
  #rows = [];

  constructor(apps, icons) {
    this.apps = apps;
    this.icons = icons;
    this.#space.style.height = `${apps.length * ROW_HEIGHT}px`;
    this.#list.append(this.#space);
    this.#list.addEventListener("scroll", () => this.#update());
    new ResizeObserver(() => this.#resize()).observe(this.#list);
  }

  #resize() {
    const count = Math.min(Math.ceil(this.#list.clientHeight / ROW_HEIGHT) + 1, this.apps.length);
    if (count === this.#rows.length) return;
    for (const row of this.#rows) row.remove();
    this.#rows = Array.from({ length: count }, () => new Row(this.#list));
    this.#update();
  }

  #update() {
    const count = this.#rows.length;
    const top = Math.floor(this.#list.scrollTop / ROW_HEIGHT);
    const first = Math.max(0, Math.min(top, this.apps.length - count));
    for (let index = first; index < first + count; index += 1) {
      this.#rows[index % count].show(index + 1, this.apps[index], this.icons);
    }
  }
}

async function showCounts(output) {
  for (;;) {
    try {
      const { requests, icons } = await (await fetch("counts", { priority: "high" })).json();
      output.textContent = `${requests} requests upstream for ${icons} icons`;
    } catch {
      output.textContent = "the program has ended";
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function start() {
  const apps = await (await fetch("apps.json")).json();
  const icons = new Icons();
  new Table(apps, icons);
  document.getElementById("purge").addEventListener("click", () => {
    icons.purge();
    fetch("purge", { method: "POST" });
  });
  showCounts(document.getElementById("counts"));
}

start();
