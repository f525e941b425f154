// The form of a spot check: one verdict per pair; the reasons of the detectors are shown as text.
(() => {
  const byId = (id) => document.getElementById(id);
  const radios = [...byId("verdicts").querySelectorAll("input")];
  const values = radios.map((radio) => radio.value);

  function toggle(radio) {
    if (radio) {
      radio.checked = !radio.checked;
      keep();
    }
  }

  function reason([detector, why]) {
    const line = document.createElement("li");
    line.appendChild(document.createElement("b")).textContent = detector;
    line.append(` ${why}`);
    return line;
  }

  const keep = startSheet({
    blank: { verdict: "" },
    isAnswered: (answer) => answer.verdict !== "",
    clean(raw, item, number) {
      if (raw.verdict !== undefined && raw.verdict !== "" && !values.includes(raw.verdict)) {
        throw new Error(`the verdict on picture ${number} is ${String(raw.verdict).slice(0, 40)}, expected ${values.join(", ")}`);
      }
      return { verdict: raw.verdict || "" };
    },
    draw(item, answer) {
      for (const name of ["category", "here", "set", "key"]) {
        byId(name).textContent = item[name];
      }
      byId("why").replaceChildren(...item.why.map(reason));
      radios.forEach((radio) => { radio.checked = radio.value === answer.verdict; });
    },
    readForm: () => ({ verdict: radios.find((radio) => radio.checked)?.value || "" }),
    keys: { a: () => toggle(radios[0]), r: () => toggle(radios[1]), s: () => toggle(radios[2]) },
    digit: (number) => toggle(radios[number - 1]),
    within: () => radios.includes(document.activeElement),
    focus: () => (radios.find((radio) => radio.checked) || radios[0]).focus(),
  });

  radios.forEach((radio) => radio.addEventListener("change", keep));
})();
