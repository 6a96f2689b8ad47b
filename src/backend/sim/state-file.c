/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and saves the state file of a simulated node. */
#include "backend/sim/sim.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int clv_sim_load(struct clv_sim *sim, const char *path, struct clv_error *err)
{
	struct clv_yaml *yaml;
	int r;

	if (!path)
		return 0;
	if (access(path, F_OK) < 0 && errno == ENOENT) {
		clv_sim_begin(sim);
		return 0;
	}
	r = clv_yaml_parse_file(path, &yaml, err);
	if (r == 0) {
		r = clv_sim_state_parse(clv_yaml_root(yaml), sim, err);
		clv_yaml_free(yaml);
	}
	if (r < 0)
		clv_error_prefix(err,
			"the file is not a state of the simulated node %s: name "
			"another file with CLEAVE_SIM_STATE, or remove it",
			sim->name);
	return r;
}

int clv_sim_save(const struct clv_sim *sim, const char *path, struct clv_error *err)
{
	_cleanup_free_ char *text = NULL;
	int r;

	if (!path)
		return 0;
	r = clv_sim_state_write(sim, &text, err);
	return r < 0 ? r : clv_file_replace(path, text, err);
}
