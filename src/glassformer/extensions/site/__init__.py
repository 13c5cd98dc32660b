"""A site for any web space: models that translate in the browser, the story, and pictures."""

VERBS = {
    "page": ("Use", "serve", "cli.page.page"),
    "site": ("Use", "page", "cli.site.site"),
}
ADDS = {
    "frame_threads": "cutting.frame_threads",
    "render_evaluation": "evaluation_page.render_page",
}
