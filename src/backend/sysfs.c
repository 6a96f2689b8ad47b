/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/backend.h"

#include <stdlib.h>

const char *clv_backend_sysfs(void)
{
	const char *folder = getenv("CLEAVE_SYSFS");

	return folder && folder[0] == '/' ? folder : "/sys";
}
