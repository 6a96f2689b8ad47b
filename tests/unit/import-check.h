/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Imports of short documents, held against what they should become.  A layout is written
 * as a line for each rule:
 *   vendor MODEL [indexes] {names} mig=on CPX NPS1 profile*count/shares(parts) shares=n
 * of which only what is said is there; "preserve" ends it. */

struct import_case {
	const char *file;    /* its content, called "f" in messages */
	const char *select;  /* or NULL */
	const char *layout;  /* NULL: it is refused */
	const char *says[6]; /* parts of the remarks, one each and in order; or of the one
				message */
};

/* Fails the test that runs.  Every case is also read without a place for errors. */
void check_imports(const struct import_case *cases, size_t n);

#define CHECK_IMPORTS(cases) check_imports((cases), sizeof(cases) / sizeof((cases)[0]))
