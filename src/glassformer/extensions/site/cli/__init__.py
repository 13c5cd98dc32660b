"""The command line writes a site, or a page of it."""
