"""A site for any web space: models that translate in the browser, the story, and pictures."""
