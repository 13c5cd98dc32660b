"""Distributed training: the process group that torchrun starts, and its communication.

Every process makes the same updates of the same weights. In each update the micro-batches are
distributed, each process sums the gradients of its own, and the sums are added up (all-reduce).
Loss and gradients are divided by the target tokens of all processes, so the result does not depend
on the distribution. Messages are JSON in tensors; nothing is pickled.

The store of torchrun outlives the processes, so after a restart it may hold addresses of dead ones;
and torchrun does not give all processes the same number of attempts. So the processes `meet`: they
agree on a new random key, here called a word, as the prefix of their part of the store.
"""

import json
import os
import platform
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch import distributed as dist
from torch.distributed import PrefixStore, Store  # type: ignore[attr-defined]
from torch.distributed.rendezvous import rendezvous

from ...config import BOS, EOS, PAD
from ...data.batches import Batch, Batches
from ...foundation.disk import write_text
from ...foundation.machine.device import choose_device

WORD = "glassformer word"
LAUNCH = "launch"  # in the run's folder
PATIENCE = timedelta(minutes=30)  # the timeout of communication, but for preparation
PREPARATION = timedelta(days=7)
BUCKET = 1 << 23  # values added up in one message
TOLD = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
LOST = ("closed by peer", "connection reset", "broken pipe", "timed out", "timeout", "nccl")


@dataclass(frozen=True)
class ProcessGroup:
    """The process group of a training, as one of its processes sees it."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0  # among those on this machine
    local_size: int = 1
    attempt: int = 0  # how often torchrun has restarted the processes
    patient: Any = None  # the same processes with a long timeout

    @property
    def is_first(self) -> bool:
        """Return whether this is the first process, the only one that reports and writes."""
        return self.rank == 0

    def choose_device(self, name: str) -> torch.device:
        """Return the device of this process; each process of a machine has its own GPU."""
        device = choose_device(name)
        if self.size > 1 and device.type == "cuda" and device.index is None:
            if self.local_rank >= torch.cuda.device_count():
                raise ValueError(
                    f"{self.local_size} processes on this machine, but it has "
                    f"{torch.cuda.device_count()} GPUs: start one process for each"
                )
            device = torch.device("cuda", self.local_rank)
            torch.cuda.set_device(device)
        return device

    def deal(
        self, batches: Batches, step: int, gradient_accumulation: int, even: bool = False
    ) -> list[Batch]:
        """Return this process's share of update `step`, counted from 0.

        Micro-batches are distributed in turn while there is one for each process; each of those
        left over is cut by rows for all. With `even`, all processes get equally many, if need be a
        weightless one.
        """
        batches = batches.at(step)
        places = list(enumerate(batches.places(step, gradient_accumulation)))
        whole = len(places) - len(places) % self.size
        mine = [
            batches.batch(*place).numbered(n) for n, place in places[:whole][self.rank :: self.size]
        ]
        for n, place in places[whole:]:
            cut = batches.batch(*place).numbered(n).cut(self.size)[self.rank]
            if len(cut.rows):
                mine.append(cut)
            elif even:
                mine.append(weightless(cut))
        return mine

    def add(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all processes, in place."""
        if self.size == 1:
            return
        with listening():
            waiting = []
            for bucket in _fill_buckets(tensors):
                flat = torch.cat([each.reshape(-1) for each in bucket])
                waiting.append((bucket, flat, dist.all_reduce(flat, async_op=True)))
            for bucket, flat, work in waiting:
                assert work is not None
                work.wait()
                sums = flat.split([each.numel() for each in bucket])
                for each, summed in zip(bucket, sums, strict=True):
                    each.copy_(summed.view_as(each))

    def align(self, tensors: Iterable[Tensor]) -> None:
        """Copy the tensors of the first process to all, since unlike machines round differently."""
        if self.size > 1:
            with listening():
                for each in tensors:
                    dist.broadcast(each.detach(), 0)

    def sum(self, *numbers: float) -> list[float]:
        """Return the sum of each number over all processes."""
        if self.size == 1:
            return list(numbers)
        sums = torch.tensor(numbers, dtype=torch.float64)
        with listening():
            dist.all_reduce(sums)
        return sums.tolist()

    def clock(self) -> float:
        """Return the time of the first process, so that all decide alike."""
        return self.sum(time.perf_counter() if self.is_first else 0.0)[0]

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all processes, in the order of their ranks; any JSON value."""
        if self.size == 1:
            return [value]
        data = json.dumps(value).encode()
        longest = [0.0] * self.size
        longest[self.rank] = len(data)
        letters = int(max(self.sum(*longest)))
        room = torch.frombuffer(bytearray(data.ljust(letters)), dtype=torch.uint8)
        heard = [torch.empty_like(room) for _ in longest]
        with listening():
            dist.all_gather(heard, room)
        return [json.loads(bytes(each.tolist())) for each in heard]

    @contextmanager
    def first_of_all(self) -> Iterator[None]:
        """Run the body in the first process; the others run it after that, unless it failed."""
        if not self.is_first and self._wait(0.0):
            raise ValueError("the first process of this training has ended, and says why")
        try:
            yield
        except BaseException:
            if self.is_first:
                self._wait(1.0)
            raise
        if self.is_first:
            self._wait(0.0)

    def _wait(self, failures: float) -> float:
        """Wait for all processes, with the long timeout; return how many have failed."""
        if self.size == 1:
            return failures
        counts = torch.tensor(failures)
        with listening():
            dist.all_reduce(counts, group=self.patient)
        return counts.item()


ALONE = ProcessGroup()


@contextmanager
def join_group(device: str) -> Iterator[ProcessGroup]:
    """Yield the process group that torchrun started, or one of this process alone."""
    facts = {name: os.environ.get(name, "") for name in TOLD}
    attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
    if not all(facts.values()) or facts["WORLD_SIZE"] == "1":
        yield ProcessGroup(attempt=attempt)
        return
    is_gpu = choose_device(device).type == "cuda"
    with listening():
        store, rank, size = meet(PATIENCE)
        backend = "cpu:gloo,cuda:nccl" if is_gpu else "gloo"
        dist.init_process_group(backend, timeout=PATIENCE, store=store, rank=rank, world_size=size)
        patient = dist.new_group(backend="gloo", timeout=PREPARATION)
    try:
        local_rank, local_size = int(facts["LOCAL_RANK"]), int(facts["LOCAL_WORLD_SIZE"])
        yield ProcessGroup(rank, size, local_rank, local_size, attempt, patient)
    finally:
        dist.destroy_process_group()


def sign(group: ProcessGroup, run: Path) -> None:
    """Write down which launch began this training, for a restart by torchrun."""
    if os.environ.get("TORCHELASTIC_RUN_ID"):
        write_text(run / LAUNCH, _name_launch())


def check_shared(group: ProcessGroup, run: Path) -> None:
    """Raise ValueError if this process does not see the folder that the first one has prepared."""
    if not group.is_first and not run.is_dir():
        raise ValueError(
            f"{run} is not there on {platform.node()}: all machines of a training have to share "
            "the folder that --out or --resume names"
        )


def was_begun_by(group: ProcessGroup, run: Path) -> bool:
    """Return whether this very launch began the training: then a restart may go on with it."""
    note = run / LAUNCH
    return group.attempt > 0 and note.is_file() and note.read_text("utf-8") == _name_launch()


def _name_launch() -> str:
    """Return the run id that was given to torchrun, or else its machine and process id."""
    name = os.environ.get("TORCHELASTIC_RUN_ID", "none")
    return f"{platform.node()} {os.getppid()}" if name == "none" else name


@contextmanager
def listening() -> Iterator[None]:
    """Raise OSError, in one sentence, if another process no longer answers in the body."""
    try:
        yield
    except RuntimeError as error:
        if any(sign in str(error).lower() for sign in LOST):
            raise OSError("another process of this training does not answer any more") from None
        raise


def weightless(batch: Batch) -> Batch:
    """Return a batch of one row with no target token: its loss and gradients are zero."""
    source, target = (
        np.full((1, side.shape[1]), PAD) for side in (batch.source_BS, batch.target_BT)
    )
    source[0, 0], target[0, 0] = EOS, BOS
    return Batch(source, target, np.zeros(1, np.int64), batch.number, (0, 1))


def _fill_buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Yield the tensors in order, in lists of up to BUCKET values for one message each."""
    bucket: list[Tensor] = []
    for each in tensors:
        if bucket and sum(x.numel() for x in bucket) + each.numel() > BUCKET:
            yield bucket
            bucket = []
        bucket.append(each)
    if bucket:
        yield bucket


def meet(patience: timedelta) -> tuple[Store, int, int]:
    """Return a store with a prefix for this start, the rank of this process and the group size."""
    store, rank, size = next(rendezvous("env://", timeout=patience))
    word = propose(store, size, patience) if rank == 0 else agree(store, rank, patience)
    return PrefixStore(word, store), rank, size


def propose(store: Store, size: int, patience: timedelta) -> str:
    """Publish a new word as rank 0; return it when all other ranks have acknowledged it.

    The word is removed from the store then.
    """
    word = uuid.uuid4().hex
    store.set(WORD, word)
    store.wait([f"{word} heard {rank}" for rank in range(1, size)], patience)
    store.set(f"{word} agreed", "")
    store.wait([f"{word} gone {rank}" for rank in range(1, size)], patience)
    store.delete_key(WORD)
    return word


def agree(store: Store, rank: int, patience: timedelta) -> str:
    """Acknowledge the published word as another rank, and return it once all ranks have done so.

    A word of an earlier start may be left in the store: the process follows the word as it changes.
    OSError after `patience`.
    """
    until = time.monotonic() + patience.total_seconds()
    while time.monotonic() < until:
        store.wait([WORD], patience)
        word = store.get(WORD).decode()
        store.set(f"{word} heard {rank}", "")
        while store.check([WORD]) and store.get(WORD).decode() == word:
            if store.check([f"{word} agreed"]):
                store.set(f"{word} gone {rank}", "")
                return word
            time.sleep(0.05)
    raise OSError("not all processes of this training have come: start as many as was said")
