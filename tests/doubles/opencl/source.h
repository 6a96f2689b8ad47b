/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "dcl.h"

/* The little that the double parses of OpenCL C: which kernels a text defines and the
 * kinds of their arguments. */

/* The names of the kernels in the text, joined by ';' (malloc'ed), and how many. */
char *dcl_source_kernels(const char *text, cl_uint *n);

/* Fills kernel->args[].kind, n_args and args_known if the text defines this kernel. */
void dcl_source_args(const char *text, cl_kernel kernel);
