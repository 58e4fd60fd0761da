"""What models cost: sums of what is known, and nothing made up for what is not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from rag_evaluation_framework import Usage, UsageError
from rag_evaluation_framework.models.spending import Prices, Spending, total_usage


def test_a_cost_is_the_tokens_times_the_price_of_a_million() -> None:
    # 1,200,000 / 1e6 * 2.50 + 40,000 / 1e6 * 10 = 3.00 + 0.40
    assert Prices(2.5, 10).cost(Usage(input_tokens=1_200_000, output_tokens=40_000)) == pytest.approx(3.4)
    assert Prices(2.5, 10).cost(Usage(input_tokens=5)) is None
    assert Prices(0, 0).cost(Usage(input_tokens=5, output_tokens=5)) == 0


@pytest.mark.parametrize("price", [-1.0, float("nan"), float("inf")])
def test_a_price_that_is_none_is_refused(price: float) -> None:
    with pytest.raises(UsageError, match="price: expected dollars"):
        Prices(1.0, price)


def test_what_is_not_known_is_left_out_of_a_total() -> None:
    assert total_usage([]) is None
    assert total_usage([None, None]) is None
    usages = [None, Usage(input_tokens=3), Usage(input_tokens=4, cost_usd=0.5), Usage(output_tokens=1)]
    assert total_usage(usages) == Usage(input_tokens=7, output_tokens=1, cost_usd=0.5)


def test_many_threads_add_to_one_total() -> None:
    spending = Spending()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: spending.add(Usage(input_tokens=2, output_tokens=1)), range(2000)))
    assert spending.calls == 2000
    assert spending.usage == Usage(input_tokens=4000, output_tokens=2000)
