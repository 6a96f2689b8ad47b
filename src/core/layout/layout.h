/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/device/node.h"
#include "core/share/share.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* The wanted state of a node: rules, each for the devices that it selects.  A device that
 * no rule selects is left unchanged.  docs/layout.md describes the text form. */

#define CLV_LAYOUT_VERSION 1

/* All given conditions must hold; an empty selector selects every device. */
struct clv_selector {
	uint32_t *indexes; /* positions, from 0, among the devices that match the rest */
	size_t n_indexes;
	/* Names, UUIDs and PCI addresses, grouped by key.  A device must match one entry
	 * of each group. */
	char (*names)[96];
	size_t n_names;
	size_t more_at[2]; /* where the second and the third group begin */
	size_t n_more;
	/* part of the name in any case, or a name of the tables */
	char model[CLV_NODE_TEXT_MAX];
	char vendor[16];     /* "nvidia", "amd", "intel", "cpu" */
	bool is_homogeneous; /* only the largest group of one model and size */
	bool is_optional;    /* no error if the node has no such device */
};

/* A standing share, for leases to use (cleave run --in NAME). */
struct clv_layout_share {
	char name[64];
	struct clv_share_request request;
};

/* Either n_equal equal shares, named by number, or a list. */
struct clv_layout_shares {
	uint32_t n_equal;
	struct clv_layout_share *items;
	size_t n;
};

/* A compute instance: slices, and a start or (start < 0) none. */
#define CLV_LAYOUT_PART(slices, start) ((uint32_t)(slices) | (uint32_t)((start) + 1) << 8)
#define CLV_LAYOUT_PART_SLICES(part) ((part)&0xffu)
#define CLV_LAYOUT_PART_START(part) ((int32_t)((part) >> 8) - 1)

struct clv_layout_partition {
	char profile[CLV_PROFILE_NAME_MAX]; /* "1g.10gb", "1c.3g.20gb", "CPX/NPS4" */
	uint32_t count; /* partitions without a start; 0 if starts are given */
	uint32_t *starts;
	size_t n_starts;
	/* MIG: the compute instances in each, CLV_LAYOUT_PART(); none: a single one that
	 * fills it. */
	uint32_t *parts;
	size_t n_parts;
	struct clv_layout_shares shares; /* of each of these partitions */
	uint32_t line;                   /* in the file, from 1 */
};

enum clv_on_busy {
	CLV_ON_BUSY_FAIL, /* change nothing, name the holders */
	CLV_ON_BUSY_WAIT, /* wait until the holders in the way end */
	CLV_ON_BUSY_LIST, /* change nothing, list all holders and the fewest to end */
	_CLV_ON_BUSY_MAX,
	_CLV_ON_BUSY_INVALID = -22, /* -EINVAL */
};

const char *clv_on_busy_to_string(enum clv_on_busy on_busy);

struct clv_layout_rule {
	struct clv_selector select;
	bool has_mig, mig; /* has_mig: the key is present */
	struct clv_layout_partition *partitions;
	size_t n_partitions;
	bool has_partitions; /* the key is present; an empty list wants none */
	bool has_compute_mode;
	enum clv_compute_mode compute_mode;
	uint32_t memory_mode; /* 0: unset */
	bool has_vf;
	uint32_t vf_count;
	struct clv_vf_quota vf_quota;    /* of each */
	struct clv_layout_shares shares; /* of the device as a whole */
	bool preserve;                   /* partitions that are not listed stay */
	uint32_t line;
};

struct clv_layout {
	enum clv_on_busy on_busy;
	struct clv_layout_rule *rules;
	size_t n_rules;
	char name[128]; /* name in messages: "layout.yaml" */
};

/* Frees what it owns and zeroes it. */
void clv_layout_clear(struct clv_layout *layout);

/* Each appends a zeroed element; NULL if out of memory. */
struct clv_layout_rule *clv_layout_add_rule(struct clv_layout *layout);
struct clv_layout_partition *clv_layout_add_partition(struct clv_layout_rule *rule);
struct clv_layout_share *clv_layout_add_share(struct clv_layout_shares *shares);
/* -ENOMEM */
int clv_layout_add_start(struct clv_layout_partition *partition, uint32_t start);
int clv_layout_add_part(struct clv_layout_partition *partition, uint32_t part);
/* Frees the rule and closes the gap. */
void clv_layout_remove_rule(struct clv_layout *layout, size_t at);
int clv_selector_add_index(struct clv_selector *select, uint32_t index);
int clv_selector_add_name(struct clv_selector *select, const char *name);
/* Begins the group of another key, to which names are added from now on. */
void clv_selector_begin_key(struct clv_selector *select);
/* The end of the group of names that starts at index `begin`. */
size_t clv_selector_end_of_key(const struct clv_selector *select, size_t begin);

/* Parses the text form, YAML or JSON; name is used in messages.  -EINVAL, -ERANGE or
 * -E2BIG with line and column. */
int clv_layout_parse(const char *data, size_t n_bytes, const char *name,
	struct clv_layout *ret, struct clv_error *err);

/* Writes the layout as YAML that parses to the same layout; the caller frees *ret. */
int clv_layout_write(const struct clv_layout *layout, char **ret, struct clv_error *err);

/* The current state of a node as a layout: each device by its UUID (or name), each
 * partition by its exact place.  cleave export prints it, and a rollback restores it. */
int clv_layout_of_node(
	const struct clv_node *node, struct clv_layout *ret, struct clv_error *err);
/* Adds the rule for one device, or none if the device cannot be divided.  -ENOMEM */
int clv_layout_add_device(
	struct clv_layout *layout, const struct clv_node_device *device);

/* Finds the rule for each device: ret[i] is an index in layout->rules, or -1, for
 * node->devices[i].  -EINVAL if two rules select a device, -ENODEV if a rule selects none
 * or names a missing device. */
int clv_layout_match(const struct clv_layout *layout, const struct clv_node *node,
	int32_t *ret, struct clv_error *err);

/* Replaces each selector by the UUIDs (the PCI address of a device without, the name of
 * one without either) of the devices that it selects on this node; rules that select none
 * are removed.  The layout means the same hardware from then on.  Errors as
 * clv_layout_match(). */
int clv_layout_resolve(
	struct clv_layout *layout, const struct clv_node *node, struct clv_error *err);
/* Whether all selectors name hardware and nothing else, as resolved ones do. */
bool clv_layout_is_resolved(const struct clv_layout *layout);
/* "gpu0": a name that an agent has given. */
bool clv_is_given_name(const char *name);
/* Whether what it selects depends on an order: it has an index or a name like gpu0. */
bool clv_selector_needs_order(const struct clv_selector *select);

/* Reduces a resolved layout to the devices for which keeps() is true. */
typedef bool (*clv_layout_keep_fn)(void *userdata, const char *identity);
void clv_layout_keep(struct clv_layout *layout, clv_layout_keep_fn keeps, void *userdata);
