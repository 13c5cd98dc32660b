"""The model card, card.md: text for people, with the same facts at its head for programs.

The head is YAML whose values are JSON, one fact a line between two lines of `---`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import file_digest
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from typing_extensions import TypedDict

from ...data.files import Fingerprint
from ...foundation.compatibility.former_names import rename_keys
from ...foundation.disk import check_file_size, read_text
from ...foundation.plurals import tell_count
from ...foundation.typed_json import check_type
from ...model.files.directory import CARD, CHARACTERS, CONFIG, SEPARATE, SHARED, WEIGHTS, write_text
from ...model.files.known_words import WORDS
from ...model.files.weights_file import WeightsFile
from .markdown import escape_markdown

FENCE = "---"
# What a language model is for, by its network.
READS = {
    "decoder": "Completes text",
    "encoder": "Reads text both ways: fills masks, or names classes",
}
HASHED = (WEIGHTS, CONFIG, SHARED, *SEPARATE, CHARACTERS, WORDS)


class Origin(BaseModel):
    """The model that a training started from, the data of that model, and its own origin."""

    name: str
    sha256: str
    tokens: str
    data: list[Fingerprint] = []
    licence: str | None = None
    parent: Origin | None = None


class Training(BaseModel):
    best_step: int
    steps: int
    mean_of: list[int] = []
    source_tokens: int
    target_tokens: int
    cpu_seconds: float
    device: str
    precision: str
    frozen: list[str]


class Facts(TypedDict, total=False):
    """The facts in a model card. Any of them may be missing in a card that was edited by hand."""

    language: tuple[str | None, str | None]
    network: str
    pairs: list[str]  # of languages, if there are several
    parameters: int
    size: str | None
    counts: str
    data: list[Fingerprint]
    parent: Origin
    initial: list[Origin]
    teachers: list[dict[str, str]]  # the name and sha256 of each
    training: Training
    scores: dict[str, float]
    signature: str
    versions: dict[str, str | None]
    sha256: dict[str, str]


# Without these, no card can be written.
NEEDED = Facts.__annotations__.keys() - {"parent", "initial", "teachers", "network", "pairs"}


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file. ValueError, before it is read, if its size cannot be right."""
    if path.suffix == ".safetensors":
        WeightsFile(path)
    else:
        check_file_size(path)
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def hash_files(folder: Path, more: Sequence[str] = ()) -> dict[str, str]:
    """Return the SHA-256 of each file that a training makes a model of, and of `more`."""
    names = [name for name in (*HASHED, *more) if (folder / name).is_file()]
    return {name: hash_file(folder / name) for name in names}


def list_changed(folder: Path, facts: Mapping[str, Any]) -> list[str]:
    """Return the names of the files that are not those that the facts of a card are about."""
    known = facts.get("sha256", {})
    result = hash_files(folder) if known else {}
    return [name for name, digest in result.items() if known.get(name, digest) != digest]


def write_card(folder: Path, facts: Mapping[str, Any], text: str | None = None) -> None:
    """Write a card of these facts; text: for people, instead of that which tells all `NEEDED`."""
    head = "".join(f"{name}: {json.dumps(facts[name], ensure_ascii=False)}\n" for name in facts)
    write_text(folder / CARD, f"{FENCE}\n{head}{FENCE}\n{text or _in_words(facts)}")


def read_facts(folder: Path) -> dict[str, Any]:
    """Return the facts at the head of a card; an empty dict if there is no card or no such head.

    ValueError, in one sentence, for a line that is no fact, or a fact that does not fit `Facts`.
    """
    card = folder / CARD
    lines = read_text(card).rstrip("\n").split("\n") if card.is_file() else []
    facts: dict[str, Any] = {}
    if lines[:1] != [FENCE]:
        return facts
    for number, line in enumerate(lines[1:], 2):
        if line == FENCE:
            break
        name, _, value = line.partition(": ")
        try:
            facts[name] = json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError(f"{card}, line {number}: not a fact of the form name: JSON") from None
    facts = rename_keys(facts)
    check_type(facts, Facts, str(card))
    return facts


def _in_words(facts: Mapping[str, Any]) -> str:
    best, scores = facts["training"], facts["scores"]
    return f"""# Model card

{_tell_use(facts)}
{facts["parameters"]:,} parameters{f", size {facts['size']}" if facts["size"] else ""}.

## Data

{facts["counts"]}.
{_list_files(facts["data"])}
{_tell_parent(facts.get("parent"), best["frozen"])}\
{"".join(_tell_parent(each, []) for each in facts.get("initial", ()))}\
{_tell_teachers(facts.get("teachers", ()))}
Mind the licence of the data: the weights were made from it.

## Training

{_tell_steps(best)}; {best["source_tokens"]:,} source and
{best["target_tokens"]:,} target tokens seen, {best["cpu_seconds"]:,.0f} CPU-seconds,
{best["device"]} {best["precision"]}.
{", ".join(f"{name} {version}" for name, version in facts["versions"].items())}.

## Scores

On the validation text{_tell_sentences(best)}, greedy, each line whole and in one try, of the stored
weights:
{"".join(f"- {name}: {value:.3f}{chr(10)}" for name, value in scores.items())}\
{"".join(f"- signature of {name}: {facts['signature']}{chr(10)}" for name in [*scores][:1])}"""


def _tell_use(facts: Mapping[str, Any]) -> str:
    """Return, in a sentence, what the model is for."""
    source, target = facts["language"]
    kind = facts.get("network")
    if kind in READS:
        return f"{READS[kind]}, in {escape_markdown(source or 'its language')}."
    one = f"{source or 'source'} to {target or 'target'}"
    return f"Translates {escape_markdown(', '.join(facts.get('pairs', ())) or one)}."


def _tell_steps(result: Mapping[str, Any]) -> str:
    if steps := result.get("mean_of"):
        return f"The mean of the weights after updates {', '.join(f'{n:,}' for n in steps)}"
    if not result["best_step"]:
        return f"The initial model: no validation in {result['steps']:,} updates was better"
    best = "Best after" if result.get("is_chosen", True) else "The last of those validated,"
    return f"{best} update {result['best_step']:,} of {result['steps']:,}"


def _tell_sentences(result: Mapping[str, Any]) -> str:
    return f" ({tell_count(count, 'pair')} of it)" if (count := result.get("valid_pairs")) else ""


def _list_files(data: list[dict[str, Any]]) -> str:
    return "\n".join(
        f"- {escape_markdown(each['name'])}: {tell_count(each['lines'], 'line')}, "
        f"sha256 {each['sha256']}"
        for each in data
    )


def _tell_teachers(teachers: Sequence[Mapping[str, str]]) -> str:
    """Return the text on the models that made the targets."""
    names = [
        f"{escape_markdown(each['name'])} (weights sha256 {each['sha256']})" for each in teachers
    ]
    return f"\nThe targets are translations of {' and '.join(names)}.\n" if names else ""


def _tell_parent(parent: dict[str, Any] | None, frozen: list[str]) -> str:
    """Return the text on the model that the training started from, and on the data of that."""
    if parent is None:
        return ""
    name = escape_markdown(parent["name"])
    licence = f", {escape_markdown(parent['licence'])}" if parent.get("licence") else ""
    facts = f"\nTrained from {name}{licence} (weights sha256 {parent['sha256']}), "
    facts += f"its tokens {parent['tokens']}"
    facts += f"; frozen: {', '.join(frozen)}.\n" if frozen else ".\n"
    if "data" in parent:
        facts += f"{name} itself was made from\n{_list_files(parent['data'])}\n"
    return facts + _tell_parent(parent.get("parent"), [])
