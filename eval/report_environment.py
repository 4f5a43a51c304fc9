"""The Jinja environment of the pages: everything escaped, an unknown name an error, numbers written one way."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def environment() -> Environment:
    """The environment of eval/report_templates, with the filters that write numbers."""
    env = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "report_templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {"number": number, "signed": signed, "percent": percent, "on_line": on_line}
    return env


def number(value: float, digits: int = 2) -> str:
    """With a true minus sign, and never a negative zero: −0.12, 0.00."""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def signed(value: float) -> str:
    """A difference or a strength, as short as it goes: +2, −0.03, 0."""
    return f"{value:+.3g}".replace("-", "−") if value else "0"


def percent(share: float) -> str:
    """A share as whole per cent; a small one that is not nothing does not read 0 %."""
    return "< 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def on_line(value: float) -> float:
    """Where a figure stands on a line of 160 units from −0.6 to 1; what is lower stands at its start."""
    return round(100 * (max(value, -0.6) + 0.6), 1)
