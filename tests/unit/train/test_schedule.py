import math

import pytest

from glassformer.config import Train
from glassformer.train.schedule import rate, warmup_of


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


def test_warmup_is_the_papers_or_a_tenth():
    assert warmup_of(Train(), 100_000) == 4000
    assert warmup_of(Train(), 500) == 50
    assert warmup_of(Train(warmup=7), 500) == 7
    assert warmup_of(Train(), 1) == 1
