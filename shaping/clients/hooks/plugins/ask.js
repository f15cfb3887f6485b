// Written by `shaping hook install`; `shaping hook uninstall` deletes it.
// Results of the client's shell, search and fetch tools are shaped by shaping's resident process before the model reads
// them. Whatever goes wrong, the tool's own result stays.
import { spawn } from "node:child_process"
import net from "node:net"

const told = {/* told at installation */}
const MILLISECONDS = 1000

function start() {
  const options = { detached: true, stdio: "ignore", cwd: "/" }
  const started = spawn(told.python, ["-m", "shaping.clients.hooks.resident", told.directory], options)
  started.on("error", () => {})
  started.unref()
}

function ask(payload) {
  return new Promise((resolve) => {
    const ours = Object.entries(process.env).filter(([name, value]) => name.startsWith("SHAPING") && !value.includes("\n"))
    const body = Buffer.from(JSON.stringify(payload))
    const head = [`${told.client} ${body.length}`, ...ours.map(([name, value]) => `${name}=${value}`), "", ""].join("\n")
    const parts = []
    const connection = net.createConnection({ path: `${told.directory}/socket` })
    const give_up = setTimeout(() => connection.destroy(), MILLISECONDS)
    connection.on("connect", () => connection.write(Buffer.concat([Buffer.from(head), body])))
    connection.on("data", (part) => parts.push(part))
    connection.on("end", () => resolve(Buffer.concat(parts).toString()))
    connection.on("error", () => { start(); resolve("") })
    connection.on("close", () => { clearTimeout(give_up); resolve("") })
  })
}

async function shaped(payload) {
  try {
    const answer = await ask(payload)
    return answer ? JSON.parse(answer).output : undefined
  } catch {
    return undefined
  }
}
