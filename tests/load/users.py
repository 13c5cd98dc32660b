"""Locust users: each asks for one sentence after the other and checks every answer.

LOAD_ANSWERS names a JSON file: each sentence, and what its translation has to be. LOAD_REQUESTS
is how many requests there are in all; then everybody stops.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import gevent
from locust import FastHttpUser, events, task

ANSWERS: dict[str, str] = json.loads(Path(os.environ["LOAD_ANSWERS"]).read_text(encoding="utf-8"))
SENTENCES = [*ANSWERS]
REQUESTS = int(os.environ["LOAD_REQUESTS"])


class Count:
    begun = 0
    done = 0


@events.request.add_listener
def stop_when_enough(**_: Any) -> None:
    Count.done += 1
    if Count.done == REQUESTS and Translating.environment_now:
        gevent.spawn_later(1, Translating.environment_now.runner.quit)


class Translating(FastHttpUser):
    environment_now: Any = None
    network_timeout = connection_timeout = 120.0

    def on_start(self) -> None:
        Translating.environment_now = self.environment
        self.random = random.Random(id(self))

    @task
    def translate(self) -> None:
        if Count.begun >= REQUESTS:
            self.stop()
            return
        Count.begun += 1
        text = self.random.choice(SENTENCES)
        given = {"q": text, "source": "en", "target": "fr"}
        with self.client.post("/translate", json=given, catch_response=True) as response:
            found = response.json() if response.status_code == 200 else response.status_code
            if found != {"translatedText": ANSWERS[text]}:
                response.failure(f"not what it should be: {found!r}"[:200])
