/* SPDX-License-Identifier: Apache-2.0 */
#include "layout-equal.h"

#include <string.h>

static bool has_equal_numbers(
	const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b)
{
	return n_a == n_b && (n_a == 0 || memcmp(a, b, n_a * sizeof(*a)) == 0);
}

static bool selects_equally(const struct clv_selector *a, const struct clv_selector *b)
{
	if (a->n_names != b->n_names || a->n_more != b->n_more ||
		memcmp(a->more_at, b->more_at, sizeof(a->more_at)) != 0)
		return false;
	for (size_t i = 0; i < a->n_names; i++) {
		if (strcmp(a->names[i], b->names[i]) != 0)
			return false;
	}
	return has_equal_numbers(a->indexes, a->n_indexes, b->indexes, b->n_indexes) &&
	       strcmp(a->model, b->model) == 0 && strcmp(a->vendor, b->vendor) == 0 &&
	       a->is_homogeneous == b->is_homogeneous && a->is_optional == b->is_optional;
}

static bool has_equal_shares(
	const struct clv_layout_shares *a, const struct clv_layout_shares *b)
{
	if (a->n_equal != b->n_equal || a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct clv_share_request *x = &a->items[i].request;
		const struct clv_share_request *y = &b->items[i].request;

		if (strcmp(a->items[i].name, b->items[i].name) != 0 ||
			x->compute_ppm != y->compute_ppm || x->cap_ppm != y->cap_ppm ||
			x->memory_bytes != y->memory_bytes || x->class != y->class ||
			x->range.least_ppm != y->range.least_ppm ||
			x->range.most_ppm != y->range.most_ppm)
			return false;
	}
	return true;
}

static bool is_equal_partition(
	const struct clv_layout_partition *a, const struct clv_layout_partition *b)
{
	return strcmp(a->profile, b->profile) == 0 && a->count == b->count &&
	       has_equal_numbers(a->starts, a->n_starts, b->starts, b->n_starts) &&
	       has_equal_numbers(a->parts, a->n_parts, b->parts, b->n_parts) &&
	       has_equal_shares(&a->shares, &b->shares);
}

static bool has_equal_partitions(
	const struct clv_layout_rule *a, const struct clv_layout_rule *b)
{
	if (a->has_partitions != b->has_partitions || a->n_partitions != b->n_partitions)
		return false;
	for (size_t i = 0; i < a->n_partitions; i++) {
		if (!is_equal_partition(&a->partitions[i], &b->partitions[i]))
			return false;
	}
	return true;
}

static bool has_equal_quota(const struct clv_vf_quota *a, const struct clv_vf_quota *b)
{
	return a->memory_bytes == b->memory_bytes &&
	       a->exec_quantum_ms == b->exec_quantum_ms &&
	       a->preempt_timeout_us == b->preempt_timeout_us &&
	       a->contexts == b->contexts && a->doorbells == b->doorbells &&
	       strcmp(a->priority, b->priority) == 0 && strcmp(a->type, b->type) == 0 &&
	       strcmp(a->driver, b->driver) == 0;
}

static bool is_equal_rule(
	const struct clv_layout_rule *a, const struct clv_layout_rule *b)
{
	return selects_equally(&a->select, &b->select) && a->has_mig == b->has_mig &&
	       a->mig == b->mig && has_equal_partitions(a, b) &&
	       a->has_compute_mode == b->has_compute_mode &&
	       a->compute_mode == b->compute_mode && a->memory_mode == b->memory_mode &&
	       a->has_vf == b->has_vf && a->vf_count == b->vf_count &&
	       has_equal_quota(&a->vf_quota, &b->vf_quota) &&
	       has_equal_shares(&a->shares, &b->shares) && a->preserve == b->preserve;
}

bool layout_is_equal(const struct clv_layout *a, const struct clv_layout *b)
{
	if (a->on_busy != b->on_busy || a->n_rules != b->n_rules)
		return false;
	for (size_t i = 0; i < a->n_rules; i++) {
		if (!is_equal_rule(&a->rules[i], &b->rules[i]))
			return false;
	}
	return true;
}
