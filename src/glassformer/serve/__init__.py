"""Over HTTP: people look inside, programs translate. Needs the extra `serve`.

app        all of it together; `guard` stands in front, `pages` has the web app's files
model_pool      the models, loaded when they are asked for
jobs       what takes a while, in threads; `streams` tells of it
api_*      our own face: /api
"""

from __future__ import annotations
