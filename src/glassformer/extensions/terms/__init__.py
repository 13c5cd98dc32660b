"""Terms of a glossary: what a search has to write, and what a stand-in stands for."""

ADDS = {
    "place_terms": "placing.place_terms",
    "spell_terms": "spelling.TermSpeller",
    "step_constrained": "constrained.step_constrained",
}
