/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "handles.h"

/* Index in the model's profiles, or -1. */
int dnv_gi_profile_by_id(const struct dnv_model *model, uint32_t id);

void dnv_span_list(const struct dnv_span *span, struct dnv_placement *ret);

/* With NULL, *count returns the number; else *count is the size of the array. */
int dnv_span_answer(
	const struct dnv_span *span, struct dnv_placement *ret, uint32_t *count);
