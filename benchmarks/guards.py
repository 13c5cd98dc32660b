"""Count how often the quality check is wrong: false alarms, and damage that it misses.

    python -m benchmarks guards --data DATA [--model MULTI30K_EN_DE] [--out guards.md]

Good are translations by people: test sets of Multi30k, Tatoeba and newstest2021, and of the
built-in corpus. What models say of the same is counted as well. Damage is done to translations by
people. DATA has the folders multi30k, tatoeba_en_de and so on; GLASSFORMER_DATA names it too.
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from glassformer.model.files.directory import write_text
from glassformer.translate.quality_check import find_problems
from glassformer.translate.sentence import Translation
from glassformer.translator import Translator
from tools.demo_corpus import pairs

from .tables import tell_table

Pairs = list[tuple[str, str]]
KINDS = ["loop", "copy", "short", "long", "lost"]
NUMBER = re.compile(r"\b\d{2,}\b")
ANCHORS = [
    "https://example.org/a?b=1&c=2",
    "www.example.net",
    "ann@example.org",
    "{name}",
    "${total}",
    "%(count)d",
    "%s",
    "<b>",
    "{{user.id}}",
    "__TITLE__",
]
DEMOS = {"demo": ("en", "fr"), "demo-fr-en": ("fr", "en"), "demo-en-zh": ("en", "zh")}
TARGET = re.compile(r"-(\w\w)\b")  # in the name of a set
HELD_OUT, SEED = 2_000, 2026


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, default=os.environ.get("GLASSFORMER_DATA"))
    parser.add_argument("--model", type=Path, help="trained on Multi30k, English to German")
    parser.add_argument("--out", type=Path, help="write the tables there, too")


def main(options: argparse.Namespace) -> None:
    if not options.data:
        raise ValueError("--data or GLASSFORMER_DATA has to name the folder of test sets")
    good = dict(read_people(Path(options.data)))
    said = dict(translate(good, options.model))
    alarms = tell_table(["good translations", "lines", *KINDS], list_alarms(good, said))
    heads = ["damage", "done", "found as", "found", "found as anything"]
    text = f"{alarms}\n{tell_table(heads, list_damage(good))}"
    print(text)
    if options.out:
        write_text(options.out, text)


def read_people(data: Path) -> Iterator[tuple[str, Pairs]]:
    for language in ("de", "fr"):
        years = [data / f"multi30k/test{year}" for year in (2016, 2017)]
        yield f"Multi30k en-{language}", [p for y in years for p in join(y, "en", language)]
    for language in ("de", "fr", "zh"):
        test = data / f"tatoeba_en_{language}/test"
        yield f"Tatoeba en-{language}", join(test, "en", language)
        yield f"Tatoeba {language}-en", join(test, language, "en")
    news = data / "wmt21_metric_check/newstest2021.en-de"
    people = (join(news, "src.en", f"ref.{name}.de") for name in "ACD")
    yield "newstest2021 en-de, 3 times", [pair for each in people for pair in each]
    for name, (source, target) in DEMOS.items():
        yield f"{name}, held out", pairs(source, target, HELD_OUT, SEED, "test")


def join(stem: Path, *ends: str) -> Pairs:
    texts = (Path(f"{stem}.{end}").read_text(encoding="utf-8") for end in ends)
    return list(zip(*(text.split("\n")[:-1] for text in texts), strict=True))


def translate(good: dict[str, Pairs], model: Path | None) -> Iterator[tuple[str, Counter[str]]]:
    """Translate the same sources with models; yield what looks wrong, by the name of each set."""
    tasks = {f"{name}, held out": name for name in DEMOS}
    if model:
        tasks["Multi30k en-de"] = str(model)
    for name, folder in tasks.items():
        sources = [source for source, _ in good[name]]
        translator = Translator.load(folder, device="cpu")
        found = translator.search(sources, split=False)
        problems: Counter[str] = Counter()
        for source, (best, *_) in zip(sources, found, strict=True):
            for each in find_problems(source, best, name_target(name)):
                problems[each.kind] += 1
                print(f"{name}: {each.kind}: {each.said}: {source} -> {best.text}")
        yield name, problems


def look(source: str, target: str, language: str | None) -> set[str]:
    by_people = Translation(target, [target], -1.0, -1.0, [-1.0], True, [])
    return {each.kind for each in find_problems(source, by_people, language)}


def name_target(name: str) -> str:
    """Return the target language of a set."""
    demo = DEMOS.get(name.partition(",")[0])
    return demo[1] if demo else TARGET.findall(name)[0]


def list_alarms(good: dict[str, Pairs], said: dict[str, Counter[str]]) -> Iterator[list[str]]:
    total: Counter[str] = Counter()
    for name, found in good.items():
        counts = Counter(kind for pair in found for kind in look(*pair, name_target(name)))
        total += counts
        yield row(f"{name}, by people", len(found), counts)
        if name in said:
            yield row(f"{name}, by the model", len(found), said[name])
    yield row("all by people", sum(map(len, good.values())), total)


def row(name: str, lines: int, counts: Counter[str]) -> list[str]:
    return [name, f"{lines:,}", *(str(counts[kind]) for kind in KINDS)]


Harm = Callable[[Random, str, str, str], tuple[str, str] | None]  # of a pair, and another target


def loop_word(random: Random, source: str, target: str, other: str) -> tuple[str, str]:
    words = target.split()
    at = random.randrange(len(words))
    return source, " ".join([*words[:at], *[words[at]] * random.randint(4, 12), *words[at + 1 :]])


def loop_phrase(random: Random, source: str, target: str, other: str) -> tuple[str, str] | None:
    words = target.split()
    if len(words) < 6:
        return None
    at, size = random.randrange(len(words) - 4), random.randint(2, 4)
    phrase = words[at : at + size] * random.randint(3, 6)
    return source, " ".join([*words[:at], *phrase, *words[at + size :]])


def copy_whole(random: Random, source: str, target: str, other: str) -> tuple[str, str] | None:
    return (source, source) if len(source.split()) >= 4 else None


def copy_most(random: Random, source: str, target: str, other: str) -> tuple[str, str] | None:
    """Return the source with each sixth word replaced with one of the translation."""
    words, theirs = source.split(), target.split()
    if len(words) < 6:
        return None
    for at in range(random.randrange(6), len(words), 6):
        words[at] = random.choice(theirs)
    return source, " ".join(words)


def keep(share: float) -> Harm:
    def cut(random: Random, source: str, target: str, other: str) -> tuple[str, str] | None:
        words = target.split()
        return (source, " ".join(words[: round(share * len(words))])) if len(words) >= 8 else None

    return cut


def add(times: int) -> Harm:
    """Return a harm that adds other text, `times` as long as the translation."""

    def more(random: Random, source: str, target: str, other: str) -> tuple[str, str]:
        rest = other
        while len(rest) < times * len(target):
            rest += f" {other[: len(target)][::-1]}"
        return source, f"{target} {rest[: times * len(target)]}"

    return more


def change_number(random: Random, source: str, target: str, other: str) -> tuple[str, str] | None:
    numbers = [n for n in NUMBER.findall(source) if source.count(n) == target.count(n) == 1]
    numbers = [number for number in numbers if int(number) > 12]
    if not numbers:
        return None
    number = random.choice(numbers)
    wrong = random.choice(["", str(int(number) + random.choice([1, 10, 100])), number[:-1]])
    return source, target.replace(number, wrong)


def lose_anchor(random: Random, source: str, target: str, other: str) -> tuple[str, str]:
    anchor = random.choice(ANCHORS)
    wrong = random.choice(["", anchor[:-1], anchor[1:]])
    return f"{source} {anchor}", f"{target} {wrong}"


HARMS: dict[str, tuple[str, Harm]] = {
    "a word 4 to 12 times in a row": ("loop", loop_word),
    "2 to 4 words 3 to 6 times in a row": ("loop", loop_phrase),
    "the source instead": ("copy", copy_whole),
    "the source, each sixth word translated": ("copy", copy_most),
    "the first fifth of it": ("short", keep(0.2)),
    "the first third of it": ("short", keep(1 / 3)),
    "2 times as much behind it": ("long", add(2)),
    "3 times as much behind it": ("long", add(3)),
    "a number changed, cut or dropped": ("lost", change_number),
    "an address or placeholder mangled or dropped": ("lost", lose_anchor),
}


def list_damage(good: dict[str, Pairs]) -> Iterator[list[str]]:
    sets = [
        (each, name_target(name))
        for name, each in good.items()
        if not name.endswith(("zh", "held out"))
    ]
    for name, (kind, harm) in HARMS.items():
        random, found, done = Random(name), Counter[bool](), Counter[bool]()
        for each, language in sets:
            for source, target in each:
                damaged = harm(random, source, target, random.choice(each)[1])
                if damaged:
                    seen = look(*damaged, language)
                    done[bool(seen)] += 1
                    found[kind in seen] += 1
        count = done.total()
        shares = (f"{100 * each[True] / count:.1f} %" for each in (found, done))
        yield [name, f"{count:,}", kind, *shares]
