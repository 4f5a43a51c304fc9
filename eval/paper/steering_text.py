"""SteerEval's tables in Markdown that reads well in a terminal too: unsteered, published, oracle, nested, the null's p."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eval.agree_table import NOTHING, figure_text, number
from eval.markdown_table import markdown_table
from eval.paper.text import missing_parts, signed

LEGEND = (
    "Pearson with people's scores. *paper*: the published value (– : not published in numbers). *oracle*: at the strength that is "
    "best on the test scores, which is too good by what luck gives; *nested*: the strength chosen on other documents; *p*: share of "
    "null draws, sign-flipped pairs put through the same selection, that gain as much, and the smallest value that it can have."
)


def markdown(content: Mapping[str, Any]) -> str:
    """tables.md: a table a dimension, averages by strength, similarity by layer, held-out agreement, what is missing."""
    parts = [f"# {content['title']}", LEGEND, *content["remarks"]]
    for dimension, table in content["tables"].items():
        rows = [row for block in table["blocks"] for row in _block(block, table["columns"])]
        parts += [f"## {dimension.capitalize()}", markdown_table(["", *table["columns"]], rows)]
    parts += [*_strengths(content["strengths"]), *_similarity(content["similarity"]), *_alignment(content["alignment"])]
    parts += list(missing_parts(content["missing"]))
    parts += [f"- {note}" for note in content["notes"]]
    return "\n\n".join(parts) + "\n"


def counts(content: Mapping[str, Any]) -> str:
    """One line: how many of the tables' unsteered cells have a value, and in how many ways they are steered."""
    blocks = [block for table in content["tables"].values() for block in table["blocks"]]
    cells = [cell for block in blocks for cell in block["unsteered"].values()]
    steered = sum(len(way["cells"]) for block in blocks for way in block["steered"])
    measured = sum(cell["value"] is not None for cell in cells)
    return f"{measured} of {len(cells)} unsteered cells are measured, and {steered} steered ones"


def p_text(null: Mapping[str, Any] | None) -> str:
    """``.048 (≥ .048)``: the null's p and the smallest that its draws allow; a dash without null draws."""
    return (
        NOTHING
        if null is None or null["p_value"] is None
        else f"{number(null['p_value'], 3)} (≥ {number(null['smallest_p'], 3)})"
    )


def selected_text(selected: Mapping[str, Any] | None) -> str:
    """Pearson of a selection with its interval; a dash where there is none."""
    figure = (selected or {}).get("pearson")
    return NOTHING if not figure or figure["value"] is None else figure_text(figure)


def _block(block: Mapping[str, Any], columns: Sequence[str]) -> Iterator[list[str]]:
    cells = [block["unsteered"][code] for code in columns]
    yield [
        f"**{block['metric']}, {block['label']}**",
        *(NOTHING if cell["value"] is None else figure_text(cell) for cell in cells),
    ]
    for label, values in (
        ("· paper", [cell["published"] for cell in cells]),
        ("· paper, steered", list(block["published_steered"].values())),
    ):
        if label == "· paper" or any(value is not None for value in values):
            yield [label, *(number(value) for value in values)]
    if any(cell["difference"] is not None for cell in cells):
        yield ["· difference", *(signed(cell["difference"]) for cell in cells)]
    for way in block["steered"]:
        found = [way["cells"].get(code) for code in columns]
        for rule in ("oracle", "nested"):
            chosen = [cell and cell[rule] for cell in found]
            yield [f"{way['label']}, {rule}", *(selected_text(one) if one else "" for one in chosen)]
            if any(one and one.get("null") for one in chosen):
                yield ["· p", *(p_text(one.get("null")) if one else "" for one in chosen)]
    if any(cell["value"] is not None for cell in cells):
        yield ["· n", *(str(cell["n"]) for cell in cells)]


def _strengths(strengths: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if strengths:
        yield "## Average gain by strength"
        yield "Over cells: mean gain of Pearson · mean relative improvement (gain / |unsteered|) · share improved · cells."
    for found in strengths:
        rows = [
            [f"{row['strength']:+g}", *(_average(row["means"].get(name)) for name in found["metrics"])]
            for row in found["rows"]
        ]
        yield markdown_table([found["label"], *found["metrics"]], rows)


def _average(mean: Mapping[str, Any] | None) -> str:
    if mean is None:
        return NOTHING
    relative = NOTHING if mean["relative"] is None else f"{100 * mean['relative']:+.0f} %"
    return f"{signed(mean['gain'])} · {relative} · {100 * mean['improved']:.0f} % · {mean['cells']}"


def _similarity(similarity: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for found in similarity:
        yield f"## Cosines of vectors toward {found['pivot']} by layer, {found['run']}"
        means = (f"{code} {number(value)}" for code, value in found["mean_with_others"].items())
        yield f"Mean cosine with the other languages over layers: {', '.join(means)}."
        rows = [
            ["–".join(row["languages"]), *(number(row["cosines"][layer]) for layer in found["layers"])]
            for row in found["rows"]
        ]
        yield markdown_table(["layer", *found["layers"]], rows)


def _alignment(alignment: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not alignment:
        return
    yield "## Held-out pairs"
    yield "Share of source sentences whose nearest pivot sentence is their own: mean over layers (at the layer where the vector serves best)."
    methods = list(dict.fromkeys(method for one in alignment for method in one["mean_retrieval"]))
    rows = [
        [
            f"{one['source']} → {one['pivot']}, {str(one['model']).rstrip('/').rsplit('/', 1)[-1]}",
            f"{one['pairs']} + {one['held_out_pairs']}",
            str(one["layer"]),
            *(_retrieval(one, method) for method in methods),
        ]
        for one in alignment
    ]
    yield markdown_table(["", "pairs", "layer", *methods], rows)


def _retrieval(one: Mapping[str, Any], method: str) -> str:
    if method not in one["mean_retrieval"]:
        return NOTHING
    return f"{number(one['mean_retrieval'][method])} ({number(one['at_layer'][method]['retrieval'])})"
