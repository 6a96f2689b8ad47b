/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/yaml.h"
#include "import/mig.h"

#include <stdbool.h>
#include <stdint.h>

struct clv_error;

/* Omnistrate's x-internal-integrations.multiTenantGpu of compose files: how the GPUs of
 * an instance type are shared.  Read for layouts (import) and for services. */

#define CLV_SLICING_KEY "x-internal-integrations.multiTenantGpu"

struct clv_slicing {
	char type[96]; /* of the instance */
	struct clv_yaml_value type_at;
	uint32_t replicas; /* of time-slicing; 0: unset */
	struct clv_yaml_value replicas_at;
	bool has_profile;
	struct clv_import_profile profile; /* of a whole GPU instance */
	struct clv_yaml_value profile_at;
};

/* Whether the top of a file, or a service, has it. */
bool clv_slicing_find(struct clv_yaml_value of, struct clv_yaml_value *ret);

/* Reads it.  -EINVAL, with line and column, if the GPUs are neither shared nor divided.
 * Whether the type exists, and its GPU has the profile, is not checked. */
int clv_slicing_read(
	struct clv_yaml_value value, struct clv_slicing *ret, struct clv_error *err);
