"""A diagnosis of a learner's result: the mistake by name, or where the numbers differ."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.foundation.messages import Messages

from .cases import Case, TooManyCallsError
from .comparing import is_near, is_same, run_cases, to_array
from .exercises import Exercise, Mistake
from .steps import list_solutions

MESSAGES = Messages(Path(__file__).with_name("messages.json"))
SHORT = 60  # characters of an argument that is shown
PAIRED = (*range(1, 12), 15, 16, 19)  # exercises in which two mistakes at once are looked for
LARGEST_ROWS = 8
FEW = 8  # whole numbers, such as the ids of a short search, that two mistakes may have in common


def diagnose(
    exercise: Exercise, cases: Sequence[Case], results: Sequence[Any], path: Path, lang: str
) -> Iterator[str]:
    """Yield sentences about the first case that went wrong, the most telling one first."""
    which = next(n for n, each in enumerate(cases) if not is_same(results[n], each.expected))
    case, result = cases[which], results[which]
    if named := name_mistake(exercise, cases, results, which, lang):
        yield named
    if isinstance(result, Exception):
        yield from tell_exception(result, case, path, lang, named=bool(named))
        return
    yield from tell_difference(result, case, lang, named=bool(named))
    if case.name and case.name != "translation":
        yield say("recorded", lang, name=case.name)


def say(key: str, lang: str, **fill: object) -> str:
    """Return a text of the course."""
    return MESSAGES.say(key, lang, **fill)


def name_mistake(
    exercise: Exercise, cases: Sequence[Case], results: Sequence[Any], which: int, lang: str
) -> str:
    """Return a sentence that names the mistake which gives the same results; "" if none does."""
    partly = ""
    wrong, others = cases[which : which + 1], [*cases[:which], *cases[which + 1 :]]
    rest = [*results[:which], *results[which + 1 :]]
    for mistake in exercise.mistakes:
        if not is_same(try_mistakes(exercise, wrong, mistake)[0], results[which]):
            continue
        if all(map(is_same, try_mistakes(exercise, others, mistake), rest)):
            return say("mistake", lang, text=mistake.text[lang])
        if not partly and _is_telling(results[which]):
            partly = say("partly", lang, text=mistake.text[lang])
    if partly or exercise.number not in PAIRED or isinstance(results[which], Exception):
        return partly
    for first, second in combinations(exercise.mistakes, 2):
        mistakes = try_mistakes(exercise, wrong, first, second)
        if mistakes and is_same(mistakes[0], results[which]) and _is_telling(results[which]):
            texts = first.text[lang], second.text[lang]
            return say("two", lang, first=texts[0], second=texts[1])
    return ""


def try_mistakes(exercise: Exercise, cases: Sequence[Case], *mistakes: Mistake) -> list[Any]:
    """Return what the solution gives with these mistakes; nothing where they exclude each other."""
    text: str | None = exercise.solution
    for each in mistakes:
        text = each.apply(text) if text is not None else None
    if text is None:
        return []
    return run_cases(list_solutions(exercise, text), exercise.module, cases)


def _is_telling(result: Any) -> bool:
    """Return whether a result says something: a text, or numbers that do not agree by chance."""
    numbers = to_array(result)
    if numbers is None:
        return isinstance(result, str)
    finite = numbers[np.isfinite(numbers)]
    return finite.size > FEW or bool((finite % 1).any())


def tell_exception(
    error: Exception, case: Case, path: Path, lang: str, *, named: bool
) -> Iterator[str]:
    """Yield what an exception means, and in which line of the learner's file it came."""
    names = {"function": case.function, "file": path.name}
    if isinstance(error, NotImplementedError):
        yield say("empty", lang, **names)
    elif isinstance(error, TooManyCallsError):
        yield say("endless", lang, **names)
    elif isinstance(error, SyntaxError):
        yield say("syntax", lang, **names, line=error.lineno, error=error.msg)
    elif isinstance(error, AttributeError) and f"no attribute '{case.function}'" in str(error):
        yield say("no_function", lang, **names)
    else:
        if not named and is_power_sign(error):
            yield say("xor", lang)
        kind, arguments = type(error).__name__, tell_arguments(case)
        yield say("raised", lang, **names, arguments=arguments, kind=kind, error=error)
        yield from tell_place(error, path, lang)


def is_power_sign(error: Exception) -> bool:
    """Return whether somebody wrote ^ for a power of numbers that are not whole."""
    return isinstance(error, TypeError) and ("bitwise_xor" in str(error) or "for ^" in str(error))


def tell_place(error: Exception, path: Path, lang: str) -> Iterator[str]:
    """Yield the innermost line of the learner's folder that an exception came through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if Path(each.filename).parent == path.parent]
    if own:
        file = Path(own[-1].filename).name
        yield say("line", lang, line=own[-1].lineno, file=file, code=own[-1].line)


def tell_arguments(case: Case) -> str:
    """Return the arguments of a case as a learner can read them: small ones whole."""
    return "(" + ", ".join(map(_tell, case.arguments)) + ")"


def _tell(argument: Any) -> str:
    if isinstance(argument, np.ndarray):
        if argument.size <= 12:
            return " ".join(np.array2string(argument, separator=", ").split())
        return "<" + " x ".join(map(str, argument.shape)) + ">"
    if isinstance(argument, dict):
        return "weights"
    if callable(argument):
        return argument.__name__ if argument.__name__ == "sublayer" else "next_token"
    text = repr(argument)
    return text if len(text) <= SHORT else text[: SHORT - 3] + "..."


def tell_difference(result: Any, case: Case, lang: str, *, named: bool) -> Iterator[str]:
    """Yield where a result differs from the right one, and, if nobody named it yet, how."""
    about = {"function": case.function, "arguments": tell_arguments(case)}
    numbers, right = to_array(result), to_array(case.expected)
    if result is None:
        yield say("none", lang, **about)
    elif numbers is None or right is None or (numbers.size == 0 and right.size):
        shown = {"found": _tell(result), "expected": _tell(case.expected)}
        yield say("kind", lang, **about, **shown, kind=type(result).__name__)
    elif numbers.shape != right.shape:
        if not named and is_same(numbers.T, right):
            yield say("transposed", lang)
        if right.ndim == 1:
            yield say("value", lang, **about, found=_tell(result), expected=_tell(case.expected))
        else:
            shapes = {"found": _cross(numbers.shape), "expected": _cross(right.shape)}
            yield say("shape", lang, **about, **shapes)
    else:
        yield from tell_numbers(numbers, right, about, lang, named=named)


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
