/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* What a function that a program has found is: one of the gate's, or of the vendor's
 * library. */

static int n_failed;

static void fail(const char *how, const char *name, const char *found)
{
	printf("%s of %s: %s\n", how, name, found ? found : "nothing");
	n_failed++;
}

/* symbol: as which it must be found in GATE, which the program defines; NULL: not as one
 * of the gate's. */
static void check(const char *how, const char *name, void *function, const char *symbol)
{
	Dl_info info = {0};

	if (!function || !dladdr(function, &info) || (symbol && !info.dli_sname)) {
		fail(how, name, function ? "an address of no name" : NULL);
		return;
	}
	if (!symbol) {
		if (strstr(info.dli_fname, "libcleave"))
			fail(how, name, info.dli_fname);
		return;
	}
	if (!strstr(info.dli_fname, GATE) || strcmp(info.dli_sname, symbol) != 0)
		fail(how, name, info.dli_sname);
}
