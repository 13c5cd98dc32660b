"""Publishing: a copy of a model without its training, and the size of what is left behind."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glassformer.foundation.disk import (
    check_new,
    prepare_beside,
    put_folder,
    read_json,
    read_text,
    sync_files,
)
from glassformer.foundation.plurals import tell_count
from glassformer.model.files.directory import (
    ALIGNMENT,
    CARD,
    CHARACTERS,
    CONFIG,
    DOUBT,
    GOLDEN,
    HEADS,
    RUN,
    SEPARATE,
    SHARED,
    SHORTLIST,
    WEIGHTS,
    locate,
    open_model,
    write_text,
)
from glassformer.model.files.known_words import WORDS
from glassformer.train.publish.card import FENCE, NEEDED, hash_files, read_facts, write_card
from glassformer.train.publish.golden import write_golden
from glassformer.train.publish.health import examine_model
from glassformer.train.publish.leftovers import Contents, measure_run, tell_size
from glassformer.train.publish.markdown import quote_for_shell

from .hub_readme import README, write_readme
from .int8 import save_int8
from .looks import read_looks

PUBLISHED = (
    *(WEIGHTS, CONFIG, SHARED, *SEPARATE, CHARACTERS),
    *(CARD, DOUBT, GOLDEN, ALIGNMENT, WORDS, HEADS, SHORTLIST),
)
TEXT = """\
# Serves this model without PyTorch: docker build -t {name} . && docker run -p 5000:5000 {name}
# A wheel of your own, put into this folder: --build-arg GLASSFORMER="/model/NAME.whl[serve]"
FROM python:3.12-slim
ARG GLASSFORMER="glassformer[serve]"
COPY . /model
RUN pip install --no-cache-dir "$GLASSFORMER" \\
    && useradd --create-home --uid 10001 server
USER server
ENV PYTHONUNBUFFERED=1
EXPOSE 5000
HEALTHCHECK --start-period=30s CMD ["python", "-c", \\
    "import urllib.request; urllib.request.urlopen('http://localhost:5000/health', timeout=5)"]
CMD ["glassformer", "serve", "/model", "--host", "0.0.0.0", "--port", "5000"]
"""


@dataclass(frozen=True)
class PublishedCopy:
    """A published copy: its files with their bytes, what was left behind, and what it reveals."""

    files: dict[str, int]
    run: Contents | None
    reveals: tuple[str, ...]
    report: Any = None  # on a test text

    def __str__(self) -> str:
        message = [f"{tell_count(len(self.files), 'file')}, {tell_size(sum(self.files.values()))}"]
        if self.run:
            message[0] += f"; left behind: {RUN} with {self.run}"
        return "\n".join([*message, *self.reveals])

    def to_json(self) -> dict[str, Any]:
        run = {"left_behind": self.run.to_json()} if self.run else {}
        test = {"test": self.report.to_json()} if self.report else {}
        return {"files": self.files, **run, "reveals": list(self.reveals), **test}


def publish_model(
    model: Path | str,
    out: Path,
    *,
    int8: bool = False,
    licence: str | None = None,
    datasets: Sequence[str] = (),
    dockerfile: bool = False,
    test: Callable[[Path], Any] | None = None,
    remarks: Sequence[str] = (),
    decode: Mapping[str, Any] | None = None,
) -> PublishedCopy:
    """Copy the files that translating needs, without the training text, to a new folder `out`.

    A README.md is added, as the Hugging Face hub shows it; `licence` and `datasets` stand in it.
    dockerfile: one that serves the copy is added too. int8: the weights are quantized, a quarter
    of fp32; golden translations and card follow them. test: what measures the copy on a test text,
    for card and README. remarks: sentences on the data, for README. decode: settings of the copy's
    own search. ValueError if `out` is there, for a test text that does not fit, or if `doctor`
    would find an error in the copy; then nothing is written.
    """
    folder = locate(model)
    check_new(out)
    config, _, weights = open_model(folder)
    with prepare_beside(out) as scratch:
        whole = scratch / "model"
        whole.mkdir()
        for name in PUBLISHED:
            if (folder / name).is_file():
                shutil.copyfile(folder / name, whole / name)
        if decode:
            write_text(whole / CONFIG, config.changed(decode=decode).to_toml())
        if int8:
            save_int8(weights, whole / WEIGHTS)
        if int8 or decode:
            _follow_files(whole)
        if wrong := [each for each in examine_model(whole) if each.is_wrong]:
            message = "; ".join(f"{each.about}: {each.said}" for each in wrong)
            raise ValueError(
                f"{folder} is not fit to be published ({message}): see glassformer doctor"
            )
        reveals = tuple(_list_revealed(whole))
        report = _measure(whole, test) if test else None
        fields: dict[str, Any] = {"licence": licence, "datasets": datasets}
        fields |= {"report": report, "remarks": remarks}
        name = out.resolve().name
        facts = {**read_facts(whole), "looks": read_looks(folder)}
        if report:
            facts["test"] = report.values
        write_readme(whole, name, config, facts, reveals, **fields)
        if dockerfile:
            write_dockerfile(whole, name)
        sync_files(whole)
        put_folder(whole, out)
    written = (*PUBLISHED, README, DOCKERFILE, IGNORED)
    files = {name: (out / name).stat().st_size for name in written if (out / name).is_file()}
    return PublishedCopy(files, measure_run(folder), reveals, report)


def _measure(folder: Path, test: Callable[[Path], Any]) -> Any:
    """Return what a copy does with a test text, and put the scores into its card."""
    report = test(folder)
    if facts := read_facts(folder):
        write_card(folder, facts | {"test": report.values}, _read_card(folder))
    return report


def _read_card(folder: Path) -> str:
    """Return what a card with facts tells people."""
    return read_text(folder / CARD).split(f"{FENCE}\n", 2)[2]


def _follow_files(folder: Path) -> None:
    """Make golden translations and card of a copy anew, after its files have changed."""
    if (folder / GOLDEN).is_file():
        golden = read_json(folder / GOLDEN)
        write_golden(folder, [line["source"] for line in golden["lines"]], golden.get("pair"))
    facts = read_facts(folder)
    if "sha256" in facts:
        text = None if facts.keys() >= NEEDED else _read_card(folder)  # that of a soup, say
        write_card(folder, {**facts, "sha256": hash_files(folder)}, text)


def _list_revealed(folder: Path) -> Iterator[str]:
    """Yield one sentence for each thing that the files reveal of the training text."""
    names = [str(each["name"]) for each in read_facts(folder).get("data", ())]
    if names:
        yield f"{CARD} names the files of the training ({', '.join(names)}) with lines and SHA-256"
    if (folder / GOLDEN).is_file():
        lines = len(read_json(folder / GOLDEN)["lines"])
        yield (
            f"{GOLDEN} holds {lines} sentences of the validation text with their translations: "
            "doctor compares them, and the model works without the file"
        )
    if (folder / WORDS).is_file():
        yield f"{WORDS} lists the source words of the training text; the model works without it"
    if (folder / HEADS).is_file():
        yield f"{HEADS} lists tokens that heads read in the sentences they were measured on"
    if (folder / SHORTLIST).is_file():
        yield f"{SHORTLIST} lists which tokens stood beside which in the text it was made from"
    yield "the tokenizer knows words of the training text, as its vocabulary"


DOCKERFILE, IGNORED = "Dockerfile", ".dockerignore"


def write_dockerfile(folder: Path, name: str) -> None:
    """Write a Dockerfile to the folder of a model that is called `name`."""
    write_text(folder / DOCKERFILE, TEXT.format(name=quote_for_shell(name)))
    write_text(folder / IGNORED, f"{DOCKERFILE}\n{IGNORED}\nREADME.md\n")
