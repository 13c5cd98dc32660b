"""A lesson about one sentence: plans, sheets to print, answers, questions and slides."""

VERBS = {"lesson": ("Use", "see", "cli.lesson.lesson")}
