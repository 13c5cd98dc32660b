"""The Moses tokenizer, as papers have used it before they counted BLEU."""

from collections.abc import Callable

from glassformer.evaluate.quality import KOREAN
from glassformer.evaluate.references import has_no_spaces
from glassformer.foundation.machine.extras import need
from glassformer.text.spacing import name_base


def build_moses(target_lang: str | None) -> tuple[Callable[[str], str], str]:
    """Return a function from a line to its lower-case tokens, and its name for the signature."""
    language = name_base(target_lang)
    if not language or has_no_spaces(language) or language in KOREAN:
        raise ValueError(
            "the literature BLEU needs a target language written with spaces between words, "
            f"and the target language is {target_lang or 'not given'}"
        )
    sacremoses = need("sacremoses")
    normalizer = sacremoses.MosesPunctNormalizer(lang=language)
    tokenizer = sacremoses.MosesTokenizer(lang=language)

    def cut(line: str) -> str:
        return str(tokenizer.tokenize(normalizer.normalize(line.lower()), return_str=True))

    return cut, f"moses-{language}-sacremoses-{sacremoses.__version__}"
