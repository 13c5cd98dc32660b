"""Who may import whom: down the table, never up, never sideways."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from glassformer.cli.verbs import list_verbs
from glassformer.foundation.extensions import list_additions, load_place
from glassformer.foundation.shared_library import load_library

from .sources import FILES, PACKAGE, list_trees, read_tree

SOURCE = PACKAGE.parent

# From the top floor to the ground. A part is a module or folder right under the package.
TABLE = [
    ["extensions.night"],
    ["extensions.honest", "extensions.lesson"],
    ["extensions.site"],
    ["extensions.serve"],
    ["extensions.pictures"],
    ["extensions.circuits"],
    ["extensions.lab"],
    ["extensions.bridge", "extensions.documents", "extensions.model_store"],
    [
        "extensions.check_data",
        "extensions.cluster",
        "extensions.foreign_tokenizers",
        "extensions.signs",
    ],
    [
        "extensions",
        "extensions.days",
        "extensions.publish",
        "extensions.rnn",
        "extensions.short_list",
        "extensions.titles",
    ],
    ["__init__", "__main__"],
    ["cli"],
    ["train"],
    ["train.run"],
    ["train.plan"],
    ["train.publish"],
    ["evaluate"],
    ["translator", "translate.language_model"],
    ["see"],
    ["translate"],
    ["translate.align"],
    ["engine"],
    ["model.files"],
    ["decode", "data"],
    ["engine.kernels"],
    ["model", "text"],
    ["foundation.tap", "config", "foundation.hub", "foundation.typed_json"],
    ["foundation.machine"],
    ["foundation.shared_library"],
    ["foundation.disk", "foundation.validation_errors", "foundation.sizes", "foundation.version"],
    ["foundation"],
    ["foundation.machine.extras"],
]
FLOOR = {part: floor for floor, parts in enumerate(reversed(TABLE)) for part in parts}

# `decode` knows the search protocol and no class behind it, and is the readable one.
STRANGERS = {("decode", "model"), ("decode", "engine.kernels")}

# What may import a part of the package by a string, and the tables in which such names stand.
LAZY = {
    "foundation.lazy",  # `_HOMES` of a package
    "foundation.extensions",  # `VERBS` and `ADDS` of an extension
    "extensions.pictures.pictures",  # `pictures.toml`
}

# What imports other packages by a computed name.
OTHERS = {"foundation.machine.extras", "foundation.hashing"}

# What these may import besides the standard library and parts further down.
PACKAGES = {
    "engine.kernels": {"torch", "numpy"},
    "foundation.tap": {"torch"},
    "model": {"torch"},
    "foundation.machine": {"torch"},
}
TORCH_FREE = (
    "config",
    "decode.sentences",
    "foundation.validation_errors",
    "foundation.compatibility",
    "foundation.machine.openmp",
    "foundation.machine.out_of_memory",
    "text",
    "data",
    "extensions.check_data",
    "extensions.pictures",
    "translate.align.links",
    "evaluate.quality",
    "evaluate.significance",
)


def _find_floor(name: str) -> tuple[str, int]:
    """Return the part in the table that a module belongs to, the longest, and its floor."""
    parts = name.split(".")
    heads = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next(((head, FLOOR[head]) for head in heads if head in FLOOR), (parts[0], len(TABLE)))


def _name(path: Path) -> str:
    """Return the dotted name of a module below `glassformer`."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def _list_imports(module: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of everything imported, at the top or inside a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = ["glassformer", *module.split(".")][: -node.level] if node.level else []
            start = ".".join([*above, node.module] if node.module else above)
            yield from ((node.lineno, f"{start}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and (name := _read_string(module, node)):
            yield node.lineno, name


def _is_import_by_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
        ("import_module", "__import__")
    )


def _read_string(module: str, call: ast.Call) -> str | None:
    """Return the full name in `import_module("..name", __package__)`; None if it is no such."""
    if not _is_import_by_string(call) or not isinstance(call.args[0], ast.Constant):
        return None
    name = str(call.args[0].value)
    level = len(name) - len(name.lstrip("."))
    above = ["glassformer", *module.split(".")][:-level] if level else []
    return ".".join([*above, name[level:]])


def _is_torch_free(module: str) -> bool:
    return any(f"{module}.".startswith(f"{free}.") for free in TORCH_FREE)


MODULES = {_name(path): path for path in FILES}


@cache
def list_all() -> list[tuple[str, int, str]]:
    """Return module, line and name of every import in the package."""
    return [
        (module, line, name)
        for module, path in MODULES.items()
        for line, name in _list_imports(module, read_tree(path))
    ]


def test_every_part_has_its_place() -> None:
    assert {module.split(".")[0] for module in MODULES} <= FLOOR.keys()


def test_imports_go_down() -> None:
    wrong = []
    for module, line, name in list_all():
        root, _, rest = name.partition(".")
        here, floor = _find_floor(module)
        there, other = _find_floor(rest or "__init__")
        if root != "glassformer" or here == there:
            continue
        if other >= floor or (here, there) in STRANGERS:
            wrong.append(f"{module}:{line} imports {name}")
    assert not wrong


def _list_parts(module: str) -> set[str]:
    """Return the modules that one imports when it is run, in its functions too."""
    body = [
        node
        for node in read_tree(MODULES[module]).body
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]
    names = {
        name.removeprefix("glassformer.")
        for _, name in _list_imports(module, ast.Module(body, type_ignores=[]))
    }
    return {name if name in MODULES else name.rpartition(".")[0] for name in names} & {*MODULES}


def test_no_files_import_each_other() -> None:
    """Not even within functions; only of settings, pydantic is asked at a table's first use."""
    graph = {module: _list_parts(module) - {module} for module in MODULES}
    graph["foundation.settings.table"].remove("foundation.settings.schema")
    assert sum(map(len, graph.values())) > 1000
    TopologicalSorter(graph).prepare()


def test_the_core_knows_no_extension() -> None:
    wrong = [
        f"{module}:{line} imports {name}"
        for module, line, name in list_all()
        if name.startswith("glassformer.extensions.") and not module.startswith("extensions.")
    ]
    assert not wrong


def _list_calls(module: str) -> list[str]:
    """Return the imports by a string of a module that may be of a part of this package."""
    return [
        f"{module}:{node.lineno}"
        for node in ast.walk(read_tree(MODULES[module]))
        if isinstance(node, ast.Call)
        and _is_import_by_string(node)
        and not (module in OTHERS and len(node.args) == 1)
        and (len(node.args) != 1 or not _names_other_package(node.args[0]))
    ]


def _names_other_package(argument: ast.expr) -> bool:
    name = argument.value if isinstance(argument, ast.Constant) else None
    return isinstance(name, str) and name.split(".")[0] not in ("", "glassformer")


def test_strings_import_parts_of_the_package_from_three_tables_alone() -> None:
    wrong = [call for module in MODULES if module not in LAZY for call in _list_calls(module)]
    assert not wrong
    assert all(_list_calls(module) for module in LAZY)


def test_what_the_tables_of_lazy_imports_name_is_there() -> None:
    packages = [name.removesuffix(".__init__") for name in MODULES if name.endswith("__init__")]
    for package in packages:
        module = import_module(f"glassformer.{package}".removesuffix(".__init__"))
        for part, names in getattr(module, "_HOMES", {}).items():
            assert all(hasattr(import_module(f".{part}", module.__name__), name) for name in names)
    for place in list_additions().values():
        assert load_place(place) is not None
    for _, place in list_verbs().values():
        assert callable(load_place(place))


def test_packages_of_the_ground_floors() -> None:
    known = sys.stdlib_module_names | {"glassformer"}
    wrong = [
        f"{module}:{line} imports {name}"
        for module, line, name in list_all()
        if (part := _find_floor(module)[0]) in PACKAGES
        and name.split(".")[0] not in known | PACKAGES[part]
    ]
    assert not wrong


def test_taps_live_in_the_model_alone() -> None:
    users = {
        _find_floor(module)[0]
        for module, _, name in list_all()
        if name == "glassformer.foundation.tap.tap"
    }
    assert users == {"model", "extensions.rnn"}


def test_no_gpu_has_to_know_float64() -> None:
    """Apple's GPUs do not: what becomes float64 comes from the processor, or is made there."""
    made_there = {"decode/rules.py", "extensions/averaging/averaging.py"}  # asks first; reads files
    for path, tree in list_trees():
        for call in ast.walk(tree):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                continue
            at, receiver = f"{path}:{call.lineno}", call.func.value
            if call.func.attr == "double" and path not in made_there:
                assert ast.unparse(receiver).endswith(".cpu()"), at
            given = {each.arg: ast.unparse(each.value) for each in call.keywords}
            if given.get("dtype") == "torch.float64":
                assert given.get("device", "'cpu'") == "'cpu'", at


def _run(code: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_torch_stays_outside() -> None:
    """In a new process, and lazy imports by their names."""
    wrong = [
        f"{module}:{line}"
        for module, line, name in list_all()
        if _is_torch_free(module) and name.split(".")[0] == "torch"
    ]
    assert not wrong
    free = [name.removesuffix(".__init__") for name in MODULES if _is_torch_free(name)]
    lines = "\n".join(
        f"import glassformer.{name}; assert 'torch' not in sys.modules, '{name}'" for name in free
    )
    _run(f"import sys, glassformer; assert 'torch' not in sys.modules\n{lines}")
    _run("import sys; from glassformer.decode import Hypothesis; assert 'torch' not in sys.modules")


HEAVY = {"torch", "numpy", "matplotlib", "tokenizers", "sacrebleu"}


@pytest.mark.parametrize(
    ("arguments", "said", "unneeded"),
    [
        (["--version"], "glassformer ", HEAVY | {"typer", "rich", "pydantic"}),
        (["--help"], "Usage", HEAVY | {"pydantic"}),  # for a verb, Typer itself needs it
        (["train", "--help"], "Usage", HEAVY),
    ],
)
def test_what_only_speaks_imports_little(
    arguments: list[str], said: str, unneeded: set[str]
) -> None:
    shown = _run(
        "import sys\nfrom glassformer.cli import main\n"
        f"code = main({arguments})\nassert not code, code\n"
        f"found = {unneeded} & sys.modules.keys()\nassert not found, found"
    )
    assert said in shown


NO_TORCH = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "matplotlib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NoTorch())
from glassformer.cli import main
"""


# Where it is not installed at all; matplotlib is not there either.
WITHOUT = f"""
import importlib.util as u
real = u.find_spec
u.find_spec = lambda name, *more: None if name == "torch" else real(name, *more)
{NO_TORCH}
"""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("info demo", "parameters"),
        ("info demo --json", "parameters"),
        ("doctor", "models translate without"),
        ("doctor demo", "comes out as it did"),
        ("check-data --help", "Usage"),
        ("translate demo a.en --beam 3", "Le chat est sur le tapis."),
        ("translate demo a.en --search sample --threads 2 --json", "confidence"),
        ("score demo a.en a.fr", "-"),
        ("align demo a.en a.fr", "0-0 1-1"),
        ("evaluate demo a.en a.fr", "BLEU"),
    ],
)
def test_what_needs_no_torch(tmp_path: Path, arguments: str, said: str) -> None:
    (tmp_path / "a.en").write_text("The cat is on the mat.\nThe cat is small.\n", "utf-8")
    (tmp_path / "a.fr").write_text("Le chat est sur le tapis.\nLe chat est petit.\n", "utf-8")
    words = [str(tmp_path / word) if word[:2] == "a." else word for word in arguments.split()]
    assert said in _run(f"{WITHOUT}\nassert main({words}) == 0")


SERVER = """
import json, threading, time
from http.client import HTTPConnection
from urllib.parse import urlsplit
from glassformer.extensions.serve.running import make_service, prepare_server

ready = prepare_server(make_service(["demo"]), port=0, token="t")
thread = threading.Thread(target=ready.run)
thread.start()
while not ready.server.started and thread.is_alive():
    time.sleep(0.01)

def ask(path, body):
    connection = HTTPConnection("127.0.0.1", urlsplit(ready.address).port, timeout=60)
    head = {"Content-Type": "application/json", "Authorization": "Bearer t"}
    connection.request("POST", path, json.dumps(body), head)
    return json.loads(connection.getresponse().read())

asked = {"q": "<p>The <b>cat</b> is on the mat.</p>", "source": "en", "target": "fr"}
print(ask("/translate", {**asked, "format": "html"}))
print(ask("/api/translate", {"text": "The cat is on the mat."}))
print(ask("/api/trace", {"text": "The cat is on the mat."}))
ready.server.should_exit = True
thread.join(30)
"""


def test_a_server_translates_without_torch() -> None:
    """And says in one sentence what looking inside needs."""
    pytest.importorskip("fastapi", reason="the extra `serve` is not installed")
    translated, plain, refused = _run(f"{WITHOUT}\n{SERVER}").splitlines()
    assert "'translation': 'Le chat est sur le tapis.'" in plain
    assert "Le <b>chat</b> est sur le tapis." in translated
    assert "needs torch, which is not installed: pip install" in refused


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["see", "demo", "A cat."], "train"),
        (["average", "demo", "--out", "m"], "train"),
        (["export", "demo", "--out", "m"], "train"),
    ],
)
def test_what_needs_torch_says_so(arguments: list[str], extra: str) -> None:
    """In one sentence, with what to type."""
    said = _run(
        f"{NO_TORCH}\nimport io\nsys.stderr = io.StringIO()\n"
        f"assert main({arguments}) == 2\nprint(sys.stderr.getvalue())"
    )
    assert said.strip().endswith(f"is not installed: pip install 'glassformer[{extra}]'")


@pytest.mark.parametrize(
    "code",
    [
        "Translator.load('demo').see('A cat.')",
        "glassformer.record",
        "import glassformer.train as training; training.train",
    ],
)
def test_a_notebook_is_told_what_needs_torch(code: str) -> None:
    """What needs none works in the same session."""
    said = _run(
        f"{NO_TORCH}\nimport glassformer\nfrom glassformer import Translator\n"
        "assert Translator.load('demo').translate('The cat is small.') == 'Le chat est petit.'\n"
        f"try: exec({code!r})\nexcept (ImportError, ValueError) as error: print(error)"
    )
    assert said.strip().endswith("torch, which is not installed: pip install 'glassformer[train]'")


# All that translating, scoring, aligning, serving and evaluating import before a model computes.
WITHOUT_TORCH = (
    "translate.checking",
    "engine.weights",
    "extensions.serve.running",
    "extensions.ideas.shards",
    "extensions.cluster.ray_job",
    "cli.translate",
    "cli.score",
    "extensions.alignment.cli.align",
    "extensions.serve.cli.serve",
    "cli.evaluate",
)


def test_what_translates_is_imported_without_torch() -> None:
    _run("\n".join([NO_TORCH, *(f"import glassformer.{module}" for module in WITHOUT_TORCH)]))


# What a translation does not need, so that it begins at once: each of these takes longer to import
# than a sentence takes to translate.
IDLE = {"torch", "numpy", "concurrent.futures", "subprocess", "statistics", "matplotlib"}
IN_PYTHON = IDLE | {"logging", "typer", "dataclasses", "hashlib", "random", "zipfile"}


@pytest.mark.parametrize(
    ("code", "idle"),
    [
        ("Translator.load('demo').translate(['A cat. A dog.'])", IN_PYTHON),
        ("Translator.load('demo').score(['A cat.'], ['Un chat.'])", IN_PYTHON),
        (
            "from glassformer.cli import main\nmain(['translate', 'demo', FILE])",
            IDLE - {"subprocess"},
        ),  # Typer's
    ],
)
@pytest.mark.skipif(load_library("engine") is None, reason="no library here")
def test_a_translation_imports_little(tmp_path: Path, code: str, idle: set[str]) -> None:
    (tmp_path / "a.en").write_text("A cat.\n", "utf-8")
    _run(
        "import sys\nfrom glassformer import Translator\n"
        f"FILE = {str(tmp_path / 'a.en')!r}\n{code}\n"
        f"found = {idle} & sys.modules.keys()\nassert not found, found"
    )
