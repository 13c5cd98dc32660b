"""The command `glassformer publish`: a copy of a model without its training."""

from pathlib import Path

from glassformer.cli.options import AS_JSON, MODEL, flag, opt
from glassformer.cli.terminal import to_json
from glassformer.foundation.disk import check_new
from glassformer.foundation.extensions import need_addition
from glassformer.foundation.hub import push_model
from glassformer.foundation.machine.extras import need


def publish(
    model: Path = MODEL,
    out: Path = opt("FOLDER", "Where the copy goes: a new folder.", default=...),
    int8: bool = flag(
        "Store the weights in int8: a quarter of the size of fp32, and a little less exact."
    ),
    licence: str | None = opt(
        "NAME",
        "The licence of the model, for README.md: a name that the hub knows, like cc-by-4.0, "
        "or any other.",
    ),
    dataset: list[str] | None = opt(
        "NAME", "A data set on the hub that the model was trained on; may be given several times."
    ),
    test: Path | None = opt(
        "FILE",
        "A test text: the scores on it, with intervals, what of it is in the training text, and "
        "what is lost on text as people write it stand in README.md.",
    ),
    reference: list[Path] | None = opt(
        "FILE", "The translations of the test text; may be given several times."
    ),
    training: list[str] | None = opt(
        "PATH",
        "The pairs that MODEL learned from, given like --data of `train`; if not given, those that "
        "its run names, if they are still there.",
    ),
    dockerfile: bool = flag("Add a Dockerfile that serves the model without PyTorch."),
    wheel: str | None = opt(
        "NAME",
        "Write a wheel, too, into the folder that FOLDER is in: who installs it with pip imports "
        "NAME, and translates. NAME==1.2 says its version.",
    ),
    push: str | None = opt(
        "USER/NAME", "Upload the copy to the Hugging Face hub, where a new model is public."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Copy a model without its training: no checkpoints, no text but four validation sentences.

    It checks the copy as `doctor` does, and says what the copy still reveals about the data. The
    Hugging Face hub shows its README.md: languages, data, scores, licence, how to load it.

    \b
    glassformer publish my-model --out my-published-model
    glassformer publish my-model --out my-small-model --int8
    glassformer publish my-model --out en-fr --test test.en --reference test.fr
    glassformer publish my-model --out en-fr --licence cc-by-4.0 --dockerfile
    glassformer publish my-model --out en-fr --licence cc-by-4.0 --wheel my-language
    glassformer publish my-model --out en-fr --licence cc-by-4.0 --push my-name/en-fr
    """
    from glassformer.model.files.directory import locate

    from ..publishing import publish_model as copy
    from ..wheel import read_wheel_name, write_wheel

    named = read_wheel_name(wheel) if wheel else None
    if named:
        check_new(out.resolve().parent / named.file, "version")
    if reference and not test:
        raise ValueError("--reference goes with --test")
    if push:
        need("huggingface_hub")
    measure = None
    if test:
        inputs = locate(model), test, reference or (), training or ()
        measure = need_addition("open_test_text", "--test")(*inputs).examine
    options = {"int8": int8, "licence": licence, "dockerfile": dockerfile, "test": measure}
    result = copy(model, out, datasets=dataset or (), **options)  # type: ignore[arg-type]
    package = write_wheel(out, named, out.resolve().parent, licence) if named else None
    address = push_model(out, push) if push else None
    if as_json:
        more = {"address": address, "wheel": package and str(package)}
        print(to_json(result.to_json() | {name: each for name, each in more.items() if each}))
    else:
        print("\n".join([f"{out}: {result}", *(str(each) for each in (package, address) if each)]))
