"""Whatever it is given, glassformer does its work or says in one sentence why it cannot."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from typing import Any

import pytest
from damage.ledger import Ledger
from damage.mutation import ODD, damaged, odd_file
from damage.trainings import LINES, SETTINGS
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from glassformer.cli import main
from glassformer.cli.verbs import list_verbs
from glassformer.config import Config
from glassformer.data.corpus import find_data
from glassformer.model.files.directory import load_model
from glassformer.see import Trace
from glassformer.see.summary import summarise
from glassformer.text import clean
from glassformer.text.kinds import load_tokenizer
from glassformer.text.sentences import split_sentences
from glassformer.train import train
from glassformer.translator import Translator

TABLE = "Bad input"
SHARES = 17  # of the real processes: each is a test, counted when it is done
EXPECTED = "done, or refused in one sentence; never an internal error"
ROOT = Path(__file__).parents[2]
TEXTS = st.text(st.characters(), max_size=200) | st.text(
    st.sampled_from("ab .!?\n\r\t\0\ufeff\u2028\x85é中。文\ud83d\udc00😀'\"’()0123"), max_size=200
)
LANGS = st.sampled_from(["en", "de", "zh", "ja", "fr", "xx", "", None])


def fuzz(quick: int, slow: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """So many cases in the default run, and in the slow one."""
    more = pytest.param(slow, marks=pytest.mark.slow)
    return pytest.mark.parametrize("cases", [quick, more])


def try_cases(strategy: st.SearchStrategy[Any], cases: int, body: Callable[[Any], None]) -> None:
    """The slow run draws other cases each time; what it finds is printed."""

    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        derandomize=cases < 1000,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        print_blob=True,
    )
    @given(strategy)
    def run(case: Any) -> None:
        body(case)

    run()


def is_refused(function: Callable[..., Any], *given: Any, name: str = "") -> bool:
    """Whether it raises ValueError or OSError in a sentence that has `name` in it."""
    try:
        function(*given)
    except (ValueError, OSError) as error:
        said = str(error)
        assert said.strip() and said.count("\n") == 0, repr(said)
        assert name in said, f"{name} is not in {said!r}"
        return True
    return False


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, a model, a trace and a run."""
    folder = tmp_path_factory.mktemp("home")
    sides = LINES, [line[::-1] for line in LINES]
    for name, lines in zip(("train.en", "train.xx"), sides, strict=True):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    quick = {**SETTINGS["train"], "steps": 2, "validate_every": 2}
    model = {**SETTINGS["model"], "positions": {"max_positions": 100}}
    raw = {**SETTINGS, "train": quick, "model": model, "data": {"source_lang": "en"}}
    train(Config.read(raw), [folder / "train.en", folder / "train.xx"], folder / "m", quiet=True)
    trace = Translator.load(folder / "m").see("the cat", level="everything")
    trace.save(folder / "trace", parameters=True)
    (folder / "recipe.toml").write_text(Config.read(raw).to_toml(), encoding="utf-8")
    return folder


@fuzz(200, 35_000)
def test_tokenizer(home: Path, ledger: Ledger, cases: int) -> None:
    tokenizer = load_tokenizer(home / "m/tokenizer.json")

    def body(text: str) -> None:
        found = tokenizer.tokens(text)
        assert list(found.ids) == tokenizer.encode(text)
        assert all(3 <= id < len(tokenizer) for id in found.ids)
        assert tokenizer.decode(found.ids) == clean(text)
        ends = [0, *(end for _, end in found.spans)]
        assert ends == sorted(ends) and (not text or not clean(text) or ends[-1] == len(text))

    try_cases(TEXTS, cases, body)
    ledger.note(TABLE, "any text in the tokenizer", "comes back as its NFC", times=cases)


@fuzz(200, 10_000)
def test_sentence_splitter(ledger: Ledger, cases: int) -> None:
    def body(case: tuple[str, str | None]) -> None:
        text, lang = case
        end = 0
        for start, stop in split_sentences(text, lang):
            assert end <= start < stop <= len(text)
            assert not text[end:start].strip() and text[start:stop].strip()
            end = stop
        assert not text[end:].strip()

    try_cases(st.tuples(TEXTS, LANGS), cases, body)
    happened = "sentences in order, nothing but white space between them"
    ledger.note(TABLE, "any text in the sentence splitter", happened, times=cases)


def write_corpora(home: Path) -> dict[str, bytes]:
    """One file of each kind that is read."""
    import gzip
    import zipfile

    pairs = list(zip(LINES, (line[::-1] for line in LINES), strict=True))
    tsv = "".join(f"{source}\t{target}\n" for source, target in pairs)
    csv = "source,target\n" + "".join(f'"{source}","{target}"\n' for source, target in pairs)
    jsonl = "".join(json.dumps({"en": a, "xx": b}) + "\n" for a, b in pairs)
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{a}</seg></tuv><tuv xml:lang="xx"><seg>{b}</seg></tuv></tu>'
        for a, b in pairs[:4]
    )
    tmx = f'<?xml version="1.0"?><tmx version="1.4"><body>{units}</body></tmx>'
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for side, lang in enumerate(("en", "xx")):
            archive.writestr(f"c.en-xx.{lang}", "".join(pair[side] + "\n" for pair in pairs))
    found = {"t.tsv": tsv, "t.csv": csv, "t.jsonl": jsonl, "t.tmx": tmx}
    plain = {name: text.encode() for name, text in found.items()}
    return {**plain, "t.tsv.gz": gzip.compress(tsv.encode(), mtime=0), "t.zip": packed.getvalue()}


@fuzz(120, 6000)
def test_corpus_readers(home: Path, tmp_path: Path, ledger: Ledger, cases: int) -> None:
    kinds = write_corpora(home)
    strategy = st.sampled_from(sorted(kinds)).flatmap(
        lambda name: st.tuples(st.just(name), damaged(kinds[name]))
    )

    def body(case: tuple[str, bytes]) -> None:
        name, data = case
        path = tmp_path / name
        path.write_bytes(data)

        def read() -> None:
            corpus = find_data(path, "en", "xx").train
            pairs = list(corpus)
            assert all(isinstance(side, str) for pair in pairs for side in pair)
            if name in ("t.tsv",):
                header = len(data.splitlines()) and b"source" in data.split(b"\n")[0]
                lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
                assert header or len(pairs) == lines

        is_refused(read, name=str(tmp_path))

    try_cases(strategy, cases, body)
    ledger.note(TABLE, "damaged .tsv .csv .jsonl .tmx .gz .zip", EXPECTED, times=cases)


@fuzz(60, 2000)
def test_line_files(home: Path, tmp_path: Path, ledger: Ledger, cases: int) -> None:
    """Two files of lines: as many pairs as lines, or which file has more."""
    lines = st.lists(st.binary(max_size=20).map(lambda b: b.replace(b"\n", b"")), max_size=8)

    def body(case: tuple[list[bytes], list[bytes]]) -> None:
        paths = [tmp_path / "a", tmp_path / "b"]
        for path, side in zip(paths, case, strict=True):
            path.write_bytes(b"".join(line + b"\n" for line in side))

        def read() -> None:
            corpus = find_data(paths).train
            corpus.fingerprints()
            assert len(list(corpus)) == len(case[0]) == len(case[1])

        is_refused(read, name=str(tmp_path))

    try_cases(st.tuples(lines, lines), cases, body)
    ledger.note(TABLE, "two files of any bytes", "as many pairs as lines, or refused", times=cases)


@fuzz(20, 500)
def test_check_data(tmp_path: Path, ledger: Ledger, cases: int) -> None:
    lines = st.lists(TEXTS.map(lambda text: text.replace("\n", " ")), max_size=12)
    paths = [tmp_path / "a.en", tmp_path / "a.xx"]

    def body(case: tuple[list[str], list[str]]) -> None:
        for path, side in zip(paths, case, strict=True):
            data = "".join(f"{line}\n" for line in side).encode("utf-8", "surrogatepass")
            path.write_bytes(data)
        run("check-data", "--data", paths[0], "--data", paths[1])

    try_cases(st.tuples(lines, lines), cases, body)
    ledger.note(TABLE, "any text in check-data", EXPECTED, times=cases)


def keys() -> list[str]:
    raw = Config().model_dump()
    return ["size", "model.positions.max_positions", "model.positions.layout"] + [
        f"{table}.{name}"
        for table, values in raw.items()
        if isinstance(values, dict)
        for name in values
    ]


@fuzz(300, 4000)
def test_config(home: Path, tmp_path: Path, ledger: Ledger, cases: int) -> None:
    text = (home / "recipe.toml").read_bytes()
    values = st.sampled_from([str(x) for x in (*ODD, "nan", "1979-05-27", "[1,2]", "{a=1}")])
    changes = st.lists(st.tuples(st.sampled_from([*keys(), "", ".", "a.b", "size.x"]), values))

    def body(case: tuple[bytes, list[tuple[str, str]]]) -> None:
        path = tmp_path / "recipe.toml"
        path.write_bytes(case[0])
        is_refused(Config.load, path, [f"{key}={value}" for key, value in case[1]])

    files = st.just(text) | damaged(text) | odd_file("recipe.toml", text)
    try_cases(st.tuples(files, changes), cases, body)
    ledger.note(TABLE, "damaged settings, odd values in --set", EXPECTED, times=cases)


MODEL = ["model.safetensors", "config.toml", "tokenizer.json", "card.md", "golden.json"]


@fuzz(40, 1000)
def test_model_directory(home: Path, tmp_path: Path, ledger: Ledger, cases: int) -> None:
    data = {name: (home / "m" / name).read_bytes() for name in MODEL}
    strategy = st.sampled_from(MODEL).flatmap(
        lambda name: st.tuples(st.just(name), odd_file(name, data[name]))
    )
    folder = tmp_path / "m"
    shutil.copytree(home / "m", folder, ignore=shutil.ignore_patterns("run"))
    loaded = 0

    def body(case: tuple[str, bytes]) -> None:
        nonlocal loaded
        name, changed = case
        (folder / name).write_bytes(changed)
        try:
            if is_refused(load_model, folder, name=str(folder)):
                return
            loaded += 1
            if loaded % 5 == 0:
                run("doctor", folder)
                run("info", folder)
            code, out, _ = run("translate", folder, "--precision", "fp32", given=b"the cat\n\nx\n")
            assert code or out.count("\n") == 3
        finally:
            (folder / name).write_bytes(data[name])

    try_cases(strategy, cases, body)
    happened = "refused in one sentence that names the file, or harmless"
    ledger.note(TABLE, "damaged model directories", happened, times=cases)


@fuzz(60, 1500)
def test_trace(home: Path, tmp_path: Path, ledger: Ledger, cases: int) -> None:
    folder = tmp_path / "trace"
    shutil.copytree(home / "trace", folder)
    data = {path.name: path.read_bytes() for path in folder.iterdir()}
    strategy = st.sampled_from([*sorted(data), "trace.json", "trace.json"]).flatmap(
        lambda name: st.tuples(st.just(name), odd_file(name, data[name]))
    )

    def body(case: tuple[str, bytes]) -> None:
        name, changed = case
        (folder / name).write_bytes(changed)
        try:
            if not is_refused(Trace.load, folder, name=str(folder)):
                summarise(Trace.load(folder), 3, None, None)
        finally:
            (folder / name).write_bytes(data[name])

    try_cases(strategy, cases, body)
    ledger.note(TABLE, "damaged traces", EXPECTED, times=cases)


def run(*argv: str | Path, given: bytes = b"") -> tuple[int, str, str]:
    """The command line in this process. Whatever happens, it is no defect of ours."""
    out, err, former = io.StringIO(), io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(given))
    try:
        with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("error")
            code = main([str(each) for each in argv])
    finally:
        sys.stdin = former
    check_end(code, err.getvalue(), out.getvalue(), argv)
    return code, out.getvalue(), err.getvalue()


def check_end(code: int, said: str, out: str, argv: Sequence[Any]) -> None:
    assert code in (0, 1, 2), f"{argv} ended with {code}: {said}"
    assert "Traceback" not in said and "internal error" not in said
    assert code != 2 or said.strip() or "Usage:" in out, f"{argv} says nothing"


def words(home: Path) -> st.SearchStrategy[list[str]]:
    """Command lines of words that are known, nearly known, and not."""
    names = [verb for verb in list_verbs() if verb not in ("demo", "serve")]
    options = sorted(
        {
            word
            for name in names
            for word in _help(name).split()
            if word.startswith("--") and word.strip("-,.[]").replace("-", "").isalpha()
        }
        - {"--help", "--install-completion", "--show-completion"}
    )
    files = [
        "m",
        "trace",
        "train.en",
        "train.xx",
        "recipe.toml",
        "nosuch",
        ".",
        "",
        "m/card.md",
        "m/model.safetensors",
        "/dev/null",
        "out",
        "m/run",
        "-",
        "x\0y",
        "\ud800",
    ]
    values = [
        "0",
        "1",
        "-1",
        "3",
        "1e9",
        "99999999999999999999",
        "nan",
        "x",
        "en",
        "fp32",
        "cpu",
        "train.steps=2",
        "decode.beam=0",
        "decode.beam=2",
        "=",
        "memory[0,0]",
        "memory[9,9]",
        "cuda",
        "bf16",
        "greedy",
        "sample",
        "the cat",
        "svg",
        "V49",
        "attention",
    ]
    word = st.sampled_from([*files, *values, *options])
    return st.tuples(
        st.sampled_from(names), st.lists(word | st.sampled_from(files), max_size=5)
    ).map(lambda found: [found[0], *found[1]])


def _help(name: str) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        main([name, "--help"])
    return out.getvalue()


@fuzz(40, 2000)
def test_command_lines(
    home: Path, ledger: Ledger, cases: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)

    def body(argv: list[str]) -> None:
        run(*argv, given=b"the cat\n\xff\n")
        if (home / "out").exists():
            shutil.rmtree("out") if Path("out").is_dir() else Path("out").unlink()

    try_cases(words(home), cases, body)
    ledger.note(TABLE, "any words on the command line", EXPECTED, times=cases)


@fuzz(15, 500)
def test_every_line_has_its_own_translation(home: Path, ledger: Ledger, cases: int) -> None:
    """As many lines out as in, each what the line alone gives."""
    translator = Translator.load(home / "m", precision="fp32")
    known: dict[str, str] = {}

    def alone(line: str) -> str:
        if line not in known:
            known[line] = run("translate", home / "m", given=line.encode() + b"\n")[1]
        return known[line]

    lines = st.sampled_from(["the cat", "old dog runs x", "", " ", "\u3000", "\ufffd", "a.b! c?"])

    def body(case: list[str]) -> None:
        data = "".join(f"{line}\n" for line in case).encode()
        code, out, _ = run("translate", home / "m", given=data)
        assert code == 0 and out == "".join(map(alone, case))

    try_cases(st.lists(lines, max_size=6), cases, body)
    assert translator
    happened = "as many lines as in the input, each as if it were alone"
    ledger.note(TABLE, "lines in any order through translate", happened, times=cases)


@fuzz(15, 800)
def test_any_bytes_through_translate(home: Path, ledger: Ledger, cases: int) -> None:
    def body(data: bytes) -> None:
        code, out, err = run("translate", home / "m", given=data)
        if code:
            assert "standard input" in err, err
        else:
            lines = data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))
            assert out.count("\n") == lines

    some = st.binary(max_size=60) | st.lists(TEXTS).map(
        lambda texts: "\n".join(texts).encode("utf-8", "surrogatepass")
    )
    try_cases(some, cases, body)
    ledger.note(TABLE, "any bytes through translate", EXPECTED, times=cases)


@pytest.mark.parametrize(
    "share", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, SHARES))]
)
def test_real_processes(home: Path, ledger: Ledger, share: int) -> None:
    """The same command lines as processes of their own, as a shell starts them."""
    chosen: list[list[str]] = []
    count = 20 if share else 3
    try_cases(words(home), 40 * SHARES, chosen.append)
    chosen = [each for each in chosen if "\0" not in "".join(each)]
    for argv in Random(share).sample(chosen[share::SHARES], count):
        shutil.rmtree(home / "out", ignore_errors=True)
        ended = subprocess.run(
            [sys.executable, "-m", "glassformer", *(word for word in argv if word != "\ud800")],
            cwd=home,
            input=b"the cat\n\xff\n",
            capture_output=True,
            timeout=600,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        )
        said, out = (stream.decode("utf-8", "replace") for stream in (ended.stderr, ended.stdout))
        check_end(ended.returncode, said, out, argv)
    ledger.note(TABLE, "command lines as real processes", EXPECTED, times=count)
