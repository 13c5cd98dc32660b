"""Files that say how an imported model cuts text: a SentencePiece model, or BPE codes."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from glassformer.foundation.disk import read_text
from glassformer.text.layout import CONTROLS
from glassformer.text.tokenizer import Tokenizer

from .imported import UNKNOWN
from .imported_bpe import END, ImportedBpe, spell_codes
from .sentencepiece import Sentencepiece

NONE = "none"  # the text is segmented already
SENTENCEPIECE = (".spm", ".model")
CODES = re.compile(r"(bpe\.?)?codes?([._-]\w+)*|bpe\.\d+k?|.*\.(codes|bpe)")
Cut = Callable[[Sequence[str]], Tokenizer]


def choose_subwords(folder: Path, side: str, files: Sequence[str], named: str | None = None) -> Cut:
    """Return what makes a tokenizer for a vocabulary of one side, source or target.

    files: the user's choice, a file or "none", one for both sides or one for each. named: a name
    that the model's settings have. ValueError if there is neither, and no such file in the folder.
    """
    if files:
        if len(files) > 2:
            raise ValueError(f"--subwords: {len(files)} files, but there are two sides")
        name = files[side == "target" and len(files) == 2]
        return cut_at_spaces if name == NONE else read_subwords(Path(name))
    subwords = _find(folder, side, named)
    if subwords is None:
        raise ValueError(
            f"{folder}: no SentencePiece model and no BPE codes for the {side} side: name the file "
            f"with --subwords FILE, or --subwords {NONE} if texts will be segmented already"
        )
    return read_subwords(subwords)


def read_subwords(path: Path) -> Cut:
    """Return what makes a tokenizer of a SentencePiece model or of BPE codes."""
    if path.suffix in (*SENTENCEPIECE, ".json"):
        return Sentencepiece.read(path).to_tokenizer
    merges = read_codes(path)
    return lambda vocabulary: cut_codes(vocabulary, merges)


def make_tokenizer(path: Path, tags: Sequence[str], texts: Iterable[str]) -> Tokenizer:
    """Return a tokenizer of all tokens of a SentencePiece model, or of BPE codes, and of tags.

    Of codes, the characters of the texts are tokens too. ValueError for a damaged file.
    """
    begin = [*CONTROLS, UNKNOWN, *tags]
    if path.suffix in (*SENTENCEPIECE, ".json"):
        model = Sentencepiece.read(path)
        return model.to_tokenizer([*dict.fromkeys([*begin, *model.scores])])
    merges, symbols = read_codes(path), set[str]()
    for text in texts:
        for word in text.split():
            symbols.update(word[:-1])
            symbols.add(word[-1] + END)
    joined = (part for left, right in merges for part in (left, right, left + right))
    tokens = dict.fromkeys([*begin, *sorted(symbols), *joined])
    return ImportedBpe([*tokens], merges, "codes")


def cut_at_spaces(vocabulary: Sequence[str]) -> Tokenizer:
    """Return a tokenizer of texts whose tokens are parted by spaces."""
    return ImportedBpe(vocabulary, (), "words")


def cut_codes(vocabulary: Sequence[str], merges: Sequence[tuple[str, str]]) -> Tokenizer:
    """Return a tokenizer that applies BPE codes; what goes on ends with @@ in the vocabulary."""
    return ImportedBpe([spell_codes(token) for token in vocabulary], merges, "codes")


def read_codes(path: Path) -> list[tuple[str, str]]:
    """Return the merges in the file of subword-nmt or fastBPE, each as `left right count`.

    ValueError for codes of subword-nmt before version 0.2, whose words end otherwise.
    """
    lines = read_text(path).split("\n")  # other separators of lines may be in a token
    if lines[0].startswith("#version:"):
        lines = lines[1:]
    merges = []
    for number, line in enumerate(lines, 1):
        match line.split(" "):
            case [left, right] | [left, right, _] if left and right:
                merges.append((left, right))
            case _ if line:
                raise ValueError(f"{path}, line {number}: no merge of two tokens")
    if any(END in pair for pair in merges):
        raise ValueError(f"{path}: codes of subword-nmt 0.1, where {END} is a token of its own")
    return merges


def _find(folder: Path, side: str, facts: str | None) -> Path | None:
    """Return the file that cuts the text of a side: by the settings, or by its name."""
    if facts:
        places = (Path(facts), folder / facts, folder / Path(facts).name)
        if first := next((place for place in places if place.is_file()), None):
            return first
    short = {"source": ("source", "src"), "target": ("target", "trg", "tgt")}
    both = sorted(
        path
        for path in (folder.iterdir() if folder.is_dir() else ())
        if path.suffix in SENTENCEPIECE or CODES.fullmatch(path.name)
    )
    own = [path for path in both if re.split(r"[._-]", path.name)[0] in short[side]]
    other = [name for names in short.values() for name in names]
    shared = [path for path in both if re.split(r"[._-]", path.name)[0] not in other]
    return next(iter([*own, *shared]), None)
