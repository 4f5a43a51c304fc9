"""mJudge's Recon (hitz-zentroa/mJudge): rows of ``inputs``, a full judge prompt, and ``gold``, its score."""

from collections.abc import Iterator

from core.errors import DataError
from core.records import JudgeRecord
from data_prep.judge_prompt import parse_judge_prompt
from data_prep.options import ConvertConfig
from data_prep.rows import RecordMaker
from data_prep.tables import read_table
from data_prep.values import text_ids, whole_score


def mjudge(config: ConvertConfig) -> Iterator[JudgeRecord]:
    """One record a row, without feedback, which these files do not hold."""
    maker = RecordMaker(config)
    for where, row in read_table(config):
        prompt = row.get("inputs")
        if not isinstance(prompt, str) or row.get("gold") is None:
            raise DataError(f"{where}: no text in column inputs or no gold; the row has {', '.join(row)}")
        others = {name: value for name, value in row.items() if name not in ("inputs", "gold")}
        fields = {**text_ids(others), **parse_judge_prompt(prompt, where)}
        record = maker.make({**fields, "score": whole_score(row["gold"], where)}, where)
        if record is not None:
            yield record
