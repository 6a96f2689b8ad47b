/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* cl_khr_command_buffer: commands that are recorded once and submitted as one.  A program
 * may submit them without naming a queue, and drivers do not report it reliably (PoCL 3.1
 * returns another pointer), so the gate records the queues for which a command buffer is
 * created.  Any thread. */

/* The wrapper of a function of this name; found: the driver's function.  NULL: it needs
 * no wrapper. */
void *clv_command_buffer_wrapper(const char *name, void *found);

void clv_command_buffers_forget_parent(void);
