/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs the calls for a share and for memory of one container. */
#include "bridge/kubernetes/resource/pair.h"

static void remember(struct clv_kube_pair *pair, const struct clv_kube_paired *one)
{
	pair->last[pair->n++ % CLV_KUBE_PAIRS_MAX] = *one;
}

bool clv_kube_pair_recall(const struct clv_kube_pair *pair,
	struct clv_kube_desired *desired, bool is_memory)
{
	size_t n = pair->n < CLV_KUBE_PAIRS_MAX ? pair->n : CLV_KUBE_PAIRS_MAX;

	for (size_t i = 1; i <= n; i++) {
		const struct clv_kube_paired *one =
			&pair->last[(pair->n - i) % CLV_KUBE_PAIRS_MAX];

		if (desired->number != (is_memory ? one->memory : one->share))
			continue;
		if (!is_memory)
			desired->memory_bytes = one->memory_bytes;
		return true;
	}
	return false;
}

int clv_kube_pair_take(struct clv_kube_pair *pair, struct clv_kube_desired *desired,
	bool is_memory, struct clv_kube_desired *ret, struct clv_error *err)
{
	struct clv_kube_desired *share = is_memory ? &pair->first : desired;
	struct clv_kube_desired *memory = is_memory ? desired : &pair->first;
	struct clv_kube_paired both;
	int r;

	/* After two calls of the same kind, the first one's container has no other. */
	if (!pair->has_first || pair->is_memory == is_memory) {
		clv_kube_pair_clear(pair);
		pair->first = *desired;
		pair->has_first = true;
		pair->is_memory = is_memory;
		*desired = (struct clv_kube_desired){};
		return 0;
	}
	both = (struct clv_kube_paired){
		share->number, memory->number, memory->memory_bytes};
	r = clv_kube_desired_join(share, memory, err);
	if (r >= 0) {
		remember(pair, &both);
		*ret = *share;
		*share = (struct clv_kube_desired){};
	}
	clv_kube_pair_clear(pair);
	clv_kube_desired_clear(desired);
	return r < 0 ? r : 1;
}

const char *clv_kube_pair_device(const struct clv_kube_pair *pair, bool is_memory)
{
	return pair->has_first && pair->is_memory != is_memory ? pair->first.device
							       : NULL;
}

void clv_kube_pair_clear(struct clv_kube_pair *pair)
{
	clv_kube_desired_clear(&pair->first);
	pair->has_first = false;
}
