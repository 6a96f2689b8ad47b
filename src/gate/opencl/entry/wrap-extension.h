/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the program gets for a name for which the vendor has `found`. */
void *clv_opencl_answer(const char *name, void *found);

/* What the gate answers as a driver's library, by name: set before the first answer.
 * NULL: it has no such function. */
typedef void *clv_opencl_own(const char *name);
void clv_opencl_answer_with(clv_opencl_own *own);
