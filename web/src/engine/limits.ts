/** What a page without a server has time for. */
export const LIMITS = { characters: 20_000, beam: 16 };
