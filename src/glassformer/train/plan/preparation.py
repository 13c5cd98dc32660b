"""The preparation of a training: validation text, tokenizers and a store of ids in its folder."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...config import SEPARATOR, Config, CorpusShare, Decode
from ...data.context import read_in_context
from ...data.corpus import (
    Corpus,
    FoundCorpora,
    LabelledCorpus,
    find_sentences,
    find_text,
    has_labels,
    read_pairs,
)
from ...data.files import Fingerprint
from ...data.holdout import hold_out_of
from ...data.labels import Labels, find_labels
from ...data.mixing import find_weights
from ...data.sources import Corpora, open_corpora
from ...data.store import Counts, Store, StorePart, build_mixed_store
from ...data.tables import Pair
from ...foundation.disk import write_json
from ...foundation.extensions import find_addition, need_addition
from ...foundation.machine.properties import look_at_machine
from ...foundation.plurals import tell_count
from ...foundation.progress import Reporter
from ...model.files.directory import RECORD, RUN, VALID, Tokenizers, open_tokenizers
from ...model.files.known_words import WordCollector
from ...text.context import cut_source
from .auto import (
    WHY_BATCH,
    choose_settings,
    measure_corpus,
    render_choices,
    suggest_parent,
    suit_batch,
)
from .ideas import find_ideas
from .init_from import BATCH, InitialWeights
from .run_folder import (
    ValidGroup,
    read_extended_valid,
    read_record,
    read_settings,
    read_valid,
    write_valid,
)
from .vocabulary import (
    check_tokenizers,
    find_tokenizers,
    take_subwords,
    tell_vocabulary,
)

LEAST_EXTRA = 5  # tokens
MARGIN = 1.1  # a factor on lengths, for sentences unlike those of the training
MANY_LONG = 0.02  # of the pairs: if more are left out as too long, that is said by itself


@dataclass(frozen=True)
class PreparedRun:
    """The input of the training loop."""

    config: Config
    tokenizers: Tokenizers
    store: Store
    valid: tuple[list[str], list[str]]  # with data.context, the sources are extended
    groups: list[ValidGroup]  # of the validation text, in its order
    usual_extra: int  # a decode.max_extra that cuts off hardly any translation
    record: dict[str, Any]
    initial: InitialWeights

    @property
    def first(self) -> tuple[list[str], list[str]]:
        """Return the validation text of the first corpus, without a context."""
        source, target = [cut_source(each)[1] for each in self.valid[0]], self.valid[1]
        return source[: self.groups[0].pairs], target[: self.groups[0].pairs]

    @property
    def golden(self) -> tuple[list[str], str | None]:
        """Return sources for golden.json, with their pair of languages, if there are several."""
        return self.first[0], self.groups[0].pair


def prepare_run(out: Path, report: Reporter) -> PreparedRun:
    """Return the input of the loop; first make validation text, tokenizers and store, if missing.

    If this is killed at any point, calling it again goes on.
    """
    folder, record = out / RUN, read_record(out)
    config = read_settings(folder, record)
    if "fingerprints" not in record:
        record, config = _read_corpus(folder, config, record, report)
    tokenizers = open_tokenizers(folder, config)
    store, separator = Store.open(folder / "store"), find_separator(config, tokenizers)
    for idea in find_ideas(config, record):
        idea.prepare(folder, record, lambda: find_corpora(record, config)[0], store, tokenizers)
    if config.text.split_above is None:
        above = int(np.percentile(store.own_lengths(separator), 99, method="higher"))
        config = config.changed(text={"split_above": above})
    if config.decode.max_ratio == Decode().max_ratio:
        config = config.changed(decode={"max_ratio": find_ratio(store, config.decode, separator)})
    extra = find_extra(store, config.decode, separator)
    valid = read_extended_valid(folder) if config.data.context else read_valid(folder)
    groups = [ValidGroup(**each) for each in record.get("valid_groups", ())]
    groups = groups or [ValidGroup(name="", pair=None, pairs=len(valid[0]))]
    initial = InitialWeights.open(folder)
    return PreparedRun(config, tokenizers, store, valid, groups, extra, record, initial)


def find_separator(config: Config, tokenizers: Tokenizers) -> int | None:
    """Return the id after each sentence of a context; None without data.context."""
    return tokenizers.source.find_tags([SEPARATOR])[0] if config.data.context else None


def find_ratio(store: Store, decode: Decode, separator: int | None = None) -> float:
    """Return a decode.max_ratio that cuts off hardly any target of the training text.

    separator: see `Store.own_lengths`.
    """
    both = store.own_lengths(separator), store.lengths(0)[1]
    source, target = (np.maximum(lengths, 1) for lengths in both)
    needed = float(np.percentile((target + 1 - decode.max_extra) / source, 99.9))
    return max(decode.max_ratio, math.ceil(MARGIN * needed))


def find_extra(store: Store, decode: Decode, separator: int | None = None) -> int:
    """Return the least decode.max_extra that cuts off hardly any target of the training text.

    separator: see `Store.own_lengths`.
    """
    source, target = store.own_lengths(separator), store.lengths(0)[1]
    needed = float(np.percentile(target + 1 - decode.max_ratio * source, 99.9))
    return min(decode.max_extra, max(LEAST_EXTRA, math.ceil(MARGIN * needed)))


def _read_corpus(
    folder: Path, config: Config, record: dict[str, Any], report: Reporter
) -> tuple[dict[str, Any], Config]:
    """Return the record with what the corpus has shown, and the settings chosen for it."""
    train, valid = find_corpora(record, config)
    prints = train.fingerprints()
    if isinstance(train.parts[0], LabelledCorpus) and not config.model.labels:
        labels = find_labels(label for _, label in train)
        config = config.changed(model={"labels": labels})
        report.say(f"Labels: {', '.join(labels)}")
    if not config.model.is_language_model:
        _check(train, valid, report)
    if valid is None:
        train, valid = _hold_out(folder, config, train, report)
    for idea in find_ideas(config, record):
        train = idea.choose_targets(folder, train, record, report)
    config, tokenizers = take_subwords(folder, train, config)
    config, record = _choose(folder, config, record, train, report)
    tokenizers = tokenizers or find_tokenizers(folder, train, config, record, report)
    check_tokenizers(config, tokenizers)
    report.say(tell_vocabulary(tokenizers))
    pairs, groups = _read_valid_groups(valid, config, tokenizers, report)
    write_valid(folder, pairs, has_context=config.data.context > 0)
    counts = encode_corpus(folder, config, train, tokenizers, prints, report)
    unit = "lines" if config.model.is_language_model else "pairs"
    corpus = str(counts).replace("pairs", unit)
    report.say(f"{corpus}; {len(pairs):,} {unit} to validate on")
    if counts.too_long > MANY_LONG * counts.read:
        limit = f"data.max_length={config.data.max_length} tokens"
        if config.data.max_length > _find_longest(config):
            limit = f"model.positions.max_positions={config.model.positions.max_positions} allows"
        report.say(
            f"{counts.too_long / counts.read:.0%} of the {unit} are longer than {limit}: "
            "put each sentence on a line of its own, or raise it"
        )
    if not counts.kept:
        raise ValueError(f"{train.files[0]}: nothing is left to train on ({corpus})")
    if len(train.parts) > 1:
        report.say(tell_shares(config, Store.open(folder / "store")))
    record = {
        **record,
        **({"valid_groups": [each.model_dump() for each in groups]} if groups else {}),
        "settings": config.to_json(),
        "fingerprints": [asdict(each) for each in prints],
        "counts": corpus,
    }
    write_json(folder / RECORD, record)
    return record, config


def _choose(
    folder: Path, config: Config, record: dict[str, Any], train: Corpora, report: Reporter
) -> tuple[Config, dict[str, Any]]:
    """Return the settings with those chosen that depend on the corpus, and the record with them."""
    if config.is_open:
        of_characters = config.text.tokenizer == "char"
        stats = measure_corpus(train, of_characters=of_characters)
        machine = look_at_machine(folder)
        hint = "" if "parent" in record else suggest_parent(config, stats)
        config, choices = choose_settings(config, stats, machine)
        report.say("\n".join(filter(None, (render_choices(choices, stats, machine), hint))))
        record = {**record, "chosen": [each.key for each in choices if not each.is_yours]}
    elif record.get("fits_batch"):
        batch = suit_batch(measure_corpus(train).tokens, look_at_machine(folder))
        config = config.changed(train={BATCH: batch})
        report.say(f"train.batch_tokens={batch:,}: {WHY_BATCH}")
    return config, record


def _hold_out(
    folder: Path, config: Config, train: Corpora, report: Reporter
) -> tuple[Corpora, Corpora]:
    """Return the corpora without some pairs, and these pairs, to validate on."""
    seed = config.data.hold_out_seed
    train, valid = hold_out_of(train, config.train.seed if seed is None else seed)
    count = sum(int(each.chosen.sum()) for each in valid.parts if each.chosen is not None)
    report.say(
        f"No validation text given: {tell_count(count, 'line')} "
        f"{'is' if count == 1 else 'are'} held out for it, "
        f"in {folder / VALID[0]} and {VALID[1]}"
    )
    return train, valid


def _read_valid_groups(
    valid: Corpora, config: Config, tokenizers: Tokenizers, report: Reporter
) -> tuple[list[Pair], list[ValidGroup]]:
    """Return the whole pairs of the validation text, and how many come from which corpus.

    Those that are too long for the network are left out. A corpus without pairs is left out, too;
    if there is only one, there are no groups. ValueError if there is no pair.
    """
    pairs: list[Pair] = []
    groups: list[ValidGroup] = []
    left_out, most = 0, config.model.positions.max_positions
    several, context = len(config.data.pairs) > 1, config.data.context
    for part, share in zip(valid.parts, valid.shares, strict=True):
        read = read_in_context(part, context, held_out=True) if context else part
        whole = [pair for pair in read if pair[0].strip() and pair[1].strip()]
        langs = f"{part.source_lang}-{part.target_lang}" if several else None
        marks = 2 + len(config.data.tags_of(share)) + bool(config.data.target_tag)
        own = [pair for pair in whole if _fits(pair, tokenizers, most - marks)]
        left_out += len(whole) - len(own)
        if own:
            groups.append(ValidGroup(name=share.name, pair=langs, pairs=len(own)))
        pairs += own
    where = ", ".join(map(str, valid.files))
    too_long = f"{tell_count(left_out, 'line')} too long for model.positions.max_positions={most}"
    if not pairs:
        raise ValueError(f"{where}: there is no whole pair to validate on ({too_long})")
    if left_out:
        report.say(f"{where}: {too_long} left out of the validation text")
    return pairs, groups if len(valid.parts) > 1 or several else []


def _fits(pair: Pair, tokenizers: Tokenizers, most: int) -> bool:
    """Return whether no side has more than `most` tokens; a context is cut where it is read."""
    sides = (tokenizers.source, cut_source(pair[0])[1]), (tokenizers.target, pair[1])
    return all(len(tokenizer.encode(text)) <= most for tokenizer, text in sides)


def tell_shares(config: Config, store: Store) -> str:
    """Return, in words, what each of several corpora gives to an epoch."""
    weights = weigh_parts(config, store)
    shown = [weight * counts.kept for weight, (_, counts) in zip(weights, store.parts, strict=True)]
    lines = [
        f"  {name}: {tell_count(counts.kept, 'pair')}, weight {weight:.4g}, "
        f"{part / sum(shown):.1%} of an epoch"
        for (name, counts), weight, part in zip(store.parts, weights, shown, strict=True)
    ]
    return "\n".join([f"{len(lines)} corpora:", *lines])


def weigh_parts(config: Config, store: Store) -> list[float]:
    """Return how often an epoch has each pair of each part of the store."""
    if len(store.parts) == 1:
        return [1.0]
    sizes = [counts.kept for _, counts in store.parts]
    weights = [each.weight for each in config.data.corpus]
    return find_weights(sizes, weights, config.data.corpus_temperature)


def encode_corpus(
    folder: Path,
    config: Config,
    train: Corpora,
    tokenizers: Tokenizers,
    prints: Sequence[Fingerprint],
    report: Reporter,
) -> Counts:
    """Write the store of a training, and the list of its words; return the counts of pairs."""
    labels = config.model.labels
    total = prints[0].lines if len(train.parts) == 1 else train.count_lines()
    words = WordCollector(language=config.data.source_lang)
    read = [read_as_trained(config, part) for part in train.parts]
    if config.data.copies:
        teacher = need_addition("copy_teacher", "data.copies")(config, train)
        read = [*map(teacher.watch, read)]
    parts = [
        StorePart(
            share.name if len(train.parts) > 1 else "",
            words.watch(pairs),
            tuple(tokenizers.source.find_tags(config.data.tags_of(share))),
            find_separator(config, tokenizers),
            tuple(tokenizers.target.find_tags(config.data.target_tags)),
        )
        for pairs, share in zip(read, train.shares, strict=True)
    ]
    with report.phase("encoding", total) as advance:
        counts = build_mixed_store(
            folder / "store",
            parts,
            tokenizers.source,
            Labels(labels) if labels else tokenizers.target,
            max_length=min(config.data.max_length, _find_longest(config)),
            samples=config.text.samples if config.text.sampling else 1,
            sampling=0.0 if config.draws_anew else config.text.sampling,
            seed=config.train.seed,
            fingerprints=prints,
            total=total,
            progress=lambda done, total: advance(done, total),
        )
    words.write(folder)
    return counts


def _find_longest(config: Config) -> int:
    """Return the most tokens that the network has positions for, beside its marks."""
    marks = 2 if config.model.network == "encoder" else 1
    return config.model.positions.max_positions - marks


def read_as_trained(config: Config, part: Corpus) -> Iterator[Pair]:
    """Return the pairs to train on; with data.context, the sources are extended."""
    context = config.data.context
    return read_in_context(part, context) if context else read_pairs(part)


def _check(train: Corpora, valid: Corpora | None, report: Reporter) -> None:
    """Report the errors that a quick examination of the pairs finds; none is left out for them.

    An extension examines them; without it there is nothing to report.
    """
    examine = find_addition("examine_corpus")
    if examine is None:
        return
    warnings: list[str] = []
    for part, share in zip(train.parts, train.shares, strict=True):
        langs = part.source_lang, part.target_lang
        held_out = {
            f"the validation text{f' of {own.name}' if len(train.parts) > 1 else ''}": each.sides()
            for each, own in (zip(valid.parts, valid.shares, strict=True) if valid else ())
            if (each.source_lang, each.target_lang) == langs
        }
        with report.phase("checking"):
            result = examine(
                *part.sides(),
                source_lang=part.source_lang,
                target_lang=part.target_lang,
                held_out=held_out,
                thorough=False,
            )
        prefix = f"{share.name}: " if len(train.parts) > 1 else ""
        warnings += [f"{prefix}{warning}" for warning in result.warnings()]
    for warning in warnings:
        report.say(warning)
    if warnings:
        report.say("glassformer check-data shows which, and can mend them")


def find_corpora(record: dict[str, Any], config: Config) -> tuple[Corpora, Corpora | None]:
    """Return the corpora to train on, and those to validate on, if they are named or found."""
    if config.model.is_language_model:
        return _find_text(record, config)
    train, valid = open_corpora(config.data, record.get("corpora") or [record["data"]])
    if not record["valid"]:
        return train, valid
    paths = record.get("valid_corpora") or [record["valid"]]
    data = config.data
    if len(paths) not in (1, len(data.corpus)):
        raise ValueError(
            f"{len(paths)} validation texts for {len(data.corpus)} corpora: give one for each, in "
            "the same order, or one for all"
        )
    if len(paths) == 1 and len(data.pairs) > 1:
        raise ValueError("of several languages, each corpus needs a validation text of its own")
    if len(paths) == 1:
        data = data.model_copy(update={"corpus": ()})
    valid = open_corpora(data, paths)[0]
    valid.fingerprints()
    return train, valid


def _find_text(record: dict[str, Any], config: Config) -> tuple[Corpora, Corpora | None]:
    """Return the corpora of a language model, each a single one."""
    text = _find(record["data"], config)
    valid = _find(record["valid"], config).train if record["valid"] else text.valid
    if record["valid"] and valid:
        valid.fingerprints()
    share = (CorpusShare(name="text"),)
    return Corpora((text.train,), share), Corpora((valid,), share) if valid else None


def _find(paths: Sequence[str], config: Config) -> FoundCorpora:
    """Return the corpora that paths name: of text or of labelled sentences."""
    if config.model.network == "encoder" and has_labels(paths):
        return find_sentences(paths)
    return find_text(paths, config.data.source_lang)
