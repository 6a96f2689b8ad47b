/* SPDX-License-Identifier: Apache-2.0 */
/* The environment variables by which OpenCL's loaders find layers. */
#include "gate/opencl/entry/layers.h"

#include "base/cleanup.h"
#include "base/paths.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_gate(const char *entry, size_t n)
{
	static const char name[] = CLV_GATE_OPENCL;

	return n >= sizeof(name) - 1 &&
	       memcmp(entry + n - (sizeof(name) - 1), name, sizeof(name) - 1) == 0;
}

/* This library replaces other entries of its name, which may be of an installation that
 * is gone.  Other layers stay. */
static void put_first(const char *variable, const char *gate)
{
	const char *before = getenv(variable);
	size_t room = strlen(gate) + (before ? strlen(before) : 0) + 3, used;
	_cleanup_free_ char *layers = malloc(room);

	if (!layers)
		return;
	used = (size_t)snprintf(layers, room, "%s", gate);
	while (before && *before) {
		size_t n = strcspn(before, ":");

		if (n > 0 && !is_gate(before, n))
			used += (size_t)snprintf(
				layers + used, room - used, ":%.*s", (int)n, before);
		before += n + (before[n] == ':');
	}
	setenv(variable, layers, 1);
}

void clv_layers_switch_on(const char *gate)
{
	put_first("OPENCL_LAYERS", gate);
	put_first("OCL_ICD_LAYERS", gate); /* ocl-icd before 2.3 */
}
