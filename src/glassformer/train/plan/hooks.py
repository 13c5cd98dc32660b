"""Ideas of one's own in a training: a network, a loss, a schedule, a callback, without a fork.

They are handed to `train` from Python, or stand in a file that `--plugin` names, under the names in
PARTS. The settings keep the plugin's name alone, and a model directory holds no code: whoever goes
on with such a training, or translates with such a network, gives the plugin again.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...config import Config, Train
from ...model.variants.plugged import register_network

if TYPE_CHECKING:
    from torch import Tensor

    from ...config import Model
    from ...data.batches import Batch
    from ...engine.kernels.fast import KernelState
    from ...model.encoder_decoder import EncoderDecoder

Loss = Callable[["EncoderDecoder", "Batch", Train, "KernelState"], "Tensor"]
Schedule = Callable[[float, Train, int, int], float]
MakeNetwork = Callable[["Model", int, int], "EncoderDecoder"]

# What a plugin may define, and the hook that it is.
PARTS = {
    "build_network": "network",
    "batch_loss": "loss",
    "rate": "schedule",
    "callback": "callback",
}


@dataclass(frozen=True)
class Event:
    """An update or a validation, as a callback is told of it."""

    kind: Literal["update", "validation"]
    step: int  # updates done
    steps: int  # updates in all, by the latest plan
    values: Mapping[str, Any]  # as run/metrics.jsonl has them
    model: EncoderDecoder  # the network that is trained, or the one that was validated


@dataclass(frozen=True)
class Hooks:
    """Functions that stand in the place of ours; each is called as ours is.

    network: as `model.build_network(settings, source, target)`, and returns an `EncoderDecoder`.
    loss: as `train.run.loss.batch_loss(network, batch, train, kernels)`: the sum over a batch.
    schedule: as `train.plan.schedule.rate(step, train, d_model, steps)`.
    callback: is called with an `Event`; if it returns True, the training ends there.
    """

    network: MakeNetwork | None = None
    loss: Loss | None = None
    schedule: Schedule | None = None
    callback: Callable[[Event], object] | None = None
    name: str = ""  # in the settings; if not given, the names of the functions

    @property
    def told(self) -> str:
        """Return the name under which the settings know these hooks; "" if there are none."""
        own = (self.network, self.loss, self.schedule, self.callback)
        names = [getattr(each, "__name__", type(each).__name__) for each in own if each]
        return self.name or "+".join(names)

    def register(self) -> None:
        """Let `build_network` find the network, if there is one."""
        if self.network:
            register_network(self.told, self.network)

    def sign(self, config: Config) -> Config:
        """Return the settings with the name of these hooks."""
        if not self.told:
            return config
        result = config.changed(train={"plugin": self.told})
        return result.changed(model={"plugin": self.told}) if self.network else result

    def check(self, config: Config) -> None:
        """Raise ValueError if a training with these settings had other hooks."""
        then, now = config.train.plugin or "", self.told
        if then == now:
            return
        if not then:
            raise ValueError(f"this training began without a plugin: leave out {now}")
        raise ValueError(
            f"this training began with the plugin {then}: resume it with --plugin {then}.py, or "
            "from Python with hooks"
        )


NONE = Hooks()


def load_plugin(path: Path | str) -> Hooks:
    """Return the hooks that a Python file defines, after registering its network.

    The file is run: it can do whatever you can. ValueError if it fails, or defines none of PARTS.
    """
    path = Path(path)
    spec = spec_from_file_location(f"glassformer_plugin_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ValueError(f"--plugin {path}: there is no Python file of that name")
    module = sys.modules[spec.name] = module_from_spec(spec)  # where a dataclass looks for it
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"--plugin {path}: {type(error).__name__}: {error}") from error
    plugin = {ours: getattr(module, name) for name, ours in PARTS.items() if hasattr(module, name)}
    own = {ours: each for ours, each in plugin.items() if _is_own(each, module)}
    if not own:
        raise ValueError(f"--plugin {path}: it defines none of {', '.join(PARTS)}")
    hooks = Hooks(**own, name=re.sub(r"\W", "_", path.stem))
    hooks.register()
    return hooks


def _is_own(value: Any, module: Any) -> bool:
    """Return whether the plugin made something itself, and did not only import ours to call it."""
    return not getattr(value, "__module__", module.__name__).startswith("glassformer.")
