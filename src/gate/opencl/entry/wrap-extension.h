/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the program gets when it looks up a name; found: the driver's function. */
void *clv_opencl_lookup(const char *name, void *found);

/* Looks up a function that the gate has as a driver's library.  NULL: it has none of this
 * name.  To be set before the first clv_opencl_lookup(). */
typedef void *clv_opencl_lookup_function(const char *name);
void clv_opencl_set_own_lookup(clv_opencl_lookup_function *own);
