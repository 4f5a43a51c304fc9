"""How large one weight file of an output may be, as it is written in a config: 5GB, 500MB."""

from typing import Annotated

from pydantic import StringConstraints

_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9}

ShardSize = Annotated[str, StringConstraints(pattern=r"^\d+(\.\d+)?(KB|MB|GB)$")]


def shard_bytes(size: str) -> int:
    return int(float(size[:-2]) * _UNITS[size[-2:]])
