// A client on the TypeScript SDK 1.x: runs the steps of a JSON spec against a stdio server and prints what it got.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { run } from "./steps.mjs";

await run(
  (info) => new Client(info),
  (server) => new StdioClientTransport(server),
  (client, call, options) => client.callTool(call, undefined, options),
);
