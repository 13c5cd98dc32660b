"""The command line, run in this process on a model so small that it knows nothing."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sacrebleu
from typer.main import get_command

from glassformer.cli import main, terminal, verbs
from glassformer.cli.decoding import LM_WEIGHT, MACHINE, choose_search, load_translator
from glassformer.cli.train import choose_config, read_recipe
from glassformer.config import Config
from glassformer.engine import weights
from glassformer.extensions.demo import corpus as exam
from glassformer.extensions.demo.cli import demo
from glassformer.foundation import progress
from glassformer.foundation.shared_library import load_library
from glassformer.model.files.directory import Tokenizers
from glassformer.translator import Translator
from tools.demo_corpus import pairs

ROOT = Path(__file__).parents[2]
COMMANDS = get_command(verbs.app).commands
SMALL = (
    "model.d_model=16 model.heads=2 model.encoder_layers=1 model.decoder_layers=1 "
    "text.vocabulary=400 decode.beam=2 decode.max_extra=5"
)

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def no_golden_translations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether int8 is close enough for a network as untrained as these is chance."""
    monkeypatch.setattr(weights, "read_examples", lambda *given: [])


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with text, and a model that was trained for two updates."""
    folder = tmp_path_factory.mktemp("home")
    for side, texts in zip(("en", "fr"), zip(*pairs("en", "fr", 60, 1), strict=True), strict=True):
        (folder / f"train.{side}").write_text("\n".join(texts[:50]) + "\n", encoding="utf-8")
        (folder / f"test.{side}").write_text("\n".join(texts[50:]) + "\n", encoding="utf-8")
    sets = [word for change in SMALL.split() for word in ("--set", change)]
    files = [word for side in ("en", "fr") for word in ("--data", str(folder / f"train.{side}"))]
    last = ["--set", "train.keep=2", "--set", "train.checkpoint_every=1", "--quiet"]
    langs = ["--source-lang", "en", "--target-lang", "fr", "--set", "train.steps=2"]
    assert main(["train", "tiny", *files, "--out", str(folder / "m"), *langs, *sets, *last]) == 0
    return folder


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command in the folder of texts; gives the exit code, stdout and stderr."""
    monkeypatch.chdir(home)

    def run(command: str, text: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        capfd.readouterr()
        code = main(shlex.split(command))
        return code, *capfd.readouterr()

    return run


FLAGGED = re.compile(
    r"glassformer: (\d+ of \d+ translations? looks? wrong)?(, )?"
    r"(\d+ texts? (is|are) unlike the training text)?: --json says which\n"
)


def _translate(run: Run, options: str, text: str) -> list[str]:
    code, out, err = run(f"translate m {options}", text.encode())
    assert code == 0 and not FLAGGED.sub("", err)
    return out.split("\n")[:-1]


# ---- what is wrong is said in one sentence --------------------------------------------------


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("translate m nosuch.en", "nosuch.en: No such file or directory"),
        ("translate m 'A dog runs.'", 'echo "A dog runs." | glassformer translate'),
        (f"translate m '{'A dog runs. ' * 50}'", "echo .* | glassformer translate"),
        ("translate nosuch test.en", "nosuch: no such folder, nor a model's name"),
        ("translate . test.en", ". is no model directory: it has no config.toml"),
        ("translate m test.en -o no/such.fr", "no/such.fr: No such file or directory"),
        ("translate m test.en --beam 0", "settings: decode.beam: must be at least 1"),
        ("translate m test.en --search bean", "decode.search: .*'beam', 'greedy' or 'sample'"),
        ("translate m test.en --n-best 9 --beam 2", "n_best=9 needs a beam as wide, not beam=2"),
        ("translate m test.en --seed 5", "--seed has no effect on beam search; add --search sa"),
        ("translate m test.en --beam 3 --top-k 5", "beam asks for search=beam and top_k asks for"),
        ("translate m test.en --search greedy --beam 3", "--beam has no effect on greedy search"),
        ("translate m test.en --device tpu", "device=tpu is not on this machine; it has .*cpu"),
        ("translate m test.en --precision fp8", "precision=fp8: one of auto, fp32, bf16"),
        ("translate m test.en --prefix-file train.fr", "train.fr has more lines than the text"),
        ("score m --source test.en --target train.fr", "test.en has 10 lines but .* has 50"),
        ("score m --source test.en --target test.fx", "test.fx: no such file; did you mean test."),
        ("evaluate --reference test.fr", "evaluate needs a MODEL and --source, or --hypothesis"),
        ("evaluate m --reference test.fr", "to evaluate MODEL, give --source"),
        ("evaluate m --source test.en --reference train.fr", "test.en has 10 lines but train.fr"),
        ("evaluate --hypothesis test.fr --reference test.fr -o x", "--output has no effect with"),
        ("evaluate --hypothesis test.fr --reference test.fr --against train.fr", "train.fr has 50"),
        ("evaluate --hypothesis test.fr --reference test.fr --tokenize 14a", "no tokeniser '14a'"),
        ("evaluate m --source test.en --reference test.fr --set train.seed=2", "only decode.*"),
        ("evaluate m --source test.en --reference test.fr -o test.fr", "test.fr is read here, and"),
        ("translate m test.en -o ./test.en", "test.en is read here, and would"),
        ("translate m test.en --engine ray -o ./test.en", "test.en is read here, and would"),
        ("score m --source test.en --target test.fr -o test.fr", "test.fr is read here, and would"),
        ("align m --source test.en --target test.fr -o test.en", "test.en is read here, and would"),
        (
            "check-data --data train --source-lang en --target-lang fr --fix train",
            "train.en is read here, and would be lost",
        ),
        ("train tiny", "train needs --data and --out, or --resume alone"),
        ("train tiny --out x", "train needs --data$"),
        ("train nothing --out here", "nothing: no file, folder or recipe of that name is there"),
        ("train smal --data . --out x", "smal is no recipe, no size, .*did you mean small?"),
        ("train nosuch.toml --data . --out x", "there are auto, paper, tiny, small, base, big"),
        ("train tiny --data . --out x --set train.stps=5", "did you mean train.steps?"),
        ("train tiny --data . --out x --set train.steps", "write it as key=value"),
        (
            "train tiny --data . --out x --set train.steps=many",
            "train.steps: must be a whole number",
        ),
        ("train tiny --data . --out x --minutes 1 --set train.steps=5", "both say when to stop"),
        ("train tiny --data train.en --out one", "train.en is one side only"),
        ("train tiny --data train.en --data test.fr --out two", "has 50 lines but .* has 10"),
        ("train tiny --data train.en --data train.fr --out m", "m holds a training already"),
        ("train --resume nosuch", "nosuch holds no training to resume"),
        ("train --resume m --minutes 3", "--resume takes everything from the run itself"),
        ("average m --last 9 --out x", "last=9 is not possible"),
        ("average nosuch --out x", "nosuch holds no training with checkpoints"),
        ("info nosuch", "nosuch: no such folder"),
        ("demo --out .", r"\. is there already"),
        ("transalte m", "^glassformer: no such command 'transalte'.*; see glassformer --help"),
        ("translate m --baem 3", "there is no --baem; did you mean --beam\\?"),
        ("translate m --beam five", "^glassformer: invalid value for '--beam': "),
        ("translate m --threads 0", "^glassformer: invalid value for '--threads': .*; see glass"),
        ("train --out", "^glassformer: option '--out' requires an argument; see glassformer train"),
        ("page m", "^glassformer: missing option '--output'.*; see glassformer page --help"),
        ("train train.en train.fr test.fr --out x", "train.en is no file of settings, .* --data"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(run: Run, command: str, sentence: str) -> None:
    code, _, err = run(command)
    assert code == 2
    assert re.search(sentence, err) and "Traceback" not in err
    if err.startswith("glassformer: "):
        assert err.count("\n") == 1


def test_text_that_is_not_utf8_is_named_by_its_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "latin.fr").write_bytes("un\ndéjà\n".encode("latin-1"))
    code, out, err = run(f"translate m {tmp_path / 'latin.fr'} --chunk 1")
    assert (code, out.count("\n")) == (2, 1)
    assert err.endswith(
        "not UTF-8 (byte 0xE9): perhaps Latin-1 or Windows-1252, save it as UTF-8\n"
    )


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ValueError("a is no b"), 2, "glassformer: a is no b\n"),
        (FileNotFoundError(2, "No such file", "x.en"), 2, "glassformer: x.en: No such file\n"),
        (OSError(28, "No space left on device"), 2, "glassformer: No space left on device\n"),
        (OSError(28, "No room", "a", None, "copy"), 2, "glassformer: copy: No room\n"),
        (OSError(13, "Denied", "a", None, "copy"), 2, "glassformer: a: Denied\n"),
        (KeyboardInterrupt(), 130, ""),
        (SystemExit("stopped"), 1, ""),
        (KeyError("lost"), 70, "glassformer: internal error: KeyError: 'lost'\n"),
        (RuntimeError("two\nlines"), 70, "internal error: RuntimeError: two lines\n"),
    ],
)
def test_each_kind_of_error_has_its_code(
    error: BaseException,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(argv: object, prog_name: str) -> None:
        raise error

    monkeypatch.setattr(verbs, "app", fail)
    monkeypatch.delenv("GLASSFORMER_DEBUG", raising=False)
    assert main([]) == code
    err = capsys.readouterr().err
    assert said in err and "Traceback" not in err
    monkeypatch.setenv("GLASSFORMER_DEBUG", "1")
    main([])
    assert ("Traceback" in capsys.readouterr().err) == isinstance(error, Exception)


def test_a_reader_that_stops_early_hears_no_complaint() -> None:
    command = [sys.executable, "-c", "import sys; from glassformer.cli import main\nmain(['-h'])"]
    command[2] = command[2].replace("-h", "--help")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as broken:
        ended = subprocess.run(command, stdout=broken, stderr=subprocess.PIPE, env=env, check=False)
    assert ended.stderr == b""


# ---- translate ------------------------------------------------------------------------------


def test_a_line_out_for_each_line_in(run: Run) -> None:
    text = "The cat.\n\nA\u2028b\x0bc\x85d\r\n \nThe last line, without an end"
    lines = _translate(run, "", text)
    assert len(lines) == 5
    assert lines[1] == lines[3] == "" and all(lines[place] for place in (0, 2, 4))
    assert not any(len(line.splitlines()) > 1 for line in lines)
    assert _translate(run, "", "") == []


@pytest.mark.parametrize("search", ["beam", "greedy", "sample --seed 3"])
def test_chunks_and_files_change_nothing(run: Run, home: Path, search: str) -> None:
    text = (home / "test.en").read_text(encoding="utf-8")
    whole = _translate(run, f"--search {search}", text)
    assert len(set(whole)) > 1
    assert _translate(run, f"--search {search} --chunk 1", text) == whole
    assert _translate(run, f"test.en --search {search} --chunk 3", "") == whole
    assert _translate(run, f"test.en --search {search} -o out.fr", "") == []
    assert (home / "out.fr").read_bytes().decode() == "".join(f"{line}\n" for line in whole)
    assert not (home / "out.fr.partial").exists()


def test_training_stores_how_long_its_sentences_are(home: Path) -> None:
    """99 of 100 are no longer: those are translated whole."""
    tokenizers = Tokenizers.load(home / "m")
    lines = (home / "train.en").read_text(encoding="utf-8").splitlines()
    valid = (home / "m" / "run" / "valid.source").read_text(encoding="utf-8").splitlines()
    lengths = sorted(map(len, tokenizers.source.encode_many(set(lines) - set(valid))))
    above = Config.load(home / "m" / "config.toml").text.split_above
    assert above in lengths[-2:]


def test_another_seed_gives_another_sample(run: Run) -> None:
    first, second = (_translate(run, f"--search sample --seed {n}", "A cat.") for n in (1, 2))
    assert first != second


def test_json_says_all_there_is(run: Run) -> None:
    lines = [json.loads(line) for line in _translate(run, "--json", "The cat is old.\n\n")]
    assert [line["source"] for line in lines] == ["The cat is old.", ""]
    assert lines[0].keys() == {
        "source",
        "translation",
        "score",
        "log_prob",
        "tokens",
        "token_log_probs",
        "finished",
        "parts",
        "precision",
        "confidence",
        "problems",
        "retried",
    }
    assert lines[0]["log_prob"] == pytest.approx(sum(lines[0]["token_log_probs"]), rel=1e-5)
    assert _spell(lines[0]["tokens"]).split() == lines[0]["translation"].split()
    assert lines[1]["translation"] == "" and lines[1]["parts"] == []


def _spell(tokens: list[str]) -> str:
    """The text of tokens as they are shown."""

    def read(shown: re.Match[str]) -> str:
        return bytes.fromhex(shown[0].replace("<0x", "").replace(">", "")).decode(errors="replace")

    return re.sub("(?:<0x[0-9A-F]{2}>)+", read, "".join(tokens))


@pytest.mark.parametrize(
    ("own", "given", "search"),
    [
        ("greedy", {"beam": 3}, "beam"),
        ("greedy", {"n_best": 2}, "beam"),
        ("beam", {"top_k": 5, "seed": 1}, "sample"),
        ("greedy", {"n_best": 1}, "greedy"),
        ("sample", {"min_length": 2}, "sample"),
        ("beam", {"alpha": 0.5}, "beam"),
        ("beam", {"beam_groups": 5, "diversity": 3}, "beam"),
        ("beam", {"mbr": 4, "utility": "bleu"}, "sample"),
        ("sample", {"search": "greedy"}, "greedy"),
    ],
)
def test_options_of_one_search_ask_for_it(own: str, given: dict[str, Any], search: str) -> None:
    config = Config.read({"decode": {"search": own}})
    assert choose_search(config, {**given, "stop": None}).search == search


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"beam": 4, "diversity": 3}, "--diversity has no effect with --beam-groups 1"),
        ({"utility": "bleu"}, "--utility has no effect with --mbr 0"),
        ({"search": "greedy", "alpha": 1}, "--alpha has no effect on greedy search; add"),
        ({"alpha": 1, "length_penalty": "none"}, "no effect with --length-penalty none"),
    ],
)
def test_options_without_effect_are_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        choose_search(Config.read({}), given)


def test_a_language_model_may_not_have_no_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    used = list[float]()
    loaded = SimpleNamespace(with_language_model=lambda lm, weight, **machine: used.append(weight))
    monkeypatch.setattr(Translator, "load", lambda *inputs, **machine: loaded)
    options = dict.fromkeys((*MACHINE, "ensemble", "to")) | {"lm": "lm"}
    for weight in (0, None):
        load_translator(Path("m"), {**options, "lm_weight": weight})
    assert used == [0, LM_WEIGHT]


def test_a_line_is_translated_sentence_by_sentence(run: Run) -> None:
    text = " The cat is old.  The dog.\tA bird"
    alone = _translate(run, "", "The cat is old.\nThe dog.\nA bird\n")
    assert _translate(run, "", text) == [" {}  {}\t{}".format(*alone)]
    line = json.loads(_translate(run, "--json", text)[0])
    parts = line["parts"]
    cut = {
        side: [line[side][slice(*part[name])] for part in parts]
        for side, name in (("source", "source"), ("translation", "target"))
    }
    assert cut == {"source": ["The cat is old.", "The dog.", "A bird"], "translation": alone}
    assert [_spell(line["tokens"][slice(*part["tokens"])]).split() for part in parts] == [
        each.split() for each in alone
    ]
    for name in ("score", "log_prob"):
        assert line[name] == pytest.approx(sum(part[name] for part in parts))
    whole = json.loads(_translate(run, "--json --no-split", text)[0])
    assert [part["source"] for part in whole["parts"]] == [[0, len(text)]]


def test_n_best_are_listed_best_first(run: Run) -> None:
    text = "The cat is old.\nThe dog.\n"
    rows = [line.split("\t") for line in _translate(run, "--n-best 2", text)]
    assert [row[0] for row in rows] == ["1", "1", "2", "2"]
    objects = [json.loads(line) for line in _translate(run, "--n-best 2 --json", text)]
    named = [each for line in objects for each in line["n_best"]]
    assert [row[2] for row in rows] == [each["translation"] for each in named]
    for line in objects:
        assert line["n_best"][0].items() <= line.items()
        assert line["n_best"][0]["score"] >= line["n_best"][1]["score"]


def test_each_translation_begins_as_told(run: Run, home: Path) -> None:
    (home / "begin.fr").write_text("Le chat\n\nUn\n", encoding="utf-8")
    free = _translate(run, "", "A.\nB.\nC.\n")
    told = _translate(run, "--prefix-file begin.fr --chunk 2", "A.\nB.\nC.\n")
    assert told[0].startswith("Le chat") and told[1] == free[1] and told[2].startswith("Un")


def test_half_characters_are_replaced_and_counted(run: Run) -> None:
    code, out, err = run("translate m --json", b"a \xed\xa0\x80 b\n\xed\xbf\xbf\nc\n")
    assert code == 0
    assert [json.loads(line)["source"] for line in out.splitlines()] == [
        "a \ufffd b",
        "\ufffd",
        "c",
    ]
    assert err == "glassformer: 2 lone surrogates in the input, each replaced by U+FFFD\n"


def test_what_was_done_before_an_error_is_kept(run: Run, home: Path) -> None:
    (home / "odd.en").write_bytes(b"A cat.\n\xff\n")
    code, _, err = run("translate m odd.en --chunk 1 -o odd.fr")
    assert code == 2
    assert "what was done by then is in odd.fr.partial" in err
    assert "odd.en, line 2" in err
    assert (home / "odd.fr.partial").read_text(encoding="utf-8").count("\n") == 1
    assert not (home / "odd.fr").exists()


def test_what_is_too_long_to_be_whole_is_split_and_named(run: Run, home: Path) -> None:
    text = "The cat is old. The dog.\n" + "The cat is old. " * 400 + "\nA bird.\n"
    (home / "long.en").write_text(text, encoding="utf-8")
    code, out, err = run("translate m long.en --no-split --json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and [line["source"] for line in lines] == text.splitlines()
    assert err == ("glassformer: line 2 is too long to be translated whole: it was split\n")
    kinds = [{each["kind"] for each in line["problems"]} for line in lines]
    assert ["parts" in each for each in kinds] == [False, True, False]
    assert [len(line["parts"]) > 1 for line in lines] == [False, True, False]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_plain_file_is_written_and_not_replaced(run: Run, tmp_path: Path) -> None:
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    listener = threading.Thread(target=lambda: heard.append(pipe.read_text(encoding="utf-8")))
    listener.start()
    assert _translate(run, f"-o {pipe}", "A cat.\nA dog.\n") == []
    listener.join(timeout=10)
    assert heard[0].count("\n") == 2 and pipe.is_fifo()


# ---- the other verbs ------------------------------------------------------------------------


def test_score_gives_a_number_for_each_line(run: Run) -> None:
    code, out, _ = run("score m --source test.en --target test.fr")
    _, in_json, _ = run("score m --source test.en --target test.fr --json")
    objects = [json.loads(line) for line in in_json.splitlines()]
    assert code == 0 and len(objects) == 10
    assert [float(line) for line in out.split()] == pytest.approx(
        [sum(each["token_log_probs"]) for each in objects], abs=1e-5
    )


def test_evaluate_is_sacrebleu_on_what_was_translated(run: Run, home: Path) -> None:
    command = "evaluate m --source test.en --reference test.fr --set decode.beam=1 -o ours.fr"
    code, out, _ = run(f"{command} --json")
    found = json.loads(out)
    ours, reference = (
        (home / name).read_text(encoding="utf-8").splitlines() for name in ("ours.fr", "test.fr")
    )
    assert code == 0 and found["sentences"] == 10 and found["decode"]["beam"] == 1
    expected = sacrebleu.corpus_chrf(ours, [reference]).score
    assert found["scores"]["chrF2"]["value"] == expected
    _, again, _ = run("evaluate --hypothesis ours.fr --reference test.fr --json")
    assert json.loads(again)["scores"] == found["scores"]
    _, told, _ = run("translate m test.en --precision fp32 --beam 1 --json")
    problems = [
        {each["kind"] for each in json.loads(line)["problems"]} for line in told.splitlines()
    ]
    assert found["suspect_lines"] == sum(map(bool, problems))
    assert sum(found["problems"].values()) == sum(map(len, problems))
    _, text, _ = run(f"{command.removesuffix(' -o ours.fr')} --against ours.fr --literature")
    assert re.search(rf"^chrF2 +{expected:.2f}  nrefs:1", text, re.M)
    assert re.search(r"^precision +fp32$", text, re.M) and found["precision"] == "fp32"
    for part in ("beam=1", "|tok:13a|", "literature BLEU", "paired bootstrap"):
        assert part in text


ODD = [
    "The cat is old. The dog runs! Is it a bird?",
    "",
    "🙂🙂",
    "  A dog.\t...  ",
    "The cat is old. " * 50,
    "The 1975 cats saw 猫 and {name}.",
    "word " * 900,
]


@pytest.mark.thorough
@pytest.mark.parametrize("options", ["", "--no-split", "--no-guard"])
def test_evaluate_scores_what_translate_writes(run: Run, home: Path, options: str) -> None:
    lines = [*ODD, *(home / "test.en").read_text(encoding="utf-8").splitlines()]
    (home / "odd.en").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert run(f"translate m odd.en -o theirs.fr --precision fp32 {options}")[0] == 0
    reference = "--reference theirs.fr -o mine.fr --json"
    code, out, _ = run(f"evaluate m --source odd.en {reference} {options}")
    theirs, mine = ((home / f"{name}.fr").read_bytes() for name in ("theirs", "mine"))
    assert code == 0 and mine == theirs
    assert json.loads(out)["exact_match"] == 1 and json.loads(out)["precision"] == "fp32"


def test_evaluate_computes_in_fp32_unless_told(run: Run) -> None:
    command = "evaluate m --source test.en --reference test.fr --json"
    for wanted in ("", "bf16", "int8") if load_library("engine") else ("", "bf16"):
        option = f" --precision {wanted}" if wanted else ""
        assert json.loads(run(f"{command}{option}")[1])["precision"] == (wanted or "fp32")


def test_who_scores_chinese_is_told_to_say_so(run: Run, home: Path) -> None:
    (home / "a.zh").write_text("我完全明白。\n那位先生靠什么生活？\n", encoding="utf-8")
    command = "evaluate --hypothesis a.zh --reference a.zh"
    assert "only --target-lang zh or ja" in run(command)[2]
    for told in ("--target-lang zh", "--tokenize char"):
        assert run(f"{command} {told}")[::2] == (0, "")
    assert run("evaluate --hypothesis test.fr --reference test.fr")[2] == ""


def test_a_card_that_lacks_something_is_named(run: Run, home: Path) -> None:
    shutil.copytree(home / "m", home / "odd")
    card = (home / "odd/card.md").read_text(encoding="utf-8")
    for name in ('"lines"', '"best_step"', '"source_tokens"'):
        (home / "odd/card.md").write_text(card.replace(name, '"x"', 1), encoding="utf-8")
        code, _, err = run("info odd")
        assert code == 2 and "card.md: damaged, or of another version" in err
    shutil.rmtree(home / "odd")


def test_average_makes_a_model(run: Run) -> None:
    told = json.loads(run("average m --last 2 --out averaged --json")[1])
    code, out, _ = run("info averaged --json")
    found = json.loads(out)
    assert told == {**found["card"]["scores"], "signature": found["card"]["signature"]}
    assert code == 0 and found["settings"]["model"]["d_model"] == 16
    steps = found["card"]["training"]["mean_of"]
    assert len(steps) == 2 and steps == sorted(steps)
    trained = json.loads(run("info m --json")[1])
    for same in ("settings", "parameters"):
        assert found[same] == trained[same]
    assert found["card"]["data"] == trained["card"]["data"]
    assert found["card"]["scores"]["loss"] != trained["card"]["scores"]["loss"]
    assert run("doctor averaged")[0] == 0


def test_info_shows_settings(run: Run) -> None:
    code, out, _ = run("info m")
    assert code == 0 and "d_model = 16" in out and re.search(r"^parameters +\d+,\d+$", out, re.M)


def test_resume_needs_nothing_else(run: Run) -> None:
    code, out, _ = run("train --resume m --json --quiet")
    assert code == 0 and json.loads(out)["finished"] is True


def test_a_training_that_was_stopped_exits_like_what_was_interrupted(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    import glassformer.train as training

    resume = training.resume
    monkeypatch.setattr(
        training, "resume", lambda *args, **how: replace(resume(*args, **how), is_finished=False)
    )
    assert run("train --resume m --quiet")[0] == 130


def test_the_command_line_is_laid_over_the_recipe(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('size = "small"\n[train]\nsteps = 7\n[data]\nsource_lang = "de"\n', "utf-8")
    assert read_recipe("base", []).model.d_model == 512
    plain = choose_config(str(recipe), None, None, {"target_lang": "no", "heads": 8}, [])
    assert (plain.train.steps, plain.model.heads, plain.model.d_model) == (7, 8, 256)
    assert (plain.data.source_lang, plain.data.target_lang) == ("de", "no")
    timed = choose_config(str(recipe), None, None, {"source_lang": "en", "minutes": 2.5}, [])
    assert (timed.train.steps, timed.train.minutes, timed.data.source_lang) == (None, 2.5, "en")


@pytest.fixture
def small_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """A demo of six updates that learns nothing to speak of."""
    whole = exam.read_corpus()
    pairs = {"train": whole.pairs["train"][:50], "valid": whole.pairs["valid"][:5]}
    questions = {split: dict([*all_.items()][:5]) for split, all_ in whole.questions.items()}
    riddles = {split: dict([*all_.items()][:5]) for split, all_ in whole.riddles.items()}
    small = exam.DemoCorpus(pairs, whole.notes, questions, riddles)
    monkeypatch.setattr(exam, "read_corpus", lambda: small)
    monkeypatch.setattr(demo, "MORE", 2)
    smaller = {
        "model": {**demo.SETTINGS["model"], "d_model": 16, "heads": 2},
        "text": {"vocabulary": 400},
        "train": {**demo.SETTINGS["train"], "steps": 6, "validate_every": 2},
        "decode": {"search": "greedy", "max_ratio": 1.6, "max_extra": 5},
    }
    monkeypatch.setattr(demo, "SETTINGS", {**demo.SETTINGS, **smaller})


def _last_update(out: Path) -> int:
    return int(max(path.name for path in (out / "model/run/checkpoints").iterdir()))


@pytest.mark.usefixtures("small_demo")
def test_a_demo_without_time_ends_well(run: Run, tmp_path: Path) -> None:
    place = tmp_path / "demo"
    code, out, err = run(f"demo --out {place} --minutes 0.00001")
    assert code == 0 and _last_update(place) == 1
    assert out.count("The cat is on the mat.\n    Le chat est sur le tapis.\n") >= 1
    assert out.count("\n    ") == 30 and "(wrong)" in out
    assert out.count(" % of 5\n") == 2
    assert len((place / "pairs/train.fr").read_text(encoding="utf-8").splitlines()) == 50
    assert f"translate {place / 'model'}\n" in out and "translate demo\n" in out
    assert f"train --resume {place / 'model'}\n" in out
    assert "98 % of new sentences and 99 % of new riddles" in out
    assert "fail" not in (out + err).lower()


@pytest.mark.usefixtures("small_demo")
def test_the_demo_ends_as_soon_as_the_exam_is_passed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exam, "GOAL", (-1.0, -1.0))
    code, out, err = run(f"demo --out {tmp_path / 'demo'}")
    assert (code, _last_update(tmp_path / "demo")) == (0, 2)
    assert "update 2: 0.0 % of 5 new sentences and " in err
    assert "--resume" not in out and "Not quite yet" not in out


@pytest.mark.thorough
@pytest.mark.usefixtures("small_demo")
def test_the_demo_goes_on_until_the_exam_is_passed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = exam.ExamMark(100, [("a", "b")] * 3), exam.ExamMark(100, [("a", "b")])
    marks = iter([(bad, good), (bad, good), (good, good)])
    monkeypatch.setattr(exam, "take_exam", lambda translate: next(marks))
    code, out, _ = run(f"demo --out {tmp_path / 'demo'}")
    assert (code, _last_update(tmp_path / "demo")) == (0, 6 + 2 + 2)
    assert out.count("Not quite yet") == 2 and out.count("97.0 % of 100") == 2
    assert "--resume" not in out


def test_a_second_demo_takes_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for place in (demo.PLACE, f"{demo.PLACE}-2", f"{demo.PLACE}-3"):
        assert demo.find_free() == Path(place)
        Path(place).mkdir()


def test_the_demo_without_training_writes_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "find_program", lambda: "PROGRAM")
    code, out, _ = run("demo --no-train")
    assert code == 0 and out.count("\n    ") == 15 and "(wrong)" not in out
    assert "PROGRAM train --help" in out
    assert not list(tmp_path.iterdir())


# ---- help, documents, bars ------------------------------------------------------------------


def _find_examples(text: str) -> Iterator[str]:
    """Lines of a text that run glassformer, with their continuations."""
    for line in text.replace("\\\n", " ").splitlines():
        found = re.search(r"(?:^|\| )\s*(?:\$ )?(glassformer [a-z-].*)", line)
        if found and not line.endswith("|"):  # which is a row of a table
            yield found[1]


DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = [
    *((verb, line) for verb, each in COMMANDS.items() for line in _find_examples(each.help or "")),
    *((p.name, line) for p in DOCUMENTS for line in _find_examples(p.read_text(encoding="utf-8"))),
]


@pytest.mark.parametrize(("where", "line"), EXAMPLES)
def test_every_command_that_we_show_can_be_parsed(where: str, line: str) -> None:
    words = shlex.split(re.split(r" [|<>] ", line)[0], comments=True)[1:]
    command = COMMANDS[words[0]]
    while below := getattr(command, "commands", None):
        command, words = below[words[1]], words[1:]
    with command.make_context(words[0], words[1:]) as context:
        assert context.params


def test_every_verb_and_the_readme_show_a_command() -> None:
    verbs = {verb for verb, each in COMMANDS.items() if not each.hidden}
    assert {where for where, _ in EXAMPLES} >= {*verbs, "README.md"}


@pytest.mark.parametrize("page", ["README.md", "docs/train.md"])
def test_the_python_of_the_guides_runs(
    page: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for side, name in (("en", "train.en"), ("fr", "train.de")):
        shutil.copy(home / f"train.{side}", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.S)
    own = [code for code in examples if "from glassformer" in code]  # others are plugins
    assert own
    for code in own:
        quick = code.replace(
            '"train": {"minutes": 20}', '"train": {"steps": 1}, "text": {"vocabulary": 400}'
        )
        assert quick != code or page == "README.md"
        exec(compile(quick, page, "exec"), {})


def test_version_and_help(run: Run) -> None:
    assert re.fullmatch(r"glassformer \d+\.\d+\.\d+\S*\n", run("--version")[1])
    for verb in COMMANDS:
        code, out, _ = run(f"{verb} --help")
        assert code == 0 and f"glassformer {verb}" in out
    for command in ("", "train"):
        code, out, _ = run(command)
        assert code == 2 and "Usage" in out


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("seconds", "beside", "drawn"), [(2, None, True), (0.5, None, False), (2, _Terminal(), False)]
)
def test_a_bar_is_drawn_only_while_one_waits(
    seconds: float, beside: io.StringIO | None, drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen, times = _Terminal(), iter([0.0, seconds, seconds])
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "monotonic", lambda: next(times))
    with terminal.show_progress("counting", 2, beside=beside) as tell:
        tell(1)
        tell(1)
    assert ("counting" in screen.getvalue()) == drawn
