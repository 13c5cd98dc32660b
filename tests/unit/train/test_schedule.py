import math

import pytest

from glassformer.config import Train
from glassformer.train.plan.schedule import Plateau, rate, warmup_of


@pytest.mark.parametrize("step", [1, 17, 4000, 4001, 60_000])
def test_the_papers_equation_3(step):
    papers = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
    assert math.isclose(rate(step, Train(warmup=4000), 512, 100_000), papers, rel_tol=1e-12)


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_ends_at_its_low_point(schedule):
    train = Train(schedule=schedule, warmup=10, learning_rate=0.01, final_rate=0.1)
    rates = [rate(step, train, 512, 100) for step in range(1, 101)]
    assert max(rates) == rates[9] == 0.01
    assert math.isclose(rates[-1], 0.001)
    assert rates == sorted(rates[:10]) + sorted(rates[10:], reverse=True)


def test_halfway_down():
    for schedule in ("cosine", "linear"):
        train = Train(schedule=schedule, warmup=20, learning_rate=1.0)
        assert math.isclose(rate(60, train, 512, 100), 0.5)


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_each_cycle_falls_from_the_peak_anew(schedule: str) -> None:
    train = Train(schedule=schedule, warmup=10, learning_rate=1.0, final_rate=0.1, cycles=3)
    once = Train(schedule=schedule, warmup=10, learning_rate=1.0, final_rate=0.1)
    rates = [rate(step, train, 512, 100) for step in range(11, 101)]
    alone = [rate(step, once, 512, 40) for step in range(11, 41)]
    assert rates == pytest.approx(alone * 3, rel=1e-9)
    assert rates[29] == pytest.approx(0.1) and rates[30] > 0.9


def test_warmup_is_the_papers_or_a_tenth():
    assert warmup_of(Train(), 100_000) == 4000
    assert warmup_of(Train(), 500) == 50
    assert warmup_of(Train(warmup=7), 500) == 7
    assert warmup_of(Train(), 1) == 1


def test_plateau_falls_when_the_loss_does_not():
    train = Train(schedule="plateau", final_rate=0.2, plateau_patience=2, plateau_factor=0.5)
    plateau, factors = Plateau(), []
    for loss in (5, 4, 4, 4.1, 3, 3, 3.5, 3.2, 3.1, 3.3, 3.4):
        falls = plateau.observe(loss, 100, train)
        factors.append(plateau.factor)
        assert falls == (len(factors) > 1 and factors[-1] < factors[-2])
    assert factors == [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.2, 0.2, 0.2]
    assert not plateau.observe(9, 200, train) and plateau.lowest == 9  # of other sentences
    rates = [rate(step, train, 512, 100) for step in (10, 20, 60, 100)]
    assert rates == pytest.approx([(512 * 10) ** -0.5] * 4)


def test_plateau_is_what_torch_does():
    """PyTorch's counts one validation more, and needs no threshold to be told the same."""
    torch = pytest.importorskip("torch")
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=0.3, patience=2, threshold=0
    )
    ours, train = Plateau(), Train(schedule="plateau", plateau_patience=3, plateau_factor=0.3)
    for loss in (3, 2, 2.5, 2.1, 2, 1.9, 2, 2, 2, 2, 2, 2, 1.8, 1.8, 1.9, 1.9):
        theirs.step(loss)
        ours.observe(loss, 10, train)
        assert math.isclose(ours.factor, optimizer.param_groups[0]["lr"])
