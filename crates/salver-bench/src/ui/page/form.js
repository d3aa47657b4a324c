// The form: one table of its fields, which of them are shown, what is wrong with them.

const form = byId("form");

const PROTOCOLS = {
  "http/1.1": "HTTP/1.1",
  h2: "HTTP/2 over TLS",
  h2c: "HTTP/2 in the clear (h2c)",
  h3: "HTTP/3",
};

// The hint below the fields, by kind of run.
const HINTS = {
  cache: "Each size is measured for so long each way, in turns; for intervals give 2 s or more.",
  load:
    "It is measured for so long after a warm-up. Without a rate each connection asks again as soon as it is " +
    "answered; with one, requests leave when they are due, whether or not earlier ones are answered.",
  compare:
    "Each of the two is measured for so long at most, in turns: it ends as soon as the verdict is known. Give 4 s " +
    "or more.",
};

// A field has a label for each kind of run that uses it, and is shown if `when` does not object. The server
// knows it by the same name, wanted and saved. A text has an input, a choice has `options`.
const LOADS = (text) => ({ load: text, compare: text });
const ALL = (text) => ({ cache: text, ...LOADS(text) });
const FIELDS = [
  {
    name: "url",
    label: { load: "URL", compare: "First URL" },
    hint: { load: "Leave it empty to have Salver serve the directory." },
    placeholder: "http://127.0.0.1:8080/",
    inputmode: "url",
  },
  { name: "protocol", label: { load: "Protocol", compare: "Protocol of the first" }, options: PROTOCOLS },
  {
    name: "url_b",
    label: { compare: "Second URL" },
    hint: { compare: "It is judged: faster than the first, slower, or the same." },
    placeholder: "http://127.0.0.1:8081/",
    inputmode: "url",
  },
  { name: "protocol_b", label: { compare: "Protocol of the second" }, options: PROTOCOLS },
  {
    name: "any_certificate",
    label: LOADS("Trust any certificate"),
    type: "checkbox",
    when: () => given("url").some((url) => /^\s*https:/i.test(url)),
  },
  {
    name: "directory",
    label: LOADS("Directory of the site"),
    hint: {
      load: "What the server serves: every answer is then compared with its file.",
      compare: "What both serve: each of its files is compared, and every answer is checked with it.",
    },
    optional: true,
  },
  {
    name: "scratch",
    label: { cache: "Make files in" },
    hint: {
      cache: "Where the files to measure with are made, and removed. Empty: the directory for temporary files.",
    },
    optional: true,
  },
  { name: "duration_seconds", label: ALL("Duration, s"), value: 10, half: true },
  { name: "connections", label: ALL("Connections"), value: 64, half: true },
  { name: "rate", label: { load: "Rate, per s" }, placeholder: "none", half: true },
  {
    name: "streams",
    label: LOADS("Streams each"),
    value: 1,
    half: true,
    when: () => given("protocol").some((protocol) => protocol !== "http/1.1"),
  },
];

const kind = () => form.elements.kind.value;

// The value of a field, and with a comparison that of the second.
const given = (name) => (kind() === "compare" ? [name, `${name}_b`] : [name]).map((of) => byId(of).value);

function fieldOf({ name, type = "text", options, value, placeholder, inputmode, half, optional }) {
  // That of a narrow field stands below all of them.
  const hint = half ? null : html("p", { class: "hint", id: `${name}-hint` });
  const attributes = { id: name, name, "aria-describedby": `${hint?.id ?? "form-hint"} ${name}-error` };
  const input = options
    ? html(
        "select",
        attributes,
        Object.entries(options).map(([key, text]) => html("option", { value: key }, text)),
      )
    : html("input", {
        ...attributes,
        type,
        value,
        placeholder,
        inputmode: half ? "decimal" : inputmode,
        autocomplete: "off",
        spellcheck: "false",
      });
  const label = [
    html("span", { id: `${name}-label` }),
    optional ? html("span", { class: "optional" }, " (optional)") : null,
  ];
  return html(
    "div",
    { id: `${name}-field`, class: half ? "field half" : "field" },
    type === "checkbox"
      ? html("label", { class: "choice" }, input, label)
      : [html("label", { for: name }, label), input],
    hint,
    html("p", { class: "error", id: `${name}-error` }),
  );
}

// Shows what the kind of run uses. What is not shown is not sent, and keeps what was typed.
function showFields() {
  for (const { name, label, hint, when, half } of FIELDS) {
    const shown = label[kind()] !== undefined && (when === undefined || when());
    byId(`${name}-field`).hidden = !shown;
    byId(name).disabled = !shown;
    byId(`${name}-label`).textContent = label[kind()] ?? "";
    if (!half) byId(`${name}-hint`).textContent = hint?.[kind()] ?? "";
  }
  byId("form-hint").textContent = HINTS[kind()];
}

function showErrors(message, fields = {}) {
  byId("form-error").textContent = message;
  for (const { name } of FIELDS) {
    byId(`${name}-error`).textContent = fields[name] ?? "";
    if (fields[name]) byId(name).setAttribute("aria-invalid", "true");
    else byId(name).removeAttribute("aria-invalid");
  }
  const first = FIELDS.find(({ name }) => fields[name]);
  if (first) byId(first.name).focus();
}

function fillForm(job) {
  form.elements.kind.value = job.kind;
  for (const { name, type } of FIELDS) {
    if (type === "checkbox") byId(name).checked = job[name];
    else byId(name).value = job[name] ?? "";
  }
  showFields();
}

function beginForm() {
  byId("fields").append(...FIELDS.map(fieldOf));
  form.addEventListener("input", showFields);
  showFields();
}
