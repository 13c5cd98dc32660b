"""Lists in a sentence, such as *eggs, milk and bread*, of which a translation loses an item.

The words of a list attend to each other, so what an item loses in coverage another gains, and
`dropped.py` often misses it. But a translation without an item has a comma less, or one item twice.
Only lists of short items are read (`lists.toml`): commas also part clauses, and come and go there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from glassformer.text.spacing import name_base

FEW = 3  # items of a list that a phrase and its clause may look like: In Japan, men and women ...


class Lists(NamedTuple):
    """The patterns of the lists of a language."""

    whole: re.Pattern[str]  # without an article in front
    joint: re.Pattern[str]  # of two items
    joints: re.Pattern[str]  # that and all else that may stand for it
    article: re.Pattern[str]  # in front of an item
    opening: re.Pattern[str]  # what a list of few items does not stand behind
    choice: re.Pattern[str]  # in a question it may be answered, or left out

    def split(self, text: str) -> list[str]:
        """Return the items of a list without their articles."""
        return [self.article.sub("", each) for each in self.joint.split(text)]


class ListRule(NamedTuple):
    """A check of translations from one language to another for lost items of lists."""

    source: Lists
    target: Lists

    def find_lost(self, source: str, target: str) -> Iterator[str]:
        """Yield the items, parted by slashes, of each list of which a translation loses one."""
        if "," not in source:
            return
        most = len(self.target.joints.findall(target)) + 1
        is_repeated = any(
            _has_repeats(self.target.split(each)) for each in self.target.whole.findall(target)
        )
        for match in self.source.whole.finditer(source):
            items = self.source.split(match[0])
            if len(items) == FEW and self.source.opening.search(source[: match.start()]):
                continue
            if "?" in source and self.source.choice.search(match[0]):
                continue
            if len(items) > most or (is_repeated and not _has_repeats(items)):
                yield " / ".join(items)


def read_list_rule(source: str | None, target: str | None) -> ListRule | None:
    """Return the check for two languages; None if the lists of one are not known."""
    source_lists, target_lists = read_lists(name_base(source)), read_lists(name_base(target))
    return source_lists and target_lists and ListRule(source_lists, target_lists)


def describe_list_rule(source: str | None, target: str | None) -> dict[str, Any] | None:
    """Return the patterns of both languages for a page; None if the lists of one are not known."""
    if (rule := read_list_rule(source, target)) is None:
        return None
    patterns = {
        side: {name: each.pattern for name, each in lists._asdict().items()}
        for side, lists in rule._asdict().items()
    }
    return patterns | {"few": FEW}


@cache
def read_lists(language: str | None) -> Lists | None:
    """Return the patterns of the lists of a language; None if it is not in the table."""
    import tomllib  # few commands need it

    text = Path(__file__).with_name("lists.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text).get(language or "")
    return table and _write_patterns(table)


def _write_patterns(table: dict[str, Any]) -> Lists:
    article, of, opening = (_either(table[name]) for name in ("articles", "of", "opening"))
    word = (
        rf"(?!{_either(table['others'])}(?![\w-]))(?!{article} )(?!\w+{table['verbal']}\b)"
        r"[^\W_]++(?:['’.-][^\W_]++)*+['’]?+"
    )
    conjunction = rf",? (?:{table['and']}|{table['or']}) "
    noun = rf"{word}(?:(?: {of}(?: {article})?)? {word})?+"
    item = rf"(?:(?:{article} ){{1,2}}{noun}|{word})"
    end = r"(?=\s*(?:[.!?;:]|$))"
    whole = rf"(?<![\w'’-]){word}(?:, {item}){{1,12}}{conjunction}{item}{end}"
    joints = table["joints"].replace(" ", "|")
    patterns = {
        "whole": whole,
        "joint": rf"{conjunction}|, ",
        "joints": rf",?\s+(?:{table['and']}|{table['or']}|{joints})\s|[,;:/&(–—-]|\.\s",
        "article": rf"^(?:{article} |[dlDL]['’])+",
        "opening": rf"^\W*{opening}(?!\w)[^,]*$",
        "choice": rf" {table['or']} ",
    }
    return Lists(**{name: re.compile(pattern) for name, pattern in patterns.items()})


def _either(words: str) -> str:
    """Return the pattern of one of some words, with a small or capital first letter."""
    return f"(?:{'|'.join(f'[{each[0].upper()}{each[0]}]{each[1:]}' for each in words.split())})"


def _has_repeats(items: list[str]) -> bool:
    return len({each.lower() for each in items}) < len(items)
