/* SPDX-License-Identifier: Apache-2.0 */
/* A test's way from a browser to an agent: HTTP on the loopback to the agent's socket, with
 * the built console beside it, served as the agent serves it.  It passes on what the agent
 * says and makes nothing up. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { extname, join, normalize } from "node:path";
import { gzipSync } from "node:zlib";
import type { NodeAddress } from "../../src/api/types";
import type { Agent, Answer } from "./agent";

const DIST = join(process.cwd(), "dist");
const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
};
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export interface Options {
  /* Paths that an older agent lacked. */
  lacks: string[];
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
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();

  constructor(agent: Agent, options: Partial<Options> = {}) {
    this.agent = agent;
    this.options = { lacks: [], nodes: [], token: null, delay_ms: 0, ...options };
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
        status: 401, code: "unauthenticated", detail: "a valid token is needed" }) });
    if (this.options.lacks.includes(url.pathname))
      return send(answer, { status: 404, type: "application/problem+json", text: JSON.stringify({
        status: 404, code: "no_such_path", detail: "the API has no such path" }) });
    if (url.pathname === "/v1/events/stream") return this.stream(asked, answer);
    const match = asked.headers["if-match"];
    send(answer, await this.agent.ask(asked.method ?? "GET", url.pathname + url.search,
      body || undefined, match ? { "If-Match": match } : {}));
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

  /* What has no end is passed on as it comes. */
  private async stream(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const onward = request({ socketPath: this.agent.socket, path: asked.url, agent: false },
      (real) => {
        answer.writeHead(real.statusCode ?? 502, { "Content-Type": real.headers["content-type"] ?? "" });
        answer.flushHeaders();
        real.pipe(answer);
      });

    onward.on("error", () => answer.destroy());
    answer.on("close", () => onward.destroy());
    onward.end();
  }
}

function send(answer: ServerResponse, { status, type, text, tag }: Answer): void {
  if (tag) answer.setHeader("ETag", tag);
  if (type) answer.setHeader("Content-Type", type);
  answer.writeHead(status).end(text);
}

async function readAll(asked: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of asked) text += String(piece);
  return text;
}
