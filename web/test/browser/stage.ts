/* SPDX-License-Identifier: Apache-2.0 */
/* A project of real services on an agent: podman's containers, behind HAProxy. */
import { type ChildProcess, spawn } from "node:child_process";
import { join, resolve } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { type Agent, BUILD } from "./agent";

const ROOT = resolve(process.cwd(), "..");

export class Stage {
  project = "";
  private readonly process: ChildProcess;
  private readonly lines: AsyncIterator<string>;

  private constructor(to: Agent, ...name: string[]) {
    this.process = spawn("python3", [join(ROOT, "tests/services/stage.py"), join(BUILD, "src/cli/cleave"),
      join(BUILD, "src/agent/cleaved"), join(BUILD, "src/gate"), to.socket, ...name],
    { stdio: ["pipe", "pipe", "inherit"] });
    const lines: Interface = createInterface({ input: this.process.stdout! });
    this.lines = lines[Symbol.asyncIterator]();
  }

  /* A text says why this machine cannot.  name: of the project, else one of its own. */
  static async on(to: Agent, ...name: string[]): Promise<Stage | string> {
    const made = new Stage(to, ...name);
    const first = await made.answer<{ project?: string; why_not?: string }>();
    if (first.why_not !== undefined) return first.why_not;
    made.project = first.project!;
    return made;
  }

  private async answer<T>(): Promise<T> {
    const { value, done } = await this.lines.next();
    if (done) throw new Error("the services' program has ended");
    return JSON.parse(value) as T;
  }

  async tell<T>(line: string): Promise<T> {
    this.process.stdin!.write(`${line}\n`);
    return this.answer<T>();
  }

  async end(): Promise<void> {
    const gone = new Promise((done) => this.process.once("exit", done));
    this.process.stdin!.end();
    await gone;
  }
}
