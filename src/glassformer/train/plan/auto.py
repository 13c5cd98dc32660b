"""The recipe `auto`: the choice of settings, and of the size if wanted, for a corpus and a machine.

Every rule is one line of `choose_settings`, with its reason beside it. A setting given by hand is
kept, and later rules depend on it. The rules start from one measured point: Multi30k, 29,000 pairs,
size tiny with pre-norm, 8,000 tokens, dropout 0.3, 4,096 tokens a side in a batch, Muon, some 4,700
updates in ten minutes on two cores.
"""

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from ...config import Config
from ...foundation.machine.properties import Machine
from ...foundation.plurals import tell_count
from ...foundation.sizes import find_shape
from ...text.spacing import name_base
from .schedule import usual_peak

# The speed of one core in bf16 by AMX, in bf16 by vectors, and in fp32; without a C compiler, up to
# twice as slow.
CORE_FLOPS = {"AMX": 1.2e12, "bf16": 2e11, "fp32": 1e11}  # of matrix products
# Seconds of other work, for each dimension of a layer's width:
CORE_SECONDS = {"AMX": 2.5e-8, "bf16": 4.4e-8, "fp32": 4.4e-8}
GPU_FLOPS, GPU_TOKENS = 2e13, 4e5  # reached by a GPU; small networks do not fill it
REFERENCE = 30_000  # pairs of the measured point
MILLION = 10**6
NEEDED = {  # pairs, and tokens a side to be seen in training
    "big": (10 * MILLION, 1000 * MILLION),
    "base": (1 * MILLION, 100 * MILLION),
    "small": (60_000, 12 * MILLION),
}
UPDATES = 1_500  # no fewer because of larger batches
WHY_BATCH = "tokens a side: as many as keep the machine busy, for 30 updates a pass or 1,500 in all"
MOST_MINUTES = 240  # the most that the recipe chooses
PARENTS = ("everyday-en-fr", "everyday-fr-en", "everyday-en-de")  # other shipped ones are toys
LATIN = 0.5  # the least share of Latin letters, spaces and the like in a text in that script
SPACED = 0.1  # the least share of spaces in a text whose words are separated by spaces
CHARACTERS_PER_TOKEN = {True: 4.0, False: 1.5}  # with spaces, and without


@dataclass(frozen=True)
class CorpusStats:
    """The size of a corpus."""

    pairs: int
    tokens: int  # a side, about
    alphabet: int  # different characters
    is_latin: bool = True  # on both sides


@dataclass(frozen=True)
class ChosenSetting:
    key: str
    value: Any
    why: str
    is_yours: bool = False  # set by hand


def measure_corpus(pairs: Iterable[tuple[str, str]], *, of_characters: bool = False) -> CorpusStats:
    """Return the size of a corpus, whose tokens may be characters; every pair is read once."""
    count, tokens, alphabet = 0, 0.0, set[str]()
    letters, spaces, latin = ([0, 0] for _ in range(3))
    for pair in pairs:
        count += 1
        for side, text in enumerate(pair):
            letters[side] += len(text)
            spaces[side] += text.count(" ")
            latin[side] += len(text.encode("latin-1", "ignore"))
            alphabet.update(text)
    for side in (0, 1):
        is_spaced = spaces[side] > SPACED * letters[side]
        length = 1.0 if of_characters else CHARACTERS_PER_TOKEN[is_spaced]
        tokens += letters[side] / length / 2
    is_latin = all(latin[side] >= LATIN * letters[side] for side in (0, 1))
    return CorpusStats(count, max(1, round(tokens)), len(alphabet), is_latin)


class ChosenSettings:
    """The table of chosen settings; a setting given by hand is kept, and marked as yours."""

    def __init__(self, fields: dict[str, Any]):
        self.given, self.rows = fields, list[ChosenSetting]()

    def add(self, key: str, value: Any, why: str) -> Any:
        table, _, name = key.rpartition(".")
        yours = self.given.get(table, {}) if table else self.given
        is_yours = name in yours
        if is_yours:
            value, why = yours[name], "yours"
        self.rows.append(ChosenSetting(key, value, why, is_yours))
        return value

    def settle(self) -> Config:
        raw: dict[str, Any] = {**self.given}
        for row in self.rows:
            table, _, name = row.key.rpartition(".")
            if table:
                raw[table] = {**raw.get(table, {}), name: row.value}
            else:
                raw[name] = row.value
        return Config.read(raw)


def choose_settings(
    config: Config, stats: CorpusStats, machine: Machine
) -> tuple[Config, list[ChosenSetting]]:
    """Return all settings, and the table of the chosen ones with their reasons."""
    fields = config.model_dump(exclude_unset=True, exclude_none=True, exclude={"recipe"})
    if config.size == "auto":
        del fields["size"]
    choices, pairs = ChosenSettings(fields), stats.pairs
    add = choices.add
    growth = pairs / REFERENCE
    most, why = _round(stats.alphabet + 2000), "room for every character"
    if config.text.tokenizer != "char":
        most = max(_round(_clamp(8000 * growth ** (1 / 3), 2000, 32_000)), most)
        why = f"the cube root of the pairs, 8,000 for 30,000; {why}"
    vocabulary = add("text.vocabulary", most, why)
    train = fields.get("train", {})
    size, passes, minutes = _choose_size(fields, vocabulary, stats, machine)
    add("size", size, _explain_size(size, fields))
    if "epochs" in train:
        passes = train["epochs"]
    elif "steps" in train:
        passes = train["steps"] * train.get("batch_tokens", 4096) / stats.tokens
    else:
        add("train.minutes", minutes, f"some {passes:.1f} passes over the pairs on this machine")
    model = fields.get("model", {})
    network = model.get("network", "transformer")
    d_model = {**find_shape(size, network), **model}["d_model"]
    _add_model(choices, passes, network)
    suited = suit_batch(stats.tokens, machine, 0 if "steps" in train else passes)
    batch = add("train.batch_tokens", suited, WHY_BATCH)
    updates = train.get("steps", round(passes * stats.tokens / batch))
    if network == "rnn":
        kind = add("train.optimizer", "adam", "muon is not measured on recurrent networks")
    else:
        kind = add("train.optimizer", "muon", "learns as much as adam from fewer updates")
    why = "one" if kind == "muon" else "a half"
    add("train.learning_rate", _round(usual_peak(kind, d_model), 0.0001), f"{why} over the width")
    warmup, ema = _follow(updates)
    add("train.warmup", warmup, f"a twentieth of some {updates:,} updates")
    add("train.schedule", "cosine", "ends at its low point when the time is over")
    why = "the paper's, and twice that under 10,000 pairs"
    add("train.label_smoothing", 0.2 if pairs < 10_000 else 0.1, why)
    add("train.ema", ema, "averages the weights of the last tenth")
    return choices.settle(), choices.rows


def choose_again(config: Config, updates: int, chosen: Collection[str]) -> Config:
    """Return the settings with those that depend on the number of updates, now it is measured.

    `chosen` are the names that `choose_settings` chose; settings given by hand are kept.
    """
    result = dict(zip(("warmup", "ema"), _follow(updates), strict=True))
    return config.changed(train={k: v for k, v in result.items() if f"train.{k}" in chosen})


def _follow(updates: int) -> tuple[int, float]:
    """Return the warm-up and the decay of the moving average for so many updates."""
    warmup = max(1, round(_clamp(updates / 20, min(50, updates / 4), 2000)))
    return warmup, round(_clamp(1 - 10 / max(1, updates), 0.99, 0.9998), 4)


def _add_model(choices: ChosenSettings, passes: float, network: str) -> None:
    if network == "transformer":
        choices.add("model.norm", "pre", "trains with a short warm-up")
    dropout = 0.3 if passes > 30 else 0.2 if passes > 15 else 0.1
    choices.add("model.dropout", dropout, "0.1 for few passes, 0.2 over 15, 0.3 over 30")


def _choose_size(
    fields: dict[str, Any], vocabulary: int, stats: CorpusStats, machine: Machine
) -> tuple[str, float, float]:
    """Return the largest size with enough pairs and time, its passes over the pairs and minutes."""
    passes = count_passes(stats.pairs)
    sizes = (fields["size"],) if "size" in fields else (*NEEDED, "tiny")
    for size in sizes:
        model = fields.get("model", {})
        shape = {**find_shape(size, model.get("network", "transformer")), **model}
        a_pass = 2 * stats.tokens / estimate_speed(shape, vocabulary, machine) / 60
        minutes = math.ceil(_clamp(passes * a_pass, 2, MOST_MINUTES))
        minutes = fields.get("train", {}).get("minutes", minutes)
        pairs, tokens = NEEDED.get(size, (0, 0))
        if stats.pairs >= pairs and minutes / a_pass * stats.tokens >= tokens:
            break
    return size, minutes / a_pass, minutes


def count_passes(pairs: int) -> float:
    """Return how many passes over so many pairs suffice."""
    return _clamp(40 * math.sqrt(REFERENCE / pairs), 3, 60)


def _explain_size(size: str, fields: dict[str, Any]) -> str:
    shape = find_shape(size, fields.get("model", {}).get("network", "transformer"))
    layers = f"{shape['encoder_layers']}+{shape['decoder_layers']} layers"
    why = "the largest with pairs and time enough" if size != "tiny" else "for so few pairs or time"
    return f"{layers}, width {shape['d_model']}: {why}"


def estimate_speed(shape: dict[str, Any], vocabulary: int, machine: Machine) -> float:
    """Return an estimate of the source and target tokens a second in training.

    It is right within a factor of about two.
    """
    d, f = shape["d_model"], shape.get("d_ff", shape["d_model"])  # a recurrent layer has 6 d²
    encoder = shape["encoder_layers"] * (4 * d * d + 2 * d * f)
    decoder = shape["decoder_layers"] * (8 * d * d + 2 * d * f) + d * vocabulary
    flops_a_token = 6 * (encoder + decoder) / 2  # forward 2 a weight, backward 4
    if machine.device == "cpu":
        layers = shape["encoder_layers"] + shape["decoder_layers"]
        kind = "AMX" if machine.has_amx else "bf16" if machine.has_bf16 else "fp32"
        seconds = CORE_SECONDS[kind] * d * layers + flops_a_token / CORE_FLOPS[kind]
        return machine.threads / seconds
    return min(GPU_TOKENS, GPU_FLOPS / flops_a_token)


def suit_batch(tokens: int, machine: Machine, passes: float = 0) -> int:
    """Return train.batch_tokens for a corpus with so many tokens a side, and for so many passes."""
    most = 4096 if machine.device == "cpu" else 16_384
    batch = max(2, tokens / 30, passes * tokens / UPDATES)
    return int(_clamp(2 ** round(math.log2(batch)), 512, most))


def render_choices(choices: list[ChosenSetting], stats: CorpusStats, machine: Machine) -> str:
    """Return the table as text."""
    cores = tell_count(machine.threads, "core")
    where = cores if machine.device == "cpu" else machine.device
    precision = "bf16" if machine.has_bf16 else "fp32"
    rows = [(each.key, _tell(each.value)) for each in choices]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [
        f"  {key:<{widths[0]}}  {value:>{widths[1]}}  {each.why}"
        for (key, value), each in zip(rows, choices, strict=True)
    ]
    head = (
        f"Chosen for {tell_count(stats.pairs, 'pair')}, "
        f"about {tell_count(stats.tokens, 'token')} a side, "
        f"on {where} in {precision} (change any with --set KEY=VALUE):"
    )
    return "\n".join([head, *lines])


def suggest_parent(config: Config, stats: CorpusStats) -> str:
    """Return a line that names a shipped model to start from, where that was found to help; or "".

    It did for German, Hausa, Azerbaijani and Wolof with 3,000 to 30,000 pairs, and not in another
    script (docs/experiments.md, "Little data"). A night, whose settings name its corpora, knows.
    """
    parent = find_parent((config.data.source_lang, config.data.target_lang))
    is_near = parent and stats.is_latin and stats.pairs <= REFERENCE and not config.data.corpus
    is_ours = config.size == "auto" and config.model.network == "transformer"
    if not is_near or not is_ours:
        return ""
    return (
        "For so few pairs, a start from a model that knows one of the languages may be better: "
        f"--from {parent} --new-tokenizer"
    )


def find_parent(langs: tuple[str | None, str | None]) -> str:
    """Return the name of a shipped model with one of the languages on the same side; "" if none.

    One with both comes first, then one of the target language, in which it has learned to write.
    """
    bases = [name_base(each) for each in langs]
    for sides in ((0, 1), (1,), (0,)):
        for name in PARENTS:
            known = name.split("-")[1:]
            if all(bases[side] == known[side] for side in sides):
                return name
    return ""


def _tell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _clamp(value: float, least: float, most: float) -> float:
    return min(max(value, least), most)


def _round(value: float, step: float = 1000) -> Any:
    rounded = round(value / step) * step
    return round(rounded, 6) if step < 1 else int(rounded)
