// Short words to the person: news for who listens, a toast with its undo, a trouble that stays.
let leaving;

export function say(text) {
  const place = document.querySelector("#news");
  if (place) place.textContent = text;
}

export function toast(text, action) {
  document.querySelector("#toast")?.remove();
  clearTimeout(leaving);
  const box = document.createElement("div");
  box.id = "toast";
  box.setAttribute("role", "status");
  box.append(text);
  if (action) {
    const button = document.createElement("button");
    button.textContent = "Undo";
    button.addEventListener("click", () => { box.remove(); action(); });
    box.append(button);
  }
  document.body.append(box);
  leaving = setTimeout(() => box.remove(), action ? 12000 : 5000);
}

export function trouble(text) {
  const old = document.querySelector("#trouble");
  if (!text) { old?.remove(); return; }
  const box = old || document.createElement("p");
  box.id = "trouble";
  box.setAttribute("role", "alert");
  if (box.textContent !== text) box.textContent = text;
  if (!old) document.querySelector("main").before(box);
}
