"""Routes /api/models: the models of this server, their settings, tokens and weights."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from glassformer.foundation.version import __version__
from glassformer.model.files.directory import EVALUATION, read_findings
from glassformer.model.files.known_words import find_unknown_words
from glassformer.see.catalogue import read_catalogue
from glassformer.see.habits import read_portraits
from glassformer.see.recorded import Parameters
from glassformer.see.tokens import read_source, read_target
from glassformer.translator import Translator

from ..api_error import ApiError, refuse_missing
from ..service.arrays import cut_slice, pack_array
from ..service.service import TheService, TheTranslator

router = APIRouter(tags=["models"])


@router.get("/models")
def list_models(service: TheService) -> dict[str, Any]:
    """List all models of this server, loaded or not."""
    model_pool, limits = service.model_pool, service.limits
    names = ("characters", "seconds", "tokens", "beam", "alternatives")
    return {
        "models": [
            model.describe(model_pool.is_loaded(model))
            for model in (*model_pool.models.values(), *model_pool.own.values())
        ],
        "default": model_pool.default.id,
        "version": __version__,
        "runs": True,  # there is an example in any case
        "trains": service.own_trainings is not None,
        "limits": {name: getattr(limits, name) for name in names},
    }


@router.get("/models/{id}")
def describe_model(id: str, service: TheService) -> dict[str, Any]:
    """Load a model, and return its sizes, settings, card and the shapes of its weights."""
    model = service.model_pool.find(id)
    translator = service.model_pool.load(model)
    weights = Parameters(translator.model.state_dict())
    shapes = {name: list(tensor.shape) for name, tensor in weights.tensors.items()}
    return {
        **model.describe(is_loaded=True),
        **translator.describe(),
        "longest": translator.reader.longest,
        "card": model.card,
        "weights": shapes,
    }


@router.get("/models/{id}/heads")
def list_heads(id: str, service: TheService) -> dict[str, Any]:
    """Return what each head reads, and what breaks without it; null if nobody measured that."""
    return {"portraits": read_portraits(service.model_pool.find(id).folder)}


@router.get("/models/{id}/evaluation")
def get_evaluation(id: str, service: TheService) -> dict[str, Any]:
    """Return scores and worst sentences, as `evaluate --store` keeps them; null if nobody did."""
    return {"evaluation": read_findings(service.model_pool.find(id).folder, EVALUATION)}


@router.get("/models/{id}/weights/{name}", response_class=Response)
def get_weights(name: str, translator: TheTranslator, slice: str = "") -> Response:
    """Return a weight, or a slice of it, as little-endian float32."""
    weights = Parameters(translator.model.state_dict())
    if name not in weights.tensors:
        raise refuse_missing("weight", name, [*weights])
    return pack_array(cut_slice(weights[name], slice), name)


@router.get("/models/{id}/tokens")
def read_tokens(
    translator: TheTranslator,
    text: Annotated[str, Query(max_length=20_000)],
    side: Literal["source", "target"] = "source",
) -> dict[str, Any]:
    """Return the tokens of a text, with the span of characters of each."""
    if side == "source":
        tokens = read_source(translator, text)[:-1]
    else:
        tokenizer = translator.tokenizers.target
        ids = tokenizer.encode(text)
        tokens = read_target(tokenizer, ids, tokenizer.decode(ids), False)[1]
    return {"tokens": [token.model_dump() for token in tokens]}


@router.get("/models/{id}/unknown")
def list_unknown(
    id: str,
    service: TheService,
    translator: TheTranslator,
    text: Annotated[str, Query(max_length=20_000)],
) -> dict[str, Any]:
    """List the words of a text that were not in training; null if the model cannot say."""
    known = service.model_pool.find(id).known_words
    characters = translator.tokenizers.source.normalization.characters
    return {"words": None if known is None else find_unknown_words(known, text, characters)}


@router.get("/models/{id}/vocabulary")
def list_vocabulary(
    translator: TheTranslator,
    side: Literal["source", "target"] = "target",
    begins: str = "",
    first: Annotated[int, Query(alias="from", ge=0)] = 0,
    most: Annotated[int, Query(ge=1, le=10_000)] = 100,
) -> dict[str, Any]:
    """List tokens of a vocabulary from an id on that begin with `begins`, a leading space aside."""
    vocabulary = getattr(translator.tokenizers, side).vocabulary
    beginning = begins.lower()
    results: list[dict[str, Any]] = []
    for number, text in enumerate(vocabulary[first:], first):
        if text.lower().startswith((beginning, " " + beginning)):
            results.append({"id": number, "text": text})
        if len(results) == most:
            break
    return {"size": len(vocabulary), "tokens": results}


@router.get("/catalogue")
def get_catalogue() -> dict[str, Any]:
    """Return the meaning of each name of a recording, in English and Chinese."""
    return {"entries": {name: entry._asdict() for name, entry in read_catalogue().items()}}


def check_ids(translator: Translator, prefix: str | list[int]) -> str | list[int]:
    """Return the prefix. Raises ApiError 400 if an id is no token of the target vocabulary."""
    size = len(translator.tokenizers.target)
    if not isinstance(prefix, str) and any(not 2 < id < size for id in prefix):
        raise ApiError(400, f"prefix: ids of tokens go from 3 to {size - 1}")
    return prefix
