// A note that changed while it was edited: both texts, and who decides is the person.
export function showConflict(form, told) {
  form.querySelector(".conflict")?.remove();
  const box = document.createElement("div");
  box.className = "conflict card";
  box.setAttribute("role", "alert");
  const words = document.createElement("p");
  words.textContent = `${told.message} Above is your text, below the note as it is now. Take over what you need, then save again.`;
  const label = document.createElement("label");
  label.textContent = "The note as it is now";
  const theirs = document.createElement("textarea");
  theirs.readOnly = true;
  theirs.value = told.current;
  label.append(theirs);
  box.append(words, label);
  form.append(box);
  form.dataset.given = JSON.stringify({ ...JSON.parse(form.dataset.given), version: told.version });
  words.scrollIntoView({ block: "nearest" });
}
