"""A pool of threads that do the same work, each with its share of the processor."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch


def share(work: Callable[[], None], workers: int, stop: Callable[[], object]) -> None:
    """Call `work` in as many threads as there are workers, and wait for all of them.

    After the first error `stop` is called, which must empty the queue, and the error is raised
    again. PyTorch keeps its number of threads and the inference mode for each thread separately,
    so both are set in each.
    """
    if workers <= 1:
        work()
        return
    all_threads, records = torch.get_num_threads(), not torch.is_inference_mode_enabled()

    def begin() -> None:
        torch.set_num_threads(max(1, all_threads // workers))
        try:
            with torch.inference_mode(not records):
                work()
        except BaseException:
            stop()
            raise

    try:
        with ThreadPoolExecutor(workers, thread_name_prefix="search") as pool:
            try:
                for future in [pool.submit(begin) for _ in range(workers)]:
                    future.result()
            except BaseException:
                stop()
                raise
    finally:
        torch.set_num_threads(all_threads)
