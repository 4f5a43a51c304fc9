"""What people wrote goes back into records: corrected texts, scores, translations, each with who, before and after."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from core.errors import DataError
from core.records import JudgeRecord, check_unique
from data_prep.review_sheets.judgements import Judgement

Key = tuple[str, str]
"""Language and record id: two languages' records may share ids."""


class Conflict(NamedTuple):
    """Two or more reviewers wrote different texts for the same field of a record."""

    language: str
    record_id: str
    field: str
    written: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """The fields by name, with an id."""
        return {"id": f"{self.language}/{self.record_id}/{self.field}"} | self._asdict()


def conflicts(judgements: Iterable[Judgement]) -> list[Conflict]:
    """Texts that reviewers wrote differently."""
    written: dict[tuple[str, str, str], dict[str, str]] = defaultdict(dict)
    for one in judgements:
        if one.written is not None:
            written[one.language, one.record_id, one.field][one.reviewer] = one.written
    return [Conflict(*key, texts) for key, texts in written.items() if len(set(texts.values())) > 1]


class Corrections:
    """What reviewers said, put into records one at a time.

    Raises DataError for a conflict that ``prefer`` leaves open, and for a preferred reviewer who is none.
    ``counts`` are complete when `apply` has ended.
    """

    def __init__(self, judgements: Sequence[Judgement], prefer: Sequence[str]) -> None:
        _check_conflicts(judgements, prefer)
        self.counts: Counter[str] = Counter()
        self._kind = judgements[0].kind
        self._prefer = prefer
        self._by_record: dict[Key, list[Judgement]] = defaultdict(list)
        for one in judgements:
            self._by_record[one.language, one.record_id].append(one)

    def apply(self, records: Iterable[JudgeRecord]) -> Iterator[JudgeRecord]:
        """Yield new records; what changed stands in ``extra.review``, a list of {who, field, before, after}.

        Kind translation: all records, the corrected ones with their new texts. Score: all records, those scored with
        ``human_scores`` in the order of the reviewers and without the score they had, so that gold is the people's mean.
        Translate: the translated records alone. Raises DataError for a judged record that is absent or was changed since.
        """
        judged: set[Key] = set()
        languages: set[str] = set()
        ids: list[str] = []
        for record in records:
            languages.add(record.language)
            for key in self._keys(record):
                if key in self._by_record:
                    judged.add(key)
                new = self._changed(record, self._by_record.get(key, []), key[0])
                if new is not None:
                    ids.append(new.id)
                    yield new
        check_unique(ids, "the records written (read one --language at a time)")
        if absent := [key for key in self._by_record if key not in judged and self._wanted(key, languages)]:
            raise DataError(
                f"input: {len(absent)} judged records are not in it ({absent[0][1]}, …); name the records drawn from"
            )
        if not judged:
            codes = " or ".join(sorted({code for code, _ in self._by_record}))
            raise DataError(f"input: it holds no {codes} record that was judged")
        self.counts.update(records=len(ids), judged=len(judged))

    def _keys(self, record: JudgeRecord) -> list[Key]:
        """What the judgements of a record are filed under: its language, or those it was translated into."""
        if self._kind != "translate":
            return [(record.language, record.id)]
        codes = dict.fromkeys(code for code, _ in self._by_record)
        return [(code, record.id) for code in codes if (code, record.id) in self._by_record]

    def _wanted(self, key: Key, languages: set[str]) -> bool:
        return self._kind == "translate" or key[0] in languages

    def _changed(self, record: JudgeRecord, judgements: list[Judgement], code: str) -> JudgeRecord | None:
        """The record as the judgements have it; None for one that is to be translated and is not yet."""
        if self._kind == "translate":
            if {one.field for one in judgements} - {one.field for one in judgements if one.written is not None}:
                self.counts["untranslated"] += 1
                return None
            record = record.model_copy(update={"language": code})
        scores = self._kind == "score"
        new = _scored(record, judgements) if scores else _corrected(record, judgements, self._prefer)
        self.counts["changed"] += new is not record
        if scores:
            self.counts["scored_by_fewer"] += 0 < sum(one.score is not None for one in judgements) < len(judgements)
        if self._kind == "translation":
            mended = {one.field for one in judgements if one.written is not None}
            left = {one.field for one in judgements if one.valid is False} - mended
            self.counts["invalid_not_corrected"] += len(left)
        return new


def _corrected(record: JudgeRecord, judgements: Sequence[Judgement], prefer: Sequence[str]) -> JudgeRecord:
    changes = []
    for field in dict.fromkeys(one.field for one in judgements if one.written is not None):
        chosen = _chosen([one for one in judgements if one.field == field], prefer)
        if getattr(record, field) != chosen.shown:
            raise DataError(
                f"input: {field} of record {record.id} is not the text that was judged; name the records drawn from"
            )
        changes.append(_change(chosen.reviewer, field, chosen.shown, chosen.written))
    return _with_changes(record, {change["field"]: change["after"] for change in changes}, changes)


def _scored(record: JudgeRecord, judgements: Sequence[Judgement]) -> JudgeRecord:
    scored = [(one.reviewer, float(one.score)) for one in judgements if one.score is not None]
    if not scored:
        return record
    if record.response != judgements[0].shown:
        raise DataError(f"input: the response of record {record.id} is not the one scored; name the records drawn from")
    who, scores = [name for name, _ in scored], [score for _, score in scored]
    changes = [_change(who, "human_scores", record.human_scores, scores)]
    if record.score is not None:
        changes.append(_change(who, "score", record.score, None))
    return _with_changes(record, {"human_scores": scores, "score": None}, changes)


def _chosen(judgements: Sequence[Judgement], prefer: Sequence[str]) -> Judgement:
    """The judgement whose text counts: of the first preferred reviewer who wrote one, else of the first who did."""
    wrote = [one for one in judgements if one.written is not None]
    order = {name: place for place, name in enumerate(prefer)}
    return min(wrote, key=lambda one: order.get(one.reviewer, len(order)))


def _check_conflicts(judgements: Sequence[Judgement], prefer: Sequence[str]) -> None:
    reviewers = dict.fromkeys(one.reviewer for one in judgements)
    if unknown := [name for name in prefer if name not in reviewers]:
        raise DataError(f"prefer: {unknown[0]!r} reviewed nothing here; name one of {', '.join(reviewers)}")
    left = [conflict for conflict in conflicts(judgements) if not set(prefer) & conflict.written.keys()]
    if left:
        some = "; ".join(f"{one.field} of {one.record_id}: {', '.join(one.written)}" for one in left[:3])
        raise DataError(
            f"judgements: {len(left)} texts were written differently by two reviewers ({some}{'; …' if len(left) > 3 else ''}), "
            "as conflicts.jsonl shows; say whose count with --prefer REVIEWER"
        )


def _change(who: str | list[str], field: str, before: Any, after: Any) -> dict[str, Any]:
    return {"who": who, "field": field, "before": before, "after": after}


def _with_changes(record: JudgeRecord, values: dict[str, Any], changes: list[dict[str, Any]]) -> JudgeRecord:
    if not changes:
        return record
    earlier = record.extra.get("review") or []
    return record.model_copy(update={**values, "extra": {**record.extra, "review": [*earlier, *changes]}})
