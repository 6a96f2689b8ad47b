/* SPDX-License-Identifier: Apache-2.0 */
import type { Plan } from "../api/types";
import { count, names, percent } from "../lib/format";
import { Badge } from "../ui/badge";
import { Note } from "../ui/states";
import { Table } from "../ui/table";

function Obstacles({ plan, onBusy }: { plan: Plan; onBusy: string }) {
  return (
    <Note icon="stop" tone="warn" title={onBusy === "wait"
      ? "It would wait: something that has to change is in use"
      : "Blocked: something that has to change is in use"}>
      <ul>
        {plan.obstacles.map((each) => (
          <li key={`${each.device} ${each.partition}`}>
            <strong>{each.partition || each.device}</strong> is held by{" "}
            {names(each.holders.map((holder) => holder.text)) || "somebody"}
            {each.why && <>: {each.why}</>}
          </li>
        ))}
      </ul>
    </Note>
  );
}

export function PlanView({ plan, onBusy }: { plan: Plan; onBusy: string }) {
  // An older agent of another node has no such list.
  const changes = plan.share_changes ?? [];
  return (
    <>
      {plan.obstacles.length > 0 && <Obstacles plan={plan} onBusy={onBusy} />}
      {plan.warnings.length > 0 && (
        <Note icon="warn" tone="warn" title="Warnings">
          <ul>{plan.warnings.map((line) => <li key={line}>{line}</li>)}</ul>
        </Note>
      )}
      {changes.length > 0 && (
        <Note icon="info" title="Standing shares change">
          <ul>{changes.map((each) => <li key={each.name}>{each.text}</li>)}</ul>
        </Note>
      )}
      {plan.steps.length === 0
        ? <Note icon="ok" title="Nothing to do">The devices are divided like that already.</Note>
        : <Table caption="Steps of the plan" rows={plan.steps} keyOf={(step) => step.number}
          columns={[
            { head: "#", isNumber: true, cell: (step) => step.number },
            { head: "Step", isHead: true, cell: (step) => step.text },
            { head: "Needs", cell: (step) => step.needs.length > 0
              ? step.needs.map((need) => <Badge key={need} tone="warn">{need}</Badge>) : "–" },
            { head: "Disturbs", cell: (step) => names(step.affects) || "–" },
            { head: "Why", cell: (step) => step.why || "–", isMinor: true },
          ]} />}
      {plan.kept.length > 0 &&
        <p class="hint">{count(plan.kept.length, "partition")} stay as they are: {names(plan.kept, 8)}.</p>}
      {plan.shares.length > 0 && (
        <p class="hint">{count(plan.shares.length, "standing share")}: {names(plan.shares.map((each) =>
          `${each.name} (${percent(each.share)})`), 5)}.</p>
      )}
    </>
  );
}
