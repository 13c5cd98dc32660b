"""One token at a time equals all at once, whatever a search asks for and in whatever order."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from glassformer.model import kv_cache
from glassformer.model.transformer import Transformer

Check = Callable[..., None]
V = 29


@pytest.fixture(autouse=True)
def no_gradients(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(kv_cache, "GROWTH", 3)  # caches grow again and again
    with torch.inference_mode():
        yield


class Program:
    """A search that asks at random, and remembers what each row has been given."""

    def __init__(self, network: Transformer, seed: int, equal: Check):
        self.network, self.equal = network, equal
        self.draw = random.Random(seed)
        self.log: list[str] = []
        sources = self.make_sources(self.draw.randint(1, 4))
        self.state = network.start(self.pad(sources))
        self.rows = [(source, []) for source in sources]

    def make_sources(self, count: int) -> list[list[int]]:
        return [self.make_ids(self.draw.randint(1, 9)) for _ in range(count)]

    def make_ids(self, count: int) -> list[int]:
        return [self.draw.randrange(1, V) for _ in range(count)]

    def pad(self, rows: list[list[int]]) -> Tensor:
        width = max(map(len, rows)) + self.draw.randint(0, 2)
        return torch.tensor([row + [0] * (width - len(row)) for row in rows])

    def step(self) -> None:
        """Q new tokens; each row's logits against a full pass over its own history, alone."""
        queries = self.draw.randint(1, 3)
        new = [self.make_ids(queries) for _ in self.rows]
        self.log.append(f"step {queries}")
        logits_RQV = self.network.step(torch.tensor(new), self.state)
        self.rows = [(s, given + n) for (s, given), n in zip(self.rows, new, strict=True)]
        for row, (source, given) in enumerate(self.rows):
            full_TV = self.network(torch.tensor([source]), torch.tensor([given]))[0]
            self.equal(logits_RQV[row], full_TV[-queries:], row=row, log=self.log)

    def keep(self) -> None:
        """Some sentences stay, with as many rows each as it pleases, repeated or not."""
        beams = self.state.beams
        sentences = len(self.rows) // beams
        staying = sorted(self.draw.sample(range(sentences), self.draw.randint(1, sentences)))
        wanted = self.draw.randint(1, 3)
        rows = [s * beams + self.draw.randrange(beams) for s in staying for _ in range(wanted)]
        self.log.append(f"keep {rows}")
        self.network.keep(torch.tensor(rows), self.state)
        self.rows = [self.rows[row] for row in rows]

    def admit(self) -> None:
        sources = self.make_sources(self.draw.randint(1, 2))
        self.log.append(f"admit {len(sources)}")
        self.network.admit(self.pad(sources), self.state)
        self.rows += [(source, []) for source in sources for _ in range(self.state.beams)]

    def rewind(self) -> None:
        lengths = [self.draw.randint(0, len(given)) for _, given in self.rows]
        self.log.append(f"rewind {lengths}")
        self.network.rewind(torch.tensor(lengths), self.state)
        self.rows = [(s, given[:n]) for (s, given), n in zip(self.rows, lengths, strict=True)]

    def run(self, length: int) -> None:
        for _ in range(length):
            self.draw.choice([self.step, self.step, self.keep, self.admit, self.rewind])()
            assert self.state.length_R.tolist() == [len(given) for _, given in self.rows]
        self.step()


@pytest.mark.parametrize("seed", range(6))
def test_any_program_equals_the_full_pass(network: Transformer, seed: int, equal: Check) -> None:
    program = Program(network, seed, equal)
    program.run(25)
    assert {word.split()[0] for word in program.log} == {"step", "keep", "admit", "rewind"}


def test_rows_of_unequal_prefixes(network: Transformer, equal: Check) -> None:
    """A short row is padded on the right and cut back, as the protocol has it."""
    source_BS = torch.tensor([[5, 6, 2], [7, 2, 0]])
    state = network.start(source_BS)
    logits_RQV = network.step(torch.tensor([[1, 9, 8], [1, 0, 0]]), state)
    network.rewind(torch.tensor([3, 1]), state)
    next_RQV = network.step(torch.tensor([[4], [3]]), state)
    for row, given in enumerate([[1, 9, 8, 4], [1, 3]]):
        full_TV = network(source_BS[row : row + 1], torch.tensor([given]))[0]
        equal(logits_RQV[row, : len(given) - 1], full_TV[:-1])
        equal(next_RQV[row], full_TV[-1:])


def test_a_dead_row_is_finite(network: Transformer) -> None:
    state = network.start(torch.tensor([[5, 6, 2]]))
    for _ in range(4):
        assert network.step(torch.tensor([[0]]), state).isfinite().all()


def test_memory_exists_once_a_sentence(network: Transformer) -> None:
    state = network.start(torch.tensor([[5, 6, 2], [7, 2, 0]]))
    network.keep(torch.tensor([0, 0, 0, 1, 1, 1]), state)
    network.step(torch.ones(6, 1, dtype=torch.long), state)
    assert state.beams == 3
    for layer in state.layers:
        assert [len(x) for x in (*layer.source, *layer.own)] == [2, 2, 6, 6]


@pytest.mark.parametrize("rows", [[0, 1, 2], [0, 2, 1, 3], [2, 3, 0, 1]])
def test_keep_refuses_what_would_mix_up_sentences(network: Transformer, rows: list[int]) -> None:
    state = network.start(torch.tensor([[5, 6, 2], [7, 2, 0]]))
    network.keep(torch.tensor([0, 0, 1, 1]), state)
    with pytest.raises(ValueError, match="in order, the same number"):
        network.keep(torch.tensor(rows), state)


def test_logits_are_the_callers(network: Transformer) -> None:
    """fp32, and free to write on: the next step is not touched."""
    expected, given = [], torch.tensor([[1], [4], [7]])
    for spoil in (False, True):
        state = network.start(torch.tensor([[5, 6, 2]]))
        for number, tokens in enumerate(given):
            logits_RQV = network.step(tokens[None], state)
            assert logits_RQV.dtype == torch.float32
            expected.append(logits_RQV.clone())
            if spoil:
                assert torch.equal(logits_RQV, expected[number])
                logits_RQV.fill_(float("-inf"))
