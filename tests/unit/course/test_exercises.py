"""The exercises of the course: independent sources for the solutions, and mistakes are named."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sacrebleu import corpus_bleu

from glassformer.extensions.course.cases import (
    SEARCHES,
    Case,
    find_solution,
    list_cases,
    list_functions,
    make_table,
    read_real,
    read_single_weights,
)
from glassformer.extensions.course.changes import find_change
from glassformer.extensions.course.checking import check_step
from glassformer.extensions.course.diagnosis import diagnose, try_mistakes
from glassformer.extensions.course.exercises import Exercise, Mistake, read_exercises
from glassformer.extensions.course.recording import read_recording, record_anew
from glassformer.extensions.course.results import is_same
from glassformer.extensions.course.running import run_cases
from glassformer.extensions.course.steps import list_solutions
from glassformer.train.run.loss import label_smoothing

EXERCISES = read_exercises()
LONG = (12, 13, 14, 15, 17, 18, 20)  # whose mistakes take seconds
HAN = re.compile(r"[\u3400-\u9fff]")


def write_solutions(folder: Path) -> None:
    for each in EXERCISES:
        (folder / f"{each.module}.py").write_text(each.solution, encoding="utf-8")


def test_there_are_twenty() -> None:
    assert [each.number for each in EXERCISES] == [*range(1, 21)]


def test_the_recording_is_what_the_model_computes() -> None:
    """The shipped numbers against those of the network in PyTorch, now."""
    tensors, notes = record_anew()
    run = read_recording()
    assert tensors.keys() == run.tensors.keys()
    for name, each in tensors.items():
        assert is_same(run[name], each), name
    assert {key: getattr(run, key) for key in notes} == notes


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda each: each.module)
def test_a_solution_computes_what_the_network_computed(exercise: Exercise) -> None:
    cases = list_cases(exercise.number)
    found = run_cases(list_solutions(), exercise.module, cases)
    wrong = [each for each, result in zip(cases, found, strict=True) if not agree(each, result)]
    assert not wrong


def agree(case: Case, result: Any) -> bool:
    return is_same(result, case.expected)


def list_mistakes() -> list[Any]:
    return [
        pytest.param(
            exercise,
            mistake,
            id=f"{exercise.module}-{number}",
            marks=[pytest.mark.thorough] if exercise.number in LONG else [],
        )
        for exercise in EXERCISES
        for number, mistake in enumerate(exercise.mistakes)
    ]


@pytest.mark.thorough
@pytest.mark.parametrize(("exercise", "mistake"), list_mistakes())
def test_each_mistake_is_named(exercise: Exercise, mistake: Mistake) -> None:
    cases = list_cases(exercise.number)
    found = try_mistakes(exercise, cases, mistake)
    for lang in ("en", "zh"):
        said = next(diagnose(exercise, cases, found, Path("step.py"), lang))
        assert mistake.text[lang] in said


def test_texts_are_in_both_languages() -> None:
    for each in EXERCISES:
        texts = [each.title, each.task, *each.hints, *(one.text for one in each.mistakes)]
        assert len(each.hints) == 2
        for text in texts:
            assert {*text} == {"en", "zh"}
            assert not HAN.search(text["en"])
            assert HAN.search(text["zh"]) or "for number in" in text["zh"], text
        for name in list_functions(each.number):
            assert f"{name}(" in each.task["en"] and f"{name}(" in each.task["zh"]


# Independent sources for the solutions that the recording does not decide.


def test_softmax_and_norm_are_those_of_torch() -> None:
    random = np.random.default_rng()
    x = 5 * random.normal(size=(3, 7, 6))
    assert np.allclose(find_solution("softmax")(x), torch.tensor(x).softmax(-1).numpy())
    gain, bias = random.normal(size=(2, 6))
    weight, offset = torch.tensor(gain).float(), torch.tensor(bias).float()
    right = torch.nn.functional.layer_norm(torch.tensor(x[0]).float(), (6,), weight, offset)
    assert np.allclose(find_solution("layer_norm")(x[0], gain, bias), right.numpy(), atol=1e-4)


def test_the_loss_is_that_of_training() -> None:
    random = np.random.default_rng()
    logits = random.normal(size=(9, 11))
    targets = random.integers(1, 11, 9)
    log_p = torch.tensor(logits).log_softmax(-1).numpy()
    found = find_solution("smoothed_loss")(log_p, targets, 0.1, 0)
    total = label_smoothing(torch.tensor(logits), torch.tensor(targets), 0.1)
    assert math.isclose(found, total.item() / 9, rel_tol=1e-9)
    padded = np.concatenate([log_p, log_p[:2]])
    same = find_solution("smoothed_loss")(padded, np.array([*targets, 0, 0]), 0.1, 0)
    assert math.isclose(same, found, rel_tol=1e-9)


def test_the_rate_is_highest_after_the_warmup() -> None:
    rates = [find_solution("learning_rate")(step, 512, 40) for step in range(1, 200)]
    assert max(rates) == rates[39] and math.isclose(rates[39], (512 * 40) ** -0.5)


def test_bleu_is_that_of_sacrebleu() -> None:
    random = np.random.default_rng()
    for _ in range(20):
        pairs = [[random.choice([*"abc"], random.integers(4, 12)) for _ in "12"] for _ in range(4)]
        ours, theirs = zip(*((list(map(str, a)), list(map(str, b))) for a, b in pairs), strict=True)
        lines = [[" ".join(each) for each in side] for side in (ours, theirs)]
        right = corpus_bleu(
            lines[0], [lines[1]], tokenize="none", smooth_method="none", force=True
        ).score
        assert math.isclose(find_solution("bleu")(ours, theirs), right, abs_tol=1e-9)


def search_all(next_token: Any, bos: int, eos: int, alpha: float, longest: int) -> list[int]:
    """Return the best of all translations, tried one by one."""
    tokens = [v for v in range(len(next_token([bos]))) if v != eos]

    def rate(text: Sequence[int]) -> float:
        ids = [bos, *text, eos]
        total = sum(next_token(ids[:n])[ids[n]] for n in range(1, len(ids)))
        return float(total / ((5 + len(text) + 1) / 6) ** alpha)

    texts = (text for n in range(longest) for text in product(tokens, repeat=n))
    return [*max(texts, key=rate)]


@pytest.mark.parametrize(("seed", "alpha"), [(seed, alpha) for seed, _, alpha, _ in SEARCHES])
def test_a_wide_beam_finds_the_best_of_all(seed: int, alpha: float) -> None:
    table = make_table(seed)
    found = find_solution("beam_search")(table, 1, 2, 999, alpha, 4)
    assert [*found] == search_all(table, 1, 2, alpha, 4)


def test_greedy_follows_the_likeliest() -> None:
    ids = [1]
    while (best := int(np.argmax(read_real(ids)))) != 2:
        ids.append(best)
    assert find_solution("greedy")(read_real, 1, 2, 60) == ids[1:]


def test_the_weights_are_those_of_the_file() -> None:
    assert sum(each.size for each in read_single_weights().values()) > 500_000


# The same mistakes as people write them, and others: what is said of each.
WRONG = {
    "no root": (1, "def embed(token_ids, table):\n    return table[token_ids]", "sqrt(d_model)"),
    "one-hot": (
        1,
        "import numpy as np\n\ndef embed(token_ids, table):\n"
        "    hot = np.eye(len(table))[token_ids]\n    return (hot @ table) / table.shape[1] ** 0.5",
        "divides by sqrt(d_model)",
    ),
    "xor of floats": (
        2,
        "import numpy as np\n\ndef positions(length, d_model):\n"
        "    table = np.zeros((length, d_model))\n    for p in range(length):\n"
        "        for i in range(d_model // 2):\n"
        "            table[p, 2 * i] = np.sin(p / (10000 ^ (2 * i / d_model)))\n"
        "    return table",
        "exclusive or",
    ),
    "column as i": (
        2,
        "import math\nimport numpy as np\n\ndef positions(length, d_model):\n"
        "    table = np.zeros((length, d_model))\n    for p in range(length):\n"
        "        for j in range(d_model):\n"
        "            angle = p / 10000 ** (2 * j / d_model)\n"
        "            table[p, j] = math.cos(angle) if j % 2 else math.sin(angle)\n"
        "    return table",
        "column number",
    ),
    "forgot return": (3, "def project(x, weight, bias):\n    x @ weight.T + bias", "return"),
    "bias twice": (
        3,
        "def project(x, weight, bias):\n    return x @ weight.T + 2 * bias",
        "is ",
    ),
    "one query after another": (
        4,
        "import numpy as np\n\ndef scores(query, key):\n"
        "    q, k = np.float32(query), np.float32(key)\n"
        "    return np.einsum('...qd,...kd->...kq', q, k) / q.shape[-1] ** 0.5",
        "Rows and columns are exchanged",
    ),
    "half precision": (
        4,
        "import numpy as np\n\ndef scores(query, key):\n"
        "    return np.einsum('...qd,...kd->...qk', query, key) / query.shape[-1] ** 0.5",
        "fp16",
    ),
    "factor of two": (
        4,
        "import numpy as np\n\ndef scores(query, key):\n"
        "    q, k = np.float32(query), np.float32(key)\n"
        "    return 2 * q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5",
        "times 2",
    ),
    "columns": (
        5,
        "import numpy as np\n\ndef softmax(scores):\n    e = np.exp(scores.swapaxes(-1, -2))\n"
        "    return (e / e.sum(-1, keepdims=True)).swapaxes(-1, -2)",
        "wrong axis",
    ),
    "no maximum": (
        5,
        "import numpy as np\n\ndef softmax(scores):\n    e = np.e ** scores\n"
        "    return e / np.sum(e, -1)[..., None]",
        "overflow",
    ),
    "strict triangle": (
        6,
        "import numpy as np\nfrom step_05_softmax import softmax\n\ndef causal_mask(length):\n"
        "    return np.array([[c < r for c in range(length)] for r in range(length)])\n\n"
        "def masked_weights(scores, mask):\n"
        "    return softmax(np.where(mask, scores, -np.inf))",
        "diagonal",
    ),
    "mask afterwards": (
        6,
        "import numpy as np\nfrom step_05_softmax import softmax\n\ndef causal_mask(length):\n"
        "    return np.tri(length, dtype=bool)\n\ndef masked_weights(scores, mask):\n"
        "    return softmax(scores) * mask",
        "after the softmax",
    ),
    "add a large number": (
        6,
        "import numpy as np\nfrom step_05_softmax import softmax\n\ndef causal_mask(length):\n"
        "    return np.tri(length, dtype=bool)\n\ndef masked_weights(scores, mask):\n"
        "    scores = scores.copy()\n    scores[..., ~mask[-1]] += 0\n"
        "    return softmax(np.where(mask, scores, -1e9))",
        "finite number",
    ),
    "ddof": (
        9,
        "import numpy as np\n\ndef layer_norm(x, gain, bias, epsilon=1e-5):\n"
        "    x = np.float32(x)\n    mean = x.mean(-1, keepdims=True)\n"
        "    spread = x.std(-1, ddof=1, keepdims=True)\n"
        "    return gain * (x - mean) / (spread + epsilon) + bias",
        "Bessel",
    ),
    "two at once": (
        9,
        "import numpy as np\n\ndef layer_norm(x, gain, bias, epsilon=1e-5):\n"
        "    x = np.float32(x)\n    mean = x.mean(-1, keepdims=True)\n"
        "    return (x - mean) / np.sqrt(x.var(-1, ddof=1, keepdims=True) + epsilon) + bias",
        "Two things went wrong",
    ),
    "sum of squares": (
        9,
        "import numpy as np\n\ndef layer_norm(x, gain, bias, epsilon=1e-5):\n"
        "    x = np.float32(x)\n"
        "    return gain * x / np.sqrt((x ** 2).mean(-1, keepdims=True) + epsilon) + bias",
        "RMSNorm",
    ),
    "post-norm": (
        11,
        "from step_09_layer_norm import layer_norm\n\n"
        "def residual(x, sublayer, gain, bias):\n    y = sublayer(x) + x\n"
        "    return layer_norm(y, gain, bias)",
        "post-norm",
    ),
    "endless": (
        17,
        "import numpy as np\n\ndef greedy(next_token, bos, eos, longest):\n    ids = [bos]\n"
        "    while ids[-1] != eos:\n        ids.append(int(np.argmax(next_token(ids))))\n"
        "    return ids[1:-1]",
        "does not stop",
    ),
    "values of the wrong side": (
        8,
        "import numpy as np\nfrom step_07_heads import split_heads\n\n"
        "def multi_head_attention(x, memory, mask, weights, heads):\n"
        "    def make(name, of):\n"
        "        return of @ weights[f'to_{name}.weight'].T + weights[f'to_{name}.bias']\n"
        "    q = split_heads(make('query', x), heads)\n"
        "    k, v = split_heads(make('key', memory), heads), split_heads(make('value', x), heads)\n"
        "    s = np.where(mask, q @ k.transpose(0, 2, 1) / q.shape[-1] ** 0.5, -np.inf)\n"
        "    e = np.exp(s - s.max(-1, keepdims=True))\n"
        "    z = e / e.sum(-1, keepdims=True) @ v\n"
        "    return make('output', np.concatenate([*z], axis=-1))",
        "values are made from x",
    ),
    "shares of the rest": (
        6,
        "import numpy as np\nfrom step_05_softmax import softmax\n\ndef causal_mask(length):\n"
        "    return np.tri(length, dtype=bool)\n\ndef masked_weights(scores, mask):\n"
        "    shares = softmax(scores)\n    shares[..., ~mask] = 0\n"
        "    return shares / np.sum(shares, -1, keepdims=True)",
        "divided by their sum",
    ),
    "from 0 to 1": (
        9,
        "import numpy as np\n\ndef layer_norm(x, gain, bias, epsilon=1e-5):\n"
        "    rows = []\n    for row in np.float32(x):\n"
        "        spread = np.ptp(row) + epsilon\n"
        "        rows.append((row - np.mean(row)) / spread * gain + bias)\n"
        "    return np.stack(rows)",
        "min-max",
    ),
    "as angles of a circle": (
        2,
        "import math\nimport numpy as np\n\ndef positions(length, d_model):\n"
        "    table = np.empty((length, d_model))\n    for p in range(length):\n"
        "        for i in range(0, d_model, 2):\n"
        "            angle = 2 * math.pi * p * math.exp(-math.log(10000) * i / d_model)\n"
        "            table[p, i : i + 2] = math.sin(angle), math.cos(angle)\n"
        "    return table",
        "2 pi",
    ),
    "mean of probabilities": (
        15,
        "import numpy as np\n\ndef log_probabilities(last, table):\n"
        "    logits = last @ table.T\n    top = logits.max(-1, keepdims=True)\n"
        "    return logits - top - np.log(np.exp(logits - top).sum(-1, keepdims=True))\n\n"
        "def smoothed_loss(log_p, targets, smoothing, pad):\n"
        "    losses = [-(1 - smoothing) * row[t] - smoothing * np.log(np.exp(row).mean())\n"
        "              for row, t in zip(log_p, targets) if t != pad]\n"
        "    return sum(losses) / len(losses)",
        "mean probability",
    ),
    "eos takes a place": (
        18,
        "def beam_search(next_token, bos, eos, width, alpha, longest):\n"
        "    beam, done = [(0.0, [bos])], []\n    for _ in range(longest):\n"
        "        grown = []\n        for total, ids in beam:\n"
        "            for v, p in enumerate(next_token(ids)):\n"
        "                grown.append((total + p, ids + [v]))\n"
        "        grown.sort(reverse=True)\n"
        "        done += [each for each in grown[:width] if each[1][-1] == eos]\n"
        "        beam = [each for each in grown[:width] if each[1][-1] != eos]\n"
        "    def rate(each):\n"
        "        return each[0] / ((4 + len(each[1])) / 6) ** alpha\n"
        "    best = max(done, key=rate) if done else max(beam or [(0, [bos])])\n"
        "    return [v for v in best[1][1:] if v != eos]",
        "takes a place of the beam",
    ),
    "syntax": (1, "def embed(token_ids, table)\n    return table[token_ids]", "line 1"),
    "curly quotes": (1, "def embed(token_ids, table):\n    return table[‘token_ids’]", "line 2"),
    "empty": (1, "", "no function embed"),
    "another shape": (1, "def embed(token_ids, table):\n    return table[:, :3]", "x 3"),
    "an exception": (1, "def embed(token_ids, table):\n    return 1 / 0", "line 2"),
    "a text": (1, "def embed(token_ids, table):\n    return 'done'", "'done'"),
    "a ragged list": (1, "def embed(token_ids, table):\n    return [[1], [2, 3]]", "list"),
    "nothing": (1, "def embed(token_ids, table):\n    return []", "list"),
}
SLOW = ("factor of two", "two at once")


def list_wrong() -> list[Any]:
    """Return the wrong solutions, of which two take long to be named."""
    return [
        pytest.param(*each, id=name, marks=[pytest.mark.thorough] if name in SLOW else [])
        for name, each in WRONG.items()
    ]


@pytest.mark.parametrize(("number", "text", "said"), list_wrong())
def test_wrong_solutions_are_named(number: int, text: str, said: str, tmp_path: Path) -> None:
    write_solutions(tmp_path)
    (tmp_path / f"{EXERCISES[number - 1].module}.py").write_text(text, encoding="utf-8")
    verdict = check_step(tmp_path, number)
    assert not verdict.is_right and said in "\n".join(verdict.lines), verdict.lines
    assert not check_step(tmp_path, number, "zh").is_right


def test_a_step_that_changes_an_argument_is_not_right(tmp_path: Path) -> None:
    write_solutions(tmp_path)
    text = "import numpy as np\n\ndef embed(token_ids, table):\n"
    text += "    table *= np.sqrt(table.shape[1])\n    return table[token_ids]\n"
    (tmp_path / "step_01_embedding.py").write_text(text, encoding="utf-8")
    for lang, said in (("en", "changed its argument `table`"), ("zh", "改动了它的参数 `table`")):
        verdict = check_step(tmp_path, 1, lang)
        assert not verdict.is_right and said in verdict.lines[1]
    assert "check 1" in check_step(tmp_path, 20).lines[1]


def test_what_is_changed_is_fresh_in_each_case(tmp_path: Path) -> None:
    write_solutions(tmp_path)
    text = "def project(x, weight, bias):\n    y = x @ weight.T + bias\n"
    text += "    weight[:] = 0\n    return y\n"
    (tmp_path / "step_03_projection.py").write_text(text, encoding="utf-8")
    verdict = check_step(tmp_path, 3)
    assert not verdict.is_right and "`weight`" in verdict.lines[1]
    assert len(verdict.lines) == 3  # the numbers are right: the weights of each case are copies


@pytest.mark.parametrize(
    ("given", "spoil", "place", "kind"),
    [
        (np.ones(3), lambda x: x.fill(2), "x", "array"),
        (np.ones(4), lambda x: setattr(x, "shape", (2, 2)), "x", "array"),
        (np.array([np.nan, 1]), lambda x: x.sort(), "x", "array"),
        ([1, 2], lambda x: x.reverse(), "x", "list"),
        ([[1, 2], [3]], lambda x: x[1].append(4), "x[1]", "list"),
        ({"a": {"b": np.ones(2)}}, lambda x: x["a"]["b"].fill(0), "x['a']['b']", "array"),
        ({"a": {"b": np.ones(2)}}, lambda x: x["a"].clear(), "x['a']", "dict"),
        ({"a": np.ones(2)}, lambda x: x.update(a=np.ones(2, np.float32)), "x", "dict"),
        ({"a": 1}, lambda x: x.update(b=1), "x", "dict"),
    ],
)
def test_a_change_is_found_where_it_is(
    given: Any, spoil: Callable[[Any], None], place: str, kind: str
) -> None:
    def function(x: Any) -> None:
        """Take one argument."""

    changed = deepcopy(given)
    assert find_change(function, [given], [changed]) is None
    assert find_change(function, [np.array([np.nan]), len], [np.array([np.nan]), len]) is None
    spoil(changed)
    assert find_change(function, [given], [changed]) == (place, kind)
    assert find_change(max, [given], [changed]) == (place.replace("x", "1"), kind)


def test_a_step_says_which_earlier_one_is_wrong(tmp_path: Path) -> None:
    write_solutions(tmp_path)
    (tmp_path / "step_05_softmax.py").write_text("def softmax(scores):\n    return scores\n")
    verdict = check_step(tmp_path, 20)
    assert not verdict.is_right and "check 5" in verdict.lines[1]
    assert check_step(tmp_path, 15).is_right
