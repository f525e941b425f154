"use strict";

// One picture at a time: the others stay as text until they are looked at, so that hundreds do no harm.
(() => {
  const place = (id) => document.getElementById(id);
  const sheet = JSON.parse(place("sheet").textContent);
  const total = sheet.items.length;
  const schema = 1;
  const memory = `eyechart sheet ${sheet.sheet}`;
  const state = { at: 1, answers: {} };

  const answer = (number) => state.answers[number] || { chosen: [], none: false, comment: "" };
  const answered = (number) => answer(number).none || answer(number).chosen.length > 0;
  const numbers = Array.from({ length: total }, (_, index) => index + 1);
  const done = () => numbers.filter(answered).length;

  function say(text, bad = false) {
    place("said").textContent = text;
    place("said").classList.toggle("bad", bad);
  }

  // What comes from a file or from the browser's memory may be anything.
  function checked(found) {
    if (found === null || typeof found !== "object" || found.schema !== schema || typeof found.answers !== "object") {
      throw new Error("it holds no answers to a sheet");
    }
    if (found.sheet !== sheet.sheet) {
      throw new Error(`it answers the sheet ${String(found.sheet).slice(0, 40)}, and this is the sheet ${sheet.sheet}`);
    }
    const clean = {};
    for (const [number, given] of Object.entries(found.answers || {})) {
      const item = /^[1-9]\d*$/.test(number) ? sheet.items[number - 1] : undefined;
      if (!item || given === null || typeof given !== "object") {
        throw new Error(`it answers a picture ${number.slice(0, 40)}, and this sheet has 1 to ${total}`);
      }
      const chosen = Array.isArray(given.chosen) ? given.chosen : [];
      if (!chosen.every((one) => Number.isInteger(one) && one >= 1 && one <= item.length)) {
        throw new Error(`it chooses what picture ${number} does not offer`);
      }
      const kept = [...new Set(chosen)].sort((one, other) => one - other);
      clean[number] = { chosen: kept, none: given.none === true && !kept.length, comment: String(given.comment ?? "").slice(0, 2000) };
    }
    return clean;
  }

  function written() {
    return { schema, sheet: sheet.sheet, answers: state.answers };
  }

  function remember() {
    try {
      localStorage.setItem(memory, JSON.stringify({ ...written(), at: state.at }));
      return true;
    } catch {
      say("This browser keeps nothing: download the answers before you close the page.", true);
      return false;
    }
  }

  function recall() {
    try {
      const kept = JSON.parse(localStorage.getItem(memory) || "null");
      if (kept) {
        state.answers = checked(kept);
        state.at = numbers.includes(kept.at) ? kept.at : 1;
      }
    } catch (error) {
      say(`What this browser kept of the sheet cannot be read: ${error.message}.`, true);
    }
  }

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

  const boxes = () => [...place("candidates").querySelectorAll("input")];

  function choose(box) {
    if (box.checked) {
      (box === place("none") ? boxes() : [place("none")]).forEach((other) => { other.checked = false; });
    }
    keep();
  }

  function keep() {
    const chosen = boxes().filter((box) => box.checked).map((box) => Number(box.value));
    const given = { chosen, none: place("none").checked, comment: place("comment").value };
    if (given.none || chosen.length || given.comment) {
      state.answers[state.at] = given;
    } else {
      delete state.answers[state.at];
    }
    if (remember()) {
      say(done() === total ? `All ${total} pictures are answered: download the answers and hand them back.` : "");
    }
    progress();
  }

  function progress() {
    place("bar").max = total;
    place("bar").value = done();
    place("count").textContent = `${done()} of ${total} answered`;
    place("where").textContent = `Picture ${state.at} of ${total}${answered(state.at) ? ", answered" : ""}`;
    place("todo").disabled = done() === total;
    place("download").classList.toggle("main", done() === total);
    overview();
  }

  function show(number) {
    const within = place("candidates").contains(document.activeElement) || document.activeElement === place("none");
    state.at = Math.min(Math.max(number, 1), total);
    const given = answer(state.at);
    place("picture").src = place(`picture-${state.at}`).textContent;
    place("picture").alt = `Picture ${state.at} of ${total}`;
    place("candidates").replaceChildren(...sheet.items[state.at - 1].map(candidate));
    boxes().forEach((box) => { box.checked = given.chosen.includes(Number(box.value)); });
    place("none").checked = given.none;
    place("comment").value = given.comment;
    place("back").disabled = state.at === 1;
    progress();
    if (within) {
      boxes()[0].focus();
    }
  }

  function go(number) {
    show(number);
    remember();
  }

  function unanswered() {
    const later = [...numbers.slice(state.at), ...numbers.slice(0, state.at)];
    return later.find((number) => !answered(number));
  }

  function forward() {
    const next = state.at < total ? state.at + 1 : unanswered();
    if (next) {
      go(next);
    } else {
      place("download").focus();
    }
  }

  function download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(written(), null, 1), "\n"], { type: "application/json" }));
    link.download = `answers-${sheet.sheet}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    const left = total - done();
    say(`Downloaded as ${link.download}${left ? `; ${left} of ${total} pictures have no answer yet.` : "."}`);
  }

  async function load(file) {
    try {
      const found = checked(JSON.parse(await file.text()));
      Object.assign(state.answers, found);
      show(state.at);
      if (remember()) {
        say(`Loaded ${Object.keys(found).length} answers from ${file.name}.`);
      }
    } catch (error) {
      say(`${file.name} cannot be loaded: ${error.message}.`, true);
    }
  }

  function forget() {
    if (confirm(`Forget the answers to ${done()} pictures? They can only be brought back from a downloaded file.`)) {
      state.answers = {};
      go(1);
      say("All answers are forgotten.");
    }
  }

  // The list is made when it is first opened, and then kept up to date.
  function overview() {
    if (!place("overview").open) {
      return;
    }
    if (!place("all").childElementCount) {
      place("all").append(...numbers.map(entry));
    }
    [...place("all").querySelectorAll("button")].forEach((button, index) => {
      button.classList.toggle("answered", answered(index + 1));
      button.setAttribute("aria-label", `Picture ${index + 1}${answered(index + 1) ? ", answered" : ""}`);
      button.setAttribute("aria-current", String(index + 1 === state.at));
    });
  }

  function entry(number) {
    const line = document.createElement("li");
    const button = line.appendChild(document.createElement("button"));
    button.type = "button";
    button.textContent = String(number);
    button.addEventListener("click", () => go(number));
    return line;
  }

  function toggle(box) {
    if (box) {
      box.checked = !box.checked;
      choose(box);
    }
  }

  const keys = {
    Enter: forward,
    ArrowRight: forward,
    ArrowLeft: () => go(state.at - 1),
    u: () => go(unanswered() || state.at),
    0: () => toggle(place("none")),
  };

  function pressed(event) {
    const taken = event.target === place("comment") || (event.key === "Enter" && event.target !== document.body);
    if (event.ctrlKey || event.metaKey || event.altKey || taken || !place("shortcuts").checked) {
      return;
    }
    const digit = /^[1-9]$/.test(event.key) ? () => toggle(boxes()[event.key - 1]) : undefined;
    const act = digit || keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  }

  place("form").addEventListener("submit", (event) => { event.preventDefault(); forward(); });
  place("none").addEventListener("change", () => choose(place("none")));
  place("comment").addEventListener("input", keep);
  place("back").addEventListener("click", () => go(state.at - 1));
  place("todo").addEventListener("click", keys.u);
  place("download").addEventListener("click", download);
  place("open").addEventListener("click", () => place("file").click());
  place("file").addEventListener("change", () => {
    const [file] = place("file").files;
    place("file").value = "";
    if (file) {
      load(file);
    }
  });
  place("forget").addEventListener("click", forget);
  place("overview").addEventListener("toggle", overview);
  document.addEventListener("keydown", pressed);
  addEventListener("storage", (event) => {
    if (event.key === memory && event.newValue) {
      const at = state.at;
      recall();
      show(at);
    }
  });

  recall();
  show(state.at);
})();
