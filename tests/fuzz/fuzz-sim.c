/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a simulated node. The first byte selects the node ('n') or the state of
 * its division ('s'). */
#include "fuzz.h"

#include "backend/sim/sim.h"
#include "base/error.h"

static const char node[] = "version: 1\n"
			   "name: fuzz\n"
			   "devices:\n"
			   "  - {model: A100-40GB}\n"
			   "  - {model: MI300X, hive: a}\n"
			   "  - {model: Flex 170}\n"
			   "  - {model: L40S, sriov: {total: 8, types:\n"
			   "      [{id: 7, name: L40S-12Q, memory: 12G, max: 4}]}}\n"
			   "  - {model: CPU, cores: 8}\n";

static void check_error(int r, const struct clv_error *err)
{
	CLV_MUST(r < 0 && err->code == r && err->msg[0] != '\0');
}

static void show(const struct clv_sim *sim)
{
	for (size_t i = 0; i < sim->n_devices; i++) {
		struct clv_node_device shown = {.info = {.name = "gpu0"}};

		CLV_MUST(clv_sim_fill(sim, &sim->devices[i], &shown) == 0);
		CLV_MUST(memchr(shown.info.uuid, '\0', sizeof(shown.info.uuid)));
		clv_node_device_clear(&shown);
	}
}

static int read_text(int (*parse)(struct clv_yaml_value root, struct clv_sim *sim,
			     struct clv_error *err),
	const char *data, size_t n_bytes, struct clv_sim *sim, struct clv_error *err)
{
	struct clv_yaml *yaml;
	int r = clv_yaml_parse(data, n_bytes, "file", &yaml, err);

	if (r < 0)
		return r;
	r = parse(clv_yaml_root(yaml), sim, err);
	clv_yaml_free(yaml);
	return r;
}

static int read_node(
	const char *data, size_t n_bytes, struct clv_sim *ret, struct clv_error *err)
{
	return read_text(clv_sim_node_parse, data, n_bytes, ret, err);
}

static int read_state(
	const char *data, size_t n_bytes, struct clv_sim *sim, struct clv_error *err)
{
	return read_text(clv_sim_state_parse, data, n_bytes, sim, err);
}

/* A state that can be read, written again, reads as the same. */
static void check_round(struct clv_sim *sim)
{
	char *before = NULL, *after = NULL;

	CLV_MUST(clv_sim_state_write(sim, &before, NULL) == 0);
	CLV_MUST(read_state(before, strlen(before), sim, NULL) == 0);
	CLV_MUST(clv_sim_state_write(sim, &after, NULL) == 0);
	CLV_MUST(strcmp(before, after) == 0);
	free(before);
	free(after);
}

static void try_node(const char *data, size_t n_bytes)
{
	struct clv_error err = {0};
	struct clv_sim sim = {0};
	int r = read_node(data, n_bytes, &sim, &err);

	if (r < 0) {
		check_error(r, &err);
		CLV_MUST(!sim.devices && !sim.holders);
		return;
	}
	CLV_MUST(sim.n_devices > 0 && sim.n_devices <= CLV_SIM_DEVICES_MAX);
	show(&sim);
	check_round(&sim);
	clv_sim_clear(&sim);
}

static void try_state(const char *data, size_t n_bytes)
{
	struct clv_error err = {0};
	struct clv_sim sim;
	int r;

	CLV_MUST(read_node(node, sizeof(node) - 1, &sim, NULL) == 0);
	r = read_state(data, n_bytes, &sim, &err);
	show(&sim);
	if (r < 0)
		check_error(r, &err);
	else
		check_round(&sim);
	clv_sim_clear(&sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	if (n_bytes > 0 && data[0] == 'n')
		try_node((const char *)data + 1, n_bytes - 1);
	else if (n_bytes > 0 && data[0] == 's')
		try_state((const char *)data + 1, n_bytes - 1);
	return 0;
}
