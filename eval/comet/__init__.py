"""COMET, read natively from Unbabel's checkpoints."""

from eval.comet.model import Comet

__all__ = ["Comet"]
