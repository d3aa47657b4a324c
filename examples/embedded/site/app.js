// Asks the program how it is, and shows what it said.
const output = document.querySelector("#health");

async function ask() {
  const answer = await fetch("/api/health");
  if (!answer.ok) {
    throw new Error(`the program answered ${answer.status}`);
  }
  return (await answer.text()).trim();
}

ask().then(
  (said) => {
    output.textContent = said;
  },
  (error) => {
    output.textContent = `not to be reached: ${error.message}`;
  },
);
