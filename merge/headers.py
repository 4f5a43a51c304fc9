"""What a checkpoint's weight files say of their tensors, before any of them loads."""

from pathlib import Path
from typing import NamedTuple

from safetensors import SafetensorError, safe_open

from core.errors import ModelError
from train.check import weight_files

_FLOATS = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64"}


class Header(NamedTuple):
    """Shape, dtype and file of a tensor; a float dtype has torch's name, any other safetensors' own."""

    shape: tuple[int, ...]
    dtype: str
    file: Path

    @property
    def is_float(self) -> bool:
        return self.dtype in _FLOATS.values()


def read_headers(folder: Path) -> dict[str, Header]:
    """Every tensor of a checkpoint by name. Raises ModelError for a folder whose weight files are not of one whole save."""
    return {name: header for file in weight_files(folder) for name, header in _file_headers(file).items()}


def _file_headers(file: Path) -> dict[str, Header]:
    try:
        with safe_open(file, framework="pt") as tensors:
            slices = {name: tensors.get_slice(name) for name in tensors.keys()}  # noqa: SIM118 (no mapping)
            return {
                name: Header(tuple(part.get_shape()), _FLOATS.get(part.get_dtype(), part.get_dtype()), file)
                for name, part in slices.items()
            }
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{file} cannot be read ({error}); copy the whole checkpoint again") from None
