/* SPDX-License-Identifier: Apache-2.0 */
/* What the supervisor of a project is asked for: other numbers of replicas, also none and the
 * first one again, and what a replica has written. */
import { useEffect, useState } from "preact/hooks";
import { Problem } from "../api/problem";
import type { Action, Project } from "../api/types";
import { count } from "../lib/format";
import { actionText, type ReplicaRow, type ServiceRow, type Step, stepsOf } from "../lib/services";
import { act } from "../ui/action";
import { Confirm, Dialog } from "../ui/dialog";
import { useSession, useShown } from "../ui/hooks";
import { Loading } from "../ui/states";
import type { Column } from "../ui/table";
import { notify } from "../ui/toasts";

const LINES = 200;

/* Who has pressed a button is told what came of it, on another page, too. */
function Steps({ project, service }: ServiceRow) {
  const session = useSession();
  const [pending, setPending] = useState<Step | null>(null);
  const [confirmed, setConfirmed] = useState<Step | null>(null);
  const send = async (step: Step) => {
    setPending(step);
    try {
      const action = await act(session, project,
        { do: "scale", service: service.name, replicas: step.replicas });
      notify(actionText(action), action.state !== "done");
    } catch (cause) {
      notify(Problem.of(cause).message, true);
    } finally {
      setPending(null);
    }
  };

  const press = (step: Step) => {
    if (pending) return;
    if (step.consequence) setConfirmed(step);
    else void send(step);
  };

  return (
    <span class="row-actions">
      {stepsOf(service).map((step) => (
        <button key={step.label} type="button" class="button small" disabled={!step.isPossible}
          aria-disabled={pending !== null} onClick={() => press(step)}>
          {step.label}<span class="sr"> {step.of} {service.name}</span>
        </button>
      ))}
      <span class="hint" role="status">{pending && `${pending.doing} …`}</span>
      {confirmed && <Confirm title={`Stop ${service.name}?`} isDanger action="Stop"
        lines={[confirmed.consequence!]} onClose={() => setConfirmed(null)}
        onConfirm={async () => void send(confirmed)} />}
    </span>
  );
}

export const STEPS: Column<ServiceRow> = {
  head: "", cell: (row) => <Steps project={row.project} service={row.service} />,
};

function Lines({ action }: { action: Action }) {
  if (action.state !== "done")
    return <p class="refusal" role="alert">{actionText(action)}</p>;
  if (action.output.length === 0) return <p class="quiet-line">It has written nothing.</p>;
  return (
    <>
      <p class="hint">The last {count(action.output.length, "line")}
        {action.cut && ", of those that fit"}.</p>
      <pre class="log" role="region" aria-label={`What ${action.replica} wrote last`} tabIndex={0}>
        {action.output.join("\n")}
      </pre>
    </>
  );
}

export function LogsDialog({ project, replica, onClose }: {
  project: Project; replica: string; onClose: () => void;
}) {
  const session = useSession();
  const shown = useShown();
  const [action, setAction] = useState<Action | null>(null);
  const [problem, setProblem] = useState("");
  const read = async () => {
    setAction(null);
    setProblem("");
    try {
      setAction(await act(session, project, { do: "logs", replica, lines: LINES }, shown));
    } catch (cause) {
      setProblem(Problem.of(cause).message);
    }
  };
  useEffect(() => void read(), [replica]);

  return (
    <Dialog title={`Logs of ${replica}`} onClose={onClose} isWide>
      <div class="dialog-body">
        {problem ? <p class="refusal" role="alert">{problem}</p>
          : action ? <Lines action={action} /> : <Loading rows={4} />}
      </div>
      <footer class="dialog-foot">
        <button type="button" class="button" disabled={!action && !problem}
          onClick={() => void read()}>Read again</button>
        <button type="button" class="button primary" onClick={onClose}>Close</button>
      </footer>
    </Dialog>
  );
}

export function logsColumn(open: (replica: string) => void): Column<ReplicaRow> {
  return { head: "", cell: (row) => (
    <button type="button" class="button small" onClick={() => open(row.replica.name)}>
      Logs<span class="sr"> of {row.replica.name}</span></button>
  ) };
}
