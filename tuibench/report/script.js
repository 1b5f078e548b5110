// Reads values off all charts at once where the pointer is, and opens what is folded before printing.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const charts = [...document.querySelectorAll("svg.chart")];
  const clock = (seconds) => {
    const whole = Math.floor(Math.abs(seconds)), two = (n) => String(n).padStart(2, "0");
    const hours = Math.floor(whole / 3600), minutes = Math.floor(whole / 60) % 60;
    const text = hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${two(minutes)}:${two(whole % 60)}`;
    return (seconds < 0 && whole ? "−" : "") + text;
  };
  const nearest = (seconds) => {
    let best = 0;
    data.times.forEach((at, place) => { if (Math.abs(at - seconds) < Math.abs(data.times[best] - seconds)) best = place; });
    return best;
  };
  const show = (place) => {
    const at = data.times[place];
    for (const svg of charts) {
      const left = +svg.dataset.left, right = +svg.dataset.right;
      const x = left + (at - data.start) / (data.end - data.start) * (right - left);
      const cursor = svg.querySelector(".cursor");
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      svg.classList.add("at");
      const figure = svg.closest("figure");
      (data.charts[figure.id] || []).forEach((values, number) => {
        const field = figure.querySelectorAll(".key em")[number];
        if (field) field.textContent = values[place];
      });
      const time = figure.querySelector(".when");
      if (time) time.textContent = "at " + clock(at);
    }
  };
  const hide = () => {
    for (const svg of charts) {
      svg.classList.remove("at");
      const figure = svg.closest("figure");
      figure.querySelectorAll(".key em").forEach((field) => { field.textContent = field.dataset.run; });
      const time = figure.querySelector(".when");
      if (time) time.textContent = time.dataset.text;
    }
  };
  for (const svg of charts) {
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect(), left = +svg.dataset.left, right = +svg.dataset.right;
      const x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
      if (x < left || x > right) { hide(); return; }
      show(nearest(data.start + (x - left) / (right - left) * (data.end - data.start)));
    });
    svg.addEventListener("pointerleave", hide);
  }
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
})();
