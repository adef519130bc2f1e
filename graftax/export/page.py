"""The page that a server shows: its programs, and a form to try each."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>graftax</title>
<link rel="icon" href="data:,">
<style>
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --mark: #2a7; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin: 0; }
section { border: 1px solid var(--line); border-radius: 8px; padding: 1rem; margin: 1rem 0; }
table { border-collapse: collapse; margin: .5rem 0; } td { padding: .1rem 1rem .1rem 0; }
code, textarea, pre { font: 14px/1.4 ui-monospace, monospace; }
label { display: block; margin-top: .5rem; }
textarea { width: 100%; box-sizing: border-box; min-height: 4.5rem; }
button { margin-top: .75rem; padding: .4rem 1.2rem; }
pre { background: var(--soft); padding: .75rem; overflow: auto; max-height: 20rem; white-space: pre-wrap; }
.error { border-left: 4px solid #c33; } .fine { border-left: 4px solid var(--mark); } small { opacity: .75; }
</style>
</head>
<body>
<h1>Programs</h1>
<p id="about"></p>
<main id="programs"></main>
<script>
const made = (tag, text, ...children) => {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  element.append(...children);
  return element;
};
const shown = (one) => `${one.dtype}[${one.shape.join(" ")}]`;

function example(input) {
  const sizes = input.shape.map((size) => typeof size === "number" ? size : 2);
  const [least, most] = input.bounds || [0, 0];
  const low = Math.min(Math.max(0, least), most);
  const fill = (depth) => depth === sizes.length
    ? (input.dtype === "bool" ? true : low)
    : Array.from({length: sizes[depth]}, () => fill(depth + 1));
  return JSON.stringify(fill(0));
}

function form(name, about) {
  const box = made("section", "", made("h2", name));
  box.id = name;
  const table = made("table");
  for (const [kind, list] of [["takes", about.inputs], ["gives", about.outputs]])
    for (const one of list) {
      const bounds = one.bounds ? `from ${one.bounds[0]} to ${one.bounds[1]}` : "";
      table.append(made("tr", "", made("td", kind), made("td", one.name), made("td", "", made("code", shown(one))),
        made("td", bounds)));
    }
  box.append(table);
  if (about.constraints.length) box.append(made("small", `where ${about.constraints.join(", ")}`));
  const fields = about.inputs.map((input) => {
    const area = made("textarea");
    area.value = example(input);
    area.spellcheck = false;
    box.append(made("label", input.name, area));
    return [input.name, area];
  });
  const button = made("button", "Run");
  const result = made("pre");
  result.hidden = true;
  result.setAttribute("aria-live", "polite");
  button.onclick = async () => {
    button.disabled = true;
    const began = performance.now();
    let text, fine = false;
    try {
      const body = {};
      for (const [input, area] of fields)
        try { body[input] = JSON.parse(area.value); }
        catch (error) { throw new Error(`${input} is no JSON: ${error.message}`); }
      const answer = await fetch(`/${name}`, {
        method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body),
      });
      const found = await answer.json();
      fine = answer.ok;
      text = fine ? `${JSON.stringify(found)}\\n${(performance.now() - began).toFixed(1)} ms` : found.error;
    } catch (error) { text = error.message; }
    result.textContent = text;
    result.className = fine ? "fine" : "error";
    result.hidden = false;
    button.disabled = false;
  };
  box.append(button, result);
  return box;
}

fetch("/manifest.json").then((answer) => answer.json()).then((manifest) => {
  document.getElementById("about").textContent =
    `Written ${manifest.created} by graftax ${manifest.graftax}. POST JSON of inputs by name to /<program>.`;
  const programs = document.getElementById("programs");
  for (const [name, about] of Object.entries(manifest.signatures)) programs.append(form(name, about));
});
</script>
</body>
</html>
"""
"""The whole page; what it shows comes from the manifest, as text and never as markup."""
