// The same on the TypeScript client 2.x, which asks for the newer protocol first.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { run } from "./steps.mjs";

await run(
  (info) => new Client(info, { versionNegotiation: { mode: "auto", probe: { timeoutMs: 600_000 } } }),
  (server) => new StdioClientTransport(server),
  (client, call, options) => client.callTool(call, options),
);
