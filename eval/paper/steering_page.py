"""tables.html of SteerEval: one page that needs nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

from eval.paper.page import language_name
from eval.paper.steering_text import counts
from eval.reporting.environment import environment


def render(content: Mapping[str, Any], manifests: Sequence[Mapping[str, Any]]) -> str:
    """The page of the content of tables.json. The same content gives the same text."""
    env = environment()
    env.globals |= {"language_name": language_name, "counts": counts}
    return env.get_template("paper_steering.html.jinja").render(content=content, manifests=manifests)
