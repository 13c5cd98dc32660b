"""Which options have no effect, and when: one table for all verbs.

A condition "with --a" or "without --a or --b" is about the options that the user typed, and the
class `Verb` checks it. Any other condition is known to the verb alone, which calls `refuse`.
"""

from collections.abc import Collection, Iterator

NO_EFFECT = {
    "align": {
        "without --gold": "--gold-order --gold-first",
        "without --reverse or --engine": "--join",
        "without --layer": "--head --row",
        "without --engine": "--learn-from",
        "with --engine": "--layer --head --row --save --reverse --device --json",
    },
    "check-data": {
        "without --fix": "--fix-kinds --keep-best",
        "without --keep-best": "--by-model",
    },
    "evaluate": {
        "without a MODEL": "--training --no-count --output --store --to --model --glossary "
        "--set --no-split --no-guard --lm --device --precision --threads --workers {search}",
        "without several MODELs or --against": "--test",
        "without a MODEL, --worst or --comet": "--source",
        "with several MODELs": "--output --model --training --no-count",
        "without --worst": "--tsv --html --store",
        "with --tsv": "--json",
        "without --contrastive": "--contrastive-by",
        "with --contrastive": "--training --no-count --source --reference --hypothesis --against "
        "--test --intervals --comet --worst --output --set --model --glossary --target-lang "
        "--tokenize --literature --no-split --no-guard --threads --workers {search}",
        "with --robust": "--training --no-count --hypothesis --against --test --intervals --comet "
        "--worst --tsv --html --store --contrastive --output --glossary --tokenize --literature "
        "--seed",
        "on a language model": "--training --no-count --source --reference --hypothesis --against "
        "--test --intervals --comet --worst --tsv --html --store --contrastive --output --set --to "
        "--model --glossary --target-lang --tokenize --literature --no-split --no-guard --threads "
        "--workers {search}",
    },
    "see": {
        "inside one translation": "--mbr --utility",
        "on a saved trace": "--sentence --level --target --prefix --hypothesis --device "
        "--precision {search}",
        "on a language model": "--sentence --target --prefix --hypothesis --edit {search}",
        "without --cell": "--form",
        "without --save": "--compact --parameters",
        "without --picture": "--query --option --output",
        "without --picture or --gallery or --slides or --film": "--lang",
        "with --cell": "--gallery --slides --film --layer --head --top",
        "with --picture": "--json --top --form",
        "with --gallery": "--json --top --layer --head",
        "with --slides": "--json --top --layer --head",
        "with --film": "--json --top --layer --head",
        "with --json": "--layer --head --top --form",
        "with --edit": "--top",
        "with --target": "--prefix --hypothesis --sentence {search}",
        "on a comparison: add --picture": "--layer --head",
    },
    "score": {"on a language model": "--source --target"},
    "serve": {
        "without --log": "--log-text",
        "without --train": "--train-minutes --train-upload --train-disk",
    },
    "train": {
        "without --from": "--new-tokenizer",
        "without --seeds": "--test",
        "without --resume": "--accept-changed-data --accept-changed-settings",
    },
    "translate": {
        "without --engine ray": "--ray-address --shard-lines",
        "with --n-best": "--alignment --confidence",
        "with --engine ray": "--prefix-file --model --glossary --to --alignment --confidence",
    },
}


def refuse(verb: str, typed: Collection[str], where: str) -> None:
    """Raise ValueError for a typed option that has no effect under this condition."""
    for option in list_refused(verb, where):
        if option in typed:
            raise ValueError(f"{option} has no effect {where}")


def refuse_by_others(verb: str, typed: Collection[str]) -> None:
    """Raise ValueError for an option that others make void, or that needs one that is missing."""
    for where in NO_EFFECT.get(verb, {}):
        kind, *words = where.split()
        is_there = any(word in typed for word in words)
        if kind in ("with", "without") and words[0][:2] == "--" and is_there == (kind == "with"):
            refuse(verb, typed, where)


def list_refused(verb: str, where: str) -> Iterator[str]:
    """Yield the options of a verb that have no effect under this condition."""
    for word in NO_EFFECT[verb][where].split():
        yield from _list_search() if word == "{search}" else (word,)


def _list_search() -> Iterator[str]:
    """Yield the options of the search for a translation."""
    from .settings import read_settings

    yield "--seed"
    yield from (each.option for key, each in read_settings().items() if key.startswith("decode."))
