/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The process that speaks to the drivers of hardware that can be divided: this same
 * program, started anew, so that a driver that hangs or crashes takes only that process
 * with it, and so that its libraries are loaded once for many questions.
 *
 * A question a line on stdin, an answer a line on stdout, both JSON:
 *   {"do": "survey", "names": {UUID: NAME}}   {"node": {...}}
 *   {"do": "step", "uuid": UUID, "step": {}}  {"device": {...}}
 * or, beside what can be said all the same, {"error": {"code": -16, "message": ""}}.
 * A device is in the answer as it was read after the step. */
int clv_worker_main(void);
