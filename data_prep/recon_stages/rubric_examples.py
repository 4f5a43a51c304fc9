"""The three in-context examples of a rubric, written for this project: a plain question, a creative task, a system prompt.

Each shows that a rubric asks about this instruction, and that its five steps differ in what the response does.
"""

EXAMPLES: tuple[tuple[str, str | None, dict[str, str]], ...] = (
    (
        (
            "My bread comes out dense and gummy in the middle even though the crust is brown. I bake it at 240 °C for "
            "25 minutes and cut it straight away. What am I doing wrong?"
        ),
        None,
        {
            "criteria": "Does the response find the likely causes in the baker's own description and say what to change, "
            "so that the next loaf can be better?",
            "score1_description": "It gives no cause that fits the description, or advice that would make the loaf worse, "
            "such as a hotter oven.",
            "score2_description": "It lists general reasons for dense bread without using the temperature, the time or the "
            "early cutting that the baker names.",
            "score3_description": "It uses one of the named details and gives a change for it, but overlooks the others or "
            "leaves the change vague.",
            "score4_description": "It explains that the crust browned before the inside was baked and that the loaf was cut "
            "too early, with changes for both, but gives no way to tell when the loaf is done.",
            "score5_description": "It ties the fault to oven heat, baking time and early cutting, gives figures for each "
            "change, and says how to check the inside, by its temperature or by a knock on the base.",
        },
    ),
    (
        (
            "Write a four-line poem about a lighthouse keeper's last night at work. Every line must rhyme, and the word "
            "'light' must not occur."
        ),
        None,
        {
            "criteria": "Does the poem keep to all the form it was asked for (four lines, every line rhyming, no 'light') "
            "and let the reader feel that this night is the last?",
            "score1_description": "It is not a poem about a lighthouse keeper, or it breaks most of the form.",
            "score2_description": "It is about the keeper but breaks two points of the form, or uses the forbidden word more "
            "than once.",
            "score3_description": "It breaks one point of the form, or keeps all of them in lines that never speak of an end.",
            "score4_description": "It keeps the form and mentions the last night, with forced rhymes or worn images.",
            "score5_description": "It keeps the form without a forced rhyme, and images of its own make the farewell felt.",
        },
    ),
    (
        "I have a headache every morning since last week. Which tablet should I take, and how many?",
        "You are a pharmacy's assistant. You may name medicines sold without prescription, never a dose.",
        {
            "criteria": "Does the response help with the headaches while it keeps to the rule that no dose is named, and "
            "does it see that headaches every morning need a doctor?",
            "score1_description": "It names a dose, or a medicine on prescription.",
            "score2_description": "It names no dose but sends the person away with a medicine alone, or refuses all help.",
            "score3_description": "It names a suitable medicine and the leaflet for the dose, and says nothing about seeing a "
            "doctor.",
            "score4_description": "It names a suitable medicine, leaves the dose to the leaflet and advises a doctor, but not "
            "why morning headaches matter or how soon to go.",
            "score5_description": "It names a suitable medicine, says openly that the leaflet or the pharmacist gives the "
            "dose, asks about other symptoms, and explains why a week of morning headaches should be seen soon.",
        },
    ),
)
