"""What a model is asked when it scores a summary directly, in each language. A new language is one row here."""

from typing import NamedTuple

Levels = tuple[str, str, str, str, str]


class Wording(NamedTuple):
    """One language's words. ``levels`` say what 1 to 5 mean; ``other`` asks about a dimension that has no words of its own."""

    task: str
    document: str
    summary: str
    score: str
    coherence: str
    coherence_levels: Levels
    completeness: str
    completeness_levels: Levels
    other: str
    other_levels: Levels


WORDINGS = {
    "ar": Wording(
        "أنت تقيّم ملخص وثيقة. أجب برقم واحد من 1 إلى 5 ولا شيء غيره.",
        *("الوثيقة:", "الملخص:", "الدرجة (من 1 إلى 5):"),
        "الترابط: هل تتماسك الجمل ويتبع بعضها بعضا كنص واحد؟",
        ("خليط بلا ترابط", "يصعب تتبعه", "مرتب جزئيا", "مرتب جيدا مع انقطاعات طفيفة", "نص واحد واضح حسن الترتيب"),
        "الاكتمال: هل يتضمن الملخص النقاط الرئيسية في الوثيقة؟",
        ("لا شيء منها", "القليل منها", "نحو نصفها", "معظمها", "كلها"),
        "{dimension}: ما مدى جودة الملخص من هذه الناحية وحدها؟",
        ("سيئ جدا", "سيئ", "مقبول", "جيد", "جيد جدا"),
    ),
    "bn": Wording(
        "আপনি একটি নথির সারসংক্ষেপ মূল্যায়ন করছেন। শুধু 1 থেকে 5 পর্যন্ত একটি সংখ্যা লিখে উত্তর দিন, আর কিছু নয়।",
        *("নথি:", "সারসংক্ষেপ:", "নম্বর (1 থেকে 5):"),
        "সুসংহতি: বাক্যগুলি কি পরস্পরের সঙ্গে মেলে এবং একটি লেখার মতো একের পর এক আসে?",
        ("এলোমেলো, অসংলগ্ন", "বোঝা কঠিন", "আংশিকভাবে সাজানো", "সুবিন্যস্ত, সামান্য ছেদ আছে", "একটি স্পষ্ট, সুবিন্যস্ত লেখা"),
        "সম্পূর্ণতা: সারসংক্ষেপে কি নথির মূল বিষয়গুলি আছে?",
        ("একটিও নেই", "অল্প কয়েকটি", "প্রায় অর্ধেক", "বেশির ভাগ", "সবগুলি"),
        "{dimension}: শুধু এই দিক থেকে সারসংক্ষেপটি কতটা ভালো?",
        ("খুব খারাপ", "খারাপ", "চলনসই", "ভালো", "খুব ভালো"),
    ),
    "de": Wording(
        "Du beurteilst die Zusammenfassung eines Dokuments. Antworte mit einer Zahl von 1 bis 5 und nichts sonst.",
        *("Dokument:", "Zusammenfassung:", "Punktzahl (1 bis 5):"),
        "Kohärenz: Passen die Sätze zueinander und folgen sie aufeinander wie in einem einzigen Text?",
        (
            *("ein Durcheinander", "schwer zu verfolgen", "teilweise geordnet"),
            *("gut geordnet, mit kleinen Brüchen", "ein klarer, gut geordneter Text"),
        ),
        "Vollständigkeit: Enthält die Zusammenfassung die wichtigsten Punkte des Dokuments?",
        ("keinen davon", "wenige davon", "etwa die Hälfte", "die meisten", "alle"),
        "{dimension}: Wie gut ist die Zusammenfassung allein in dieser Hinsicht?",
        ("sehr schlecht", "schlecht", "mittelmäßig", "gut", "sehr gut"),
    ),
    "en": Wording(
        "You judge the summary of a document. Answer with one number from 1 to 5 and nothing else.",
        *("Document:", "Summary:", "Score (1 to 5):"),
        "Coherence: do the sentences fit together and follow from each other, as one text?",
        (
            *("a jumble", "hard to follow", "partly ordered"),
            *("well ordered, with small breaks", "one clear, well-ordered text"),
        ),
        "Completeness: does the summary hold the main points of the document?",
        ("none of them", "few of them", "about half of them", "most of them", "all of them"),
        "{dimension}: how good is the summary in this respect alone?",
        ("very poor", "poor", "fair", "good", "very good"),
    ),
    "es": Wording(
        "Evalúas el resumen de un documento. Responde con un número del 1 al 5 y nada más.",
        *("Documento:", "Resumen:", "Puntuación (del 1 al 5):"),
        "Coherencia: ¿encajan las frases y se siguen unas de otras, como un solo texto?",
        (
            *("un revoltijo", "difícil de seguir", "ordenado en parte"),
            *("bien ordenado, con pequeños cortes", "un solo texto claro y bien ordenado"),
        ),
        "Completitud: ¿contiene el resumen los puntos principales del documento?",
        ("ninguno", "pocos", "cerca de la mitad", "la mayoría", "todos"),
        "{dimension}: ¿qué tan bueno es el resumen solo en este aspecto?",
        ("muy malo", "malo", "regular", "bueno", "muy bueno"),
    ),
    "fr": Wording(
        "Vous évaluez le résumé d'un document. Répondez par un seul chiffre de 1 à 5 et rien d'autre.",
        *("Document :", "Résumé :", "Note (de 1 à 5) :"),
        "Cohérence : les phrases s'accordent-elles et s'enchaînent-elles comme un seul texte ?",
        (
            *("un fouillis", "difficile à suivre", "en partie ordonné"),
            *("bien ordonné, avec de petites ruptures", "un seul texte clair et bien ordonné"),
        ),
        "Complétude : le résumé contient-il les points principaux du document ?",
        ("aucun", "peu d'entre eux", "environ la moitié", "la plupart", "tous"),
        "{dimension} : quelle est la qualité du résumé sous ce seul aspect ?",
        ("très mauvaise", "mauvaise", "passable", "bonne", "très bonne"),
    ),
    "he": Wording(
        "עליך להעריך תקציר של מסמך. יש לענות במספר אחד מ-1 עד 5 ולא בשום דבר אחר.",
        *("מסמך:", "תקציר:", "ציון (1 עד 5):"),
        "קוהרנטיות: האם המשפטים משתלבים זה בזה ונובעים זה מזה כטקסט אחד?",
        ("ערבוביה", "קשה לעקוב", "מסודר חלקית", "מסודר היטב, עם קטיעות קלות", "טקסט אחד ברור ומסודר היטב"),
        "שלמות: האם התקציר כולל את הנקודות העיקריות של המסמך?",
        ("אף אחת מהן", "מעטות מהן", "כמחציתן", "רובן", "כולן"),
        "{dimension}: עד כמה התקציר טוב מבחינה זו בלבד?",
        ("גרוע מאוד", "גרוע", "בינוני", "טוב", "טוב מאוד"),
    ),
    "hi": Wording(
        "आप एक दस्तावेज़ के सारांश का मूल्यांकन करते हैं। केवल 1 से 5 तक की एक संख्या में उत्तर दें, और कुछ नहीं।",
        *("दस्तावेज़:", "सारांश:", "अंक (1 से 5):"),
        "सुसंगति: क्या वाक्य आपस में जुड़ते हैं और एक ही पाठ की तरह क्रम से आगे बढ़ते हैं?",
        ("बेतरतीब", "समझना कठिन", "आंशिक रूप से क्रमबद्ध", "अच्छी तरह क्रमबद्ध, थोड़ी रुकावट के साथ", "एक स्पष्ट, सुव्यवस्थित पाठ"),
        "पूर्णता: क्या सारांश में दस्तावेज़ के मुख्य बिंदु हैं?",
        ("एक भी नहीं", "थोड़े से", "लगभग आधे", "अधिकांश", "सभी"),
        "{dimension}: केवल इस दृष्टि से सारांश कितना अच्छा है?",
        ("बहुत खराब", "खराब", "ठीक-ठाक", "अच्छा", "बहुत अच्छा"),
    ),
    "ja": Wording(
        "あなたは文書の要約を評価します。1から5までの数字を一つだけ答え、ほかには何も書かないでください。",
        *("文書：", "要約：", "点数（1から5）："),
        "一貫性：文どうしがつながり、一つの文章として流れていますか。",
        ("ばらばらである", "追いにくい", "部分的に整っている", "よく整っているが小さな途切れがある", "明快でよく整った一つの文章である"),
        "網羅性：要約は文書の要点を含んでいますか。",
        ("一つも含まない", "少しだけ含む", "半分ほど含む", "大部分を含む", "すべて含む"),
        "{dimension}：この点だけについて、要約はどれくらい良いですか。",
        ("とても悪い", "悪い", "普通", "良い", "とても良い"),
    ),
    "te": Wording(
        "మీరు ఒక పత్రం యొక్క సారాంశాన్ని అంచనా వేస్తారు. 1 నుండి 5 వరకు ఒక సంఖ్యతో మాత్రమే జవాబివ్వండి, మరేమీ రాయవద్దు.",
        *("పత్రం:", "సారాంశం:", "స్కోరు (1 నుండి 5):"),
        "పొందిక: వాక్యాలు ఒకదానితో ఒకటి కలిసి, ఒకే పాఠంలా వరుసగా సాగుతున్నాయా?",
        ("గందరగోళం", "అర్థం చేసుకోవడం కష్టం", "కొంతవరకు క్రమంలో ఉంది", "చక్కని క్రమం, చిన్న అంతరాయాలతో", "స్పష్టమైన, చక్కని క్రమంలో ఉన్న ఒకే పాఠం"),
        "సంపూర్ణత: సారాంశంలో పత్రంలోని ముఖ్యాంశాలు ఉన్నాయా?",
        ("ఒక్కటీ లేదు", "కొన్ని మాత్రమే", "దాదాపు సగం", "చాలా వరకు", "అన్నీ"),
        "{dimension}: ఈ ఒక్క విషయంలో సారాంశం ఎంత బాగుంది?",
        ("చాలా బలహీనం", "బలహీనం", "పరవాలేదు", "బాగుంది", "చాలా బాగుంది"),
    ),
    "tr": Wording(
        "Bir belgenin özetini değerlendiriyorsunuz. 1 ile 5 arasında tek bir sayıyla yanıt verin, başka bir şey yazmayın.",
        *("Belge:", "Özet:", "Puan (1 ile 5 arası):"),
        "Tutarlılık: Cümleler birbirine uyuyor ve tek bir metin gibi birbirini izliyor mu?",
        ("karmakarışık", "izlemesi zor", "kısmen düzenli", "düzenli, küçük kopukluklar var", "açık ve düzenli tek bir metin"),
        "Eksiksizlik: Özet belgenin ana noktalarını içeriyor mu?",
        ("hiçbirini", "birkaçını", "yaklaşık yarısını", "çoğunu", "hepsini"),
        "{dimension}: Özet yalnızca bu bakımdan ne kadar iyi?",
        ("çok kötü", "kötü", "orta", "iyi", "çok iyi"),
    ),
    "uk": Wording(
        "Ви оцінюєте стислий виклад документа. Дайте відповідь одним числом від 1 до 5 і нічого більше не пишіть.",
        *("Документ:", "Стислий виклад:", "Оцінка (від 1 до 5):"),
        "Зв'язність: чи речення узгоджені й випливають одне з одного, як єдиний текст?",
        (
            *("безладдя", "важко стежити", "почасти впорядковано"),
            *("добре впорядковано, з невеликими розривами", "єдиний зрозумілий, добре впорядкований текст"),
        ),
        "Повнота: чи містить виклад головні думки документа?",
        ("жодної", "небагато", "близько половини", "більшість", "усі"),
        "{dimension}: наскільки добрий виклад лише з цього погляду?",
        ("дуже погано", "погано", "посередньо", "добре", "дуже добре"),
    ),
    "ur": Wording(
        "آپ ایک دستاویز کے خلاصے کا جائزہ لیتے ہیں۔ صرف 1 سے 5 تک کا ایک عدد جواب میں لکھیں اور کچھ نہیں۔",
        *("دستاویز:", "خلاصہ:", "نمبر (1 سے 5):"),
        "ربط: کیا جملے آپس میں جڑے ہوئے ہیں اور ایک ہی تحریر کی طرح ترتیب سے آگے بڑھتے ہیں؟",
        ("بے ربط", "سمجھنا مشکل", "جزوی طور پر مرتب", "اچھی ترتیب، معمولی خلل کے ساتھ", "ایک واضح اور مرتب تحریر"),
        "جامعیت: کیا خلاصے میں دستاویز کے اہم نکات موجود ہیں؟",
        ("ایک بھی نہیں", "تھوڑے سے", "تقریباً آدھے", "زیادہ تر", "سب"),
        "{dimension}: صرف اس پہلو سے خلاصہ کتنا اچھا ہے؟",
        ("بہت خراب", "خراب", "گزارے لائق", "اچھا", "بہت اچھا"),
    ),
    "yo": Wording(
        "O ń ṣe ìdájọ́ àkópọ̀ ìwé kan. Fi nọ́ńbà kan láti 1 sí 5 dáhùn, má sì kọ ohun mìíràn.",
        *("Ìwé:", "Àkópọ̀:", "Máàkì (1 sí 5):"),
        "Ìsopọ̀: ṣé àwọn gbólóhùn bá ara wọn mu, tí wọ́n sì tẹ̀lé ara wọn gẹ́gẹ́ bí ọ̀rọ̀ kan ṣoṣo?",
        ("ó dàrú pátápátá", "ó ṣòro láti tẹ̀lé", "ó wà létò díẹ̀", "ó wà létò dáadáa, àfi àwọn ìjákulẹ̀ kékeré", "ọ̀rọ̀ kan tó yéni tó sì wà létò dáadáa"),
        "Pípé: ṣé àwọn kókó pàtàkì inú ìwé náà wà nínú àkópọ̀ náà?",
        ("kò sí ìkankan", "díẹ̀ nínú wọn", "nǹkan bí ìdajì", "ọ̀pọ̀ jùlọ", "gbogbo wọn"),
        "{dimension}: báwo ni àkópọ̀ náà ṣe dára tó ní ọ̀nà yìí nìkan?",
        ("kò dára rárá", "kò dára", "ó wà láàárín", "ó dára", "ó dára gan-an"),
    ),
    "zh": Wording(
        "你要评价一份文档的摘要。只用1到5之间的一个数字回答，不要写其他内容。",
        *("文档：", "摘要：", "分数（1到5）："),
        "连贯性：句子之间是否衔接，前后是否像一篇完整的文章？",
        ("杂乱无章", "难以看懂", "部分有条理", "条理清楚，略有脱节", "一篇清晰而有条理的文章"),
        "完整性：摘要是否包含文档的要点？",
        ("完全没有", "只有少数", "约有一半", "大部分都有", "全部都有"),
        "{dimension}：仅就这一方面而言，摘要有多好？",
        ("很差", "较差", "一般", "好", "很好"),
    ),
}  # fmt: skip
