/* SPDX-License-Identifier: Apache-2.0 */
/* Where cleave's part for containers is installed. */
#include "bridge/cdi/host.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "bridge/cdi/spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int clv_cdi_find_hook(const char *gates, char ret[CLV_PATH_MAX], struct clv_error *err)
{
	static const char *const places[] = {"", "/../bridge/cdi"};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(places); i++) {
		char path[2 * CLV_PATH_MAX];

		snprintf(path, sizeof(path), "%s%s/" CLV_CDI_HOOK, gates, places[i]);
		if (realpath(path, ret) && access(ret, X_OK) == 0)
			return 0;
	}
	return clv_error_set(err, -ENOENT,
		"%s is not beside the gates in %.300s: install cleave completely",
		CLV_CDI_HOOK, gates);
}
