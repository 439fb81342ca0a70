// Results while a person types: by words at once, then by meaning too.
import { look } from "./travel.js";

const PAUSE = 150; // before meaning is asked as well
let later, running;

function address(words, how) {
  const url = new URL(location.pathname === "/search" ? location.href : "/search", location.origin);
  url.searchParams.set("q", words);
  url.searchParams.delete("offset");
  how ? url.searchParams.set("how", how) : url.searchParams.delete("how");
  return url;
}

async function search(words) {
  running?.abort();
  running = new AbortController();
  clearTimeout(later);
  const { signal } = running;
  const whole = address(words, "");
  const there = location.pathname === "/search";
  if (!(await look(address(words, "words").href, { signal }))) return;
  history[there ? "replaceState" : "pushState"](null, "", whole.href);
  later = setTimeout(() => look(whole.href, { fresh: true, signal }), PAUSE);
}

export function searchWhileTyping() {
  document.addEventListener("input", (event) => {
    if (event.target.id === "find" && !event.isComposing) search(event.target.value);
  });
  document.addEventListener("compositionend", (event) => {
    if (event.target.id === "find") search(event.target.value);
  });
  document.addEventListener("change", (event) => {
    const form = event.target.closest?.("form.filters");
    if (form) form.requestSubmit();
  });
}
