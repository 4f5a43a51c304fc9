"""The languages the project knows by name. A new language is one row here."""

from typing import NamedTuple

from core.errors import ConfigError


class Language(NamedTuple):
    """``code`` is what records carry (ISO 639-1); ``flores`` and ``ntrex`` name its files in those sets."""

    code: str
    name: str
    script: str
    flores: str
    ntrex: str
    right_to_left: bool = False


LANGUAGES = {
    row.code: row
    for row in (
        Language("ar", "Arabic", "Arab", "arb_Arab", "arb", right_to_left=True),
        Language("bn", "Bengali", "Beng", "ben_Beng", "ben"),
        Language("de", "German", "Latn", "deu_Latn", "deu"),
        Language("en", "English", "Latn", "eng_Latn", "eng"),
        Language("es", "Spanish", "Latn", "spa_Latn", "spa"),
        Language("eu", "Basque", "Latn", "eus_Latn", "eus"),
        Language("fr", "French", "Latn", "fra_Latn", "fra"),
        Language("gu", "Gujarati", "Gujr", "guj_Gujr", "guj"),
        Language("he", "Hebrew", "Hebr", "heb_Hebr", "heb", right_to_left=True),
        Language("hi", "Hindi", "Deva", "hin_Deva", "hin"),
        Language("it", "Italian", "Latn", "ita_Latn", "ita"),
        Language("ja", "Japanese", "Jpan", "jpn_Jpan", "jpn"),
        Language("kn", "Kannada", "Knda", "kan_Knda", "kan"),
        Language("ml", "Malayalam", "Mlym", "mal_Mlym", "mal"),
        Language("mr", "Marathi", "Deva", "mar_Deva", "mar"),
        Language("pa", "Punjabi", "Guru", "pan_Guru", "pan"),
        Language("pt", "Portuguese", "Latn", "por_Latn", "por"),
        Language("sw", "Swahili", "Latn", "swh_Latn", "swa"),
        Language("ta", "Tamil", "Taml", "tam_Taml", "tam"),
        Language("te", "Telugu", "Telu", "tel_Telu", "tel"),
        Language("tr", "Turkish", "Latn", "tur_Latn", "tur"),
        Language("uk", "Ukrainian", "Cyrl", "ukr_Cyrl", "ukr"),
        Language("ur", "Urdu", "Arab", "urd_Arab", "urd", right_to_left=True),
        Language("yo", "Yoruba", "Latn", "yor_Latn", "yor"),
        Language("zh", "Chinese", "Hans", "cmn_Hans", "zho-CN"),
    )
}


def language(code: str) -> Language:
    """The language of a code. Raises ConfigError for one that is not known."""
    if code not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise ConfigError(f"language {code!r} is unknown; use one of {known}, or add a row to core/languages.py")
    return LANGUAGES[code]
