"""The command `glassformer average`: the mean of several models of a run, as one model."""

from pathlib import Path

from glassformer.cli.options import AS_JSON, DEVICE, arg, opt
from glassformer.cli.terminal import to_json
from glassformer.foundation.plurals import tell_count


def average(
    models: list[Path] = arg(
        "RUN",
        "The folder that `train` wrote; or several models that started from one.",
        default=...,
    ),
    out: Path = opt("FOLDER", "Where the new model goes.", default=...),
    last: int | None = opt("N", "How many of the latest checkpoints: 5 if not given.", min=1),
    best: int | None = opt(
        "N", "How many of the best models, which train.keep_best has kept.", min=1
    ),
    device: str = DEVICE,
    as_json: bool = AS_JSON,
) -> None:
    """Average the weights of the last checkpoints of a run, or of its best, into one model.

    The paper averages the last 5 (base) or 20 (big); this often gains half a point of BLEU. The
    run must have kept that many: train it with --set train.keep=5, or train.keep_best=5.

    Several models that train --from made of one, with the same tokens and other seeds, are averaged
    as they are (a model soup, Wortsman et al. 2022).

    \b
    glassformer average my-model --last 5 --out my-averaged-model
    glassformer average seed-1 seed-2 seed-3 --out my-soup
    """
    from ..averaging import average as average_run

    if last and best:
        raise ValueError("--last and --best both say which models to average: give one of them")
    if len(models) > 1:
        if last or best:
            raise ValueError("--last and --best are for the checkpoints of one training")
        from ..soup import make_soup

        make_soup(models, out)
        if as_json:
            print(to_json({"models": [str(each) for each in models]}))
        else:
            print(f"{out}: the mean of the weights of {tell_count(len(models), 'model')}")
        return
    (run,) = models
    last = last or 5
    result = average_run(run, out, None if best else last, best=best, device=device)
    if as_json:
        print(to_json({**result.values(), "signature": result.signature}))
        return
    scores = ", ".join(f"{name} {value:.2f}" for name, value in result.values().items())
    which = (
        f"best {tell_count(best, 'model')}" if best else f"last {tell_count(last, 'checkpoint')}"
    )
    print(f"{out}: the mean of the {which} of {run}")
    print(f"On the validation text: {scores}")
