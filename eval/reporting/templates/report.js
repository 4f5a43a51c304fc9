"use strict";
// Search and filters over the listed verdicts. Without this script the list is whole.
const form = document.getElementById("filter");
if (form) {
  const plain = (text) => text.normalize("NFC").toLowerCase();
  const verdicts = [...document.querySelectorAll("#verdicts > .verdict")];
  const searched = new Map();
  const textOf = (one) => {
    if (!searched.has(one)) searched.set(one, plain(one.textContent));
    return searched.get(one);
  };
  const show = () => {
    const words = plain(form.elements.text.value).split(/\s+/).filter(Boolean);
    const chosen = ["judge", "language", "kind"].map((name) => [name, form.elements[name].value]).filter(([, value]) => value);
    let count = 0;
    for (const one of verdicts) {
      one.hidden = !(chosen.every(([name, value]) => one.dataset[name] === value) && words.every((word) => textOf(one).includes(word)));
      count += !one.hidden;
    }
    const all = count === verdicts.length;
    document.getElementById("shown").textContent = all ? `${count} listed` : `${count} of ${verdicts.length} listed`;
  };
  form.hidden = false;
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  show(); // a browser may keep the fields over a reload
}
