"use strict";
// Watches the table of AppGallery from outside the page's own code: what a row shows is read from its pixels. A row is read when
// it changes its app, before anything else can happen, and once for each frame.

window.watched = (() => {
  const [SIDE, MARGIN, SQUARE] = [48, 4, 8];
  const watched = {
    readings: 0, reuses: 0, icons: 0, placeholders: 0, failures: 0,
    misplaced: [], // "#3 shows 7"
    early: [], // apps without a placeholder at first
    seen: new Set(), right: new Set(), // apps, and apps whose own icon was shown
    arrivals: new Map(), // app: milliseconds from its placeholder to its icon
  };
  const since = new Map();

  /** The number in the pixels; 0 for a placeholder, null for anything else. */
  function shown(canvas) {
    const { data } = canvas.getContext("2d").getImageData(0, 0, SIDE, SIDE);
    const pixel = (x, y) => data.slice((y * SIDE + x) * 4, (y * SIDE + x) * 4 + 4).join();
    const isLit = (row, column) => {
      const middle = (index) => MARGIN + SQUARE * index + SQUARE / 2;
      return pixel(middle(column), middle(row)) !== pixel(1, 1);
    };
    let bits = 0;
    for (let row = 0; row < 5; row += 1) {
      for (let column = 0; column < 3; column += 1) {
        if (isLit(row, column) !== isLit(row, 4 - column)) return null;
        bits = bits << 1 | isLit(row, column);
      }
    }
    const number = bits >> 5;
    if (bits === 0) return 0;
    return (bits & 31) === number * 7 % 31 + 1 ? number : null;
  }

  function read(row) {
    const app = Number(row.querySelector(".number").textContent.slice(1));
    const number = shown(row.querySelector("canvas"));
    const isFirst = !watched.seen.has(app);
    watched.seen.add(app);
    watched.readings += 1;
    if (row.dataset.content === "failure") watched.failures += 1;
    if (number === 0) {
      watched.placeholders += 1;
      if (isFirst) since.set(app, performance.now());
    } else if (number === app) {
      watched.icons += 1;
      if (isFirst) watched.early.push(app);
      if (!watched.right.has(app)) watched.arrivals.set(app, performance.now() - since.get(app));
      watched.right.add(app);
    } else {
      watched.misplaced.push(`#${app} shows ${number}`);
    }
    return number;
  }

  const rows = () => [...document.querySelectorAll(".row")];
  watched.numbers = () => rows().map(read);
  watched.apps = () => rows().map((row) => Number(row.querySelector(".number").textContent.slice(1)));
  watched.allRight = () => rows().length > 0 && rows().every((row) => read(row) > 0);

  new MutationObserver((changes) => {
    for (const { target } of changes) {
      if (target.className !== "number") continue;
      watched.reuses += 1;
      read(target.parentElement);
    }
  }).observe(document, { childList: true, subtree: true });
  const frame = () => {
    rows().forEach(read);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  return watched;
})();
