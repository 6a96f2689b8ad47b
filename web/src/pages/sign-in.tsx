/* SPDX-License-Identifier: Apache-2.0 */
/* Over TCP the agent requires a token.  The page checks it before it keeps it. */
import { useState } from "preact/hooks";
import { Problem } from "../api/problem";
import type { Session } from "../api/session";
import { Code, Field } from "../ui/field";

export function SignIn({ session, onDone, isSmall = false }: {
  session: Session; onDone: () => void; isSmall?: boolean;
}) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    session.agent.token = token.trim();
    try {
      await session.agent.ask("/v1/devices");
      onDone();
    } catch (cause) {
      const refusal = Problem.of(cause);
      session.agent.token = null;
      setProblem(refusal.status === 401 ? "The agent does not know this token, or it has expired."
        : refusal.message);
      setBusy(false);
    }
  };

  return (
    <form class={isSmall ? "sign-in small" : "sign-in"} onSubmit={(event) => void send(event)}>
      {!isSmall && <h1>cleave</h1>}
      <p>{session.agent.name} asks who you are. An administrator of its machine makes a token
        there:</p>
      <Code what="the command" text="sudo cleave token create NAME --scope admin" />
      <Field label="Token" hint="Kept in this tab only, and deleted with it.">
        {(id) => (
          <input id={id} class="input" type="password" autocomplete="off" required value={token}
            onInput={(event) => setToken(event.currentTarget.value)} />
        )}
      </Field>
      {problem && <p class="refusal" role="alert">{problem}</p>}
      <button type="submit" class="button primary" disabled={isBusy || !token}>Sign in</button>
    </form>
  );
}
