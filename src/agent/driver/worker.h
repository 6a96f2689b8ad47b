/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The worker: the process that calls the drivers of hardware that can be divided.  It is
 * this program, executed again: a driver that hangs or crashes takes only this process
 * with it, and the libraries are loaded once for many questions.
 *
 * A question is a line of JSON on stdin, its answer a line of JSON on stdout:
 *   {"do": "survey", "names": {UUID: NAME}}    {"node": {...}}
 *   {"do": "step", "uuid": UUID, "step": {}}   {"device": {...}}
 *   {"do": "sample"}                           {"readings": [...]}
 *   {"do": "limit", "uuid": UUID, "cgroup": PATH, "bytes": N}  {"limited": true}
 * Each has "closed", the PCI addresses of the devices that the worker does not open: it
 * closes them, and its answers are without them.  If a driver cannot open the others
 * alone, the survey is without them, and has "not_closed", the reason.
 * A failure adds {"error": {"code": -16, "message": ""}}.  A step's answer has the device
 * as it was read after the step. */
int clv_worker_main(void);
