/* SPDX-License-Identifier: Apache-2.0 */
/* hsa_init attaches the process to its lease, and fails where the process must see no
 * device.  HIP always begins with hsa_init. */
#include "gate/attach/attachment.h"
#include "gate/hsa/library.h"
#include "gate/hsa/units.h"
#include "gate/preload/elf.h"
#include "gate/preload/visible.h"
#include "gate/process/view.h"

#include <stdio.h>
#include <stdlib.h>

#define TOOLS "HSA_TOOLS_LIB"

/* HSA gives the libraries that this variable names its table of functions, which are not
 * the gate's.  Uses libc's unsetenv: a program may define its own. */
static void refuse_tools(void)
{
	int (*libcs)(const char *) =
		(int (*)(const char *))(uintptr_t)clv_elf_find_in_libc("unsetenv");
	const char *tools = getenv(TOOLS);

	if (!tools || !*tools)
		return;
	fprintf(stderr,
		"cleave: " TOOLS "=%s is not used: a tool would call HSA past the gate; "
		"profile the program outside of the lease\n",
		tools);
	(libcs ? libcs : unsetenv)(TOOLS);
}

int clv_own_hsa_init(clv_fn_hsa_init *real)
{
	bool is_refused;
	const struct clv_view *view = clv_gate_view(&is_refused);

	if (is_refused)
		return CLV_HSA_OUT_OF_RESOURCES;
	/* The real hsa_init reads the environment. */
	if (view) {
		clv_visible_choose("ROCR_VISIBLE_DEVICES",
			view->devices[0] ? view->devices : view->model, view->n_before);
		clv_hsa_units_begin();
		refuse_tools();
	}
	return real();
}
