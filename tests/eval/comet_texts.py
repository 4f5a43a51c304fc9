"""Texts in the scripts that COMET is used on, and rows of them."""

SENTENCES = {
    "en": "The committee met on Tuesday, and nobody could agree about the price of 1,250 tonnes of wheat.",
    "es": "El comité se reunió el martes y nadie se puso de acuerdo sobre el precio de 1.250 toneladas de trigo.",
    "ar": "اجتمعت اللجنة يوم الثلاثاء، ولم يتفق أحد على سعر ١٢٥٠ طناً من القمح.",
    "he": "הוועדה התכנסה ביום שלישי, ואיש לא הסכים על מחירן של 1,250 טונות חיטה.",
    "ja": "委員会は火曜日に開かれたが、1,250トンの小麦の価格については誰も合意できなかった。",
    "tr": "Komite salı günü toplandı ve kimse 1.250 ton buğdayın fiyatında anlaşamadı.",
    "uk": "Комітет зібрався у вівторок, і ніхто не зміг домовитися про ціну 1250 тонн пшениці.",
    "yo": "Ìgbìmọ̀ náà pàdé ní ọjọ́ Ìṣẹ́gun, kò sì sí ẹni tí ó gbà lórí iye owó àlìkámà.",
    "zh": "委员会星期二开会，没有人能就1250吨小麦的价格达成一致。",
    "hi": "समिति की बैठक मंगलवार को हुई, और १,२५० टन गेहूँ के दाम पर कोई सहमत नहीं हो सका।",
}
# What a tokenizer may trip over: full width, ligatures, spaces, joiners, marks, special tokens and unknown characters.
ODD = [
    "ﬁne ＡＢＣ １２３ ½ №5 ™",
    "  two  spaces\tand a tab\nand a line ",
    "می‌خواهم 👩‍👩‍👧 e\u0301 \u200b\ufeff x",
    "a <mask> b </s> c <s> d <unk> ▁",
    "𓀀 ꙮ unseen",
]


def rows() -> list[dict[str, str]]:
    """Rows in every script: plain ones, empty sides, longer than any encoder reads, odd characters."""
    texts = list(SENTENCES.values())
    found = [
        {"src": texts[place - 1], "mt": text, "ref": texts[(place + 1) % len(texts)]}
        for place, text in enumerate(texts)
    ]
    found += [{"src": "", "mt": text, "ref": texts[0]} for text in texts[1:4]]
    found += [{"src": texts[0], "mt": "", "ref": texts[1]}, {"src": "", "mt": "", "ref": ""}]
    found += [{"src": "", "mt": " ".join([text] * 40), "ref": text} for text in (texts[0], texts[2], texts[9])]
    found += [{"src": "".join([texts[8]] * 40), "mt": texts[8], "ref": "".join([texts[4]] * 40)}]
    found += [{"src": "", "mt": text, "ref": texts[0]} for text in ODD]
    return found
