/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/services/compose-file.h"

/* Prints what `cleave up` would do with each service, and changes nothing.  Returns an
 * exit code. */
int clv_services_plan(const struct clv_compose_file *file);
