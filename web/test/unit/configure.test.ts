/* SPDX-License-Identifier: Apache-2.0 */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as configure from "../../src/lib/configure";
import { viewsOf } from "../../src/lib/model";
import { device, lease, node, nodeDevice, partition, profile } from "./fixtures";

const WISH: configure.Wish = { devices: ["gpu0"], scheme: "mig", counts: {}, shares: 0,
  preserve: false, vgpu_type: "", on_busy: "fail", leaving: [] };

const text = (more: Partial<configure.Wish>) => configure.layoutText({ ...WISH, ...more });

function views() {
  return viewsOf(node(nodeDevice("gpu0"), nodeDevice("gpu1"),
    nodeDevice("gpu2", { holders: [{ text: "x", lease: "", pid: 1 }] }),
    nodeDevice("gpu3", { model: "T4", mig: null, cannot_divide: "no MIG" }),
    nodeDevice("gpu4", { model: "H100" })), [], []);
}

test("the largest set of one kind is chosen, without what is in use", () => {
  assert.deepEqual(configure.preselect(views()), ["gpu0", "gpu1"]);
  assert.deepEqual(configure.preselect(views(), "gpu4"), ["gpu4"]);
  assert.deepEqual(configure.preselect(views(), "gpu3"), ["gpu0", "gpu1"]);
  assert.deepEqual(configure.preselect([]), []);
});

test("partitions that somebody uses are not chosen for anybody", () => {
  const busy = viewsOf(node(nodeDevice("gpu0", { scheme: "mig",
    partitions: [partition("gpu0/1g.5gb@0")] }), nodeDevice("gpu1")),
  [device("gpu0")], [lease("a", "gpu0/1g.5gb@0")]);
  assert.deepEqual(configure.preselect(busy), ["gpu1"]);
});

test("why a device cannot be chosen too", () => {
  const all = views();
  assert.equal(configure.whyNot(all[1]!, [all[0]!]), "");
  assert.equal(configure.whyNot(all[2]!, [all[0]!]), "");
  assert.equal(configure.whyNot(all[3]!, []), "no MIG");
  assert.match(configure.whyNot(all[4]!, [all[0]!]), /not of the same kind as gpu0/);
  assert.equal(configure.whyNot(all[4]!, []), "");
});

test("choices are what all chosen devices have, with the least of each", () => {
  const choices = configure.choicesOf([profile("gpu0", "1g.5gb", { fits: 7, note: "MIG is off" }),
    profile("gpu1", "1g.5gb", { fits: 2 }), profile("gpu0", "7g.40gb"),
    profile("gpu2", "1g.5gb", { fits: 0 })], ["gpu0", "gpu1"]);
  assert.deepEqual(choices.map((each) => [each.profile, each.fits, each.note]), [["1g.5gb", 2, ""]]);
});

test("layouts: MIG with counts, shares, and what stays", () => {
  assert.equal(text({ devices: ["gpu0", "gpu1"], counts: { "3g.20gb": 1, "1g.5gb": 3, "2g.10gb": 0 },
    shares: 2, preserve: true, on_busy: "wait" }), `version: 1
on-busy: wait
devices:
  - select: {name: ["gpu0", "gpu1"]}
    preserve: true
    mig: on
    partitions:
      - {profile: "3g.20gb", count: 1, shares: 2}
      - {profile: "1g.5gb", count: 3, shares: 2}
`);
});

test("layouts: modes and functions have no count", () => {
  assert.match(text({ scheme: "xcp", counts: { "CPX/NPS4": 8 } }), /- \{profile: "CPX\/NPS4"\}\n/);
  assert.match(text({ scheme: "vf", counts: { "vf:4": 4 } }), /- \{profile: "vf:4"\}\n/);
  assert.match(text({ scheme: "vf", counts: { "vf:4": 4 }, vgpu_type: "NVIDIA L40S-12Q" }),
    / {4}vf: \{count: 4, type: "NVIDIA L40S-12Q"\}\n/);
});

test("layouts: whole again, in each scheme's own words", () => {
  assert.match(text({}), / {4}mig: off\n$/);
  assert.match(text({ scheme: "xcp" }), / {4}compute-mode: SPX\n {4}memory-mode: NPS1\n$/);
  assert.match(text({ scheme: "vf" }), / {4}vf: \{count: 0\}\n$/);
  assert.match(text({ scheme: "cores" }), / {4}partitions: \[\]\n$/);
});

test("layouts: from one way to another, the old one goes first", () => {
  assert.match(text({ counts: { "1g.5gb": 1 }, leaving: ["vf"] }),
    /vf: \{count: 0\}\n {4}mig: on\n {4}partitions:\n/);
  assert.doesNotMatch(text({ counts: { "1g.5gb": 1 }, leaving: ["mig"] }), /mig: off/);
});
