// Asks the server for this page's style again and shows how it answered.
const button = document.querySelector("#ask");
const rows = document.querySelector("#answer");
const shown = [
  "Content-Type",
  "Content-Encoding",
  "Content-Length",
  "ETag",
  "Vary",
  "Cache-Control",
  "Accept-Ranges",
  "Last-Modified",
];

async function ask() {
  const began = performance.now();
  const response = await fetch(button.dataset.target, { method: "HEAD", cache: "no-store" });
  const took = performance.now() - began;
  const fields = [["Status", `${response.status}, after ${took.toFixed(1)} ms`]];
  for (const name of shown) {
    if (response.headers.has(name)) fields.push([name, response.headers.get(name)]);
  }
  rows.replaceChildren(
    ...fields.map(([name, value]) => {
      const row = document.createElement("tr");
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = name;
      const cell = document.createElement("td");
      const code = document.createElement("code");
      code.textContent = value;
      cell.append(code);
      row.append(head, cell);
      return row;
    }),
  );
}

button.addEventListener("click", () => {
  ask().catch((error) => {
    rows.textContent = `No answer: ${error.message}`;
  });
});
button.hidden = false;
