/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Imports of short documents, compared with the expected layout, which is written as a
 * line for each rule:
 *
 *   vendor MODEL [indexes] {names} mig=on CPX NPS1 profile*count/shares(parts) shares=n
 *
 * with only the keys that are set; "preserve" is the last. */

struct import_case {
	const char *file;    /* its content, called "f" in messages */
	const char *select;  /* or NULL */
	const char *layout;  /* NULL: the import is refused */
	const char *says[6]; /* parts of the remarks, one each and in order; or of the
			      * error */
};

/* Fails the calling test if a case differs. Every case is also imported without a struct
 * for errors. */
void check_imports(const struct import_case *cases, size_t n);

#define CHECK_IMPORTS(cases) check_imports((cases), sizeof(cases) / sizeof((cases)[0]))
