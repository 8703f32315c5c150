// The client of the TypeScript SDK: makes the calls that it is told on standard input, one after the
// other, and prints what came back. The SDK itself compares results with the schemas that were listed.

import { text } from "node:stream/consumers";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const { server, calls } = JSON.parse(await text(process.stdin));
const client = new Client({ name: "a test", version: "1" });
await client.connect(new StdioClientTransport(server));
const { tools } = await client.listTools();
const results = [];
for (const [name, args] of calls) {
  results.push(await client.callTool({ name, arguments: args }));
}
const { resources } = await client.listResources();
const { contents } = await client.readResource({ uri: resources[0].uri });
await client.close();
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), results, contents }));
