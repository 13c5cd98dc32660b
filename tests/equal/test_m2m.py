"""An imported M2M-100, NLLB or mBART-50 computes and translates as `transformers`, in one pair."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from glassformer.cli import main
from glassformer.config import BOS, EOS
from glassformer.extensions.bridge.importing import import_model
from glassformer.model.files.directory import load_model
from glassformer.model.files.tensors import load_tensors, save_tensors
from glassformer.translator import Translator

sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

TEXT = ["the cat sat on the mat and the dog did not", "die Katze sitzt auf der Matte"] * 20
FIRST = ["<s>", "<pad>", "</s>", "<unk>"]
LANGUAGES = {
    "m2m": ["__en__", "__de__", "__zh__"],
    "nllb": ["eng_Latn", "deu_Latn", "zho_Hans"],
    "mbart": ["en_XX", "de_DE", "zh_CN"],
}
PAIR = {"m2m": "en-zh", "nllb": "eng-zho", "mbart": "en-zh"}


def learn(folder: Path) -> list[str]:
    """Write SentencePiece's model; return its tokens, without its own three."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT),
        model_prefix=str(folder / "sentencepiece.bpe"),
        vocab_size=70,
        model_type="bpe",
        minloglevel=2,
        num_threads=1,
    )
    model = sentencepiece.SentencePieceProcessor(str(folder / "sentencepiece.bpe.model"))
    return [model.id_to_piece(id) for id in range(3, model.get_piece_size())]


def make(folder: Path, kind: str) -> tuple[Any, list[str]]:
    """Write a random model as it is published; return it, and its tokens in order."""
    folder.mkdir()
    tokens = [*FIRST, *learn(folder)]
    if kind == "m2m":
        ids = {token: id for id, token in enumerate(tokens)}
        (folder / "vocab.json").write_text(json.dumps(ids), "utf-8")
    special = {"additional_special_tokens": LANGUAGES[kind]}
    (folder / "special_tokens_map.json").write_text(json.dumps(special), "utf-8")
    tokens += LANGUAGES[kind] + (["<mask>"] if kind != "m2m" else [])
    torch.manual_seed(2)
    is_mbart = kind == "mbart"
    make_config = transformers.MBartConfig if is_mbart else transformers.M2M100Config
    config = make_config(
        vocab_size=len(tokens) + (3 if kind == "m2m" else 0),  # madeupwords
        d_model=16,
        encoder_layers=2,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=20,
        decoder_ffn_dim=20,
        max_position_embeddings=64,
        scale_embedding=True,
        activation_function="gelu" if is_mbart else "relu",
        decoder_start_token_id=2,
    )
    make_network = transformers.M2M100ForConditionalGeneration
    if is_mbart:
        make_network = transformers.MBartForConditionalGeneration
    network = make_network(config).eval()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            is_gain = name.endswith(("norm.weight", "layernorm_embedding.weight"))
            parameter.normal_(1.0 if is_gain else 0.0, 0.5)
    network.save_pretrained(folder)
    return network, tokens


@pytest.fixture(params=list(LANGUAGES))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.filterwarnings("default")
def test_logits_and_greedy_output_are_those_of_transformers(kind: str, tmp_path: Path) -> None:
    theirs, tokens = make(tmp_path / "theirs", kind)
    import_model(tmp_path / "theirs", tmp_path / "m", languages=PAIR[kind])
    config, tokenizers, ours = load_model(tmp_path / "m")
    english, chinese = (tokens.index(LANGUAGES[kind][place]) for place in (0, 2))
    assert config.data.target_lang == "zh" and config.model.norm == "pre"
    text = "the dog sat on die Matte"
    model = sentencepiece.SentencePieceProcessor(
        str(tmp_path / "theirs" / "sentencepiece.bpe.model")
    )
    source = [english, *(tokens.index(p) for p in model.encode(text, out_type=str)), 2]
    names = tokenizers.source.vocabulary
    tags = {token: f"<{token.strip('_')}>" for token in LANGUAGES[kind]}
    mine = [names.index(tags.get(tokens[id], tokens[id])) if id != 2 else EOS for id in source]
    translator = Translator.load(tmp_path / "m", device="cpu", precision="fp32")
    assert [*translator.reader.tokenize(text).ids, EOS] == mine
    target = [2, chinese, *source[3:7]]
    with torch.inference_mode():
        wanted = theirs(torch.tensor([source]), decoder_input_ids=torch.tensor([target])).logits[0]
        given = [BOS, names.index(tags[tokens[chinese]]), *mine[3:7]]
        (logits,) = ours(torch.tensor([mine]), torch.tensor([given]))
        order = [*range(4, len(tokens))]
        found = logits[:, [names.index(tags.get(tokens[id], tokens[id])) for id in order]]
        assert (found - wanted[:, order]).abs().max() <= 2e-5 * wanted.abs().max()
        both = logits.log_softmax(-1)[:, EOS] - wanted.log_softmax(-1)[:, 2]
        assert both.abs().max() <= 1e-4
        (generated,) = theirs.generate(
            torch.tensor([source]),
            forced_bos_token_id=chinese,
            num_beams=1,
            do_sample=False,
            max_new_tokens=12,
            bad_words_ids=[[1]],
        ).tolist()
    (best,) = translator.search(
        [text], decode={"search": "greedy", "max_ratio": 0, "max_extra": 12}
    )[0]
    generated = generated[2 : generated.index(2, 1) if 2 in generated[1:] else None]
    plain = [tags.get(tokens[id], tokens[id]) if id < len(tokens) else None for id in generated]
    assert [p for p in plain if p][:8] == [t for t in best.tokens if not t.startswith(" ")][:8]
    assert best.tokens and tags[tokens[chinese]] != best.tokens[0]
    trace = translator.see(text, decode={"search": "greedy", "max_ratio": 0, "max_extra": 12})
    assert [token.text for token in trace.target[:2]] == ["<s>", tags[tokens[chinese]]]
    assert trace.translation == best.text
    forced = translator.see(text, target="die Katze")
    assert forced.translation == "die Katze" and forced["logits"].shape[0] == len(forced.target)
    scored = translator.score([text], ["die Katze"])[0]
    own = [math.log(forced["probabilities"][n, each.id]) for n, each in enumerate(forced.predicted)]
    assert sum(own[1:]) == pytest.approx(scored.log_prob, abs=1e-3)


def test_all_that_searches_begins_with_the_language(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("fastapi", reason="the extra `serve` is not installed")
    from glassformer.extensions.serve.api.requests import StreamRequest
    from glassformer.extensions.serve.api.stream import run_search
    from glassformer.extensions.serve.running import make_service

    text = "die Katze sitzt"
    make(tmp_path / "theirs", kind)
    imported = import_model(tmp_path / "theirs", tmp_path / "m", languages=PAIR[kind], texts=[text])
    translator = Translator.load(tmp_path / "m", device="cpu", precision="fp32")
    plain = {"search": "greedy", "length_penalty": "none", "max_ratio": 0, "max_extra": 12}
    ((best,),) = translator.search([text], decode=plain)
    events = list[tuple[str, dict[str, Any]]]()
    job: Any = SimpleNamespace(say=lambda name, **facts: events.append((name, facts)))
    service = make_service([str(tmp_path / "m")], device="cpu", precision="fp32")
    (answer,) = run_search(job, service, StreamRequest(text=text, decode=plain))["sentences"]
    assert answer["tokens"] == best.tokens
    assert answer["log_prob"] == pytest.approx(best.log_prob, abs=1e-4)
    steps = [facts for name, facts in events if name == "step"]
    assert [len(step["ids"]) for step in steps] == [*range(1, len(steps) + 1)]
    assert steps[-1]["ids"][: len(answer["ids"])] == answer["ids"]
    assert steps[-1]["log_prob"] == pytest.approx(best.log_prob, abs=1e-4)
    assert imported.plausibility is not None
    assert imported.plausibility.translation.startswith(best.text[:8])


def test_a_pair_is_needed(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path / "theirs", kind)
    command = ["import", str(tmp_path / "theirs"), "--out", str(tmp_path / "m")]
    for wrong in ([], ["--languages", "en-xx"]):
        assert main([*command, *wrong]) == 2
        assert "of its 3 languages, as --languages" in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_without_the_list_of_languages(tmp_path: Path) -> None:
    make(tmp_path / "theirs", "nllb")
    (tmp_path / "theirs" / "special_tokens_map.json").unlink()
    with pytest.raises(ValueError, match=r"no tokenizer.json, and no list of its languages"):
        import_model(tmp_path / "theirs", tmp_path / "m", languages="eng-deu")


def test_what_transformers_5_saves_of_m2m_100(tmp_path: Path) -> None:
    """It writes no list of the languages; their ids follow the vocabulary."""
    from glassformer.extensions.bridge.huggingface import read_huggingface

    folder, saved = tmp_path / "theirs", tmp_path / "saved"
    _, tokens = make(folder, "m2m")
    (folder / "special_tokens_map.json").unlink()
    own = transformers.M2M100Tokenizer(
        str(folder / "vocab.json"), str(folder / "sentencepiece.bpe.model")
    )
    own.save_pretrained(saved)
    settings = json.loads((folder / "config.json").read_text("utf-8"))
    size = len(tokens) + len(own.lang_code_to_id) + own.num_madeup_words
    network = transformers.M2M100ForConditionalGeneration(
        transformers.M2M100Config(**{**settings, "vocab_size": size})
    ).eval()
    network.save_pretrained(saved)
    (side, _) = read_huggingface(saved, languages="de-zh").sides
    for code, id in own.lang_code_to_id.items():
        assert side.tokens[id] == f"__{code}__"
    import_model(saved, tmp_path / "m", languages="de-zh")
    translator = Translator.load(tmp_path / "m", device="cpu", precision="fp32")
    own.src_lang, text = "de", "die Katze sitzt"
    (ids,) = own(text, return_tensors="pt").input_ids.tolist()
    table = translator.model.state_dict()["source_embedding.table.weight"]
    rows = table[[*translator.reader.tokenize(text).ids, EOS]]
    assert torch.equal(rows, network.model.shared.weight[ids])


def test_an_mbart_of_25_languages_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "theirs", "mbart")
    path = tmp_path / "theirs" / "config.json"
    settings = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**settings, "decoder_start_token_id": 70}), "utf-8")
    with pytest.raises(ValueError, match="only mBART-50 can be imported"):
        import_model(tmp_path / "theirs", tmp_path / "m", languages="en-de")


@pytest.mark.parametrize("is_pickled", [False, True])
def test_weights_in_several_files(tmp_path: Path, is_pickled: bool) -> None:
    folder = tmp_path / "theirs"
    make(folder, "nllb")
    import_model(folder, tmp_path / "whole", languages="eng-deu")
    weights = load_tensors(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    end, stem = ("bin", "pytorch_model") if is_pickled else ("safetensors", "model")
    names = [f"{stem}-0000{n}-of-00002.{end}" for n in (1, 2)]
    index = {name: names[len(name) % 2] for name in weights}
    for part in names:
        own = {name: weights[name] for name in weights if index[name] == part}
        torch.save(own, folder / part) if is_pickled else save_tensors(folder / part, own)
    listed = folder / f"{stem}.{end}.index.json"
    listed.write_text(json.dumps({"weight_map": index}), "utf-8")
    import_model(folder, tmp_path / "parts", languages="eng-deu")
    one, other = (
        load_tensors(tmp_path / name / "model.safetensors") for name in ("whole", "parts")
    )
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
    (folder / names[1]).unlink()
    with pytest.raises(ValueError, match=f"its weights are not complete: see {names[1]}"):
        import_model(folder, tmp_path / "m", languages="eng-deu")
