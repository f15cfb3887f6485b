
const TOOLS = new Set(["bash", "grep", "webfetch"])

export const Shaping = async ({ directory: cwd }) => {
  const replaced = new Set()  // calls whose result the client has not yet recorded
  await ask({})  // starts the resident process, so that it is there when the first tool has run
  return {
    "tool.execute.after": async ({ tool, args, sessionID: session, callID: call }, output) => {
      if (!TOOLS.has(tool) || typeof output.output !== "string") return
      const text = await shaped({ tool, args, session, call, cwd, output: output.output })
      if (text === undefined) return
      output.output = text
      replaced.add(call)
    },
    event: async ({ event }) => {
      const part = event.type === "message.part.updated" ? event.properties.part : undefined
      // What the client records of a call is what its model reads: only that is counted as saved.
      if (part?.state?.status === "completed" && replaced.delete(part.callID))
        await ask({ call: part.callID, shown: part.state.output })
    },
  }
}
