/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/frame/opt.h"
#include "cli/services/compose-file.h"

/* Prints what `cleave up` would do with each service, and where its replicas would be,
 * and changes nothing.  reports: as clv_slowdown_predict().  Returns an exit code:
 * CLV_EXIT_NO_FIT if a replica has no room. */
int clv_services_plan(const struct clv_common *common,
	const struct clv_compose_file *file, const char *reports);
