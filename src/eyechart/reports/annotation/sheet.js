"use strict";

// The code of every sheet: it shows one picture at a time and stores the answer to each. The other pictures stay as text
// until they are shown, so that hundreds of them need little memory. The script of a kind of sheet defines the answers:
//   blank                  the answer to a picture at first
//   isAnswered(answer)     whether there is an answer, not only a comment
//   clean(raw, item)       return a valid answer from unchecked data; throw an Error if it is invalid
//   draw(item, answer), readForm()  show an item with its answer; read the answer from the form
//   keys, digit(n)         what keys do; what the key of a number does, if anything
//   within(), focus()      whether the keyboard focus is in the form; move it there
function startSheet({ blank, isAnswered, clean, draw, readForm, keys, digit, within, focus }) {
  const byId = (id) => document.getElementById(id);
  const sheet = JSON.parse(byId("sheet").textContent);
  const total = sheet.items.length;
  const schema = 1;
  const memory = `eyechart sheet ${sheet.sheet}`;
  const state = { at: 1, answers: {} };

  const answer = (number) => state.answers[number] || { ...blank, comment: "" };
  const answered = (number) => isAnswered(answer(number));
  const numbers = Array.from({ length: total }, (_, index) => index + 1);
  const done = () => numbers.filter(answered).length;

  function showStatus(text, bad = false) {
    byId("status").textContent = text;
    byId("status").classList.toggle("bad", bad);
  }

  // Check answers from a file or from the browser's storage, which may contain anything.
  function checked(data) {
    if (data === null || typeof data !== "object" || data.schema !== schema || typeof data.answers !== "object") {
      throw new Error("it holds no answers to a sheet");
    }
    if (data.sheet !== sheet.sheet) {
      throw new Error(`it answers the sheet ${String(data.sheet).slice(0, 40)}, and this is the sheet ${sheet.sheet}`);
    }
    const kept = {};
    for (const [number, raw] of Object.entries(data.answers || {})) {
      const item = /^[1-9]\d*$/.test(number) ? sheet.items[number - 1] : undefined;
      if (!item || raw === null || typeof raw !== "object") {
        throw new Error(`it answers a picture ${number.slice(0, 40)}, and this sheet has 1 to ${total}`);
      }
      kept[number] = { ...clean(raw, item, number), comment: String(raw.comment ?? "").slice(0, 2000) };
    }
    return kept;
  }

  function written() {
    return { schema, sheet: sheet.sheet, ...sheet.about, answers: state.answers };
  }

  function remember() {
    try {
      localStorage.setItem(memory, JSON.stringify({ ...written(), at: state.at }));
      return true;
    } catch {
      showStatus("This browser stores nothing: download the answers before you close the page.", true);
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
      showStatus(`The answers stored in this browser cannot be read: ${error.message}.`, true);
    }
  }

  function keep() {
    const current = { ...readForm(), comment: byId("comment").value };
    if (isAnswered(current) || current.comment) {
      state.answers[state.at] = current;
    } else {
      delete state.answers[state.at];
    }
    if (remember()) {
      showStatus(done() === total ? `All ${total} pictures are answered: download the answers and send them back.` : "");
    }
    progress();
  }

  function progress() {
    byId("bar").max = total;
    byId("bar").value = done();
    byId("count").textContent = `${done()} of ${total} answered`;
    byId("where").textContent = `Picture ${state.at} of ${total}${answered(state.at) ? ", answered" : ""}`;
    byId("todo").disabled = done() === total;
    byId("download").classList.toggle("main", done() === total);
    overview();
  }

  function show(number) {
    const inside = within();
    state.at = Math.min(Math.max(number, 1), total);
    byId("picture").src = byId(`picture-${state.at}`).textContent;
    byId("picture").alt = `Picture ${state.at} of ${total}`;
    draw(sheet.items[state.at - 1], answer(state.at));
    byId("comment").value = answer(state.at).comment;
    byId("back").disabled = state.at === 1;
    progress();
    if (inside) {
      focus();
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
      byId("download").focus();
    }
  }

  function download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(written(), null, 1), "\n"], { type: "application/json" }));
    link.download = `answers-${sheet.sheet}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    const left = total - done();
    showStatus(`Downloaded as ${link.download}${left ? `; ${left} of ${total} pictures have no answer yet.` : "."}`);
  }

  async function load(file) {
    try {
      const answers = checked(JSON.parse(await file.text()));
      Object.assign(state.answers, answers);
      show(state.at);
      if (remember()) {
        showStatus(`Loaded ${Object.keys(answers).length} answers from ${file.name}.`);
      }
    } catch (error) {
      showStatus(`${file.name} cannot be loaded: ${error.message}.`, true);
    }
  }

  function forget() {
    if (confirm(`Forget the answers to ${done()} pictures? They can only be brought back from a downloaded file.`)) {
      state.answers = {};
      go(1);
      showStatus("All answers are forgotten.");
    }
  }

  // The list is isAnswered when it is first opened, and then kept up to date.
  function overview() {
    if (!byId("overview").open) {
      return;
    }
    if (!byId("all").childElementCount) {
      byId("all").append(...numbers.map(entry));
    }
    [...byId("all").querySelectorAll("button")].forEach((button, index) => {
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

  const acts = {
    Enter: forward,
    ArrowRight: forward,
    ArrowLeft: () => go(state.at - 1),
    u: () => go(unanswered() || state.at),
    ...keys,
  };

  function pressed(event) {
    const taken = event.target === byId("comment") || (event.key === "Enter" && event.target !== document.body);
    if (event.ctrlKey || event.metaKey || event.altKey || taken || !byId("shortcuts").checked) {
      return;
    }
    const act = /^[1-9]$/.test(event.key) ? () => digit(Number(event.key)) : acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  }

  byId("form").addEventListener("submit", (event) => { event.preventDefault(); forward(); });
  byId("comment").addEventListener("input", keep);
  byId("back").addEventListener("click", () => go(state.at - 1));
  byId("todo").addEventListener("click", acts.u);
  byId("download").addEventListener("click", download);
  byId("open").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", () => {
    const [file] = byId("file").files;
    byId("file").value = "";
    if (file) {
      load(file);
    }
  });
  byId("forget").addEventListener("click", forget);
  byId("overview").addEventListener("toggle", overview);
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
  return keep;
}
