"""Under which licence a judge may be published, by the bases it was made of, and what that licence asks of name and card.

Read at the licences themselves in 2026: the Llama 3 to 4 community licences, the Gemma terms of use, CC BY-NC 4.0.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from core.errors import ConfigError

_META = "https://github.com/meta-llama/llama-models/blob/main/models"


class Licence(NamedTuple):
    """``id`` is the Hub's name of it. ``says`` stands on the card, ``notice`` in a file of its own (NOTICE.txt).

    A name has to begin as the pattern ``begins`` says, and one that does not is proposed with ``proposed`` before it. One
    that is ``binding`` passes on to every judge made of its models.
    """

    id: str
    name: str
    link: str
    says: str = ""
    notice: str = ""
    begins: str = ""
    proposed: str = ""
    binding: bool = True


def _llama(version: str, folder: str, brand: str = "Llama", begins: str = "Llama") -> Licence:
    name = f"{brand} {version}"
    return Licence(
        id=f"llama{version}",
        name=f"{name} Community License",
        link=f"{folder}/LICENSE",
        says=f"**Built with {brand if begins == 'Llama' else name}**\n\n{name} is licensed under the {name} Community License, "
        f"Copyright © Meta Platforms, Inc. All Rights Reserved. Use is bound by its [use policy]({folder}/USE_POLICY.md).",
        notice=f"{name} is licensed under the {name} Community License, Copyright © Meta Platforms, Inc. All Rights Reserved.\n",
        begins=begins,
        proposed=f"Llama-{version}",
    )


_GEMMA = Licence(
    id="gemma",
    name="Gemma Terms of Use",
    link="https://ai.google.dev/gemma/terms",
    says="This is a modified Gemma: its weights were changed as described under Training. Gemma is provided under and subject "
    "to the Gemma Terms of Use found at [ai.google.dev/gemma/terms](https://ai.google.dev/gemma/terms). Whoever uses or passes "
    "on this model is bound by the use restrictions of section 3.2 and the "
    "[prohibited use policy](https://ai.google.dev/gemma/prohibited_use_policy).",
    notice="Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms\n",
)
_AYA = Licence(
    id="cc-by-nc-4.0",
    name="CC BY-NC 4.0",
    link="https://creativecommons.org/licenses/by-nc/4.0/",
    says="The base is by Cohere Labs and was changed as described under Training. Not for commercial use; use is bound by the "
    "[acceptable use policy](https://docs.cohere.com/docs/c4ai-acceptable-use-policy) as well.",
)
_APACHE = Licence("apache-2.0", "Apache License 2.0", "https://www.apache.org/licenses/LICENSE-2.0", binding=False)
# Hub ids, whoever owns the copy. The released Hercules carry an MIT card, but are Llama 3.1 tuned.
_KNOWN = (
    (r"[^/]+/(?:meta-)?llama-?3\.1(?!\d).*|ai4bharat/hercule-.*", _llama("3.1", f"{_META}/llama3_1")),
    (r"[^/]+/(?:meta-)?llama-?3\.2(?!\d).*", _llama("3.2", f"{_META}/llama3_2")),
    (r"[^/]+/(?:meta-)?llama-?3\.3(?!\d).*", _llama("3.3", f"{_META}/llama3_3")),
    (r"[^/]+/llama-?4-.*", _llama("4", f"{_META}/llama4")),
    (
        r"[^/]+/(?:meta-)?llama-?3(?![.\d]).*",
        _llama("3", "https://github.com/meta-llama/llama3/blob/main", "Meta Llama", r"Llama[-_.]?3"),
    ),
    (r"[^/]+/gemma-(?:1\.1-)?[27]b.*|[^/]+/gemma-[23]n?-.*", _GEMMA),
    (r"[^/]+/aya-(?:23|expanse)-.*", _AYA),
    (r"google/gemma-4-.*|qwen/qwen3-.*|mistralai/mistral-7b-.*|cohere[^/]+/aya-101", _APACHE),
)


def licence_of(
    bases: Sequence[str], given: str | None = None, name: str | None = None, link: str | None = None
) -> Licence:
    """The licence of a judge made of models with these Hub ids; ``given`` names one where these are not known or leave a choice.

    Raises ConfigError where they are under different licences, where ``given`` is not the binding one, and where there is none.
    """
    found = {base: licence for base in bases if (licence := _known(base)) is not None}
    licences = list(dict.fromkeys(found.values()))
    if len(licences) > 1:
        named = ", ".join(f"{base}: {licence.id}" for base, licence in found.items())
        raise ConfigError(
            f"what the judge was made of is under different licences ({named}); correct base and base_models"
        )
    if licences and (licences[0].binding or given is None):
        if given not in (None, licences[0].id):
            raise ConfigError(
                f"license {given} is not that of {next(iter(found))}, which passes on to the judge; leave it out, or set "
                f"{licences[0].id}"
            )
        return licences[0]
    if given is None:
        raise ConfigError(f"the licence of {', '.join(bases)} is not known here; set license (the Hub's name of it)")
    if given == "other" and not (name and link):
        raise ConfigError("license other needs license_name and license_link; set both")
    return Licence(given, name or given, link or "", binding=False)


def check_name(repo_id: str, licence: Licence) -> str | None:
    """What is wrong with the name of a repository under this licence, with one that complies; None where nothing is."""
    owner, name = repo_id.split("/")
    if not licence.begins or re.match(licence.begins, name):
        return None
    rest = re.sub(r"(?:meta-)?llama-?\d*(?:\.\d+)?-?", "", name, flags=re.IGNORECASE).strip("-") or "judge"
    return (
        f"the {licence.name} wants the name of a model made with it to begin with {licence.proposed.split('-')[0]}; "
        f"e.g. {owner}/{licence.proposed}-{rest}"
    )


def _known(base: str) -> Licence | None:
    return next((licence for pattern, licence in _KNOWN if re.fullmatch(pattern, base, re.IGNORECASE)), None)
