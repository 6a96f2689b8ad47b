/* SPDX-License-Identifier: Apache-2.0 */
/* What a page shows instead of data: loading, an empty list, a feature that the agent lacks,
 * a missing permission, an error. */
import type { ComponentChildren } from "preact";
import type { Problem } from "../api/problem";
import type { State } from "../api/resource";
import { Icon, type IconName } from "./icons";

export function Note({ icon = "info", title, children, tone = "" }: {
  icon?: IconName; title: string; children?: ComponentChildren; tone?: string;
}) {
  return (
    <div class={`note ${tone}`}>
      <Icon name={icon} size={20} />
      <div>
        <p class="note-title">{title}</p>
        {children && <div class="note-text">{children}</div>}
      </div>
    </div>
  );
}

export function Loading({ rows = 4 }: { rows?: number }) {
  return (
    <div class="skeleton" role="status">
      <span class="sr">Loading</span>
      {Array.from({ length: rows }, (_, at) => <div key={at} class="skeleton-row" />)}
    </div>
  );
}

export function Trouble({ problem, retry }: { problem: Problem; retry?: () => void }) {
  if (problem.isAbsentRoute)
    return (
      <Note icon="info" title="This agent does not offer this yet">
        A newer agent does. Nothing else on this console needs it.
      </Note>
    );
  if (problem.status === 403)
    return <Note icon="lock" title="You may not see this" tone="warn">{problem.message}</Note>;
  return (
    <Note icon="warn" tone="bad"
      title={problem.isUnreachable ? "No answer from the agent" : "The agent refused"}>
      <p>{problem.message}</p>
      {retry && <button type="button" class="button" onClick={retry}>Try again</button>}
    </Note>
  );
}

/* Renders the children with the data, or else the state in place of it. */
export function Loaded<T>({ state, rows, retry, children }: {
  state: State<T>; rows?: number; retry?: () => void; children: (data: T) => ComponentChildren;
}) {
  if (state.phase === "loading") return <Loading rows={rows} />;
  if (state.phase === "failed") return <Trouble problem={state.problem} retry={retry} />;
  return <>{children(state.data)}</>;
}
