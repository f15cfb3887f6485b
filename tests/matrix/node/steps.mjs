// What both clients do alike: connect, run each step, and print one outcome a step as JSON.
// A busy machine may take longer than the minute that clients wait by themselves.
const patient = { timeout: 600_000 };

async function outcome(work) {
  try {
    return { ok: await work() };
  } catch (error) {
    return { error: String(error.message ?? error), code: error.code ?? null };
  }
}

export async function run(newClient, newTransport, callTool) {
  const spec = JSON.parse(process.argv[2]);
  const client = newClient({ name: "matrix", version: "1.0.0" });
  await client.connect(newTransport({ ...spec.server, stderr: "ignore" }), patient);
  const outcomes = [];
  for (const step of spec.steps) {
    const work = () => (step.list ? client.listTools(undefined, patient) : callTool(client, step.call, patient));
    outcomes.push(await outcome(work));
  }
  await client.close();
  console.log(JSON.stringify(outcomes));
}
