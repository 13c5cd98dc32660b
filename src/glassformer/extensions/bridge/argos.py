"""Export of models as packages of Argos Translate, which LibreTranslate serves too.

A package is a zip archive of a folder with metadata.json, a CTranslate2 model and one model of
SentencePiece for both sides.
"""

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from glassformer.extensions.foreign_tokenizers.sentencepiece_writer import write_sentencepiece
from glassformer.foundation.disk import check_new, prepare_beside
from glassformer.foundation.version import __version__
from glassformer.model.files.directory import Tokenizers, open_model, split_pair
from glassformer.text import Tokenizer
from glassformer.text.function_words import name_language

from .ctranslate2 import export_ctranslate2
from .exporting import choose_pair, refuse_tag
from .parity import Parity, Progress

SUFFIX = ".argosmodel"
README = """# {source} to {target}

Made with glassformer {version}. Install: argospm install {file}
"""


@dataclass(frozen=True)
class ArgosPackage:
    """The result of an export: the comparison of CTranslate2, and that of the tokens."""

    parity: Parity
    lines: int
    same_tokens: int  # lines that SentencePiece cuts as we do; 0 of 0 if it is not installed

    def __str__(self) -> str:
        cut = f"; the same tokens in {self.same_tokens} of {self.lines} lines" if self.lines else ""
        return f"{self.parity}{cut}"


def export_argos(
    model: Path | str,
    out: Path,
    *,
    quantization: str = "int8",
    texts: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> ArgosPackage:
    """Write `model` as the package `out`, whose name ends with .argosmodel.

    It is compared as by `export_ctranslate2`; with `texts`, tokens are compared too, if
    SentencePiece is installed. ValueError, in one sentence, for what a package cannot have.
    """
    if out.suffix != SUFFIX:
        raise ValueError(f"{out}: the name of a package ends with {SUFFIX}")
    check_new(out, "file")
    whole, tokenizers, _ = open_model(model)
    config = choose_pair(model, whole)
    refuse_tag(model, config, "a package")
    codes = config.data.source_lang, config.data.target_lang
    if None in codes:
        advice = "set source_lang and target_lang in [data] of its config.toml"
        if len(whole.data.pairs) > 1:
            pair = "-".join(map(str, whole.data.pairs[0]))
            advice = f"name one pair, as in {split_pair(model)[0]}@{pair}"
        raise ValueError(f"{model} does not say its languages, which a package has to: {advice}")
    if tokenizers.source.vocabulary != tokenizers.target.vocabulary:
        raise ValueError(
            f"{model} has a vocabulary for each side, and a package one for both: train it with "
            "text.shared=true"
        )
    source, target = (str(code) for code in codes)
    with prepare_beside(out) as scratch:
        name = f"translate-{source}_{target}"
        folder = scratch / name
        folder.mkdir()
        write_sentencepiece(tokenizers.source, folder / "sentencepiece.model")
        parity = export_ctranslate2(
            model,
            folder / "model",
            quantization=quantization,
            texts=texts,
            progress=progress,
            spell=spell_sentencepiece,
        )
        same = _compare_tokens(folder / "sentencepiece.model", tokenizers, texts or ())
        _write_metadata(folder, source, target, out.name)
        Path(shutil.make_archive(str(scratch / "package"), "zip", scratch, name)).rename(out)
    return ArgosPackage(parity, len(texts or ()) if same is not None else 0, same or 0)


def spell_sentencepiece(tokenizer: Tokenizer) -> list[str]:
    """Return the vocabulary as SentencePiece spells it, with ▁ for a space."""
    return [token.replace(" ", "▁") for token in tokenizer.vocabulary]


def _compare_tokens(path: Path, tokenizers: Tokenizers, texts: Sequence[str]) -> int | None:
    """Return how many texts SentencePiece cuts as we do; None if it is not installed."""
    try:
        from sentencepiece import SentencePieceProcessor
    except ImportError:
        return None
    model = SentencePieceProcessor(model_file=str(path))
    ours = tokenizers.source.encode_many(texts)
    return sum(model.encode(text) == row for text, row in zip(texts, ours, strict=True))


def _write_metadata(folder: Path, source: str, target: str, file: str) -> None:
    names = [name_language(code) for code in (source, target)]
    version = ".".join(re.findall(r"\d+", __version__)[:2])
    facts = {
        "package_version": version,
        "argos_version": "1.5",
        "from_code": source,
        "from_name": names[0],
        "to_code": target,
        "to_name": names[1],
        "type": "translate",
    }
    (folder / "metadata.json").write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
    text = README.format(source=names[0], target=names[1], version=__version__, file=file)
    (folder / "README.md").write_text(text, "utf-8")
