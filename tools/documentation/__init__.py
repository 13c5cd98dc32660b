"""The documentation as pages: guides, settings, command line and Python, in two languages."""
