"""Which licence a judge is under, and which names it allows."""

import pytest

from core.errors import ConfigError
from merge.licences import check_name, licence_of


@pytest.mark.parametrize(
    ("base", "licence"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "llama3.1"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama3.1"),
        ("unsloth/llama-3.1-8b-instruct", "llama3.1"),
        ("ai4bharat/hercule-hi", "llama3.1"),
        ("meta-llama/Llama-3.2-3B-Instruct", "llama3.2"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama3.3"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "llama3"),
        ("meta-llama/Llama-4-Scout-17B-16E", "llama4"),
        ("google/gemma-2b", "gemma"),
        ("google/gemma-1.1-7b-it", "gemma"),
        ("google/gemma-3-270m", "gemma"),
        ("CohereForAI/aya-23-8B", "cc-by-nc-4.0"),
        ("CohereLabs/aya-expanse-8b", "cc-by-nc-4.0"),
        ("CohereForAI/aya-101", "apache-2.0"),
        ("Qwen/Qwen3-4B", "apache-2.0"),
        ("google/gemma-4-E2B", "apache-2.0"),
    ],
)
def test_the_licence_is_that_of_the_base(base: str, licence: str) -> None:
    assert licence_of([base]).id == licence
    assert licence_of(["org/expert", base]).id == licence


def test_llama_is_named_and_linked() -> None:
    llama = licence_of(["meta-llama/Llama-3.1-8B-Instruct"])
    assert llama.says.startswith("**Built with Llama**\n")
    assert "Llama 3.1 Community License, Copyright © Meta Platforms, Inc. All Rights Reserved." in llama.notice
    assert "llama3_1/LICENSE" in llama.link
    assert licence_of(["meta-llama/Meta-Llama-3-8B"]).says.startswith("**Built with Meta Llama 3**\n")


def test_gemma_brings_its_use_restrictions_and_aya_its_policy() -> None:
    assert "prohibited_use_policy" in licence_of(["google/gemma-2b"]).says
    assert "Not for commercial use" in licence_of(["CohereForAI/aya-23-8B"]).says


@pytest.mark.parametrize(
    ("bases", "given", "message"),
    [
        (["meta-llama/Llama-3.1-8B"], "mit", "license mit is not that of meta-llama/Llama-3.1-8B, which passes on"),
        (["sarvamai/sarvam-2b-v0.5"], None, "the licence of sarvamai/sarvam-2b-v0.5 is not known here; set license"),
        (
            ["google/gemma-2b", "Qwen/Qwen3-4B"],
            None,
            "different licences (google/gemma-2b: gemma, Qwen/Qwen3-4B: apache-2.0)",
        ),
        (["org/model"], "other", "license other needs license_name and license_link"),
    ],
)
def test_no_licence_is_made_up_or_thrown_off(bases: list[str], given: str | None, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        licence_of(bases, given)
    assert message in str(caught.value)


def test_a_free_licence_may_be_another() -> None:
    assert licence_of(["Qwen/Qwen3-4B"], "mit").id == "mit"
    other = licence_of(["org/model"], "other", "sarvam-research", "https://example.org/licence")
    assert (other.id, other.name, other.link) == ("other", "sarvam-research", "https://example.org/licence")


@pytest.mark.parametrize(
    ("base", "name", "proposed"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "org/hercule-hi", "org/Llama-3.1-hercule-hi"),
        ("meta-llama/Llama-3.1-8B-Instruct", "org/hercule-llama-3.1-8b", "org/Llama-3.1-hercule-8b"),
        ("meta-llama/Llama-3.1-8B-Instruct", "org/llama-3.1-hercule", "org/Llama-3.1-hercule"),
        ("meta-llama/Llama-3.1-8B-Instruct", "org/Llama-judge", None),
        ("meta-llama/Meta-Llama-3-8B", "org/Llama-judge", "org/Llama-3-judge"),
        ("meta-llama/Meta-Llama-3-8B", "org/Llama-3-judge", None),
        ("google/gemma-2b", "org/hercule-hi", None),
    ],
)
def test_a_name_that_complies_is_proposed(base: str, name: str, proposed: str | None) -> None:
    fault = check_name(name, licence_of([base]))
    if proposed is None:
        assert fault is None
    else:
        assert fault is not None
        assert fault.endswith(f"e.g. {proposed}")
        assert check_name(proposed, licence_of([base])) is None
