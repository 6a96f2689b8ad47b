/* SPDX-License-Identifier: Apache-2.0 */
/* Commands, streams, histories and problems. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { problemFrom } from "../../src/api/problem";
import { joinCommand, keptRequest, runCommand, shellWord } from "../../src/lib/command";
import { dataOf, readMessages, splitMessages } from "../../src/lib/event-stream";
import { roomText } from "../../src/lib/format";
import { joined, knownUntil, Seen, seriesOf, summaryOf } from "../../src/lib/series";

test("a command that a shell takes as it is meant", () => {
  assert.equal(runCommand({ name: "my run", device: "gpu0/1g.5gb@0", share: 0.25, cap: 0.5,
    memory_bytes: 2 ** 30, class: "batch", wait: true, program: "python3 a.py" }),
  "cleave run --name 'my run' --device gpu0/1g.5gb@0 --share 0.25 --memory 1G --cap 0.5 " +
    "--class batch --wait -- python3 a.py");
  assert.equal(shellWord("it's"), "'it'\\''s'");
  assert.equal(shellWord("$(rm)"), "'$(rm)'");
  assert.equal(shellWord(""), "''");
});

test("a kept lease as the agent takes it, and the command for its programs", () => {
  const wanted = { name: "chat", device: "gpu0", share: 0.25, cap: null, memory_bytes: 2 ** 30,
    class: "batch" as const, wait: false, program: "python3 a.py" };
  assert.deepEqual(keptRequest(wanted, 1000), { name: "chat", device: "gpu0", share: 0.25,
    memory_bytes: 2 ** 30, class: "batch", keep: true, user: 1000 });
  assert.deepEqual(keptRequest({ ...wanted, name: "", share: { least: 0.1, most: 0.5 }, cap: 0.6,
    wait: true }, 0), { device: "gpu0", share_range: { least: 0.1, most: 0.5 }, cap: 0.6,
    memory_bytes: 2 ** 30, class: "batch", keep: true, user: 0, wait: true });
  assert.equal(joinCommand("my lease", " "), "cleave run --lease 'my lease' -- PROGRAM");
});

test("what can be chosen of a resource, without others where there are none", () => {
  const show = (value: number) => `${value * 100}%`;
  assert.equal(roomText(1, 1, show), "All of it, 100%, is free.");
  assert.equal(roomText(0.5, 1, show), "50% of 100% is free; the rest is promised to others.");
});

test("messages of a stream, however it was cut", async () => {
  assert.equal(dataOf("id: 1\nevent: x\ndata: {\"a\":\ndata: 1}"), "{\"a\":\n1}");
  assert.equal(dataOf(": still here"), null);
  assert.deepEqual(splitMessages("data: 1\r\n\r\ndata: 2\n\nda"),
    { messages: ["data: 1", "data: 2"], rest: "da" });

  const whole = "id: 1\ndata: eins\n\n: c\n\nid: 2\ndata: zwölf\n\n";
  const packed = new TextEncoder().encode(whole);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const byte of packed) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  const seen = [];
  for await (const data of readMessages(body)) seen.push(data);
  assert.deepEqual(seen, ["eins", "zwölf"]);
});

test("histories keep their gaps and are thinned by means", () => {
  const history = { of: "lease:l1", resolution: 1, from: "", columns: ["a", "b"], start: 100, step: 2,
    rows: [[1, 10], [3, 30], null, null, [5, 50]] };
  assert.deepEqual(seriesOf(history), { times: [100, 102, 104, 106, 108],
    columns: { a: [1, 3, null, null, 5], b: [10, 30, null, null, 50] } });
  assert.deepEqual(seriesOf(history, 3).columns.a, [2, null, 5]);
  assert.deepEqual(summaryOf([1, null, 3]), { mean: 2, most: 3, last: 3, known: 2 / 3 });
  assert.equal(summaryOf([null]), null);
});

test("a history is continued by what is new, with its gaps, and stays as long", () => {
  const of = (start: number, rows: (number[] | null)[], step = 1) =>
    ({ of: "", resolution: step, from: "", columns: ["a"], start, step, rows });
  const old = of(100, [[0], [1], [2], null]);
  assert.equal(knownUntil(old), 102);
  assert.deepEqual(joined(old, of(102, [[9], [3]]), 10), of(100, [[0], [1], [9], [3]]));
  assert.deepEqual(joined(old, of(106, [[6]]), 10), of(100, [[0], [1], [2], null, null, null, [6]]));
  assert.deepEqual(joined(old, of(104, [[4], [5]]), 3), of(103, [null, [4], [5]]));
  /* Another grid, or from before: only the new one can be right. */
  assert.deepEqual(joined(old, of(60, [[7]], 60), 10), of(60, [[7]], 60));
  assert.deepEqual(joined(old, of(90, [[7]]), 10), of(90, [[7]]));
});

test("what a page has seen is bounded", () => {
  const seen = new Seen(3);
  for (let at = 0; at < 10; at++) {
    seen.add(at, { a: at });
    seen.add(at, { a: -1 });
  }
  assert.equal(seen.length, 3);
  assert.deepEqual(seen.series(), { times: [7, 8, 9], columns: { a: [7, 8, 9] } });
});

test("problems: absent routes, absent objects, and no agent", () => {
  const absent = problemFrom(404, JSON.stringify({ code: "not_found",
    detail: "the API has no such path: /v1/devices is there" }));
  assert.equal(absent.isAbsentRoute, true);
  assert.equal(problemFrom(404, "").isAbsentRoute, true);
  const gone = problemFrom(404, JSON.stringify({ code: "not_found", detail: "there is no lease x" }));
  assert.equal(gone.isAbsentRoute, false);
  assert.equal(gone.message, "there is no lease x");
  assert.equal(problemFrom(502, "<html>").isUnreachable, true);
  assert.equal(problemFrom(500, "{\"code\":\"internal\",\"detail\":\"x\"}").isUnreachable, false);
  assert.equal(problemFrom(400, "not json").message, "not json");
});
