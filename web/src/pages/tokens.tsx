/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens for programs and for people over TCP.  A secret is shown once: the agent
 * keeps no copy of it. */
import { useState } from "preact/hooks";
import { Problem } from "../api/problem";
import type { Scope, Token } from "../api/types";
import { date } from "../lib/format";
import { Badge } from "../ui/badge";
import { Confirm, Dialog } from "../ui/dialog";
import { Code, SelectField, TextField } from "../ui/field";
import { useResource, useSession } from "../ui/hooks";
import { Page } from "../ui/page";
import { Loaded, Note } from "../ui/states";
import { type Column, Table } from "../ui/table";
import { notify } from "../ui/toasts";

const DAY = 86400;

const SCOPES: [Scope, string][] = [
  ["viewer", "Viewer: sees all, changes nothing"],
  ["tenant", "Tenant: the leases of one tenant"],
  ["admin", "Administrator: everything"],
];

const LIFETIMES: [string, string][] = [
  [String(DAY), "A day"], [String(30 * DAY), "30 days"], [String(365 * DAY), "A year"],
  ["", "Until it is revoked"],
];

interface Draft {
  name: string;
  scope: Scope;
  tenant: string;
  lifetime: string;
}

function Secret({ token, onClose }: { token: Token; onClose: () => void }) {
  return (
    <Dialog title={`Token ${token.name}`} onClose={onClose}>
      <div class="dialog-body">
        <p>This is the only time that the secret is shown. Copy it now.</p>
        <Code text={token.secret ?? ""} what="the secret" />
      </div>
      <footer class="dialog-foot">
        <button type="button" class="button primary" onClick={onClose}>I have copied it</button>
      </footer>
    </Dialog>
  );
}

function Create({ onClose, onMade }: { onClose: () => void; onMade: (token: Token) => void }) {
  const session = useSession();
  const [draft, setDraft] = useState<Draft>({
    name: "", scope: "viewer", tenant: "", lifetime: String(30 * DAY) });
  const [problem, setProblem] = useState("");
  const set = (more: Partial<Draft>) => setDraft({ ...draft, ...more });
  const send = async (event: Event) => {
    event.preventDefault();
    try {
      onMade(await session.agent.ask<Token>("/v1/tokens", { method: "POST", json: {
        name: draft.name,
        scope: draft.scope,
        ...(draft.scope === "tenant" ? { tenant: draft.tenant } : {}),
        ...(draft.lifetime ? { expires_in: Number(draft.lifetime) } : {}),
      } }));
    } catch (cause) {
      setProblem(Problem.of(cause).message);
    }
  };
  return (
    <Dialog title="New token" onClose={onClose}>
      <form onSubmit={(event) => void send(event)}>
        <div class="dialog-body">
          <TextField label="Name" required value={draft.name} onInput={(name) => set({ name })}
            hint="What it is for, as “grafana”." />
          <SelectField label="May do" value={draft.scope} options={SCOPES}
            onChange={(scope) => set({ scope: scope as Scope })} />
          {draft.scope === "tenant" && <TextField label="Tenant" required value={draft.tenant}
            onInput={(tenant) => set({ tenant })} />}
          <SelectField label="Valid for" value={draft.lifetime} options={LIFETIMES}
            onChange={(lifetime) => set({ lifetime })} />
          {problem && <p class="refusal" role="alert">{problem}</p>}
        </div>
        <footer class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>Cancel</button>
          <button type="submit" class="button primary">Create</button>
        </footer>
      </form>
    </Dialog>
  );
}

function columns(revoke: (token: Token) => void): Column<Token>[] {
  return [
    { head: "Name", isHead: true, sort: (each) => each.name, cell: (each) => each.name },
    { head: "Id", cell: (each) => <code>{each.id}</code> },
    { head: "May do", sort: (each) => each.scope, cell: (each) => (
      <Badge tone={each.scope === "admin" ? "warn" : "plain"}>
        {each.tenant ? `${each.scope} ${each.tenant}` : each.scope}</Badge>) },
    { head: "Created", isNumber: true, sort: (each) => Date.parse(each.created_at),
      cell: (each) => date(each.created_at) },
    { head: "Expires", isNumber: true, cell: (each) => (each.expires_at ? date(each.expires_at) : "never") },
    { head: "Last used", isNumber: true,
      cell: (each) => (each.last_used_at ? date(each.last_used_at) : "never") },
    { head: "", cell: (each) => (
      <button type="button" class="button small" onClick={() => revoke(each)}>
        Revoke<span class="sr"> {each.name}</span></button>) },
  ];
}

export function Tokens() {
  const session = useSession();
  const resource = session.list<Token>("/v1/tokens");
  const state = useResource(resource);
  const [isNew, setNew] = useState(false);
  const [made, setMade] = useState<Token | null>(null);
  const [doomed, setDoomed] = useState<Token | null>(null);
  const revoke = async () => {
    await session.agent.ask(`/v1/tokens/${encodeURIComponent(doomed!.id)}`, { method: "DELETE" });
    await resource.refresh();
    notify(`Revoked ${doomed!.name}.`);
  };

  return (
    <Page title="Tokens" actions={state.phase === "ready" &&
      <button type="button" class="button primary" onClick={() => setNew(true)}>New token</button>}>
      <Loaded state={state} rows={3} retry={() => void resource.refresh()}>
        {(tokens) => tokens.length === 0
          ? <Note icon="tokens" title="No tokens">Nobody needs one who comes through the agent’s
            socket; over TCP everybody does.</Note>
          : <Table caption="Tokens" rows={tokens} keyOf={(each) => each.id}
            columns={columns(setDoomed)} />}
      </Loaded>
      {isNew && <Create onClose={() => setNew(false)} onMade={(token) => {
        setNew(false);
        setMade(token);
        void resource.refresh();
      }} />}
      {made && <Secret token={made} onClose={() => setMade(null)} />}
      {doomed && <Confirm title={`Revoke ${doomed.name}?`} action="Revoke" isDanger
        lines={[`Requests with ${doomed.name} (${doomed.id}) are refused from now on.`,
          `Last used: ${doomed.last_used_at ? date(doomed.last_used_at) : "never"}.`,
          "A revoked token cannot be restored; a new one has another secret."]}
        onClose={() => setDoomed(null)} onConfirm={revoke} />}
    </Page>
  );
}
