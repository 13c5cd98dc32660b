"""Shards of a file are its lines; what was written stays; Ray is not needed for any of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from glassformer.data.files import read_lines
from glassformer.extensions.cluster import ray_job
from glassformer.extensions.cluster.ray_job import ShardJob, Worker, translate_shards
from glassformer.extensions.ideas.shards import Shard, cut_file, join_shards, read_shard
from glassformer.translate.sentence import CheckedTranslation
from glassformer.translator import Translator

LINES = ["The cat is on the mat.", "", "  I love AI. Thanks! ", "The car is blue.", "Merci"]
CHARACTERS = st.sampled_from("ab \r\u2028\ufeff\x85\x0cé😀")


def show(line: int, text: str, found: CheckedTranslation, precision: str) -> str:
    return f"{line}\t{text}\t{found.best[0].text}\t{precision}"


@pytest.fixture
def job(tmp_path: Path) -> ShardJob:
    source = tmp_path / "text"
    source.write_text("\n".join(LINES), encoding="utf-8")  # the last line has no end
    return ShardJob("demo", str(source), {"search": "greedy"}, 1, True, True, 0, "fp32", "cpu")


@pytest.fixture
def no_ray(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A worker in this process instead; says which shards it was given."""
    given: list[int] = []

    def run(job, parts, render, missing, workers, threads, address):  # type: ignore[no-untyped-def]
        worker = Worker(job, str(parts), render, threads)
        for shard in missing:
            given.append(shard.number)
            worker({name: [value] for name, value in vars(shard).items()})
            yield shard.lines

    monkeypatch.setattr(ray_job, "_run", run)
    return given


@given(st.lists(st.text(CHARACTERS, max_size=4)), st.integers(1, 4), st.booleans())
def test_shards_are_the_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], size: int, is_ended: bool
) -> None:
    text = "\n".join(lines) + "\n" * is_ended
    assume("\n" in text or "\r" not in text)  # lines that end with CR alone are refused
    path = tmp_path_factory.mktemp("cut") / "text"
    path.write_bytes(text.encode())
    found = list(cut_file(path, size))
    assert [line for shard in found for line in read_shard(path, shard)] == list(read_lines(path))
    assert [shard.number for shard in found] == list(range(len(found)))
    assert all(shard.lines == size for shard in found[:-1])


def test_what_is_no_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"good\nbad \xff\n")
    with pytest.raises(ValueError, match="line 2: not UTF-8"):
        list(cut_file(path, 1))


def test_the_output_is_the_plain_one(job: ShardJob, tmp_path: Path, no_ray: list[int]) -> None:
    done: list[int] = []
    out = tmp_path / "out"
    assert translate_shards(job, out, show, workers=1, shard_lines=2, progress=done.append) == 0
    best = Translator.load("demo", device="cpu", precision="fp32").translate(LINES)
    wanted = [f"{n}\t{a}\t{b}\tfp32\n" for n, (a, b) in enumerate(zip(LINES, best, strict=True), 1)]
    assert out.read_text(encoding="utf-8") == "".join(wanted)
    assert no_ray == [0, 1, 2] and sum(done) == len(LINES)
    assert (
        list(tmp_path.iterdir()) == [tmp_path / "text", out] or len(list(tmp_path.iterdir())) == 2
    )


def test_it_goes_on_where_it_stopped(
    job: ShardJob, tmp_path: Path, no_ray: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    translate = Worker.translate

    def die(self: Worker, shard: Shard) -> None:
        if shard.number == 1:
            raise KeyboardInterrupt
        translate(self, shard)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Worker, "translate", die)
        translate_shards(job, out, show, workers=1, shard_lines=2)
    assert not out.exists()
    no_ray.clear()
    assert translate_shards(job, out, show, workers=1, shard_lines=2) == 1
    assert no_ray == [1, 2] and len(list(read_lines(out))) == len(LINES)


def test_another_job_asks_to_overwrite(
    job: ShardJob, tmp_path: Path, no_ray: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shards of other settings are not joined with these, and not lost unasked."""
    out, other = tmp_path / "out", replace(job, seed=1)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ray_job, "join_shards", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        translate_shards(job, out, show, workers=1, shard_lines=2)
    with pytest.raises(ValueError, match="begun with another seed: go on so, or give --overwrite"):
        translate_shards(other, out, show, workers=1, shard_lines=2)
    no_ray.clear()
    assert translate_shards(other, out, show, workers=1, shard_lines=2, overwrite=True) == 0
    assert no_ray == [0, 1, 2] and len(list(read_lines(out))) == len(LINES)


def test_other_settings_do_not_go_on(job: ShardJob, tmp_path: Path, no_ray: list[int]) -> None:
    out = tmp_path / "out"
    ray_job._begin(out.with_name("out.parts"), job, 2, show)
    with pytest.raises(ValueError, match="begun with another seed"):
        translate_shards(replace(job, seed=1), out, show, workers=1, shard_lines=2)
    Path(job.source).write_text("something else", encoding="utf-8")
    with pytest.raises(ValueError, match="begun with another text"):
        translate_shards(job, out, show, workers=1, shard_lines=2)


def test_parts_are_joined_in_order(tmp_path: Path) -> None:
    parts = tmp_path / "out.parts"
    parts.mkdir()
    for number in (2, 0, 1):
        (parts / f"{number:08d}").write_text(f"{number}\n", encoding="utf-8")
    join_shards(parts, [Shard(n, n, 1, 2 * n, 2 * n + 2) for n in range(3)], tmp_path / "out")
    assert (tmp_path / "out").read_text(encoding="utf-8") == "0\n1\n2\n"
    assert not parts.exists()
