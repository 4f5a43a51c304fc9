"""COMET checkpoints: read whole from a folder or the Hub, or refused in one line."""

import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import huggingface_hub.utils
import pytest
import torch
import yaml

from core.errors import ModelError
from eval.comet import Comet
from eval.comet.checkpoint import check_comet, is_comet, load_checkpoint
from tests import pico
from tests.eval import comet_checkpoint
from tests.hub_server import HubServer

ROW = [{"mt": "a bc", "ref": "b", "src": ""}]
KEY = "encoder.model.encoder.layer.1.output.dense.weight"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return comet_checkpoint.write(tmp_path / "comet")


def change_state(folder: Path, change: Any) -> None:
    path = folder / "checkpoints" / "model.ckpt"
    stored = torch.load(path, weights_only=True)
    change(stored["state_dict"])
    torch.save(stored, path)


def change_hparams(folder: Path, without: str | None = None, **changes: Any) -> None:
    path = folder / "hparams.yaml"
    fields = yaml.safe_load(path.read_text(encoding="utf-8")) | changes
    path.write_text(yaml.safe_dump({name: value for name, value in fields.items() if name != without}))


def refused(folder: Path) -> str:
    with pytest.raises(ModelError) as error:
        load_checkpoint(folder)
    assert "\n" not in str(error.value)
    return str(error.value).replace(str(folder), "FOLDER")


class TestWeights:
    """Keys that do not match are named, and nothing is loaded in part."""

    def test_weights_that_are_not_finite_are_named(self, folder: Path) -> None:
        change_state(folder, lambda state: state[KEY][0].fill_(torch.nan))
        assert f"of 47 weights it has, not finite, 1 ({KEY})" in refused(folder)

    @pytest.mark.parametrize("content", [b"abc", b"", b"PK\x03\x04 cut"])
    def test_what_is_no_pickle_is_one_line(self, folder: Path, content: bytes) -> None:
        (folder / "checkpoints" / "model.ckpt").write_bytes(content)
        assert refused(folder).startswith("FOLDER/checkpoints/model.ckpt ")

    def test_a_missing_key_is_named(self, folder: Path) -> None:
        change_state(folder, lambda state: state.pop(KEY))
        assert refused(folder) == (
            "FOLDER/checkpoints/model.ckpt does not fit its hparams.yaml and encoder config: of 47 weights it lacks 1 "
            f"({KEY}); nothing was loaded: copy the checkpoint again, or correct hparams.yaml"
        )

    def test_an_extra_key_is_named(self, folder: Path) -> None:
        change_state(folder, lambda state: state.update({"encoder.model.pooler.dense.bias": torch.zeros(8)}))
        assert "has, with no place in the network, 1 (encoder.model.pooler.dense.bias)" in refused(folder)

    def test_a_renamed_key_is_both(self, folder: Path) -> None:
        change_state(folder, lambda state: state.update({"estimator.ff.9.bias": state.pop("estimator.ff.3.bias")}))
        message = refused(folder)
        assert (
            "it lacks 1 (estimator.ff.3.bias); it has, with no place in the network, 1 (estimator.ff.9.bias)" in message
        )

    def test_another_shape_is_named(self, folder: Path) -> None:
        change_state(folder, lambda state: state.update({"layerwise_attention.gamma": torch.ones(2)}))
        assert "it has in another shape 1 (layerwise_attention.gamma)" in refused(folder)

    def test_many_faults_are_counted_and_some_named(self, folder: Path) -> None:
        def cut(state: dict[str, torch.Tensor]) -> None:
            for name in [name for name in state if ".layer.1." in name]:
                del state[name]

        change_state(folder, cut)
        assert "it lacks 16 (encoder.model.encoder.layer.1.attention.output.LayerNorm.bias, " in refused(folder)
        assert ", …)" in refused(folder)

    def test_an_encoder_config_of_another_depth_does_not_fit(self, folder: Path) -> None:
        config = folder / "encoder" / "config.json"
        config.write_text(config.read_text().replace('"num_hidden_layers": 2', '"num_hidden_layers": 3'))
        assert "it lacks 17 (encoder.model.encoder.layer.2." in refused(folder)

    def test_training_s_own_buffers_may_be_absent(self, folder: Path) -> None:
        before = Comet.from_pretrained(folder, device="cpu").score(ROW)
        for name in ("encoder.model.embeddings.position_ids", "layerwise_attention.dropout_mask"):
            change_state(folder, lambda state, name=name: state.pop(name))
        assert torch.equal(Comet.from_pretrained(folder, device="cpu").score(ROW), before)


class TestFile:
    """The checkpoint file is read with weights_only."""

    def test_a_pickled_global_is_named_and_not_run(self, folder: Path, tmp_path: Path) -> None:
        class Planted:
            def __reduce__(self) -> tuple[Any, tuple[str]]:
                return os.mkdir, (str(tmp_path / "was run"),)

        path = folder / "checkpoints" / "model.ckpt"
        torch.save({**torch.load(path, weights_only=True), "callbacks": Planted()}, path)
        assert refused(folder) == (
            "FOLDER/checkpoints/model.ckpt holds posix.mkdir, which is no weight; it is not read: take a checkpoint with "
            "weights alone"
        )
        assert not (tmp_path / "was run").exists()

    def test_a_class_of_a_library_is_named(self, folder: Path) -> None:
        path = folder / "checkpoints" / "model.ckpt"
        torch.save({**torch.load(path, weights_only=True), "config": comet_checkpoint.encoder_config()}, path)
        assert "holds transformers.models.xlm_roberta.configuration_xlm_roberta.XLMRobertaConfig" in refused(folder)

    @pytest.mark.parametrize("content", [b"", b"not a checkpoint", pickle.dumps({"state_dict": 1}, protocol=2)])
    def test_a_broken_file_is_one_line(self, folder: Path, content: bytes) -> None:
        (folder / "checkpoints" / "model.ckpt").write_bytes(content)
        assert "FOLDER/checkpoints/model.ckpt" in refused(folder)

    def test_a_cut_file_is_one_line(self, folder: Path) -> None:
        path = folder / "checkpoints" / "model.ckpt"
        path.write_bytes(path.read_bytes()[:2000])
        assert "FOLDER/checkpoints/model.ckpt" in refused(folder)

    def test_weights_alone_are_no_lightning_checkpoint(self, folder: Path) -> None:
        path = folder / "checkpoints" / "model.ckpt"
        torch.save(torch.load(path, weights_only=True)["state_dict"], path)
        assert "has no state_dict" in refused(folder)

    @pytest.mark.parametrize("name", ["hparams.yaml", "checkpoints/model.ckpt"])
    def test_a_missing_file_is_named(self, folder: Path, name: str) -> None:
        (folder / name).unlink()
        assert f"FOLDER has no {name}" in refused(folder)
        with pytest.raises(ModelError, match=f"has no {name}"):
            check_comet(folder)

    def test_a_missing_folder_is_no_hub_id(self, tmp_path: Path) -> None:
        assert "FOLDER does not exist" in refused(tmp_path / "absent").replace("COMET folder ", "")


class TestHparams:
    """hparams.yaml names what the network is."""

    @pytest.mark.parametrize("name", sorted(comet_checkpoint.HPARAMS.keys() - {"dropout", "batch_size"}))
    def test_a_missing_field_is_named(self, folder: Path, name: str) -> None:
        change_hparams(folder, without=name)
        assert refused(folder).startswith(f"FOLDER/hparams.yaml: {name} is missing; ")

    @pytest.mark.parametrize(
        "kind", ["referenceless_regression_metric", "unified_metric", "xcomet_metric", "ranking_metric"]
    )
    def test_another_class_is_refused_by_name(self, folder: Path, kind: str) -> None:
        change_hparams(folder, class_identifier=kind)
        assert refused(folder).startswith(f"FOLDER is a COMET {kind}; only a regression_metric is read")

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("encoder_model", "BERT"),
            ("pool", "sum"),
            ("layer", -1),
            ("layer_transformation", "entmax"),
            ("activations", "ReLU"),
            ("hidden_sizes", []),
        ],
    )
    def test_a_value_that_is_not_known_is_refused(self, folder: Path, name: str, value: Any) -> None:
        change_hparams(folder, **{name: value})
        assert refused(folder).startswith(f"FOLDER/hparams.yaml: {name} {value!r} is not supported: ")

    def test_a_layer_that_the_encoder_lacks_is_refused(self, tmp_path: Path) -> None:
        folder = comet_checkpoint.write(tmp_path / "c", layer=3)
        assert refused(folder) == "FOLDER: layer 3, but its encoder has 2"

    @pytest.mark.parametrize("text", ["", "a: [", "- a\n"])
    def test_what_is_no_mapping_is_one_line(self, folder: Path, text: str) -> None:
        (folder / "hparams.yaml").write_text(text)
        assert "FOLDER/hparams.yaml" in refused(folder)

    def test_where_the_checkpoint_says_otherwise_it_is_right(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = Comet.from_pretrained(folder, device="cpu").score(ROW)
        change_hparams(folder, layer_transformation="softmax")
        assert torch.equal(Comet.from_pretrained(folder, device="cpu").score(ROW), before)
        expected = "hparams.yaml says layer_transformation softmax, the checkpoint sparsemax, which is used"
        assert expected in capsys.readouterr().err


class TestEncoder:
    """Config and tokenizer come from where pretrained_model points."""

    def test_a_relative_folder_is_found_from_any_working_folder(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = Comet.from_pretrained(folder, device="cpu").score(ROW)
        (folder / "encoder").rename(tmp_path / "elsewhere")
        (tmp_path / "cwd").mkdir()
        monkeypatch.chdir(tmp_path / "cwd")
        for named in ("../elsewhere", str(tmp_path / "elsewhere")):
            change_hparams(folder, pretrained_model=named)
            assert torch.equal(Comet.from_pretrained(folder, device="cpu").score(ROW), before)

    @pytest.mark.parametrize("named", ["../absent", "/absent/xlmr", "a/b/c"])
    def test_a_missing_folder_is_named(self, folder: Path, named: str) -> None:
        change_hparams(folder, pretrained_model=named)
        assert refused(folder).startswith(f"FOLDER/hparams.yaml: pretrained_model {named} does not exist; ")

    def test_another_kind_of_model_is_refused(self, folder: Path, tmp_path: Path) -> None:
        change_hparams(folder, pretrained_model=str(pico.save(tmp_path / "llama")))
        assert "is a llama where XLM-RoBERTa is needed" in refused(folder)

    def test_a_folder_without_tokenizer_is_refused(self, folder: Path) -> None:
        for path in (folder / "encoder").glob("tokenizer*"):
            path.unlink()
        assert "FOLDER/encoder has no tokenizer.json or sentencepiece.bpe.model of the encoder" in refused(folder)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    """A Hub that all of huggingface_hub is told of, and an empty cache."""
    constants = huggingface_hub.constants
    with HubServer() as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.endpoint)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", server.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
        )
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        huggingface_hub.utils.close_session()
        yield server
        huggingface_hub.utils.close_session()


class TestHub:
    """Checkpoint and encoder by Hub id."""

    def files(self, folder: Path) -> dict[str, bytes]:
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def test_a_hub_id_reads_as_its_folder(self, folder: Path, hub: HubServer) -> None:
        before = Comet.from_pretrained(folder, device="cpu").score(ROW)
        hub.add("model", "me/xlmr", self.files(folder / "encoder"))
        change_hparams(folder, pretrained_model="me/xlmr")
        files = self.files(folder)
        hub.add("model", "me/comet", {name: files[name] for name in files if "encoder/" not in name})
        assert is_comet("me/comet")
        assert not is_comet("me/xlmr")
        scores = Comet.from_pretrained("me/comet", device="cpu").score(ROW)
        assert torch.equal(scores, before)

    def test_a_hub_id_that_is_not_there_is_one_line(self, hub: HubServer) -> None:
        assert refused(Path("me/none")).startswith("the Hub has no model FOLDER for this login")

    def test_an_encoder_that_is_not_there_is_one_line(self, folder: Path, hub: HubServer) -> None:
        change_hparams(folder, pretrained_model="me/none")
        assert refused(folder).startswith("the Hub has no model me/none for this login")


def test_what_is_comet_is_known_by_its_hparams(folder: Path, tmp_path: Path) -> None:
    assert is_comet(folder)
    assert not is_comet(folder / "encoder")
    assert not is_comet(tmp_path / "absent")
