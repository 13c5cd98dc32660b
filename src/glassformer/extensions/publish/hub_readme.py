"""The README.md of a published model, as the Hugging Face hub shows it: facts in YAML, then text.

The YAML's values are JSON, so that nothing has to be installed to write or to read it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from glassformer.config import Config
from glassformer.foundation.plurals import tell_count
from glassformer.model.files.directory import write_text
from glassformer.train.publish.markdown import escape_markdown, quote_for_shell

from .languages import counts_characters, name_score, spell_language
from .limits import list_limits
from .looks import tell_looks

README = "README.md"
# The hub's names of licences of data and of models; any other is named beside "other".
LICENCES = {
    *("apache-2.0", "mit", "bsd-3-clause", "gpl-3.0", "agpl-3.0", "lgpl-3.0", "mpl-2.0"),
    *("cc0-1.0", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0"),
    *("cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0", "cc-by-nc-nd-4.0", "cc-by-nd-4.0"),
    *("odbl", "openrail", "unlicense"),
}
# The hub's names of scores.
METRICS = {"bleu": "bleu", "chrf2": "chrf", "chrf2++": "chrf", "chrf++": "chrf", "ter": "ter"}


def write_readme(
    folder: Path,
    name: str,
    config: Config,
    facts: Mapping[str, Any],
    reveals: Sequence[str],
    *,
    licence: str | None = None,
    datasets: Sequence[str] = (),
    report: Any = None,
    remarks: Sequence[str] = (),
) -> None:
    """Write README.md of the model in `folder`, to be called `name`.

    facts: those of its card, of which any may be missing. reveals: sentences on what the files tell
    of the training text. licence: the hub's name of one, or any other; None: that of the card.
    datasets: names of data sets on the hub. report: on a test text. remarks: sentences on the data.
    """
    licence = licence or facts.get("licence")
    head = _list_facts(name, config, facts, licence, datasets)
    lines = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in head)
    measured = [f"## On {tell_count(report.lines, 'test line')}\n\n{report}"] if report else []
    rows = report.robustness.rows if report and report.robustness else ()
    limits = [] if config.model.is_language_model else [*list_limits(folder, config, rows, report)]
    if limits:
        measured.append("## What it cannot do\n\n" + "\n".join(f"- {each}" for each in limits))
    body = _write_body(name, config, facts, measured, reveals, licence, remarks)
    write_text(folder / README, f"---\n{lines}---\n{body}")


def _list_facts(
    name: str,
    config: Config,
    facts: Mapping[str, Any],
    licence: str | None,
    datasets: Sequence[str],
) -> list[tuple[str, Any]]:
    languages = _list_languages(config)
    kind = "translation" if not config.model.is_language_model else "text-generation"
    head: list[tuple[str, Any]] = [("language", languages)] if languages else []
    if licence:
        known = licence.lower().replace(" ", "-")
        if known in LICENCES:
            head.append(("license", known))
        else:
            named = re.sub(r"[^a-z0-9.]+", "-", licence.lower()).strip("-")
            head += [("license", "other"), ("license_name", named)]
    head += [("library_name", "glassformer"), ("pipeline_tag", kind)]
    head.append(("tags", [kind, config.model.network, "glassformer"]))
    if datasets:
        head.append(("datasets", list(datasets)))
    results = _list_results(config, facts)
    if results:
        head.append(("metrics", list(dict.fromkeys(m["type"] for m in results[0]["metrics"]))))
        head.append(("model-index", [{"name": name, "results": results}]))
    return head


def _list_languages(config: Config) -> list[str]:
    codes = (code for pair in config.data.pairs for code in pair)
    return list(dict.fromkeys(spell_language(code) for code in codes if code))


def _list_results(config: Config, facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the scores as the hub's index of models has them, with sacreBLEU's signature."""
    results = []
    signed = next(iter(facts.get("scores", ())), None)  # the score that the signature is of
    for key, text in (("scores", "validation text"), ("test", "test text")):
        metrics = [
            {"type": METRICS[metric.lower()], "name": metric, "value": round(value, 2)}
            | (
                {"args": {"signature": facts["signature"]}}
                if metric == signed and "signature" in facts
                else {}
            )
            for metric, value in facts.get(key, {}).items()
            if metric.lower() in METRICS
        ]
        if metrics:
            task = {"type": "translation", "name": tell_pair(config)}
            dataset = {"type": "text", "name": text}
            results.append({"task": task, "dataset": dataset, "metrics": metrics})
    return results


def tell_pair(config: Config) -> str:
    """Return what a model translates: "en to de"."""
    pairs = (" to ".join(code or "?" for code in pair) for pair in config.data.pairs)
    return ", ".join(dict.fromkeys(pairs))


def _write_body(
    name: str,
    config: Config,
    facts: Mapping[str, Any],
    measured: Sequence[str],
    reveals: Sequence[str],
    licence: str | None,
    remarks: Sequence[str],
) -> str:
    use = _USE.format(name=quote_for_shell(name), quoted=json.dumps(name, ensure_ascii=False))
    parts = [f"# {escape_markdown(name)}", _tell_what(config, facts), use]
    origins = list_origins(facts)
    if data := _list_data(facts):
        lines = [f"{facts.get('counts', 'Files')}:", "", *data]
        for each in origins:
            lines += ["", f"The training started from {_name_origin(each)}, made from:", ""]
            lines += _list_data(each)
        lines += [line for each in remarks for line in ("", escape_markdown(each))]
        parts.append("## Data\n\n" + "\n".join(lines))
    by_characters = counts_characters(config.data.target_lang)
    scores = [
        f"| {text} | {name_score(metric, by_characters)} | {value:.2f} |"
        for key, text in (("scores", "validation"), ("test", "test"))
        for metric, value in facts.get(key, {}).items()
    ]
    if scores:
        table = ["| text | score | value |", "|---|---|--:|", *scores]
        if "signature" in facts and facts.get("scores"):
            table += ["", f"Signature of {next(iter(facts['scores']))}: `{facts['signature']}`"]
        if remark := tell_looks(max(facts.get("looks", {}).values(), default=0)):
            table += ["", f"A test text: {remark}."]
        parts.append("## Scores\n\n" + "\n".join(table))
    parts += measured
    message = "\n".join(f"- {escape_markdown(each)}" for each in reveals)
    parts.append(f"## What these files tell of the training text\n\n{message}")
    sentence = licence or "Not said. Mind the licence of the data: the weights were made from it."
    names = dict.fromkeys(_name_origin(each) for each in origins if each.get("licence"))
    mind = f"\n\nIt was made from {' and '.join(names)}: mind that licence, too." if names else ""
    parts.append(f"## Licence\n\n{escape_markdown(sentence)}{mind}")
    return "\n\n".join(parts) + "\n"


def list_origins(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the models that a training started from, and those that these started from."""
    own = [*([facts["parent"]] if facts.get("parent") else ()), *facts.get("initial", ())]
    return [each for one in own for each in (one, *list_origins(one))]


def _name_origin(origin: Mapping[str, Any]) -> str:
    licence = f" ({origin['licence']})" if origin.get("licence") else ""
    return escape_markdown(f"{origin['name']}{licence}")


def _list_data(facts: Mapping[str, Any]) -> list[str]:
    """Return a line for each file that a model was made from."""
    return [
        f"- {escape_markdown(each['name'])}: {tell_count(each['lines'], 'line')}, "
        f"sha256 {each['sha256']}"
        for each in facts.get("data", ())
    ]


def _tell_what(config: Config, facts: Mapping[str, Any]) -> str:
    size = f" with {facts['parameters']:,} parameters" if "parameters" in facts else ""
    pair = escape_markdown(tell_pair(config))
    soup = len(facts.get("soup", ()))
    mean = f" Its weights are the mean of {soup} models' (a model soup)." if soup else ""
    return f"A {config.model.network} network{size}: {pair}.{mean} More in card.md."


_USE = """## Use

```sh
pip install glassformer
hf download YOUR-NAME/{name} --local-dir {name}
echo "..." | glassformer translate {name}
glassformer serve {name}
```

```python
from glassformer.translator import Translator

print(Translator.load({quoted}).translate("..."))
```"""
