// Runs model.onnx on the rows of rows.json and prints what it gives: node predict.cjs
const { readFileSync } = require("node:fs");
const ort = require("onnxruntime-node");

async function main() {
  const rows = JSON.parse(readFileSync("rows.json", "utf8"));
  const session = await ort.InferenceSession.create("model.onnx");
  const pixels = new ort.Tensor("float32", Float32Array.from(rows.flat(3)), [rows.length, 8, 8, 1]);
  const { output } = await session.run({ [session.inputNames[0]]: pixels });
  const [count, classes] = output.dims;
  const logits = Array.from({ length: count }, (_, i) => Array.from(output.data.slice(i * classes, (i + 1) * classes)));
  console.log(JSON.stringify(logits));
}

main();
