/* SPDX-License-Identifier: Apache-2.0 */
/* The frame around the pages: navigation, the selected node, whether it answers. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { Agent } from "./api/agent";
import { Session } from "./api/session";
import type { ListOf, NodeAddress } from "./api/types";
import { Advice } from "./pages/advice";
import { DevicePage } from "./pages/device";
import { Devices } from "./pages/devices";
import { DividePage } from "./pages/divide";
import { Events } from "./pages/events";
import { LeasePage } from "./pages/lease";
import { Leases } from "./pages/leases";
import { Machines } from "./pages/machines";
import { Nodes } from "./pages/nodes";
import { Overview } from "./pages/overview";
import { Partitions } from "./pages/partitions";
import { ProjectPage, Services } from "./pages/services";
import { SignIn } from "./pages/sign-in";
import { Tenants } from "./pages/tenants";
import { Tokens } from "./pages/tokens";
import { Frame } from "./ui/frame";
import { href, type Route, SessionContext, useResource, useRoute } from "./ui/hooks";
import { Page } from "./ui/page";
import { Note } from "./ui/states";
import { Toasts } from "./ui/toasts";

const NO_NODES: NodeAddress[] = [];

/* The page's own agent, and those that its settings name.  The list is requested again after a
 * sign-in, because the agent does not send it to an unknown caller. */
function useSessions(): Session[] {
  const own = useMemo(() => new Session(new Agent("this node", "")), []);
  const state = useResource(own.one<ListOf<NodeAddress>>("/console/nodes.json", () => 0));
  const known = state.phase === "ready" ? state.data.items : NO_NODES;

  return useMemo(() => {
    const isOwn = (node: NodeAddress) => new URL(node.url, location.origin).origin === location.origin;
    own.agent.name = known.find(isOwn)?.name ?? own.agent.name;
    return [own, ...known.filter((node) => !isOwn(node))
      .map((node) => new Session(new Agent(node.name, node.url)))];
  }, [own, known]);
}

function Content({ route, sessions, session, onChoose }: {
  route: Route; sessions: Session[]; session: Session; onChoose: (session: Session) => void;
}) {
  const { page, argument, query } = route;

  switch (page) {
  case "overview": return <Overview />;
  case "devices": return argument ? <DevicePage name={argument} /> : <Devices />;
  case "partitions": return <Partitions />;
  case "divide": return <DividePage wanted={query.get("device") ?? undefined} />;
  case "leases": return argument ? <LeasePage id={argument} /> : <Leases />;
  case "machines": return <Machines />;
  case "services": return argument ? <ProjectPage name={argument} /> : <Services />;
  case "advice": return <Advice />;
  case "events": return <Events tab={argument} text={query.get("text") ?? ""} />;
  case "tenants": return <Tenants />;
  case "tokens": return <Tokens />;
  case "nodes": return <Nodes sessions={sessions} current={session} onChoose={onChoose} />;
  default:
    return <Page title="Not here"><Note icon="info" title="There is no such page">
      <a href={href("overview")}>Overview</a></Note></Page>;
  }
}

/* An event on the node is shown at once, not with the next interval. */
function useFreshness(session: Session): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    const end = session.feed.subscribe((fresh) => {
      if (fresh.length === 0 || timer) return;
      timer = setTimeout(() => {
        timer = null;
        session.node.wake();
        session.leases.wake();
      }, 300);
    });
    const look = () => { if (!document.hidden) session.wake(); };
    document.addEventListener("visibilitychange", look);
    return () => {
      end();
      if (timer) clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [session]);
}

function Signed({ route, sessions, session, onChoose }: {
  route: Route; sessions: Session[]; session: Session; onChoose: (session: Session) => void;
}) {
  const devices = useResource(session.devices);
  const [, redraw] = useState(0);
  useFreshness(session);

  if (devices.phase === "failed" && devices.problem.status === 401)
    return <main class="alone">
      <SignIn key={session.agent.base} session={session} onDone={() => {
        session.wake();
        redraw((n) => n + 1);
      }} />
    </main>;
  return (
    <Frame route={route} sessions={sessions} session={session} onChoose={onChoose}>
      <Content {...{ route, sessions, session, onChoose }} key={session.agent.base} />
    </Frame>
  );
}

export function App() {
  const route = useRoute();
  const sessions = useSessions();
  const [base, setBase] = useState("");
  const session = sessions.find((each) => each.agent.base === base) ?? sessions[0]!;
  const choose = (chosen: Session) => {
    setBase(chosen.agent.base);
    location.hash = href("overview");
  };

  return (
    <SessionContext.Provider value={session}>
      <Signed route={route} sessions={sessions} session={session} onChoose={choose} />
      <Toasts />
    </SessionContext.Provider>
  );
}
