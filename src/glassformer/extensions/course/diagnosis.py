"""A diagnosis of a learner's result: the mistake by name, or where the numbers differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from glassformer.foundation.messages import Messages

from .cases import Case
from .exercises import Exercise, Mistake
from .results import (
    ChangedResult,
    Failure,
    is_near,
    is_same,
    is_truth,
    max_size,
    tell_argument,
    tell_kind,
    to_array,
)
from .running import run_cases
from .steps import list_solutions

MESSAGES = Messages(Path(__file__).with_name("messages.json"))
PAIRED = (*range(1, 12), 15, 16, 19)  # exercises in which two mistakes at once are looked for
LARGEST_ROWS = 8
MOST_DECIMALS = 8  # to which somebody may have rounded
ON_ONE_SIDE = 0.98  # of the numbers, at least, are rounded as the right ones
FEW = 8  # whole numbers, such as the ids of a short search, that two mistakes may have in common


def diagnose(
    exercise: Exercise, cases: Sequence[Case], results: Sequence[Any], path: Path, lang: str
) -> Iterator[str]:
    """Yield sentences about the first case that went wrong, the most telling one first."""
    changed = tell_change(cases, results, lang)
    results = [each.result if isinstance(each, ChangedResult) else each for each in results]
    wrong = (n for n, each in enumerate(cases) if not is_same(results[n], each.expected))
    which = next(wrong, None)
    if which is None:
        yield changed
        return
    case, result = cases[which], results[which]
    named = name_rounding(cases, results, which, lang) or name_mistake(
        exercise, cases, results, which, lang
    )
    yield from filter(None, (named, changed))
    if isinstance(result, Failure):
        yield from tell_failure(result, case, path, lang, named=bool(named))
        return
    yield from tell_difference(result, case, lang, named=bool(named))
    if case.name and case.name != "translation":
        yield say("recorded", lang, name=case.name)


def say(key: str, lang: str, **fill: object) -> str:
    """Return a text of the course."""
    return MESSAGES.say(key, lang, **fill)


def tell_change(cases: Sequence[Case], results: Sequence[Any], lang: str) -> str:
    """Return a sentence about the first argument that a function changed; "" if none did."""
    for case, result in zip(cases, results, strict=True):
        if isinstance(result, ChangedResult):
            place, kind = result.change
            way = say(f"change_{kind}", lang)
            text = say("changed", lang, function=case.function, place=place, way=way)
            return say("mistake", lang, text=text)
    return ""


class Trial(NamedTuple):
    """The cases of one function, that which went wrong first, and the learner's results in them."""

    exercise: Exercise
    cases: Sequence[Case]
    results: Sequence[Any]

    def count(self, *mistakes: Mistake) -> int:
        """Return how many cases these mistakes explain; 0 if not the first one."""
        first = try_mistakes(self.exercise, self.cases[:1], *mistakes)
        if not first or not is_same(first[0], self.results[0]):
            return 0
        others = try_mistakes(self.exercise, self.cases[1:], *mistakes)
        return 1 + sum(map(is_same, others, self.results[1:]))

    def find_best(
        self, sets: Iterable[tuple[Mistake, ...]]
    ) -> tuple[int, list[tuple[Mistake, ...]]]:
        """Return how many cases the best sets of mistakes explain, and those sets."""
        counts = [(number, each) for each in sets if (number := self.count(*each))]
        most = max((number for number, _ in counts), default=0)
        return most, [each for number, each in counts if number == most]

    def list_pairs(self) -> Iterator[tuple[Mistake, ...]]:
        """Yield two mistakes at a time, of those that change a result of this function."""
        expected = [each.expected for each in self.cases]
        matter = [
            each
            for each in self.exercise.mistakes
            if not all(map(is_same, try_mistakes(self.exercise, self.cases, each), expected))
        ]
        yield from (pair for pair in combinations(matter, 2) if pair[0].text != pair[1].text)


def name_mistake(
    exercise: Exercise, cases: Sequence[Case], results: Sequence[Any], which: int, lang: str
) -> str:
    """Return a sentence that names the mistakes which give the same results; "" if none do.

    What gives the results of more cases of the function comes first, and one mistake before two.
    """
    result, function = results[which], cases[which].function
    if isinstance(result, Failure) and not result.may_be_mistake:
        return ""
    order = [
        which,
        *(n for n, each in enumerate(cases) if n != which and each.function == function),
    ]
    trial = Trial(exercise, [cases[n] for n in order], [results[n] for n in order])
    most, best = trial.find_best((each,) for each in exercise.mistakes)
    texts = [*dict.fromkeys(each.text[lang] for (each,) in best)]
    if most == len(order) and len(texts) == 1:
        return say("mistake", lang, text=texts[0])
    if most < len(order) and not _is_telling(result):
        return ""
    if most < len(order) and exercise.number in PAIRED:
        more, pairs = trial.find_best(trial.list_pairs())
        if more == len(order):
            first, second = (each.text[lang] for each in pairs[0])
            return say("two", lang, first=first, second=second)
    if len(texts) > 1:
        return say("either", lang, text=texts[0], other=texts[1])
    return say("partly", lang, text=texts[0]) if texts else ""


def name_rounding(cases: Sequence[Case], results: Sequence[Any], which: int, lang: str) -> str:
    """Return a sentence that says to how many decimals all results are rounded; "" if to none."""
    of_function = [n for n, each in enumerate(cases) if each.function == cases[which].function]
    arrays = [to_array(results[n]) for n in of_function]
    right = [to_array(cases[n].expected) for n in of_function]
    if any(
        a is None or b is None or a.shape != b.shape for a, b in zip(arrays, right, strict=True)
    ):
        return ""
    numbers, exact = (np.concatenate([np.ravel(each) for each in all_]) for all_ in (arrays, right))
    for decimals in range(MOST_DECIMALS):
        if numbers.any() and _is_rounded(numbers, exact, decimals):
            return say("mistake", lang, text=say("rounded", lang, count=decimals))
    return ""


def _is_rounded(numbers: Any, exact: Any, decimals: int) -> bool:
    """Return whether numbers are rounded; of two ways to compute one, a few lie on other sides."""
    near = min(0.02 * 10.0**-decimals, 1e-6 * max_size(exact))
    with np.errstate(invalid="ignore"):
        rounded = np.round(exact, decimals)
        is_short = np.isclose(numbers, np.round(numbers, decimals), rtol=0, atol=near)
        is_right = np.isclose(numbers, rounded, rtol=0, atol=near)
        is_exact = np.isclose(exact, rounded, rtol=0, atol=near)
    return bool(is_short.all() and is_right.mean() >= ON_ONE_SIDE and not is_exact.all())


def try_mistakes(exercise: Exercise, cases: Sequence[Case], *mistakes: Mistake) -> list[Any]:
    """Return what the solution gives with these mistakes; nothing where they exclude each other."""
    for order in permutations(mistakes):
        text: str | None = exercise.solution
        for each in order:
            text = each.apply(text) if text is not None else None
        if text is not None:
            break
    else:
        return []
    return run_cases(list_solutions(exercise, text), exercise.module, cases)


def _is_telling(result: Any) -> bool:
    """Return whether a result says something: a text, or numbers that do not agree by chance."""
    numbers = to_array(result)
    if numbers is None:
        return isinstance(result, str)
    finite = numbers[np.isfinite(numbers)]
    return finite.size > FEW or bool((finite % 1).any())


def tell_failure(
    failure: Failure, case: Case, path: Path, lang: str, *, named: bool
) -> Iterator[str]:
    """Yield what a failure means, and in which line of the learner's files it came."""
    about = failure._asdict() | {"function": case.function, "file": failure.file or path.name}
    if not named and is_power_sign(failure):
        yield say("xor", lang)
    yield say(failure.cause, lang, **about, arguments=tell_arguments(case))
    if failure.code:
        yield say("line", lang, **about)


def is_power_sign(failure: Failure) -> bool:
    """Return whether somebody wrote ^ for a power of numbers that are not whole."""
    is_operator = "bitwise_xor" in failure.text or "for ^" in failure.text
    return failure.kind == "TypeError" and is_operator


def tell_arguments(case: Case) -> str:
    """Return the arguments of a case as a learner can read them: small ones whole."""
    return "(" + ", ".join(map(tell_argument, case.arguments)) + ")"


def tell_difference(result: Any, case: Case, lang: str, *, named: bool) -> Iterator[str]:
    """Yield where a result differs from the right one, and, if nobody named it yet, how."""
    about = {"function": case.function, "arguments": tell_arguments(case)}
    numbers, right = to_array(result), to_array(case.expected)
    if result is None:
        yield say("none", lang, **about)
    elif numbers is None or right is None or (numbers.size == 0 and right.size):
        shown = {"found": tell_argument(result), "expected": tell_argument(case.expected)}
        yield say("kind", lang, **about, **shown, kind=tell_kind(result))
    elif numbers.shape != right.shape:
        if not named and is_same(numbers.T, right):
            yield say("transposed", lang)
        if right.ndim == 1:
            yield tell_lengths(numbers, right, about, lang)
        else:
            shapes = {"found": _cross(numbers.shape), "expected": _cross(right.shape)}
            yield say("shape", lang, **about, **shapes)
    else:
        if is_truth(case.expected) and not is_truth(result):
            yield say("truth", lang, **about, found=tell_argument(result))
        yield from tell_numbers(numbers, right, about, lang, named=named)


def tell_lengths(numbers: Any, right: Any, about: dict[str, str], lang: str) -> str:
    """Return how many numbers a list has and should have, and where they begin to differ."""
    numbers = numbers.ravel()
    short = min(len(numbers), len(right))
    same = int(np.argmin([*is_near(numbers[:short], right[:short]), False]))
    lengths = {"found": len(numbers), "expected": len(right), "same": same}
    whole = all(float(each).is_integer() for each in (*numbers, *right))
    rests = [each[same:].astype(int if whole else float).tolist() for each in (numbers, right)]
    ends = [*map(tell_argument, rests)]
    return say("lengths", lang, **about, **lengths, found_end=ends[0], expected_end=ends[1])


def _cross(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "1"


def tell_numbers(
    numbers: Any, right: Any, about: dict[str, str], lang: str, *, named: bool
) -> Iterator[str]:
    """Yield where numbers of the right shape differ, and in what pattern."""
    odd = ~np.isfinite(numbers) & np.isfinite(right)
    if odd.any():
        place = _place(np.argwhere(odd)[0])
        yield say("nan", lang, **about, count=int(odd.sum()), place=place)
        return
    if not named:
        yield from tell_pattern(numbers, right, lang)
    with np.errstate(invalid="ignore"):
        apart = np.where(is_near(numbers, right), 0, np.abs(numbers - right))
    if not apart.any():
        return
    worst = np.unravel_index(int(np.argmax(apart)), apart.shape)
    shown = {"found": f"{numbers[worst]:.5g}", "expected": f"{right[worst]:.5g}"}
    if right.ndim == 0:
        yield say("value", lang, **about, **shown)
    else:
        yield say("cell", lang, **about, **shown, place=_place(worst))


def _place(index: Any) -> str:
    return ", ".join(str(int(each)) for each in index)


def _is_one_factor(factors: Any) -> bool:
    """Return whether all numbers are the right ones times one number, which is not 1."""
    if factors.size < 2:
        return False
    mean = factors.mean()
    return bool(np.ptp(factors) < 1e-3 * abs(mean) and abs(mean - 1) > 1e-3)


def tell_pattern(numbers: Any, right: Any, lang: str) -> Iterator[str]:
    """Yield what all wrong numbers have in common; nothing if they have nothing."""
    seen = np.isfinite(right) & np.isfinite(numbers) & (np.abs(right) > 1e-6)
    factors = numbers[seen] / right[seen]
    differences = (numbers - right)[np.isfinite(right)]
    wrong = ~is_near(numbers, right)
    if right.ndim == 2 and right.shape[0] == right.shape[1] and is_same(numbers.T, right):
        yield say("transposed", lang)
    elif factors.size and is_same(factors, np.full_like(factors, -1)):
        yield say("sign", lang)
    elif _is_one_factor(factors):
        yield say("factor", lang, factor=f"{factors.mean():.4g}")
    elif differences.size > 1 and np.ptp(differences) < 1e-3 * abs(differences.mean()):
        yield say("offset", lang, offset=f"{differences.mean():.4g}")
    elif right.size > 3 and is_same(np.sort(numbers, axis=None), np.sort(right, axis=None)):
        yield say("order", lang)
    elif right.ndim == 2 and 0 < (rows := wrong.any(axis=1)).sum() <= min(
        LARGEST_ROWS, rows.size - 1
    ):
        yield say("rows", lang, rows=_place(np.flatnonzero(rows)))
