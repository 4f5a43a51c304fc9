"""The card of a published judge: what the Hub reads (languages, base, licence, results) and what people read."""

from collections.abc import Sequence
from dataclasses import dataclass

from huggingface_hub import ModelCardData

from core.prompt_spec import PromptSpec
from merge.card_results import Evaluation, eval_results, limits_text, named, results_text
from merge.licences import Licence
from merge.lineage import Lineage

_TAGS = ("llm-as-a-judge", "cross-lingual")
_KIND_TAGS = {"adapter": ("lora",), "finetune": (), "merge": ("merge", "mergekit")}


@dataclass(frozen=True)
class Card:
    """What a card says. ``languages`` are codes, ``datasets`` Hub ids; ``training`` and ``snippet`` are texts of their own."""

    repo_id: str
    title: str
    description: str
    languages: Sequence[str]
    lineage: Lineage
    licence: Licence
    spec: PromptSpec
    datasets: Sequence[str]
    sources: Sequence[str]
    tags: Sequence[str]
    evaluations: Sequence[Evaluation]
    training: str
    snippet: str


def card_text(card: Card) -> str:
    """The whole README.md; the same input gives the same text."""
    parts = [
        f"---\n{_metadata(card).to_yaml()}\n---",
        f"# {card.title}",
        card.description,
        _what(card),
        card.licence.says,
        "## How to prompt it",
        _prompting(card),
        "## Training",
        _data(card),
        card.training,
        "## Results",
        results_text(card.evaluations),
        "## Limits",
        limits_text(card.evaluations, card.languages),
        "## Licence",
        _licence(card.licence),
    ]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def _metadata(card: Card) -> ModelCardData:
    """The front matter."""
    results = eval_results(card.evaluations)
    licence = card.licence
    return ModelCardData(
        language=sorted({*card.languages, "en"}),
        license=licence.id,
        license_name=licence.name if licence.id == "other" else None,
        license_link=licence.link or None,
        library_name="peft" if card.lineage.kind == "adapter" else "transformers",
        pipeline_tag="text-generation",
        base_model=card.lineage.base_models,
        base_model_relation=card.lineage.kind,
        datasets=list(card.datasets) or None,
        tags=[*_TAGS, *_KIND_TAGS[card.lineage.kind], *card.tags],
        model_name=card.repo_id.split("/")[1] if results else None,
        eval_results=results or None,
    )


def _what(card: Card) -> str:
    reference = " and a reference answer" if card.spec.with_reference else ""
    lineage = card.lineage
    made = {
        "adapter": f"It is a LoRA adapter on {_link(lineage.base)}",
        "finetune": f"It is {_link(lineage.base)}, fine-tuned",
        "merge": f"It is a merge of {len(lineage.inputs)} judges tuned from {_link(lineage.base)}",
    }
    return (
        f"A judge: it reads an instruction and a response, a rubric{reference} in English, and writes feedback in English and a "
        f"score from 1 to 5. It was trained on responses in {named(card.languages)}. {made[lineage.kind]}."
    )


def _prompting(card: Card) -> str:
    needs = "transformers and peft" if card.lineage.kind == "adapter" else "transformers"
    return f"""\
With {needs} alone. The prompt's text is the one that it was trained with (template `{card.spec.template}`); decoding is \
greedy, and a verdict without a score from 1 to 5 after the first `[RESULT]` is unscored, not a guess. Prompts \
longer than {card.spec.max_length} tokens, verdict included, were never seen in training.

```python
{card.snippet.strip()}
```

With the code that trained it, which also shortens what is too long and gives the expected score:

```python
from eval.judge import Judge

judge = Judge.from_pretrained("{card.repo_id}")
verdict = judge.grade(instruction, response, criteria, scores, reference=reference)
```"""


def _data(card: Card) -> str:
    lines = [f"- Data set: [{one}](https://huggingface.co/datasets/{one})" for one in card.datasets]
    return "\n".join([*lines, *(f"- Source: {source}" for source in card.sources)])


def _licence(licence: Licence) -> str:
    return f"[{licence.name}]({licence.link})" if licence.link else licence.name


def _link(model: str) -> str:
    return f"[{model}](https://huggingface.co/{model})"
