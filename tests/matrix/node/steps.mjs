// What both clients do alike: connect, run each step, and print one outcome a step as JSON.
async function outcome(work) {
  try {
    return { ok: await work() };
  } catch (error) {
    return { error: String(error.message ?? error), code: error.code ?? null };
  }
}

export async function run(newClient, newTransport) {
  const spec = JSON.parse(process.argv[2]);
  const client = newClient({ name: "matrix", version: "1.0.0" });
  await client.connect(newTransport({ ...spec.server, stderr: "ignore" }));
  const outcomes = [];
  for (const step of spec.steps) {
    outcomes.push(await outcome(() => (step.list ? client.listTools() : client.callTool(step.call))));
  }
  await client.close();
  console.log(JSON.stringify(outcomes));
}
