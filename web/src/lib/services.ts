/* SPDX-License-Identifier: Apache-2.0 */
/* Projects of services, from the objects of the agent: replicas with their leases, and states
 * in words.  An agent or supervisor of a later version may have states that are not here. */
import type { Action, Lease, Project, Replica, Service } from "../api/types";

export interface ServiceRow {
  project: Project;
  service: Service;
}

export interface ReplicaRow {
  service: Service;
  replica: Replica;
  lease: Lease | null;
}

/* In links: the names of projects are those of their tenant. */
export const projectKey = (project: Project): string => `${project.tenant}/${project.name}`;

export function findProject(projects: Project[], key: string): Project | undefined {
  return projects.find((each) => projectKey(each) === key);
}

export function rowsOf(projects: Project[]): ServiceRow[] {
  const order = (a: Project, b: Project) =>
    projectKey(a).localeCompare(projectKey(b), undefined, { numeric: true });
  return [...projects].sort(order).flatMap((project) =>
    project.services.map((service) => ({ project, service })));
}

/* A replica has the name of its lease, among those of its tenant. */
export function replicasOf(project: Project, leases: Lease[]): ReplicaRow[] {
  const own = new Map(leases.filter((each) => each.tenant === project.tenant)
    .map((each) => [each.name, each]));

  return project.services.flatMap((service) => service.replicas.map((replica) => ({
    service, replica, lease: replica.lease ? own.get(replica.name) ?? null : null,
  })));
}

/* Replicas that a report of bounded size lacks. */
export function leftOut(project: Project): number {
  return project.services.reduce((sum, each) => sum + each.all_replicas - each.replicas.length, 0);
}

/* "2 of 3", and the bounds where it may have other numbers. */
export function replicasText(service: Service): string {
  const bounds = service.min_replicas === service.max_replicas ? ""
    : `, ${service.min_replicas} to ${service.max_replicas}`;
  return `${service.ready} of ${service.wanted}${bounds}`;
}

const FAILURES = ["failing", "failed", "no room"];

/* The command line says the same of a service. */
export function reasonOf(service: Service): string {
  return FAILURES.includes(service.state) && service.failure ? service.failure : service.why;
}

export type Tone = "good" | "accent" | "warn" | "bad" | "plain";

const TONES: Record<string, Tone> = {
  ready: "good", starting: "accent", creating: "accent", queued: "warn", stopping: "accent",
  draining: "accent", removing: "plain", asleep: "plain", freezing: "accent", frozen: "plain",
  off: "plain", complete: "good",
  removed: "plain", "no room": "warn", failing: "bad", failed: "bad", ended: "warn",
};

export const toneOf = (state: string): Tone => TONES[state] ?? "plain";

export function stateWords(state: string): string {
  return state.charAt(0).toUpperCase() + state.slice(1);
}

/* Another number of replicas, as a button. */
export interface Step {
  label: string;
  /* Between the label and the service's name, for screen readers. */
  of: string;
  doing: string;
  replicas: number;
  isPossible: boolean;
  /* What a confirmation says. */
  consequence?: string;
}

/* The numbers that the service accepts in its state.  The use of an autoscaled service raises
 * it to its minimum again, also from a smaller number.  A service wakes with its own number, as
 * by a request: replicas above the number that is asked for are removed with what they have in
 * memory. */
export function stepsOf(service: Service): Step[] {
  const own = Math.max(1, service.min_replicas);
  const least = service.autoscaled ? own : 1;
  const { wanted, sleeps } = service;

  if (service.state === "complete" || service.state === "removed") return [];
  /* Asleep, it may keep replicas that are ready. */
  if (wanted === 0 || service.state === "asleep")
    return [{ label: sleeps ? "Wake" : "Start", of: "", doing: sleeps ? "waking" : "starting",
      replicas: own, isPossible: service.max_replicas > 0 }];
  return [
    { label: "−1", of: "replica of", doing: `to ${wanted - 1}`, replicas: wanted - 1,
      isPossible: wanted > least },
    { label: "+1", of: "replica of", doing: `to ${wanted + 1}`, replicas: wanted + 1,
      isPossible: wanted < service.max_replicas },
    sleeps ? { label: "Sleep", of: "", doing: "going to sleep", replicas: 0, isPossible: true }
      : { label: "Stop", of: "", doing: "stopping", replicas: 0, isPossible: true,
        consequence: "Its requests are answered 503 until it is started again." },
  ];
}

export function hasActionEnded(action: Action): boolean {
  return action.state !== "waiting" && action.state !== "running";
}

const ENDS: Record<string, string> = { refused: "Refused: ", expired: "Not done: ", failed: "Failed: " };

/* What came of an action, as a sentence. */
export function actionText(action: Action): string {
  return `${ENDS[action.state] ?? ""}${action.why}.`;
}
