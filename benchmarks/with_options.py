"""Compare trainings with some options to the same training without them.

    python -m benchmarks with-options DIR en fr --steps 2000 --seeds 1 2 3 --out RUNS \\
        --settings "--size tiny" --try "--augment-stop 0.1" --try "--teacher everyday-en-fr" \\
        --try "--keep-best 90% --by-model everyday-fr-en" --precision fp32 int8

DIR has train.en, valid.en and so on; options that name --data replace its training text. Two
options are those of `glassformer check-data`: --keep-best and --by-model filter the training text
first. What teachers and filters made is used for all seeds. Given again, a command that was stopped
goes on where it was. Prints a Markdown table: the mean and the spread over the seeds, and the
difference to the training without options. A difference below the spread is none. With int8 in
--precision, the table says what int8 costs each student.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from statistics import mean
from typing import Any

from glassformer.extensions.ideas.distillation import DISTILLED
from glassformer.foundation.disk import write_json
from glassformer.model.files.directory import RECORD, RUN, WEIGHTS, locate
from glassformer.train.publish.card import hash_file

from .many_to_one import tell_spread
from .ssru import METRICS, read_test, score
from .tables import tell_machine, tell_table

PLAIN = ""  # the options of the training that the others are compared with
LONGEST = 100  # characters of a folder's name
PRECISIONS = ("fp32", "int8")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path)
    parser.add_argument("source_lang")
    parser.add_argument("target_lang")
    parser.add_argument("--test", default="valid", help="choose by the validation text")
    parser.add_argument("--try", dest="tried", action="append", required=True)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--precision", nargs="+", default=["fp32"], choices=PRECISIONS)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--settings", default="", help="options of glassformer train for all")


def main(options: argparse.Namespace) -> None:
    pairs = read_test(options, options.test)
    scores: dict[str, Sequence[Sequence[float]]] = {
        more: [examine(options, more, seed, pairs) for seed in options.seeds]
        for more in dict.fromkeys((PLAIN, *options.tried))
    }
    heads = [
        metric if len(options.precision) == 1 else f"{precision}: {metric}"
        for precision in options.precision
        for metric in METRICS
    ]
    print(tell_scores(scores, heads))
    print(f"{tell_machine()}, {options.steps} updates, seeds {options.seeds}")


def examine(
    options: argparse.Namespace, more: str, seed: int, pairs: Sequence[tuple[str, str]]
) -> list[float]:
    """Return the scores of a training with more options, one for each precision and metric.

    They are kept beside the model. ValueError if what is there was made by another command.
    """
    folder: Path = options.out / f"{name_training(more)}-{seed}"
    kept = folder.with_name(f"{folder.name}.json")
    given = describe(options, more, seed)
    found: dict[str, Any] = {"training": given, "scores": {}}
    if kept.is_file():
        found = json.loads(kept.read_text(encoding="utf-8"))
        if found["training"] != given:
            raise ValueError(f"{folder} is of other options ({kept}): name another --out")
    elif folder.exists():
        raise ValueError(f"{folder} is there, but not how it was made: name another --out")
    options.out.mkdir(parents=True, exist_ok=True)
    write_json(kept, found)
    for precision in options.precision:
        name = f"{options.test} {precision}"
        if name not in found["scores"]:
            train(options, more, seed, folder)
            found["scores"][name] = score(folder, pairs, options.target_lang, precision)
            write_json(kept, found)
    every = (found["scores"][f"{options.test} {each}"] for each in options.precision)
    return [value for values in every for value in values]


def name_training(more: str) -> str:
    """Return a name for files; one of long options ends with a checksum."""
    name = re.sub(r"[^\w.]+", "-", more).strip("-") or "plain"
    if len(name) > LONGEST:
        name = f"{name[:LONGEST]}-{sha256(more.encode()).hexdigest()[:8]}"
    return name


def describe(options: argparse.Namespace, more: str, seed: int) -> dict[str, Any]:
    """Return what decides a training, to compare with that of a folder."""
    return {
        "data": str(options.data.absolute()),
        "languages": [options.source_lang, options.target_lang],
        "steps": options.steps,
        "seed": seed,
        "options": shlex.split(f"{options.settings} {more}"),
    }


def train(options: argparse.Namespace, more: str, seed: int, folder: Path) -> None:
    """Train a model with more options, or go on with one that was stopped."""
    words, keep_best, by_model = split_filter(f"{options.settings} {more}")
    if (folder / RUN / RECORD).is_file():  # one that has ended says so
        run("train", "--resume", folder)
    else:
        data = [options.data] * ("--data" not in words)
        if keep_best:
            data = filter_pairs(options, keep_best, by_model)
        given = {"--source-lang": options.source_lang, "--target-lang": options.target_lang}
        given |= {"--steps": options.steps, "--seed": seed, "--out": folder}
        given |= {"--valid": options.data / "valid"}
        copy_translations(find_shared(options, more), folder / RUN / DISTILLED)
        run("train", *data, *(word for pair in given.items() for word in pair), *words)
    copy_translations(folder / RUN / DISTILLED, find_shared(options, more))


def run(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "glassformer", *map(str, words)], check=True)


def split_filter(words: str) -> tuple[list[str], str | None, str | None]:
    """Return the options of `train`, and the two of `check-data` if they are there."""
    parser = argparse.ArgumentParser(allow_abbrev=False, add_help=False)
    parser.add_argument("--keep-best")
    parser.add_argument("--by-model")
    found, own = parser.parse_known_args(shlex.split(words))
    if found.keep_best and not found.keep_best.endswith("%"):
        own += ["--keep-best", found.keep_best]  # of `train`: how many models are kept
        found.keep_best = None
    if found.by_model and not found.keep_best:
        raise ValueError("--by-model has no effect without --keep-best N%")
    if found.keep_best and "--data" in own:
        raise ValueError("--keep-best filters the text of the folder: without --data")
    return own, found.keep_best, found.by_model


def filter_pairs(options: argparse.Namespace, keep_best: str, by_model: str | None) -> list[Path]:
    """Return the files of the training pairs that a filter keeps, which are made once."""
    langs = options.source_lang, options.target_lang
    prefix = options.out / "filtered" / name_training(f"{keep_best} {by_model or ''}")
    files = [prefix.with_name(f"{prefix.name}.{lang}") for lang in langs]
    if not all(file.is_file() for file in files):
        partial = prefix.with_name(f"{prefix.name}-partial")
        partial.parent.mkdir(parents=True, exist_ok=True)
        words = ["check-data", options.data / "train", "--quick", "--fix", partial]
        words += ["--source-lang", langs[0], "--target-lang", langs[1], "--keep-best", keep_best]
        run(*words, *(("--by-model", by_model) if by_model else ()))
        for file, lang in zip(files, langs, strict=True):
            partial.with_name(f"{partial.name}.{lang}").replace(file)
    return files


def find_shared(options: argparse.Namespace, more: str) -> Path:
    """Return the folder of what the teachers of these options make of their text."""
    parser = argparse.ArgumentParser(allow_abbrev=False, add_help=False)
    for name in ("--teacher", "--data", "--keep-best", "--by-model"):
        parser.add_argument(name, action="append", default=[])
    words = shlex.split(f"{options.settings} {more}")
    found = vars(parser.parse_known_args(words)[0])
    found["weights"] = [hash_file(locate(each) / WEIGHTS) for each in found["teacher"]]
    digest = sha256(json.dumps(sorted(found.items())).encode()).hexdigest()[:12]
    shared: Path = options.out / "translations" / digest
    return shared


def copy_translations(source: Path, target: Path) -> None:
    """Copy what teachers made, and the text of which they made it, to another folder.

    A training checks that the text is its own, and translates it anew if not. Mixtures with the
    data's own targets depend on the seed, and are not copied.
    """
    for path in sorted(source.glob("*.t[xs][tv]"), key=lambda path: path.suffix):
        if not path.stem.endswith("-mixed") and not (target / path.name).exists():
            target.mkdir(parents=True, exist_ok=True)
            partial = target / f"{path.name}.partial"
            shutil.copyfile(path, partial)
            partial.replace(target / path.name)


def tell_scores(
    scores: dict[str, Sequence[Sequence[float]]], heads: Sequence[str] = METRICS
) -> str:
    """Return a table: for each training the scores, and the difference to that without options."""
    rows = []
    for more, found in scores.items():
        row = [f"`{more}`" if more else "none"]
        for number in range(len(heads)):
            own, plain = ([each[number] for each in by] for by in (found, scores[PLAIN]))
            row += [tell_spread(own), f"{mean(own) - mean(plain):+.2f}" if more else ""]
        rows.append(row)
    return tell_table(["options", *(head for m in heads for head in (m, "difference"))], rows)
