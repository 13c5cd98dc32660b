"""The cases that each exercise is tried on: arguments, and the result that is right.

Most come from the recording of a real translation; small examples beside them tell mistakes apart
that the recording does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .exercises import find_exercise, read_exercises
from .given import BOS, EOS, HEADS, LAYERS, PAD, load_weights, part
from .recording import DECODER, ENCODER, read_recording
from .steps import importing, list_solutions, load_step

Array = NDArray[Any]
NextToken = Callable[[Sequence[int]], Array]
MOST_CALLS = 400  # of the network by one search
# Seeds of networks, widths, length penalties and rounds that tell wrong searches from right ones.
SEARCHES = (
    (3, 1, 1.5, 7),
    (22, 2, 0.6, 7),
    (32, 3, 1.5, 7),
    (39, 2, 0.6, 7),
    (48, 3, 1.5, 7),
    (54, 2, 1.0, 7),
    (32, 1, 1.0, 7),
    (13, 1, 1.0, 7),
    (133, 2, 0.6, 3),
    (127, 4, 0.6, 7),
    (738, 2, 0.6, 5),
    (20, 3, 1.5, 7),
)


class Case(NamedTuple):
    """A call of a function of the learner's, and its right result.

    `name` is that of the recorded tensor; "" for an example, whose result the solution gives.
    """

    function: str
    arguments: tuple[Any, ...]
    name: str = ""
    expected: Any = None


class TooManyCallsError(Exception):
    """Says that a search does not end."""


@cache
def load_solutions() -> dict[str, ModuleType]:
    """Return the modules of all solutions."""
    with importing(list_solutions()):
        return {each.module: load_step(each.module) for each in read_exercises()}


def find_solution(name: str) -> Callable[..., Any]:
    """Return a function of the solutions by its name."""
    modules = load_solutions().values()
    return next(getattr(each, name) for each in modules if _defines(each, name))


def _defines(module: ModuleType, name: str) -> bool:
    return getattr(getattr(module, name, None), "__module__", None) == module.__name__


@cache
def read_single_weights() -> dict[str, Array]:
    """Return the weights of the model in fp32, as the network computes with them."""
    return {name: each.astype(np.float32) for name, each in load_weights().items()}


@cache
def list_cases(number: int) -> tuple[Case, ...]:
    """Return the cases of an exercise, each with its right result."""
    return tuple(
        each if each.name else each._replace(expected=compute_expected(each))
        for each in list_calls(number)
    )


def list_calls(number: int) -> tuple[Case, ...]:
    """Return the cases of an exercise, without the results that a solution gives."""
    return tuple(LISTS[number - 1]())


def list_functions(number: int) -> tuple[str, ...]:
    """Return the names of the functions that an exercise asks for."""
    find_exercise(number)
    return tuple(dict.fromkeys(each.function for each in list_calls(number)))


def compute_expected(case: Case) -> Any:
    """Return what the solution gives in a case."""
    with np.errstate(all="ignore"):
        return find_solution(case.function)(*case.arguments)


def _recorded(function: str, name: str, *arguments: Any) -> Case:
    return Case(function, arguments, name, read_recording()[name])


def list_embeddings() -> Iterator[Case]:
    run, table = read_recording(), read_single_weights()["source_embedding.table.weight"]
    yield _recorded("embed", "source_embedding.embedded", run.source_ids, table)
    yield _recorded("embed", "target_embedding.embedded", run.target_ids, table)
    yield Case("embed", ([2, 0], np.arange(12.0).reshape(3, 4)))


def list_positions() -> Iterator[Case]:
    yield _recorded("positions", "source_embedding.positions", *read_recording()["memory"].shape)
    yield Case("positions", (3, 4))


def list_projections() -> Iterator[Case]:
    run, layer = read_recording(), part(read_single_weights(), ENCODER + "self_attention.")
    normed = run[ENCODER + "self_attention_residual.normed"]
    for name in ("query", "key", "value"):
        recorded = ENCODER + f"self_attention.{name}"
        joined = find_solution("join_heads")(run[recorded])
        bias = layer[f"to_{name}.bias"]
        yield Case("project", (normed, layer[f"to_{name}.weight"], bias), recorded, joined)
    weight = np.array([[1.0, 0, 2], [0, 3, 0]])
    yield Case("project", (np.array([[1.0, 2, 3]]), weight, np.array([10.0, 20])))


def list_scores() -> Iterator[Case]:
    run = read_recording()
    for side in (ENCODER + "self_attention.", DECODER + "cross_attention."):
        yield _recorded("scores", side + "scores", run[side + "query"], run[side + "key"])
    yield Case("scores", (np.array([[1.0, 2, 0, 1]]), np.array([[3.0, 0, 1, 1], [0, 1, 0, 0]])))
    large = np.full((2, 4), 200, np.float16)  # 4 * 200 * 200 = 160,000
    yield Case("scores", (large, large))


def list_softmaxes() -> Iterator[Case]:
    name = ENCODER + "self_attention."
    yield _recorded("softmax", name + "weights", read_recording()[name + "scores"])
    yield Case("softmax", (np.array([[1.0, 2, 3], [0, 0, 0]]),))
    yield Case("softmax", (np.array([[1000.0, 1001, 999], [-1000, -1001, -999]]),))
    yield Case("softmax", (np.array([[0.5, -np.inf, 1.5]]),))


def list_masks() -> Iterator[Case]:
    run, name = read_recording(), DECODER + "self_attention."
    mask = run[name + "mask"][0]
    yield Case("causal_mask", (len(mask),), name + "mask", mask)
    yield Case("causal_mask", (3,))
    yield _recorded("masked_weights", name + "weights", run[name + "scores"], mask)
    seen = np.array([[True, False, True]])
    yield Case("masked_weights", (np.array([[1.0, 5.0, 2.0]]), seen))
    yield Case("masked_weights", (np.array([[-3e9, 5.0, -3e9]]), seen))


def list_head_splits() -> Iterator[Case]:
    run, name = read_recording(), ENCODER + "self_attention."
    joined = find_solution("join_heads")(run[name + "query"])
    yield _recorded("split_heads", name + "query", joined, HEADS)
    yield Case("split_heads", (np.arange(12).reshape(2, 6), 3))
    context = run[name + "context"]
    together = np.concatenate([*context], axis=-1)
    yield Case("join_heads", (context,), name + "context", together)
    yield Case("join_heads", (np.arange(12).reshape(3, 2, 2),))


def list_head_attentions() -> Iterator[Case]:
    run, weights = read_recording(), read_single_weights()
    for side, which in ((ENCODER, "self"), (DECODER, "self"), (DECODER, "cross")):
        name = f"{side}{which}_attention"
        normed = run[f"{name}_residual.normed"]
        read = run["memory"] if which == "cross" else normed
        mask = np.ones((len(normed), len(read)), dtype=bool)
        if side == DECODER and which == "self":
            mask = run[name + ".mask"][0]
        head_attentions = part(weights, name + ".")
        yield _recorded(
            "multi_head_attention", name + ".output", normed, read, mask, head_attentions, HEADS
        )
    some = np.tril(np.ones((5, len(read)), dtype=bool), 3)
    yield Case("multi_head_attention", (normed[:5], read, some, head_attentions, HEADS))


def list_norms() -> Iterator[Case]:
    run, name = read_recording(), ENCODER + "self_attention_residual"
    norm = part(read_single_weights(), name + ".norm.")
    gain, bias, x = norm["weight"], norm["bias"], run["source_embedding.sum"]
    yield _recorded("layer_norm", name + ".normed", x, gain, bias)
    one, none = np.ones(4, np.float32), np.zeros(4, np.float32)
    yield Case("layer_norm", (np.array([[1.0, 2, 3, 4]]), one, none))
    yield Case("layer_norm", (np.array([[1.0, 2, 3, 4], [5, 5, 5, 5]]) / 500, one, none))
    yield Case("layer_norm", (np.array([[1.0, 2, 3, 4]]), one, none, 0.5))
    yield Case("layer_norm", (np.array([[600, -600, 400, -400]], np.float16), one, none))


def list_feed_forwards() -> Iterator[Case]:
    run, name = read_recording(), ENCODER + "feed_forward"
    feed_forwards = part(read_single_weights(), name + ".")
    yield _recorded("feed_forward", name + ".output", run[name + "_residual.normed"], feed_forwards)


def list_residuals() -> Iterator[Case]:
    run, weights, name = read_recording(), read_single_weights(), ENCODER + "feed_forward"
    forward, residuals = find_solution("feed_forward"), part(weights, name + ".")
    norm = part(weights, name + "_residual.norm.")
    before = run[ENCODER + "self_attention_residual.sum"]

    def sublayer(normed: Array) -> Any:
        return forward(normed, residuals)

    after = name + "_residual.sum"
    yield _recorded("residual", after, before, sublayer, norm["weight"], norm["bias"])


def list_encoders() -> Iterator[Case]:
    run, weights = read_recording(), read_single_weights()
    yield _recorded("encode", "memory", run.source_ids, weights, HEADS, LAYERS)
    yield Case("encode", (run.source_ids[3:9], weights, HEADS, 2))


def list_decoder_layers() -> Iterator[Case]:
    run, decoder_layers = read_recording(), part(read_single_weights(), DECODER)
    x, after = run["target_embedding.sum"], DECODER + "feed_forward_residual.sum"
    yield _recorded("decoder_layer", after, x, run["memory"], decoder_layers, HEADS)
    rows = run[after][:5]  # a row does not see those below it
    yield Case("decoder_layer", (x[:5], run["memory"], decoder_layers, HEADS), after + "[:5]", rows)


def list_decoders() -> Iterator[Case]:
    run, weights = read_recording(), read_single_weights()
    yield _recorded("decode", "last", run.target_ids, run["memory"], weights, HEADS, LAYERS)


def list_losses() -> Iterator[Case]:
    run, table = read_recording(), read_single_weights()["source_embedding.table.weight"]
    exact = run["logits"].astype(np.float64)
    log_p = exact - np.logaddexp.reduce(exact, axis=-1, keepdims=True)
    yield Case("log_probabilities", (run["last"], table), "logits", log_p)
    yield Case("log_probabilities", (np.array([[900.0, -900]]), np.eye(2)))
    few = np.log(np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0.2, 0.2, 0.6]]))
    for targets in ([1, 2, 1], [1, 2, PAD]):
        yield Case("smoothed_loss", (few, np.array(targets), 0.1, PAD))
    yield Case("smoothed_loss", (log_p, np.array(run.predicted_ids), 0.1, PAD))


def list_rates() -> Iterator[Case]:
    for step in (1, 400, 4000, 16_000, 100_000):
        yield Case("learning_rate", (step, 512, 4000))
    yield Case("learning_rate", (100, 64, 2))


def limit_calls(next_token: NextToken) -> NextToken:
    """Return the function, which may be called so many times with one list, and no more."""
    calls = 0

    def limited(ids: Sequence[int]) -> Array:
        nonlocal calls
        calls = 0 if len(ids) == 1 else calls + 1
        if calls > MOST_CALLS:
            raise TooManyCallsError
        return next_token(ids).copy()

    return limited


@cache
def _read_real(ids: tuple[int, ...]) -> Array:
    run, weights = read_recording(), read_single_weights()
    last = find_solution("decode")(list(ids), run["memory"], weights, HEADS, LAYERS)
    table = weights["source_embedding.table.weight"]
    real: Array = find_solution("log_probabilities")(last[-1:], table)[0]
    return real


def make_table(seed: int, tokens: int = 4) -> NextToken:
    """Return a small network for searches: what follows depends on all ids, by chance."""

    def next_token(ids: Sequence[int]) -> Array:
        random = np.random.default_rng([seed, *(int(each) for each in ids)])
        logits = 2 * random.normal(size=tokens)
        return np.asarray(logits - np.logaddexp.reduce(logits))

    return next_token


def write_on(ids: Sequence[int]) -> Array:
    """Return log-probabilities with which the end is never the likeliest token."""
    return np.log(np.array([0.1, 0.1, 0.1, 0.5, 0.2]))


def read_real(ids: Sequence[int]) -> Array:
    """Return the log-probabilities of the token that follows, by the model."""
    return _read_real(tuple(int(each) for each in ids))


def list_greedy_searches() -> Iterator[Case]:
    text = read_recording().predicted_ids[:-1]
    yield Case("greedy", (limit_calls(read_real), BOS, EOS, 16), "translation", text)
    yield Case("greedy", (limit_calls(write_on), BOS, EOS, 5))
    for seed in range(3):
        yield Case("greedy", (limit_calls(make_table(seed)), BOS, EOS, 9))


def list_beam_searches() -> Iterator[Case]:
    for seed, *settings in SEARCHES:
        yield Case("beam_search", (limit_calls(make_table(seed)), BOS, EOS, *settings))
    yield Case("beam_search", (limit_calls(read_real), BOS, EOS, 2, 0.6, 16))


def list_bleus() -> Iterator[Case]:
    pairs = (
        ("the cat sat on the mat today", "the cat is on the mat today"),
        ("the dog sees the cat on the mat", "the dog sees a cat on the mat"),
        ("it was too wide for the animal to cross", "it was too wide for the animal"),
        ("the the the the cat on the mat", "the cat on the mat is here"),
        ("the mat on the cat sat on today", "the cat on the mat sat on today"),
    )
    split = [(first.split(), second.split()) for first, second in pairs]
    for chosen in (split[:1], split[1:2], split[2:3], split[3:4], split, split[2:] + split[:1]):
        yield Case("bleu", ([each for each, _ in chosen], [each for _, each in chosen]))
    yield Case("bleu", ([split[0][0][:5]], [split[0][0]]))
    yield Case("bleu", ([["no"]], [["match", "here"]]))


def list_translations() -> Iterator[Case]:
    for source, target in read_recording().translations.items():
        yield Case("translate", (source, load_weights()), "translation", target)


LISTS = (
    list_embeddings,
    list_positions,
    list_projections,
    list_scores,
    list_softmaxes,
    list_masks,
    list_head_splits,
    list_head_attentions,
    list_norms,
    list_feed_forwards,
    list_residuals,
    list_encoders,
    list_decoder_layers,
    list_decoders,
    list_losses,
    list_rates,
    list_greedy_searches,
    list_beam_searches,
    list_bleus,
    list_translations,
)
