"""The languages that the server translates, with one model or with two, and their detection."""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from anyio.to_thread import run_sync
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from glassformer.text.function_words import name_language
from glassformer.text.spacing import name_base

from ..api_error import ApiError
from .model_pool import ModelPool, PooledModel

MOST = 2000  # characters of a text that are used


class Routes(NamedTuple):
    """The language of each text, and the models that translate it, one after the other."""

    codes: list[str]  # of the texts
    models: dict[str, list[PooledModel]]  # by the language that they translate from
    detected: list[dict[str, Any]]  # the language of each text as `detect` names it, or none

    @property
    def names(self) -> list[str]:
        """Return the ids of all models, each once."""
        return list(dict.fromkeys(model.id for way in self.models.values() for model in way))


class Languages:
    """The languages of the models in a pool, by their codes."""

    def __init__(self, model_pool: ModelPool) -> None:
        self.model_pool = model_pool
        models = [model for model in model_pool.models.values() if model.source and model.target]
        self.codes = list(dict.fromkeys(c for m in models for c in (m.source, m.target) if c))
        self.sources = list(dict.fromkeys(str(model.source) for model in models))

    def describe(self) -> list[dict[str, Any]]:
        return [
            {
                "code": code,
                "name": name_language(code),
                "targets": sorted(t for t in self.codes if self.find_route(code, t) is not None),
            }
            for code in self.codes
        ]

    def find(self, code: str) -> str:
        """Return our code of a language: "pt-BR" is also "pt". Raises ApiError if it is unknown."""
        plain = code.replace("_", "-").lower()
        for requested in (plain, plain.partition("-")[0]):
            for known in self.codes:
                if requested in (known.lower(), known.partition("-")[0].lower()):
                    return known
        raise ApiError(400, f"{code} is not supported")

    def find_route(self, source: str, target: str) -> list[PooledModel] | None:
        """Return the models to use one after the other, at most two; None if there is no route."""
        if source == target:
            return []
        if direct := self.model_pool.find_pair(source, target):
            return [direct]
        for middle in self.codes:
            first = self.model_pool.find_pair(source, middle)
            second = self.model_pool.find_pair(middle, target)
            if first and second:
                return [first, second]
        return None

    def check_route(self, source: str, target: str) -> list[PooledModel]:
        route = self.find_route(source, target)
        if route is None:
            one, other = (f"{name_language(code)} ({code})" for code in (source, target))
            raise ApiError(400, f"{other} is not available as a target language from {one}")
        return route

    async def choose_routes(self, texts: Sequence[str], source: str, target: str) -> Routes:
        """Return how texts are translated; the language "auto" is detected for each of them.

        Raises ApiError if a language is unknown, or no models lead from it to the target.
        """
        to, detected = self.find(target), list[dict[str, Any]]()
        if source == "auto":
            detected = [likely[0] for likely in await self.detect_all(texts)]
            codes = [str(each["language"]) for each in detected]
        else:
            codes = [self.find(source)] * len(texts)
        return Routes(codes, {code: self.check_route(code, to) for code in codes}, detected)

    async def detect_all(self, texts: Sequence[str]) -> list[list[dict[str, Any]]]:
        """Return what `detect` finds in each text, computed in a thread."""
        return await run_sync(lambda: [self.detect(text) for text in texts])

    def detect(self, text: str) -> list[dict[str, Any]]:
        """Return languages in LibreTranslate's format: confidence in per cent, the likeliest first.

        Raises ApiError if no model names its languages.
        """
        if not self.sources:
            raise ApiError(400, "auto is not supported: no model here says its languages")
        language = detect_language(text, self.sources)
        return [
            {"confidence": round(100 * share, 1), "language": code}
            for place, (code, share) in enumerate(language)
            if share >= 0.005 or not place
        ]


@cache
def load_identifier() -> LanguageIdentifier:
    """Return the identifier; it takes half a second and 76 MiB, so not before it is needed."""
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def detect_language(text: str, codes: Sequence[str]) -> list[tuple[str, float]]:
    """Return the codes with confidences, 0 to 1, the likeliest first; 0 without letters.

    A language that py3langid does not know is as likely as the likeliest that is not in `codes`.
    All confidences are small if the text is in another language.
    """
    text = text[:MOST]
    if not any(map(str.isalpha, text)):
        return [(code, 0.0) for code in codes]
    known = dict(load_identifier().rank(text))
    bases = {code: name_base(code) for code in codes}
    others = max((p for label, p in known.items() if label not in bases.values()), default=0.0)
    shares = {code: known.get(base, others) for code, base in bases.items()}
    best, total = max(shares.values()), sum(shares.values())
    sure = best / max(best, others)
    ranked = sorted(shares.items(), key=lambda pair: -pair[1])
    return [(code, sure * share / total if total else 0.0) for code, share in ranked]
