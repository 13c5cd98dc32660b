"""A published model has a README.md that the hub reads, and can have a Dockerfile."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from shutil import copytree

import pytest

from glassformer.cli import main
from glassformer.extensions.publish.hub_readme import README
from glassformer.extensions.publish.publishing import DOCKERFILE, publish_model
from glassformer.model.files.directory import CARD, RUN, SHIPPED, WEIGHTS
from glassformer.train.plan.init_from import record_origin
from glassformer.train.publish.card import read_facts, write_card
from glassformer.translator import Translator

yaml = pytest.importorskip("yaml", reason="PyYAML is absent")


def read_head(folder: Path) -> dict[str, object]:
    text = (folder / README).read_text("utf-8")
    _, head, body = text.split("---\n", 2)
    assert body.startswith(f"# {folder.name}\n")
    found: dict[str, object] = yaml.safe_load(head)
    return found


def test_the_hub_reads_the_facts(tmp_path: Path) -> None:
    out = tmp_path / "en-fr"
    publish_model("everyday-en-fr", out, datasets=["Helsinki-NLP/tatoeba"])
    head, facts = read_head(out), read_facts(SHIPPED / "everyday-en-fr")
    assert head["language"] == ["en", "fr"] and head["library_name"] == "glassformer"
    assert (head["license"], head["license_name"]) == ("other", "cc-by-2.0-fr")
    assert head["datasets"] == ["Helsinki-NLP/tatoeba"]
    hub = pytest.importorskip("huggingface_hub", reason="huggingface_hub is absent")
    card = hub.ModelCard.load(out / README)
    results = {(each.dataset_name, each.metric_name): each for each in card.data.eval_results}
    assert len(results) == 4
    bleu = results["validation text", "BLEU"]
    assert (bleu.task_type, bleu.metric_type) == ("translation", "bleu")
    assert bleu.metric_value == round(facts["scores"]["BLEU"], 2)
    assert bleu.metric_args == {"signature": facts["signature"]}
    assert results["validation text", "chrF2"].metric_args is None, "it is not BLEU's signature"


@pytest.mark.parametrize(
    ("licence", "named"),
    [("CC BY 4.0", ("cc-by-4.0", None)), ("mit", ("mit", None)), ("Mine!", ("other", "mine"))],
)
def test_a_licence_is_named_as_the_hub_names_it(
    licence: str, named: tuple[str, str | None], tmp_path: Path
) -> None:
    command = ["publish", "demo", "--out", str(tmp_path / "m"), "--licence", licence]
    assert main(command) == 0
    head = read_head(tmp_path / "m")
    assert (head["license"], head.get("license_name")) == named
    assert licence in (tmp_path / "m" / README).read_text("utf-8")


def test_what_the_files_tell_is_said_in_it(tmp_path: Path) -> None:
    found = publish_model("everyday-en-fr", tmp_path / "m")
    text = (tmp_path / "m" / README).read_text("utf-8")
    assert found.reveals and all(each in text for each in found.reveals)
    assert README in found.files and DOCKERFILE not in found.files
    assert not (tmp_path / "m" / RUN).exists()


def test_the_dockerfile_serves_the_folder(tmp_path: Path) -> None:
    found = publish_model("demo", tmp_path / "m", dockerfile=True)
    assert DOCKERFILE in found.files
    text = (tmp_path / "m" / DOCKERFILE).read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    kinds = [line.split()[0] for line in lines]
    assert kinds[0] == "FROM" and kinds[-1] == "CMD" and kinds.index("USER") > kinds.index("RUN")
    assert "torch" not in " ".join(lines)
    command = re.findall(r'"([^"]+)"', lines[-1])
    assert command[:3] == ["glassformer", "serve", "/model"] and "0.0.0.0" in command
    assert shlex.split(lines[kinds.index("RUN")])[:3] == ["RUN", "pip", "install"]
    assert (
        Translator.load(tmp_path / "m").translate("the cat")
        and (tmp_path / "m" / WEIGHTS).is_file()
    )


def test_the_model_that_a_training_started_from_is_named(tmp_path: Path) -> None:
    made = tmp_path / "mine"
    copytree(SHIPPED / "demo", made)
    origin = record_origin(SHIPPED / "everyday-en-fr", "new")
    write_card(made, {**read_facts(made), "parent": origin})
    publish_model(made, tmp_path / "out")
    text = (tmp_path / "out" / README).read_text("utf-8")
    assert "The training started from everyday-en-fr (CC BY 2.0 FR), made from:" in text
    assert all(f"sha256 {each['sha256']}" in text for each in origin["data"])
    assert "It was made from everyday-en-fr (CC BY 2.0 FR): mind that licence, too." in text
    assert "Trained from everyday-en-fr, CC BY 2.0 FR (weights" in (made / CARD).read_text("utf-8")
    publish_model("demo", tmp_path / "demo")
    assert "started from" not in (tmp_path / "demo" / README).read_text("utf-8")
