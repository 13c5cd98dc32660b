/**
 * Pictures on screen as files: an `svg[data-picture]`, with the canvas that lies under it; an
 * `img[data-picture]`, an SVG that the server drew; or a `div[data-picture]`, a scene of boxes.
 */

export interface Picture {
  shown: SVGSVGElement | HTMLImageElement | HTMLDivElement;
  title: string;
}

const KEPT = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
  "stroke-linecap", "opacity", "font-size", "font-family", "font-weight", "text-anchor",
  "dominant-baseline", "white-space",
] as const;
const EDGE = 12;
const LONGEST = 60; // letters
const SHARPER = 2; // pixels of a PNG to one on screen

export function findPictures(within: Element | null): Picture[] {
  const found = within?.querySelectorAll<Picture["shown"]>(
    "svg[data-picture], img[data-picture]:not([hidden]), div[data-picture]",
  );
  return [...(found ?? [])].map((shown, n) => ({ shown, title: titleOf(shown) || String(n + 1) }));
}

/** Its own name, or that of what it stands in. */
function titleOf(shown: Picture["shown"]): string {
  const near = shown.closest("figure")?.querySelector("figcaption") ?? shown.closest("section")?.querySelector("h2, h3");
  const title = (shown.dataset["picture"] || near?.textContent || "").trim().replace(/\s+/g, " ");
  return title.length > LONGEST ? `${title.slice(0, LONGEST - 1)}…` : title;
}

export async function toSvg({ shown, title }: Picture): Promise<Blob> {
  if (shown instanceof SVGSVGElement) return writeAll(shown, title);
  if (shown instanceof HTMLDivElement) return writeScene(shown, title);
  const answer = await fetch(shown.src);
  if (!answer.ok) throw new Error(title);
  return answer.blob();
}

/** Everything in it stands by itself: colours and type are written out, cells are an image. */
function writeAll(svg: SVGSVGElement, title: string): Blob {
  const copy = copyOut(svg);
  const canvas = svg.parentElement?.querySelector("canvas");
  if (canvas) copy.prepend(toImage(canvas, svg));
  return finish(copy, svg, title);
}

function copyOut(svg: SVGSVGElement): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const originals = [svg, ...svg.querySelectorAll<SVGElement>("*")];
  const copies = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  originals.forEach((original, n) => writeOut(original, copies[n]!));
  return copy;
}

/** What HTML lays out, drawn where it stands: boxes, words, canvases, and the SVG between them. */
function writeScene(scene: HTMLElement, title: string): Blob {
  const drawn = make("svg", {});
  const { left, top } = scene.getBoundingClientRect();
  for (const each of scene.querySelectorAll<HTMLElement | SVGElement>("*")) {
    if (each instanceof SVGSVGElement) {
      const { x, y } = each.getBoundingClientRect();
      const copy = copyOut(each);
      copy.setAttribute("x", String(x - left));
      copy.setAttribute("y", String(y - top));
      copy.setAttribute("overflow", "visible");
      drawn.append(copy);
    } else if (each instanceof HTMLCanvasElement) drawn.append(toImage(each, scene));
    else if (each instanceof HTMLElement && !each.classList.contains("unseen")) drawn.append(...drawBox(each, left, top));
  }
  return finish(drawn, scene, title);
}

/** The background and the border of an element, and the words that are its own. */
function drawBox(box: HTMLElement, left: number, top: number): Element[] {
  const style = getComputedStyle(box);
  const { x, y, width, height } = box.getBoundingClientRect();
  const edge = Number.parseFloat(style.borderTopWidth);
  const found: Element[] = [];
  if (edge || style.backgroundColor !== "rgba(0, 0, 0, 0)") {
    const paint = { fill: style.backgroundColor, stroke: edge ? style.borderTopColor : "none", "stroke-width": edge };
    const place = { x: x - left + edge / 2, y: y - top + edge / 2, width: Math.max(0, width - edge), height: Math.max(0, height - edge) };
    found.push(make("rect", { ...place, rx: Number.parseFloat(style.borderTopLeftRadius) || 0, ...paint }));
  }
  const range = document.createRange();
  for (const node of box.childNodes) {
    if (node.nodeType !== Node.TEXT_NODE) continue;
    for (const word of node.nodeValue!.matchAll(/\S+/g)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const at = range.getBoundingClientRect();
      const type = { "font-size": style.fontSize, "font-family": style.fontFamily, "font-weight": style.fontWeight, fill: style.color };
      const text = make("text", { x: at.left - left, y: at.top - top + at.height / 2, "dominant-baseline": "central", ...type });
      text.textContent = word[0];
      if (at.width) found.push(text);
    }
  }
  return found;
}

/** On paper, with a margin and a title. */
function finish(copy: Element, shown: Element, title: string): Blob {
  const { width, height } = shown.getBoundingClientRect();
  const paper = getComputedStyle(document.documentElement).getPropertyValue("--paper").trim();
  copy.prepend(make("rect", { x: -EDGE, y: -EDGE, width: width + 2 * EDGE, height: height + 2 * EDGE, fill: paper }));
  const name = make("title", {});
  name.textContent = title;
  copy.prepend(name);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("viewBox", `${-EDGE} ${-EDGE} ${width + 2 * EDGE} ${height + 2 * EDGE}`);
  copy.setAttribute("width", String(width + 2 * EDGE));
  copy.setAttribute("height", String(height + 2 * EDGE));
  return new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
}

function writeOut(original: Element, copy: Element): void {
  const style = getComputedStyle(original);
  for (const key of KEPT) {
    const value = style.getPropertyValue(key);
    if (value && value !== "normal") copy.setAttribute(key, value);
  }
  if (style.whiteSpace === "pre") copy.setAttribute("xml:space", "preserve");
  for (const name of [...copy.getAttributeNames()]) {
    if (name === "class" || name === "style" || name.startsWith("data-") || name.startsWith("aria-")) {
      copy.removeAttribute(name);
    }
  }
}

function toImage(canvas: HTMLCanvasElement, svg: Element): Element {
  const [own, all] = [canvas.getBoundingClientRect(), svg.getBoundingClientRect()];
  const { width, height } = own;
  const place = { x: own.left - all.left, y: own.top - all.top, width, height };
  return make("image", { ...place, href: canvas.toDataURL("image/png") });
}

function make(tag: string, attributes: Record<string, string | number>): Element {
  const found = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, String(value));
  return found;
}

export async function toPng(svg: Blob): Promise<Blob> {
  const address = URL.createObjectURL(svg);
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width * SHARPER, image.height * SHARPER];
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, fail) =>
      canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("no picture"))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** The beginning of a text, cut between two words if there is such a place. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = text.slice(0, most + 1).search(/[^\p{L}\p{N}][\p{L}\p{N}]*$/u);
  return text.slice(0, end > 0 ? end : most);
}

export function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
