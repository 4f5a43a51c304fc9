"""Which reference answer a judge is trained with: in English (the paper's judges), in the language of the response, or none."""

from collections.abc import Sequence

from core.errors import DataError
from core.records import JudgeRecord


def check_reference(records: Sequence[JudgeRecord], reference: str) -> None:
    """``english``: no reference is said to be in another language; ``target``: each is said to be in its record's.

    Raises DataError naming the first records of which this is not so.
    """
    if reference == "target":
        wrong = [record for record in records if record.reference_language != record.language]
    elif reference == "english":
        wrong = [record for record in records if record.reference_language not in (None, "en")]
    else:
        return
    if wrong:
        ids = ", ".join(record.id for record in wrong[:5])
        found = ", ".join(sorted({str(record.reference_language) for record in wrong}))
        raise DataError(
            f"{len(wrong)} of {len(records)} records ({ids}) have reference_language {found}, and reference is "
            f"{reference}; take records with such references, or set reference to what they have"
        )
