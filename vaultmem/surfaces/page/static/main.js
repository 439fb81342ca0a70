import { takeToken, keepToken, hasToken } from "./token.js";
import { followLinks, go, look } from "./travel.js";
import { doDeeds } from "./deeds.js";
import { heedKeys } from "./keys.js";
import { hearNews } from "./news.js";
import { searchWhileTyping } from "./search.js";

const html = document.documentElement;
takeToken();
html.toggleAttribute("data-token", hasToken());
followLinks();
doDeeds();
heedKeys();
searchWhileTyping();

async function open() {
  if (html.dataset.door || hasToken()) await look(location.href, { fresh: !html.dataset.door });
  if (!html.dataset.door) hearNews();
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.id === "door") {
    event.preventDefault();
    keepToken(form.querySelector("input").value.trim());
    open();
  } else if (!form.dataset.deed && form.method === "get" && form.action) {
    event.preventDefault();
    const url = new URL(form.action);
    for (const [name, value] of new FormData(form)) if (value) url.searchParams.append(name, value);
    go(url.href);
  }
});
open();
