"""Calls of a function on the machines of a Ray cluster, one on each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from glassformer.foundation.machine.device import count_cores

from .ray_job import start_ray

Result = TypeVar("Result")


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster, or this machine (no address), and how many calls are made at a time.

    All its machines need to see the files that a call names under the same paths.
    """

    workers: int
    address: str | None = None

    def call(self, function: Callable[..., Result], calls: Sequence[Sequence[Any]]) -> list[Result]:
        """Return what a function returns for each of these arguments, in their order.

        Here, the calls share the processors; on a cluster, each has as many as this machine has.
        What a call raises is raised here, and the others end.
        """
        cores = count_cores()
        threads = cores if self.address else max(1, cores // self.workers)
        ray = start_ray(self.address, threads * self.workers)
        try:
            remote = ray.remote(
                num_cpus=threads,
                max_retries=1,
                scheduling_strategy="SPREAD",
                runtime_env={"env_vars": {"OMP_NUM_THREADS": str(threads)}},
            )(function)
            results: list[Result] = ray.get([remote.remote(*each) for each in calls])
            return results
        except ray.exceptions.RayTaskError as error:
            raise error.cause or error from None
        finally:
            ray.shutdown()
