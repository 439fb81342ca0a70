// What changes something: buttons and forms that name a deed, and the way back from the last one.
import { headers } from "./token.js";
import { go, refresh } from "./travel.js";
import { toast, trouble } from "./saying.js";
import { showConflict } from "./conflict.js";

let lastUndo = null;

export async function perform(deed, given, form) {
  let answer, told;
  try {
    answer = await fetch(`/do/${deed}`, {
      method: "POST",
      headers: headers({ "Content-Type": "application/json" }),
      body: JSON.stringify(given),
    });
    told = await answer.json();
  } catch {
    trouble("The server does not answer, so nothing was changed.");
    return;
  }
  if (answer.status === 409 && form && "current" in told) { showConflict(form, told); return; }
  if (!answer.ok) { toast(told.message); if (answer.status === 409) refresh(); return; }
  const back = told.undo;
  lastUndo = back ? () => { lastUndo = null; return perform(back.deed, back.given); } : null;
  toast(told.message, lastUndo);
  if (told.go) await go(told.go); else await refresh();
}

export function undoLast() {
  if (!lastUndo) { toast("There is nothing to undo here."); return; }
  lastUndo();
}

export function doDeeds() {
  document.addEventListener("click", (event) => {
    const copy = event.target.closest?.("[data-copy]");
    if (copy) {
      navigator.clipboard.writeText(copy.dataset.copy).then(() => toast(`Copied ${copy.dataset.copy}`),
        () => toast("The browser does not let this page copy."));
      return;
    }
    const skipped = event.target.closest?.("[data-skip]")?.closest(".line");
    if (skipped) {
      skipped.parentNode.append(skipped);
      (document.querySelector(".line") || document.body).focus();
      return;
    }
    const button = event.target.closest?.("button.deed");
    if (!button) return;
    event.preventDefault();
    perform(button.dataset.deed, JSON.parse(button.dataset.given));
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.dataset.deed) return;
    event.preventDefault();
    perform(form.dataset.deed, { ...JSON.parse(form.dataset.given), ...Object.fromEntries(new FormData(form)) }, form);
  });
}
