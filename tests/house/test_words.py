"""The field's words: one name for one thing, docstrings that are sentences, no private language."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from glassformer.foundation.compatibility.former_names import KEYS

from .sources import FILES, list_trees

FRAGMENT = re.compile(r"(Of|As|With|To|Where|What)\b")
# What was called so is called otherwise: see the glossary in CONTRIBUTING.md.
FORMER_CLASSES = {"Road", "Past", "Live", "Desk", "Shelf", "Interpreter", "Refusal"}
FORMER_CLASSES |= {"Team", "Room", "Slip", "Drift", "Tally", "Piece", "Pieces", "Parent"}
FORMER_CLASSES |= {"Tongue", "Extent", "Asked", "Question", "SearchJob", "WorkingSet"}
FORMER_FILES = {"guard", "waiting", "faithful", "choosing", "top", "past", "mistakes", "blank"}
FORMER_FILES |= {"shelf", "desk", "live", "whole", "meeting", "room", "pace", "stopping", "trouble"}
FORMER_FILES |= {"roads", "pieces", "overhearing", "refusal", "interpreter", "remembered", "memory"}
FORMER_PARTS = {"piece", "pieces", "slope", "slopes", "road", "roads", "shelf", "desk", "seats"}
FORMER_PARTS |= {"tongue", "tongues", "slip", "slips", "askers", "tally"}
FORMER_NAMES = {"adopt", "measure_pace", "measure_extent", "list_slips", "can_ask"}
NAMES = ("id", "arg", "attr", "name")  # where a syntax tree has the name of something
FORMER_KEYS = {*KEYS, "live"}  # of JSON that is written or sent; `former_names` still reads them


def list_documented(tree: ast.Module) -> Iterator[ast.AST]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
    yield from (node for node in ast.walk(tree) if isinstance(node, kinds))


def test_docstrings_are_sentences() -> None:
    fragments = [
        (name, getattr(node, "name", "module"), text.splitlines()[0])
        for name, tree in list_trees()
        for node in list_documented(tree)
        if (text := ast.get_docstring(node)) and FRAGMENT.match(text)  # type: ignore[arg-type]
    ]
    assert not fragments


def find_twice(kind: type | tuple[type, ...]) -> dict[str, list[str]]:
    """Return names in several files; verbs of the command line are called as what they call."""
    places = defaultdict(list)
    for name, tree in list_trees():
        if "cli/" in name:
            continue
        for node in tree.body:
            if isinstance(node, kind) and not node.name.startswith("_"):  # type: ignore[attr-defined]
                places[node.name].append(name)  # type: ignore[attr-defined]
    return {name: files for name, files in places.items() if len(files) > 1}


def test_no_class_has_the_name_of_another() -> None:
    assert find_twice(ast.ClassDef) == {}


def test_no_public_function_has_the_name_of_another() -> None:
    found = find_twice((ast.FunctionDef, ast.AsyncFunctionDef))
    assert found.pop("record") == [
        "foundation/tap.py",
        "see/recording.py",
    ]  # of a text; of any network
    assert found == {}


def test_former_names_are_gone() -> None:
    classes = {
        node.name
        for _, tree in list_trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    assert not classes & FORMER_CLASSES
    assert not {path.stem for path in FILES} & FORMER_FILES
    names = {
        str(name).lower()
        for path, tree in list_trees()
        if path
        not in (
            "foundation/compatibility/former_names.py",
            "extensions/foreign_tokenizers/sentencepiece.py",
        )
        for node in ast.walk(tree)
        if (name := next((getattr(node, key) for key in NAMES if getattr(node, key, None)), None))
    }
    assert not names & FORMER_NAMES
    assert not {part for name in names for part in name.split("_")} & FORMER_PARTS
    attributes = {
        node.attr
        for _, tree in list_trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
    }
    assert not attributes & {"room", "seats"}


def test_former_keys_are_not_written() -> None:
    keys = {
        (path, key.value)
        for path, tree in list_trees()
        if path != "foundation/compatibility/former_names.py"
        for node in ast.walk(tree)
        if isinstance(node, ast.Dict)
        for key in node.keys
        if isinstance(key, ast.Constant)
    }
    fields = {
        (path, line.target.id)
        for path, tree in list_trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and {getattr(base, "id", "") for base in node.bases}
        & {"Settings", "StrictModel", "BaseModel"}
        for line in node.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    }
    assert len(keys) > 100 and len(fields) > 100
    assert not {each for each in keys | fields if each[1] in FORMER_KEYS}


# Parts of a sentence that are names of nothing; the thing has a name.
PRONOUNS = {"found", "told", "said", "given", "wanted", "made", "how"}
PUBLIC = {
    ("extensions/alignment/aligner.py", "how"),
    ("train/seeds.py", "how"),
}  # users write them
# Classes that are called by a participle: what users import, and errors.
PARTICIPLES = {"Scored", "Classified"}
MOST = 14  # names of a file that are such a part, at most


def list_local_names(tree: ast.Module) -> Iterator[str]:
    """Yield the names of the parameters of functions and of what is assigned in them."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for node in ast.walk(function):
                if isinstance(node, ast.arg):
                    yield node.arg
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id


def test_things_have_names() -> None:
    names = {(path, name) for path, tree in list_trees() for name in list_local_names(tree)}
    assert len(names) > 5000
    pronouns = {each for each in names if each[1] in PRONOUNS}
    assert pronouns >= PUBLIC and len(pronouns) <= MOST


def test_classes_are_called_by_a_noun() -> None:
    classes = {
        node.name
        for _, tree in list_trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    participles = {name for name in classes if re.fullmatch("[A-Z][a-z]+ed", name)}
    assert participles >= PARTICIPLES and len(participles) <= 2
    assert not classes & {"Held", "Shown", "Drawn", "Chosen", "Written", "Told", "Said", "Heard"}
    assert not classes & {"Given", "Wanted", "Made", "Found", "Seen", "Kept", "Overheard"}


# What makes text, and the rest: each verb returns one kind of thing. A method `say` returns the
# text of a key.
TEXT = {"str", "bytes", "list[str]", "Iterator[str]", "Iterator[tuple[str, str]]"}
RETURNS = {
    "tell": lambda name, type: type in TEXT,
    "describe": lambda name, type: type not in {"str", "bytes", "Iterator[str]", "None"},
    "show": lambda name, type: type not in TEXT and not type.startswith("dict["),
    "say": lambda name, type: type in {"None", "Iterator[None]"} or name == "say",
    "spell": lambda name, type: type != "None",
}


def test_verbs_that_make_text_mean_one_thing_each() -> None:
    verbs = [
        (path, verb[1], function.name, ast.unparse(function.returns).removesuffix(" | None"))
        for path, tree in list_trees()
        for outer in ast.walk(tree)
        if isinstance(outer, ast.Module | ast.ClassDef)
        for function in outer.body
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and function.returns
        if (verb := re.fullmatch(f"_?({'|'.join(RETURNS)})(_\\w+)?", function.name))
    ]
    assert len(verbs) > 200
    assert not [each for each in verbs if not RETURNS[each[1]](*each[2:])]
