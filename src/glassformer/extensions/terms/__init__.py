"""Terms of a glossary, and a prefix: what a search has to write, and what a stand-in stands for."""

ADDS = {
    "fit_prefix": "prefixes.fit_prefix",
    "place_terms": "placing.place_terms",
    "spell_terms": "spelling.TermSpeller",
    "step_constrained": "constrained.step_constrained",
}
