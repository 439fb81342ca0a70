// Make one tree of elements like another, keeping what a person has open, focused or typed.
const keyOf = (node) => node.nodeType === 1 ? node.dataset.line || node.id || "" : "";

function alike(old, fresh) {
  return old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName && keyOf(old) === keyOf(fresh);
}

function copyAttributes(old, fresh) {
  for (const { name } of [...old.attributes])
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  for (const { name, value } of fresh.attributes)
    if (old.getAttribute(name) !== value && name !== "open") old.setAttribute(name, value);
}

export function morph(old, fresh, added = []) {
  if (old.nodeType === 3) { if (old.data !== fresh.data) old.data = fresh.data; return added; }
  if (old.nodeType !== 1) return added;
  copyAttributes(old, fresh);
  if (old.matches("textarea, input, select")) return added;
  const keyed = new Map();
  for (const child of old.childNodes) if (keyOf(child)) keyed.set(keyOf(child), child);
  let place = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const key = keyOf(child);
    let match = key ? keyed.get(key) : place;
    if (match && !key) while (match && keyOf(match)) match = match.nextSibling;
    if (match && alike(match, child)) {
      if (match === place) place = place.nextSibling; else old.insertBefore(match, place);
      morph(match, child, added);
    } else {
      const copy = document.importNode(child, true);
      old.insertBefore(copy, place);
      if (key && copy.dataset.line) added.push(copy);
    }
  }
  while (place) { const next = place.nextSibling; place.remove(); place = next; }
  return added;
}
