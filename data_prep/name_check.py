"""Names in English text: which texts are nothing but names, and whether a text keeps the personal names of another.

Which capitalised words are names that translators leave alone cannot be told from their form (Assembly Commission, World
War, New York, The Hague are all translated). So only given names and surnames of a list are compared.
"""

import re
import unicodedata
from collections.abc import Sequence

# English and world-wide names that are no other English word and that running text does not translate.
_PERSONAL_NAMES = (
    "Aisha Alan Albert Alice Amanda Amy Andrea Anita Arjun Ashley Barbara Benjamin Brandon Brian Bruce Carlos Carol Catherine "
    "Charles Charlie Chris Christina Christopher Cynthia Daniel Dave Deborah Dennis Diana Donald Donna Doris Dorothy Douglas "
    "Edward Elena Elizabeth Emily Emma Eric Ethan Evelyn Fatima Gary George Gloria Hannah Harold Harry Heather Helen Henry "
    "Isabella Jacob Jake James Jamie Jane Janet Jason Jeff Jennifer Jenny Jessica Jim Jimmy Joan Joe John Johnny Jonathan "
    "Joshua Judith Judy Julia Julie Karen Kate Katherine Kathleen Keith Kelly Kenneth Kevin Laura Lauren Leonardo Linda Lisa "
    "Lucas Lucy Marcus Margaret Maria Marie Martha Mary Megan Melissa Michael Michelle Mike Mohammed Nancy Natalie Nicholas "
    "Nicole Olivia Pamela Patricia Patrick Peter Philip Priya Rachel Ralph Raymond Rebecca Richard Robert Roger Ronald Ryan "
    "Samantha Samuel Sandra Sara Sarah Scott Sharon Sheila Simon Sofia Sophia Stephanie Stephen Steve Steven Susan Teresa "
    "Thomas Timothy Tom Tony Tyler Vanessa Victoria Vincent Virginia Walter Wendy William Zoe "
    "Aristotle Austen Beethoven Bezos Biden Cervantes Churchill Copernicus Curie Darwin Descartes Dickens Edison Einstein "
    "Euclid Feynman Galileo Gandhi Goethe Hawking Hemingway Hitler Kafka Kant Kennedy Lincoln Mandela Marx Mozart Musk Napoleon "
    "Newton Nietzsche Nixon Obama Orwell Picasso Plato Reagan Roosevelt Rousseau Shakespeare Socrates Stalin Tesla Tolkien "
    "Tolstoy Trump Turing Voltaire Washington"
)
_PERSONS = frozenset(_PERSONAL_NAMES.split())
_CAPITALISED = re.compile(r"\b[A-Z][a-z]+\b")
_COMMON_WORDS = (
    "yes no true false hello hi thanks thank sorry please good bad none nothing something someone everyone never always maybe "
    "i you he she it we they the a an this that these those my your his her its our their what who where when why how which "
    "is are was were be do does did have has had can could will would should may must not and or but if so to of in on at for "
    "with from by as about water fire earth air day night man woman child people dog cat house home school book food time "
    "year world life love work money red blue green black white one two three four five six seven eight nine ten first "
    "second third list write describe explain give make create translate name find show tell answer question correct "
    "incorrect wrong right hot cold big small new old happy sad up down left stop go start end"
)
_COMMON = frozenset(_COMMON_WORDS.split())
_SUFFIXES = (
    "ing",
    "tion",
    "sion",
    "ness",
    "ment",
    "ize",
    "ise",
    "ly",
    "ful",
    "ous",
    "able",
    "ible",
    "ity",
    "ism",
    "sis",
)
LONGEST_NAME = 6  # words


def is_name(text: str, text_words: Sequence[str]) -> bool:
    """Whether a short text is nothing but names: every word in capitals or with an inner one, none a common word."""
    if len(text_words) > LONGEST_NAME or re.search(r"[.!?:;]\s*\Z", text):
        return False
    return all(_may_be_name(word) for word in text_words)


def changed_names(source: str, text: str) -> str | None:
    """Why a known personal name of the English source is not in a text of Latin script; None where each is.

    Words are compared by their first three letters without accents, so that endings and spellings may differ (Marie, Maria).
    """
    found = sorted(_PERSONS.intersection(_CAPITALISED.findall(source)))
    if not found:
        return None
    starts = {word[:3] for word in re.findall(r"[a-z]{3,}", _plain(text))}
    lost = [word for word in found if word[:3].lower() not in starts]
    return f"names are missing: {', '.join(lost[:3])}" if lost else None


def _may_be_name(word: str) -> bool:
    if word.islower() or word.lower() in _COMMON:
        return False
    return not word[1:].islower() or not word.lower().endswith(_SUFFIXES)


def _plain(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text.lower()) if not unicodedata.combining(c))
