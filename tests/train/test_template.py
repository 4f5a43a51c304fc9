"""Chat templates that would teach a judge something else than its verdict are refused, on one short chat."""

import pytest

from core.errors import ModelError
from tests import pico
from train.template import check_chat_template

SOUND = pico.CHAT_TEMPLATE


@pytest.mark.parametrize(
    "template", [SOUND, pico.NO_SYSTEM_TEMPLATE, SOUND.replace("m['content']", "m['content'] | trim")]
)
def test_a_sound_template_passes(template: str) -> None:
    check_chat_template(pico.tokenizer(template))


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{% for m in messages %}", "cannot be rendered"),
        ("{{ raise_exception('never') }}", r"cannot be rendered \(never\)"),
        (SOUND.replace("m['content']", "m['content'] + foo.bar"), "'foo' is undefined"),
        (SOUND.replace("m['content']", "m['content'] | upper"), "changes the text of the user's turn"),
        (
            SOUND.replace("m['content']", "m['content'].split('[RESULT]')[0]"),
            "changes the text of the assistant's turn",
        ),
        (SOUND.replace("'<assistant>' }}", "'<assistant> ' }}"), "use a template whose generation prompt is a prefix"),
        (SOUND.split("{% if add_generation_prompt")[0], r"no generation prompt, .* \('<assistant>'\)"),
    ],
)
def test_a_template_that_loses_or_adds_is_refused(template: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        check_chat_template(pico.tokenizer(template))


def test_a_template_without_a_turn_to_open_needs_no_generation_prompt() -> None:
    check_chat_template(pico.tokenizer("{% for m in messages %}{{ m['content'] + '<end>' }}{% endfor %}"))


def test_a_template_that_says_the_day_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    check_chat_template(pico.tokenizer("{{ strftime_now('%d %b') }}" + SOUND))
    assert "will read another prompt on each" in capsys.readouterr().err
