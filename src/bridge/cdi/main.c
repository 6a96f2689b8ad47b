/* SPDX-License-Identifier: Apache-2.0 */
/* cleave-cdi-hook, which container runtimes run.  It is linked statically, because it is
 * copied to hosts that have nothing else of cleave installed. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "bridge/cdi/hook.h"

#include <stdio.h>

#define STATE_MAX_BYTES (1u << 20)
#define EXIT_FAILED 125

int main(void)
{
	_cleanup_free_ char *state = NULL;
	struct clv_error err;
	size_t n_bytes = 0;
	int r = clv_file_read_all("/dev/stdin", STATE_MAX_BYTES, &state, &n_bytes, &err);

	if (r >= 0)
		r = clv_cdi_hook(state, n_bytes, &err);
	/* The runtime includes standard error in its own message. */
	if (r < 0)
		fprintf(stderr, "cleave: %s\n", err.msg);
	return r < 0 ? EXIT_FAILED : 0;
}
