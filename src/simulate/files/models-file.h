/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/serve/models.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* Machine learning models for GPUs of one kind, in YAML; docs/placement.md describes the
 * format.  The demand of a model is its rate over its latency, or the memory of its
 * caches: one kind of demand in a file. */

struct clv_models_file {
	char names[CLV_MODELS_MAX][64];
	struct clv_models_model models[CLV_MODELS_MAX]; /* size in MiB */
	size_t n_models;                                /* at least one */
	bool has_caches; /* the demands are memory, in MiB */
	uint32_t memory_mib;
	uint32_t n_gpus; /* 0: the file does not say */
};

/* -EINVAL with line and column, or the errno of a file that cannot be read. */
int clv_models_file_read(
	const char *path, struct clv_models_file *ret, struct clv_error *err);
