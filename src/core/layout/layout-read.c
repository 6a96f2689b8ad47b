/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of layouts: a table of keys for each kind of map.  A test compares
 * docs/layout.md and docs/layout.schema.json with the tables. */
#include "core/layout/layout.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "base/yaml.h"
#include "core/layout/layout-keys.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_MAX 4096u
/* Bounds of the time that a layout takes. */
#define VALUES_MAX 12288u
/* Of shares, and of lists whose items are compared with each other. */
#define LIST_MAX 1024u
#define QUANTUM_MAX_MS 3600000u

#define COUNT(fields) CLV_ARRAY_SIZE(fields)

static int no_memory(struct clv_yaml_value value, struct clv_error *err)
{
	return clv_yaml_fail(value, err, -ENOMEM, "out of memory");
}

/* Scalars: `into` is the member that the table names. */

static int read_u32(struct clv_yaml_value value, uint64_t least, uint64_t most,
	void *into, struct clv_error *err)
{
	uint64_t number;
	int r = clv_yaml_read_number(value, least, most, &number, err);

	if (r >= 0)
		*(uint32_t *)into = (uint32_t)number;
	return r;
}

static int read_number(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_u32(value, 0, NUMBER_MAX, into, err);
}

static int read_count(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_u32(value, 1, NUMBER_MAX, into, err);
}

static int read_quota(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_u32(value, 1, UINT32_MAX, into, err);
}

static int read_bool(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_bool(value, into, err);
}

/* Prepends the position to an error of base/units. */
static int fault_at(struct clv_yaml_value value, int r, struct clv_error *err)
{
	if (r < 0)
		clv_yaml_prefix_position(value, err);
	return r;
}

static int read_bytes(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return fault_at(
		value, clv_units_parse_bytes(clv_yaml_text(value), into, err), err);
}

static int read_fraction(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return fault_at(
		value, clv_units_parse_fraction(clv_yaml_text(value), into, err), err);
}

struct duration {
	uint64_t unit_ns;
	uint64_t most; /* maximum, in units */
	const char *range;
};

static int read_duration(struct clv_yaml_value value, const struct duration *duration,
	void *into, struct clv_error *err)
{
	const char *text = clv_yaml_text(value);
	uint64_t ns;
	int r = fault_at(value, clv_units_parse_duration(text, &ns, err), err);

	if (r < 0)
		return r;
	/* Elsewhere a bare number is in seconds, but drivers use other units here. */
	if (text[strspn(text, "0123456789.")] == '\0')
		return clv_yaml_fail(
			value, err, -EINVAL, "'%.30s' has no unit: us, ms or s", text);
	if (ns % duration->unit_ns != 0 || ns / duration->unit_ns > duration->most)
		return clv_yaml_fail(value, err, -ERANGE, "%.30s cannot be set: %s", text,
			duration->range);
	*(uint32_t *)into = (uint32_t)(ns / duration->unit_ns);
	return 0;
}

static int read_ms(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const struct duration ms = {
		CLV_NS_PER_MS, QUANTUM_MAX_MS, "whole milliseconds from 1ms to 1h"};

	return read_duration(value, &ms, into, err);
}

static int read_us(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const struct duration us = {
		CLV_NS_PER_US, UINT32_MAX, "whole microseconds from 1us to 71m"};

	return read_duration(value, &us, into, err);
}

/* Refuses an empty list, which would have the same effect as a missing key. */
static int read_some(struct clv_yaml_value value,
	int (*read)(struct clv_yaml_value value, void *into, struct clv_error *err),
	void *into, struct clv_error *err)
{
	if (clv_yaml_kind(value) == CLV_YAML_LIST && clv_yaml_count(value) == 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"the list is empty: put something in, or leave the key out");
	return clv_yaml_read_list(value, read, into, err);
}

/* Refuses one more item than a list may have. */
static int check_room(struct clv_yaml_value value, size_t n, struct clv_error *err)
{
	return n < LIST_MAX ? 0
			    : clv_yaml_fail(value, err, -E2BIG,
				      "the list has over %u items", LIST_MAX);
}

/* One of several words. */
static int read_word(struct clv_yaml_value value, const char *const *words,
	size_t n_words, char *into, size_t size, struct clv_error *err)
{
	int which = clv_yaml_read_choice(value, words, n_words, err);

	if (which < 0)
		return which;
	snprintf(into, size, "%s", words[which]);
	return 0;
}

/* Texts, one reader for each size. */
#define DEFINE_READ_TEXT(name, type, member)                                            \
	static int name(struct clv_yaml_value value, void *into, struct clv_error *err) \
	{                                                                               \
		return clv_yaml_read_text(                                              \
			value, into, sizeof(((type *)NULL)->member), err);              \
	}

DEFINE_READ_TEXT(read_model, struct clv_selector, model)
DEFINE_READ_TEXT(read_profile, struct clv_layout_partition, profile)
DEFINE_READ_TEXT(read_vgpu_type, struct clv_vf_quota, type)

/* A name as the kernel's in /sys/bus/pci/drivers, where it becomes part of a path. */
static int read_driver(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	const char *text = clv_yaml_text(value);

	if (text[strspn(text, allowed)] != '\0')
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is no name of a driver: letters, digits, '-' and '_', "
			"as in vfio-pci",
			text);
	return clv_yaml_read_text(
		value, into, sizeof(((struct clv_vf_quota *)NULL)->driver), err);
}

/* Shares. */

static int read_class(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	enum clv_class class = clv_class_from_string(clv_yaml_text(value));

	if (class == _CLV_CLASS_INVALID)
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is no class: latency, normal, batch",
			clv_yaml_text(value));
	*(enum clv_class *)into = class;
	return 0;
}

/* The name becomes part of "gpu0/1g.10gb@4/train", and of command lines. */
static int read_share_name(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX"
				      "YZ0123456789._-";
	size_t size = sizeof(((struct clv_layout_share *)NULL)->name);
	const char *text = clv_yaml_text(value);
	int r = clv_yaml_read_text(value, into, size, err);

	if (r >= 0 && (text[strspn(text, allowed)] != '\0' || strchr("._-", text[0])))
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is no name: letters, digits, dots, dashes and "
			"underscores, a letter or digit first",
			text);
	return r;
}

/* 0.3, or a range 0.1..0.6, which begins with its lower bound. */
static int read_share_size(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_share_request *request = into;
	const char *text = clv_yaml_text(value);
	struct clv_share_range *range = &request->range;
	int r;

	if (!strstr(text, ".."))
		return read_fraction(value, &request->compute_ppm, err);
	r = clv_units_parse_range(text, &range->least_ppm, &range->most_ppm, err);
	if (r >= 0)
		request->compute_ppm = range->least_ppm;
	return fault_at(value, r, err);
}

#define SHARE(member) offsetof(struct clv_layout_share, member)

static const struct clv_yaml_field share_fields[] = {
	{"name", read_share_name, true, SHARE(name)},
	{"share", read_share_size, false, SHARE(request)},
	{"memory", read_bytes, false, SHARE(request.memory_bytes)},
	{"cap", read_fraction, false, SHARE(request.cap_ppm)},
	{"class", read_class, false, SHARE(request.class)},
};

static int fail_with_sum(struct clv_yaml_value value, uint64_t sum, struct clv_error *err)
{
	char text[16];

	clv_units_format_fraction((uint32_t)sum, text);
	return clv_yaml_fail(value, err, -EINVAL,
		"the shares sum to %s: the sum must be at most 1", text);
}

/* Checks the last share by itself and together with the others. */
static int check_share(struct clv_yaml_value value,
	const struct clv_layout_shares *shares, struct clv_error *err)
{
	const struct clv_layout_share *share = &shares->items[shares->n - 1];
	const struct clv_share_request *request = &share->request;
	uint64_t sum = request->compute_ppm;

	if (request->compute_ppm == 0 && request->memory_bytes == 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"the share '%.40s' has no size: set share, memory or both",
			share->name);
	if (request->cap_ppm > 0 && (request->cap_ppm < request->compute_ppm ||
					    request->cap_ppm < request->range.most_ppm))
		return clv_yaml_fail(value, err, -EINVAL,
			"the cap of '%.40s' is below its share, which could never be "
			"reached",
			share->name);
	for (size_t i = 0; i + 1 < shares->n; i++) {
		sum += shares->items[i].request.compute_ppm;
		if (strcmp(shares->items[i].name, share->name) == 0)
			return clv_yaml_fail(value, err, -EINVAL,
				"two shares are named '%.40s'", share->name);
	}
	return sum > CLV_PPM ? fail_with_sum(value, sum, err) : 0;
}

static int read_share(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_layout_share *share;
	int r = check_room(value, ((struct clv_layout_shares *)into)->n, err);

	if (r < 0)
		return r;
	share = clv_layout_add_share(into);
	if (!share)
		return no_memory(value, err);
	share->request.class = CLV_CLASS_NORMAL;
	r = clv_yaml_read_map(value, share_fields, COUNT(share_fields), share, err);
	return r < 0 ? r : check_share(value, into, err);
}

/* A number of equal shares, or a list of shares. */
static int read_shares(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_layout_shares *shares = into;

	if (clv_yaml_kind(value) == CLV_YAML_TEXT)
		return read_u32(value, 1, LIST_MAX, &shares->n_equal, err);
	return clv_yaml_read_list(value, read_share, shares, err);
}

/* Selectors. */

static int read_index(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint32_t index;
	int r = read_number(value, &index, err);

	if (r >= 0 && clv_selector_add_index(into, index) < 0)
		r = no_memory(value, err);
	return r;
}

static int read_name(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	char name[sizeof(*((struct clv_selector *)NULL)->names)];
	int r = clv_yaml_read_text(value, name, sizeof(name), err);

	if (r >= 0 && clv_selector_add_name(into, name) < 0)
		r = no_memory(value, err);
	return r;
}

static int read_indexes(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_some(value, read_index, into, err);
}

static int read_names(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	clv_selector_begin_key(into);
	return read_some(value, read_name, into, err);
}

static int read_vendor(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const vendors[] = {"nvidia", "amd", "intel", "cpu"};

	return read_word(value, vendors, COUNT(vendors), into,
		sizeof(((struct clv_selector *)NULL)->vendor), err);
}

#define SELECT(member) offsetof(struct clv_selector, member)

static const struct clv_yaml_field select_fields[] = {
	{"index", read_indexes, false, 0},
	{"name", read_names, false, 0},
	{"uuid", read_names, false, 0},
	{"pci", read_names, false, 0},
	{"model", read_model, false, SELECT(model)},
	{"vendor", read_vendor, false, SELECT(vendor)},
	{"homogeneous", read_bool, false, SELECT(is_homogeneous)},
	{"optional", read_bool, false, SELECT(is_optional)},
};

static int read_select(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_map(value, select_fields, COUNT(select_fields), into, err);
}

/* Partitions. */

static int read_start(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	const struct clv_layout_partition *partition = into;
	uint32_t start;
	int r = check_room(value, partition->n_starts, err);

	if (r >= 0)
		r = read_number(value, &start, err);
	for (size_t i = 0; r >= 0 && i < partition->n_starts; i++) {
		if (partition->starts[i] == start)
			r = clv_yaml_fail(value, err, -EINVAL,
				"the start %" PRIu32 " appears twice", start);
	}
	if (r >= 0 && clv_layout_add_start(into, start) < 0)
		r = no_memory(value, err);
	return r;
}

static int read_starts(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_some(value, read_start, into, err);
}

static int read_part(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	const char *text = clv_yaml_text(value);
	bool is_part = text[0] >= '1' && text[0] <= '9' && text[1] == 'c';
	bool has_place = is_part && text[2] == '@' && text[3] >= '0' && text[3] <= '9' &&
			 text[4] == '\0';

	if (!has_place && !(is_part && text[2] == '\0'))
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is no compute instance: 1c, 2c, 3c, ..., or with its "
			"place, 1c@0",
			text);
	if (clv_layout_add_part(into,
		    CLV_LAYOUT_PART(text[0] - '0', has_place ? text[3] - '0' : -1)) < 0)
		return no_memory(value, err);
	return 0;
}

static int read_parts(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return read_some(value, read_part, into, err);
}

#define PARTITION(member) offsetof(struct clv_layout_partition, member)

static const struct clv_yaml_field partition_fields[] = {
	{"profile", read_profile, true, PARTITION(profile)},
	{"count", read_count, false, PARTITION(count)},
	{"start", read_starts, false, 0},
	{"parts", read_parts, false, 0},
	{"shares", read_shares, false, PARTITION(shares)},
};

static int read_partition(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_layout_partition *partition = clv_layout_add_partition(into);
	int r;

	if (!partition)
		return no_memory(value, err);
	partition->line = clv_yaml_line(value);
	r = clv_yaml_read_map(
		value, partition_fields, COUNT(partition_fields), partition, err);
	if (r < 0)
		return r;
	if (partition->count > 0 && partition->n_starts > 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"count and start exclude each other: start lists the places, "
			"one for each partition");
	if (partition->n_starts == 0 && partition->count == 0)
		partition->count = 1;
	return 0;
}

/* Virtual functions: `into` is their rule. */

static int read_priority(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	static const char *const priorities[] = {"low", "normal", "high"};

	return read_word(value, priorities, COUNT(priorities), into,
		sizeof(((struct clv_vf_quota *)NULL)->priority), err);
}

#define RULE(member) offsetof(struct clv_layout_rule, member)

static const struct clv_yaml_field vf_fields[] = {
	{"count", read_number, true, RULE(vf_count)},
	{"memory", read_bytes, false, RULE(vf_quota.memory_bytes)},
	{"exec-quantum", read_ms, false, RULE(vf_quota.exec_quantum_ms)},
	{"preempt-timeout", read_us, false, RULE(vf_quota.preempt_timeout_us)},
	{"priority", read_priority, false, RULE(vf_quota.priority)},
	{"contexts", read_quota, false, RULE(vf_quota.contexts)},
	{"doorbells", read_quota, false, RULE(vf_quota.doorbells)},
	{"type", read_vgpu_type, false, RULE(vf_quota.type)},
	{"driver", read_driver, false, RULE(vf_quota.driver)},
};

static int read_vf(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_layout_rule *rule = into;

	rule->has_vf = true;
	return clv_yaml_read_map(value, vf_fields, COUNT(vf_fields), rule, err);
}

/* Rules. */

static int read_mig(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_layout_rule *rule = into;

	rule->has_mig = true;
	return clv_yaml_read_bool(value, &rule->mig, err);
}

static int read_partitions(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_layout_rule *rule = into;

	rule->has_partitions = true;
	if (clv_yaml_kind(value) != CLV_YAML_LIST)
		return clv_yaml_fail(value, err, -EINVAL,
			"a list is expected here: - {profile: 1g.10gb, count: 2}");
	return clv_yaml_read_list(value, read_partition, rule, err);
}

static int read_compute_mode(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_layout_rule *rule = into;

	rule->has_compute_mode = true;
	rule->compute_mode = clv_compute_mode_from_string(clv_yaml_text(value));
	if (rule->compute_mode == _CLV_COMPUTE_MODE_INVALID)
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is no compute mode: SPX, DPX, TPX, QPX, CPX",
			clv_yaml_text(value));
	return 0;
}

static int read_memory_mode(
	struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint32_t mode = clv_memory_mode_from_string(clv_yaml_text(value));

	if (mode == 0)
		return clv_yaml_fail(value, err, -EINVAL,
			"'%.40s' is no memory mode: NPS1, NPS2, NPS4, NPS8",
			clv_yaml_text(value));
	*(uint32_t *)into = mode;
	return 0;
}

static const struct clv_yaml_field rule_fields[] = {
	{"select", read_select, true, RULE(select)},
	{"mig", read_mig, false, 0},
	{"partitions", read_partitions, false, 0},
	{"compute-mode", read_compute_mode, false, 0},
	{"memory-mode", read_memory_mode, false, RULE(memory_mode)},
	{"vf", read_vf, false, 0},
	{"shares", read_shares, false, RULE(shares)},
	{"preserve", read_bool, false, RULE(preserve)},
};

static int read_rule(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_layout_rule *rule = clv_layout_add_rule(into);

	if (!rule)
		return no_memory(value, err);
	rule->line = clv_yaml_line(value);
	return clv_yaml_read_map(value, rule_fields, COUNT(rule_fields), rule, err);
}

static int read_version(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	uint64_t version;
	int r = clv_yaml_read_number(value, 0, UINT64_MAX, &version, err);

	if (r >= 0 && version != CLV_LAYOUT_VERSION)
		return clv_yaml_fail(value, err, -EINVAL,
			"version %" PRIu64 " is not supported: use version %d", version,
			CLV_LAYOUT_VERSION);
	return r;
}

static int read_on_busy(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	struct clv_layout *layout = into;
	const char *names[_CLV_ON_BUSY_MAX];
	int which;

	for (int i = 0; i < _CLV_ON_BUSY_MAX; i++)
		names[i] = clv_on_busy_to_string((enum clv_on_busy)i);
	which = clv_yaml_read_choice(value, names, _CLV_ON_BUSY_MAX, err);
	if (which < 0)
		return which;
	layout->on_busy = (enum clv_on_busy)which;
	return 0;
}

static int read_rules(struct clv_yaml_value value, void *into, struct clv_error *err)
{
	return clv_yaml_read_list(value, read_rule, into, err);
}

static const struct clv_yaml_field layout_fields[] = {
	{"version", read_version, true, 0},
	{"on-busy", read_on_busy, false, 0},
	{"devices", read_rules, true, 0},
};

#define MAP(name, fields)                   \
	{                                   \
		name, fields, COUNT(fields) \
	}

const struct clv_layout_map clv_layout_maps[] = {
	MAP("layout", layout_fields),
	MAP("rule", rule_fields),
	MAP("select", select_fields),
	MAP("partition", partition_fields),
	MAP("share", share_fields),
	MAP("vf", vf_fields),
};
const size_t clv_layout_n_maps = COUNT(clv_layout_maps);

int clv_layout_parse(const char *data, size_t n_bytes, const char *name,
	struct clv_layout *ret, struct clv_error *err)
{
	struct clv_layout layout = {0};
	struct clv_yaml *yaml;
	int r = clv_yaml_parse_small(data, n_bytes, name, VALUES_MAX, &yaml, err);

	if (r < 0)
		return r;
	snprintf(layout.name, sizeof(layout.name), "%s", name);
	r = clv_yaml_read_map(
		clv_yaml_root(yaml), layout_fields, COUNT(layout_fields), &layout, err);
	clv_yaml_free(yaml);
	if (r < 0) {
		clv_layout_clear(&layout);
		return r;
	}
	*ret = layout;
	return 0;
}
