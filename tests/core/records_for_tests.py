"""A judge record with every field filled, to be varied by tests."""

from typing import Any

from core.records import JudgeRecord


def record(**changes: Any) -> JudgeRecord:
    values: dict[str, Any] = {
        "id": "q1-hi-s4",
        "item_id": "q1",
        "language": "hi",
        "instruction": "तीन रंग बताइए।",
        "response": "नीला, लाल और हरा।",
        "criteria": "Does the response name three colours?",
        **{f"score{n}_description": f"It names {n} colours." for n in range(1, 6)},
        "reference_answer": "Blue, red and green.",
        "reference_language": "en",
        "feedback": "It names three colours.",
        "score": 4,
    }
    return JudgeRecord(**{**values, **changes})
