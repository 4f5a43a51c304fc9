"""merge.experts on pico judges: hand-worked angles and signs, what stands in its files, and the report that shows it."""

import math
import os
import re
import resource
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from core.config import exit_status
from core.errors import ConfigError, ModelError
from eval.report import ReportConfig
from eval.report import main as report
from merge.experts import ExpertsConfig, main
from tests.merge.checkpoints import adapter, judge, read
from tests.merge.test_kill import in_child

HI, FR = [4.0, -3.0, 1.0, 0.5], [-2.0, -1.0, 3.0, 0.2]


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, str]:
    """A base and two judges that differ from it in the last norm (zero in the base) alone, by HI and FR."""
    judges = {
        "base": judge(tmp_path / "base", [0.0]),
        "hi": judge(tmp_path / "hi", HI),
        "fr": judge(tmp_path / "fr", FR),
    }
    return {name: str(folder) for name, folder in judges.items()}


def analysed(folders: dict[str, str], tmp_path: Path, **changes: Any) -> dict[str, Any]:
    experts = {name: folder for name, folder in folders.items() if name != "base"}
    values = {"experts": experts, "base_model": folders["base"], "output_dir": tmp_path / "experts", **changes}
    main(ExpertsConfig.model_validate(values))
    return read(Path(values["output_dir"]) / "experts.json")


def test_angles_signs_and_lengths_are_the_hand_worked_ones(folders: dict[str, str], tmp_path: Path) -> None:
    result = analysed(folders, tmp_path)
    norm = next(layer for layer in result["layers"] if layer["layer"] == "model.norm")
    # The four values stand eight times. hi: 16 + 9 + 1 + .25 = 26.25, fr: 4 + 1 + 9 + .04 = 14.04.
    assert norm["parameters"] == 32
    assert norm["norm"] == pytest.approx({"hi": math.sqrt(8 * 26.25), "fr": math.sqrt(8 * 14.04)})
    assert norm["relative_norm"] == {"hi": None, "fr": None}  # the base is zero there
    (pair,) = norm["pairs"]
    # -8 + 3 + 3 + .1 = -1.9; signs + - + + and - - + +: one of four is opposite.
    assert pair["cosine"] == pytest.approx(-1.9 / math.sqrt(26.25 * 14.04))
    assert (pair["experts"], pair["opposed"]) == (["hi", "fr"], 0.25)
    assert (norm["touched"], norm["conflict"], norm["conflict_by_chance"]) == (1.0, 0.25, 0.5)
    # Nothing else changed, so the whole is the norm's, over more parameters.
    whole = result["all"]
    assert whole["pairs"][0]["cosine"] == pytest.approx(pair["cosine"])
    assert whole["touched"] == pytest.approx(32 / whole["parameters"])
    other = result["layers"][0]
    assert (other["layer"], other["pairs"][0]["cosine"], other["conflict"]) == ("model.embed_tokens", None, None)
    assert result["notes"][0].startswith("hi changes nothing in model.embed_tokens, 0, 1")


def test_signs_are_counted_after_the_trim_of_ties(folders: dict[str, str], tmp_path: Path) -> None:
    result = analysed(folders, tmp_path, density=0.5)
    norm = next(layer for layer in result["layers"] if layer["layer"] == "model.norm")
    # [4, -3, 0, 0] and [-2, 0, 3, 0]: both are left in the first place alone, with opposite signs.
    assert (norm["touched"], norm["conflict"], norm["pairs"][0]["opposed"]) == (0.25, 1.0, 1.0)
    assert norm["pairs"][0]["cosine"] == pytest.approx(-1.9 / math.sqrt(26.25 * 14.04))  # angles are of the whole


def test_adapters_are_folded_on_the_way_and_the_report_shows_them(tmp_path: Path) -> None:
    base = judge(tmp_path / "base", seed=0)
    folders = {
        name: str(adapter(tmp_path / name, base, seed=at)) for at, name in enumerate(("hi", "fr", "ur"), start=1)
    }
    result = analysed({"base": str(base), **folders}, tmp_path)
    assert [layer["layer"] for layer in result["layers"]] == ["model.embed_tokens", "0", "1", "lm_head", "model.norm"]
    assert all(0 < length < 1 for length in result["all"]["relative_norm"].values())
    output = tmp_path / "experts"
    assert sorted(path.name for path in output.iterdir()) == ["experts.json", "experts.svg", "manifest.json"]
    ET.fromstring((output / "experts.svg").read_text("utf-8"))
    report(ReportConfig(runs=[output], output=tmp_path / "report"))
    page = (tmp_path / "report" / "report.html").read_text("utf-8")
    shown = re.sub(r"<[^>]+>", " ", page)
    pair = next(pair for pair in result["all"]["pairs"] if pair["experts"] == ["hi", "ur"])
    assert f"{pair['cosine']:.3f}".replace("-", "−") in shown
    assert page.count("<svg") == 1
    for path in output.iterdir():
        assert str(tmp_path) not in path.read_text("utf-8"), path.name


def test_experts_of_another_base_are_refused(folders: dict[str, str], tmp_path: Path) -> None:
    """Measured from the pretrained model, all task vectors share what instruction tuning changed, and look alike."""
    other = judge(tmp_path / "pretrained", seed=5)
    source = adapter(tmp_path / "ur", other)
    with pytest.raises(ConfigError, match=r"expert ur was tuned from .*pretrained, but base_model is .*base"):
        analysed({**folders, "ur": str(source)}, tmp_path)
    with pytest.raises(ModelError, match="differ in their config"):
        analysed({**folders, "ur": str(judge(tmp_path / "wide", rms_norm_eps=1e-3))}, tmp_path)
    assert not (tmp_path / "experts").exists()


def test_a_disk_that_is_full_while_an_adapter_is_folded_is_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    base = judge(tmp_path / "base")
    models = {"hi": judge(tmp_path / "hi", seed=1), "te": adapter(tmp_path / "te", base)}
    folders = {name: str(folder) for name, folder in {"base": base, **models}.items()}

    def full() -> int:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
        return exit_status(lambda: analysed(folders, tmp_path) and None)

    assert os.waitstatus_to_exitcode(os.waitpid(in_child(full), 0)[1]) == 1
    assert "error: no space left to write" in capfd.readouterr().err
    assert [path.name for path in (tmp_path / "experts").iterdir()] == ["manifest.json"]
