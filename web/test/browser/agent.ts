/* SPDX-License-Identifier: Apache-2.0 */
/* The real agent in a folder of its own, and programs that hold leases on it. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { shellWord } from "../../src/lib/command";

const ROOT = resolve(process.cwd(), "..");
export const BUILD = resolve(ROOT, process.env.BUILDDIR ?? "build");
const CLEAVED = join(BUILD, "src/agent/cleaved");
const CLEAVE = join(BUILD, "src/cli/cleave");

export interface Answer {
  status: number;
  type: string;
  text: string;
  tag?: string;
}

export const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

export async function until<T>(what: string, ask: () => Promise<T | false> | T | false,
  seconds = 60): Promise<T> {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const value = await ask();
    if (value) return value;
    if (Date.now() > end) throw new Error(`${what}: not within ${seconds} s`);
    await pause(50);
  }
}

/* A port without a listener.  It is below the ports that Linux gives to outgoing connections
 * (they begin at 32768): no connection of another test takes it before the agent does. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10000, 32768);
    const server = createServer();
    const isFree = await new Promise<boolean>((done) => {
      server.once("error", () => done(false));
      server.listen(port, () => server.close(() => done(true)));
    });
    if (isFree) return port;
  }
}

/* cleave run passes the signal on; killed for good, it would leave its program running.
 * Pipes are let go in any case: they would keep this process. */
async function endHolder(holder: ChildProcess): Promise<void> {
  holder.stdin?.destroy();
  holder.stdout?.destroy();
  if (holder.exitCode !== null || holder.signalCode !== null) return;
  const gone = new Promise((done) => holder.once("exit", done));
  holder.kill("SIGTERM");
  await Promise.race([gone, pause(3000)]);
  holder.kill("SIGKILL");
}

export class Agent {
  readonly folder = mkdtempSync(join(tmpdir(), "cw-"));
  readonly socket = join(this.folder, "run", "api.sock");
  private sim: string | null = null;
  private readonly settings = join(this.folder, "cleaved.yaml");
  private process: ChildProcess | null = null;
  private readonly holders: ChildProcess[] = [];

  /* On what this machine has, unless simulate() says otherwise. */
  constructor() {
    for (const each of ["run", "state", "lock"])
      mkdirSync(join(this.folder, each), { mode: 0o700 });
    if (!existsSync(CLEAVED)) throw new Error(`${CLEAVED} is not there: ./dev build first`);
    this.configure("");
  }

  /* On a node that is not there, by the text of its file. */
  simulate(text: string): this {
    this.sim = join(this.folder, "node.yaml");
    writeFileSync(this.sim, text);
    return this;
  }

  /* On the node of an example. */
  static on(example: string): Agent {
    return new Agent().simulate(readFileSync(resolve(ROOT, `examples/${example}.yaml`), "utf8"));
  }

  /* What its settings say, from its next start on. */
  configure(text: string): void {
    writeFileSync(this.settings, `version: 1\n${text}`);
  }

  /* A token for who comes over TCP. */
  async token(scope: string): Promise<string> {
    const made = await this.ask("POST", "/v1/tokens", JSON.stringify({ name: scope, scope }));
    return (JSON.parse(made.text) as { secret: string }).secret;
  }

  async start(): Promise<this> {
    const log = openSync(join(this.folder, "log"), "a");
    this.process = spawn(CLEAVED, ["--foreground", `--config=${this.settings}`,
      `--runtime-dir=${join(this.folder, "run")}`, `--state-dir=${join(this.folder, "state")}`,
      `--lock-dir=${join(this.folder, "lock")}`, ...(this.sim ? [`--sim=${this.sim}`] : [])],
    { stdio: ["ignore", log, log] });
    await until("the agent serves", async () =>
      (await this.ask("GET", "/healthz").catch(() => null))?.status === 200);
    return this;
  }

  /* As a crash does, or in order; its leases' programs live on. */
  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    const ended = this.process;
    this.process = null;
    if (!ended || ended.exitCode !== null) return;
    const gone = new Promise((done) => ended.once("exit", done));
    ended.kill(signal);
    await gone;
  }

  async end(): Promise<void> {
    await Promise.all(this.holders.map(endHolder));
    await this.stop();
    /* A program of a lease that ended a moment ago may still remove its own files. */
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  /* A program that does nothing, in a lease. */
  hold(name: string, ...options: string[]): Promise<ChildProcess> {
    return this.run(["sleep", "600"], name, options);
  }

  /* One that has the device work in a habit, by the benchmarks' program: told to, it goes on. */
  async work(name: string, habit: string, mib: number, ...options: string[]): Promise<ChildProcess> {
    const holder = await this.run([join(BUILD, "bench/tenant"), ...habit.split(" ")], name, options);
    await new Promise((done) => holder.stdout!.once("data", done));
    holder.stdin!.write(`alloc ${mib * 2 ** 20}\nrun 0\n`);
    return holder;
  }

  /* Somebody who holds no lease yet, but whose pid is known: a simulated node's file can say
   * of it what a driver would. */
  waiting(): ChildProcess {
    const shell = spawn("sh", ["-c", 'read -r line && eval "exec $line"'],
      { stdio: ["pipe", "pipe", "ignore"] });
    /* What is written to a shell that has ended is lost; an error without a listener would end
     * all tests. */
    shell.stdin.on("error", (error) => console.error(`a holder's input: ${error.message}`));
    this.holders.push(shell);
    return shell;
  }

  async run(program: string[], name: string, options: string[],
    shell = this.waiting()): Promise<ChildProcess> {
    const words = [CLEAVE, "--socket", this.socket, "run", "--no-namespace", "--name", name, ...options,
      "--", ...program];
    shell.stdin!.write(`${words.map(shellWord).join(" ")}\n`);
    await until(`lease ${name}`, async () =>
      (await this.json<{ items: { name: string }[] }>("/v1/leases")).items
        .some((each) => each.name === name));
    return shell;
  }

  cleave(...words: string[]): string {
    const done = spawnSync(CLEAVE, ["--socket", this.socket, ...words], { encoding: "utf8" });
    if (done.status !== 0) throw new Error(`cleave ${words.join(" ")}: ${done.stderr}`);
    return done.stdout;
  }

  async json<T>(path: string): Promise<T> {
    return JSON.parse((await this.ask("GET", path)).text) as T;
  }

  ask(method: string, path: string, body?: string, headers = {}): Promise<Answer> {
    return new Promise((done, fail) => {
      const asked = request({ socketPath: this.socket, method, path, headers, agent: false }, (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (more: string) => { text += more; });
        answer.on("end", () => done({ status: answer.statusCode ?? 0, text,
          type: answer.headers["content-type"] ?? "", tag: answer.headers.etag }));
        answer.on("error", fail);
      });
      asked.on("error", fail);
      asked.end(body);
    });
  }

  /* A layout, carried out to its end. */
  async apply(layout: string): Promise<void> {
    const begun = JSON.parse((await this.ask("POST", "/v1/apply?name=test.yaml", layout)).text) as
      { id: string; detail?: string };
    if (!begun.id) throw new Error(begun.detail ?? "no operation");
    await until("the layout", async () => {
      const { state } = await this.json<{ state: string }>(`/v1/operations/${begun.id}`);
      if (state === "failed" || state === "rolled_back") throw new Error(`apply: ${state}`);
      return state === "done";
    });
  }
}
