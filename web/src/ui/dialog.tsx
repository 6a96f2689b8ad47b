/* SPDX-License-Identifier: Apache-2.0 */
/* The browser's own modal dialog: it keeps the focus inside, returns it, and closes with
 * Escape. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Problem } from "../api/problem";
import { Icon } from "./icons";

export function Dialog({ title, onClose, children, isWide = false }: {
  title: string; onClose: () => void; children: ComponentChildren; isWide?: boolean;
}) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();

  useEffect(() => {
    const dialog = box.current;
    const before = document.activeElement;
    if (dialog && !dialog.open) dialog.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);

  return (
    <dialog ref={box} class={isWide ? "dialog wide" : "dialog"} aria-labelledby={id}
      onCancel={(event) => { event.preventDefault(); onClose(); }}>
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="button quiet" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}

/* Names what an action affects, carries it out, and stays open with the reason if the agent
 * refuses it. */
export function Confirm({ title, lines, action, isDanger = false, onClose, onConfirm, children }: {
  title: string; lines: string[]; action: string; isDanger?: boolean;
  onClose: () => void; onConfirm: () => Promise<void>; children?: ComponentChildren;
}) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const confirm = async () => {
    setBusy(true);
    setProblem(null);
    try {
      await onConfirm();
      onClose();
    } catch (cause) {
      setProblem(Problem.of(cause).message);
      setBusy(false);
    }
  };

  return (
    <Dialog title={title} onClose={onClose}>
      <div class="dialog-body">
        <ul class="consequences">{lines.map((line) => <li key={line}>{line}</li>)}</ul>
        {children}
        {problem && <p class="refusal" role="alert">{problem}</p>}
      </div>
      <footer class="dialog-foot">
        <button type="button" class="button" onClick={onClose}>Cancel</button>
        <button type="button" class={isDanger ? "button danger" : "button primary"}
          disabled={isBusy} onClick={() => void confirm()}>{action}</button>
      </footer>
    </Dialog>
  );
}
