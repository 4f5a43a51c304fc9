"""Files of orders that say two things at once."""

from pathlib import Path

import pytest

from core.errors import DataError
from eval.leaderboard_orders import read_order


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": 2, "a": 3}',
        '{"judges": {"a": {"all": {}, "by_language": {}}, "a": {"all": {}, "by_language": {}}}}',
        '{"judges": {"x": {"all": {"a": 1, "a": 2}, "by_language": {}}}}',
    ],
)
def test_a_judge_that_stands_twice_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "order.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"order\.json names a twice; keep one of them"):
        read_order(f"recon={path}")
