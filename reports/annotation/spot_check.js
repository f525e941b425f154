// One verdict a pair. What a detector said of it stands beside, as text.
(() => {
  const place = (id) => document.getElementById(id);
  const radios = [...place("verdicts").querySelectorAll("input")];
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
    blank: { said: "" },
    made: (answer) => answer.said !== "",
    clean(raw, item, number) {
      if (raw.said !== undefined && raw.said !== "" && !values.includes(raw.said)) {
        throw new Error(`it says ${String(raw.said).slice(0, 40)} to picture ${number}, expected ${values.join(", ")}`);
      }
      return { said: raw.said || "" };
    },
    draw(item, answer) {
      for (const name of ["category", "here", "set", "key"]) {
        place(name).textContent = item[name];
      }
      place("why").replaceChildren(...item.why.map(reason));
      radios.forEach((radio) => { radio.checked = radio.value === answer.said; });
    },
    given: () => ({ said: radios.find((radio) => radio.checked)?.value || "" }),
    keys: { a: () => toggle(radios[0]), r: () => toggle(radios[1]), s: () => toggle(radios[2]) },
    digit: (number) => toggle(radios[number - 1]),
    within: () => radios.includes(document.activeElement),
    focus: () => (radios.find((radio) => radio.checked) || radios[0]).focus(),
  });

  radios.forEach((radio) => radio.addEventListener("change", keep));
})();
