"""Settings: what gets in, what it says when something does not, and the way to TOML and back."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from glassformer.config import SIZES, Config, Decode, Model
from glassformer.foundation.settings.table import setting
from glassformer.foundation.validation_errors import list_settings

# A setting that differs from its default, for every setting there is.
OTHERS: dict[str, Any] = {
    "recipe": "paper",
    "size": "tiny",
    "model.network": "rnn",
    "model.d_model": 24,
    "model.d_ff": 48,
    "model.heads": 4,
    "model.head_width": 7,
    "model.encoder_layers": 2,
    "model.decoder": "ssru",
    "model.decoder_layers": 3,
    "model.dropout": 0.2,
    "model.attention_dropout": 0.3,
    "model.activation_dropout": 0.25,
    "model.norm": "pre",
    "model.norm_epsilon": 1e-6,
    "model.activation": "silu",
    "model.tie": "none",
    "model.output_bias": True,
    "model.plugin": "idea",
    "model.positions.layout": "concatenated",
    "model.positions.grid": "tensor2tensor",
    "model.positions.offset": 1,
    "model.positions.amplitude": 0.5,
    "model.positions.max_positions": 77,
    "model.rnn.cell": "lstm",
    "model.rnn.bidirectional": True,
    "model.rnn.attention": "additive",
    "model.rnn.input_feeding": True,
    "text.tokenizer": "char",
    "text.vocabulary": 999,
    "text.shared": False,
    "text.dropout": 0.1,
    "text.sampling_alpha": 0.2,
    "text.nfkc": "both",
    "text.punctuation": "source",
    "text.lowercase": "source",
    "text.samples": 3,
    "text.source_eos": False,
    "text.split_above": 33,
    "data.source_lang": "en",
    "data.target_lang": "zh",
    "data.context": 2,
    "data.corpus_temperature": 5.0,
    "data.tag": "<2de>",
    "data.target_tag": "<fra_Latn>",
    "data.augment.case": 0.2,
    "data.augment.digits": 0.3,
    "data.augment.mask": 0.1,
    "data.augment.switchout": 0.5,
    "data.augment.stop": 0.1,
    "data.augment.stops": 0.1,
    "data.augment.inline": 0.1,
    "data.augment.noise": 0.1,
    "data.augment.typos": 0.1,
    "data.augment.words": 0.15,
    "data.hold_out_seed": 8,
    "data.max_length": 99,
    "data.copies": 5,
    "train.seed": 7,
    "train.steps": 500,
    "train.minutes": 2.5,
    "train.epochs": 2.5,
    "train.keep_best": 3,
    "train.gradient_checkpointing": True,
    "train.compile": True,
    "train.deterministic": True,
    "train.plugin": "idea",
    "train.lora_rank": 4,
    "train.lora_alpha": 8.0,
    "train.teacher_share": 0.5,
    "train.teacher_both": True,
    "train.teacher_best": 4,
    "train.teacher_mbr": 8,
    "train.alignment_weight": 0.1,
    "train.alignment_layer": 0,
    "train.alignment_head": 2,
    "train.prior_weight": 0.5,
    "train.prior_temperature": 1.5,
    "train.risk_weight": 0.5,
    "train.risk_samples": 4,
    "train.risk_sharpness": 0.5,
    "train.risk_utility": "bleu",
    "train.batch_tokens": 1000,
    "train.fit_batch": True,
    "train.pad_to": 8,
    "train.gradient_accumulation": 2,
    "train.optimizer": "muon",
    "train.learning_rate": 3e-4,
    "train.warmup": 10,
    "train.schedule": "cosine",
    "train.cycles": 3,
    "train.final_rate": 0.1,
    "train.plateau_patience": 3,
    "train.plateau_factor": 0.3,
    "train.betas": [0.8, 0.9],
    "train.epsilon": 1e-8,
    "train.weight_decay": 0.01,
    "train.label_smoothing": 0.2,
    "train.rdrop_alpha": 4.0,
    "train.embedding_lr_scale": 0.5,
    "train.max_grad_norm": 2.0,
    "train.precision": "bf16",
    "train.ema": 0.99,
    "train.validate_every": 5,
    "train.checkpoint_every": 6,
    "train.keep": 4,
    "train.best_by": "chrf",
    "train.patience": 3,
    "train.freeze": ["encoder"],
    "train.watch": 1,
    "train.shard": True,
    "decode.search": "greedy",
    "decode.beam": 9,
    "decode.beam_groups": 3,
    "decode.diversity": 1.5,
    "decode.length_penalty": "power",
    "decode.alpha": 1.0,
    "decode.stop": "first",
    "decode.max_ratio": 2.0,
    "decode.max_extra": 9,
    "decode.min_length": 2,
    "decode.no_repeat_ngram_size": 3,
    "decode.repetition_penalty": 1.2,
    "decode.temperature": 0.7,
    "decode.shortlist": True,
    "decode.top_k": 5,
    "decode.top_p": 0.9,
    "decode.mbr": 8,
    "model.labels": ["a", "b"],
    "model.key_value_heads": 1,
    "model.normalization": "rms",
    "model.gated": True,
    "model.embedding_norm": True,
    "model.ablate": ["scale"],
    "model.positions.combine": "multiply",
    "model.positions.reach": 3,
    "model.attention.pattern": "local",
    "model.attention.width": 3,
    "model.attention.stride": 3,
    "model.attention.globals": 2,
    "decode.utility": "bleu",
    "decode.typography": "language",
}
# Settings without effect on their own.
NEEDS = {
    "train.cycles": ["train.schedule=linear"],
    "train.final_rate": ["train.schedule=cosine"],
    "train.plateau_patience": ["train.schedule=plateau"],
    "text.sampling_alpha": ["text.tokenizer=unigram"],
    "train.lora_alpha": ["train.lora_rank=4"],
    "train.alignment_layer": ["train.alignment_weight=1"],
    "train.alignment_head": ["train.alignment_weight=1"],
    "train.prior_temperature": ["train.prior_weight=1"],
    "train.risk_samples": ["train.risk_weight=1"],
    "train.risk_sharpness": ["train.risk_weight=1"],
    "train.risk_utility": ["train.risk_weight=1"],
    "train.plateau_factor": ["train.schedule=plateau"],
    **{f"model.rnn.{name}": ["model.network=rnn"] for name in ("cell", "bidirectional")},
    "model.rnn.attention": ["model.network=rnn"],
    "model.rnn.input_feeding": ["model.network=rnn", "model.rnn.attention=dot"],
    "model.labels": ["model.network=encoder"],
    "decode.beam_groups": ["decode.beam=9"],
    "model.positions.reach": ["model.positions.layout=relative"],
    "model.attention.width": ["model.attention.pattern=local"],
    "model.attention.stride": ["model.attention.pattern=strided"],
    "model.attention.globals": ["model.attention.pattern=global+local"],
}


def get(config: Config, name: str) -> Any:
    value: Any = config
    for part in name.split("."):
        value = getattr(value, part)
    return list(value) if isinstance(value, tuple) else value


def read_back(config: Config) -> Config:
    return Config.read(tomllib.loads(config.to_toml()))


def test_no_setting_is_forgotten_here() -> None:
    assert sorted([*OTHERS, "data.corpus", "data.stage"]) == sorted(list_settings(Config))


@pytest.mark.parametrize("name", OTHERS)
def test_set_from_the_command_line_to_toml_and_back(name: str) -> None:
    value = OTHERS[name]
    text = str(value).lower() if isinstance(value, bool) else value
    config = Config.read({}, [*NEEDS.get(name, []), f"{name}={text}"])
    assert get(config, name) == value != get(Config(), name)
    assert read_back(config) == config


def test_none_is_left_out() -> None:
    assert "learning_rate" not in Config().to_toml()
    assert read_back(Config()) == Config()


@given(
    some.floats(min_value=1e-12, max_value=1e12),
    some.text(some.characters(exclude_categories=["Cs"])),  # a lone surrogate is no text
)
def test_any_number_and_any_text_survive_toml(number: float, text: str) -> None:
    raw = {"train": {"learning_rate": number}, "data": {"source_lang": text}}
    config = Config.read(raw)
    assert read_back(config) == config
    assert config.train.learning_rate == number and config.data.source_lang == text


def test_load_reads_utf8_and_changes_have_the_last_word(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text("# naïve 配方\n[train]\nsteps = 10\nseed = 4\n", encoding="utf-8")
    config = Config.load(path, ["train.steps=20", "train.steps=30"])
    assert (config.train.steps, config.train.seed) == (30, 4)


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("model.norm=pre", "pre"),  # a bare word
        ('model.norm="pre"', "pre"),
        ("train.betas=[0.5, 0.75]", [0.5, 0.75]),
        ("train.learning_rate=1e-4", 1e-4),
        ("text.shared=false", False),
        (" train.steps =5", 5),
        ("data.source_lang=a=b", "a=b"),
    ],
)
def test_set(change: str, value: object) -> None:
    assert get(Config.read({}, [change]), change.partition("=")[0].strip()) == value


@pytest.mark.parametrize("size", SIZES)
def test_a_file_with_a_size_alone_means_the_papers_settings(tmp_path: Path, size: str) -> None:
    """Recipes, and the folders of models and of trainings that were begun before, say it so."""
    (tmp_path / "c.toml").write_text(f'size = "{size}"\n', encoding="utf-8")
    config = Config.load(tmp_path / "c.toml")
    assert not config.is_open and config.model == Model(**SIZES[size])
    parts = ("text", "data", "train", "decode")
    assert all(getattr(config, part) == getattr(Config(), part) for part in parts)
    named = Config.read({"recipe": "paper", "size": size})
    assert named.model_dump(exclude={"recipe"}) == config.model_dump(exclude={"recipe"})


@pytest.mark.parametrize("size", SIZES)
def test_a_size_is_a_shape_and_the_model_has_the_last_word(size: str) -> None:
    config = Config.read({"size": size, "model": {"d_ff": 44}})
    assert config.model == Model(**{**SIZES[size], "d_ff": 44})
    assert read_back(config) == config


def test_base_is_the_papers() -> None:
    assert Config(size="base").model == Model() == Config().model


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"modle": {}}, "unknown setting modle; did you mean model?"),
        ({"train": {"step": 3}}, "unknown setting train.step; did you mean train.steps?"),
        ({"model": {"positions": {"layuot": 1}}}, "did you mean model.positions.layout?"),
        ({"train": {"beam": 3}}, "unknown setting train.beam; did you mean decode.beam?"),
        (
            {"max_positions": 3},
            "unknown setting max_positions; did you mean model.positions.max_positions?",
        ),
        (
            {"data": {"qqq": 3}},
            "known here: source_lang, target_lang, corpus, stage, corpus_temperature, tag, "
            "target_tag, augment, hold_out_seed, max_length",
        ),
        ({"train": {"steps": 0}}, "train.steps: must be at least 1"),
        ({"model": {"norm": "prenorm"}}, "model.norm: must be 'post' or 'pre'"),
        ({"recipe": "paper", "size": "auto"}, "size=auto is chosen by recipe=auto"),
        ({"size": "large"}, "'tiny', 'small', 'base' or 'big' (got 'large')"),
        ({"size": ["tiny"]}, "size: must be 'auto', 'tiny', 'small', 'base' or 'big'"),
        ({"model": 3}, "model: must be a table"),
        ({"train": {"learning_rate": float("nan")}}, "must be a finite number"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(raw: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        Config.read(raw, name="my.toml")
    said = str(caught.value)
    assert said.startswith("my.toml: ") and message in said and "\n" not in said


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["model.d_model=15"], "d_model=15 must be even"),
        (["model.d_model=30", "model.heads=7"], "cannot be split over heads=7; heads=6 fits"),
        (["train.steps=9", "train.minutes=1"], "steps and minutes both say when to stop"),
        (["train.cycles=2"], "cycles=2 has no effect with schedule=inverse_sqrt"),
        (["train.final_rate=0.1"], "final_rate=0.1 has no effect with schedule=inverse_sqrt"),
        (["model.rnn.cell=lstm"], "rnn.cell=lstm has no effect with network=transformer"),
        (["model.network=rnn", "model.d_ff=9"], "d_ff=9 has no effect with network=rnn"),
        (["model.network=rnn", "model.heads=2"], "heads=2 has no effect with network=rnn"),
        (["model.network=rnn", "model.positions.offset=1"], "positions.offset=1 has no effect"),
        (["model.network=rnn", "model.encoder_layers=2"], "encoder_layers=2 must be decoder_la"),
        (
            ["model.network=rnn", "model.rnn.input_feeding=true"],
            "input_feeding=True has no effect with attention=none",
        ),
    ],
)
def test_impossible_together(changes: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Config.read({}, changes)


def test_a_network_has_its_own_settings_and_no_others() -> None:
    """In the file, and in a size, which a recurrent network has with fewer layers."""
    raw = {"size": "small", "model": {"network": "rnn", "rnn": {"attention": "dot"}}}
    config = Config.read(raw)
    assert (config.model.d_model, config.model.encoder_layers) == (256, 2)
    written = tomllib.loads(config.to_toml())["model"]
    assert not {"d_ff", "heads", "norm"} & written.keys()
    assert written["positions"].keys() == {"max_positions"}
    assert "rnn" not in tomllib.loads(Config().to_toml())["model"]
    assert Config.read(tomllib.loads(config.to_toml())) == config
    assert config.changed(train={"steps": 3}).model == config.model
    assert [*config.model.attending_layers] == [1] and [*Model().attending_layers] == [*range(6)]


def test_a_free_head_width_needs_no_division() -> None:
    assert Model(d_model=30, heads=7, head_width=5).width == 5
    assert Model(d_model=30, heads=6).width == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("train.steps", "write it as key=value"),
        ("size.steps=3", "size is a value, not a table"),
        ("=3", "unknown setting"),
    ],
)
def test_a_bad_set(change: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Config.read({"size": "tiny"}, [change])


@pytest.mark.parametrize("content", [b"[train", b"steps == 3", b"\xff\xfe"])
def test_a_file_that_is_no_toml(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.toml").write_bytes(content)
    with pytest.raises(ValueError, match=r"bad\.toml: not a TOML file"):
        Config.load(tmp_path / "bad.toml")


@pytest.mark.parametrize(
    "content",
    ["a." * 9_000 + "a = 1", "x = {" + "'a' . " * 9_000 + "a = 1}", "# " + "a" * 600_000],
    ids=["bare", "quoted", "large"],
)
def test_a_file_that_takes_long_to_read_is_refused(tmp_path: Path, content: str) -> None:
    """tomllib takes seconds, and hundreds of MB, for a key of some thousand parts."""
    (tmp_path / "slow.toml").write_text(content, encoding="utf-8")
    begun = time.perf_counter()
    with pytest.raises(ValueError, match=r"slow\.toml: not a TOML file: it is too large, or"):
        Config.load(tmp_path / "slow.toml")
    assert time.perf_counter() - begun < 1


def test_settings_are_frozen() -> None:
    config = Config()
    with pytest.raises(AttributeError, match="frozen"):
        config.train.steps = 3  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen"):
        config.model = Model()  # type: ignore[misc]


def test_reading_leaves_the_mapping_alone() -> None:
    raw = {"train": {"steps": 3}}
    Config.read(raw, ["train.steps=4", "model.norm=pre"])
    assert raw == {"train": {"steps": 3}}


def test_changed() -> None:
    config = Config.read({"size": "tiny", "train": {"steps": 3, "max_grad_norm": 2.0}})
    other = config.changed(train={"steps": None, "minutes": 2.0}, model={"norm": "pre"})
    assert (other.train.steps, other.train.minutes, other.train.max_grad_norm) == (None, 2.0, 2.0)
    assert (other.model.norm, other.model.d_model) == ("pre", 128)
    assert config.train.steps == 3 and config.changed() == config
    with pytest.raises(ValueError, match=r"did you mean train\.steps"):
        config.changed(train={"step": 3})


def test_what_the_engine_in_c_does_not_know_is_named() -> None:
    """A new setting, too, until C is said to know it; one without an effect does not count."""

    class NewDecode(Decode):
        novelty: float = setting(0.0, "A setting of tomorrow.")

    assert (
        NewDecode().beyond_native == NewDecode(search="beam", beam=4, alpha=1).beyond_native == ""
    )
    assert NewDecode(novelty=0.5).beyond_native == "novelty"
    assert Decode(repetition_penalty=1.2).beyond_native == "repetition_penalty"
    assert Decode(search="beam", beam=4, beam_groups=2).beyond_native == "beam_groups"
    assert Decode(search="sample", beam=4, beam_groups=2, top_k=5).beyond_native == ""
