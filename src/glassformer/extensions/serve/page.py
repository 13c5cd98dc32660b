"""A recording as one HTML page: the app with the recording inside it. It needs no server.

Imports no torch.
"""

import json
import tempfile
from base64 import b64encode
from collections.abc import Mapping
from gzip import compress
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from glassformer.config import Model
from glassformer.foundation.disk import write_text
from glassformer.see.catalogue import look_up, read_catalogue
from glassformer.see.expression import spell_expression
from glassformer.see.files import HEAD
from glassformer.see.opgraph import Equation
from glassformer.see.trace import Trace

from .text_bytes import BITS, LETTERS, spell_letters

STATIC = files(__package__) / "static"  # the built app
PLACE = "recording"  # the id of the element with the recording, where the app finds it
# The parts of the app's program, and the ids of their elements where it is packed: what the first
# screen needs, which is unpacked at once, what translates, and all else.
PROGRAM, WORKER, REST = "page", "worker", "rest"
UNPACKING = f"""(() => {{
  // Files of a site: with the heavy elements of this page, and with the rest of the program.
  const {{ more, rest }} = document.currentScript.dataset;
  const load = (address) => new Promise((loaded, failed) => {{
    const script = document.createElement("script");
    script.onload = loaded;
    script.onerror = () => failed(new Error(`${{address}} is not there`));
    script.src = address;
    document.body.append(script);
  }});
  // What comes once is there; what did not come is asked for again.
  const again = (ask) => {{
    let coming;
    return () => (coming ??= ask().catch((error) => {{
      coming = undefined;
      throw error;
    }}));
  }};
  // As `web/src/data/letters.ts`, which comes packed itself.
  const readLetters = (text) => {{
    const begin = text.indexOf(" ") + 1;
    const bytes = new Uint8Array(Number(text.slice(0, begin)));
    const read = (code) => code - {LETTERS[0]} - (code > {ord("<")});
    for (let place = begin, bits = 0, count = 0, written = 0; place < text.length; place += 2) {{
      const [high, low] = [text.charCodeAt(place), text.charCodeAt(place + 1)].map(read);
      bits |= (high * {len(LETTERS)} + low) << count;
      for (count += {BITS}; count >= 8; count -= 8) {{
        bytes[written++] = bits;
        bits >>= 8;
      }}
    }}
    return bytes;
  }};
  const unpack = async (id) => {{
    const text = globalThis.glassformerLate?.[id] ?? document.getElementById(id).textContent;
    const packed = new Blob([readLetters(text)]).stream();
    const whole = packed.pipeThrough(new DecompressionStream("gzip"));
    const parts = [await new Response(whole).arrayBuffer()];
    await load(URL.createObjectURL(new Blob(parts, {{ type: "text/javascript" }})));
  }};
  const read = new Promise((done) => document.addEventListener("DOMContentLoaded", done));
  // A screen that is not the first one needs the rest, and is shown before the model comes.
  const loadRest = again(() => load(rest));
  const resting = rest && /^#\\/(?!first)\\w/.test(location.hash) ? loadRest() : undefined;
  const begun = unpack("{PROGRAM}");
  const pause = () => new Promise(
    (done) => (setTimeout(done, 1000), requestAnimationFrame(() => setTimeout(done))),
  );
  const fetchMore = async () => {{
    if (location.protocol === "file:") return load(more); // from disk nothing can be fetched
    const answer = await fetch(more).catch(() => ({{}}));
    if (!answer.ok) throw new Error(`${{more}} is not there`);
    const text = await answer.text();
    const held = text.slice(text.indexOf("{{"), text.lastIndexOf("}}") + 1);
    globalThis.glassformerLate = JSON.parse(held);
  }};
  const shown = begun.then(pause).then(() => resting?.then(pause, () => {{}}));
  globalThis.glassformerWhole = more ? again(() => shown.then(fetchMore)) : () => read;
  glassformerWhole().catch(() => {{}});
  globalThis.glassformerLoad = (id) =>
    id === "{REST}" && rest ? loadRest() : glassformerWhole().then(() => unpack(id));
}})();"""
HEIGHT = 780  # of the page in a notebook, in pixels
BYTES = "application/octet-stream"
SELF, WASM_ALLOWED, WORKERS_ALLOWED = " 'self'", " 'wasm-unsafe-eval'", "; worker-src blob:"
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


def assemble_page(carried: str, *, site: bool = False) -> str:
    """Return the HTML of the app with these elements in it.

    site: it is a page of a site, with a way back and with the site's pictures of the story. Raises
    ValueError if the app is not built.
    """
    parts = (WORKER, REST, PROGRAM)
    script = "".join(_read(f"{each}.js") for each in parts).replace("</script", r"<\/script")
    return _lay_out(carried + f"<script>{script}</script>", script, site=site)


def assemble_packed_page(
    carried: str,
    behind: str,
    files: Mapping[str, str] = MappingProxyType({}),
    *,
    wasm: bool = False,
) -> str:
    """Return the HTML of the app with its program packed, in a third of the size.

    carried: elements that the first screen needs; it is shown before others are there: `behind`, or
    those of `files`, of a page of a site: the addresses of scripts, one with elements (`more`), one
    with the `rest` of the program. wasm: it may run WebAssembly.
    """
    named = "".join(f' data-{part}="{escape(address)}"' for part, address in files.items())
    parts = (carried, spell_program(PROGRAM), f"<script{named}>{UNPACKING}</script>\n", behind)
    allowed = f" blob:{SELF if files else ''}{WASM_ALLOWED if wasm else ''}"
    others = WORKERS_ALLOWED + (f"; connect-src{SELF}" if files else "")
    return _lay_out("".join(parts), UNPACKING, allowed, others, site=bool(files))


def spell_program(part: str) -> str:
    """Return the element with a part of the app's program, packed."""
    return f'<script type="{BYTES}" id="{part}">{pack_program(part)}</script>\n'


def pack_program(part: str) -> str:
    """Return a part of the app's program as letters of gzip."""
    return spell_letters(compress(_read(f"{part}.js").encode(), mtime=0))


def read_program(part: str) -> str:
    """Return a part of the app's program: a script that is no module."""
    return _read(f"{part}.js")


def _lay_out(body: str, script: str, scripts: str = "", more: str = "", *, site: bool) -> str:
    """Return the HTML of a page. scripts, more: what its policy allows besides `script`."""
    style = _read("page.css")
    allowed = (
        f"default-src 'none'; script-src '{_hash(script)}'{scripts}; style-src '{_hash(style)}'; "
        f"img-src data: blob:{' *' if site else ''}; base-uri 'none'; form-action 'none'{more}"
    )
    links = "".join(f'<link rel="{rel}" href="{href}">\n' for rel, href in SITE if site)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="{spell_icon()}">\n'
        f"<title>glassformer</title>\n{links}<style>{style}</style></head>\n"
        f'<body><div id="app"><p class="coming">glassformer …</p></div>\n{body}</body></html>\n'
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
