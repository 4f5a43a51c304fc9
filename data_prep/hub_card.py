"""The card of a published data set: what the Hub reads (licence, languages, configurations) and what people read."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from core.languages import language
from data_prep.hub_files import Facts, Part, Shape

_ROWS_CHECKED = (
    "Every row was parsed, ids are unique within a split, and a configuration named after a language holds it alone."
)
# What data_prep.translate looks at in every translation.
_CHECKED = (
    "Every translation was checked before it was taken: finish reason, refusal, identity with the source, script and "
    "language, length, numbers, and that code, URLs, placeholders and markers are the same as before."
)
_WHAT = (
    "Judge records: an instruction and a response in the language of the configuration, a rubric in English, "
    "feedback in English, and a score from 1 to 5."
)
_KNOWN_COUNTS = ("rows", "items", "by_language", "by_score", "held_out")
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def card(
    title: str,
    description: str,
    licence: str,
    sources: Sequence[str],
    shape: Shape,
    facts: Mapping[Part, Facts],
    manifests: Mapping[Part, dict[str, Any] | None],
    repo_id: str,
) -> str:
    """The whole README.md; the same input gives the same text."""
    parts = [
        _front(title, licence, shape, facts),
        f"# {title}",
        description,
        _WHAT,
        "## Configurations",
        _table(facts),
        "## Where it comes from",
        "\n".join(f"- Source: {source}" for source in sources),
        "\n".join(_made(part, manifests[part]) for part in facts),
        _ROWS_CHECKED,
        *([_CHECKED] if any(_is_translated(manifest) for manifest in manifests.values()) else []),
        "## Reading it",
        _reading(shape, next(iter(facts)), repo_id),
        f"## Licence\n{licence}",
    ]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def _front(title: str, licence: str, shape: Shape, facts: Mapping[Part, Facts]) -> str:
    codes = sorted({code for one in facts.values() for code in (*one.languages, *one.reference_languages)} | {"en"})
    total = sum(one.rows for one in facts.values())
    configs: dict[str, list[dict[str, str]]] = {}
    for part in facts:
        configs.setdefault(part.config, []).append({"split": part.split, "path": part.file})
    front = {
        "pretty_name": title,
        "license": licence,
        "language": codes,
        "task_categories": ["text-generation"],
        "size_categories": [next((size for limit, size in _SIZES if total < limit), "n>1M")],
        "tags": ["llm-as-a-judge", "cross-lingual"],
        "configs": [{"config_name": name, "data_files": files} for name, files in configs.items()],
    }
    return f"---\n{yaml.safe_dump(front, sort_keys=False, allow_unicode=True)}---"


def _table(facts: Mapping[Part, Facts]) -> str:
    lines = ["| configuration | split | language | rows | items | scores |", "| --- | --- | --- | ---: | ---: | --- |"]
    for part, one in facts.items():
        names = ", ".join(language(code).name for code in sorted(one.languages))
        scores = ", ".join(f"{score}: {count}" for score, count in sorted(one.scores.items()))
        lines.append(f"| {part.config} | {part.split} | {names} | {one.rows} | {len(one.items)} | {scores} |")
    return "\n".join(lines)


def _made(part: Part, manifest: dict[str, Any] | None) -> str:
    """One line on how a part was made; no path of the machine that made it."""
    name = f"- {part.config}, {part.split}: "
    if manifest is None:
        return f"{name}no record of how it was made."
    config = manifest.get("config", {})
    model = f" with {config['model']}" if config.get("model") else ""
    version = f", prompts {manifest['prompt_version']}" if manifest.get("prompt_version") else ""
    counts = manifest.get("counts") or {}
    listed = _listed(counts.get(part.config.removesuffix("_xx"), counts))
    return f"{name}{manifest['command']}{model}{version}{f' ({listed})' if listed else ''}."


def _is_translated(manifest: dict[str, Any] | None) -> bool:
    return manifest is not None and manifest["command"] == "data_prep.translate"


def _listed(counts: Mapping[str, Any]) -> str:
    """Counts as ``written 99000, rejected 20 (script 12, echo 8)``."""
    words = []
    for name, count in counts.items():
        if name in _KNOWN_COUNTS:
            continue
        label = name.replace("_", " ")
        if isinstance(count, Mapping):
            words += [f"{label}: {', '.join(f'{key} {number}' for key, number in count.items())}"] if count else []
        else:
            words.append(f"{label} {count}")
    return "; ".join(words)


def _reading(shape: Shape, part: Part, repo_id: str) -> str:
    format = "feedback-collection" if shape == "intel" else "columns"
    columns = (
        "Columns as in ai4bharat/intel (`orig_instruction` and `orig_response` are in the language of the configuration, "
        "despite their names), with ids."
        if shape == "intel"
        else "Columns are the fields of a judge record; `extra` is JSON text."
    )
    return f"""{columns}

```python
from datasets import load_dataset

rows = load_dataset("{repo_id}", "{part.config}", split="{part.split}")
```
```
python -m data_prep.convert --input {repo_id} --format {format} --hub_config {part.config} --split {part.split} --output records.jsonl
```"""
