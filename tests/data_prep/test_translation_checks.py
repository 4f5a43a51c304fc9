"""Each check, on what it must reject and on what it must let pass."""

import pytest

from core.client import Answer
from core.languages import LANGUAGES, language
from core.records import read_records
from data_prep.translation_checks import CHECKS, Pair, answer_fault, back_translation_fault, translation_faults
from tests.conftest import REPO

ANSWER = Answer(key="", task="translate-response", language="hi", model="m", text="नमस्ते", finish_reason="stop")
LONG = "The river flows past the old house, and people often say that nothing here has changed since the war ended."
LONG_HI = "नदी पुराने घर के पास से बहती है, और लोग अक्सर कहते हैं कि युद्ध ख़त्म होने के बाद से यहाँ कुछ नहीं बदला है।"
LONG_FR = "La rivière coule devant la vieille maison, et les gens disent souvent que rien n'a changé ici depuis la fin de la guerre."
LONG_ES = "El río pasa por delante de la casa vieja, y la gente suele decir que nada ha cambiado aquí desde que terminó la guerra."
LONG_UR = "دریا پرانے گھر کے پاس سے بہتا ہے، اور لوگ اکثر کہتے ہیں کہ جنگ ختم ہونے کے بعد سے یہاں کچھ نہیں بدلا ہے۔"
LONG_JA = "川は古い家のそばを流れていて、戦争が終わってからここでは何も変わっていないと人々はよく言う。"
LONG_ZH = "河水从老房子旁边流过，人们常说，自战争结束以来，这里什么都没有改变，一切都和从前一样。"
CODE = 'Run this:\n```python\nprint("hello")\n```\nThen stop.'


def kinds(source: str, translation: str, code: str) -> set[str]:
    return {fault.kind for fault in translation_faults(source, translation, language(code))}


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({}, None),
        ({"finish_reason": None}, None),
        ({"text": "I'm sorry, I can't help with that."}, None),  # what it says is judged beside its source
        ({"text": "पहला वाक्", "finish_reason": "length"}, "finish"),
        ({"finish_reason": "tool_calls"}, "finish"),
        ({"text": None, "finish_reason": "content_filter"}, "filter"),
        ({"finish_reason": "content_filter"}, "filter"),
        ({"text": None}, "empty"),
        ({"text": ""}, "empty"),
        ({"text": " \n"}, "empty"),
        ({"text": None, "refusal": "I can't translate this."}, "refusal"),
        ({"text": None, "error": "HTTP 400"}, "error"),
    ],
)
def test_answers(change: dict[str, str | None], kind: str | None) -> None:
    fault = answer_fault(ANSWER._replace(**change))
    assert (fault.kind if fault else None) == kind


@pytest.mark.parametrize(
    ("source", "translation", "code", "kind"),
    [
        # Echoes (case 31), whatever case, space or Unicode form.
        ("List three colours.", "List three colours.", "hi", "identical"),
        ("List three colours.", "  LIST three\ncolours. ", "sw", "identical"),
        ("Visit the caf\u00e9 today", "Visit the cafe\u0301 today", "fr", "identical"),
        ("Hello", "Hello", "sw", "identical"),
        ("Summarize", "Summarize", "hi", "identical"),
        ("Thank you.", "Thank you.", "fr", "identical"),
        # Answered instead of translated (case 31).
        ("List three colours.", "1. नीला 2. लाल 3. हरा", "hi", "numbers"),
        ("List three colours.", "- नीला\n- लाल\n- हरा", "hi", "answered"),
        ("What is the capital of France?", "फ्रांस की राजधानी पेरिस है।", "hi", "answered"),
        ("What is the capital of France?", "Mji mkuu wa Ufaransa ni Paris.", "sw", "answered"),
        ("Write a poem about the sea.", "समुद्र " * 40, "hi", "length"),
        # Refusals (case 32), in English and in the target language.
        ("How do I pick a lock?", "I'm sorry, I can't help with that.", "hi", "refusal"),
        ("How do I pick a lock?", "I cannot assist with this request, okay?", "sw", "refusal"),
        ("How do I pick a lock?", "As an AI language model I do not do that?", "de", "refusal"),
        ("How do I pick a lock at home?", "क्षमा करें, मैं इसमें मदद नहीं कर सकता?", "hi", "refusal"),
        ("How do I pick a lock at home?", "Samahani, siwezi kukusaidia na hilo?", "sw", "refusal"),
        ("How do I pick a lock at home?", "Lo siento, no puedo ayudarte con eso?", "es", "refusal"),
        # Left in English, whole or in part (case 32), and another language.
        (LONG, LONG.replace("often", "always"), "hi", "script"),
        (LONG, LONG.replace("often", "always"), "fr", "english"),
        (LONG, LONG.replace("often", "always"), "sw", "english"),
        (f"{LONG} {LONG}", f"{LONG_HI} {LONG}", "hi", "english"),
        (f"{LONG} {LONG}", f"{LONG_FR} {LONG}", "fr", "english"),
        (
            "He is in the house with the children and does not want to leave for dinner.",
            "Il est dans la maison avec les enfants et il ne veut pas sortir pour le dîner.",
            "es",
            "language",
        ),
        (LONG, LONG_ES, "fr", "language"),
        (LONG, LONG_HI, "bn", "script"),
        (LONG, LONG_HI, "ur", "script"),
        (LONG, LONG_UR, "ar", "script"),
        (LONG, LONG_ZH, "ja", "script"),
        (LONG, LONG_JA, "zh", "script"),
        (LONG, LONG_HI, "fr", "script"),
        ("The sky is blue.", "आकाश 蓝色 है।", "hi", "script"),
        ("The sky is blue.", "Anga ni 蓝色.", "sw", "script"),
        ("The sky is blue today.", "Сегодня небо синее, и цветы были бы красными.", "uk", "script"),
        ("The sky is blue.", "", "sw", "empty"),
        # A part is missing, or something was added.
        (LONG * 3, LONG_HI, "hi", "length"),
        (LONG, LONG_HI * 4, "hi", "length"),
        ("One.\nTwo.\nThree.\nFour.\nFive.", "Moja. Mbili. Tatu. Nne. Tano.", "sw", "answered"),
        # Words of the model's own around the translation.
        ("The sky is blue.", "Here is the translation: Anga ni la bluu.", "sw", "around"),
        ("The sky is blue.", "Sure! Anga ni la bluu.", "sw", "around"),
        ("The sky is blue.", "Translation: Anga ni la bluu.", "sw", "around"),
        ("The sky is blue.", "Tafsiri: Anga ni la bluu.", "sw", "around"),
        ("The sky is blue.", "अनुवाद: आकाश नीला है।", "hi", "around"),
        ("The sky is blue.", "Anga ni la bluu.\n\n(Note: I kept the tone.)", "sw", "around"),
        ("The sky is blue.", '"Anga ni la bluu."', "sw", "around"),
        # Protected items (case 33).
        ("###Feedback: good {orig_response} [RESULT]", "###प्रतिक्रिया: अच्छा {orig_response} [RESULT]", "hi", "items"),
        ("Write it as [RESULT] at the end", "इसे अंत में [परिणाम] के रूप में लिखें", "hi", "items"),
        ("Write it as [RESULT] at the end", "अंत में [RESULT] [RESULT] लिखें", "hi", "items"),
        ("Write it as [RESULT] at the end", "अंत में ［RESULT］ लिखें", "hi", "items"),
        ("Score 1: bad\nScore 2: good", "अंक 1: बुरा\nअंक 2: अच्छा", "hi", "items"),
        (
            CODE,
            CODE.replace("hello", "habari").replace("Run this", "Endesha hii").replace("Then stop", "Kisha acha"),
            "sw",
            "items",
        ),
        ("Hello %s, you have %d files", "Habari %S, una faili %d", "sw", "items"),
        ("See https://example.com/a?b=1.", "Tazama https://example.com/b?b=1.", "sw", "items"),
        ("See https://example.com now", "Tazama sasa hapa", "sw", "items"),
        ("Write to me@example.com now", "Niandikie wewe@example.com sasa", "sw", "items"),
        ("Dear {name}, use `ls -l` here", "प्रिय {नाम}, यहाँ `ls -l` चलाएँ", "hi", "items"),
        ("Use `ls -l` to list files", "Tumia `ls -a` kuorodhesha faili", "sw", "items"),
        ("Make it <b>bold</b> here", "Ifanye <b>nzito</i> hapa", "sw", "items"),
        ("Set $HOME and {{x}} first", "Weka $NYUMBANI na {{x}} kwanza", "sw", "items"),
        # Numbers and names: errors in a response are kept.
        ("Einstein was born in 1880.", "Einstein alizaliwa mwaka 1879.", "sw", "numbers"),
        ("It costs 3.5 euros.", "Inagharimu euro 35,5.", "sw", "numbers"),
        ("Take 2 pills, then 2 more.", "2 गोलियाँ लें, फिर और लें।", "hi", "numbers"),
        ("The play was written by Newton.", "Tamthilia hiyo iliandikwa na Shakespeare.", "sw", "names"),
        ("Ask Sarah about it.", "Demande à Emily à ce sujet.", "fr", "names"),
        ("The sky is blue.", "Anga ni la bl\ufffdu.", "sw", "broken"),
    ],
)
def test_faults(source: str, translation: str, code: str, kind: str) -> None:
    assert kind in kinds(source, translation, code)


@pytest.mark.parametrize(
    ("source", "translation", "code"),
    [
        # One word does not trip the ratio (case 31).
        ("Hello", "नमस्ते", "hi"),
        ("No", "Hapana", "sw"),
        ("AI", "कृत्रिम बुद्धिमत्ता", "hi"),
        ("Photosynthesis", "光合成", "ja"),
        ("Incomprehensibilities", "不解", "zh"),
        # Nothing to translate: it may stay as it is.
        ("42", "42", "hi"),
        ("42", "४२", "hi"),
        ("https://example.com/a", "https://example.com/a", "hi"),
        ("```python\nprint(1)\n```", "```python\nprint(1)\n```", "sw"),
        ("`x = 1`", "`x = 1`", "hi"),
        ("Albert Einstein", "Albert Einstein", "fr"),
        ("Albert Einstein", "अल्बर्ट आइंस्टीन", "hi"),
        ("NASA", "NASA", "hi"),
        ("GPT-4", "GPT-4", "te"),
        ("Paris", "Paris", "fr"),
        ("👍", "👍", "bn"),
        # A source that is sorry itself (case 32).
        ("I'm sorry, I can't help with that.", "मुझे खेद है, मैं इसमें मदद नहीं कर सकता।", "hi"),
        ("As an AI, I cannot feel pain.", "En tant qu'IA, je ne peux pas ressentir la douleur.", "fr"),
        ("Sorry, the shop is closed.", "Samahani, duka limefungwa.", "sw"),
        # Whole translations.
        (LONG, LONG_HI, "hi"),
        (LONG, LONG_FR, "fr"),
        (LONG, LONG_ES, "es"),
        (LONG, LONG_UR, "ur"),
        (LONG, LONG_JA, "ja"),
        (LONG, LONG_ZH, "zh"),
        # English terms within, and quoted English that an exercise is about.
        (
            "Use the pandas library and call DataFrame.merge on both tables.",
            "pandas लाइब्रेरी लें और दोनों तालिकाओं पर DataFrame.merge बुलाएँ।",
            "hi",
        ),
        (
            'Correct this sentence and say why it is wrong in a few words: "She go to the school every day with friends"',
            'Sahihisha sentensi hii na useme kwa maneno machache kwa nini si sahihi: "She go to the school every day with friends"',
            "sw",
        ),
        # Questions, also without a question mark of our own.
        ("Is water wet?", "क्या पानी गीला होता है?", "hi"),
        ("Is water wet?", "هل الماء مبلل؟", "ar"),
        ("Is water wet?", "水は濡れていますか。", "ja"),
        ("Is water wet?", "水是湿的吗？", "zh"),
        # Protected items kept, where the next word follows without a blank, and after other punctuation.
        ("###Feedback: good {orig_response} [RESULT]", "###Feedback: अच्छा {orig_response} [RESULT]", "hi"),
        ("Score 1: bad\nScore 2: good", "Score 1: बुरा\nScore 2: अच्छा", "hi"),
        ("Open https://example.com/a now.", "https://example.com/aを今すぐ開いてください。", "ja"),
        ("Open (see www.example.com).", "खोलें (www.example.com देखें)।", "hi"),
        ("Write to me@example.com.", "me@example.comに書いてください。", "ja"),
        ("You have %d files, $NAME.", "$NAMEさん、ファイルが%d個あります。", "ja"),
        (CODE, 'Endesha hii:\n```python\nprint("hello")\n```\nKisha acha.', "sw"),
        ("It is 100% sure and 50 % done, for $5.", "Ni uhakika 100% na imekamilika 50 %, kwa $5.", "sw"),
        ("If a < b and b > c, stop.", "Kama a < b na b > c, acha.", "sw"),
        # What is like words of the model's own, but is in the source.
        ("Translation: the art of loss.", "Tafsiri: sanaa ya kupoteza.", "sw"),
        ("Sure, the sky is blue.", "Sure, anga ni la bluu.", "sw"),
        ("Fine.", "OK.", "sw"),
        ("Alright, here we go again.", "Okay, es geht wieder los.", "de"),
        ("The angle α is 2π.", "कोण α 2π है।", "hi"),
        ("The word 水 means water.", "Neno 水 lina maana ya maji.", "sw"),
        ("Note: the shop is closed.", "ध्यान दें: दुकान बंद है।", "hi"),
        ('He said "yes" to her.', '"हाँ", उसने उससे कहा।', "hi"),
        # Names in another spelling or ending.
        ("Maria met Peter in Rome.", "Marie a rencontré Peter à Rome.", "fr"),
        ("Ask Sarah about it.", "Sarah'ya bunu sor.", "tr"),
        ("Ask Sarah about it.", "सारा से इसके बारे में पूछो।", "hi"),
    ],
)
def test_good_translations(source: str, translation: str, code: str) -> None:
    assert translation_faults(source, translation, language(code)) == []


def test_faults_say_what_to_mend() -> None:
    faults = translation_faults("See https://a.org at 10:30.", "Tazama https://b.org saa 10:45.", language("sw"))
    assert [(fault.kind, fault.reason) for fault in faults] == [
        ("items", "protected items were changed: URL https://a.org missing; URL https://b.org added"),
        ("numbers", "numbers were changed: 30 missing; 45 added"),
    ]


def test_the_quickstarts_own_translations_pass() -> None:
    """Sixty answers to twelve instructions that people wrote in English, French and Hindi."""
    records = read_records(REPO / "configs" / "quickstart" / "data" / "judge.jsonl")
    english = {(one.item_id, one.score): one for one in records if one.language == "en"}
    pairs = [(english[one.item_id, one.score], one) for one in records if one.language != "en"]
    assert len(pairs) == 120
    rejected = [
        (before.id, after.language, name, faults)
        for before, after in pairs
        for name in ("instruction", "response")
        if (faults := translation_faults(getattr(before, name), getattr(after, name), language(after.language)))
    ]
    assert rejected == []


def test_every_language_can_be_checked() -> None:
    for code in LANGUAGES.keys() - {"en"}:
        assert CHECKS["script"](Pair(LONG, LONG, language(code))) is None or language(code).script != "Latn"
        assert "english" in kinds(LONG, LONG.replace("often", "always"), code)


def test_the_way_back() -> None:
    source = "Ask Sarah to water the plants in the morning."
    assert back_translation_fault(source, "Ask Sarah to water the plants in the mornings.", 60) is None
    wrong = back_translation_fault(source, "Tell him that the shop is closed.", 60)
    assert wrong is not None
    assert wrong.kind == "back-translation"
    name = back_translation_fault(source, "Ask Emily to water the plants in the morning.", 60)
    assert name is not None
    assert name.kind == "names"


@pytest.mark.parametrize(
    ("code", "refusal"),
    [
        ("ar", "لا أستطيع مساعدتك في هذا الطلب؟"),
        ("bn", "আমি এই অনুরোধে সাহায্য করতে পারব না?"),
        ("de", "Ich kann dabei leider nicht helfen?"),
        ("es", "No puedo ayudarte con esa solicitud?"),
        ("fr", "Je ne peux pas vous aider avec cette demande?"),
        ("hi", "मैं इस अनुरोध में आपकी सहायता नहीं कर सकता?"),
        ("sw", "Siwezi kusaidia na ombi hili?"),
        ("te", "నేను ఈ అభ్యర్థనలో సహాయం చేయలేను?"),
        ("ur", "میں اس درخواست میں آپ کی مدد نہیں کر سکتا؟"),
        ("zh", "作为一个人工智能，我无法帮助您完成这个请求？"),
    ],
)
def test_refusals_without_an_apology(code: str, refusal: str) -> None:
    assert "refusal" in kinds("How do I pick a lock at home?", refusal, code)
    assert "refusal" not in kinds("Sorry, can you help me pick a lock?", refusal, code)


@pytest.mark.parametrize(
    ("source", "translation", "code", "kind"),
    [
        # The source's words with other marks: an echo still.
        ("The weather is nice today", "The weather is nice today.", "es", "identical"),
        # The same text twice, or a word over and over.
        (LONG, f"{LONG_FR} {LONG_FR}", "fr", "repeated"),
        ("Tell me about the moon and its phases.", "चाँद " * 10, "hi", "repeated"),
        ("no no no no no no no no", "नहीं नहीं नहीं नहीं नहीं नहीं नहीं नहीं", "hi", None),
        ("Thanks", "谢谢", "zh", None),
        # No word at all; end tokens; notes in the target language.
        ("Hello there", "\u200b\u200d", "hi", "empty"),
        ("Thanks a lot", "👍", "hi", "empty"),
        ("👍", "👍", "hi", None),
        ("It rains.", "Il pleut.<|eot_id|>", "fr", "items"),
        ("It is nice today.", "Hoy hace buen tiempo.\n\nNota: traduje nice como bueno.", "es", "around"),
        ("Do it.\nRemark: be careful.", "Hazlo.\nNota: ten cuidado.", "es", None),
        # What may stay as it is: formulas in letters, texts that are in the language already.
        ("x = 3 + 4", "x = 3 + 4", "hi", None),
        ("a", "a", "sw", None),
        (LONG_HI, LONG_HI, "hi", None),
        (LONG_ES, LONG_ES, "es", None),
        (LONG_UR, LONG_UR, "ar", "identical"),
        (LONG_FR, LONG_FR, "es", "identical"),
    ],
)
def test_what_came_back_in_part_twice_or_not_at_all(source: str, translation: str, code: str, kind: str | None) -> None:
    assert kinds(source, translation, code) >= ({kind} if kind else set())
    assert kind or not kinds(source, translation, code)
