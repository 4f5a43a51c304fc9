"""Records as rows of the published sets (ai4bharat/intel, prometheus-eval/Feedback-Collection): ``orig_*`` columns and messages.

``data_prep.convert --format feedback-collection`` reads them back. Ids and language come first: the published rows have none.
"""

from typing import Any

from core.prompt import build_messages, build_verdict
from core.records import JudgeRecord

_ORIGINAL = ("instruction", "response", "criteria", *(f"score{n}_description" for n in range(1, 6)))


def hub_row(record: JudgeRecord) -> dict[str, Any]:
    """One row. ``input`` is the judge's prompt (template hercule), ``output`` the verdict; a record without verdict has null."""
    prompt = build_messages(record, "hercule", with_reference=bool(record.reference_answer))
    verdict = None
    if record.feedback is not None and record.score is not None:
        verdict = build_verdict(record.feedback, record.score)
    return {
        **{name: getattr(record, name) for name in ("id", "item_id", "language", "reference_language")},
        **{f"orig_{name}": getattr(record, name) for name in _ORIGINAL},
        "orig_reference_answer": record.reference_answer,
        "orig_feedback": record.feedback,
        "orig_score": None if record.score is None else str(record.score),
        "input": prompt[0]["content"],
        "output": verdict,
        "messages": prompt if verdict is None else [*prompt, {"role": "assistant", "content": verdict}],
    }
