"""Several trainings that differ by their seed alone, and the mean and spread of their scores.

OUT/
    seeds.json      what was asked for, and the scores of the seeds that are done
    seed-1/ . seed-2/ ...   a model directory of each
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from pydantic import BaseModel, Field

from ..config import Config
from ..data.corpus import find_data
from ..data.files import STANDARD
from ..data.sources import read_corpora
from ..evaluate.quality import score_quality
from ..foundation.disk import write_json
from ..foundation.typed_json import read_typed
from ..model.files.directory import RECORD, RUN, locate, split_pair
from ..translator import Translator
from .run.distributed import check_shared, join_group, sign, was_begun_by
from .start import Summary, resume, train

SEEDS = "seeds.json"
METRICS = ("BLEU", "chrF2")


class SeedPlan(BaseModel):
    """The content of seeds.json."""

    settings: dict[str, Any]
    seeds: list[int] = Field(min_length=1)
    data: list[str]  # empty if the settings name the corpora
    valid: list[str] | None = None
    test: list[str] | None = None
    how: dict[str, Any] = {}  # what else `train` was given, as paths and switches
    results: dict[int, dict[str, float]] = {}


@dataclass(frozen=True)
class SeedsSummary:
    """The outcome of several seeds: a row of scores for each that is done."""

    out: Path
    seeds: list[int]
    results: Mapping[int, Mapping[str, float]]
    is_finished: bool
    is_first: bool = True

    @property
    def text(self) -> str:
        """Return a table: each seed, their mean, and their sample standard deviation."""
        if not self.is_finished:
            return (
                f"Stopped with {len(self.results)} of {len(self.seeds)} seeds done. "
                f"To go on: glassformer train --resume {self.out}"
            )
        names = list(self.means)
        scores = [*self.results.items(), ("mean", self.means), ("spread", self.spreads)]
        rows = [("seed", *names)]
        rows += [(str(label), *(f"{row[name]:.2f}" for name in names)) for label, row in scores]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            for row in rows
        ]
        return "\n".join([*lines, f"The models are in {self.out}"])

    @property
    def means(self) -> dict[str, float]:
        return {name: mean(values) for name, values in self._columns().items()}

    @property
    def spreads(self) -> dict[str, float]:
        """Return the sample standard deviation of each score; 0 of a single seed."""
        columns = self._columns().items()
        return {name: stdev(values) if len(values) > 1 else 0.0 for name, values in columns}

    def to_json(self) -> dict[str, Any]:
        facts = {"out": str(self.out), "finished": self.is_finished, "seeds": self.seeds}
        done = {"mean": self.means, "spread": self.spreads} if self.is_finished else {}
        return {**facts, "results": {str(k): v for k, v in self.results.items()}, **done}

    def _columns(self) -> dict[str, list[float]]:
        rows = [self.results[seed] for seed in self.seeds]
        return {name: [row[name] for row in rows] for name in rows[0]}


def train_seeds(
    config: Config,
    data: Sequence[str | Path],
    out: Path | str,
    count: int,
    *,
    valid: Sequence[str | Path] | None = None,
    test: Sequence[str | Path] | None = None,
    how: Mapping[str, Any] | None = None,
    **now: Any,
) -> SeedsSummary:
    """Train `count` models, by the seeds from train.seed on, and score them on `test`.

    Without `valid`, all hold out the same pairs: those of data.hold_out_seed, or of the first seed.
    `how` are other arguments of `train` that are paths or switches, and are stored; `now` are
    those that are not: device, quiet, began, hooks. A folder that holds such trainings is an error:
    see `resume_seeds`. ValueError, in one sentence, for bad input.
    """
    out = Path(out)
    with join_group("cpu") as group, group.first_of_all():
        if group.is_first and not was_begun_by(group, out):
            plan = _make_plan(config, data, out, count)
            plan.valid, plan.test = _absolute(valid), _absolute(test)
            plan.how = {name: _resolve(value) for name, value in (how or {}).items() if value}
            out.mkdir(parents=True, exist_ok=True)
            write_json(out / SEEDS, plan.model_dump(mode="json"))
            sign(group, out)
    return resume_seeds(out, **now)


def _make_plan(config: Config, data: Sequence[str | Path], out: Path, count: int) -> SeedPlan:
    """Return the plan of `count` seeds. ValueError if one has begun, or for data read only once."""
    if (has_seeds(out) and any(out.glob("seed-*"))) or (out / RUN / RECORD).exists():
        raise ValueError(f"{out} holds a training already: train --resume {out}, or another --out")
    if count < 1:
        raise ValueError(f"--seeds {count}: at least 1")
    if any(str(STANDARD) in paths for paths in read_corpora(config, data)[1]):
        raise ValueError("--seeds reads the data several times: the standard input is read once")
    first = config.train.seed
    if config.data.hold_out_seed is None:
        config = config.changed(data={"hold_out_seed": first})
    settings, seeds = config.to_json(), [*range(first, first + count)]
    for each in settings["data"].get("corpus", ()):
        each["paths"] = _absolute(each.get("paths"))
    return SeedPlan(settings=settings, seeds=seeds, data=_absolute(data))


def has_seeds(out: Path | str) -> bool:
    """Return whether a folder holds the trainings of several seeds."""
    return (Path(out) / SEEDS).is_file()


def resume_seeds(out: Path | str, **now: Any) -> SeedsSummary:
    """Train or resume each seed that is not done, one after the other; return their scores."""
    out = Path(out)
    with join_group("cpu") as group, group.first_of_all():
        check_shared(group, out)
        plan = read_typed(out / SEEDS, SeedPlan)
        config = Config.read(plan.settings, name=str(out / SEEDS))
        test = _read_test(plan, config) if plan.test and group.is_first else None
    for seed in [each for each in plan.seeds if each not in plan.results]:
        summary = _train_one(plan, config, out / f"seed-{seed}", seed, now)
        now.pop("began", None)
        if not summary.is_finished:
            return SeedsSummary(out, plan.seeds, plan.results, False, group.is_first)
        scores = {f"valid {name}": value for name, value in summary.progress.scores.items()}
        if test:
            scores |= _score(summary.out, test, str(now.get("device", "auto")))
        plan.results[seed] = scores
        if group.is_first:
            write_json(out / SEEDS, plan.model_dump(mode="json"))
    return SeedsSummary(out, plan.seeds, plan.results, True, group.is_first)


def _train_one(
    plan: SeedPlan, config: Config, out: Path, seed: int, now: Mapping[str, Any]
) -> Summary:
    """Train one seed, or resume it if it has begun."""
    if (out / RUN / RECORD).is_file():
        return resume(out, **now)
    own = config.changed(train={"seed": seed})
    options = {name: value for name, value in now.items() if not name.startswith("accept_")}
    return train(own, plan.data, out, valid=plan.valid, **plan.how, **options)


def _score(model: Path, test: tuple[list[str], list[str]], device: str) -> dict[str, float]:
    """Return the scores of a model on the test text, with its own search, in fp32."""
    translator = Translator.load(model, device=device, precision="fp32")
    result, target_lang = translator.translate(test[0]), translator.config.data.target_lang
    quality = score_quality(result, [test[1]], target_lang=target_lang, metrics=METRICS)
    return {f"test {name}": quality[name].value for name in METRICS}


def _read_test(plan: SeedPlan, config: Config) -> tuple[list[str], list[str]]:
    """Return sources and references. ValueError if there are none."""
    data = config.data
    if len(data.pairs) > 1:
        raise ValueError("--test is for one pair of languages: use evaluate --to for each")
    pairs = [*find_data(plan.test or (), data.source_lang, data.target_lang).train]
    if not pairs:
        raise ValueError(f"{plan.test}: there is nothing to test on")
    return [source for source, _ in pairs], [target for _, target in pairs]


def _absolute(paths: Iterable[str | Path] | None) -> list[str]:
    """Return paths, which may have options behind them, as they are from any folder."""
    return [str(Path.cwd() / each) for each in paths or ()]


def _resolve(value: Any) -> Any:
    """Return paths as they are from any folder; names of installed models stay names."""
    if isinstance(value, str | Path):
        is_path = locate(value) == Path(split_pair(value)[0])
        return str(Path.cwd() / value if is_path else value)
    return [_resolve(each) for each in value] if isinstance(value, list | tuple) else value
