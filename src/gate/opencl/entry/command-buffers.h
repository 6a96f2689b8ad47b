/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* cl_khr_command_buffer: commands that are recorded once and submitted as one.  A program
 * may submit them without naming a queue, and vendors do not reliably say which one that
 * is (PoCL 3.1 answers with another pointer): so the gate notes the queues that a command
 * buffer is made for.  Any thread. */

/* The wrapper of a function of this name, for which the vendor has `found`; NULL: it
 * needs none. */
void *clv_command_buffer_wrapper(const char *name, void *found);

void clv_command_buffers_forget_parent(void);
