"use strict";

// What every sheet does: it shows one picture at a time and keeps what is said about each. The others stay as text until
// they are looked at, so that hundreds do no harm. A sheet's own script tells what an answer is:
//   blank            what is said of a picture at first
//   made(answer)     whether that is an answer, and not a comment alone
//   clean(raw, item) an answer of which nothing is known, made one; what it cannot be is an Error
//   draw(item, answer), given()  show an item with its answer; read the answer from the page
//   keys, digit(n)   what keys do; what the key of a number does, if anything
//   within(), focus()            whether the keyboard is at the answers; bring it there
function startSheet({ blank, made, clean, draw, given, keys, digit, within, focus }) {
  const place = (id) => document.getElementById(id);
  const sheet = JSON.parse(place("sheet").textContent);
  const total = sheet.items.length;
  const schema = 1;
  const memory = `eyechart sheet ${sheet.sheet}`;
  const state = { at: 1, answers: {} };

  const answer = (number) => state.answers[number] || { ...blank, comment: "" };
  const answered = (number) => made(answer(number));
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
    const kept = {};
    for (const [number, raw] of Object.entries(found.answers || {})) {
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

  function keep() {
    const said = { ...given(), comment: place("comment").value };
    if (made(said) || said.comment) {
      state.answers[state.at] = said;
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
    const inside = within();
    state.at = Math.min(Math.max(number, 1), total);
    place("picture").src = place(`picture-${state.at}`).textContent;
    place("picture").alt = `Picture ${state.at} of ${total}`;
    draw(sheet.items[state.at - 1], answer(state.at));
    place("comment").value = answer(state.at).comment;
    place("back").disabled = state.at === 1;
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

  const acts = {
    Enter: forward,
    ArrowRight: forward,
    ArrowLeft: () => go(state.at - 1),
    u: () => go(unanswered() || state.at),
    ...keys,
  };

  function pressed(event) {
    const taken = event.target === place("comment") || (event.key === "Enter" && event.target !== document.body);
    if (event.ctrlKey || event.metaKey || event.altKey || taken || !place("shortcuts").checked) {
      return;
    }
    const act = /^[1-9]$/.test(event.key) ? () => digit(Number(event.key)) : acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  }

  place("form").addEventListener("submit", (event) => { event.preventDefault(); forward(); });
  place("comment").addEventListener("input", keep);
  place("back").addEventListener("click", () => go(state.at - 1));
  place("todo").addEventListener("click", acts.u);
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
  return keep;
}
