"""Directions: how they are learned, stored, and tied to their model."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from core.config import exit_status, parse_config
from core.errors import ConfigError, DataError, ModelError
from eval.directions import DirectionsConfig, main, read_pairs
from eval.steering.alignment import alignment
from eval.steering.directions import POOLED_EMBEDDING, Directions, LinearMap
from eval.steering.fingerprint import same_weights, weight_sums
from eval.steering.hooks import steer
from eval.steering.layers import find_layers
from eval.steering.learning import SentenceEncoder, distinct_pairs, pool
from eval.steering.learning import learn as learn_with_states
from eval.steering.maps import MAP_KINDS, MapKind
from eval.steering.pair_states import PairStates, null_directions
from tests.eval.comet_checkpoint import write as write_comet
from tests.pico import model as pico
from tests.pico import save as save_pico
from tests.pico import tokenizer

KINDS = ("llama", "gemma3", "bloom")


def learn(*given: Any, **named: Any) -> Directions:
    return learn_with_states(*given, **named).directions


PAIRS = [
    ("La réponse est juste et complète.", "The response is right and complete."),
    ("उत्तर सही है।", "The answer is right."),
    ("Une instruction claire.", "A clear instruction, which the response meets well."),
    ("La note est polie.", "The feedback is polite."),
]


def states_by_hand(model: Any, text: str, layer: int) -> Tensor:
    """Hidden states [T, d] of one text's tokens but BOS, by a plain hook."""
    seen: list[Any] = []
    handle = find_layers(model).layers[layer].register_forward_hook(lambda module, args, output: seen.append(output))
    with torch.no_grad():
        model(input_ids=torch.tensor([tokenizer()(text)["input_ids"]]))
    handle.remove()
    return (seen[0][0] if isinstance(seen[0], tuple) else seen[0])[0, 1:]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pooling", ["mean", "last"])
def test_vector_is_mean_pivot_minus_mean_source(kind: str, pooling: Any) -> None:
    """Also after the last layer, where the model's own hidden_states are past the final norm."""
    model = pico(kind)
    directions = learn(model, tokenizer(), PAIRS, "fr", "en", pooling, batch_size=3)
    for layer in (0, 1):
        sides = [[states_by_hand(model, pair[side], layer) for pair in PAIRS] for side in (0, 1)]
        pooled = [torch.stack([s.mean(0) if pooling == "mean" else s[-1] for s in side]).mean(0) for side in sides]
        torch.testing.assert_close(directions.vectors[layer], pooled[1] - pooled[0], atol=1e-5, rtol=1e-4)
        lengths = [s.norm(dim=1).mean() if pooling == "mean" else s[-1].norm() for side in sides for s in side]
        assert directions.facts.mean_norms[layer] == pytest.approx(float(torch.stack(lengths).mean()), rel=1e-4)
    assert (directions.facts.source, directions.facts.pivot, directions.facts.pairs) == ("fr", "en", 4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pooling", ["mean", "last"])
def test_a_sentence_is_the_same_alone_and_in_a_batch(kind: str, pooling: Any) -> None:
    """Whichever side the tokenizer pads on (case 38)."""
    model, texts = pico(kind), [text for pair in PAIRS for text in pair]
    alone = SentenceEncoder(model, tokenizer(), [0, 1], pooling, batch_size=1)(texts)
    for side in ("left", "right"):
        padded = tokenizer()
        padded.padding_side = side
        batched = SentenceEncoder(model, padded, [0, 1], pooling, batch_size=8)(texts)
        torch.testing.assert_close(batched.states, alone.states, atol=1e-4, rtol=0)
        torch.testing.assert_close(batched.norms, alone.norms, atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("mask", "mean", "last"),
    [
        ([[0, 1, 1]], [4.0, 5.0], [5.0, 6.0]),
        ([[1, 1, 0]], [2.0, 3.0], [3.0, 4.0]),
        ([[1, 0, 0]], [1.0, 2.0], [1.0, 2.0]),
    ],
)
def test_pooling_reads_the_mask(mask: Any, mean: Any, last: Any) -> None:
    hidden = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])
    assert pool(hidden, torch.tensor(mask), "mean")[0].tolist() == [mean]
    assert pool(hidden, torch.tensor(mask), "last")[0].tolist() == [last]


def test_pooled_norm_is_the_mean_of_the_tokens_norms() -> None:
    """Norms 5 and 13 have mean 9; the norm of the mean (4, 8) would be 8.94. An infinite padding state does not count."""
    hidden = torch.tensor([[[3.0, 4.0], [5.0, 12.0], [float("inf"), 0.0]]])
    states, norms = pool(hidden, torch.tensor([[1, 1, 0]]), "mean")
    assert states.tolist() == [[4.0, 8.0]]
    assert norms.tolist() == [9.0]


def test_special_tokens_are_pooled_when_asked_for() -> None:
    model = pico()
    with_bos = SentenceEncoder(model, tokenizer(), [0], "mean", 1, pool_special_tokens=True)(["a fair answer"])
    without = SentenceEncoder(model, tokenizer(), [0], "mean", 1)(["a fair answer"])
    assert not torch.allclose(with_bos.states, without.states, atol=1e-3)


def test_a_repeated_sentence_drops_its_pair() -> None:
    pairs = [("a", "x"), ("b", "y"), (" a ", "z"), ("c", "y"), ("d", "w")]
    assert distinct_pairs(pairs) == [("a", "x"), ("b", "y"), ("d", "w")]
    assert distinct_pairs([("caf\u00e9", "x"), ("cafe\u0301", "y")]) == [("caf\u00e9", "x")]
    model = pico()
    once, twice = (learn(model, tokenizer(), pairs, "fr", "en") for pairs in (PAIRS, [*PAIRS, *PAIRS[:2]]))
    assert torch.equal(once.vectors[1], twice.vectors[1])
    assert twice.facts.pairs == 4


def test_layers_must_exist_and_states_be_finite() -> None:
    with pytest.raises(ConfigError, match="from 0 to 1"):
        learn(pico(), tokenizer(), PAIRS, "fr", "en", layers=[0, 2])
    with pytest.raises(DataError, match="no pairs"):
        learn(pico(), tokenizer(), [], "fr", "en")
    broken = pico()
    with torch.no_grad():
        find_layers(broken).layers[1].mlp.down_proj.weight[0, 0] = float("nan")
    with pytest.raises(DataError, match="layer 1 are not finite"):
        learn(broken, tokenizer(), PAIRS, "fr", "en")
    assert learn(broken, tokenizer(), PAIRS, "fr", "en", layers=[0]).layers == [0]


def test_map_sends_source_states_to_pivot_states() -> None:
    """Four pairs at width 32 are fitted exactly; what is outside their span goes to zero."""
    model = pico()
    linear = learn(model, tokenizer(), PAIRS, "fr", "en", maps=True).maps[1]
    encode = SentenceEncoder(model, tokenizer(), [1], "mean", 4)
    source, pivot = (encode([pair[side] for pair in PAIRS]).states[:, 0] for side in (0, 1))
    torch.testing.assert_close(linear(source), pivot, atol=1e-4, rtol=1e-4)
    assert (linear.left.shape, linear.right.shape) == ((32, 4), (4, 32))
    outside = torch.linalg.svd(source, full_matrices=True).Vh[4]
    torch.testing.assert_close(linear(outside), torch.zeros(32), atol=1e-4, rtol=0)


def test_held_out_pairs_measure_and_do_not_teach() -> None:
    """Also where a held-out pair shares a sentence with one that was learned from: it is left out."""
    model, held_out = pico(), [("Une réponse.", "An answer."), ("La note.", "The score."), PAIRS[0]]
    alone = learn(model, tokenizer(), PAIRS, "fr", "en", maps=True, map_kind="ridge")
    measured = learn(model, tokenizer(), PAIRS, "fr", "en", maps=True, map_kind="ridge", held_out=held_out)
    torch.testing.assert_close(measured.vectors[1], alone.vectors[1], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(measured.maps[1].left, alone.maps[1].left, atol=1e-4, rtol=1e-3)
    assert (alone.facts.held_out, alone.facts.held_out_pairs) == ({}, None)
    assert (measured.facts.pairs, measured.facts.held_out_pairs) == (4, 2)
    found = measured.facts.held_out[1]
    assert list(found) == ["none", "vector", "minimum_norm", "ridge", "affine", "affine_ridge"]
    encode = SentenceEncoder(model, tokenizer(), [1], "mean", 2)
    source, pivot = (encode([pair[side] for pair in held_out[:2]]).states[:, 0] for side in (0, 1))
    assert found["vector"] == pytest.approx(alignment(source + alone.vectors[1], pivot), abs=1e-4)
    assert found["ridge"] == pytest.approx(alignment(alone.maps[1](source), pivot), abs=1e-3)


def test_fit_is_told_by_layer() -> None:
    """Four pairs at width 32: minimum norm fits them exactly, with four singular values; an intercept leaves three."""
    facts = learn(pico(), tokenizer(), PAIRS, "fr", "en", maps=True).facts
    for layer in (0, 1):
        fit = facts.map_fit[layer]
        assert (fit["pairs"], fit["rank"], fit["penalty"]) == (4, 4, None)
        assert fit["condition"] > 1
        assert (fit["retrieval"], fit["cosine"], fit["explained_variance"]) == pytest.approx((1, 1, 1), abs=1e-4)
    facts = learn(pico(), tokenizer(), PAIRS, "fr", "en", maps=True, map_kind="affine_ridge").facts
    assert facts.map_kind == "affine_ridge"
    assert facts.map_fit[1]["rank"] == 3
    assert facts.map_fit[1]["penalty"] > 0


@pytest.mark.parametrize("kind", MAP_KINDS)
def test_a_folder_gives_back_every_kind_of_map(tmp_path: Path, kind: MapKind) -> None:
    """A map toward the identity adds the state itself, an affine one a bias; steering at σ = ½ goes half the way."""
    model = pico()
    saved = learn(model, tokenizer(), PAIRS, "fr", "en", layers=[1], maps=True, map_kind=kind)
    saved.save(tmp_path)
    loaded = Directions.load(tmp_path)
    assert loaded.facts == saved.facts
    linear, ids = loaded.maps[1], torch.tensor([[1, 20, 30]])
    assert (linear.identity, linear.bias is not None) == (kind.endswith("ridge"), kind.startswith("affine"))
    hidden = torch.randn(5, 32, generator=torch.Generator().manual_seed(0))
    dense = linear.left @ linear.right + (torch.eye(32) if linear.identity else 0)
    bias = torch.zeros(32) if linear.bias is None else linear.bias
    torch.testing.assert_close(linear(hidden), hidden @ dense.T + bias, atol=1e-4, rtol=1e-4)
    assert torch.equal(linear(hidden), saved.maps[1](hidden))
    layer = find_layers(model).layers[1]
    seen: list[Tensor] = []
    handle = layer.register_forward_hook(lambda module, args, output: seen.append(output))
    with torch.no_grad():
        model(input_ids=ids)
        with steer(model, loaded, 0.5, method="map"):
            model(input_ids=ids)
    handle.remove()
    torch.testing.assert_close(seen[1], (seen[0] + linear(seen[0])) / 2, atol=1e-5, rtol=1e-4)


def test_folder_gives_back_what_was_saved(tmp_path: Path) -> None:
    saved = learn(pico(), tokenizer(), PAIRS, "fr", "en", maps=True, model_name="pico")
    saved.save(tmp_path)
    loaded = Directions.load(tmp_path)
    assert loaded.facts == saved.facts
    assert all(torch.equal(loaded.vectors[layer], saved.vectors[layer]) for layer in saved.layers)
    assert all(torch.equal(loaded.maps[layer].left, saved.maps[layer].left) for layer in saved.layers)
    assert sorted(load_file(tmp_path / "directions.safetensors")) == [
        *(f"map.{layer}.{part}" for layer in (0, 1) for part in ("left", "right")), "vector.0", "vector.1",
    ]  # fmt: skip
    facts = json.loads((tmp_path / "directions.json").read_text())
    assert facts["hook_point"] == "residual stream after the layer"
    assert facts["layers"] == [0, 1]


def test_some_of_the_layers() -> None:
    """Vectors, maps and what is told of them go along; a layer that is not there is refused."""
    directions = learn(pico(), tokenizer(), PAIRS, "fr", "en", maps=True, held_out=[("Une réponse.", "An answer.")])
    part = directions.at_layers([1, 1])
    assert (part.layers, list(part.vectors), list(part.maps)) == ([1], [1], [1])
    assert torch.equal(part.vectors[1], directions.vectors[1])
    assert torch.equal(part.maps[1].right, directions.maps[1].right)
    for name in ("mean_norms", "map_fit", "held_out"):
        assert getattr(part.facts, name) == {1: getattr(directions.facts, name)[1]}
    assert (part.facts.fingerprint, part.facts.pairs) == (directions.facts.fingerprint, 4)
    part.check(pico())
    for layers in ([], [0, 2]):
        with pytest.raises(ConfigError, match=r"\[0, 1\]"):
            directions.at_layers(layers)


def test_directions_of_another_hook_point_are_refused(tmp_path: Path) -> None:
    """A pooled embedding is no residual stream, though width and fingerprint fit, and the other way round."""
    facts = learn(pico(), tokenizer(), PAIRS, "fr", "en").facts
    pooled = Directions.from_vectors({0: torch.ones(32)}, hook_point=POOLED_EMBEDDING, fingerprint=facts.fingerprint)
    pooled.save(tmp_path)
    loaded = Directions.load(tmp_path)
    for allow in (False, True):
        with pytest.raises(ModelError, match="learned at 'pooled sentence embedding'"):
            loaded.check(pico(), allow)
    loaded.check_fits(POOLED_EMBEDDING, 1, 32, lambda stored: stored == facts.fingerprint, False)
    residual = Directions.from_vectors({0: torch.ones(32)})
    with pytest.raises(ModelError, match="steered at 'pooled sentence embedding'"):
        residual.check_fits(POOLED_EMBEDDING, 1, 32, lambda stored: True, True)


def test_plain_vectors_of_any_kind_are_stored_in_float32(tmp_path: Path) -> None:
    given = torch.tensor([1.0, 2.0], dtype=torch.bfloat16)
    Directions.from_vectors({3: given, 1: [0.5, 0.25]}).save(tmp_path / "new")
    loaded = Directions.load(tmp_path / "new")
    assert loaded.layers == [1, 3]
    assert loaded.vectors[3].dtype is torch.float32
    assert loaded.vectors[1].tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    ("vectors", "maps", "message"),
    [
        ({}, None, "0 vectors"),
        ({0: [1.0, 2.0], 1: [1.0]}, None, "not of one size"),
        ({0: [[1.0, 2.0]]}, None, "not of one size"),
        ({0: [1.0, float("nan")]}, None, "vector.0 is not finite"),
        ({0: [1.0, 2.0]}, {0: LinearMap(torch.ones(3, 1), torch.ones(1, 2))}, "not of one size"),
        ({0: [1.0, 2.0]}, {0: LinearMap(torch.ones(2, 1), torch.ones(1, 2), torch.ones(3))}, "not of one size"),
        ({0: [1.0, 2.0]}, {0: LinearMap(torch.ones(2, 2), torch.ones(1, 2))}, "not of one rank"),
        ({0: [1.0, 2.0]}, {1: LinearMap(torch.ones(2, 1), torch.ones(1, 2))}, "a map and no vector"),
        ({0: [1.0, 2.0]}, {0: LinearMap(torch.ones(2, 1) / 0, torch.ones(1, 2))}, "map.0.left is not finite"),
    ],
)
def test_broken_directions_are_refused(vectors: Any, maps: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Directions.from_vectors(vectors, maps)


def test_a_broken_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no folder of directions"):
        Directions.load(tmp_path)
    Directions.from_vectors({0: [1.0, 2.0]}).save(tmp_path)
    facts = json.loads((tmp_path / "directions.json").read_text())

    def load_with(**changes: Any) -> None:
        (tmp_path / "directions.json").write_text(json.dumps({**facts, **changes}))
        Directions.load(tmp_path)

    for changes, message in (
        ({"hook_point": "attention output"}, "learned at 'attention output'"),
        ({"layers": [0, 1]}, "differ in their layers"),
        ({"colour": 1}, r"broken directions \(directions.json.colour: Extra inputs"),
        (
            {"mean_norms": {"0": -1.0}},
            r"broken directions \(directions.json.mean_norms.0: .*greater than or equal to 0",
        ),
    ):
        with pytest.raises(DataError, match=message):
            load_with(**changes)
    save_file({"vector.0": torch.ones(2), "vectors": torch.ones(2)}, tmp_path / "directions.safetensors")
    with pytest.raises(DataError, match="unknown tensor 'vectors'"):
        load_with()
    (tmp_path / "directions.safetensors").write_bytes(b"cut")
    with pytest.raises(DataError, match="broken directions"):
        load_with()


@pytest.mark.parametrize("kind", KINDS)
def test_fingerprint_knows_a_model_in_any_dtype(kind: str) -> None:
    stored = weight_sums(pico(kind)).sums
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        assert same_weights(stored, pico(kind).to(dtype))
    assert not same_weights(stored, pico(kind, seed=1))


def test_fingerprint_tells_a_tuned_model() -> None:
    """One per cent on one matrix of each layer, as a short tune leaves it, and any adapter."""
    model = pico()
    stored = weight_sums(model).sums
    with torch.no_grad():
        for block in find_layers(model).layers:
            assert isinstance(block.mlp.up_proj, nn.Linear)
            block.mlp.up_proj.weight += 0.1 * block.mlp.up_proj.weight.std()
    assert not same_weights(stored, model)


def parallel(folder: Path, rows: int = 4) -> Path:
    path = folder / "parallel.jsonl"
    lines = [{"id": str(n), "document_id": None, "fr": fr, "en": en} for n, (fr, en) in enumerate(PAIRS[:rows])]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def run(*words: Any) -> int:
    return exit_status(lambda: main(parse_config(DirectionsConfig, [str(word) for word in words])))


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = save_pico(tmp_path / "pico", chat_template=None)
    given = [
        "--model_name_or_path",
        model,
        "--input",
        parallel(tmp_path),
        "--source",
        "fr",
        "--output",
        tmp_path / "out",
    ]
    assert run(*given, "--pairs", "100", "--maps", "true") == 0
    told = capsys.readouterr()
    assert "4 distinct pairs of 4 rows, fewer than the 100 asked for" in told.err
    assert "fr → en from 4 pairs" in told.out
    assert "map of rank 4, condition" in told.out
    assert "fewer pairs than the hidden size" in told.out
    directions = Directions.load(tmp_path / "out")
    directions.check(pico())
    expected = learn(pico(), tokenizer(), PAIRS, "fr", "en")
    torch.testing.assert_close(directions.vectors[1], expected.vectors[1], atol=1e-5, rtol=1e-4)
    assert directions.facts.model == "pico"
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["counts"] == {"pairs": 4, "held_out": 0}
    assert run(*given) == 2
    assert "exists" in capsys.readouterr().err


def test_command_holds_pairs_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of four pairs two are held out; the two that teach are those that would have been drawn anyway."""
    given = ["--model_name_or_path", save_pico(tmp_path / "pico"), "--input", parallel(tmp_path), "--source", "fr"]
    given += ["--maps", "true", "--map_kind", "ridge", "--pairs", "2"]
    assert run(*given, "--output", tmp_path / "all") == 0
    capsys.readouterr()
    assert run(*given, "--output", tmp_path / "out", "--held_out", "2") == 0
    told = capsys.readouterr()
    assert "fewer than" not in told.err
    assert "explained variance on 2 held-out pairs" in told.out
    assert "| layer |" in told.out
    assert ", λ " in told.out
    facts = json.loads((tmp_path / "out" / "directions.json").read_text())
    assert (facts["pairs"], facts["held_out_pairs"], facts["map_kind"]) == (2, 2, "ridge")
    assert set(facts["held_out"]["0"]["ridge"]) == {"retrieval", "cosine", "explained_variance"}
    first, second = (Directions.load(tmp_path / name) for name in ("all", "out"))
    torch.testing.assert_close(first.vectors[1], second.vectors[1], atol=1e-5, rtol=1e-4)
    assert run(*given, "--output", tmp_path / "few", "--held_out", "2", "--pairs", "3") == 0
    assert (
        "4 distinct pairs of 4 rows, less 2 held out or of a document held out, fewer than the 3 asked for"
        in capsys.readouterr().err
    )
    assert run(*given, "--output", tmp_path / "none", "--held_out", "3") == 2
    assert "less 3 held out, and others of their documents, 1 are left and 2 needed" in capsys.readouterr().err


def test_no_document_stands_on_both_sides(tmp_path: Path) -> None:
    """Forty rows in ten documents of 1 to 7, seven without: fifteen pairs teach and ten are held out, of other documents."""
    sizes = [1, 7, 2, 6, 3, 5, 3, 1, 4, 1]
    documents = [str(number) for number, size in enumerate(sizes) for _ in range(size)] + [None] * 7
    lines = [
        {"id": str(n), "document_id": document, "fr": f"phrase {n}", "en": f"sentence {n}"}
        for n, document in enumerate(documents)
    ]
    path = tmp_path / "parallel.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def drawn(**changes: Any) -> list[set[int]]:
        given = {"model_name_or_path": "m", "input": path, "source": "fr", "output": tmp_path / "out", **changes}
        return [{int(pair[1].split()[1]) for pair in side} for side in read_pairs(DirectionsConfig(**given))]

    for seed in range(8):
        teach, apart = drawn(pairs=15, held_out=10, seed=seed)
        assert (len(teach), len(apart)) == (15, 10)
        assert not teach & apart
        assert not {documents[n] for n in teach} & {documents[n] for n in apart} - {None}
        assert drawn(pairs=15, seed=seed)[0] == teach
    assert drawn(pairs=15, held_out=10, seed=0) != drawn(pairs=15, held_out=10, seed=1)


def test_states_of_the_pairs_are_kept(tmp_path: Path) -> None:
    """Null directions are learned from them without the model; --keep_pairs false leaves them out."""
    given = ["--model_name_or_path", save_pico(tmp_path / "pico"), "--input", parallel(tmp_path), "--source", "fr"]
    given += ["--pairs", "3", "--held_out", "1", "--layers", "1"]
    assert run(*given, "--output", tmp_path / "out") == 0
    directions = Directions.load(tmp_path / "out")
    states = PairStates.load(tmp_path / "out", directions)
    torch.testing.assert_close(
        directions.vectors[1], (states.pivot - states.source)[:, 0].mean(0), atol=1e-5, rtol=1e-4
    )
    assert (len(states.source), len(states.held_out_source), states.layers) == (3, 1, [1])
    null = null_directions(directions, states, draw=0, seed=0)
    null.check(pico())
    assert null.vectors[1].norm() == pytest.approx(float(directions.vectors[1].norm()), rel=1e-5)
    assert run(*given, "--output", tmp_path / "bare", "--keep_pairs", "false") == 0
    assert not (tmp_path / "bare" / "pairs.safetensors").exists()


def test_a_comet_checkpoint_is_steered_at_its_embedding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [{"id": str(n), "fr": f"une phrase {'abcdef'[n]}", "en": f"a line {'abcdef'[n]}"} for n in range(6)]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    given = ["--model_name_or_path", write_comet(tmp_path / "comet"), "--input", path, "--source", "fr"]
    assert run(*given, "--output", tmp_path / "out", "--maps", "true", "--pairs", "6") == 0
    directions = Directions.load(tmp_path / "out")
    states = PairStates.load(tmp_path / "out", directions)
    assert (directions.facts.hook_point, directions.layers) == (POOLED_EMBEDDING, [0])
    torch.testing.assert_close(
        directions.vectors[0], (states.pivot - states.source)[:, 0].mean(0), atol=1e-5, rtol=1e-4
    )
    capsys.readouterr()
    assert run(*given, "--output", tmp_path / "other", "--pooling", "last") == 2
    assert "pooling is for language models" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--map_kind", "cubic"], "map_kind"),
        (["--source", "hi"], "no text in column 'hi'; the row has fr, en"),
        (["--source", "en"], "source and pivot are both en"),
        (["--layers", "0", "7"], "layers [0, 7] are not all from 0 to 1"),
        (["--input", "absent.jsonl"], "absent.jsonl cannot be read"),
        (["--pooling", "max"], "pooling"),
        (["--pairs", "0"], "pairs"),
    ],
)
def test_wrong_input(tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: list[str], message: str) -> None:
    model = save_pico(tmp_path / "pico")
    given = [
        "--model_name_or_path",
        model,
        "--input",
        parallel(tmp_path),
        "--source",
        "fr",
        "--output",
        tmp_path / "out",
    ]
    assert run(*given, *changes) == 2
    told = capsys.readouterr().err.strip().splitlines()[-1]
    assert told.startswith("error: ")
    assert message in told
