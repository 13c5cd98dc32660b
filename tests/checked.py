"""Checked translations of texts, with the options by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glassformer.translate.options import choose_options
from glassformer.translate.sentence import CheckedTranslation
from glassformer.translator import Translator


def translate_checked(
    translator: Translator,
    texts: Sequence[str],
    contexts: Sequence[str] | None = None,
    **keywords: Any,
) -> list[CheckedTranslation]:
    options = choose_options(translator.config.decode, **keywords)
    return translator.checker.translate_texts(texts, options, contexts=contexts)
