"""The examination of every pair of a corpus; only a sample of the text is kept in memory."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress

import numpy as np

from glassformer.data.files import cut_chunks
from glassformer.text.function_words import NAMES, name_language
from glassformer.text.spacing import is_unspaced, name_base

from .characters import NAMES as SCRIPTS
from .characters import (
    count_scripts,
    find_broken,
    find_foreign,
    find_home,
    find_lookalikes,
    list_cyrillic,
)
from .foreign_words import is_surely_foreign
from .home_scripts import are_exchanged
from .languages import Contrast, SideLanguage, leave_own
from .lengths import find_long, find_outliers
from .mismatches import judge_partners
from .near_twins import TwinIndex
from .order import Misalignment
from .partners import (
    PartnerComparison,
    SideWords,
    are_unrelated,
    compare_partners,
    explain_inequality,
    fit_at_offsets,
    tell_misalignment,
)
from .ragged import Array, Block
from .repeats import Repeats, hash_lines, join_words, measure_shared
from .report import CHECKS, Example, Finding, Report
from .words import Sample, Texts, gather_words, split_words

BLOCK = 5_000  # pairs at a time
COPIED = 12  # the least characters of a copy: names and interjections are often the same
BY_RIGHT = 0.05  # the most probability that a line is the same in both languages
EXAMPLES = 3
SIDES = ("source", "target")

# The control characters and those that a terminal cannot show.
UNSHOWN = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff\ufeff]")

Pairs = tuple[list[str], list[str]]


def examine(
    source: Texts,
    target: Texts,
    *,
    source_lang: str | None = None,
    target_lang: str | None = None,
    held_out: Mapping[str, tuple[Texts, Texts]] | None = None,
    thorough: bool = True,
    names: tuple[str, str] = ("the source", "the target"),
    progress: Callable[[int], None] | None = None,
) -> Report:
    """Return a report of the errors in a parallel corpus.

    `held_out` are other corpora by name, of which no line should be in this one. Unless
    `thorough`, lines are not compared with their partners by their words, which takes most of
    the time. ValueError if a side is empty, or one has more lines: it says where a line was lost.
    """
    sample = Sample(source, target)
    if sample.counts[0] != sample.counts[1] or not sample.counts[0]:
        raise explain_inequality(source, target, names)
    examiner = _Examiner(sample, held_out or {}, thorough, (source_lang, target_lang))
    for pairs in _pair_up(source, target):
        examiner.look_at(pairs)
        if progress:
            progress(len(pairs[0]))
    examiner.conclude(names)
    examiner.check_codes()
    return examiner.report(source, target)


def _pair_up(source: Texts, target: Texts) -> Iterator[Pairs]:
    for block in cut_chunks(zip(source, target, strict=True), BLOCK):
        yield [pair[0] for pair in block], [pair[1] for pair in block]


def _spell_out(character: re.Match[str]) -> str:
    return f"\\u{ord(character[0]):04x}"


class _Examiner:
    """The state of an examination: the statistics of the corpus, and the findings so far."""

    def __init__(
        self,
        sample: Sample,
        held_out: Mapping[str, tuple[Texts, Texts]],
        thorough: bool,
        named: tuple[str | None, str | None],
    ) -> None:
        scripts = [count_scripts(block) for block in sample.blocks]
        self.total, self.scripts = sample.counts[0], scripts
        self.home = [find_home(each) for each in scripts]
        self.letters = [list_cyrillic(texts) for texts in sample.texts]
        self.shared = measure_shared(*sample.texts)
        self.named = named
        self.side_languages = [
            SideLanguage(*side)
            for side in zip(sample.texts, sample.words, scripts, named, strict=True)
        ]
        self.contrast = Contrast(*sample.texts)
        self.gathered = [SideWords(words) for words in sample.words] if thorough else []
        self.unrelated = are_unrelated(sample)
        self.held_out = {
            name: [hash_lines(texts) for texts in sides] for name, sides in held_out.items()
        }
        self.twin_indices = {
            name: [TwinIndex(gather_words(texts)) for texts in sides]
            for name, sides in held_out.items()
            if thorough
        }
        self.twins: dict[str, set[tuple[int, int]]] = {name: set() for name in self.twin_indices}
        self.repeats = Repeats()
        self.lengths: list[tuple[Array, ...]] = []
        self.seen = 0
        self.found: dict[str, list[int]] = {kind: [] for kind in CHECKS}
        self.notes: dict[tuple[str, int], str] = {}  # of a kind and a pair
        self.about: dict[str, str] = {}  # a kind of finding as a whole
        self.misalignments: list[Misalignment] = []
        self.sensitivity: float | None = None  # of the check for mismatches, if it was made
        self.ranking: Array | None = None

    def look_at(self, pairs: Pairs) -> None:
        """Examine one block of pairs, and note the findings."""
        blocks = [Block(texts) for texts in pairs]
        words = [split_words(block) for block in blocks]
        plain = [join_words(lines) for lines in words]
        self._look_at_characters(pairs, blocks)
        self._look_at_languages(pairs, blocks, words)
        self._look_for_leaks(plain)
        self._look_for_twins(words)
        self.repeats.add(pairs, plain)
        self.lengths.append(tuple(block.lengths.astype(np.int32) for block in blocks))
        for gathered, texts, lines in zip(self.gathered, pairs, words, strict=False):
            gathered.add(texts, lines)
        self._note(
            "empty",
            [
                n
                for n, pair in enumerate(zip(*pairs, strict=True))
                if not (pair[0].strip() and pair[1].strip())
            ],
        )
        self.seen += blocks[0].size

    def _note(self, kind: str, numbers: Sequence[int], note: str = "") -> None:
        """Note a finding in the pairs of this block that have these numbers."""
        places = [self.seen + int(number) for number in numbers]
        self.found[kind] += places
        if note and len(self.found[kind]) < 2 * BLOCK:  # only the first are shown
            self.notes.update(((kind, place), note) for place in places)

    def _look_at_characters(self, pairs: Pairs, blocks: Sequence[Block]) -> None:
        for side, (texts, block) in enumerate(zip(pairs, blocks, strict=True)):
            scripts = count_scripts(block)
            self._note("encoding", find_broken(block, texts), SIDES[side])
            alike = find_lookalikes(scripts, texts, self.home[side], self.letters[side])
            self._note("look-alike", alike, SIDES[side])
            for number in find_foreign(scripts, self.home[side]).tolist():
                if is_surely_foreign(texts[number], pairs[1 - side][number], self.home[side]):
                    script = SCRIPTS[int(scripts[number, 1:].argmax()) + 1]
                    self._note("script", [number], f"{SIDES[side]}: {script}")

    def _look_at_languages(
        self, pairs: Pairs, blocks: Sequence[Block], words: Sequence[list[list[str]]]
    ) -> None:
        copies = {
            number
            for number, (ours, theirs) in enumerate(zip(*words, strict=True))
            if ours == theirs and self._is_copy(pairs[0][number])
        }
        self._note("copy", sorted(copies))
        like = [self.contrast.judge(block) for block in blocks]
        # If both sides seem to be in the wrong language, one may be less clear.
        swapped = (like[0] < -0.5) & (like[1] > 0.5) & (like[1] - like[0] > 2)
        self._note("swapped", np.flatnonzero(swapped).tolist())
        for side, wrong in enumerate((like[0] < -1, like[1] > 1)):
            other = SIDES[1 - side]
            like_other = self._confirm(np.flatnonzero(wrong & ~swapped).tolist(), side, words)
            alone = set(like_other) - copies
            self._note("language", sorted(alone), f"{SIDES[side]} is like the {other}")
            named = self.side_languages[side].find_others(
                blocks[side], words[side], words[1 - side]
            )
            for number, code in named.items():
                if number not in alone | copies and not swapped[number]:
                    self._note("language", [number], f"{SIDES[side]}: {NAMES[code]}")

    def _is_copy(self, text: str) -> bool:
        """Return whether a line is so long that its translation cannot be the same by right.

        In close languages, as many words are the same, short sentences often are.
        """
        is_long = len(text) >= COPIED and any(map(str.isalpha, text))
        return is_long and self.shared ** len(text.split()) < BY_RIGHT

    def _confirm(
        self, numbers: Sequence[int], side: int, words: Sequence[list[list[str]]]
    ) -> list[int]:
        """Return the lines that are like the other side even without the words that both share.

        Names, titles and loan words are the same on both sides of many a right pair.
        """
        own = [leave_own(words[side][each], words[1 - side][each]) for each in numbers]
        if not own:
            return []
        like = self.contrast.judge(Block([" ".join(line) for line in own]))
        return [*compress(numbers, like < -1 if side == 0 else like > 1)]

    def _look_for_leaks(self, plain: Sequence[list[str]]) -> None:
        for name, sides in self.held_out.items():
            for number, (ours, theirs) in enumerate(zip(*plain, strict=True)):
                if hash(ours) in sides[0] or hash(theirs) in sides[1]:
                    self._note("leak", [number], name)

    def _look_for_twins(self, words: Sequence[list[list[str]]]) -> None:
        """Note pairs of which a side is much like a line of a text to test on, with the score."""
        leaks = set(self.found["leak"])
        for name, indices in self.twin_indices.items():
            for side, (index, lines) in enumerate(zip(indices, words, strict=True)):
                for number, line in enumerate(lines):
                    twin = None if self.seen + number in leaks else index.find(line)
                    if twin:
                        self.twins[name].add((side, twin.line))
                        message = f"{SIDES[side]} {twin.similarity:.2f} like line {twin.line + 1:,}"
                        self._note("near-leak", [number], f"{message} of {name}")

    def _tell_twins(self) -> str:
        """Return, in words, how many lines of the texts to test on have a near twin."""
        counts = (
            f"{sum(each == side for each, _ in twins):,} {SIDES[side]} lines of {name}"
            for name, twins in self.twins.items()
            for side in (0, 1)
        )
        return f"{', '.join(counts)} have a near twin here"

    def conclude(self, names: tuple[str, str]) -> None:
        """Note the findings that need all pairs: repeats, misalignments, lengths, mismatches."""
        if self.found["near-leak"]:
            self.about["near-leak"] = self._tell_twins()
        exact, near = self.repeats.find()
        self.found["duplicate"], self.found["near-duplicate"] = exact.tolist(), near.tolist()
        lengths = [np.concatenate(side) for side in zip(*self.lengths, strict=True)]
        compared = compare_partners(*self.gathered) if self.gathered else None
        misalignments = compared.misalignments if compared else []
        if self.unrelated and not fit_at_offsets(lengths[0], lengths[1], misalignments):
            self.found["unrelated"] = list(range(self.total))
        else:
            self.misalignments = misalignments
            self._note_misalignments(misalignments, names)
        explained = np.zeros(self.total, bool)
        for kind, check in CHECKS.items():
            explained[self.found[kind]] |= check.explains
        for side, language in zip(lengths, self.side_languages, strict=True):
            self.found["long"] += find_long(side, is_unspaced(language.code)).tolist()
        outliers = find_outliers(lengths[0], lengths[1])
        self.found["length"] = outliers[~explained[outliers]].tolist()
        if compared and not self.found["unrelated"]:
            self._note_mismatches(compared, np.flatnonzero(~explained))

    def _note_mismatches(self, compared: PartnerComparison, lines: Array) -> None:
        """Note the mismatches among lines that nothing else explains, and rank these lines."""
        judgement = judge_partners(compared.lexicon, compared.measures.take(lines), lines)
        self.sensitivity = judgement.sensitivity if judgement else 0.0
        if judgement:
            self.found["mismatch"] = lines[judgement.is_mismatch].tolist()
            self.ranking = np.full(self.total, -np.inf)
            self.ranking[lines] = judgement.log_odds

    def _note_misalignments(
        self, misalignments: list[Misalignment], names: tuple[str, str]
    ) -> None:
        ends = [*(misalignment.line for misalignment in misalignments[1:]), self.total]
        for misalignment, end in zip(misalignments, ends, strict=False):
            lost = misalignment.line + max(
                0, -misalignment.lost
            )  # lines of the source without partner
            self.found["misaligned"] += range(
                misalignment.line, end if misalignment.offset else lost
            )
        shown = [
            tell_misalignment(misalignment, names) for misalignment in misalignments[:EXAMPLES]
        ]
        self.about["misaligned"] = "; ".join(shown) + "; ..." * (len(misalignments) > EXAMPLES)

    def check_codes(self) -> None:
        """Note a finding if a side is not in the language that it is said to be in."""
        seen = [language.code for language in self.side_languages]
        wrong = [
            f"the {side} looks {NAMES[code]}, not {NAMES[other]}"
            for side, code, other in zip(SIDES, seen, map(name_base, self.named), strict=True)
            if code and other in NAMES and code != other
        ]
        if len(wrong) < len(SIDES) and are_exchanged(self.scripts, self.named):
            wrong = [*map(self._tell_exchanged, (0, 1))]
        if wrong:
            self.found["sides"] = list(range(self.total))
            self.about["sides"] = "; ".join(wrong)

    def _tell_exchanged(self, side: int) -> str:
        """Return, in words, that a side has the letters of the other side's language."""
        script = SCRIPTS[int(self.scripts[side][:, 1:].sum(0).argmax()) + 1]
        own, other = (name_language(self.named[each]) for each in (side, 1 - side))
        message = f"the {SIDES[side]} looks {other or 'foreign'} by its letters ({script})"
        return f"{message}, not {own}" if own else message

    def report(self, source: Texts, target: Texts) -> Report:
        places = {
            kind: np.unique(np.array(result, np.int64)) for kind, result in self.found.items()
        }
        shown = {int(place) for each in places.values() for place in each[:EXAMPLES]}
        texts = {
            number: (UNSHOWN.sub(_spell_out, pair[0]), UNSHOWN.sub(_spell_out, pair[1]))
            for number, pair in enumerate(zip(source, target, strict=True))
            if number in shown
        }
        findings = [
            Finding(
                kind,
                result,
                len(result) / self.total,
                [
                    Example(place + 1, *texts[place], self.notes.get((kind, place), ""))
                    for place in result[:EXAMPLES].tolist()
                ],
                self.about.get(kind, ""),
            )
            for kind, result in places.items()
            if len(result)
        ]
        first, second = (language.code for language in self.side_languages)
        return Report(
            self.total,
            findings,
            (first, second),
            thorough=bool(self.gathered),
            misalignments=tuple(self.misalignments),
            sensitivity=self.sensitivity,
            log_odds=self.ranking,
            home=(self.home[0], self.home[1]),
            letters=(self.letters[0], self.letters[1]),
        )
