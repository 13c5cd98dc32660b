"""Snapshots of a model during training, kept in run/watch/ to be examined later.

gradients.jsonl        each noted step: the norm of the gradient of every block, before clipping
sentences.json         the watched sentences: the first validation pairs that are not long
00000008.safetensors   after 8 updates, of the weights that validation uses, per sentence n:
                       n.<attention>.weights H Q M, of one pass over the reference, and either
                       n.log_probabilities T V or, with a vocabulary over WHOLE, n.top_ids and
                       n.top_log_probabilities T K, n.reference_log_probabilities T, n.entropy T
00000008.json          the translations, greedy

Row t of a distribution predicts token t of the reference, the last row its end. Logarithms are
natural, numbers fp16, ids int32. Snapshots are taken at steps 0, 1, 2, 4, 8 ... and at each
validation: as many of them, and of as many sentences, as fit into MOST_BYTES.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from ...config import BOS, EOS, Config, Decode
from ...decode import NotFiniteError
from ...foundation.tap import record as watch
from ...foundation.typed_json import read_typed
from ...model.encoder_decoder import EncoderDecoder
from ...model.files.directory import Tokenizers, write_json, write_text
from ...model.files.tensors import load_tensors, save_tensors
from ...translator import Translator
from .sharding import whole
from .updates import Updater

WATCH, GRADIENTS, SENTENCES = "watch", "gradients.jsonl", "sentences.json"
MOST_BYTES = 20 * 10**6
WHOLE = 1024  # the largest vocabulary of which every probability is kept
TOP = 16
LONGEST = 48  # tokens a side
NOTES, EVERY = 500, 20  # lines of gradients in a long training; updates between them in a short one
# An untrained model seldom predicts the end.
GREEDY = Decode().override({"search": "greedy", "max_extra": 10})


@dataclass(frozen=True)
class WatchedSentence:
    """A watched sentence with its reference, as text and as tokens."""

    source: str
    reference: str
    source_tokens: list[str]  # the last is the end mark
    reference_tokens: list[str]


@dataclass(frozen=True)
class SnapshotFacts:
    """The content of the JSON file beside the tensors of a snapshot."""

    step: int
    translations: list[str]


@dataclass(frozen=True)
class Snapshot:
    step: int
    translations: list[str]
    tensors: dict[str, Tensor]


class Watch:
    """A recorder of snapshots; it draws no random number and changes no weight."""

    def __init__(
        self,
        run: Path,
        config: Config,
        tokenizers: Tokenizers,
        valid: tuple[Sequence[str], Sequence[str]],
        steps: int,
        validate_every: int,
    ):
        self.folder, self.config, self.tokenizers = run / WATCH, config, tokenizers
        self.every = max(EVERY, steps // NOTES)
        planned = plan_snapshots(steps, range(validate_every, steps, validate_every))
        tag = config.data.tag
        self.tags = tokenizers.source.find_tags([tag] if tag else [])
        result = [] if config.model.is_language_model else self._choose(*valid)
        largest = max([1, *map(self._count_bytes, result)])
        self.affordable = MOST_BYTES // largest  # recordings of one sentence, over all snapshots
        self.sentences = result[: max(1, self.affordable // len(planned))]
        self.follow(planned)

    def follow(self, planned: Sequence[int]) -> None:
        """Plan snapshots at these steps, or at as many of them as MOST_BYTES allows."""
        stride = -(-len(planned) // max(1, self.affordable))
        self.steps = set(planned[::stride]) if self.sentences else set()

    def begin(self, step: int) -> None:
        """Continue after `step`: remove later snapshots, since a lower rate makes others."""
        if self.config.train.watch:
            self.folder.mkdir(exist_ok=True)
            for path in self.folder.glob("*.safetensors"):
                if int(path.stem) > step:
                    path.unlink()
                    path.with_suffix(".json").unlink(missing_ok=True)
            cut_after(self.folder / GRADIENTS, step)
            write_json(self.folder / SENTENCES, [asdict(each) for each in self.sentences])

    @contextmanager
    def listen(self, step: int, updater: Updater) -> Iterator[dict[str, float]]:
        """Yield a dict that the body, update `step`, fills with the clipped norm of each block."""
        norms: dict[str, float] = {}
        if not self.config.train.watch or (step % self.every and step not in self.steps):
            yield norms
            return
        hook = updater.optimizer.register_step_pre_hook(
            lambda *_: norms.update(measure_blocks(updater.model))
        )
        try:
            yield norms
        finally:
            hook.remove()

    def note(self, step: int, norms: dict[str, float], total: float) -> None:
        """Write the norms, unclipped: `total` is that of the whole gradient before clipping."""
        if norms:
            scale = total / max(math.hypot(*norms.values()), 1e-30)
            line = {"step": step, "total": total, **{k: v * scale for k, v in norms.items()}}
            with (self.folder / GRADIENTS).open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    def take_snapshot(self, step: int, model: EncoderDecoder) -> None:
        """Take a snapshot, if one is due and not there yet.

        A network whose logits are not finite gets none.
        """
        path = self.folder / f"{step:08d}.safetensors"
        if step not in self.steps or path.is_file():
            return
        device = next(model.parameters()).device
        translator = Translator(
            self.config, self.tokenizers, model, device=str(device), precision="fp32"
        )
        sources = [each.source for each in self.sentences]
        try:
            best = translator.search(sources, decode=GREEDY, split=False)
        except NotFiniteError:
            return
        snapshot = [each.text for (each,) in best]
        tensors: dict[str, Tensor] = {}
        for number, each in enumerate(self.sentences):
            for name, tensor in self._record(each, model, device).items():
                tensors[f"{number}.{name}"] = tensor
        write_json(path.with_suffix(".json"), asdict(SnapshotFacts(step, snapshot)))
        save_tensors(path, tensors)

    def _record(
        self, each: WatchedSentence, model: EncoderDecoder, device: torch.device
    ) -> dict[str, Tensor]:
        """Return the tensors of one teacher-forced pass over the reference."""
        source = [*self.tags, *self.tokenizers.source.encode(each.source), EOS]
        target = self.tokenizers.target.encode(each.reference)
        ids = [torch.tensor([row], device=device) for row in (source, [BOS, *target])]
        expected_T = torch.tensor([*target, EOS], device=device)
        with torch.inference_mode(), watch(model, keep=is_attention) as (view, trace):
            result = view(*ids)[0].float().log_softmax(-1)
        kept = {name: values[0][0].half() for name, values in trace.items()}
        if result.size(-1) <= WHOLE:
            return {**kept, "log_probabilities": result.half()}
        values, top = result.topk(TOP)
        return {
            **kept,
            "top_ids": top.int(),
            "top_log_probabilities": values.half(),
            "reference_log_probabilities": result.gather(-1, expected_T[:, None])[:, 0].half(),
            "entropy": -(result.exp() * result).sum(-1).half(),
        }

    def _choose(self, sources: Sequence[str], references: Sequence[str]) -> list[WatchedSentence]:
        """Return the first pairs of which no side is long, as many as `train.watch`."""
        results: list[WatchedSentence] = []
        for pair in zip(sources, references, strict=True):
            if len(results) == self.config.train.watch:
                break
            coders = (self.tokenizers.source, self.tokenizers.target)
            tokens = [
                [coder.token(id) for id in (*tags, *coder.encode(text), EOS)]
                for coder, text, tags in zip(coders, pair, (self.tags, ()), strict=True)
            ]
            if max(map(len, tokens)) <= min(LONGEST, self.config.model.positions.max_positions):
                results.append(WatchedSentence(*pair, *tokens))
        return results

    def _count_bytes(self, each: WatchedSentence) -> int:
        """Return the size in bytes of a snapshot of one sentence."""
        s, t = len(each.source_tokens), len(each.reference_tokens)
        model, vocabulary = self.config.model, len(self.tokenizers.target)
        weights = model.encoder_layers * s * s + model.decoder_layers * t * (s + t)
        kept = 2 * vocabulary if vocabulary <= WHOLE else 6 * TOP + 4
        return 2 * model.heads * weights + t * kept


def plan_snapshots(steps: int, validations: Iterable[int]) -> list[int]:
    """Return the steps of snapshots: 0, 1, 2, 4, 8 ..., each validation and the end."""
    doubling = [1 << n for n in range(steps.bit_length())]
    return sorted({0, *doubling, *validations, steps})


def is_attention(name: str) -> bool:
    return name.endswith("attention.weights")


def measure_blocks(model: nn.Module) -> dict[str, float]:
    """Return the gradient norm of each block: `encoder.0`, `decoder_norm`, `source_embedding`."""
    blocks: dict[str, list[Tensor]] = defaultdict(list)
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            first, second, *_ = [*name.split("."), ""]
            blocks[f"{first}.{second}" if second.isdigit() else first].append(parameter.grad)
    return {name: whole(nn.utils.get_total_norm(each)).item() for name, each in blocks.items()}


def read_snapshots(run: Path) -> Iterator[Snapshot]:
    """Yield the snapshots of a training, the oldest first; `run` is the folder in its directory."""
    for path in sorted((run / WATCH).glob("*.safetensors")):
        snapshots = read_typed(path.with_suffix(".json"), SnapshotFacts)
        yield Snapshot(snapshots.step, snapshots.translations, load_tensors(path))


def cut_after(path: Path, step: int) -> None:
    """Remove the lines after `step`: they are from an interrupted run, and are written again."""
    kept = []
    if path.is_file():
        for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
            try:
                is_old = json.loads(line)["step"] <= step
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # incomplete, after a kill or a loss of power
            if is_old:
                kept.append(line + "\n")
    write_text(path, "".join(kept))
