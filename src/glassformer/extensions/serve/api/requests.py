"""The requests of /api: JSON, where an unknown key is an error."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from glassformer.config import Decode
from glassformer.translator import Translator

from ..api_error import ApiError
from ..limits import Limits

Prefix = str | list[int]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SearchRequest(Body):
    """A request to search for translations of a text."""

    text: str = Field(examples=["The cat is on the mat."])
    model: str | None = Field(
        None, description="The id of a model; the first if none is named.", examples=["demo"]
    )
    decode: dict[str, Any] = Field(
        default_factory=dict,
        description="Settings of the search that are not the model's own.",
        examples=[{"search": "beam", "beam": 4}],
    )
    seed: int = Field(0, ge=0, lt=2**63)


class TraceRequest(SearchRequest):
    """The request to record a translation."""

    sentence: int = Field(0, ge=0, description="Which sentence of the text, from 0.")
    level: Literal["attention", "states", "everything"] = "everything"
    prefix: Prefix = Field("", max_length=20_000, description="Text or ids it begins with.")
    hypothesis: int = Field(0, ge=0, description="Which of those that ended; 0 the best.")
    target: str | None = Field(None, max_length=20_000, description="Record this translation.")
    edits: list[dict[str, Any]] = Field([], max_length=64)
    base: bool = Field(True, description="Under edits, record the translation without them too.")


class EditRequest(Body):
    """The request to record a translation again under edits."""

    edits: list[dict[str, Any]] = Field(
        max_length=64, examples=[[{"do": "silence", "name": "encoder.1.self_attention", "head": 2}]]
    )
    model: str | None = Field(None, description="For a recording that was uploaded.")


class SamplesRequest(SearchRequest):
    """The request to draw translations of one sentence at random."""

    count: int = Field(50, ge=1, le=200)
    edits: list[dict[str, Any]] = Field([], max_length=64)


class HeadsRequest(Body):
    """The request to measure the effect of each head on one token of the translation."""

    step: int = Field(0, description="Of the translation, from 0; -1 the last.", examples=[8])
    rival: int | None = Field(None, ge=0, description="A token's id; the likeliest other if none.")


class CutsRequest(Body):
    """The request to cut groups of source tokens, each on its own, and score a word again."""

    rows: list[int] = Field(min_length=1, max_length=64, description="Of the word's tokens.")
    groups: list[list[int]] = Field(min_length=1, max_length=256, examples=[[[0], [1, 2]]])


class GradientsRequest(Body):
    """The request to attribute a word of the translation to all tokens, by gradients."""

    rows: list[int] = Field(min_length=1, max_length=64, description="Of the word's tokens.")


class CircuitRequest(Body):
    """The request for the circuit of one token of the translation, or for what edges of it keep."""

    step: int = Field(0, description="Of the translation, from 0; -1 the last.", examples=[6])
    rival: int | None = Field(
        None, ge=0, description="A token's id; what the counterpart is answered with if none."
    )
    counterpart: str | None = Field(
        None,
        max_length=20_000,
        description="A sentence of as many tokens; all edges outside the circuit carry its values. "
        "If none, they carry their mean over the model's own examples.",
        examples=["The cow is on the mat."],
    )
    by_head: bool = Field(
        False, description="Tell heads apart, and the query, key and value of each."
    )
    edges: list[int] | None = Field(
        None, max_length=20_000, description="Say what these edges keep; none: search a circuit."
    )


class StreamRequest(SearchRequest):
    """The request to translate and stream each step."""

    prefix: Prefix = Field("", max_length=20_000)
    candidates: int = Field(5, ge=0, le=50)


def read_search(translator: Translator, changes: dict[str, Any], limits: Limits) -> Decode:
    """Return the model's search settings with changes. Raises ApiError if one is not allowed."""
    try:
        decode = translator.config.decode.override(changes)
    except ValueError as error:
        raise ApiError(400, str(error).removeprefix("settings: ")) from None
    if decode.beam > limits.beam:
        raise ApiError(400, f"decode.beam={decode.beam}: at most {limits.beam} here")
    return decode


def check_characters(size: int, most: int) -> None:
    if size > most:
        raise ApiError(400, f"Invalid request: request ({size}) exceeds text limit ({most})")


def check_text(text: str, limits: Limits) -> None:
    if len(text) > limits.characters:
        raise ApiError(400, f"the text has {len(text)} characters: at most {limits.characters}")


def check_text_size(translator: Translator, sentence: str, limits: Limits) -> None:
    """Raise ApiError 400 that names the limit if a sentence has too many tokens."""
    tokens = len(translator.reader.tokenize(sentence.strip()).ids)
    most = min(limits.tokens, translator.reader.longest - 1)  # EOS takes one position
    if tokens > most:
        raise ApiError(
            400,
            f"the sentence has {tokens} tokens: at most {most} are recorded; "
            "look into a part of it",
        )
