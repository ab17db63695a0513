// Completes what is typed, with the browser's own list. The page does without.
"use strict";
(() => {
  const box = document.getElementById("q");
  const list = document.getElementById("completions");
  if (!box || !list) return;
  let asked = null;
  let timer = 0;
  const ask = async () => {
    const start = box.value;
    if (asked) asked.abort();
    if (start.trim().length < 2) return list.replaceChildren();
    asked = new AbortController();
    try {
      const answer = await fetch("/v1/complete?limit=8&q=" + encodeURIComponent(start), { signal: asked.signal });
      if (!answer.ok) return;
      const told = await answer.json();
      list.replaceChildren(...told.completions.map((text) => {
        const option = document.createElement("option");
        option.value = text;
        return option;
      }));
    } catch {
      // Gone away, or asked again meanwhile: then there is nothing to complete.
    }
  };
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, 120);
  });
})();
