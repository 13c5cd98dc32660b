"""A pool of models: each is loaded at its first use, and the least recently used is dropped."""

import logging
import math
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from glassformer.foundation.disk import FileStamp, stamp_file
from glassformer.foundation.hub import name_model
from glassformer.model.files.directory import (
    CARD,
    CONFIG,
    LATER,
    SHIPPED,
    WEIGHTS,
    locate,
    open_model,
    split_pair,
)
from glassformer.model.files.known_words import read_known_words
from glassformer.text.function_words import name_language
from glassformer.train.publish.card import HASHED, read_facts
from glassformer.translator import Translator

from ..api_error import ApiError, refuse_missing

Stamp = tuple[FileStamp | None, ...]
log = logging.getLogger("glassformer.extensions.serve")

# The shipped networks that the app shows beside each other. Any server has them, but those that
# it was not asked to serve are not listed.
COMPANIONS = ("demo-rnn", "demo-rnn-attention", "demo")


@dataclass(frozen=True)
class PooledModel:
    """A model of the pool. Its name is that of its folder and may have any characters."""

    id: str  # safe in a path
    name: str
    folder: Path
    source: str | None
    target: str | None
    parameters: int
    smoothing: float  # of the labels in its training
    pair: str | None = None  # the languages, like "en-de", of one folder with several
    lock: threading.Lock = field(default_factory=threading.Lock, compare=False)

    def describe(self, is_loaded: bool) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "source": self.source,
            "target": self.target,
            "source_name": name_language(self.source),
            "target_name": name_language(self.target),
            "loaded": is_loaded,
            "parameters": self.parameters,
            "sentences": self.sentences,
            "words": None if self.known_words is None else len(self.known_words),
            "smoothing": self.smoothing,
        }

    @cached_property
    def known_words(self) -> frozenset[str] | None:
        """Return the source words of the training text; None if the model does not list them."""
        return read_known_words(self.folder)

    @property
    def vocabulary(self) -> float:
        """Return how many words the model met; infinity if it does not list them."""
        return math.inf if self.known_words is None else len(self.known_words)

    @cached_property
    def sentences(self) -> int | None:
        """Return how many pairs the model was trained on, as its card says; None without one."""
        try:
            files = read_facts(self.folder).get("data", ())
        except ValueError:
            return None
        return max((each["lines"] for each in files), default=None)

    @property
    def card(self) -> str:
        path = self.folder / CARD
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""

    def digest(self) -> str:
        """Return the SHA-256 of all that decides what the model answers: its files and its pair."""
        result = sha256((self.pair or "").encode())
        for name in (*HASHED, *LATER):
            with suppress(OSError), (self.folder / name).open("rb") as file:
                result.update(name.encode() + file_digest(file, "sha256").digest())
        return result.hexdigest()

    def stamp(self) -> Stamp | None:
        """Return a stamp that changes when the model's files do; None if there are none."""
        result = {name: stamp_file(self.folder / name) for name in (*HASHED, *LATER)}
        return tuple(result.values()) if result[WEIGHTS] and result[CONFIG] else None


class ModelPool:
    """A pool of models, of which at most `loaded` are in memory.

    `folders`: model directories, names of shipped models, or models of another pool, which keep
    their ids; none: all shipped Transformers. `keywords` are passed to `Translator.load`. Raises
    ValueError if a folder is no model.
    """

    def __init__(
        self, folders: Sequence[Path | str | PooledModel] = (), *, loaded: int = 4, **keywords: Any
    ) -> None:
        self.most, self.how = loaded, keywords
        self.models: dict[str, PooledModel] = {}
        self.own: dict[str, PooledModel] = {}  # trained in the app, and shown in it alone
        self._companions: dict[str, PooledModel] = {}
        self._loaded: OrderedDict[str, tuple[Translator, Stamp | None]] = OrderedDict()
        self._known = WeakKeyDictionary[Translator, tuple[str, str | None]]()  # id and digest
        self._lock = threading.Lock()
        for folder in folders or _list_shipped():
            if isinstance(folder, PooledModel):
                self.models[folder.id] = folder
            else:
                self._add(folder, self.models)

    def add(self, folder: Path, name: str) -> None:
        """Add a model that was trained in the app, under the name of its folder as its id.

        Programs that translate do not find it. Raises ValueError if it is missing or damaged.
        """
        config, _, weights = open_model(folder)
        data = config.data
        languages = data.source_lang, data.target_lang
        model = PooledModel(
            folder.name,
            name,
            folder,
            *languages,
            weights.parameters,
            config.train.label_smoothing,
        )
        self.own = {**self.own, model.id: model}

    def has(self, id: str) -> bool:
        """Return whether an id is taken."""
        return id in self.models or id in self.own or id in COMPANIONS

    def remove(self, id: str) -> None:
        """Forget a model that was trained in the app; nothing happens if there is none."""
        with self._lock:
            self._loaded.pop(id, None)
            self.own = {known: model for known, model in self.own.items() if known != id}

    def _add(self, model: Path | str, models: dict[str, PooledModel]) -> None:
        """Add a model to others. Raises ValueError if it is missing or damaged."""
        path, languages = split_pair(model)
        folder = locate(path)
        config, _, weights = open_model(folder)
        if languages:
            config.narrow(languages)  # refuses what was not trained
        is_many = len(config.data.pairs) > 1
        for source, target in config.data.find_pairs(languages):
            pair = f"{source}-{target}" if is_many else None
            name = name_model(folder) + (f" {pair}" if pair else "")
            stem = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "model"
            id, number = stem, 2
            while id in models:
                id, number = f"{stem}-{number}", number + 1
            numbers = weights.parameters, config.train.label_smoothing
            models[id] = PooledModel(id, name, folder, source, target, *numbers, pair)

    @property
    def default(self) -> PooledModel:
        return next(iter(self.models.values()))

    def find(self, id: str | None) -> PooledModel:
        """Return the model of an id, or the first for None. Raises ApiError if there is none.

        The shipped networks that the app compares are found even if they are not listed.
        """
        if id is None:
            return self.default
        if result := self.models.get(id) or self.own.get(id):
            return result
        if id not in COMPANIONS:
            raise refuse_missing("model", id, [*self.models, *self.own])
        if id not in self._companions:
            self._add(SHIPPED / id, self._companions)
        return self._companions[id]

    def find_pair(self, source: str, target: str) -> PooledModel | None:
        """Return the model of a pair; of several the one that met most words, or the first."""
        pair = [
            model
            for model in self.models.values()
            if (model.source, model.target) == (source, target)
        ]
        return max(pair, key=lambda model: model.vocabulary, default=None)

    def is_loaded(self, model: PooledModel) -> bool:
        return model.id in self._loaded

    def take(self, model: PooledModel) -> Translator | None:
        """Return the translator if it is loaded and its files have not changed; else None."""
        now = model.stamp()
        with self._lock:
            translator, then = self._loaded.get(model.id, (None, None))
            if translator is None or (now and now != then):
                return None
            self._loaded.move_to_end(model.id)
            return translator

    def load(self, model: PooledModel) -> Translator:
        """Return the translator, and load it if necessary; too slow for the event loop.

        Raises ApiError if it cannot be loaded and was not loaded before. One that is removed from
        the pool meanwhile is not kept.
        """
        with model.lock:
            if translator := self.take(model):
                return translator
            stamp, (old, _) = model.stamp(), self._loaded.get(model.id, (None, None))
            try:
                translator, digest = self._read(model), model.digest()
            except (ValueError, OSError) as error:
                if old is None:
                    message = f"the model {model.id} cannot be loaded: {error}"
                    raise ApiError(500, message) from error
                log.warning("%s stays as it was: %s", model.id, error)
                translator, digest = old, ""
            identity = model.id, digest if model.stamp() == stamp else None
            with self._lock:
                self._known.setdefault(translator, identity)
                groups = self.models, self.own, self._companions
                if any(group.get(model.id) is model for group in groups):
                    self._loaded[model.id] = translator, stamp
                    self._loaded.move_to_end(model.id)
                while len(self._loaded) > self.most:
                    self._loaded.popitem(last=False)
            return translator

    def name(self, translator: Translator) -> str:
        """Return the id of the model that a translator was loaded from."""
        return self._known[translator][0]

    def identify(self, translator: Translator) -> str | None:
        """Return the digest of a translator's model.

        None if it is not from this pool, or if its files changed while they were read.
        """
        return self._known.get(translator, ("", None))[1]

    def _read(self, model: PooledModel) -> Translator:
        translator = self._read_weights(model)
        data = translator.config.data
        if (data.source_lang, data.target_lang) != (model.source, model.target):
            raise ValueError(f"{model.folder} has become a model of other languages: restart")
        return translator

    def _read_weights(self, model: PooledModel) -> Translator:
        """Return the translator; the pairs of languages of one folder share their weights."""
        for other in self.models.values() if model.pair else ():
            if other.folder == model.folder and (translator := self.take(other)):
                return translator.with_settings(open_model(model.folder)[0].narrow(model.pair))
        return Translator.load(model.folder, to=model.pair, in_memory=True, **self.how)


def _list_shipped() -> list[str]:
    """Return the shipped Transformers; the app has no views of recurrent networks."""
    names = sorted(path.name for path in SHIPPED.iterdir())
    return [name for name in names if open_model(name)[0].model.network == "transformer"]
