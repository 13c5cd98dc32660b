"""Diagnostics of a training that a student can call: `glassformer doctor MODEL --training`.

Each answers one question about a run that is still there: how much of the batches is padding; did
gradients vanish, explode or get clipped all the time; did the loss leave that of a network that
knows nothing, the logarithm of the vocabulary; is the validation text in the training text; are the
translations copies or repetitions. A language model translates nothing. Of several languages, each
line is compared with the texts in its own, and translated into its own.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from glassformer.config import PAD, Config
from glassformer.data.batches import Batch, Integers
from glassformer.data.files import read_lines
from glassformer.data.masking import choose_batches
from glassformer.data.store import Store
from glassformer.foundation.extensions import find_addition, need_addition
from glassformer.model.files.directory import RECORD, RUN, locate, open_tokenizers
from glassformer.text.context import cut_source
from glassformer.train.plan.preparation import weigh_parts
from glassformer.train.plan.run_folder import (
    ValidGroup,
    read_extended_valid,
    read_record,
    read_settings,
    read_valid,
)
from glassformer.train.publish.health import HealthFinding
from glassformer.train.run.validation import ValidText, spread_sample
from glassformer.translator import Translator

from .comparison import find_known
from .training_text import MOST, open_training

METRICS_FILE = "metrics.jsonl"
SIDES = ("source", "target")
TRIED = 50  # batches, and sentences that are translated
MUCH_PADDING = 0.3  # of the cells
MUCH_CLIPPED = 0.5  # of the updates
VANISHED, EXPLODED = 1e-4, 100.0  # gradient norms
KNOWS_NOTHING = 0.9  # of the logarithm of the vocabulary
DOUBT = ", or lines that are not translations"
MANY_TWINS, MANY_COPIES, MANY_LOOPS = 0.05, 0.1, 0.1  # of the lines
REPEATED = re.compile(r"([^\W\d].{0,30}?)\1{3,}")  # begins with a letter, and four times in a row


def examine_training(model: Path | str) -> list[HealthFinding]:
    """Return the diagnostics of a training. ValueError if its run is not there."""
    named = locate(model)
    folder = find_run_folder(named)
    record = read_record(folder)
    config = read_settings(folder / RUN, record)
    if config.train.pad_to is None:
        raise ValueError(f"{folder}: its training was stopped before the first update")
    rows = list(read_metrics(folder / RUN / METRICS_FILE))
    classes = len(config.model.labels or open_tokenizers(folder / RUN, config).target)
    doubt = "" if config.model.is_language_model else DOUBT
    corpora = ["", *(each["name"] for each in record.get("valid_groups", ()))]
    if len(corpora) == 2:
        corpora.pop()
    place = [HealthFinding("training", f"that of {folder}")] if folder != named else []
    return [
        *place,
        examine_padding(folder / RUN, config),
        *examine_gradient(rows, config.train.max_grad_norm),
        *(each for name in corpora for each in examine_loss(rows, classes, name, doubt)),
        *examine_contamination(folder),
        *examine_translations(folder),
    ]


def find_run_folder(folder: Path) -> Path:
    """Return the folder of the training of a model, which may be a published copy.

    ValueError if there is none.
    """
    if (folder / RUN / RECORD).is_file():
        return folder
    find = find_addition("find_training")
    place: Path | None = find(folder) if find else None
    if place is None:
        raise ValueError(
            f"{folder} has no training in it, no {RUN}/{RECORD}: name the folder that `train` wrote"
        )
    return place


def read_metrics(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of the metrics of a run; a line that was cut by a kill is left out."""
    for line in read_lines(path) if path.is_file() else ():
        try:
            yield dict(json.loads(line))
        except ValueError:
            continue


def examine_padding(run: Path, config: Config) -> HealthFinding:
    """Return how much of the first batches, those of the first stage, is padding."""
    store, tokenizers = Store.open(run / "store"), open_tokenizers(run, config)
    sides, weights = (tokenizers.source, tokenizers.target), weigh_parts(config, store)
    batches = choose_batches(config, store, sides, weights)
    if config.data.stage:
        need_addition("stages", "data.stage")(batches, config, store, sides, weights)
    first = batches.at(0)
    taken = [first.batch(0, number) for number in range(min(TRIED, first.count(0)))]
    texts = [text for each in taken for text in take_texts(each, config)]
    share = sum(int((text == PAD).sum()) for text in texts) / sum(text.size for text in texts)
    advice = "a few very long lines? a smaller data.max_length, or a sentence a line"
    message = f"{share:.0%} of the cells of {len(taken)} batches"
    return HealthFinding("padding", message, advice if share > MUCH_PADDING else "")


def take_texts(batch: Batch, config: Config) -> list[Integers]:
    """Return the ids of a batch that are texts; what an encoder predicts is mostly nothing."""
    if config.model.network == "encoder":
        return [batch.source_BS]
    if config.model.network == "decoder":
        return [batch.target_BT]
    return [batch.source_BS, batch.target_BT]


def examine_gradient(rows: Sequence[dict[str, Any]], limit: float | None) -> list[HealthFinding]:
    """Return whether the gradients vanished, exploded or were clipped all the time."""
    norms = [each["gradient_norm"] for each in rows if each.get("gradient_norm") is not None]
    if not norms:
        return [HealthFinding("gradient", "no update was logged")]
    late = norms[len(norms) // 2 :]
    message = f"its norm is {median(late):.3g} in the second half, at most {max(norms):.3g}"
    advice = ""
    if not all(map(math.isfinite, norms)) or max(late) > EXPLODED:
        advice = "it explodes: a lower --learning-rate, a longer --warmup, --max-grad-norm 1"
    elif median(late) < VANISHED:
        advice = "it vanishes: nothing is learned any more; is the learning rate 0, or all frozen?"
    elif limit and sum(each > limit for each in late) > MUCH_CLIPPED * len(late):
        advice = f"most updates are clipped at {limit:g}: a lower --learning-rate says the same"
    return [HealthFinding("gradient", message, advice)]


def examine_loss(
    rows: Sequence[dict[str, Any]], classes: int, corpus: str = "", doubt: str = DOUBT
) -> list[HealthFinding]:
    """Return where the loss began and ended, beside that of a network that knows nothing.

    classes: the tokens, or labels, one of which is predicted. corpus: the name of one of several.
    """
    key = f"valid {corpus} loss" if corpus else "valid loss"
    about = f"loss of {corpus}" if corpus else "loss"
    losses = [each[key] for each in rows if each.get(key) is not None]
    if not losses:
        return [HealthFinding(about, "no validation was made")]
    nothing = math.log(classes)
    message = f"{losses[-1]:.2f} on the validation text; who knows nothing has {nothing:.2f}"
    advice = ""
    if losses[-1] > KNOWS_NOTHING * nothing:
        advice = f"nothing was learned: more updates{doubt}?"
    elif losses[-1] > 1.05 * min(losses):
        advice = f"it rose again from {min(losses):.2f}: more --dropout, or fewer updates"
    return [HealthFinding(about, message, advice)]


def examine_contamination(folder: Path) -> list[HealthFinding]:
    """Return how much of the validation text is in the training text, or nearly."""
    record = read_record(folder)
    config = read_settings(folder / RUN, record)
    training = gather_training(folder, config)
    if not training:
        return [HealthFinding("contamination", "the training text is no longer where it was")]
    valid = read_grouped(folder / RUN, record, config)
    lines = defaultdict[str | None, dict[int, str]](dict)
    langs = {"-".join(map(str, each)): each for each in config.data.pairs}
    for place, number in enumerate(valid.numbers):
        pair = cut_source(valid.sources[place])[1], valid.references[place]
        names = key_sides(config, langs.get(str(valid.groups[number].pair), SIDES))
        for name, text in zip(names, pair, strict=False):
            lines[name][place] = text
    twins = {
        place
        for name, own in lines.items()
        for place, is_known in zip(own, find_known(training[name], own.values()), strict=True)
        if is_known
    }
    share = len(twins) / len(valid.sources)
    can_split = not config.model.is_language_model and len(config.data.pairs) == 1
    cure = "`night` splits so that near twins stay together" if can_split else "validate on others"
    message = f"{len(twins):,} of {len(valid.sources):,} validation lines are (nearly) in the "
    advice = f"the scores flatter: {cure}" if share > MANY_TWINS else ""
    return [HealthFinding("contamination", f"{message}training text", advice)]


def key_sides(config: Config, langs: tuple[str | None, str | None]) -> tuple[str | None, ...]:
    """Return what the texts of a pair are compared by: of several pairs their languages.

    A language model has one text; its labels are no text.
    """
    if config.model.is_language_model:
        return SIDES[:1]
    return langs if len(config.data.pairs) > 1 else SIDES


def gather_training(folder: Path, config: Config) -> dict[str | None, list[str]]:
    """Return the training text by `key_sides`, without what was held out of it.

    It is empty if the files are no longer there.
    """
    texts = defaultdict[str | None, list[str]](list)
    with suppress(ValueError, OSError):
        parts = open_training(folder).parts
        for part in parts:
            names = key_sides(config, (part.source_lang, part.target_lang))
            for name, side in zip(names, part.sides(), strict=False):
                texts[name] += islice(side, MOST // len(parts))
        return texts
    return {}


def read_grouped(
    run: Path, record: dict[str, Any], config: Config, most: int | None = None
) -> ValidText:
    """Return the validation text, or up to so many lines of all its parts."""
    valid = (read_extended_valid if config.data.context else read_valid)(run)
    lines = len(valid[0])
    groups = [ValidGroup(**each) for each in record.get("valid_groups", ())]
    groups = groups or [ValidGroup(name="", pair=None, pairs=lines)]
    return spread_sample(valid, min(most or lines, lines), groups)


def examine_translations(folder: Path) -> list[HealthFinding]:
    """Return how many translations are copies of their sources, repeat themselves or are empty."""
    record = read_record(folder)
    config = read_settings(folder / RUN, record)
    if config.model.is_language_model:
        message = f"none: a language model (network={config.model.network}) translates nothing"
        return [HealthFinding("translations", message)]
    valid = read_grouped(folder / RUN, record, config, TRIED)
    try:
        result = translate_valid(folder, valid)
    except ValueError as error:  # no validation was made yet, or none succeeded
        return [HealthFinding("translations", f"none: {error}")]
    spell = open_tokenizers(folder / RUN, config).target.spell
    sources = [cut_source(each)[1] for each in valid.sources]
    sides = [
        ["".join(spell(each).casefold().split()) for each in side]
        for side in (result, sources, valid.references)
    ]
    copies = sum(a == b != c for a, b, c in zip(*sides, strict=True))
    loops = sum(map(repeats_itself, result))
    empty = sum(not any(map(str.isalnum, each)) for each in result)
    advice = "" if copies <= MANY_COPIES * len(result) else "are source lines among the targets?"
    again = "" if loops <= MANY_LOOPS * len(result) else "usual at first: train longer"
    return [
        HealthFinding("copying", f"{copies} of {len(result)} translations are the source", advice),
        HealthFinding("repetition", f"{loops} of {len(result)} translations repeat a word", again),
        HealthFinding(
            "emptiness",
            f"{empty} of {len(result)} translations have no word",
            "" if empty <= MANY_LOOPS * len(result) else "usual at first: train longer",
        ),
    ]


def translate_valid(folder: Path, valid: ValidText) -> list[str]:
    """Return the translations of lines, each by the model as it translates to its language."""
    result = dict[int, str]()
    for pair in dict.fromkeys(valid.groups[number].pair for number in valid.numbers):
        places = [n for n, own in enumerate(valid.numbers) if valid.groups[own].pair == pair]
        contexts, sources = zip(*(cut_source(valid.sources[n]) for n in places), strict=True)
        translator = Translator.load(folder, pair)
        texts = translator.translate([*sources], contexts=[*contexts], split=False, again=False)
        result |= zip(places, texts, strict=True)
    return [result[place] for place in range(len(valid.sources))]


def repeats_itself(text: str) -> bool:
    """Return whether some words or letters stand four times in a row."""
    return REPEATED.search(text) is not None
