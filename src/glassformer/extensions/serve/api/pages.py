"""The files of the web app, served as they were built."""

import os
from collections.abc import Sequence
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, Response
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

STATIC = Path(__file__).parents[1] / "static"
ICON = "icon.svg"  # browsers request it whenever the address changes
UNBUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>glassformer</title>
<h1>glassformer</h1>
<p>The server is running. The app that looks inside has not been built: in a clone of glassformer,
<code>make web</code> builds it.</p>
<p>Programs translate by <code>POST /translate</code>; <a href="/spec">/spec</a> tells all.</p>
</html>
"""


class Files(StaticFiles):
    """Static files with cache headers.

    Files that the build named after their content never change, the icon seldom; browsers check the
    rest each time.
    """

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        super().__init__(directory=STATIC)
        self.routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 405, not 404, if the API has the path with another method; else serve it."""
        for route in self.routes:
            match, changes = route.matches(scope)
            if match is Match.PARTIAL:
                return await route.handle({**scope, **changes}, receive, send)
        await super().__call__(scope, receive, send)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Answer 404, whatever the method, if there is no such file."""
        response = await super().get_response(path, {**scope, "method": "GET"})
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405)
        return response

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        path = Path(full_path)
        kept = "no-cache"
        if path.parent.name == "assets":
            kept = "public, max-age=31536000, immutable"
        elif path.name == ICON:
            kept = "public, max-age=86400"
        response.headers.update({"Cache-Control": kept, "Accept-Ranges": "none"})
        return response


def add_pages(app: FastAPI) -> None:
    """Add the routes of the app. Call it last, because the API's routes have priority."""
    is_built = (STATIC / "index.html").is_file()

    @app.get("/", include_in_schema=False)
    async def show_app() -> Response:
        if (STATIC / "index.html").is_file():
            headers = {"Cache-Control": "no-cache", "Accept-Ranges": "none"}
            return FileResponse(STATIC / "index.html", headers=headers)
        return HTMLResponse(UNBUILT)

    if is_built:
        app.mount("/", Files([*app.routes]), name="app")
