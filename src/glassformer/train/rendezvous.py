"""The rendezvous: how the processes of a group find each other, also after a restart by torchrun.

The store of torchrun outlives the processes, so it may hold addresses of dead ones; and torchrun
does not give all processes the same number of attempts. So the processes agree on a new random key,
here called a word, as the prefix of their part of the store.
"""

from __future__ import annotations

import time
import uuid
from datetime import timedelta

from torch.distributed import PrefixStore, Store  # type: ignore[attr-defined]
from torch.distributed.rendezvous import rendezvous

WORD = "glassformer word"


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
