/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct clv_error;

/* A share profile: a size with a name, which pods refer to. */
struct clv_webhook_profile {
	uint64_t share;        /* in hundredths of a device; 0: it has none */
	uint64_t memory_bytes; /* 0: it has none */
};

/* How the profile of a name is found.  -ENOENT: there is none; err says which there are.
 */
struct clv_webhook_profiles {
	int (*find)(void *userdata, const char *name, struct clv_webhook_profile *ret,
		struct clv_error *err);
	void *userdata; /* of find; borrowed */
};

/* A find function.  userdata is the path of a folder (a mounted ConfigMap) with a file of
 * YAML for each profile, which is read at each call, so that changes are seen. */
int clv_webhook_profile_read(void *userdata, const char *name,
	struct clv_webhook_profile *ret, struct clv_error *err);
