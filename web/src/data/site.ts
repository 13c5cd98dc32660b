/** What a page of a site leads to: see site/build.py. Elsewhere there is no site, and nothing of this. */

const find = (rel: string): string =>
  (typeof document === "undefined" ? null : document.querySelector(`link[rel="${rel}"]`))?.getAttribute("href") ?? "";

/** The first page of the site; "": this page is none of a site, or stands in a frame of it. */
export const SITE = typeof window !== "undefined" && window.top === window ? find("up") : "";

/** Whether this is the frame of the site's first page, which leads to the other language itself. */
export const IN_FIRST_PAGE = typeof window !== "undefined" && window.top !== window && window.name === "glassformer-first";

/** The folder of the pictures of the story; "": there is none. */
export const PICTURES = find("alternate");

/** The guide to the course, in English; "": the site has no documentation. */
export const GUIDE = find("help");
