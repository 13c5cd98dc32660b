"""A short-list says which translations of a token the engine in C considers at all."""

VERBS = {"shortlist": ("Train", "prune", "cli.shortlist.shortlist")}
