/** A short confirmation line that disappears. */

const SHOWN_MS = 6_000;
let shown = 0;

/** @param {string} text */
export function toast(text) {
  const place = document.getElementById('toast');
  if (place === null) return;
  place.textContent = text;
  shown++;
  const mine = shown;
  setTimeout(() => {
    if (mine === shown) place.textContent = '';
  }, SHOWN_MS);
}
