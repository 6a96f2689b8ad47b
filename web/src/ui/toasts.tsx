/* SPDX-License-Identifier: Apache-2.0 */
/* Results of the user's actions, shown once, and read out by screen readers. */
import { useEffect, useReducer } from "preact/hooks";
import { Icon } from "./icons";

interface Toast {
  id: number;
  text: string;
  isBad: boolean;
}

const STAYS_MS = 6000;
const MOST = 4;
let toasts: Toast[] = [];
let number = 0;
const listeners = new Set<() => void>();

function change(next: Toast[]): void {
  toasts = next.slice(-MOST);
  for (const listener of listeners) listener();
}

function dismiss(id: number): void {
  change(toasts.filter((toast) => toast.id !== id));
}

/* An error stays until it is dismissed. */
export function notify(text: string, isBad = false): void {
  const id = ++number;
  change([...toasts, { id, text, isBad }]);
  if (!isBad) setTimeout(() => dismiss(id), STAYS_MS);
}

export function Toasts() {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    const listener = () => redraw(0);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.map((toast) => (
        <div key={toast.id} class={toast.isBad ? "toast bad" : "toast good"}>
          <Icon name={toast.isBad ? "warn" : "ok"} />
          <span>{toast.text}</span>
          <button type="button" class="button quiet" aria-label="Dismiss"
            onClick={() => dismiss(toast.id)}>
            <Icon name="close" size={12} />
          </button>
        </div>
      ))}
    </div>
  );
}
