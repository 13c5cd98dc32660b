"""The HTTP server: an app that looks inside models, and an API that translates.

It needs the extra `serve`.

app            the whole application; `auth` checks each request, `pages` serves the web app's files
model_pool     the models, each loaded when a request needs it
jobs           long work in threads; `streams` sends its progress as events
own_trainings  trainings that are begun in the app; `uploads` checks their text
api_*          our own API under /api
libre          LibreTranslate's API; `translation_service` and `batching` translate for it
"""

VERBS = {"serve": ("Use", "see", "cli.serve.serve")}
ADDS = {"open_app": "running.open_app", "show_recording": "page.show_recording"}
