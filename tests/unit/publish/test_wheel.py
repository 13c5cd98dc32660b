"""A wheel with a model: pip installs it, and three lines translate."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from glassformer.cli import main
from glassformer.extensions.publish.languages import spell_language
from glassformer.extensions.publish.wheel import read_wheel_name
from glassformer.model.files.directory import CONFIG, SHIPPED


def test_pip_installs_a_model_that_translates(tmp_path: Path) -> None:
    out = tmp_path / "copy"
    assert main(["publish", "demo", "--out", str(out), "--wheel", "my-little.fr==1.2"]) == 0
    wheel = tmp_path / "my_little_fr-1.2-py3-none-any.whl"
    where = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet"]
    subprocess.run([*pip, "--target", str(where), str(wheel)], check=True)
    code = "import my_little_fr as m; print(m.translate('The cat is on the mat.'))"
    paths = f"import sys; sys.path[:0] = [{str(where)!r}, {str(SHIPPED.parents[1])!r}]\n"
    made = subprocess.run(
        [sys.executable, "-c", paths + code], capture_output=True, encoding="utf-8", check=True
    )
    assert made.stdout == "Le chat est sur le tapis.\n"
    info = (where / "my_little_fr-1.2.dist-info" / "METADATA").read_text(encoding="utf-8")
    assert "Name: my-little.fr\nVersion: 1.2\n" in info and "Requires-Dist: glassformer>=" in info


def test_the_same_model_makes_the_same_wheel(tmp_path: Path) -> None:
    made = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        assert main(["publish", "demo", "--out", str(folder / "copy"), "--wheel", "mine"]) == 0
        made.append((folder / "mine-1.0.0-py3-none-any.whl").read_bytes())
    assert made[0] == made[1]


def test_a_code_of_a_language_is_no_code_of_python(tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(SHIPPED / "demo", model)
    config = (model / CONFIG).read_text(encoding="utf-8")
    evil = config.replace('"en"', '"e\\"\\"\\"\\nimport os\\n\\\\"')
    assert evil != config
    (model / CONFIG).write_text(evil, encoding="utf-8")
    if main(["publish", str(model), "--out", str(tmp_path / "copy"), "--wheel", "mine"]) == 2:
        return  # no such code is taken at all
    with ZipFile(tmp_path / "mine-1.0.0-py3-none-any.whl") as archive:
        tree = ast.parse(archive.read("mine/__init__.py"))
    imported = [each.names[0].name for each in tree.body if isinstance(each, ast.Import)]
    assert not imported


@pytest.mark.parametrize("name", ["", "-x", "../up", "class", "torch", "a b", "x==one", "3d", "é"])
def test_names_that_cannot_be_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--wheel"):
        read_wheel_name(name)
    assert main(["publish", "demo", "--out", str(tmp_path / "copy"), f"--wheel={name}"]) in (0, 2)
    assert not list(tmp_path.glob("*.whl"))


def test_a_wheel_is_not_replaced(tmp_path: Path) -> None:
    given = ["publish", "demo", "--wheel", "mine", "--out"]
    assert main([*given, str(tmp_path / "one")]) == 0
    assert main([*given, str(tmp_path / "two")]) == 2 and not (tmp_path / "two").exists()


def test_codes_are_spelt_as_bcp_47_does() -> None:
    codes = {"zh_hant_tw": "zh-Hant-TW", "EN": "en", "pt_br": "pt-BR", "es-419": "es-419"}
    codes |= {"": "", "x": "x", "3": "3", "sl-rozaj-biske": "sl-rozaj-biske"}
    codes |= {"ibo": "ig", "deu-AT": "de-AT", "fon": "fon", "cmn_hans": "zh-Hans", "qqq": "qqq"}
    assert {code: spell_language(code) for code in codes} == codes
