"""The checks before a training is resumed: changed settings, changed data, damaged files."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from ...config import Config
from ...data.files import Fingerprint, take_fingerprint
from ...data.holdout import leave_out
from ...data.sources import Corpora
from ...data.store import Store
from ...foundation.disk import write_json
from ...foundation.progress import Reporter
from ...foundation.typed_json import check_type
from ...model.files.directory import CHECKPOINTS, CONFIG, RECORD, RUN, open_tokenizers
from ..plan.ideas import find_ideas
from ..plan.plan import PLAN
from ..plan.preparation import encode_corpus, find_corpora
from ..plan.run_folder import read_record, read_settings, read_valid, write_settings
from .checkpoint import checkpoints, set_damaged_aside, settings_of

# Settings, by prefixes of their names. A setting in none of these lists changes what is learned
# from here on: it can be changed only with --accept-changed-settings.
SAFE = (
    "decode.",
    "text.split_above",
    "train.keep",
    "train.deterministic",
    "train.gradient_checkpointing",
    "train.compile",
    "train.checkpoint_every",
    "train.validate_every",
    "train.patience",
    "train.watch",
    "train.shard",
)
DURATION = ("train.steps", "train.minutes", "train.epochs")
INCOMPATIBLE = {
    "data.augment.": "",
    "model.dropout": "",
    "model.attention_dropout": "",
    "model.activation_dropout": "",
    "model.": "the weights have the old shape",
    "text.": "the tokens and the store were made with it",
    "data.": "the store was made with it",
    "size": "the weights have the old shape",
    "recipe": "the settings were chosen when this began",
    "train.optimizer": "what the optimizer remembers is of no use to the other",
    "train.lora": "what the optimizer remembers is of no use to the other",
    "train.ema": "the average was kept with it from the beginning",
}


def look_before(
    out: Path,
    report: Reporter,
    changes: Sequence[str] = (),
    *,
    accept_data: bool = False,
    accept_settings: bool = False,
) -> None:
    """Make a run ready to be resumed. ValueError, in one sentence, if it cannot be."""
    folder, record = out / RUN, read_record(out)
    set_damaged_aside(folder / CHECKPOINTS, report.say)
    _check_settings(folder, record, report, changes, accept_settings)
    if "fingerprints" in record:
        _check_data(folder, record, report, accept_data)


def _check_settings(
    folder: Path, record: dict[str, Any], report: Reporter, changes: Sequence[str], accepted: bool
) -> None:
    """Compare the settings with those of the last checkpoint; report changes or raise ValueError.

    So a change by hand in the settings file counts as well.
    """
    result = checkpoints(folder / CHECKPOINTS)
    kept = read_settings(folder, record)
    now = _apply_changes(kept, changes, str(folder / CONFIG))
    then = (settings_of(result[-1]) if result else None) or kept
    is_timed = now.train.steps is None and now.train.epochs is None
    if is_timed and then.train.steps and result and not (folder / PLAN).is_file():
        raise ValueError("this training began with steps: set train.steps or train.epochs")
    differing = compare_settings(then, now)
    is_made = "fingerprints" in record  # tokens and store
    for name, (old, new) in differing.items():
        message = f"{name} was {tell_value(old)} and is now {tell_value(new)}"
        reason = _find_reason(name)
        if reason and is_made:
            raise ValueError(f"{message}, but {reason}: leave it, or begin anew in another folder")
        if result and reason is not None and not accepted:
            raise ValueError(
                f"{message}: this changes what is learned from here on; "
                "if it is meant, add --accept-changed-settings"
            )
        report.say(f"Changed: {message}")
    if changes:
        write_settings(folder, now)


def _apply_changes(config: Config, changes: Sequence[str], name: str) -> Config:
    """Return the settings of a run with `changes` on top; a given end replaces another."""
    ends = {change.partition("=")[0].strip() for change in changes} & {*DURATION}
    if ends:
        others = {*DURATION} - ends
        config = config.changed(train={name.partition(".")[2]: None for name in others})
    raw = config.model_dump(exclude_unset=True, exclude_none=True)
    return Config.read(raw, changes, name=name)


def compare_settings(then: Config, now: Config) -> dict[str, tuple[Any, Any]]:
    """Return the old and the new value of each setting that differs, by its dotted name."""
    old, new = _flatten(then.model_dump(mode="json")), _flatten(now.model_dump(mode="json"))
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return {n: (old.get(n), new.get(n)) for n in names if n != "text.split_above"}


def sign_learning(config: Config, record: dict[str, Any]) -> str:
    """Return a digest of the data and of the settings that decide what is learned from them.

    The duration of the training is not one of these.
    """
    flat = _flatten(config.model_dump(mode="json"))
    facts = {n: value for n, value in flat.items() if not n.startswith((*SAFE, *DURATION))}
    text = json.dumps([facts, record.get("fingerprints")], sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]


def _flatten(raw: dict[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in raw.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{above}{name}.")
        else:
            flat[above + name] = value
    return flat


def _find_reason(name: str) -> str | None:
    """Return why a setting cannot change; "" if it must be accepted, None if it is safe."""
    if name.startswith(SAFE):
        return None
    return next((why for start, why in INCOMPATIBLE.items() if name.startswith(start)), "")


def tell_value(value: Any) -> str:
    return "not set" if value is None else str(value)


def _check_data(folder: Path, record: dict[str, Any], report: Reporter, accepted: bool) -> None:
    """Compare the data files with those that the store was made of, and encode changed ones again.

    If the files are gone, the store is used. ValueError if they changed and this was not accepted.
    """
    config = read_settings(folder, record)
    train = _find_again(record, config)
    if train is None:
        report.say("The data are not where they were; the copy in the store is used")
        return
    prints = check_type(record["fingerprints"], list[Fingerprint], RECORD)
    known: list[Fingerprint | None] = [*prints]
    if len(prints) != len(train.files):
        known = [{each.name: each for each in prints}.get(path.name) for path in train.files]
    changed = [
        f"{path} ({change})"
        for path, then in zip(train.files, known, strict=True)
        if (change := _tell_change(then, take_fingerprint(path)))
    ]
    if changed and not accepted:
        raise ValueError(
            f"{' and '.join(changed)} changed since this training began: put back what it was, or "
            "add --accept-changed-data to learn from the new text from here on"
        )
    if changed:
        report.say(f"Changed: {' and '.join(changed)}; what follows learns from it as it is now")
    elif _is_whole(folder):
        return
    else:
        report.say(f"{folder / 'store'} is damaged: it is made again from the data")
    _encode_again(folder, config, train, record, report)


def _find_again(record: dict[str, Any], config: Config) -> Corpora | None:
    """Return the training text; None if its files are gone or it was the standard input."""
    try:
        return None if record["data"] == ["-"] else find_corpora(record, config)[0]
    except (ValueError, OSError):
        return None


def _tell_change(old: Fingerprint | None, new: Fingerprint) -> str:
    if old is None:
        return "not there then"
    if old.lines != new.lines:
        return f"{old.lines:,} lines, now {new.lines:,}"
    return "" if old.sha256 == new.sha256 else f"{new.lines:,} lines as before, but other text"


def _encode_again(
    folder: Path, config: Config, train: Corpora, record: dict[str, Any], report: Reporter
) -> None:
    """Encode the text again with the same tokenizers; held-out pairs stay held out."""
    prints = train.fingerprints()
    if find_corpora(record, config)[1] is None:
        train = leave_out(train, zip(*read_valid(folder), strict=True))
    for idea in find_ideas(config, record):
        train = idea.choose_targets(folder, train, record, report)
    counts = encode_corpus(folder, config, train, open_tokenizers(folder, config), prints, report)
    facts = {"fingerprints": [asdict(each) for each in prints], "counts": str(counts)}
    write_json(folder / RECORD, {**record, **facts})


def _is_whole(folder: Path) -> bool:
    try:
        Store.open(folder / "store")
    except ValueError:
        return False
    return True
