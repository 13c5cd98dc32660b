"""The systems that `evaluate` scores: models that translate here, or translations in files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..data.files import cut_chunks
from ..foundation.plurals import tell_count
from . import decoding
from .decoding import spell_search
from .terminal import CHUNK, open_output, show_progress
from .translate import translate_chunks

if TYPE_CHECKING:
    from ..config import Config, Decode
    from ..evaluate.sentences import SentenceResult
    from ..translate.options import SearchOptions
    from ..translate.sentence import CheckedTranslation
    from ..translator import Translator


@dataclass(frozen=True)
class Work:
    """A record of how translations were made: model, search, device, seconds, problems."""

    model: str
    decode: Decode
    device: str
    precision: str
    seconds: float
    suspect_lines: int  # lines whose translations look wrong
    problems: dict[str, int]  # lines with each kind of problem, as `quality_check` names them
    terms: tuple[int, int] | None = None  # of the glossary in the text, and those that were met

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "decode": self.decode.model_dump(mode="json")}

    def __str__(self) -> str:
        facts = (
            f"model        {self.model}, {self.device}, {self.seconds:.1f} s\n"
            f"precision    {self.precision}\n"
            f"search       {spell_search(self.decode)}"
        )
        if self.terms:
            facts += f"\nglossary     {self.terms[1]:,} of {self.terms[0]:,} terms as it asks"
        if not self.suspect_lines:
            return facts
        kinds = ", ".join(f"{times:,} {kind}" for kind, times in self.problems.items())
        return f"{facts}\nlook wrong   {tell_count(self.suspect_lines, 'line')}: {kinds}"


@dataclass(frozen=True)
class System:
    """The translations of one system, with how they were made if a model made them here."""

    name: str
    lines: list[str]
    work: Work | None = None
    judged: Sequence[CheckedTranslation] = ()
    translator: Translator | None = None


def translate_all(
    model: Path,
    translator: Translator,
    texts: list[str],
    to: Path | None,
    options: SearchOptions,
) -> System:
    """Return the translations that `translate` writes, and how they were made.

    If `to` is given, write them to that file too.
    """
    from ..data.glossary import count_terms

    begun = monotonic()
    chunks = cut_chunks(((text, "") for text in texts), CHUNK)
    judged: list[CheckedTranslation] = []
    with open_output(to) if to else nullcontext() as out:
        with show_progress("translating", len(texts)) as progress:
            options = options._replace(progress=progress)
            for _, _, each in translate_chunks(translator, chunks, options):
                judged.append(each)
        results = [each.best[0].text for each in judged]
        if out:
            out.writelines(f"{line}\n" for line in results)
    seconds = round(monotonic() - begun, 2)
    kinds = Counter(kind for each in judged for kind in {p.kind for p in each.problems})
    suspects = sum(bool(each.problems) for each in judged)
    where = str(translator.device), translator.precision
    facts = suspects, dict(kinds.most_common())
    spell, terms = translator.tokenizers.target.normalization.clean, None
    if options.glossary:
        terms = count_terms(options.glossary.rewrite(spell), texts, results)
    work = Work(str(model), options.decode, *where, seconds, *facts, terms)
    return System(str(model), results, work, judged, translator)


def choose_decode(config: Config, changes: Sequence[str], options: Mapping[str, Any]) -> Decode:
    """Return the model's own settings, overridden by --set and by the options of the search.

    Raise ValueError if a change is not one of decode.*.
    """
    for change in changes:
        if not change.startswith("decode."):
            raise ValueError(f"--set {change}: of a trained model only decode.* can be changed")
    from ..config import Config

    own = config.decode.override(Config.read({"decode": {}}, changes).decode)
    return decoding.choose_search(config.model_copy(update={"decode": own}), options)


def list_models(path: Path) -> list[Path]:
    """Return a model directory; or, if it is none but has some directly inside, all of those."""
    from ..model.files.directory import CONFIG, locate

    folder = locate(path)
    if not folder.is_dir() or (folder / CONFIG).is_file():
        return [path]
    models = [each.parent for each in folder.glob(f"*/{CONFIG}")]
    return sorted(models, key=lambda each: (len(each.name), each.name)) or [path]  # seed-2, seed-10


def judge_sentences(
    systems: Sequence[System],
    sources: Sequence[str] | None,
    references: Sequence[Sequence[str | None]],
    numbers: Sequence[int],
    **scoring: Any,
) -> list[SentenceResult]:
    """Return each sentence with its scores and flags; numbers: of the lines in their files."""
    from ..evaluate.sentences import SentenceResult, SystemSentence, score_each

    texts = []
    for system in systems:
        scores = score_each(system.lines, references, **scoring)
        flags = find_flags(system, sources)
        sure: list[float | None] = [each.confidence for each in system.judged]
        sure = sure or [None] * len(scores)
        cells = zip(system.lines, scores, sure, flags, strict=True)
        texts.append([SystemSentence(system.name, *each) for each in cells])
    return [
        SentenceResult(
            line,
            sources[at] if sources is not None else None,
            tuple(lines[at] or "" for lines in references if lines[at] is not None),
            tuple(result),
        )
        for at, (line, *result) in enumerate(zip(numbers, *texts, strict=True))
    ]


def find_flags(system: System, sources: Sequence[str] | None) -> list[dict[str, str]]:
    """Return what looks wrong with each translation: kinds of problems, and what is said of them.

    A model knows more of itself: how sure it was, and which words it never met in training.
    """
    from ..translate.quality_check import find_problems
    from ..translate.sentence import Translation

    if sources is None:
        return [{} for _ in system.lines]
    if not system.judged:
        flags = (Translation(line, [], 0, 0, [], True, []) for line in system.lines)
        pairs = zip(sources, flags, strict=True)
        return [{each.kind: each.said for each in find_problems(*pair)} for pair in pairs]
    return [{each.kind: each.said for each in judged.problems} for judged in system.judged]
