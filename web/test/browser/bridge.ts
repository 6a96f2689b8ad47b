/* SPDX-License-Identifier: Apache-2.0 */
/* A test's way from a browser to an agent: HTTP on the loopback to the agent's socket, with
 * the built console beside it, served as the agent is to serve it. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { extname, join, normalize } from "node:path";
import { gzipSync } from "node:zlib";
import type { AgentEvent, Device, Lease, NodeAddress } from "../../src/api/types";
import type { Agent, Answer } from "./agent";
import { Double } from "./double";

const DIST = join(process.cwd(), "dist");
const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
};
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export interface Options {
  /* Without: an agent as it is, which lacks what it lacks. */
  hasDouble: boolean;
  /* Simulated leases seem to work. */
  seemsUsed: boolean;
  nodes: NodeAddress[];
  /* Whoever has no such token is refused, as over TCP. */
  token: string | null;
  /* How late each answer is, for states in between. */
  delay_ms: number;
}

export class Bridge {
  readonly options: Options;
  served = { bytes: 0, files: [] as string[] };
  agent: Agent;
  private readonly double: Double;
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();

  constructor(agent: Agent, options: Partial<Options> = {}) {
    this.agent = agent;
    this.options = { hasDouble: true, seemsUsed: false, nodes: [], token: null, delay_ms: 0,
      ...options };
    this.double = new Double(agent);
    this.server = createServer((asked, answer) => {
      this.handle(asked, answer).catch(() => {
        if (!answer.headersSent) answer.writeHead(502);
        answer.end();
      });
    });
    this.server.on("connection", (socket) => {
      this.sockets.add(socket);
      socket.on("close", () => this.sockets.delete(socket));
    });
  }

  async listen(port = 0): Promise<string> {
    await new Promise<void>((done) => this.server.listen(port, "127.0.0.1", done));
    return this.url;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((done) => this.server.close(done));
  }

  private async handle(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const url = new URL(asked.url ?? "/", this.url);
    const body = await readAll(asked);

    answer.setHeader("Access-Control-Allow-Origin", "*");
    answer.setHeader("Access-Control-Allow-Headers", "authorization, content-type");
    answer.setHeader("Access-Control-Allow-Methods", "GET, POST, PATCH, DELETE");
    if (asked.method === "OPTIONS") return void answer.writeHead(204).end();
    if (url.pathname === "/" || url.pathname.startsWith("/console/"))
      return this.serveFile(url.pathname, answer);
    if (this.options.delay_ms > 0)
      await new Promise((done) => setTimeout(done, this.options.delay_ms));
    if (this.options.token && asked.headers.authorization !== `Bearer ${this.options.token}`)
      return send(answer, { status: 401, type: "application/problem+json", text: JSON.stringify({
        status: 401, code: "unauthenticated", detail: "a token is needed" }) });
    if (this.options.hasDouble && url.pathname === "/v1/events/stream")
      return this.stream(url, answer);
    send(answer, await this.ask(asked.method ?? "GET", url, body));
  }

  private serveFile(path: string, answer: ServerResponse): void {
    const name = path === "/" || path === "/console/" ? "index.html" : path.slice("/console/".length);
    const file = join(DIST, normalize(name));

    if (name === "nodes.json" && this.options.nodes.length > 0)
      return send(answer, { status: 200, type: "application/json",
        text: JSON.stringify({ items: this.options.nodes }) });
    if (!file.startsWith(DIST) || !existsSync(file) || !statSync(file).isFile())
      return send(answer, { status: 404, type: "text/plain", text: "not found" });
    const packed = gzipSync(readFileSync(file), { level: 9 });
    const others = this.options.nodes.map((node) => node.url).join(" ");
    this.served.bytes += packed.length;
    this.served.files.push(name);
    answer.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream",
      "Content-Encoding": "gzip", "Content-Length": packed.length, "Cache-Control": "no-cache",
      "Content-Security-Policy": `${POLICY}; connect-src 'self' ${others}`,
      "X-Content-Type-Options": "nosniff" });
    answer.end(packed);
  }

  private async ask(method: string, url: URL, body: string): Promise<Answer> {
    const path = url.pathname + url.search;
    const real = await this.agent.ask(method, path, body || undefined);
    const isAbsent = real.status === 404 && /no such path/.test(real.text);
    const answer = this.options.hasDouble && isAbsent
      ? await this.double.answer(method, url, body) ?? real : real;

    this.double.note(method, path, answer.status);
    return this.options.hasDouble && method === "GET" ? this.dressed(url.pathname, answer) : answer;
  }

  private dressed(path: string, answer: Answer): Answer {
    if (answer.status !== 200) return answer;
    if (path === "/v1/devices") {
      const list = JSON.parse(answer.text) as { items: Device[] };
      return { ...answer, text: JSON.stringify({ ...list,
        items: list.items.map((each) => this.double.dress(each)) }) };
    }
    if (path === "/v1/leases" && this.options.seemsUsed) {
      const list = JSON.parse(answer.text) as { items: Lease[] };
      return { ...answer, text: JSON.stringify({ ...list,
        items: list.items.map((each) => this.double.use(each, Date.now() / 1000)) }) };
    }
    return answer;
  }

  /* The stream that an agent is to have, out of the long polls that it has. */
  private async stream(url: URL, answer: ServerResponse): Promise<void> {
    let last = Number(url.searchParams.get("after") ?? 0);
    let isOver = false;

    answer.writeHead(200, { "Content-Type": "text/event-stream" });
    answer.flushHeaders();
    answer.on("close", () => { isOver = true; });
    while (!isOver) {
      const { items } = await this.agent.json<{ items: AgentEvent[] }>(
        `/v1/events?after=${last}&wait_ms=1000`);
      for (const event of items) {
        answer.write(`id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
        last = event.id;
      }
      if (items.length === 0) answer.write(": still here\n\n");
    }
  }
}

function send(answer: ServerResponse, { status, type, text }: Answer): void {
  if (type) answer.setHeader("Content-Type", type);
  answer.writeHead(status).end(text);
}

async function readAll(asked: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of asked) text += String(piece);
  return text;
}
