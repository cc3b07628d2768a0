// Tells progress without loading the page anew, and takes files that are dropped; without it everything works.
"use strict";
(() => {
  const working = document.getElementById("working");
  if (working) follow(working);
  for (const form of document.querySelectorAll("form.drop")) takesFiles(form);

  async function follow(part) {
    const told = document.getElementById("told");
    const bar = part.querySelector("progress");
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 700));
      let state;
      try {
        const answer = await fetch(part.dataset.state, { redirect: "error" });
        if (!answer.ok) return location.reload();
        state = await answer.json();
      } catch {
        told.textContent = "The server does not answer. This page keeps trying.";
        bar.removeAttribute("value");
        continue;
      }
      if (state.state !== "waiting" && state.state !== "running") return location.reload();
      const words = state.told + (state.n_before ? ` (${state.n_before} first)` : "");
      if (told.textContent !== words) told.textContent = words;
      if (state.share === null) bar.removeAttribute("value");
      else bar.value = state.share;
    }
  }

  function takesFiles(form) {
    const input = form.querySelector("input[type=file]");
    const most = Number(form.dataset.megabytes || Infinity) * 1e6;
    const warning = form.querySelector("[role=alert]");
    const button = form.querySelector("button.go");
    const look = () => {
      const isTooLarge = input.files.length > 0 && input.files[0].size > most;
      if (warning) warning.hidden = !isTooLarge;
      button.disabled = isTooLarge;
    };
    input.addEventListener("change", look);
    for (const name of ["dragover", "dragenter"]) {
      form.addEventListener(name, (event) => { event.preventDefault(); form.classList.add("over"); });
    }
    form.addEventListener("dragleave", () => form.classList.remove("over"));
    form.addEventListener("drop", (event) => {
      event.preventDefault();
      form.classList.remove("over");
      if (event.dataTransfer.files.length !== 1) return;
      input.files = event.dataTransfer.files;
      look();
      button.focus();
    });
    form.addEventListener("submit", () => { button.textContent = "Sending…"; });
  }
})();
