// The form of an annotation sheet: the candidate names, of which several or none may be right.
(() => {
  const none = document.getElementById("none");
  const list = document.getElementById("candidates");
  const boxes = () => [...list.querySelectorAll("input")];

  function candidate(name, index) {
    const line = document.createElement("li");
    const label = line.appendChild(document.createElement("label"));
    const box = label.appendChild(document.createElement("input"));
    box.type = "checkbox";
    box.value = String(index + 1);
    box.addEventListener("change", () => choose(box));
    label.appendChild(document.createElement("span")).textContent = name;
    if (index < 9) {
      label.appendChild(document.createElement("kbd")).textContent = box.value;
    }
    return line;
  }

  function choose(box) {
    if (box.checked) {
      (box === none ? boxes() : [none]).forEach((other) => { other.checked = false; });
    }
    keep();
  }

  function toggle(box) {
    if (box) {
      box.checked = !box.checked;
      choose(box);
    }
  }

  const keep = startSheet({
    blank: { selected: [], none: false },
    isAnswered: (answer) => answer.none || answer.selected.length > 0,
    clean(raw, item, number) {
      const selected = Array.isArray(raw.selected) ? raw.selected : [];
      if (!selected.every((index) => Number.isInteger(index) && index >= 1 && index <= item.length)) {
        throw new Error(`the answer to picture ${number} chooses a name that is not offered`);
      }
      const kept = [...new Set(selected)].sort((first, second) => first - second);
      return { selected: kept, none: raw.none === true && !kept.length };
    },
    draw(item, answer) {
      list.replaceChildren(...item.map(candidate));
      boxes().forEach((box) => { box.checked = answer.selected.includes(Number(box.value)); });
      none.checked = answer.none;
    },
    readForm: () => ({ selected: boxes().filter((box) => box.checked).map((box) => Number(box.value)), none: none.checked }),
    keys: { 0: () => toggle(none) },
    digit: (number) => toggle(boxes()[number - 1]),
    within: () => list.contains(document.activeElement) || document.activeElement === none,
    focus: () => boxes()[0].focus(),
  });

  none.addEventListener("change", () => choose(none));
})();
