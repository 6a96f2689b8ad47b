/* SPDX-License-Identifier: Apache-2.0 */
import type { ProblemDocument } from "./types";

const UNREACHABLE = "The agent does not answer. It may have ended, or the network is interrupted.";

/* The error of a request, with the agent's own text where it sent one. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, detail: string) {
    super(detail);
    this.status = status;
    this.code = code;
  }

  static unreachable(): Problem {
    return new Problem(0, "unreachable", UNREACHABLE);
  }

  static of(cause: unknown): Problem {
    if (cause instanceof Problem) return cause;
    return new Problem(0, "internal", String(cause));
  }

  /* A route that an older agent lacks, as opposed to an object that no longer exists. */
  get isAbsentRoute(): boolean {
    if (this.status === 501 || this.code === "no_such_path") return true;
    return this.status === 404 && /^$|no such path/.test(this.message);
  }

  get isUnreachable(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503;
  }
}

function documentOf(text: string): ProblemDocument {
  try {
    const value: unknown = JSON.parse(text);
    return value && typeof value === "object" ? (value as ProblemDocument) : {};
  } catch {
    return {};
  }
}

export function problemFrom(status: number, text: string): Problem {
  const { code, detail, title } = documentOf(text);

  if (!code && (status === 502 || status === 503)) return Problem.unreachable();
  return new Problem(status, code ?? "", detail ?? title ?? (status === 404 ? "" : text));
}
