// One stream of news for all tabs of a browser: one of them listens and tells the others.
import { headers } from "./token.js";
import { refresh } from "./travel.js";
import { trouble } from "./saying.js";

const channel = new BroadcastChannel("vaultmem-news");
const GATHER = 60; // milliseconds: a burst is one look
let last = "";
let due, stale = false;

function heard(news) {
  last = news.id;
  if (news.begun) return;
  if (document.hidden) { stale = true; return; }
  clearTimeout(due);
  due = setTimeout(lookAgain, GATHER);
}

function lookAgain() {
  stale = false;
  const main = document.querySelector("main");
  if (main?.dataset.live && !document.querySelector("[data-editing]")) refresh();
}

async function listen() {
  for (let pause = 250; ; pause = Math.min(pause * 2, 5000)) {
    try {
      const answer = await fetch("/news", { headers: headers({ "Last-Event-ID": last }), cache: "no-store" });
      if (!answer.ok) return; // without the token there is none
      pause = 250;
      trouble("");
      await read(answer.body.pipeThrough(new TextDecoderStream()).getReader());
    } catch { /* the server is away */ }
    trouble("The server does not answer. What you see may be old; it is tried again.");
    await new Promise((done) => setTimeout(done, pause));
  }
}

async function read(reader) {
  for (let text = ""; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const id = event.match(/^id: (.*)$/m);
      if (id) { const news = { id: id[1], begun: event.includes("data: begun") }; channel.postMessage(news); heard(news); }
    }
  }
}

export function hearNews() {
  channel.addEventListener("message", (event) => heard(event.data));
  document.addEventListener("visibilitychange", () => { if (!document.hidden && stale) lookAgain(); });
  if (navigator.locks) navigator.locks.request("vaultmem-news", listen); else listen();
}
