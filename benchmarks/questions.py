"""Answer questions by experiment: what each part of a Transformer is good for.

    python -m benchmarks questions V107 V111
    python -m benchmarks questions V110 --task scan --seeds 1 2 3
    python -m benchmarks questions V107 --task multi30k --data DIR --out RUNS
    python -m benchmarks questions --pages

Each question is a list of settings, which are trained with several seeds on each task. What is
measured is added to docs/questions.json after each training, and what is there already is not
trained again, so that a run may be stopped and begun anew. --pages writes the tables of
docs/questions.md and docs/questions.zh.md from that file, and what the pictures V107-V111 draw.

The small tasks are those of small_tasks.py. multi30k trains the size tiny with `glassformer.train`
for --steps updates on DIR/train.{en,de} and scores the BLEU of DIR/test2016; its settings, of a
larger network, are those of question_multi30k.py. multi30k-time, which comes after it, gives each
setting as much processor time instead as those updates took without changes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import torch

from glassformer.model.files.directory import write_text

from .question_multi30k import TRANSLATION, Setting, measure_translation
from .small_tasks import TASKS, measure_task

HOME = Path(__file__).parents[1]
FOUND = HOME / "docs" / "questions.json"
DRAWN = (
    HOME / "src" / "glassformer" / "extensions" / "pictures" / "questions.json"
)  # of pictures V107-V111
PAGES = {"en": HOME / "docs" / "questions.md", "zh": HOME / "docs" / "questions.zh.md"}
Row = dict[str, Any]
ALIKE = 0.05  # an update that costs so little more or less: equal updates are equal time

PLAIN: Setting = ("default: 4 heads, d_ff 64", "默认：4 个头，d_ff 64", {})
WITHOUT = {"layout": "none"}

TRANSLATED = ("multi30k", "multi30k-time")
# The settings of each question, with what they are called in English and in Chinese.
QUESTIONS: dict[str, list[Setting]] = {
    "V107": [
        ("added", "相加", {}),
        ("multiplied", "相乘", {"positions": {"combine": "multiply"}}),
        ("concatenated", "拼接", {"positions": {"combine": "concatenate"}}),
        ("without positions", "没有位置", {"positions": WITHOUT}),
    ],
    "V108": [
        ("sine and cosine", "正弦和余弦", {}),
        ("sine alone", "只有正弦", {"positions": {"layout": "sine"}}),
    ],
    "V109": [
        PLAIN,
        ("2 layers a side", "每侧 2 层", {"encoder_layers": 2, "decoder_layers": 2}),
        ("3 layers a side", "每侧 3 层", {"encoder_layers": 3, "decoder_layers": 3}),
        ("d_ff 16", "d_ff 16", {"d_ff": 16}),
        ("d_ff 256", "d_ff 256", {"d_ff": 256}),
        ("1 head, d_k 32", "1 个头，d_k 32", {"heads": 1}),
        ("8 heads, d_k 4", "8 个头，d_k 4", {"heads": 8}),
        ("1 head, d_k 8", "1 个头，d_k 8", {"heads": 1, "head_width": 8}),
        ("8 heads, d_k 8", "8 个头，d_k 8", {"heads": 8, "head_width": 8}),
    ],
    "V110": [
        PLAIN,
        ("without feed-forward", "没有前馈层", {"ablate": ["feed_forward"]}),
        (
            "without, 2 layers",
            "没有前馈层，2 层",
            {"ablate": ["feed_forward"], "encoder_layers": 2, "decoder_layers": 2},
        ),
    ],
    "V111": [
        (
            f"amplitude {size:g}",
            f"幅度 {size:g}",
            {"positions": {"amplitude": size}} if size != 1 else {},
        )
        for size in (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
    ],
    "parts": [
        PLAIN,
        ("without residuals", "没有残差", {"ablate": ["residual"]}),
        ("without norms", "没有归一化", {"ablate": ["norm"]}),
        ("without 1/√d_k", "不除以 √d_k", {"ablate": ["scale"]}),
        ("without positions", "没有位置", {"positions": WITHOUT}),
    ],
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("questions", nargs="*", metavar="V107", help=", ".join(QUESTIONS))
    parser.add_argument("--task", nargs="+", default=["reverse"], choices=[*TASKS, *TRANSLATED])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--data", type=Path, help="of multi30k: the folder with train, test2016")
    parser.add_argument("--out", type=Path, help="of multi30k: where the models go")
    parser.add_argument("--steps", type=int, default=300, help="of multi30k: updates")
    parser.add_argument("--pages", action="store_true", help="write the tables of the two pages")


def main(options: argparse.Namespace) -> None:
    for name in options.questions:
        if name not in QUESTIONS:
            raise ValueError(f"{name}: one of {', '.join(QUESTIONS)}")
    torch.set_num_threads(1)
    for seed in options.seeds:
        for name in options.questions:
            for task in options.task:
                for _, _, settings in list_settings(name, task):
                    answer(options, task, settings, seed)
    if options.pages:
        write_pages(read_rows())


def list_settings(name: str, task: str) -> list[Setting]:
    """Return the settings of a question, which on translation are of another size."""
    return TRANSLATION[name] if task in TRANSLATED else QUESTIONS[name]


def answer(options: argparse.Namespace, task: str, settings: dict[str, Any], seed: int) -> None:
    """Train with these settings and keep what was measured, unless that is there already."""
    if find_rows(read_rows(), task, settings, seed):
        return
    if task in TASKS:
        found: Mapping[str, float | None] = measure_task(TASKS[task](), settings, seed)
    elif task == "multi30k":
        found = measure_translation(options, settings, seed, options.steps)
    else:
        steps = find_equal_steps(read_rows(), settings, options.steps)
        if abs(steps / options.steps - 1) < ALIKE:
            return
        found = measure_translation(options, settings, seed, steps)
    row = {"task": task, "settings": settings, "seed": seed, **found}
    lines = ",\n".join(json.dumps(each) for each in [*read_rows(), row])
    write_text(FOUND, f"[\n{lines}\n]\n")
    print(json.dumps(row), flush=True)


def find_equal_steps(rows: list[Row], settings: dict[str, Any], steps: int) -> int:
    """Return the updates that take as long as `steps` without changes: the median over seeds."""
    usual, own = (
        {
            row["seed"]: row["milliseconds"]
            for row in find_rows(rows, "multi30k", each)
            if row["loss"] is not None
        }
        for each in ({}, settings)
    )
    shared = usual.keys() & own.keys()
    if not shared:
        raise ValueError(f"multi30k-time needs the times that multi30k has measured: {settings}")
    return round(steps * median(usual[seed] / own[seed] for seed in shared))


def read_rows() -> list[Row]:
    """Return all that was measured."""
    if not FOUND.is_file():
        return []
    found: list[Row] = json.loads(FOUND.read_text(encoding="utf-8"))
    return found


def find_rows(
    rows: list[Row], task: str, settings: dict[str, Any], seed: int | None = None
) -> list[Row]:
    """Return what was measured of a task with these settings, with one seed or with all."""
    wanted = spell_settings(settings)
    return [
        row
        for row in rows
        if row["task"] == task
        and spell_settings(row["settings"]) == wanted
        and seed in (None, row["seed"])
    ]


def spell_settings(settings: dict[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True)


def write_pages(rows: list[Row]) -> None:
    """Put the tables into the pages, between the marks `<!-- V107 -->` and `<!-- end -->`."""
    for language, page in PAGES.items():
        text = page.read_text(encoding="utf-8")
        for name in QUESTIONS:
            begin, end = f"<!-- {name} -->\n", "<!-- end -->"
            before, _, after = text.partition(begin)
            text = before + begin + render_table(rows, name, language) + end
            text += after.partition(end)[2]
        write_text(page, text)
    write_text(DRAWN, json.dumps(gather_runs(rows), ensure_ascii=False, indent=1) + "\n")


def gather_runs(rows: list[Row]) -> dict[str, list[Row]]:
    """Return the settings of each pictured question with what each training of them got right."""
    return {
        name: [
            {"en": english, "zh": chinese}
            | {
                task: [row["exact"] for row in found]
                for task in TASKS
                if (found := find_rows(rows, task, settings)) and _is_compared(rows, name, task)
            }
            for english, chinese, settings in lines
        ]
        for name, lines in QUESTIONS.items()
        if name != "parts"
    }


def _is_compared(rows: list[Row], name: str, task: str) -> bool:
    """Return whether several settings of a question were trained on a task."""
    return sum(bool(find_rows(rows, task, settings)) for _, _, settings in QUESTIONS[name]) > 1


HEADS = {
    "en": ("setting", "right", "tokens right", "loss", "parameters", "ms an update", "seeds"),
    "zh": ("设置", "整句正确", "词元正确", "损失", "参数", "每次更新毫秒", "种子数"),
}


UPDATES = {"en": "updates", "zh": "更新次数"}


def render_table(rows: list[Row], name: str, language: str) -> str:
    """Return the tables of a question, one for each task that was run."""
    parts = []
    for task in [*TASKS, *TRANSLATED]:
        lines = [*render_rows(rows, name, task, language)]
        if len(lines) > 1 or (lines and task == TRANSLATED[1]):  # one row compares nothing
            head = [*HEADS[language]]
            if task in TRANSLATED:
                head[1:3] = ["BLEU"]
            if task == TRANSLATED[1]:
                head[4] = UPDATES[language]
            parts += [
                f"`{task}`",
                "",
                f"| {' | '.join(head)} |",
                "|---|" + "--:|" * (len(head) - 1),
            ]
            parts += [*lines, ""]
    return "\n".join(parts) + "\n" if parts else ""


def render_rows(rows: list[Row], name: str, task: str, language: str) -> Iterator[str]:
    for english, chinese, settings in list_settings(name, task):
        found = find_rows(rows, task, settings)
        if not found:
            continue
        shown = {"bleu": ""} if task in TRANSLATED else {"exact": " %", "tokens": " %"}
        ended = [row for row in found if row["loss"] is not None]
        diverged = {"en": ", {n} diverged", "zh": "，{n} 次发散"}[language]
        fastest = min((f"{row['milliseconds']:.1f}" for row in ended), key=float, default="-")
        cells = [
            chinese if language == "zh" else english,
            *(tell_spread([row[key] for row in found], unit) for key, unit in shown.items()),
            f"{mean(row['loss'] for row in ended):.3f}" if ended else "-",
            f"{ended[0]['parameters']:,}" if ended else "-",
            f"{found[0]['steps']:,}" if task == TRANSLATED[1] else fastest,
            f"{len(found)}" + diverged.format(n=len(found) - len(ended)) * (ended != found),
        ]
        yield f"| {' | '.join(cells)} |"


def tell_spread(values: list[float], unit: str) -> str:
    """Return the mean, and the standard deviation of several."""
    spread = f" ± {stdev(values):.1f}" if len(values) > 1 else ""
    return f"{mean(values):.1f}{spread}{unit}"
