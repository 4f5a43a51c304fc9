"""How large one weight file of an output may be, as it is written in a config: 5GB, 500MB."""

from typing import Annotated

from pydantic import AfterValidator, StringConstraints

_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9}


def shard_bytes(size: str) -> int:
    return int(float(size[:-2]) * _UNITS[size[-2:]])


def _not_nothing(size: str) -> str:
    if shard_bytes(size) == 0:
        raise ValueError("a file of no bytes holds nothing; give a size such as 5GB")
    return size


ShardSize = Annotated[str, StringConstraints(pattern=r"^\d+(\.\d+)?(KB|MB|GB)$"), AfterValidator(_not_nothing)]
