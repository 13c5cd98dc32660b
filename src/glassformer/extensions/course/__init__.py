"""The course: the learner writes the Transformer, step by step, and each step is checked."""

VERBS = {"course": ("Try", "demo", "cli.course.course")}
