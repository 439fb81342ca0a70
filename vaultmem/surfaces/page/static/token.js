// The token of the run: taken from the link's fragment, kept for this address, sent as a header.
const PLACE = "vaultmem-token";
let known = "";

function kept() {
  try { return localStorage.getItem(PLACE) || ""; } catch { return ""; }
}

export function keepToken(token) {
  known = token;
  try { token ? localStorage.setItem(PLACE, token) : localStorage.removeItem(PLACE); } catch { /* private window */ }
}

export function takeToken() {
  const found = location.hash.match(/^#token=([!-~]{16,1000})$/);
  if (found) {
    keepToken(found[1]);
    history.replaceState(null, "", location.pathname + location.search);
  } else known = kept();
  return known;
}

export function headers(more = {}) {
  return known ? { ...more, Authorization: `Bearer ${known}` } : more;
}

export const hasToken = () => known !== "";
