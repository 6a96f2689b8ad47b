/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and jobs of Slurm, as its versions since 21.08 print them: numbers are plain or
 * {"set", "infinite", "number"}, states are a text or a list. */
#include "simulate/files/snapshot-internal.h"

#include "base/cleanup.h"
#include "core/fleet/request.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEVICES_MAX 64
/* Of one entry of a list, so that sums of lists are no overflow. */
#define COUNT_MAX UINT64_C(1000000000)

static uint64_t number_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	double number;

	if (json_is_object(value))
		value = json_is_true(json_object_get(value, "infinite"))
				? NULL
				: json_object_get(value, "number");
	number = json_number_value(value);
	/* Unset values of 64 bits are large. */
	return number < (double)CLV_SNAPSHOT_MOST ? clv_snapshot_count(number) : 0;
}

static bool has_word(const json_t *value, const char *word)
{
	const json_t *item;
	size_t i;

	if (json_is_string(value))
		return strcasecmp(json_string_value(value), word) == 0;
	json_array_foreach (value, i, item) {
		if (has_word(item, word))
			return true;
	}
	return false;
}

/* Whether the state, or of 22.05 one of the flags beside it, is one of the words. */
static bool is_in_state(const json_t *node, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (has_word(json_object_get(node, "state"), words[i]) ||
			has_word(json_object_get(node, "state_flags"), words[i]))
			return true;
	}
	return false;
}

static uint64_t count_of(const char *text, char **ret_end)
{
	uint64_t n = strtoul(text, ret_end, 10);

	return n < COUNT_MAX ? n : COUNT_MAX;
}

static uint64_t times(uint64_t n, uint64_t each)
{
	uint64_t product;

	return !__builtin_mul_overflow(n, each, &product) && product < CLV_SNAPSHOT_MOST
		       ? product
		       : CLV_SNAPSHOT_MOST;
}

/* GPUs of one type in a text as "gpu:a100:4(S:0-1),gpu:t4:2,shard:8". */
struct gres {
	const char *type;
	size_t type_length;
	uint64_t n;
	uint64_t devices; /* bitmap, of gres_used */
};

/* "(IDX:0-1,3)" */
static uint64_t indices_of(const char *text)
{
	uint64_t devices = 0;

	if (strncmp(text, "(IDX:", 5) != 0)
		return 0;
	for (text += 5; isdigit((unsigned char)*text);) {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < DEVICES_MAX; first++)
			devices |= UINT64_C(1) << first;
		text = *end == ',' ? end + 1 : end;
	}
	return devices;
}

/* The end of an entry: the next comma outside of brackets. */
static const char *end_of(const char *text)
{
	int depth = 0;

	for (; *text && (*text != ',' || depth > 0); text++)
		depth += (*text == '(') - (*text == ')');
	return text;
}

/* Splits "gpu:a100:4(S:0-1)" behind "gpu:". Without a type it is "gpu:4(S:0-1)", and of
 * some versions "gpu:(null):4(S:0-1)". */
static struct gres read_gres(const char *text)
{
	struct gres gres = {.type = ""};
	size_t length = strncmp(text, "(null):", 7) == 0 ? 6 : strcspn(text, ":(,");
	char *end;

	if (text[length] == ':' && isdigit((unsigned char)text[length + 1])) {
		gres.type = text;
		gres.type_length = text[0] == '(' ? 0 : length;
		text += length + 1;
	}
	gres.n = count_of(text, &end);
	gres.devices = indices_of(end);
	return gres;
}

/* The GPUs of the first type that is listed, because a node of a fleet has one model. */
static struct gres gres_of(const char *text)
{
	struct gres sum = {.type = NULL};

	for (; *text; text = end_of(text) + (*end_of(text) == ',')) {
		struct gres gres;

		if (strncmp(text, "gres", 4) == 0 && text[4])
			text += 5;
		if (strncmp(text, "gpu:", 4) != 0)
			continue;
		gres = read_gres(text + 4);
		if (sum.type &&
			(sum.type_length != gres.type_length ||
				strncmp(sum.type, gres.type, gres.type_length) != 0))
			continue;
		sum.type = gres.type;
		sum.type_length = gres.type_length;
		sum.n += gres.n;
		sum.devices |= gres.devices;
	}
	return sum.type ? sum : (struct gres){.type = ""};
}

static void copy_type(char ret[32], const char *type, size_t length)
{
	memcpy(ret, type, length < 31 ? length : 31);
}

static bool read_node(const json_t *item, struct clv_snapshot_node *ret)
{
	static const char *const out[] = {"DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL",
		"FAILING", "ERROR", "UNKNOWN", "NOT_RESPONDING", "MAINTENANCE"};
	struct gres gres = gres_of(clv_snapshot_text(item, "gres"));
	uint64_t n_cpus = number_of(item, "effective_cpus");

	if (!json_is_string(json_object_get(item, "name")) ||
		is_in_state(item, out, CLV_ARRAY_SIZE(out)))
		return false;
	*ret = (struct clv_snapshot_node){
		.name = clv_snapshot_text(item, "name"),
		.cpu_milli = 1000 * (n_cpus ? n_cpus : number_of(item, "cpus")),
		.memory_mib = number_of(item, "real_memory"),
		.n_devices = gres.n,
	};
	copy_type(ret->model, gres.type, gres.type_length);
	return true;
}

static bool read_running(const json_t *item, struct clv_snapshot_load *ret)
{
	struct gres gres = gres_of(clv_snapshot_text(item, "gres_used"));

	*ret = (struct clv_snapshot_load){
		.name = clv_snapshot_text(item, "name"),
		.node = clv_snapshot_text(item, "name"),
		.cpu_milli = 1000 * number_of(item, "alloc_cpus"),
		.memory_mib = number_of(item, "alloc_memory"),
		.n_devices = gres.n,
		.milli = CLV_PLACE_WHOLE,
		.devices = gres.devices,
		.n_nodes = 1,
	};
	return ret->cpu_milli || ret->memory_mib || ret->n_devices;
}

/* A size as "16G"; without a unit it is in mebibytes. */
static uint64_t mib_of(const char *text)
{
	char *end;
	double number = strtod(text, &end);

	number *= *end == 'K' ? 0x1p-10 : *end == 'G' ? 0x1p10 : *end == 'T' ? 0x1p20 : 1;
	return clv_snapshot_count(ceil(number));
}

/* "cpu=8,mem=32G,node=2,billing=8,gres/gpu=4,gres/gpu:a100=4" */
static void read_tres(const char *text, struct clv_snapshot_load *ret)
{
	uint64_t n_all = 0, n_typed = 0;

	for (; *text; text = end_of(text) + (*end_of(text) == ',')) {
		const char *value = strchr(text, '=');

		if (!value)
			break;
		value++;
		if (strncmp(text, "cpu=", 4) == 0) {
			ret->cpu_milli = 1000 * count_of(value, NULL);
		} else if (strncmp(text, "mem=", 4) == 0) {
			ret->memory_mib = mib_of(value);
		} else if (strncmp(text, "node=", 5) == 0) {
			ret->n_nodes = count_of(value, NULL);
		} else if (strncmp(text, "gres/gpu=", 9) == 0) {
			n_all = count_of(value, NULL);
		} else if (strncmp(text, "gres/gpu:", 9) == 0) {
			n_typed += count_of(value, NULL);
			if (ret->model[0] == '\0')
				copy_type(ret->model, text + 9,
					(size_t)(value - 1 - (text + 9)));
		}
	}
	ret->n_devices = n_all ? n_all : n_typed;
}

static uint64_t part_of(uint64_t sum, uint64_t n)
{
	return (sum + n - 1) / n;
}

/* Slurm lists GPUs in a job's trackable resources only if the accounting tracks them:
 * otherwise they are in the options, as "gres:gpu:a100:2" and since 24.05 "gres/gpu:2".
 */
static void read_options(const json_t *job, struct clv_snapshot_load *ret)
{
	static const char *const keys[] = {
		"tres_per_node", "tres_per_job", "tres_per_task"};
	const uint64_t each[] = {ret->n_nodes, 1, number_of(job, "tasks")};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(keys) && ret->n_devices == 0; i++) {
		struct gres gres = gres_of(clv_snapshot_text(job, keys[i]));

		ret->n_devices = times(gres.n, each[i] ? each[i] : 1);
		copy_type(ret->model, gres.type, gres.type_length);
	}
}

/* A job that does not state its memory is listed with all of a node's, also where memory
 * is not given out. */
static bool has_memory(const json_t *job)
{
	return !json_object_get(job, "memory_per_node") ||
	       !json_object_get(job, "memory_per_cpu") ||
	       number_of(job, "memory_per_node") > 0 ||
	       number_of(job, "memory_per_cpu") > 0;
}

static bool read_load(const json_t *item, struct clv_snapshot_load *ret)
{
	const json_t *state = json_object_get(item, "job_state");
	bool is_waiting = has_word(state, "PENDING");

	if (!is_waiting && !has_word(state, "RUNNING") && !has_word(state, "SUSPENDED"))
		return false;
	*ret = (struct clv_snapshot_load){
		.name = clv_snapshot_text(item, "name"),
		.node = "",
		.milli = CLV_PLACE_WHOLE,
		.is_waiting = is_waiting,
		.arrives_s = number_of(item, "submit_time"),
		.stays_s = 60 * number_of(item, "time_limit"),
		.priority = number_of(item, "priority"),
	};
	read_tres(clv_snapshot_text(item, "tres_req_str"), ret);
	if (ret->n_nodes == 0)
		ret->n_nodes = 1;
	read_options(item, ret);
	if (!has_memory(item))
		ret->memory_mib = 0;
	ret->cpu_milli = 1000 * part_of(ret->cpu_milli / 1000, ret->n_nodes);
	ret->memory_mib = part_of(ret->memory_mib, ret->n_nodes);
	ret->n_devices = part_of(ret->n_devices, ret->n_nodes);
	return true;
}

const struct clv_snapshot_format clv_snapshot_slurm = {
	.nodes = "nodes",
	.loads = "jobs",
	.running = "nodes",
	.read_node = read_node,
	.read_load = read_load,
	.read_running = read_running,
};
