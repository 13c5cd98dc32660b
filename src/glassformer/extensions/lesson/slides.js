"use strict";
const slides = [...document.querySelectorAll(".slide")];
const root = document.documentElement;
let place = 0;

function fit(slide) {
  let size = 2.2;
  do slide.style.fontSize = `${size}rem`;
  while ((slide.scrollHeight > slide.clientHeight || slide.scrollWidth > slide.clientWidth) && (size -= 0.1) > 0.5);
}
function show(to) {
  place = Math.max(0, Math.min(slides.length - 1, to));
  slides.forEach((each, n) => each.classList.toggle("here", n === place));
  fit(slides[place]);
  history.replaceState(null, "", `#${place + 1}`);
}
function forward() {
  const waiting = slides[place].querySelectorAll(".answer:not(.shown)");
  if (!waiting.length) return show(place + 1);
  for (const each of waiting) each.classList.add("shown");
}
const actions = {
  ArrowRight: forward, PageDown: forward, " ": forward, Enter: forward,
  ArrowLeft: () => show(place - 1), PageUp: () => show(place - 1), Backspace: () => show(place - 1),
  Home: () => show(0), End: () => show(slides.length - 1),
  n: () => (root.classList.toggle("notes"), fit(slides[place])),
  f: () => (document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen?.()),
};
document.addEventListener("keydown", (event) => {
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("a")) return;
  event.preventDefault();
  action();
});
document.querySelector("main").addEventListener("click", (event) => {
  if (event.target.closest("a") || !getSelection().isCollapsed) return;
  event.clientX < innerWidth / 4 ? show(place - 1) : forward();
});
addEventListener("resize", () => fit(slides[place]));
addEventListener("hashchange", () => show(Number(location.hash.slice(1)) - 1 || 0));
root.classList.add("turning");
show(Number(location.hash.slice(1)) - 1 || 0);
