/* SPDX-License-Identifier: Apache-2.0 */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

/* The first page must not move the focus when the console is opened. */
let hasShownOne = false;

export function Page({ title, actions, children }: {
  title: string; actions?: ComponentChildren; children: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);

  useEffect(() => {
    document.title = `${title} · cleave`;
    if (hasShownOne) heading.current?.focus({ preventScroll: true });
    hasShownOne = true;
    scrollTo(0, 0);
  }, [title]);

  return (
    <>
      <header class="page-head">
        <h1 ref={heading} tabIndex={-1}>{title}</h1>
        <div class="actions">{actions}</div>
      </header>
      {children}
    </>
  );
}

export function Section({ title, actions, children }: {
  title: string; actions?: ComponentChildren; children: ComponentChildren;
}) {
  return (
    <section class="section" aria-label={title}>
      <header class="section-head">
        <h2>{title}</h2>
        <div class="actions">{actions}</div>
      </header>
      {children}
    </section>
  );
}

export function Facts({ items }: { items: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {items.map(([name, value]) => (
        <div key={name}><dt>{name}</dt><dd>{value}</dd></div>
      ))}
    </dl>
  );
}
