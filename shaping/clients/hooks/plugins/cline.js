
const TOOLS = { run_commands: "bash", search_codebase: "grep", fetch_web_content: "webfetch" }
const replaced = new Set()  // calls whose result the client has not yet recorded

// What stands in the conversation is what the model reads: only that is counted as saved.
async function confirm(snapshot) {
  for (const message of replaced.size ? (snapshot?.messages ?? []) : [])
    for (const part of Array.isArray(message.content) ? message.content : [])
      if (part.type === "tool-result" && replaced.delete(part.toolCallId))
        for (const [at, one] of (Array.isArray(part.output) ? part.output : []).entries())
          await ask({ call: `${part.toolCallId}#${at}`, shown: String(one.result) })
}

export default {
  name: "shaping",
  manifest: { capabilities: ["hooks"] },
  hooks: {
    beforeRun: async () => { await ask({}) },  // starts the resident process before the first tool has run
    afterRun: async ({ snapshot }) => confirm(snapshot),
    afterTool: async ({ snapshot, tool: called, toolCall, result }) => {
      await confirm(snapshot)
      const tool = TOOLS[called?.name]
      if (!tool || result.isError || !Array.isArray(result.output)) return
      const output = []
      for (const [at, one] of result.output.entries()) {
        const asked = { tool, args: { command: one.query }, session: snapshot?.conversationId, cwd: process.cwd() }
        const text = typeof one.result === "string" ? await shaped({ ...asked, call: `${toolCall.toolCallId}#${at}`, output: one.result }) : undefined
        output.push(text === undefined ? one : { ...one, result: text })
      }
      if (output.every((one, at) => one === result.output[at])) return
      replaced.add(toolCall.toolCallId)
      return { result: { ...result, output } }
    },
  },
}
