"""English texts with numbers, and translations of them into Hindi that pass every check, in any number."""

import random
from collections.abc import Iterator

from core.records import JudgeRecord

_WORDS = {
    "the": "यह",
    "river": "नदी",
    "house": "घर",
    "water": "पानी",
    "market": "बाज़ार",
    "farmer": "किसान",
    "carries": "ढोता है",
    "old": "पुराना",
    "green": "हरा",
    "long": "लंबा",
    "road": "सड़क",
    "morning": "सुबह",
    "teacher": "शिक्षक",
    "explains": "समझाता है",
    "lesson": "पाठ",
    "children": "बच्चे",
    "listen": "सुनते हैं",
    "quietly": "चुपचाप",
    "and": "और",
    "with": "के साथ",
    "near": "के पास",
    "people": "लोग",
    "answer": "उत्तर",
    "question": "प्रश्न",
    "because": "क्योंकि",
    "reason": "कारण",
    "simple": "सरल",
    "story": "कहानी",
}
_ENGLISH = tuple(_WORDS)


def english_text(number: int, words: int) -> str:
    """A text that no other number has: so many words, a sentence every ten, numbers among them."""
    draw = random.Random(number)
    parts = [f"Text {number}:"]
    for place in range(1, words + 1):
        parts.append(draw.choice(_ENGLISH) if place % 10 else f"{draw.randrange(1000)}.")
    return " ".join(parts)


def hindi_text(english: str) -> str:
    """The translation, word for word."""
    return english.replace("Text", "पाठ") if " " not in english else " ".join(map(_hindi_word, english.split(" ")))


def records(rows: int, words: int = 100, responses: int = 5) -> Iterator[JudgeRecord]:
    """Records of which each has a response of its own, and so many share an instruction."""
    for row in range(rows):
        item = row // responses
        yield JudgeRecord(
            id=f"r{row}",
            item_id=f"item{item}",
            language="en",
            instruction=english_text(10**9 + item, words // 2),
            response=english_text(row, words),
            criteria="Is it right?",
            **{f"score{score}_description": f"Description of score {score}." for score in range(1, 6)},
            reference_answer=f"The reference answer of item {item}.",
            reference_language="en",
            feedback=f"The response {row} is fair.",
            score=row % 5 + 1,
        )


def _hindi_word(word: str) -> str:
    return "पाठ" if word == "Text" else _WORDS.get(word, word)
