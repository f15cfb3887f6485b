// Written by `shaping hook install`; `shaping hook uninstall` deletes it.
// Results of the client's shell, search and fetch tools are shaped by shaping's resident process before the model reads
// them. Without that process the tool's own result stays; one that it has and does not answer for is withheld, because
// nobody has looked for secrets in it.
import { spawn } from "node:child_process"
import net from "node:net"

const told = {/* told at installation */}
const MILLISECONDS = 4000
const WITHHELD = "[withheld: shaping gave no answer, so secrets could not be taken out; try it again, or ask for less]"
const UNSHAPED = ["off", "observe", "0", "false", "no"]  // values of SHAPING by which results stay as they are

function start() {
  const options = { detached: true, stdio: "ignore", cwd: "/" }
  const started = spawn(told.python, ["-m", "shaping.clients.hooks.resident", told.directory], options)
  started.on("error", () => {})
  started.unref()
}

// Resolves to the answer, "" where the result stays as it is, or undefined where there was no whole answer in time.
function ask(payload) {
  return new Promise((resolve) => {
    const ours = Object.entries(process.env).filter(([name, value]) => name.startsWith("SHAPING") && !value.includes("\n"))
    const body = Buffer.from(JSON.stringify(payload))
    const head = [`${told.client} ${body.length}`, ...ours.map(([name, value]) => `${name}=${value}`), "", ""].join("\n")
    const parts = []
    let connected = false
    const connection = net.createConnection({ path: `${told.directory}/socket` })
    const give_up = setTimeout(() => connection.destroy(), MILLISECONDS)
    connection.on("connect", () => { connected = true; connection.write(Buffer.concat([Buffer.from(head), body])) })
    connection.on("data", (part) => parts.push(part))
    connection.on("end", () => {
      const answer = Buffer.concat(parts).toString()
      if (answer.endsWith("\n")) resolve(answer.trim())  // without its end it is no whole answer
    })
    connection.on("error", () => { if (!connected) { start(); resolve("") } })
    connection.on("close", () => { clearTimeout(give_up); resolve(connected ? undefined : "") })
  })
}

async function shaped(payload) {
  const answer = await ask(payload)
  if (answer === undefined) return UNSHAPED.includes((process.env.SHAPING ?? "").trim().toLowerCase()) ? undefined : WITHHELD
  try {
    return answer ? JSON.parse(answer).output : undefined
  } catch {
    return undefined
  }
}
