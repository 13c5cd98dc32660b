"""The command `glassformer info`: what a model is."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from glassformer.cli.language import open_reader
from glassformer.cli.options import AS_JSON, MODEL
from glassformer.cli.terminal import to_json
from glassformer.foundation.plurals import tell_count


def info(model: Path = MODEL, as_json: bool = AS_JSON) -> None:
    """Show what a model is: sizes, scores, its origin, and every setting.

    \b
    glassformer info my-model
    """
    from glassformer.model.files.directory import (
        CARD,
        RUN,
        locate,
        name_pair,
        open_model,
        split_pair,
    )
    from glassformer.train.publish.card import list_changed, read_facts
    from glassformer.train.publish.leftovers import measure_run

    config = open_model(model)[0]
    _, pair = split_pair(model)
    first = "-".join(map(str, config.data.pairs[0])) if len(config.data.pairs) > 1 else None
    translator = open_reader(name_pair(model, None if pair else first))
    sizes, card = translator.describe(), read_facts(locate(model))
    run, changed = measure_run(locate(model)), list_changed(locate(model), card)
    if as_json:
        held = {"run": run.to_json()} if run else {}
        print(to_json({**sizes, "card": card, "changed": changed, **held}))
        return
    sizes.pop("settings")
    rows = (
        [("languages", ", ".join("-".join(map(str, pair)) for pair in config.data.pairs))]
        if first
        else []
    )
    rows += [(name.replace("_", " "), _tell(value)) for name, value in sizes.items()]
    if changed:
        are = "is not the file" if len(changed) == 1 else "are not the files"
        message = f"{', '.join(changed)} {are} that {CARD} describes: what it says may be wrong"
        rows.append(("changed", message))
    rows += tell_card(card)
    if run:
        rows.append(("training", f"{locate(model) / RUN} holds {run}; publish leaves it behind"))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")
    print(f"\n{config.to_toml()}", end="")


def tell_card(card: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield scores, training and data as rows; none if the card has no facts."""
    for name, value in card.get("scores", {}).items():
        yield f"valid {name}", f"{value:.2f}"
    if entry := card.get("training"):
        tokens = entry["source_tokens"] + entry["target_tokens"]
        best = f"best after {entry['best_step']:,}"
        if "mean_of" in entry:
            best = f"mean after {', '.join(f'{n:,}' for n in entry['mean_of'])}"
        yield "updates", f"{entry['steps']:,}, {best}"
        yield "tokens seen", f"{tokens:,}"
        yield "CPU-seconds", f"{entry['cpu_seconds']:,.0f}, {entry['device']} {entry['precision']}"
        if entry["frozen"]:
            yield "frozen", ", ".join(entry["frozen"])
    if "counts" in card:
        yield "pairs", card["counts"]
    yield from tell_origin(card)
    if "versions" in card:
        yield "made with", ", ".join(f"{name} {it}" for name, it in card["versions"].items())


def tell_origin(result: Mapping[str, Any], whose: str = "") -> Iterator[tuple[str, str]]:
    """Yield the data as rows, then the model that training started from, with its own origin."""
    for each in result.get("data", ()):
        message = (
            f"{each['name']}, {tell_count(each['lines'], 'line')}, sha256 {each['sha256'][:16]}"
        )
        yield f"{whose}data", message
    if parent := result.get("parent"):
        yield f"{whose}parent", f"{parent['name']}, sha256 {parent['sha256'][:16]}"
        yield from tell_origin(parent, "its ")


def _tell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
