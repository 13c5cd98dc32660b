"""A network that is a table: any source and any beginning have logits of their own."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from torch import Tensor

EOS = 2
Ids = tuple[int, ...]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Tensors are tiny here: threads would only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@dataclass
class State:
    sources: list[Ids]  # one a row
    given: list[Ids]  # BOS first
    beams: int = 1

    @property
    def length_R(self) -> Tensor:
        return torch.tensor([len(given) for given in self.given])


@dataclass
class Oracle:
    """Speaks the search protocol, and checks that it is spoken to as the protocol says.

    The logits are drawn from a generator keyed by the source and all the tokens before, so that
    one bit of a mix-up of rows changes everything, and nothing else does.
    """

    seed: int = 0
    vocabulary: int = 7
    spread: float = 2.0
    eos: float = 0.0  # added to the logit of EOS
    calls: list[str] = field(default_factory=list)
    most_at_work: int = 0  # rows times the longest source among them

    def logits(self, source: Sequence[int], given: Sequence[int]) -> Tensor:
        key = zlib.crc32(repr((self.seed, tuple(source), tuple(given))).encode())
        numbers = np.random.default_rng(key).standard_normal(self.vocabulary)
        numbers[EOS] += self.eos
        return torch.tensor(self.spread * numbers, dtype=torch.float32)

    def log_probs(self, source: Sequence[int], given: Sequence[int]) -> list[float]:
        return self.logits(source, given).double().log_softmax(-1).tolist()

    def start(self, source_BS: Tensor) -> State:
        self.calls.append("start")
        sources = self._read(source_BS)
        return State(sources, [()] * len(sources))

    def step(self, tokens_RQ: Tensor, state: State) -> Tensor:
        assert tokens_RQ.dtype == torch.int64 and len(tokens_RQ) == len(state.given)
        self.calls.append(f"step {tokens_RQ.size(1)}")
        at_work = len(tokens_RQ) * max(map(len, state.sources))
        self.most_at_work = max(self.most_at_work, at_work)
        rows = []
        for row, tokens in enumerate(tokens_RQ.tolist()):
            logits = []
            for token in tokens:
                state.given[row] += (token,)
                logits.append(self.logits(state.sources[row], state.given[row]))
            rows.append(torch.stack(logits))
        return torch.stack(rows)

    def keep(self, rows: Tensor, state: State) -> None:
        self.calls.append("keep")
        places = rows.tolist()
        sentences = [place // state.beams for place in places]
        stay = sorted(set(sentences))
        beams = len(places) // len(stay)
        assert sentences == [sentence for sentence in stay for _ in range(beams)]
        state.sources = [state.sources[place] for place in places]
        state.given = [state.given[place] for place in places]
        state.beams = beams

    def admit(self, source_BS: Tensor, state: State) -> None:
        self.calls.append("admit")
        for source in self._read(source_BS):
            state.sources += [source] * state.beams
            state.given += [()] * state.beams

    def rewind(self, length_R: Tensor, state: State) -> None:
        self.calls.append("rewind")
        for row, length in enumerate(length_R.tolist()):
            assert length <= len(state.given[row])
            state.given[row] = state.given[row][:length]

    def _read(self, source_BS: Tensor) -> list[Ids]:
        assert source_BS.dtype == torch.int64
        sources = [tuple(token for token in row if token) for row in source_BS.tolist()]
        padded = [len(source) * [1] + (source_BS.size(1) - len(source)) * [0] for source in sources]
        assert source_BS.bool().long().tolist() == padded, "padding belongs on the right"
        return sources


@pytest.fixture
def oracle() -> type[Oracle]:
    return Oracle


@pytest.fixture
def sources() -> list[list[int]]:
    """Two dozen sources of 0 to 9 tokens, in no order, one of them twice."""
    draw = np.random.default_rng(5)
    made = [[*draw.integers(3, 7, draw.integers(0, 10)).tolist(), EOS] for _ in range(22)]
    return [*made, [EOS], made[0]]
