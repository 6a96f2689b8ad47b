/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the program gets when it looks up a name; found: the driver's function. */
void *clv_opencl_answer(const char *name, void *found);

/* Looks up a function that the gate has as a driver's library.  NULL: it has none of this
 * name.  To be set before the first clv_opencl_answer(). */
typedef void *clv_opencl_own(const char *name);
void clv_opencl_answer_with(clv_opencl_own *own);
