"""The search for a translation, as the options of a verb choose it, and what its check found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..foundation.plurals import tell_count

if TYPE_CHECKING:
    from ..config import Config, Decode
    from ..data.glossary import Glossary
    from ..translate.options import SearchOptions
    from ..translate.sentence import CheckedTranslation
    from ..translator import Translator


MACHINE = ("device", "precision", "threads", "workers")
LM_WEIGHT = 0.1  # of a language model, where none is given
# The values of other settings with which options of the search have no effect.
VOID_WITH: dict[str, tuple[str, object]] = {"diversity": ("beam_groups", 1), "utility": ("mbr", 0)}
VOID_WITH["alpha"] = ("length_penalty", "none")


def load_translator(model: Path, options: Mapping[str, Any]) -> Translator:
    """Return the translator of a model and of those that the options add to it."""
    from ..translator import Translator

    machine = {name: options[name] for name in MACHINE}
    translator = Translator.load([model, *(options["ensemble"] or ())], options["to"], **machine)
    if options["lm"]:
        weight = LM_WEIGHT if options["lm_weight"] is None else options["lm_weight"]
        return translator.with_language_model(options["lm"], weight, **machine)
    if options["lm_weight"] is not None:
        raise ValueError("--lm-weight has no effect without --lm")
    return translator


def read_glossary(path: Path | None) -> Glossary | None:
    if path is None:
        return None
    from ..data.glossary import Glossary

    return Glossary.read(path)


@cache
def list_serving() -> dict[str, str]:
    """Return the options that apply to one kind of search only, with the name of that search."""
    from ..config import SEARCH_OF

    also = dict.fromkeys(("length_penalty", "alpha", "n_best"), "beam")
    return {**SEARCH_OF, **also, "seed": "sample"}


def choose_search(config: Config, options: Mapping[str, Any]) -> Decode:
    """Return the model's own settings, overridden by the options given (those not None).

    The rules are those of `Decode.override`. Since a user typed every option, raise ValueError
    for one that has no effect.
    """
    from ..config import Decode

    options = {name: value for name, value in options.items() if value is not None}
    if options.get("n_best") == 1:  # true of any search
        del options["n_best"]
    changes = {name: value for name, value in options.items() if name in Decode.model_fields}
    decode = config.decode.override(changes, options.get("n_best"))
    for name in options:
        needed = list_serving().get(name, decode.search)
        other, void = VOID_WITH.get(name, ("search", None))
        where = f"on {decode.search} search; add --search {needed}"
        if needed == decode.search:
            where = f"with --{other} {void}".replace("_", "-")
        if needed != decode.search or getattr(decode, other) == void:
            raise ValueError(f"--{name.replace('_', '-')} has no effect {where}")
    return decode


def choose_options(config: Config, settings: Mapping[str, Any]) -> SearchOptions:
    """Return the options of a search, as those of the command line say."""
    from ..translate import options

    return options.choose_options(
        config.decode,
        decode=choose_search(config, settings),
        n_best=settings["n_best"] or 1,
        seed=settings["seed"] or 0,
        split=not settings["no_split"],
        again=not (settings["no_guard"] or settings["n_best"]),
        glossary=read_glossary(settings["glossary"]),
    )


def spell_search(decode: Decode) -> str:
    """Return the settings that apply to the search, as `--set decode.NAME=VALUE` takes them."""
    values = decode.model_dump()
    return " ".join(
        f"{name}={value}"
        for name, value in values.items()
        if list_serving().get(name, decode.search) == decode.search
    )


@dataclass
class FlagCounts:
    """Counts of the texts whose check found something; it is made of every translation anyway."""

    total: int = 0
    wrong: int = 0  # translations
    unlike: int = 0  # texts that are unlike the training text

    def add(self, checked: CheckedTranslation) -> None:
        from ..translate.quality_check import UNLIKE

        kinds = {each.kind for each in checked.problems} - {"parts"}
        self.total += 1
        self.wrong += bool(kinds - UNLIKE)
        self.unlike += bool(kinds & UNLIKE)

    @property
    def said(self) -> str:
        """Return the counts in words, or "" if nothing was found."""
        one = self.wrong == 1
        wrong = f"{self.wrong:,} of {tell_count(self.total, 'translation')} look{'s' * one} wrong"
        are = "is" if self.unlike == 1 else "are"
        unlike = f"{tell_count(self.unlike, 'text')} {are} unlike the training text"
        return ", ".join([*([wrong] * bool(self.wrong)), *([unlike] * bool(self.unlike))])
