"""Agreement of moved source states with pivot states, worked by hand."""

import pytest
import torch

from eval.steering.alignment import alignment, alignments
from eval.steering.directions import LinearMap

PIVOT = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def test_alignment_by_hand() -> None:
    """Source (2, 0), (3, 1), (1, 1).

    Nearest by cosine: the first and the third find their own; the second, at .316 from (0, 1) and .949 from (1, 0), does not.
    Cosines with their own 1, 1/√10, 1. Squared errors 1 + 9 + 0; the pivot states differ from their mean (2/3, 2/3)
    by 1/9 + 4/9 + 1/9 in each coordinate, 4/3 in all. So 1 − 10 / (4/3) = −6.5.
    """
    found = alignment(torch.tensor([[2.0, 0.0], [3.0, 1.0], [1.0, 1.0]]), PIVOT)
    assert found["retrieval"] == pytest.approx(2 / 3)
    assert found["cosine"] == pytest.approx((2 + 10**-0.5) / 3)
    assert found["explained_variance"] == pytest.approx(-6.5)


def test_every_method_moves_the_source_its_own_way() -> None:
    """Source states a shift of (1, −2) away from the pivot's, and a map that turns them a quarter round."""
    shift = torch.tensor([1.0, -2.0])
    quarter = LinearMap(torch.tensor([[0.0, -1.0], [1.0, 0.0]]), torch.eye(2))
    found = alignments(PIVOT - shift, PIVOT, shift, {"ridge": quarter})
    assert list(found) == ["none", "vector", "ridge"]
    assert found["vector"] == pytest.approx({"retrieval": 1.0, "cosine": 1.0, "explained_variance": 1.0}, abs=1e-6)
    assert found["none"] == alignment(PIVOT - shift, PIVOT)
    assert found["ridge"] == alignment(quarter(PIVOT - shift), PIVOT)


def test_one_pair_has_no_variance_to_explain() -> None:
    assert alignment(PIVOT[:1], PIVOT[:1]) == {"retrieval": 1.0, "cosine": 1.0, "explained_variance": None}
