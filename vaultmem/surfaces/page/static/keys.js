// The whole page by keys; letters mean nothing while a person writes.
import { go } from "./travel.js";
import { undoLast } from "./deeds.js";

const LINES = ".line, .hit";
let awaited = 0;

const writing = (place) => place.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
const lines = () => [...document.querySelectorAll(LINES)];
const current = () => document.activeElement?.closest?.(LINES);

function move(by) {
  const all = lines();
  if (!all.length) return;
  const at = all.indexOf(current());
  const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, at + by));
  all[next].focus();
  all[next].scrollIntoView({ block: "nearest" });
}

function press(key) {
  const line = current();
  const button = line?.querySelector(`[data-press="${CSS.escape(key)}"]`);
  if (!button) return false;
  const all = lines();
  const after = all[all.indexOf(line) + 1]?.dataset.line;
  button.click();
  if (after) document.addEventListener("shown", () => {
    if (!current()) lines().find((each) => each.dataset.line === after)?.focus();
  }, { once: true });
  return true;
}

function screenKey(key) {
  if (Date.now() > awaited) return false;
  awaited = 0;
  const link = document.querySelector(`.top nav [data-key="${CSS.escape(key)}"]`);
  if (link) go(link.href);
  return Boolean(link);
}

function heed(event) {
  if (event.metaKey || event.ctrlKey || event.altKey || event.isComposing) return;
  const dialog = document.querySelector("dialog[open]");
  if (event.key === "Escape") {
    if (!dialog && writing(event.target)) event.target.blur();
    return;
  }
  if (dialog || writing(event.target)) return;
  const done = screenKey(event.key) || press(event.key) || plainKey(event.key, event.target);
  if (done) event.preventDefault();
}

function plainKey(key, target) {
  switch (key) {
    case "/": document.querySelector("#find").select(); document.querySelector("#find").focus(); return true;
    case "j": move(1); return true;
    case "k": move(-1); return true;
    case "u": undoLast(); return true;
    case "?": document.querySelector("#keys").showModal(); return true;
    case "g": awaited = Date.now() + 1500; return true;
    case "Enter": {
      if (!target.matches(LINES)) return false;
      (target.querySelector("[data-open]") || target.querySelector("a[href]"))?.click();
      return true;
    }
  }
  return false;
}

export function heedKeys() {
  document.addEventListener("keydown", heed);
}
