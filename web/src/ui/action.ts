/* SPDX-License-Identifier: Apache-2.0 */
/* An action that the supervisor of a project is asked for through the agent, which waits with
 * the answer until it is known what came of it.  Where the signal ends the waiting, the action
 * goes on: what is returned then has not ended. */
import type { Session } from "../api/session";
import type { Action, Project } from "../api/types";
import { hasActionEnded } from "../lib/services";

/* What it can be asked for. */
export type ActionRequest = { do: "scale"; service: string; replicas: number } |
  { do: "logs"; replica: string; lines: number };

const WAIT_MS = 10000;

export async function act(session: Session, project: Project, request: ActionRequest,
  signal?: AbortSignal): Promise<Action> {
  const route = `/v1/projects/${encodeURIComponent(project.name)}/actions`;
  let action = await session.agent.ask<Action>(
    `${route}?tenant=${encodeURIComponent(project.tenant)}`, { method: "POST", json: request });

  while (!hasActionEnded(action) && !signal?.aborted)
    action = await session.agent.ask<Action>(
      `/v1/actions/${action.id}?wait_ms=${WAIT_MS}`, { patience_ms: WAIT_MS, signal });
  return action;
}
