/** What to type into a terminal, quoted as a shell reads it. */

import type { Language } from "../messages";

const quote = (text: string): string => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const inLanguage = (language: Language): string => (language === "en" ? "" : ` --lang ${language}`);

export const courseCommand = (language: Language): string => `glassformer course start${inLanguage(language)}`;

export const lessonCommand = (model: string, sentence: string, language: Language): string =>
  `glassformer lesson ${quote(model)} ${quote(sentence)} -o lesson${inLanguage(language)}`;
