/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between the agent and the worker. The first byte selects a node ('n') or a
 * step ('s'); the rest is JSON. */
#include "fuzz.h"

#include "agent/driver/node-json.h"
#include "base/error.h"

static void check_error(int r, const struct clv_error *err)
{
	CLV_MUST(r < 0 && err->code == r && err->msg[0] != '\0');
}

/* A value that can be read, written again, reads as the same value. */
static void try_node(const json_t *json)
{
	struct clv_node node = {0}, again = {0};
	struct clv_error err = {0};
	json_t *first, *second;
	int r = clv_node_from_json(json, &node, &err);

	if (r < 0) {
		check_error(r, &err);
		CLV_MUST(!node.devices && node.n_devices == 0);
		return;
	}
	for (size_t i = 0; i < node.n_devices; i++)
		CLV_MUST(clv_node_find(&node, node.devices[i].info.uuid));
	first = clv_node_to_json(&node);
	CLV_MUST(first && clv_node_from_json(first, &again, &err) == 0);
	second = clv_node_to_json(&again);
	CLV_MUST(json_equal(first, second));
	json_decref(first);
	json_decref(second);
	clv_node_clear(&node);
	clv_node_clear(&again);
}

static void try_step(const json_t *json)
{
	struct clv_step step, again;
	struct clv_error err = {0};
	json_t *first, *second;
	int r = clv_step_from_json(json, &step, &err);

	if (r < 0) {
		check_error(r, &err);
		return;
	}
	first = clv_step_to_json(&step);
	CLV_MUST(first && clv_step_from_json(first, &again, &err) == 0);
	second = clv_step_to_json(&again);
	CLV_MUST(json_equal(first, second));
	json_decref(first);
	json_decref(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	json_t *json = n_bytes > 0 ? json_loadb((const char *)data + 1, n_bytes - 1,
					     JSON_DECODE_ANY, NULL)
				   : NULL;

	if (json && data[0] == 'n')
		try_node(json);
	else if (json && data[0] == 's')
		try_step(json);
	json_decref(json);
	return 0;
}
