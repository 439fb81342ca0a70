// Going from screen to screen without losing the token, and keeping the one that is open fresh.
import { headers, hasToken, keepToken } from "./token.js";
import { morph } from "./morph.js";
import { say, trouble } from "./saying.js";

const policy = window.trustedTypes
  ? trustedTypes.createPolicy("vaultmem", { createHTML: (text) => text }) // only what our server sent
  : { createHTML: (text) => text };
const AWAY = "The server does not answer. It may have been stopped: start it again with vaultmem look.";
const GONE = "The token is wrong, or of a server that was stopped. Open the link that the running one printed: vaultmem look";
let asked = 0; // screens that a person went to: news never stand in their way
let begun = 0, newest = 0; // an answer that was overtaken is older than what is shown

export const isOurs = (url) => url.origin === location.origin && !/^\/(page|mcp|docs|do|openapi\.json)/.test(url.pathname);

export async function fetched(address, signal) {
  const answer = await fetch(address, { headers: headers({ Accept: "text/html" }), signal, cache: "no-store" });
  const text = await answer.text();
  if (!answer.headers.get("Content-Type")?.startsWith("text/html")) throw new Error(JSON.parse(text).message);
  return new DOMParser().parseFromString(policy.createHTML(text), "text/html");
}

function told(page) {
  const html = page.documentElement;
  const locked = html.dataset.door === "yes" || html.dataset.trusted === "no";
  if (hasToken() && locked) {
    trouble(GONE);
    keepToken("");
  } else trouble("");
  document.documentElement.toggleAttribute("data-token", hasToken() && !locked);
  return html.dataset.door !== "yes";
}

export async function look(address, { fresh = false, signal, unasked = false } = {}) {
  const turn = unasked ? asked : ++asked;
  const number = ++begun;
  let page;
  try {
    page = await fetched(address, signal);
  } catch (error) {
    if (error.name !== "AbortError") trouble(error instanceof TypeError ? AWAY : error.message);
    return false;
  }
  if (turn !== asked || number < newest) return false; // another one was asked for meanwhile
  newest = number;
  if (!told(page)) return false;
  show(page, fresh);
  return true;
}

function show(page, fresh) {
  document.title = page.title;
  for (const name of ["trusted", "readOnly"]) {
    const value = page.documentElement.dataset[name];
    if (value) document.documentElement.dataset[name] = value;
  }
  const main = document.querySelector("main");
  const next = page.querySelector("main");
  if (document.documentElement.dataset.door) {
    delete document.documentElement.dataset.door;
    document.body.replaceChildren(...[...page.body.childNodes].map((node) => document.importNode(node, true)));
    document.dispatchEvent(new Event("shown"));
    return;
  }
  morph(document.querySelector(".top nav"), page.querySelector(".top nav"));
  const find = document.querySelector("#find");
  if (document.activeElement !== find) find.value = page.querySelector("#find").value;
  if (fresh) {
    const added = morph(main, next);
    for (const line of added) line.classList.add("fresh");
    setTimeout(() => added.forEach((line) => line.classList.remove("fresh")), 4000);
    if (added.length) say(`${added.length} new`);
  } else main.replaceWith(document.importNode(next, true));
  document.dispatchEvent(new Event("shown"));
}

export async function go(address, { push = true } = {}) {
  const url = new URL(address, location.href);
  if (!(await look(url.href))) return;
  if (push && url.href !== location.href) history.pushState(null, "", url.href);
  const place = url.hash && document.getElementById(decodeURIComponent(url.hash.slice(1)));
  if (place) place.scrollIntoView(); else if (push) scrollTo(0, 0);
  document.querySelector("main").focus({ preventScroll: true });
}

export const refresh = () => look(location.href, { fresh: true, unasked: true });

export function followLinks() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const url = new URL(link.href?.baseVal ?? link.href, location.href);
    if (!isOurs(url) || (url.pathname + url.search === location.pathname + location.search && url.hash)) return;
    event.preventDefault();
    go(url.href);
  });
  addEventListener("popstate", () => go(location.href, { push: false }));
}
