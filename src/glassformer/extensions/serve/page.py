"""A recording as one HTML page: the app with the recording inside it. It needs no server.

Imports no torch.
"""

import json
import tempfile
from base64 import b64encode
from gzip import compress
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from glassformer.config import Model
from glassformer.foundation.disk import write_text
from glassformer.see.catalogue import look_up, read_catalogue
from glassformer.see.expression import spell_expression
from glassformer.see.files import HEAD
from glassformer.see.opgraph import Equation
from glassformer.see.trace import Trace

STATIC = files(__package__) / "static"  # the built app
PLACE = "recording"  # the id of the element with the recording, where the app finds it
PROGRAM = "program"  # the id of the element with the app's program, where that is packed
UNPACKING = f"""(async () => {{
  const text = document.getElementById("{PROGRAM}").textContent;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const whole = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const parts = [await new Response(whole).arrayBuffer()];
  const script = document.createElement("script");
  script.src = URL.createObjectURL(new Blob(parts, {{ type: "text/javascript" }}));
  document.body.append(script);
}})();"""
HEIGHT = 780  # of the page in a notebook, in pixels
WASM_ALLOWED = " 'wasm-unsafe-eval'"
SITE = (("up", "index.html"), ("alternate", "gallery/demo/"))  # where a page of a site leads
LIGHT = 16 << 20  # bytes of weights that a page contains by default, at most


class SavedPage:
    """The app with one recording in it; a notebook displays it."""

    def __init__(self, html: str):
        self.html = html

    def __repr__(self) -> str:
        return f"<Page of {self.size}: in a notebook it shows itself; or save it>"

    @property
    def size(self) -> str:
        return f"{len(self.html.encode()) / 1e6:.1f} MB"

    def _repr_html_(self) -> str:
        """Return a sandboxed frame, so that page and notebook cannot disturb each other."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" width="100%" height="{HEIGHT}" '
            'sandbox="allow-scripts allow-downloads" title="glassformer" frameborder="0"></iframe>'
        )

    def save(self, path: Path | str) -> None:
        """Write a file that any browser opens, without a server."""
        write_text(Path(path), self.html)


def show_recording(trace: Trace) -> SavedPage:
    """Return the app with this recording in it."""
    return SavedPage(build_page(trace))


def build_page(trace: Trace, *, parameters: bool | None = None, compact: bool = False) -> str:
    """Return the HTML of the page; its security policy forbids every download.

    parameters: include the weights, so that the page can explain every number; None: if they are
    few. compact: fp16. Raises ValueError if the app is not built, or has no views of this network.
    """
    check_views(trace.settings)
    if parameters is None:
        parameters = 0 < sum(array.nbytes for array in trace.parameters.values()) <= LIGHT
    return assemble_page(spell_data(PLACE, pack_page(trace, parameters, compact)))


def assemble_page(
    carried: str, more: str = "", *, site: bool = False, wasm: bool = False, packed: bool = False
) -> str:
    """Return the HTML of the app with these elements in it. `more` adds to the security policy.

    site: it is a page of a site, with a way back and with the site's pictures of the story. wasm:
    it may run WebAssembly. packed: its program is packed, in a third of the size. Raises ValueError
    if the app is not built.
    """
    style, script = _read("page.css"), _read("page.js").replace("</script", r"<\/script")
    if packed:
        program = b64encode(compress(_read("page.js").encode(), mtime=0)).decode("ascii")
        carried += f'<script type="application/octet-stream" id="{PROGRAM}">{program}</script>\n'
        script = UNPACKING
    scripts = f"'{_hash(script)}'{' blob:' if packed else ''}{WASM_ALLOWED if wasm else ''}"
    allowed = (
        f"default-src 'none'; script-src {scripts}; style-src '{_hash(style)}'; "
        f"img-src data: blob:{' *' if site else ''}; base-uri 'none'; form-action 'none'{more}"
    )
    links = "".join(f'<link rel="{rel}" href="{href}">\n' for rel, href in SITE if site)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="{spell_icon()}">\n'
        f"<title>glassformer</title>\n{links}<style>{style}</style></head>\n"
        '<body><div id="app"><p class="coming">glassformer …</p></div>\n'
        f"{carried}<script>{script}</script></body></html>\n"
    )


def spell_icon() -> str:
    """Return the address of the app's icon that holds the icon itself."""
    return f"data:image/svg+xml;base64,{b64encode(_read('icon.svg').encode()).decode('ascii')}"


def spell_data(place: str, data: Any) -> str:
    """Return the element with this id that holds data as JSON."""
    # A data block ends at the first "</script", even inside a string.
    held = json.dumps(data, ensure_ascii=False).replace("<", r"\u003c")
    return f'<script type="application/json" id="{place}">{held}</script>\n'


def check_views(settings: Model) -> None:
    """Raise ValueError for a network other than a Transformer: the app has no views of it."""
    if settings.network != "transformer":
        raise ValueError(
            f"the app looks inside Transformers, and this is a network={settings.network}: look "
            "inside it with `glassformer see`, or in Python with `translator.see`"
        )
    if settings.lacking:
        raise ValueError(
            "the app shows position vectors and feed-forward networks, of which a network with "
            f"{settings.lacking} has not all: look inside it in Python with `translator.see`"
        )


def pack_page(trace: Trace, parameters: bool, compact: bool) -> dict[str, Any]:
    """Return the page's data: trace.json, the op-graph, the catalogue, and tensors as base64."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "trace"
        trace.save(folder, compact=compact, parameters=parameters)
        return {
            "document": json.loads((folder / HEAD).read_text(encoding="utf-8")),
            "ops": [describe_equation(op) for op in trace.graph.values()],
            "entries": {name: entry._asdict() for name, entry in read_catalogue().items()},
            "files": {
                path.name: b64encode(path.read_bytes()).decode("ascii")
                for path in sorted(folder.glob("*.safetensors"))
            },
        }


def describe_equation(op: Equation) -> dict[str, Any]:
    """Return an equation as JSON, with its right side in the grammar of `expression`."""
    return {
        "name": op.name,
        "kind": op.kind,
        "axes": [axis._asdict() for axis in op.axes],
        "equation": spell_expression(op.right) if op.right else None,
        "sizes": dict(op.sizes),
        "module": op.module,
        "derived": op.derived,
        **({"entry": facts} if (facts := _describe_made(op)) else {}),
    }


def _describe_made(op: Equation) -> dict[str, str]:
    """Return what differs from the paper's in the entry of a tensor, by the class that made it."""
    entry, paper = look_up(op.name, op.module), look_up(op.name)
    if not entry or not paper:
        return {}
    pairs = zip(entry._asdict().items(), paper, strict=True)
    return {key: value for (key, value), usual in pairs if value != usual}


def _read(name: str) -> str:
    place = STATIC / name
    if not place.is_file():
        raise ValueError("the app is not built: run `make web` in a clone of the project")
    return place.read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}"
