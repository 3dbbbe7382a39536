// A short sound when transfers have ended. It is off at first, and the choice is kept.

import { $ } from "./dom.js";

const key = "haul-sound";
const box = $("sound");
let context = null;
let playing = 0;

box.checked = localStorage.getItem(key) === "on";
box.addEventListener("change", () => {
  localStorage.setItem(key, box.checked ? "on" : "off");
  play(false);
});

// A rising tone, or a falling one for a failure.
export function play(hasFailed) {
  // Without a click or a key in this page, browsers hold a sound back, and play it later.
  if (!box.checked || !navigator.userActivation?.hasBeenActive) return;
  context ??= new AudioContext();
  context.resume();
  const [start, length] = [context.currentTime, 0.3];
  const tone = context.createOscillator();
  const volume = context.createGain();
  tone.type = hasFailed ? "triangle" : "sine";
  const [first, second] = hasFailed ? [330, 220] : [660, 880];
  tone.frequency.setValueAtTime(first, start);
  tone.frequency.setValueAtTime(second, start + length / 2);
  volume.gain.setValueAtTime(0.06, start);
  volume.gain.exponentialRampToValueAtTime(0.001, start + length);
  tone.connect(volume).connect(context.destination);
  playing += 1;
  tone.onended = () => { playing -= 1; if (playing === 0) context.suspend(); };
  tone.start(start);
  tone.stop(start + length);
}
