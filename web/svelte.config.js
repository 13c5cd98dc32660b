import { vitePreprocess } from "@sveltejs/vite-plugin-svelte";

/** The class of a component's own styles is written a thousand times in a page, so it is short. */
const cssHash = ({ hash, css, filename }) => `s${hash(filename ?? css)}`;

export default { preprocess: vitePreprocess(), compilerOptions: { cssHash } };
