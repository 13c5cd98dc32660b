"""Trainings that are begun in the app: each is a folder, and a process of its own while it runs.

FOLDER/ID/              a model directory: `glassformer train --resume FOLDER/ID` goes on with it
FOLDER/ID/own.json      its name, languages, files and duration
FOLDER/ID/text/         the uploaded text; nowhere else is it kept
FOLDER/ID/text/kept.*   the pairs that check-data left, mended
FOLDER/ID/report.json   what check-data found
FOLDER/ID/outcome.json  what `train --json` printed when it ended
FOLDER/ID/messages.txt  what the latest process said
FOLDER/ID/ended.json    its exit status, if it ended while a server was there

What a training does now is read from the disk, not remembered. So it survives the server: one that
still runs after the server was killed is found again by the lock of its run.
"""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from glassformer.data.files import count_lines
from glassformer.extensions.publish.publishing import PUBLISHED
from glassformer.foundation.disk import drop_folder, is_still, read_json, take_lock, write_json
from glassformer.foundation.typed_json import read_typed
from glassformer.model.files.directory import CHECKPOINTS, CONFIG, LOCK, RECORD, RUN, WEIGHTS

from ..api_error import TrainingError
from ..limits import TrainingLimits
from .model_pool import ModelPool
from .processes import start_python
from .uploads import SIDES, TABLE, UploadedFile, check_uploads, explain_full

State = Literal[
    "new", "checking", "refused", "checked", "training", "stopped", "failed", "finished"
]
OWN, TEXT, REPORT = "own.json", "text", "report.json"
LINES = 20  # numbers of lines of a finding that are shown
OUTCOME, MESSAGES, ENDED = "outcome.json", "messages.txt", "ended.json"
KEPT = "kept"
METRICS = "metrics.jsonl"  # in the folder of a run: the numbers of its curves
CODE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
SAID = "glassformer: "  # how the line begins that says why a process failed
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has none, and ends at once
NICE = 5  # how much later than the server a training gets the processor
ENDING = 30.0  # seconds in which a training that is asked to stop saves itself
INTERRUPTED = 130  # the exit status of a training that was stopped and has saved itself
STARTABLE: tuple[State, ...] = ("checked", "failed")


@dataclass
class OwnFacts:
    """The content of own.json."""

    name: str
    source: str
    target: str
    made: float  # seconds since 1970, as `begun`
    files: dict[str, UploadedFile] = field(default_factory=dict)
    minutes: float | None = None
    size: str = "auto"
    mended: bool = True  # without the pairs that check-data leaves out
    kept: int | None = None  # pairs that check-data left
    begun: float = 0.0  # when the latest process began to train
    spent: float = 0.0  # seconds of training before that


class OwnTraining:
    """A training on the disk."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.id, self.run = folder, folder.name, folder / RUN
        self.facts = read_typed(folder / OWN, OwnFacts)

    def save(self) -> None:
        try:
            write_json(self.folder / OWN, asdict(self.facts))
        except OSError as error:
            raise explain_full(error) from None

    @property
    def has_model(self) -> bool:
        return all((self.folder / name).is_file() for name in (WEIGHTS, CONFIG))

    @property
    def can_resume(self) -> bool:
        return (self.run / RECORD).is_file()

    @property
    def report(self) -> dict[str, Any] | None:
        """Return what check-data found, with the first lines of each finding; None before that."""
        report = self._read(REPORT)
        for finding in (report or {}).get("findings", ()):
            finding["lines"] = finding["lines"][:LINES]
        return report

    @property
    def problem(self) -> str:
        """Return the sentence with which the latest process failed; "" if it did not."""
        code = (self._read(ENDED) or {}).get("code", 0)
        if code <= 0 or code == INTERRUPTED:  # a signal ended it, or it saved itself
            return ""
        path = self.folder / MESSAGES
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        last = next((line for line in reversed(text.splitlines()) if line.startswith(SAID)), "")
        shown = last
        for file in self.facts.files.values():  # as its owner calls it
            shown = shown.replace(str(self.folder / TEXT / file.stored), file.name)
        shown = shown.replace(str(self.folder), self.id)
        return shown.removeprefix(SAID) or f"exit status {code}"

    def _read(self, name: str) -> dict[str, Any] | None:
        with suppress(ValueError, OSError):  # not there, or being written
            payload: dict[str, Any] = read_json(self.folder / name)
            return payload
        return None

    def find_state(self, doing: State | None) -> State:
        """Return its state; `doing` is what a process of this server does with it."""
        if doing or is_held(self.run / LOCK):
            return doing or "training"
        outcome = self._read(OUTCOME)
        if outcome and outcome.get("finished"):
            return "finished"
        if self.can_resume:
            return "failed" if self.problem else "stopped"
        if self.report:
            return "failed" if self.problem else "checked"
        return "refused" if self.problem else "new"

    def list_data(self) -> list[Path]:
        """Return the text to learn from: the kept pairs, or the files as they were uploaded."""
        facts, text = self.facts, self.folder / TEXT
        kept = [text / f"{KEPT}.{code}" for code in (facts.source, facts.target)]
        if facts.mended and all(path.is_file() for path in kept):
            return kept
        parts = (TABLE,) if TABLE in facts.files else SIDES
        return [text / facts.files[part].stored for part in parts]

    def read_spent(self) -> float:
        """Return the seconds of training up to the latest checkpoint."""
        results = [0.0]
        for path in (self.run / CHECKPOINTS).glob("*/progress.json"):
            with suppress(ValueError, OSError, KeyError, TypeError):
                results.append(float(read_json(path)["spent"]))
        return max(results)

    def describe(self, doing: State | None) -> dict[str, Any]:
        """Return all that the app shows of it but its curves, which /api/runs has."""
        facts, state = self.facts, self.find_state(doing)
        if state == "checked" and facts.kept is None:
            with suppress(OSError, ValueError):
                facts.kept = count_lines(self.folder / TEXT / f"{KEPT}.{facts.source}")
                self.save()
        return {
            "id": self.id,
            "state": state,
            "can_resume": self.can_resume,
            "problem": self.problem if state in ("refused", "failed") else "",
            **{name: value for name, value in asdict(facts).items() if name != "spent"},
            "report": self.report,
            "has_curves": (self.run / METRICS).is_file(),
            "steps": self._read_steps(),
            "left": self._estimate_left() if state == "training" else None,
            "model": self.id if self.has_model else None,
            "bytes": measure_folder(self.folder),
        }

    def _read_steps(self) -> int | None:
        """Return how many updates are planned, by the latest decision."""
        steps = self._read(f"{RUN}/plan.json") or {}
        with suppress(KeyError, IndexError, TypeError, ValueError):
            return int(steps["decisions"][-1]["steps"])
        return None

    def _estimate_left(self) -> float:
        facts = self.facts
        used = facts.spent + max(0.0, time.time() - facts.begun)  # the clock may be set back
        return max(0.0, 60 * (facts.minutes or 0.0) - used)


class OwnTrainings:
    """The trainings of one folder, of which one at a time has a process."""

    def __init__(
        self, folder: Path, pool: ModelPool, limits: TrainingLimits, device: str = "auto"
    ) -> None:
        self.folder, self.pool, self.limits, self.device = folder, pool, limits, device
        self._lock = threading.RLock()
        self._child: tuple[str, State, subprocess.Popen[bytes]] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        for left in (*folder.glob("*.zip"), *folder.glob("*/text/*.partial")):
            left.unlink(missing_ok=True)  # of a server that was killed
        self.offer_models()

    def list_all(self) -> list[OwnTraining]:
        """Return all trainings, the newest first."""
        results = []
        for path in self.folder.glob(f"*/{OWN}"):
            with suppress(ValueError, OSError):  # it is just being deleted
                results.append(OwnTraining(path.parent))
        return sorted(results, key=lambda each: -each.facts.made)

    def find(self, id: str) -> OwnTraining:
        """Return a training. Raises TrainingError if there is none."""
        first = next((each for each in self.list_all() if each.id == id), None)
        if first is None:
            raise TrainingError("unknown", 404, id=id)
        return first

    def describe(self, training: OwnTraining) -> dict[str, Any]:
        return training.describe(self._find_doing(training.id))

    def _find_doing(self, id: str) -> State | None:
        """Return what our process does with a training; None if there is none."""
        with self._lock:
            if self._child is None or self._child[2].poll() is not None:
                return None
            return self._child[1] if self._child[0] == id else None

    def create(self, name: str, source: str, target: str) -> OwnTraining:
        """Make an empty training. Raises TrainingError for codes that are none, or without room."""
        codes = source.strip(), target.strip()
        if not all(map(CODE.fullmatch, codes)) or codes[0].lower() == codes[1].lower():
            raise TrainingError("languages")
        self.check_room(0)
        shown = name = name.strip().lstrip("./\\ ") or "-".join(codes)
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:40] or "own"
        with self._lock:
            id, number = stem, 2
            while (self.folder / id).exists() or self.pool.has(id):
                id, shown, number = f"{stem}-{number}", f"{name} {number}", number + 1
            folder = self.folder / id
            try:
                (folder / TEXT).mkdir(parents=True)
                facts = OwnFacts(shown, *codes, made=time.time())
                write_json(folder / OWN, asdict(facts))
            except OSError as error:
                shutil.rmtree(folder, ignore_errors=True)
                raise explain_full(error) from None
        return OwnTraining(folder)

    def check_room(self, more: int) -> None:
        """Raise TrainingError if `more` bytes would be too much for this folder or its disk."""
        used, most = measure_folder(self.folder), self.limits.disk
        if used + more > most << 20:
            raise TrainingError("room", 507, used=used >> 20, most=most)
        if shutil.disk_usage(self.folder).free < more + (self.limits.spare << 20):
            raise TrainingError("full", 507)

    def add_file(self, id: str, part: str, file: UploadedFile) -> None:
        """Note an uploaded file; what was made of others before is removed."""
        with self._lock:
            training = self._find_quiet(id, "new", "refused", "checked", "failed")
            files = training.facts.files
            for other in (TABLE,) if part in SIDES else (*SIDES, TABLE):
                if (old := files.pop(other, None)) and old.stored != file.stored:
                    (training.folder / TEXT / old.stored).unlink(missing_ok=True)
            files[part] = file
            self._forget(training)
            training.save()

    def _find_quiet(self, id: str, *states: State) -> OwnTraining:
        """Return a training in one of these states. Raises TrainingError in any other."""
        training = self.find(id)
        state = training.find_state(self._find_doing(id))
        if state not in states or ("failed" in states and training.can_resume):
            raise TrainingError("step", 409, name=training.facts.name, state=state)
        return training

    def _forget(self, training: OwnTraining) -> None:
        """Remove what was found in the text and made of it."""
        for path in (training.folder / REPORT, training.folder / ENDED):
            path.unlink(missing_ok=True)
        for path in (training.folder / TEXT).glob(f"{KEPT}.*"):
            path.unlink()
        training.facts.kept = None

    def check(self, id: str) -> OwnTraining:
        """Start check-data. Raises TrainingError if text is missing, or sides differ in length."""
        with self._lock:
            training = self._find_quiet(id, "new", "refused", "checked", "failed")
            facts, text = training.facts, training.folder / TEXT
            check_uploads(facts.files)
            self._check_idle()
            self._forget(training)
            training.save()
            languages = ["--source-lang", facts.source, "--target-lang", facts.target]
            options = ["--report", str(training.folder / REPORT), "--fix", str(text / KEPT)]
            data = map(str, training.list_data())
            self._start(training, "checking", ["check-data", *data, *languages, *options])
        return training

    def start(self, id: str, minutes: float, size: str, mended: bool) -> OwnTraining:
        """Start to train. Raises TrainingError if that is not possible now."""
        if not 0 < minutes <= self.limits.minutes:
            raise TrainingError("minutes", most=f"{self.limits.minutes:g}")
        with self._lock:
            training = self._find_quiet(id, *STARTABLE)
            self._check_idle()
            self.check_room(self.limits.spare << 20)
            facts = training.facts
            facts.minutes, facts.size, facts.mended = minutes, size, mended
            facts.begun, facts.spent = time.time(), 0.0
            training.save()
            data = [word for path in training.list_data() for word in ("--data", str(path))]
            options = ["--source-lang", facts.source, "--target-lang", facts.target]
            options += ["--minutes", str(minutes), *(["--size", size] if size != "auto" else [])]
            options += ["--out", str(training.folder), "--device", self.device, "--json"]
            self._start(training, "training", ["train", *data, *options])
        return training

    def resume(self, id: str) -> OwnTraining:
        """Go on with a training that was stopped or killed. Raises TrainingError with any other."""
        with self._lock:
            training = self.find(id)
            state = training.find_state(self._find_doing(id))
            if state not in ("stopped", "failed") or not training.can_resume:
                raise TrainingError("step", 409, name=training.facts.name, state=state)
            self._check_idle()
            training.facts.begun, training.facts.spent = time.time(), training.read_spent()
            training.save()
            arguments = ["train", "--resume", str(training.folder), "--device", self.device]
            self._start(training, "training", [*arguments, "--json"])
        return training

    def _check_idle(self) -> None:
        """Raise TrainingError if a training has a process, whoever started it."""
        for each in self.list_all():
            if each.find_state(self._find_doing(each.id)) in ("checking", "training"):
                raise TrainingError("busy", 409, name=each.facts.name)

    def _start(self, training: OwnTraining, doing: State, arguments: list[str]) -> None:
        folder = training.folder
        (folder / ENDED).unlink(missing_ok=True)
        try:
            with (folder / OUTCOME).open("wb") as out, (folder / MESSAGES).open("wb") as errors:
                command = ["-m", "glassformer", *arguments]
                process = start_python(command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors)
        except OSError as error:
            raise explain_full(error) from None
        if os.name == "posix":
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
        self._child = training.id, doing, process
        threading.Thread(target=self._wait, args=(folder, process), daemon=True).start()

    def _wait(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        """Note how a process ended, and offer its model."""
        code = process.wait()
        with suppress(OSError):  # the disk is full, or the training deleted
            write_json(folder / ENDED, {"code": code})
        self.offer_models()

    def stop(self, id: str, *, at_once: bool = False) -> OwnTraining:
        """Ask the process of a training to save and end; `at_once`: end it, and wait for that."""
        training = self.find(id)
        with self._lock:
            doing = self._find_doing(id)
            if doing and self._child:
                process = self._child[2]
                process.kill() if at_once or doing == "checking" else process.terminate()
                if at_once or doing == "checking":
                    process.wait()
            elif is_held(training.run / LOCK):
                end_holder(training.run / LOCK, KILL if at_once else signal.SIGTERM)
        return training

    def delete(self, id: str) -> None:
        """Delete a training with its text and its model, and end its process."""
        with self._lock:  # so that nobody offers its model meanwhile
            training = self.stop(id, at_once=True)
            self.pool.remove(id)
            drop_folder(training.folder)

    def offer_models(self) -> None:
        """Put the models that are there into the pool."""
        with self._lock:
            for each in self.list_all():
                if each.has_model and not self.pool.has(each.id):
                    with suppress(ValueError, OSError):  # it is just being written, or damaged
                        self.pool.add(each.folder, each.facts.name)

    def close(self) -> None:
        """Ask a training to save itself and end, and wait for that."""
        with self._lock:
            if self._child is None or self._child[2].poll() is not None:
                return
            process = self._child[2]
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDING)


def list_published(training: OwnTraining) -> list[Path]:
    """Return the files of a model that translating needs. Raises TrainingError without a model."""
    if not training.has_model:
        raise TrainingError("model", 404, name=training.facts.name)
    files = (training.folder / name for name in PUBLISHED)
    return [path for path in files if path.is_file()]


def measure_folder(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    size = 0
    for place, _, names in os.walk(folder):  # which passes over a folder that has gone meanwhile
        for name in names:
            with suppress(OSError):
                size += Path(place, name).stat().st_size
    return size


def is_held(path: Path) -> bool:
    """Return whether a living process holds the lock of a run; one that was left is removed."""
    try:
        with path.open("r+", encoding="utf-8") as file:
            if not take_lock(file):
                return True
            if os.name == "posix" and is_still(path, file):
                path.unlink(missing_ok=True)
    except OSError:
        return False
    return False


def end_holder(path: Path, options: int) -> None:
    """Send a signal to the process that holds the lock of a run."""
    with suppress(OSError, ValueError, AttributeError):
        match = re.match(r"process (\d+) on ", path.read_text(encoding="utf-8"))
        assert match
        pid = int(match[1])
        os.kill(pid, options)
        deadline = time.monotonic() + ENDING
        while options == KILL and is_held(path) and time.monotonic() < deadline:
            time.sleep(0.05)
