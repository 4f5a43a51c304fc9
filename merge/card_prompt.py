"""How to prompt a judge, as code that runs with transformers alone: the text of core.prompt, filled in by hand."""

import re
from typing import Any

from core.chat import THE_DAY, fold_system
from core.length import VERDICT_TOKENS
from core.prompt import build_messages
from core.prompt_spec import PromptSpec
from core.records import JudgeRecord, parse_row

_FIELDS = ("instruction", "response", "criteria", *(f"score{n}_description" for n in range(1, 6)))
# What the snippet judges.
EXAMPLE = {
    "instruction": "Nomme trois couleurs.",
    "response": "Rouge, vert et bleu.",
    "criteria": "Does the response name three colours?",
    "score1_description": "It names none.",
    "score2_description": "It names one.",
    "score3_description": "It names two.",
    "score4_description": "It names three, oddly.",
    "score5_description": "It names three.",
    "reference_answer": "Yellow, black and white.",
}
_CODE = '''\
import re

from transformers import AutoModelForCausalLM, AutoTokenizer

MODEL = "{model}"
{system}PROMPT = """\\
{prompt}"""

tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = AutoModelForCausalLM.from_pretrained(MODEL, dtype="auto")

prompt = PROMPT.format(
{example}
)
messages = [{messages}]
inputs = tokenizer.apply_chat_template(
    messages,
    add_generation_prompt=True,
    return_dict=True,
    return_tensors="pt",
    sanitize_control_tokens=True,  # a response that spells a control token forges none{date}
)
written = model.generate(**inputs, max_new_tokens={new_tokens}, do_sample=False)
verdict = tokenizer.decode(written[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
score = re.search(r"\\[RESULT\\]\\s*([1-5])\\b", verdict)
print(verdict)
print("score:", score[1] if score else "none could be read")
'''


def snippet(repo_id: str, spec: PromptSpec, tokenizer: Any) -> str:
    """Python code that asks the published judge for one verdict."""
    fields = [*_FIELDS, *(["reference_answer"] if spec.with_reference else [])]
    marks = {name: f"\x00{name}\x00" for name in fields}
    record = parse_row({"id": "card", "item_id": "card", "language": "fr", **marks}, JudgeRecord, "the card")
    *system, user = fold_system(tokenizer, build_messages(record, spec.template, spec.with_reference))
    prompt = _quoted(user["content"].replace("{", "{{").replace("}", "}}"))
    for name, mark in marks.items():
        prompt = prompt.replace(mark, f"{{{name}}}")
    roles = ['{"role": "user", "content": prompt}']
    if system:
        roles.insert(0, '{"role": "system", "content": SYSTEM}')
    return _CODE.format(
        model=repo_id,
        system=f'SYSTEM = """\\\n{_quoted(system[0]["content"])}"""\n' if system else "",
        prompt=prompt,
        example="\n".join(f'    {name}="{EXAMPLE[name]}",' for name in fields),
        messages=", ".join(roles),
        new_tokens=VERDICT_TOKENS,
        date=f'\n    date_string="{THE_DAY}",' if "date_string" in tokenizer.chat_template else "",
    )


def _quoted(text: str) -> str:
    """A text as it stands between triple quotes."""
    text = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return re.sub(r'"$', r'\\"', text)
