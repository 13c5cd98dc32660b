"""Write docs/settings.md from the settings in config.py: `python docs/settings.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

from glassformer.cli.effects import NO_EFFECT, list_refused
from glassformer.cli.settings import Setting, find_field, read_settings
from glassformer.config import Config
from glassformer.foundation.settings.table import SettingField

PAGE = Path(__file__).with_suffix(".md")
PAPER = re.compile(r" \(paper ([\d.]+(?:: \d+)?)\)")
KINDS = {int: "whole number", float: "number", str: "text", bool: "true or false"}
HEAD = "| setting | option | default | values | meaning | paper |\n|---|---|---|---|---|---|"
INTRO = """# Settings

These are all settings of a model, its training and its search. You can write them into the TOML
file that `train` reads; each model has them in its `config.toml`. Each setting is also an option:
those of decode are options of `translate`, `evaluate` and `see`, all others of `train`. `--set`
sets one by its key:

```
glassformer train --data data/train --valid data/valid --source-lang en --target-lang de \\
    --out my-model --label-smoothing 0.05 --dropout 0.3 --set decode.beam=4
```

If you name no recipe and no file, `train` uses the recipe auto, which chooses what you do not set,
for the data and the machine. The column *paper* names the section of
[Attention Is All You Need](https://arxiv.org/abs/1706.03762) that describes the setting. The
paper's value is the default, except where this column has another.

`data.corpus`, several corpora, and `data.stage`, stages of a curriculum, are lists of tables: see
[several corpora](corpora.md).

This page is written by `python docs/settings.py`."""
OUTRO = """## Settings and options without an effect

A setting or an option that cannot have an effect is refused, in one sentence that says why. So is
an option of another kind of search: the temperature, for example, belongs to `sample`."""


def render() -> str:
    """Return the page."""
    top = [Setting(name, name, Config.list_fields()[name]) for name in ("recipe", "size")]
    parts = [INTRO, f"## Above the tables\n\n{HEAD}\n" + "\n".join(map(render_row, top))]
    for table, field in Config.list_fields().items():
        rows = [each for key, each in read_settings().items() if key.startswith(f"{table}.")]
        if rows:
            says = (field.annotation.__doc__ or "").split("\n")[0]
            parts.append(f"## {table}\n\n{says}\n\n{HEAD}\n" + "\n".join(map(render_row, rows)))
    return "\n\n".join([*parts, OUTRO, render_needs(), f"{render_effects()}\n"])


def render_row(setting: Setting) -> str:
    """Return the row of a setting in its table."""
    said = setting.field.description
    section = PAPER.search(said)
    cells = (
        f"`{setting.key.partition('.')[2] or setting.key}`",
        f"`{setting.option}`" if setting.key != "recipe" else "first word",
        show_value(setting.field.default),
        show_values(setting),
        PAPER.sub("", said).replace("|", "\\|").replace("<", "&lt;"),
        section[1] if section else "",
    )
    return f"| {' | '.join(cells)} |"


def show_value(value: Any) -> str:
    """Return a default as TOML has it; nothing for one that is not given."""
    if isinstance(value, tuple):
        return f"`[{', '.join(map(str, value))}]`"
    if value is None:
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def show_values(setting: Setting) -> str:
    """Return what a setting can be: words, or the kind and the range of a number."""
    if setting.values:
        return ", ".join(f"`{each}`" for each in setting.values)
    if get_origin(setting.kind) is tuple:
        first, *others = get_args(setting.kind)
        return f"list, each a {KINDS[first]}" if ... in others else f"two, each a {KINDS[first]}"
    return ", ".join([KINDS[setting.kind], *show_limits(setting.field)])


def show_limits(field: SettingField) -> Iterator[str]:
    """Yield the bounds of a number; those of memory's sake, with many digits, as powers."""
    words = {"ge": "from", "gt": "above", "le": "to", "lt": "below"}
    for name, said in words.items():
        if name in field.limits:
            yield f"{said} {show_bound(field.limits[name])}"


def show_bound(value: float) -> str:
    if value >= 1 << 17 and value & (int(value) - 1) == 0:
        return f"2^{value.bit_length() - 1}"
    power = len(str(value)) - 1
    return f"10^{power}" if value >= 10_000 and value == 10**power else f"{value:,}"


def render_needs() -> str:
    """Return the table of settings that have an effect only if another one has some value."""
    found: dict[str, list[str]] = {}
    for key in read_settings():
        parts = key.split(".")
        for above in range(1, len(parts)):  # a whole table may need something, as model.rnn does
            if need := find_field(".".join(parts[: above + 1])).needs:
                found.setdefault(".".join([*parts[:above], need]), []).append(f"`{key}`")
    shown = {need: need.replace("|", " or ").replace("!=", " other than ") for need in found}
    rows = [f"| {' '.join(keys)} | {shown[need]} |" for need, keys in found.items()]
    return "\n".join(["| settings | need |", "|---|---|", *rows])


def render_effects() -> str:
    """Return the table of options that have no effect."""
    rows = ["| command | options | have no effect |", "|---|---|---|"]
    for verb, conditions in NO_EFFECT.items():
        for where in conditions:
            options = " ".join(f"`{each}`" for each in list_refused(verb, where))
            rows.append(f"| `{verb}` | {options} | {where} |")
    return "\n".join(rows)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
