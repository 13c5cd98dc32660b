"""The command `glassformer import`: a model made of another toolkit's."""

from itertools import islice
from pathlib import Path

from glassformer.cli.options import AS_JSON, arg, opt
from glassformer.cli.terminal import to_json
from glassformer.data.files import read_lines


def import_(
    folder: Path = arg("MODEL", "Another toolkit's model: its folder, or one file.", default=...),
    out: Path = opt("FOLDER", "Where the model goes: a new folder.", default=...),
    languages: str | None = opt(
        "PAIR",
        "With a multilingual model: the two languages, like en-fr. With Marian's, if the names of "
        "its files do not say them.",
    ),
    subwords: list[str] | None = opt(
        "FILE",
        "The tokenizer, if the folder does not have it: a SentencePiece model or BPE codes; or "
        "none, for text that is already split into tokens. Twice: source, then target.",
    ),
    grid: str | None = opt(
        "transformers|marian",
        "With MarianMT: the positions of Hugging Face's transformers, or those of its training.",
    ),
    source: Path | None = opt(
        "FILE",
        "Text to translate a line of, and to compare the two grids on, its first 50 lines; a "
        "sentence of ours and random tokens if not given.",
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Import another toolkit's model, to translate with, to look inside and to train further.

    The files show which toolkit it is from: Hugging Face (MarianMT, M2M-100, NLLB, mBART-50),
    Marian, fairseq, OpenNMT-py, Eole or JoeyNMT.

    \b
    glassformer import opus-mt-en-de --out en-de --source test.en
    glassformer import nllb-200-distilled-600M --out en-fr --languages eng_Latn-fra_Latn
    glassformer import my-fairseq-model --out my-model --subwords my-fairseq-model/bpecodes
    """
    texts = None if source is None else list(islice(read_lines(source), 50))
    from ..importing import import_model

    options = {"grid": grid, "languages": languages, "subwords": subwords or (), "texts": texts}
    model = import_model(folder, out, **options)  # type: ignore[arg-type]
    print(to_json(model.to_json()) if as_json else f"{out}: {model}")
