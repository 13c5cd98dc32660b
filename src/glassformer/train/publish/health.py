"""The checks of `glassformer doctor`: of this machine, and of a model directory."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...engine.shortlist import Shortlist
from ...foundation.machine.properties import OPTIONAL, Machine
from ...foundation.plurals import tell_count
from ...foundation.shared_library import PROBE, SharedLibrary
from ...model.files.directory import (
    ALIGNMENT,
    CARD,
    CONFIG,
    EVALUATION,
    GOLDEN,
    HEADS,
    SEPARATE,
    SHARED,
    SHORTLIST,
    WEIGHTS,
    Tokenizers,
    locate,
    open_model,
    read_findings,
    tell_tokenizers,
)
from ...model.files.known_words import WORDS, check_known_words
from .card import hash_file, read_facts
from .golden import check_golden

LITTLE_MEMORY, LITTLE_DISK = 2.0, 2.0  # GiB


@dataclass(frozen=True)
class HealthFinding:
    """The result of one check; `advice` if something can be improved, `is_wrong` if it must be."""

    about: str
    said: str
    advice: str = ""
    is_wrong: bool = False


def examine_machine(
    machine: Machine,
    versions: Mapping[str, str | None],
    libraries: Mapping[str, SharedLibrary] | None = None,
) -> list[HealthFinding]:
    """Return the results of all checks of this machine; `libraries` are those in C, by name."""
    return [
        HealthFinding("processor", f"{machine.processor}, {tell_count(machine.cores, 'core')}"),
        *_examine_libraries(libraries or {}),
        *_examine_torch(machine),
        _examine_room("memory", machine.memory, LITTLE_MEMORY, "lower train.batch_tokens"),
        _examine_room("free disk", machine.disk, LITTLE_DISK, "make room before training"),
        HealthFinding(
            "versions", ", ".join(f"{name} {result}" for name, result in versions.items() if result)
        ),
        *(
            HealthFinding(name, "not installed", f'if wanted: pip install "glassformer[{extra}]"')
            for name, extra in OPTIONAL.items()
            if not versions.get(name)
        ),
    ]


def _examine_torch(machine: Machine) -> list[HealthFinding]:
    if not machine.threads:
        advice = 'to train and to look inside: pip install "glassformer[train]"'
        return [HealthFinding("PyTorch", "not installed: models translate without", advice)]
    return [_examine_threads(machine), _examine_precision(machine), _examine_gpu(machine)]


def _examine_threads(machine: Machine) -> HealthFinding:
    advice = ""
    if machine.threads < machine.cores:
        advice = f"unset OMP_NUM_THREADS to use all {machine.cores} cores"
    if machine.threads > machine.cores:
        advice = f"set OMP_NUM_THREADS={machine.cores}: more threads than cores are slower"
    return HealthFinding("threads", f"torch computes with {machine.threads}", advice)


def _examine_precision(machine: Machine) -> HealthFinding:
    vectors = machine.vectors + (" with AMX" if machine.has_amx else "")
    taken = "no fast bf16, so training takes fp32, some 2x slower"
    if machine.has_bf16:
        taken = "bf16, the faster, is what training takes"
    return HealthFinding("precision", f"{vectors}; {taken}")


def _examine_libraries(libraries: Mapping[str, SharedLibrary]) -> Iterator[HealthFinding]:
    """Yield which instruction sets the libraries run with, and why no better ones."""
    there: dict[str, list[str]] = defaultdict(list)
    refused: dict[str, list[str]] = defaultdict(list)
    for name, each in libraries.items():
        if each.handle and name != PROBE:
            there[f"{each.instruction_set}, {each.origin}"].append(name)
        for instruction_set, why in each.refused:
            refused[f"{instruction_set}: {why}" if instruction_set else why].append(name)
    for kind, names in there.items():
        yield HealthFinding("code in C", f"{kind} ({', '.join(sorted(names))})")
    for why, names in refused.items():
        advice = "install gcc or clang, or glassformer anew: without, PyTorch computes, slower"
        yield HealthFinding("code in C", f"{', '.join(sorted(names))} not for {why}", advice)


def _examine_gpu(machine: Machine) -> HealthFinding:
    if machine.gpus:
        return HealthFinding("GPU", "; ".join(machine.gpus))
    if machine.has_nvidia_driver:
        advice = "install torch for CUDA, as https://pytorch.org/get-started says for your driver"
        return HealthFinding("GPU", "there is an NVIDIA driver, but torch cannot use it", advice)
    return HealthFinding("GPU", "none that torch can use")


def _examine_room(about: str, gib: float | None, least: float, advice: str) -> HealthFinding:
    if gib is None:
        return HealthFinding(about, "this system does not tell")
    return HealthFinding(about, f"{gib:.1f} GiB", advice if gib < least else "")


def examine_model(model: Path | str) -> list[HealthFinding]:
    """Return the results of all checks of a model: complete, unchanged, same translations."""
    folder = locate(model)
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder")
    known, damage = _read_digests(folder)
    results = [_examine_file(folder / name, known.get(name)) for name in _expect_files(folder)]
    results += [*damage, *_examine_measurements(folder)]
    try:
        _, tokenizers, weights = open_model(folder)
    except (ValueError, OSError) as error:
        return [*results, HealthFinding("loading", str(error), "get the files anew", is_wrong=True)]
    tokens = sorted({len(tokenizers.source), len(tokenizers.target)})
    message = f"{weights.parameters:,} parameters, {' and '.join(f'{n:,}' for n in tokens)} tokens"
    loaded = [HealthFinding("loading", f"{message}, all finite numbers"), _examine_golden(folder)]
    return [*results, *loaded, *_examine_shortlist(folder, tokenizers)]


def _read_digests(folder: Path) -> tuple[dict[str, str], list[HealthFinding]]:
    """Return the SHA-256 of each file as the card says it, and what is wrong with the card."""
    try:
        known = read_facts(folder).get("sha256")
    except ValueError as error:
        advice = "get it anew: without it, no file is compared with what it was"
        return {}, [HealthFinding("facts", str(error), advice, is_wrong=True)]
    return known if isinstance(known, dict) else {}, []


def _expect_files(folder: Path) -> tuple[str, ...]:
    is_separate = any((folder / name).exists() for name in SEPARATE)
    words = (WORDS,) if (folder / WORDS).exists() else ()
    return (WEIGHTS, CONFIG, *(SEPARATE if is_separate else (SHARED,)), CARD, GOLDEN, *words)


def _examine_measurements(folder: Path) -> Iterator[HealthFinding]:
    """Yield what is wrong with the files that are read if they are there."""
    for name in (ALIGNMENT, HEADS, EVALUATION):
        try:
            read_findings(folder, name)
        except (ValueError, OSError) as error:
            yield HealthFinding(name, str(error), "delete it, or measure anew", is_wrong=True)
    try:
        check_known_words(folder)
    except (ValueError, OSError) as error:
        advice = "get it anew, or delete it: the model works without"
        yield HealthFinding(WORDS, str(error), advice, is_wrong=True)


def _examine_shortlist(folder: Path, tokenizers: Tokenizers) -> Iterator[HealthFinding]:
    if not (folder / SHORTLIST).exists():
        return
    sizes = len(tokenizers.source), len(tokenizers.target)
    try:
        result = Shortlist(folder / SHORTLIST, sizes, tell_tokenizers(tokenizers))
        yield HealthFinding(SHORTLIST, f"{result.common} tokens for any sentence, and likely ones")
    except (ValueError, OSError) as error:
        advice = "delete it, or make it anew with glassformer shortlist"
        yield HealthFinding(SHORTLIST, str(error), advice, is_wrong=True)


def _examine_file(path: Path, known: str | None) -> HealthFinding:
    if not path.is_file():
        is_needed = path.name not in (CARD, GOLDEN)
        return HealthFinding(path.name, "missing", "get it anew" if is_needed else "", is_needed)
    try:
        digest = hash_file(path)
    except ValueError as error:
        return HealthFinding(path.name, str(error), "get it anew", is_wrong=True)
    message = f"{path.stat().st_size:,} bytes, sha256 {digest[:16]}"
    if known is None:
        return HealthFinding(path.name, message)
    if digest != known:
        advice = f"{CARD} says sha256 {known[:16]}: the file has changed since it was made"
        return HealthFinding(path.name, message, advice, is_wrong=True)
    return HealthFinding(path.name, f"{message}, as {CARD} says")


def _examine_golden(folder: Path) -> HealthFinding:
    if not (folder / GOLDEN).is_file():
        return HealthFinding("golden", "none to compare with")
    try:
        wrong = check_golden(folder)
    except ValueError as error:
        return HealthFinding("golden", str(error), "get it anew", is_wrong=True)
    if wrong:
        advice = "the weights, the versions or this machine differ from those that made it"
        return HealthFinding("golden", "; ".join(wrong), advice, is_wrong=True)
    return HealthFinding("golden", "every stored translation comes out as it did")
