"""A page finds the problems of a translation as `translate.checking` does, by these limits.

The code in the browser (`web/src/engine/judging.ts`) has none of these values: they come with the
model's file, from where Python has them.
"""

import re
from pathlib import Path
from typing import Any

from glassformer.config import Config
from glassformer.foundation.extensions import find_addition
from glassformer.foundation.messages import read_messages
from glassformer.model.files.directory import Tokenizers
from glassformer.text import function_words, number_words
from glassformer.text.patterns import LazyPattern
from glassformer.text.spacing import name_base
from glassformer.translate import quality_check
from glassformer.translate.familiarity import Familiarity

from .regexp import write_for_javascript

PATTERNS: dict[str, LazyPattern | re.Pattern[str]] = {
    "wide": quality_check.WIDE,
    "number": quality_check.NUMBER,
    "groups": quality_check.GROUPS,
    "myriads": quality_check.MYRIADS,
    "address": quality_check.ADDRESS,
    "placeholder": quality_check.PLACEHOLDER,
    "hour": quality_check.HOUR,
    "letters": function_words.WORD,
}
LIMITS = {
    "longest_unit": quality_check.LONGEST_UNIT,
    "times": quality_check.OFTEN,
    "least_loop": quality_check.LEAST_LOOP,
    "least_copy": quality_check.LEAST_COPY,
    "alike": quality_check.ALIKE,
    "least_length": quality_check.LEAST_LENGTH,
    "short": quality_check.SHORT,
    "long": quality_check.LONG,
    "ideograph": quality_check.IDEOGRAPH,
    "spelled_out": quality_check.SPELLED_OUT,
    "marks": quality_check.MARKS,
    "largest": number_words.LARGEST,
    "least_words": function_words.LEAST,
}


def describe_judging(config: Config, tokenizers: Tokenizers, folder: Path) -> dict[str, Any]:
    """Return the limits, lists and patterns of all checks."""
    source, target = config.data.source_lang, config.data.target_lang
    familiarity = Familiarity(source, tokenizers, folder)
    message = {kind: read_messages().texts[f"problem.{kind}"]["en"] for kind in quality_check.CAPS}
    return {
        "own": name_base(source),
        "limit": familiarity.limit,
        "caps": quality_check.CAPS,
        "messages": message,
        "languages": function_words.NAMES,
        "function_words": {code: sorted(own) for code, own in function_words.WORDS.items()},
        "numerals": [*map(number_words.spell_roman, range(number_words.LARGEST + 1))],
        "number_words": _describe_numbers(name_base(target)),
        "dropped": _describe_rule(config, folder),
        "lists": _describe_lists(source, target),
        "patterns": {name: write_for_javascript(each.pattern) for name, each in PATTERNS.items()},
        **LIMITS,
    }


def _describe_rule(config: Config, folder: Path) -> dict[str, Any] | None:
    """Return the rule for words that a translation drops; None without one."""
    describe = find_addition("dropped_rule")
    rule = describe(folder, config.model) if describe else None
    return rule and rule | {"word": write_for_javascript(rule["word"])}


def _describe_lists(source: str | None, target: str | None) -> dict[str, Any] | None:
    """Return the patterns of lists of both languages; None without them."""
    describe = find_addition("list_rule")
    rule = describe(source, target) if describe else None
    return rule and rule | {
        side: {name: write_for_javascript(each) for name, each in rule[side].items()}
        for side in ("source", "target")
    }


def _describe_numbers(code: str) -> list[str] | None:
    """Return a pattern of the words for each number; None if the language has none here."""
    if code not in number_words.read_number_words():
        return None
    numbers = range(number_words.LARGEST + 1)
    return [
        write_for_javascript(number_words.find_pattern(code, number).pattern) for number in numbers
    ]
