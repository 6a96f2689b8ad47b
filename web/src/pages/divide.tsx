/* SPDX-License-Identifier: Apache-2.0 */
/* Dividing a set of devices: the devices, the parts, the plan, and applying it. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Agent } from "../api/agent";
import { Problem } from "../api/problem";
import type { Operation, Plan, Profile, Scheme } from "../api/types";
import { choicesOf, isMixed, layoutText, picksOf, preselect, type Wish } from "../lib/configure";
import { byApplying, STATE_WORDS } from "../lib/disturbed";
import { count, names } from "../lib/format";
import type { DeviceView } from "../lib/model";
import { Confirm } from "../ui/dialog";
import { Code, SelectField } from "../ui/field";
import { href, useResource, useScope, useSession } from "../ui/hooks";
import { follow, Progress } from "../ui/operation";
import { Page, Section } from "../ui/page";
import { Loaded, Note } from "../ui/states";
import { notify } from "../ui/toasts";
import { useViews } from "../ui/views";
import { ChooseDevices } from "./divide-devices";
import { ChooseParts, SCHEME_WORDS } from "./divide-parts";
import { PlanView } from "./divide-plan";

const SETTLE_MS = 250;
const LAYOUT_NAME = "console.yaml";

interface Planned {
  text: string;
  plan: Plan | null;
  problem: Problem | null;
  /* The tag of the node's layout when the plan was made; null: the agent has none. */
  tag: string | null;
}

/* The tag is read first, so that a later change is detected when the plan is applied. */
async function planOf(agent: Agent, text: string, signal: AbortSignal): Promise<Planned> {
  const layout = await agent.askTagged("/v1/layout", { signal }).catch(() => null);
  const plan = await agent.ask<Plan>(`/v1/plan?name=${LAYOUT_NAME}`,
    { method: "POST", yaml: text, signal });
  return { text, plan, problem: null, tag: layout?.tag ?? null };
}

/* A plan changes nothing, so it is made as soon as the choice stays unchanged. */
function usePlan(text: string | null, round: number): Planned | null {
  const session = useSession();
  const [planned, setPlanned] = useState<Planned | null>(null);

  useEffect(() => {
    if (text === null) return setPlanned(null);
    const stopped = new AbortController();
    const timer = setTimeout(async () => {
      const made = await planOf(session.agent, text, stopped.signal).catch((cause): Planned =>
        ({ text, plan: null, problem: Problem.of(cause), tag: null }));
      if (!stopped.signal.aborted) setPlanned(made);
    }, SETTLE_MS);
    return () => {
      clearTimeout(timer);
      stopped.abort();
    };
  }, [text, session, round]);
  return planned;
}

interface Picked {
  scheme: Scheme;
  counts: Record<string, number>;
  shares: number;
  preserve: boolean;
  vgpu_type: string;
  on_busy: "fail" | "wait";
  /* The agent keeps this layout alone, and none of earlier ones for other devices. */
  only: boolean;
  /* Make the devices whole again; otherwise an empty choice requests nothing. */
  isWhole: boolean;
}

const NOTHING: Picked = {
  scheme: "none", counts: {}, shares: 0, preserve: false, vgpu_type: "", on_busy: "fail",
  only: false, isWhole: false,
};

function wishOf(chosen: DeviceView[], picked: Picked): Wish | null {
  if (chosen.length === 0 || picked.scheme === "none") return null;
  const counts = picked.isWhole ? {} : picked.counts;
  if (!picked.isWhole && picksOf({ counts }).length === 0) return null;
  return {
    ...picked,
    counts,
    devices: chosen.map((view) => view.name),
    leaving: [...new Set(chosen.map((view) => view.scheme).filter((each) => each !== "none"))],
  };
}

function Options({ picked, set }: { picked: Picked; set: (more: Partial<Picked>) => void }) {
  const canPreserve = isMixed(picked.scheme) && !picked.isWhole;

  return (
    <div class="options">
      {canPreserve && (
        <label class="check">
          <input type="checkbox" checked={picked.preserve}
            onChange={(event) => set({ preserve: event.currentTarget.checked })} />
          Keep existing partitions that are not in the list
        </label>
      )}
      {!picked.isWhole && (
        <SelectField label="Shares in each part" value={String(picked.shares)}
          onChange={(value) => set({ shares: Number(value) })}
          options={[["0", "None"], ...[2, 3, 4, 5, 8, 10].map((n): [string, string] =>
            [String(n), `${n} equal ones`])]} />
      )}
      <SelectField label="If something that has to change is in use" value={picked.on_busy}
        onChange={(value) => set({ on_busy: value as "fail" | "wait" })}
        options={[["fail", "Change nothing"], ["wait", "Wait until its holders have ended"]]} />
      <label class="check">
        <input type="checkbox" checked={picked.only}
          onChange={(event) => set({ only: event.currentTarget.checked })} />
        Forget what earlier layouts say of other devices
      </label>
    </div>
  );
}

function useApply(onEnd: () => void) {
  const session = useSession();
  const [operation, setOperation] = useState<Operation | null>(null);
  const apply = async ({ text, tag }: Planned, what: string, only: boolean) => {
    const query = `name=${LAYOUT_NAME}${only ? "&only=true" : ""}`;
    const begun = tag
      ? await session.agent.ask<Operation>(`/v1/layout?${query}`,
        { method: "PUT", yaml: text, tag })
      : await session.agent.ask<Operation>(`/v1/apply?${query}`,
        { method: "POST", yaml: text });
    setOperation(begun);
    /* The dialog closes here; the page shows the progress. */
    void follow(session, begun, setOperation).then(async (ended) => {
      const isDone = ended.state === "done";
      notify(isDone ? `${what}: done, ${count(ended.steps.length, "step")}.`
        : `${what}: ${STATE_WORDS[ended.state].toLowerCase()}. ${ended.error?.detail ?? ""}`,
      !isDone);
      await session.refreshNode();
      onEnd();
    }).catch((cause) => notify(Problem.of(cause).message, true));
  };
  return { operation, apply };
}

function Divide({ views, profiles, wanted }: {
  views: DeviceView[]; profiles: Profile[]; wanted?: string;
}) {
  const [selected, setSelected] = useState<string[]>(() => preselect(views, wanted));
  const [picked, setPicked] = useState<Picked>(NOTHING);
  const [isAsking, setAsking] = useState(false);
  const isAdmin = useScope() === "admin";
  const chosen = views.filter((view) => selected.includes(view.name));
  const choices = choicesOf(profiles, selected);
  const schemes = [...new Set(choices.map((each) => each.scheme))];
  const scheme = schemes.includes(picked.scheme) ? picked.scheme : schemes[0] ?? "none";
  const now = { ...picked, scheme };
  const wish = useMemo(() => wishOf(chosen, now), [selected.join(), JSON.stringify(now)]);
  const text = wish ? layoutText(wish) : null;
  const [round, setRound] = useState(0);
  const planned = usePlan(text, round);
  const { operation, apply } = useApply(() => setPicked({ ...NOTHING, scheme }));
  const what = picked.isWhole ? `Make ${names(selected)} whole` : `Divide ${names(selected)}`;
  const isCurrent = planned !== null && planned.text === text;
  const canApply = isAdmin && isCurrent && planned.plan !== null &&
    (planned.plan.steps.length > 0 || now.only) &&
    (planned.plan.obstacles.length === 0 || now.on_busy === "wait");

  /* The plan is stale if another client divided the node meanwhile. */
  const applyPlan = (plan: Planned) => apply(plan, what, now.only).catch((cause) => {
    if (Problem.of(cause).status !== 412) throw cause;
    setRound(round + 1);
    throw new Problem(412, "precondition_failed", "The division of this node has changed since " +
      "the plan was made: nothing was applied. Close this and look at the new plan.");
  });
  const chooseAll = (list: string[]) => {
    setSelected(list);
    setPicked({ ...NOTHING, scheme });
  };
  const choose = (name: string, isOn: boolean) =>
    chooseAll(isOn ? [...selected, name] : selected.filter((each) => each !== name));
  return (
    <>
      <Section title="1. Devices">
        <ChooseDevices views={views} chosen={chosen} onChoose={choose} onChooseAll={chooseAll} />
      </Section>
      <Section title="2. Parts">
        <ChooseParts key={selected.join()} chosen={chosen} choices={choices} schemes={schemes}
          scheme={scheme} counts={now.counts} isWhole={now.isWhole} vgpuType={now.vgpu_type}
          set={(more) => setPicked({ ...now, ...more })} />
        {chosen.length > 0 && choices.length > 0 &&
          <Options picked={now} set={(more) => setPicked({ ...now, ...more })} />}
      </Section>
      <Section title="3. Plan">
        <div aria-live="polite" class="plan-box">
          {text === null && <p class="quiet-line">Choose devices and parts, and the plan appears
            here. Nothing is changed by that.</p>}
          {text !== null && !isCurrent && <p class="quiet-line">Planning…</p>}
          {isCurrent && planned.problem && <Note icon="stop" tone="bad"
            title="This is not possible">{planned.problem.message || "The agent returned no plan."}</Note>}
          {isCurrent && planned.plan && <PlanView plan={planned.plan} onBusy={now.on_busy} />}
        </div>
        {text !== null && (
          <details class="layout-text">
            <summary>The layout of this choice</summary>
            <Code text={text} what="the layout" />
          </details>
        )}
        <div class="apply">
          <button type="button" class="button primary" disabled={!canApply}
            onClick={() => setAsking(true)}>Apply</button>
          {!isAdmin && <span class="hint">Only an administrator may apply.</span>}
        </div>
      </Section>
      {operation && <Section title="Progress"><Progress operation={operation} /></Section>}
      {isAsking && isCurrent && planned.plan && (
        <Confirm title={`${what}?`} action="Apply" lines={byApplying(planned.plan)}
          isDanger={planned.plan.steps.some((step) => step.kind.startsWith("destroy"))}
          onClose={() => setAsking(false)} onConfirm={() => applyPlan(planned)}>
          <p class="hint">{count(planned.plan.steps.length, "step")} with {SCHEME_WORDS[scheme]}. If
            one fails, what was there before is put back.</p>
          {now.only && <p class="hint">What earlier layouts say of other devices is forgotten: they
            stay as they are, and are not divided again after a restart.</p>}
        </Confirm>
      )}
    </>
  );
}

export function DividePage({ wanted }: { wanted?: string }) {
  const session = useSession();
  const views = useViews();
  const profiles = useResource(session.profiles);

  return (
    <Page title="Divide devices" actions={<a class="button" href={href("partitions")}>Partitions</a>}>
      <Loaded state={views} rows={8} retry={() => session.wake()}>
        {(all) => (
          <Loaded state={profiles} rows={8} retry={() => void session.profiles.refresh()}>
            {(known) => <Divide key={wanted ?? ""} views={all.views} profiles={known} wanted={wanted} />}
          </Loaded>
        )}
      </Loaded>
    </Page>
  );
}
