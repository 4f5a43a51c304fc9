"""The languages the project knows by name. A new language is one row here.

Besides its names, a row holds what the checks of a translation from English go by. ``length`` is its characters for one
of English: measured on the 1,000 sentences of NTREX that the real tests read (ar bn de es fr he hi ja te tr uk ur yo zh),
elsewhere taken from a kindred language. The rest may be left empty: what cannot be told by it is then not checked.
"""

from typing import NamedTuple

from core.errors import ConfigError


class Language(NamedTuple):
    """``code`` is what records carry (ISO 639-1); ``flores`` and ``ntrex`` name its files in those sets.

    ``common`` are frequent short words, given where another language here has the same script; ``never`` are letters that
    its neighbours use and it does not; ``apology`` (a pattern) is how a model that refuses, sorry or not, begins in it, ``translation``
    its word for translation.
    """

    code: str
    name: str
    script: str
    flores: str
    ntrex: str
    right_to_left: bool = False
    length: float = 1.1
    common: str = ""
    never: str = ""
    apology: str = ""
    translation: str = ""


LANGUAGES = {
    row.code: row
    for row in (
        Language(
            *("ar", "Arabic", "Arab", "arb_Arab", "arb"),
            right_to_left=True,
            length=0.93,
            common="في من على أن إلى التي الذي عن هذا مع قد إن بعد ذلك ما لا كان لم أنه هذه أو كل هو هي",
            never="ٹڈڑںےھہ",
            apology="آسف|أعتذر|عذرا|يؤسفني"
            r"|لا (?:أستطيع|يمكنني)[^.\n]{0,20}(?:مساعد|تقديم|الإجابة|تلبية)|بصفتي نموذج",
            translation="ترجمة|الترجمة",
        ),
        Language(
            *("bn", "Bengali", "Beng", "ben_Beng", "ben"),
            length=1.0,
            never="ৰৱ",
            apology=r"দুঃখিত|ক্ষমা কর|মাফ কর|আমি [^।\n]{0,60}(?:সাহায্য|সহায়তা)[^।\n]{0,20}(?:পারব না|পারছি না|পারি না)",
            translation="অনুবাদ",
        ),
        Language(
            *("de", "German", "Latn", "deu_Latn", "deu"),
            length=1.19,
            common="der die und zu von den das mit für dass im eine er auf dem als sich des nicht ist bei nach ein wird sie",
            apology="es tut mir leid|tut mir leid|entschuldigung"
            r"|ich kann [^.\n]{0,40}nicht (?:helfen|weiterhelfen|behilflich|nachkommen|erfüllen|beantworten)|als (?:KI|Sprachmodell)\b",
            translation="übersetzung|übersetzt",
        ),
        Language(
            *("en", "English", "Latn", "eng_Latn", "eng"),
            length=1.0,
            common="the to of and is that for with as it was has be by have from will they are this which you your can or",
        ),
        Language(
            *("es", "Spanish", "Latn", "spa_Latn", "spa"),
            length=1.16,
            common="de la que el en y los del un se una las por con para su no al es más como lo pero este o",
            apology="lo siento|disculp|lamento|perdón|perdona"
            r"|no puedo (?:ayud|asist|cumplir|atender|proporcionar|responder)|como (?:una? )?(?:IA\b|modelo de lenguaje|inteligencia art)",
            translation="traducción",
        ),
        Language(
            *("eu", "Basque", "Latn", "eus_Latn", "eus"),
            length=1.1,
            common="eta da du ez bat dira ere baina izan den egin dute zen zuen duen hau edo behar oso dago gehiago",
            apology="sentitzen dut|barkatu",
            translation="itzulpena",
        ),
        Language(
            *("fr", "French", "Latn", "fra_Latn", "fra"),
            length=1.17,
            common="de la le à les l et des d un du en que une est dans pour il qui qu ont sur au plus pas ce vous ou",
            apology="(?:je suis )?désolé|je m'excuse|je m’excuse|pardon"
            r"|je ne (?:peux|suis) pas [^.\n]{0,20}(?:aider|répondre|fournir|assister|en mesure)|en tant qu(?:e modèle|['’](?:IA\b|intelligence art))",
            translation="traduction",
        ),
        Language(
            *("gu", "Gujarati", "Gujr", "guj_Gujr", "guj"),
            length=1.02,
            apology=r"માફ કર|દિલગીર|ક્ષમા કર|હું [^.\n]{0,60}મદદ[^.\n]{0,12}નથી",
            translation="અનુવાદ|ભાષાંતર",
        ),
        Language(
            *("he", "Hebrew", "Hebr", "heb_Hebr", "heb"),
            right_to_left=True,
            length=0.81,
            apology="אני מצטער|מצטער|סליחה|אני מתנצל"
            r"|(?:אני לא|איני|אינני) (?:יכול|מסוגל)[^.\n]{0,12}לעזור|כמודל שפה",
            translation="תרגום",
        ),
        Language(
            *("hi", "Hindi", "Deva", "hin_Deva", "hin"),
            length=1.08,
            common="के में है की से को और ने कि पर का लिए हैं एक किया इस यह नहीं करने गया था भी हो या",
            apology="मुझे खेद|क्षमा कर|माफ कर|माफ़ कर|मुझे माफ|मुझे क्षमा|खेद है"
            r"|मैं [^।\n]{0,60}(?:मदद|सहायता|पूरा)[^।\n]{0,12}नहीं कर (?:सकत|पाऊ)|एक (?:AI|एआई)[^।\n]{0,30}के (?:रूप में|नाते)",
            translation="अनुवाद",
        ),
        Language(
            *("it", "Italian", "Latn", "ita_Latn", "ita"),
            length=1.14,
            common="di che la il e un per in è una non del della sono con si le i da come dei nel gli più ma o al",
            apology="mi dispiace|scusa|sono spiacente"
            r"|non posso (?:aiutar|assister|rispondere|fornir|soddisfare)|come (?:IA\b|modello linguistico)",
            translation="traduzione",
        ),
        Language(
            *("ja", "Japanese", "Jpan", "jpn_Jpan", "jpn"),
            length=0.44,
            apology="申し訳|すみません|ごめん|恐れ入り"
            r"|[^。\n]{0,40}(?:お手伝い|お答え|対応)[^。\n]{0,6}(?:できません|いたしかねます)|AI(?:言語モデル)?として",
            translation="翻訳|訳文",
        ),
        Language(
            "kn",
            "Kannada",
            "Knda",
            "kan_Knda",
            "kan",
            length=1.05,
            apology=r"ಕ್ಷಮಿಸಿ|ಕ್ಷಮೆ|[^.\n]{0,60}ಸಹಾಯ ಮಾಡಲು (?:ನನಗೆ )?(?:ಸಾಧ್ಯವಿಲ್ಲ|ಆಗುವುದಿಲ್ಲ)",
            translation="ಅನುವಾದ",
        ),
        Language(
            *("ml", "Malayalam", "Mlym", "mal_Mlym", "mal"),
            length=1.12,
            apology=r"ക്ഷമിക്ക|ഖേദി|[^.\n]{0,60}സഹായിക്കാൻ (?:എനിക്ക് )?(?:കഴിയില്ല|സാധിക്കില്ല)",
            translation="വിവർത്തനം|പരിഭാഷ",
        ),
        Language(
            *("mr", "Marathi", "Deva", "mar_Deva", "mar"),
            length=1.03,
            common="आहे आणि या व ते तो ती हे ही आहेत नाही की होते होता च्या केले करण्यासाठी त्यांनी आपण किंवा असे मध्ये एक",
            apology=r"माफ करा|मला माफ|क्षमस्व|मला खेद|दिलगीर|मी [^.।\n]{0,60}मदत करू शकत नाही",
            translation="भाषांतर|अनुवाद",
        ),
        Language(
            *("pa", "Punjabi", "Guru", "pan_Guru", "pan"),
            length=1.02,
            apology=r"ਮਾਫ਼|ਮੁਆਫ਼|ਮਾਫ ਕਰ|ਅਫ਼ਸੋਸ|ਖਿਮਾ|ਮੈਂ [^।\n]{0,60}ਮਦਦ ਨਹੀਂ ਕਰ ਸਕ",
            translation="ਅਨੁਵਾਦ",
        ),
        Language(
            *("pt", "Portuguese", "Latn", "por_Latn", "por"),
            length=1.1,
            common="de que o a e do da em um para com uma os no não se na por mais as dos como mas foi ao ou é você",
            apology="desculp|sinto muito|lamento|perdão"
            r"|não posso (?:ajud|auxili|atender|cumprir|fornecer|responder)|como (?:uma )?(?:IA\b|modelo de linguagem)",
            translation="tradução",
        ),
        Language(
            *("sw", "Swahili", "Latn", "swh_Latn", "swa"),
            length=1.06,
            common="na ya wa kwa ni za katika la kuwa cha hii huo kama au lakini yake hiyo vya si yako sana pia hilo kila",
            apology="samahani|pole,|naomba radhi|nasikitika|niwie radhi"
            r"|siwezi ku(?:kusaidia|saidia|timiza|jibu)|kama (?:AI|modeli ya lugha)\b",
            translation="tafsiri",
        ),
        Language(
            *("ta", "Tamil", "Taml", "tam_Taml", "tam"),
            length=1.2,
            apology=r"மன்னிக்க|வருந்து|மன்னி|[^.\n]{0,60}உதவ (?:முடியாது|இயலாது)",
            translation="மொழிபெயர்ப்பு",
        ),
        Language(
            "te",
            "Telugu",
            "Telu",
            "tel_Telu",
            "tel",
            length=0.99,
            apology=r"క్షమించ|మన్నించ|[^.\n]{0,60}సహాయం చేయలేను",
            translation="అనువాదం",
        ),
        Language(
            *("tr", "Turkish", "Latn", "tur_Latn", "tur"),
            length=1.07,
            common="bir ve bu için da de olarak olan daha ile çok sonra ne gibi kadar ama en göre veya her değil ya mı",
            apology="üzgünüm|özür dilerim|kusura bakma"
            r"|[^.\n]{0,60}yardımcı olam|bir yapay zek[aâ]\w* (?:modeli )?olarak",
            translation="çeviri",
        ),
        Language(
            *("uk", "Ukrainian", "Cyrl", "ukr_Cyrl", "ukr"),
            length=1.04,
            never="ыэъё",
            apology="вибач|перепрош"
            r"|я не (?:можу|в змозі) [^.\n]{0,20}(?:допомогти|виконати|відповісти)|як (?:мовна модель|штучний інтелект)",
            translation="переклад",
        ),
        Language(
            *("ur", "Urdu", "Arab", "urd_Arab", "urd"),
            right_to_left=True,
            length=1.0,
            never="ةأإى",
            common="کے میں کی ہے نے کو اور سے کا کہ پر ایک اس ہیں کیا کر ان نہیں ہو یہ جو بھی لیے لئے یا",
            apology=r"معذرت|معاف کی|مجھے افسوس|افسوس|میں [^۔\n]{0,60}مدد نہیں کر سکت",
            translation="ترجمہ",
        ),
        Language(
            *("yo", "Yoruba", "Latn", "yor_Latn", "yor"),
            length=1.52,
            common="ni ti o a ati àti tí ní sì wọn láti lati ó ń pé pe náà naa fún fun yìí bí jẹ́ je àwọn awọn wà kan",
            apology="má bínú|ẹ má bínú|ma binu|e ma binu|mo tọrọ|(?:mi ò|n kò|mi kò) lè ràn",
            translation="ìtumọ̀|itumọ",
        ),
        Language(
            *("zh", "Chinese", "Hans", "cmn_Hans", "zho-CN"),
            length=0.35,
            apology="抱歉|对不起|不好意思|很抱歉"
            r"|我(?:无法|不能|没办法)[^。\n]{0,12}(?:帮|协助|提供|回答|满足|完成)|作为(?:一个|一名)?(?:AI|人工智能|语言模型|大型语言)",
            translation="翻译|译文|翻譯",
        ),
    )
}


def language(code: str) -> Language:
    """The language of a code. Raises ConfigError for one that is not known."""
    if code not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise ConfigError(f"language {code!r} is unknown; use one of {known}, or add a row to core/languages.py")
    return LANGUAGES[code]
