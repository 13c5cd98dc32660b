// What nobody sees at first comes late: films when the page is there, and the program of the pages
// (search, buttons that copy, the mark in the list of headings) when somebody first does something.
const { worker, program } = document.currentScript.dataset;
const GESTURES = ["pointerdown", "pointermove", "keydown", "wheel", "scroll", "focusin"];
const isAsked = location.search || location.hash; // for marked words, or for a heading
let begun = false;

function load(address) {
  return new Promise((loaded, failed) => {
    const script = document.createElement("script");
    script.src = address;
    script.onload = loaded;
    script.onerror = failed;
    document.body.append(script);
  });
}

async function begin() {
  if (begun) return;
  begun = true;
  GESTURES.forEach((each) => removeEventListener(each, begin, true));
  await load(worker);
  await load(program);
  document.dispatchEvent(new Event("DOMContentLoaded")); // which the program waits for
  const isSearched = document.getElementById("__search")?.checked;
  if (isSearched) document.querySelector("[data-md-component=search-query]")?.focus();
}

function showFilms() {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  for (const image of document.querySelectorAll("img[data-film]")) image.src = image.dataset.film;
}

GESTURES.forEach((each) => addEventListener(each, begin, { capture: true, passive: true }));
if (isAsked) begin();
addEventListener("load", () => setTimeout(showFilms, 1000));
