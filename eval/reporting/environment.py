"""The Jinja environment of the pages: everything escaped, an unknown name an error, numbers written one way."""

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

# Least span of a heat map's shades, so that nearly equal figures look alike.
LEAST_SPAN = 0.2


def environment() -> Environment:
    """The environment of eval/reporting/templates, with the filters that write numbers."""
    env = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {
        "number": number,
        "signed": signed,
        "signed_number": signed_number,
        "percent": percent,
        "on_line": on_line,
    }
    env.globals |= {"heat": heat, "tint": tint}
    return env


def number(value: float, digits: int = 2) -> str:
    """With a true minus sign, and never a negative zero: −0.12, 0.00."""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def signed(value: float) -> str:
    """A difference or a strength, as short as it goes: +2, −0.03, 0."""
    return f"{value:+.3g}".replace("-", "−") if value else "0"


def signed_number(value: float, digits: int = 2) -> str:
    """A difference with a fixed number of decimals: +0.10, −0.03, 0.00."""
    return ("+" if round(value, digits) > 0 else "") + number(value, digits)


def percent(share: float) -> str:
    """A share as whole per cent; a small one that is not nothing does not read 0 %."""
    return "< 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def on_line(value: float) -> float:
    """Where a figure stands on a line of 160 units from −0.6 to 1; what is lower stands at its start."""
    return round(100 * (max(value, -0.6) + 0.6), 1)


def heat(value: float, values: Sequence[float]) -> float:
    """The shade of a figure among those of its map: 0 for the lowest, 1 for the highest."""
    low, high = min(values), max(values)
    return round((value - low) / max(high - low, LEAST_SPAN), 3)


def tint(value: float, values: Sequence[float]) -> float:
    """The shade of a difference by its size alone: 0 for none, 1 for the largest of its map in either direction."""
    return round(abs(value) / max(LEAST_SPAN / 2, *map(abs, values)), 3)
