"""Writes COMET checkpoints, trained for a step, and what unbabel-comet scores with them. Runs where unbabel-comet is installed.

    python comet_reference.py PLAN.json FOLDER

The plan holds ``corpus`` (texts of a tokenizer), ``train`` and ``rows`` (src, mt, ref; ``train`` with score) and
``checkpoints``, which are hparams by name. The folder gets encoder/ (config and tokenizer), a folder each, and scores.json.
"""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytorch_lightning as lightning
import sentencepiece
import torch
from comet import load_from_checkpoint
from comet.models import RegressionMetric
from pytorch_lightning.callbacks import ModelCheckpoint
from pytorch_lightning.loggers import CSVLogger
from transformers import XLMRobertaConfig, XLMRobertaTokenizerFast


def main(plan_file: Path, folder: Path) -> None:
    plan = json.loads(plan_file.read_text(encoding="utf-8"))
    write_encoder(plan["corpus"], folder / "encoder")
    with open(folder / "train.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["src", "mt", "ref", "score"])
        writer.writeheader()
        writer.writerows(plan["train"])
    scores = {}
    for seed, (name, hparams) in enumerate(plan["checkpoints"].items()):
        scores[name] = train_and_score(folder, name, hparams, seed, plan["rows"])
    (folder / "scores.json").write_text(json.dumps(scores))


def write_encoder(corpus: list[str], folder: Path) -> None:
    """The files of xlm-roberta-large on the Hub, less the weights, of a small shape with all its positions."""
    folder.mkdir(parents=True)
    (folder / "corpus.txt").write_text("\n".join(corpus), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "corpus.txt"),
        model_prefix=str(folder / "sentencepiece.bpe"),
        vocab_size=600,
        hard_vocab_limit=False,
        character_coverage=1.0,
        minloglevel=2,
    )
    tokenizer = XLMRobertaTokenizerFast(vocab_file=str(folder / "sentencepiece.bpe.model"), model_max_length=512)
    tokenizer.save_pretrained(folder)
    # What xlm-roberta-large has on the Hub.
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 512}')
    (folder / "special_tokens_map.json").unlink()
    XLMRobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=514,
        type_vocab_size=1,
        layer_norm_eps=1e-5,
        bos_token_id=0,
        pad_token_id=1,
        eos_token_id=2,
    ).save_pretrained(folder)


def train_and_score(
    folder: Path, name: str, hparams: dict[str, Any], seed: int, rows: list[dict[str, str]]
) -> list[float]:
    """Scores of the checkpoint that a step of training leaves in folder/name."""
    lightning.seed_everything(seed)
    table = [str(folder / "train.csv")]
    encoder = {"pretrained_model": str(folder / "encoder"), "load_pretrained_weights": False}
    model = RegressionMetric(**encoder, train_data=table, validation_data=table, nr_frozen_epochs=0, **hparams)
    with torch.no_grad():
        # Wide enough that layers, tokens and texts all tell.
        for parameter in (*model.encoder.parameters(), *model.estimator.parameters()):
            parameter.normal_(0, 0.3)
        if model.layerwise_attention is not None:
            for weight in model.layerwise_attention.scalar_parameters:
                weight.normal_(0, 0.4)
            model.layerwise_attention.gamma.fill_(0.7)
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=CSVLogger(folder, name="", version=name),
        callbacks=[ModelCheckpoint(dirpath=folder / name / "checkpoints", filename="model")],
        enable_progress_bar=False,
        limit_val_batches=0,
    )
    trainer.fit(model)
    loaded = load_from_checkpoint(str(folder / name / "checkpoints" / "model.ckpt"))
    return [float(score) for score in loaded.predict(rows, batch_size=4, gpus=0, progress_bar=False).scores]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
