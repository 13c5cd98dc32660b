"""Processes that translate for the server; one that dies is replaced, and its batch done again.

The server's own process answers HTTP and keeps everything that requests share: queue, cache,
recordings, quotas. It sends each batch of sentences to a process, as a line of JSON through a pipe,
and gets one back. So none of a request is lost with a process.
"""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from pydantic import ConfigDict, TypeAdapter

from glassformer.config import Decode
from glassformer.foundation.machine.python_process import plan_python
from glassformer.translate.options import SearchOptions
from glassformer.translate.sentence import Sentence
from glassformer.translator import Translator

from ..api_error import ApiError
from .batching import search_here
from .model_pool import ModelPool, PooledModel

log = logging.getLogger("glassformer.extensions.serve")
SENTENCES = TypeAdapter(list[Sentence], config=ConfigDict(ser_json_inf_nan="constants"))
TRIES = 3  # processes that may die over one batch, before it is done in halves


class TranslatingProcess:
    """A process that translates. Called, it returns what `search_here` would return here."""

    def __init__(
        self,
        pool: ModelPool,
        options: dict[str, Any],
        facts: Callable[[], object] = lambda: None,
        plugin: Path | None = None,
    ) -> None:
        self.pool, self.told = pool, facts
        models = [
            (m.id, m.name, str(m.folder), m.source, m.target, m.parameters, m.smoothing, m.pair)
            for m in pool.models.values()
        ]
        fields = {"models": models, "loaded": pool.most, "how": options}
        fields |= {"plugin": str(plugin.resolve())} if plugin else {}
        self._arguments = ["-m", __name__, json.dumps(fields)]
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        return start_python(self._arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    @property
    def pid(self) -> int:
        return self._process.pid

    def __call__(
        self, translator: Translator, sentences: list[Sentence], options: SearchOptions
    ) -> list[Sentence]:
        """Return the sentences with checked translations.

        Raises ValueError or ApiError as the process does, and RuntimeError if processes keep dying.
        """
        batch = {
            "model": self.pool.name(translator),
            "sentences": SENTENCES.dump_python(sentences, mode="json"),
            "decode": options.decode.model_dump(mode="json"),
            "n_best": options.n_best,
        }
        line = json.dumps(batch).encode() + b"\n"
        for _ in range(TRIES):
            if answer := self._ask(line):
                return _read_answer(answer)
            self._replace()
        raise RuntimeError(f"{TRIES} processes have died over one batch")

    def _ask(self, line: bytes) -> bytes:
        """Return the line that answers a line; empty if the process is dead."""
        orders, answers = self._process.stdin, self._process.stdout
        assert orders and answers
        with suppress(OSError):
            orders.write(line)
            orders.flush()
            answer = answers.readline()
            return answer if answer.endswith(b"\n") else b""
        return b""

    def look(self) -> None:
        """Replace the process if it has died while it had nothing to do."""
        if self._process.poll() is not None:
            self._replace()

    def _replace(self) -> None:
        self._end()
        log.warning("process %d has ended (%s): another one", self.pid, self._process.returncode)
        self.told()
        self._process = self._start()

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                pipe and pipe.close()

    def close(self) -> None:
        """End the process."""
        self._end()


def start_python(arguments: Sequence[str], **streams: Any) -> subprocess.Popen[bytes]:
    """Start this Python, with this package, in a session of its own: Ctrl-C is for the server."""
    command, environment = plan_python(arguments)
    return subprocess.Popen(command, env=environment, start_new_session=True, **streams)


def _read_answer(line: bytes) -> list[Sentence]:
    """Return the translations in an answer. Raises the error that it tells."""
    if line.startswith(b"["):
        return SENTENCES.validate_json(line)
    error = json.loads(line)
    if error["status"] == 400:
        raise ValueError(error["error"])
    raise ApiError(error["status"], error["error"])


def translate_lines(pool: ModelPool, lines: IO[bytes], out: IO[bytes]) -> None:
    """Answer each line with the translations of its sentences, to the end of the input."""
    for line in lines:
        try:
            batch = json.loads(line)
            translator = pool.load(pool.find(batch["model"]))
            sentences = SENTENCES.validate_python(batch["sentences"])
            options = SearchOptions(Decode.model_validate(batch["decode"]), batch["n_best"])
            translated = search_here(translator, sentences, options)
            answer = SENTENCES.dump_json([each._replace(hypotheses=()) for each in translated])
        except ApiError as error:
            answer = _tell(error.status, error.sentence)
        except ValueError as error:
            answer = _tell(400, str(error))
        except Exception as error:
            log.exception("internal error")
            answer = _tell(500, f"internal error: {type(error).__name__}")
        out.write(answer + b"\n")
        out.flush()


def _tell(status: int, sentence: str) -> bytes:
    return json.dumps({"status": status, "error": sentence}).encode()


def main(arguments: Sequence[str]) -> None:
    """Translate what the server sends, until it closes the pipe or is gone."""
    payload = json.loads(arguments[0])
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints here must not get between the answers
    if "plugin" in payload:
        from glassformer.train import load_plugin

        load_plugin(payload["plugin"])
    models = [
        PooledModel(id, name, Path(folder), *others)
        for id, name, folder, *others in payload["models"]
    ]
    pool = ModelPool(models, loaded=payload["loaded"], **payload["how"])
    with suppress(BrokenPipeError):
        translate_lines(pool, sys.stdin.buffer, out)


if __name__ == "__main__":
    main(sys.argv[1:])
