"""The demonstration: a command that shows in minutes what the package does."""

VERBS = {"demo": ("Try", "", "cli.demo.demo")}
