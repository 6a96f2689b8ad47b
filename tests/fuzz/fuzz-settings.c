/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's settings. */
#include "fuzz.h"

#include "agent/config/config.h"
#include "base/error.h"

/* A configuration that was read can be queried. */
static void check(const struct clv_config *config)
{
	struct clv_allowance allowance;
	enum clv_scope scope;

	CLV_MUST(clv_config_allowance(config, "nobody", 65534, &allowance) == 0);
	CLV_MUST(clv_config_scope(config, "nobody", 65534, &scope) == 0);
	CLV_MUST(config->certificate[0] == '\0' || config->key[0] == '/');
	CLV_MUST(config->port == 0 || config->certificate[0] != '\0' ||
		 strncmp(config->address, "127.", 4) == 0 ||
		 strcmp(config->address, "::1") == 0);
	CLV_MUST(allowance.n_profiles <= CLV_ALLOWANCE_PROFILES);
	CLV_MUST(allowance.classes < 1u << _CLV_CLASS_MAX);
	CLV_MUST(
		config->over_quota < _CLV_WATCH_MAX && config->no_lease < _CLV_WATCH_MAX);
	for (size_t i = 0; i < config->n_tenants; i++)
		CLV_MUST(memchr(config->tenants[i].who.name, '\0',
			sizeof(config->tenants[i].who.name)));
	CLV_MUST(scope < _CLV_SCOPE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	struct clv_config *config = NULL;
	struct clv_error err = {0};

	if (clv_config_parse(
		    (const char *)data, n_bytes, "settings.yaml", &config, &err) < 0) {
		CLV_MUST(!config && err.msg[0] && err.code < 0);
		return 0;
	}
	check(config);
	clv_config_free(config);
	return 0;
}
