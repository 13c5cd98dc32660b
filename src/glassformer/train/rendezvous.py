"""How the processes of a group find each other, also when torchrun starts them anew.

Its store outlives them, and with it the addresses of processes that are dead by then; nor does it
tell them all the same number of attempts. So they agree on a word that was never used before.
"""

from __future__ import annotations

import time
import uuid
from datetime import timedelta

from torch.distributed import PrefixStore, Store  # type: ignore[attr-defined]
from torch.distributed.rendezvous import rendezvous

WORD = "glassformer word"


def meet(patience: timedelta) -> tuple[Store, int, int]:
    """A store of our own, our rank and how many we are."""
    store, rank, size = next(rendezvous("env://", timeout=patience))
    word = propose(store, size, patience) if rank == 0 else agree(store, rank, patience)
    return PrefixStore(word, store), rank, size


def propose(store: Store, size: int, patience: timedelta) -> str:
    """The first says a word, waits until all have heard it, and takes it back."""
    word = uuid.uuid4().hex
    store.set(WORD, word)
    store.wait([f"{word} heard {rank}" for rank in range(1, size)], patience)
    store.set(f"{word} agreed", "")
    store.wait([f"{word} gone {rank}" for rank in range(1, size)], patience)
    store.delete_key(WORD)
    return word


def agree(store: Store, rank: int, patience: timedelta) -> str:
    """The others take the word that is said until all have heard it: an earlier one may be left."""
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
