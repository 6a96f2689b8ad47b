/* SPDX-License-Identifier: Apache-2.0 */
/* A running operation: its steps and the state of each. */
import { Problem } from "../api/problem";
import type { Session } from "../api/session";
import type { Operation } from "../api/types";
import { hasEnded, STATE_WORDS } from "../lib/disturbed";
import { names } from "../lib/format";
import { Badge } from "./badge";
import { useScope, useSession } from "./hooks";
import { Icon, type IconName } from "./icons";
import { notify } from "./toasts";

const WAIT_MS = 10000;

/* Waits for the end and reports each change.  An agent that restarts continues its
 * operations, so a request that fails is repeated for some time. */
export async function follow(session: Session, begun: Operation,
  tell: (operation: Operation) => void = () => undefined): Promise<Operation> {
  let operation = begun;
  let failures = 0;

  tell(operation);
  while (!hasEnded(operation)) {
    try {
      operation = await session.agent.ask<Operation>(
        `/v1/operations/${operation.id}?wait_ms=${WAIT_MS}&after=${operation.revision}`,
        { patience_ms: WAIT_MS });
      failures = 0;
    } catch (cause) {
      if (++failures > 30) throw cause;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    tell(operation);
  }
  return operation;
}

const MARKS: Record<string, [IconName, string]> = {
  done: ["ok", "good"],
  running: ["wait", "accent"],
  failed: ["warn", "bad"],
  pending: ["wait", "plain"],
};

/* A waiting operation can be ended; what an earlier agent had changed for it is undone. */
function GiveUp({ operation }: { operation: Operation }) {
  const session = useSession();
  const isAdmin = useScope() === "admin";
  const giveUp = async () => {
    try {
      await session.agent.ask(`/v1/operations/${operation.id}`, { method: "DELETE" });
      await session.operations.refresh();
    } catch (cause) {
      notify(Problem.of(cause).message, true);
    }
  };

  if (!isAdmin || operation.state !== "waiting") return null;
  return (
    <button type="button" class="button small" onClick={() => void giveUp()}>
      Give up<span class="sr"> {operation.what}</span>
    </button>
  );
}

function InTheWay({ operation }: { operation: Operation }) {
  if (operation.state !== "waiting" || operation.obstacles.length === 0) return null;
  const holders = operation.obstacles.flatMap((each) => each.holders.map((holder) => holder.text));
  return <p class="hint">It waits for {names(holders) || "its holders"} to end.</p>;
}

export function Progress({ operation }: { operation: Operation }) {
  const done = operation.steps.filter((step) => step.state === "done").length;
  const tone = operation.state === "done" ? "good" : hasEnded(operation) ? "bad" : "accent";

  return (
    <div class="operation">
      <div class="operation-head" role="status">
        <Badge tone={tone} icon={MARKS[operation.state]?.[0] ?? "wait"}>
          {STATE_WORDS[operation.state]}
        </Badge>
        <span>{operation.what}</span>
        <span class="number">{done} of {operation.steps.length} steps</span>
        <GiveUp operation={operation} />
      </div>
      <InTheWay operation={operation} />
      <progress value={done} max={Math.max(1, operation.steps.length)}
        aria-label={`${operation.what}: steps done`} />
      {operation.error && <p class="refusal" role="alert">{operation.error.detail}</p>}
      <ol class="steps">
        {operation.steps.map((step, at) => (
          <li key={at} class={step.state}>
            <Icon name={MARKS[step.state]?.[0] ?? "wait"} size={14} />
            <span>{step.text}</span>
            <span class="sr">, {step.state}</span>
            <span class="number">{step.seconds > 0 ? `${step.seconds.toFixed(2)} s` : ""}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}
