"""Least-squares maps against hand-worked cases and against the long way round."""

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor

from core.errors import DataError
from eval.steering.maps import MAP_KINDS, MapKind, SourceBasis, best_penalty, fit_maps


def states(rows: int, width: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Source states with spectrum from 1 to .01 around a large mean, and pivot states that a map and noise make of them."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    source = draw(rows, width) * torch.logspace(0, -2, width).double() + 3 * draw(width)
    true_map = torch.eye(width).double() + 0.3 * draw(width, width) / width**0.5
    return source, source @ true_map.T + draw(width) + 0.1 * draw(rows, width)


def dense(kind: MapKind, source: Tensor, pivot: Tensor) -> Tensor:
    """W of a map, [d, d]: what it does to the unit vectors, less what it does to zero."""
    linear = fit_maps([kind], source, pivot)[kind].linear
    return (linear(torch.eye(source.shape[1])) - linear(torch.zeros(source.shape[1]))).T


def test_minimum_norm_map_where_rows_depend_on_each_other() -> None:
    """Case 40: the matrix 1..9 has rank 2, and the map from it to itself is the projection on its row space."""
    matrix = torch.arange(1.0, 10.0).reshape(3, 3)
    fit = fit_maps(["minimum_norm"], matrix, matrix)["minimum_norm"]
    assert fit.rank == 2
    torch.testing.assert_close(
        (fit.linear.left @ fit.linear.right)[0], torch.tensor([0.8333, 0.3333, -0.1667]), atol=1e-4, rtol=0
    )


def test_minimum_norm_map_of_fewer_rows_than_columns() -> None:
    """Case 40: 64 rows of 256 columns, one of them twice: rank 63, and numpy's minimum-norm solution."""
    generator = torch.Generator().manual_seed(0)
    source, pivot = (torch.randn(64, 256, generator=generator) for _ in range(2))
    source[1], pivot[1] = source[0], pivot[0]
    fit = fit_maps(["minimum_norm"], source, pivot)["minimum_norm"]
    expected = torch.linalg.lstsq(source.double(), pivot.double(), driver="gelsd").solution.T.float()
    assert fit.rank == 63
    torch.testing.assert_close(fit.linear.left @ fit.linear.right, expected, atol=1e-4, rtol=1e-3)


def awkward(name: str) -> tuple[Tensor, Tensor]:
    """Source and pivot states of the kinds that break normal equations and solvers without pivoting."""
    draw = torch.Generator().manual_seed(0)
    rows, width = {"wide": (64, 256), "square": (40, 40)}.get(name, (300, 40))
    source, pivot = torch.randn(rows, width, generator=draw), torch.randn(rows, width, generator=draw)
    if name == "equal rows":
        source, pivot = (states[:20].repeat(15, 1) for states in (source, pivot))
    if name == "rows equal but for rounding":
        source[150:] = source[:150] * (1 + 2**-23)
        pivot[150:] = pivot[:150]
        source, pivot = source[120:180], pivot[120:180]
    if name == "dependent columns":
        source[:, 20:] = source[:, :20] @ torch.randn(20, 20, generator=draw)
    if name == "dead and constant columns":
        source[:, 0], source[:, 1] = 0, 3
    if name == "massive activation":
        source[:, 7] *= 2000
    if name == "large mean":
        source, pivot = source + 50, pivot + 50
    return source, pivot


AWKWARD = ("wide", "square", "equal rows", "rows equal but for rounding", "dependent columns")
AWKWARD += ("dead and constant columns", "massive activation", "large mean")


@pytest.mark.parametrize("name", AWKWARD)
def test_minimum_norm_is_numpys_for_awkward_states(name: str) -> None:
    """Case 40: the solution by numpy's SVD with the same cut; with float32 as rounded states it stays of like size."""
    source, pivot = awkward(name)
    fit = fit_maps(["minimum_norm"], source, pivot)["minimum_norm"]
    cut = max(source.shape) * 2.0**-23
    expected = np.linalg.pinv(source.double().numpy(), rcond=cut) @ pivot.double().numpy()
    found = (fit.linear.left.double() @ fit.linear.right.double()).T.numpy()
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())
    assert fit.rank == np.linalg.matrix_rank(source.double().numpy(), tol=cut * np.linalg.norm(source.double(), 2))
    assert fit.condition < 1 / cut


# An exact fit through as many rows as columns magnifies any rounding: there only ridge is asked for.
SOFT = [(name, kind) for name in AWKWARD for kind in MAP_KINDS if name != "square" or kind.endswith("ridge")]


@pytest.mark.parametrize(("name", "kind"), SOFT)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_awkward_states_break_no_kind_of_map(name: str, kind: MapKind, dtype: torch.dtype) -> None:
    """Rounding each state's last bit moves what a map makes of new states by little (case 40's failure is by a million);
    bfloat16 states are cast, not refused.
    """
    source, pivot = (states.to(dtype) for states in awkward(name))
    draw = torch.Generator().manual_seed(1)
    rounded = source.float() * (1 + 2**-24 * torch.randn(source.shape, generator=draw).sign())
    new = source[:10].float()
    first, second = (fit_maps([kind], states, pivot)[kind].linear(new) for states in (source, rounded))
    assert torch.isfinite(first).all()
    assert float((first - second).norm() / first.norm()) < 1e-2
    assert float(first.norm()) < 10 * float(pivot[:10].float().norm())


def test_ridge_worked_by_hand() -> None:
    """One dimension, x = (2, 0) and y = (4, 1).

    Toward the identity the residuals are y − x = (2, 1). H = diag(4/(4+λ), 0); with w = λ/(4+λ),
    GCV ∝ ((2w)² + 1²) / (1 + w)², whose derivative is zero where 4w = 1. So λ/(4+λ) = 1/4, λ = 4/3, and
    W = 1 + 2·2/(4 + 4/3) = 1.75.
    """
    fit = fit_maps(["ridge"], torch.tensor([[2.0], [0.0]]), torch.tensor([[4.0], [1.0]]))["ridge"]
    assert fit.penalty == pytest.approx(4 / 3, rel=1e-3)
    assert float(fit.linear(torch.ones(1))) == pytest.approx(1.75, abs=1e-3)
    assert fit.linear.identity
    assert (fit.rank, fit.condition, fit.linear.bias) == (1, 1.0, None)


def test_affine_worked_by_hand() -> None:
    """y = 3x + 5 for x = 1, 3: about the means 2 and 11 the slope is 6/2, and b = 11 − 3·2 = 5."""
    source, pivot = torch.tensor([[1.0], [3.0]]), torch.tensor([[8.0], [14.0]])
    fit = fit_maps(["affine"], source, pivot)["affine"]
    assert float(fit.linear(torch.zeros(1))) == pytest.approx(5.0, abs=1e-5)
    assert float(fit.linear(torch.ones(1))) == pytest.approx(8.0, abs=1e-5)


@pytest.mark.parametrize(("rows", "width"), [(12, 5), (8, 20)])
@pytest.mark.parametrize("kind", ["ridge", "affine_ridge"])
def test_penalty_is_that_of_an_explicit_loop(kind: MapKind, rows: int, width: int) -> None:
    """The hat matrix built for each λ by the normal equations; W by them too."""
    source, pivot = states(rows, width)
    centred = kind == "affine_ridge"
    x = source - source.mean(0) * centred
    residual = pivot - pivot.mean(0) * centred - x
    mean_part = torch.full((rows, rows), centred / rows).double()

    def cross_validated(penalty: float) -> float:
        hat = x @ torch.linalg.solve(x.T @ x + penalty * torch.eye(width), x.T) + mean_part
        left = torch.eye(rows) - hat
        return float((left @ residual).square().sum() / left.trace() ** 2)

    square = torch.linalg.svdvals(x)[: min(rows - centred, width)] ** 2
    low, high = float(square[-1].log10()) - 2, float(square[0].log10()) + 4
    grid = [10**exponent for exponent in torch.linspace(low, high, 2000).tolist()]
    wanted = min(grid, key=cross_validated)
    fit = fit_maps([kind], source, pivot)[kind]
    assert fit.penalty == pytest.approx(wanted, rel=0.02)
    assert grid[0] * 1.1 < wanted < grid[-1] / 1.1
    change = torch.linalg.solve(x.T @ x + fit.penalty * torch.eye(width), x.T @ residual).T
    torch.testing.assert_close(dense(kind, source, pivot), (torch.eye(width) + change).float(), atol=1e-4, rtol=1e-3)


def test_ridge_leaves_alone_what_no_sentence_tells_of() -> None:
    """Outside the span of the source states a minimum-norm map gives zero, ridge the state itself."""
    source, pivot = states(4, 10)
    outside = torch.linalg.svd(source, full_matrices=True).Vh[6].float()
    fits = fit_maps(["minimum_norm", "ridge"], source, pivot)
    torch.testing.assert_close(fits["minimum_norm"].linear(outside), torch.zeros(10), atol=1e-5, rtol=0)
    torch.testing.assert_close(fits["ridge"].linear(outside), outside, atol=1e-5, rtol=0)
    for fit in fits.values():
        assert (fit.linear.left.shape, fit.linear.right.shape) == ((10, 4), (4, 10))


def test_affine_maps_send_mean_to_mean() -> None:
    """b = mean(pivot) − W mean(source)."""
    source, pivot = states(6, 10)
    for kind, fit in fit_maps(["affine", "affine_ridge"], source, pivot).items():
        torch.testing.assert_close(fit.linear(source.mean(0).float()), pivot.mean(0).float(), atol=1e-4, rtol=0)
        expected = pivot.mean(0) - dense(kind, source, pivot).double() @ source.mean(0)
        assert fit.linear.bias is not None
        torch.testing.assert_close(fit.linear.bias, expected.float(), atol=1e-4, rtol=1e-3)
        assert fit.rank == 5  # six rows less their mean


def test_nothing_to_learn_gives_the_identity() -> None:
    source, _ = states(6, 10)
    for kind in ("ridge", "affine_ridge"):
        torch.testing.assert_close(dense(kind, source, source), torch.eye(10), atol=1e-5, rtol=0)


def test_noise_is_shrunk_and_a_clear_map_is_kept() -> None:
    """Where the pivot states are the source states and noise, λ is large; where a map made them, all but nothing."""
    source, _ = states(200, 5)
    noise = torch.randn(200, 5, generator=torch.Generator().manual_seed(1)).double()
    basis = SourceBasis.of(source, centred=True)
    smallest = float(basis.s[-1]) ** 2
    assert best_penalty(basis, noise - noise.mean(0), 199) > 10 * smallest
    assert best_penalty(basis, basis.states @ torch.ones(5, 5).double(), 199) < 0.02 * smallest


def test_states_that_do_not_differ_make_no_map() -> None:
    one = torch.tensor([[1.0, 2.0]])
    with pytest.raises(DataError, match="1 source states that do not differ"):
        fit_maps(["affine"], one, one)
    alike = torch.full((3, 2), 0.1).double() + 1e-9 * torch.eye(3, 2).double()  # less than float32 can tell
    with pytest.raises(DataError, match="3 source states that do not differ"):
        fit_maps(["affine_ridge"], alike, alike)


def test_kinds_learned_together_are_those_learned_alone() -> None:
    source, pivot = states(6, 10)
    together = fit_maps(MAP_KINDS, source, pivot)
    for kind, half in itertools.product(MAP_KINDS, ("left", "right")):
        alone = fit_maps([kind], source, pivot)[kind]
        torch.testing.assert_close(getattr(together[kind].linear, half), getattr(alone.linear, half))
