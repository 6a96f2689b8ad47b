/* SPDX-License-Identifier: Apache-2.0 */
/* text/event-stream without EventSource, which cannot send an Authorization header. */

/* The data lines of one message; comments and other fields are skipped. */
export function dataOf(message: string): string | null {
  const lines = message
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).replace(/^ /, ""));
  return lines.length > 0 ? lines.join("\n") : null;
}

/* Splits the received text into complete messages and the rest. */
export function splitMessages(text: string): { messages: string[]; rest: string } {
  const parts = text.split(/\r?\n\r?\n/);
  return { rest: parts.pop() ?? "", messages: parts };
}

export async function* readMessages(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";

  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
      if (done) return;
      const { messages, rest } = splitMessages(text + decoder.decode(value, { stream: true }));
      text = rest;
      for (const message of messages) {
        const data = dataOf(message);
        if (data !== null) yield data;
      }
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}
