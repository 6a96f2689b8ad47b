/* SPDX-License-Identifier: Apache-2.0 */
#include "arbiter-world.h"

#include "base/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

struct clv_arbiter_lease *clv_arbiter_world_add(
	struct clv_arbiter_world *world, unsigned n, uint64_t now_ns)
{
	struct clv_arbiter *arbiter = &world->arbiter;
	struct clv_arbiter_lease *lease = calloc(1, sizeof(*lease));
	struct clv_policy_params params;
	uint32_t slot;

	assert_non_null(lease);
	lease->share = (struct clv_share){
		.compute_ppm = CLV_PPM / n, .memory_bytes = 1, .class = CLV_CLASS_NORMAL};
	params = (struct clv_policy_params){
		.weight_ppm = lease->share.compute_ppm, .class = lease->share.class};
	lease->drain_timeout_ns = arbiter->config.drain_timeout_ns;
	assert_true(clv_pages_init(&lease->pages, 1, -1, NULL) >= 0);
	assert_int_equal(
		clv_policy_add(arbiter->policy, &params, now_ns, &lease->policy_lease),
		0);
	lease->next = arbiter->leases;
	arbiter->leases = lease;
	assert_int_equal(
		clv_arbiter_open_slot(arbiter, lease, UINT32_MAX, &slot, NULL), 0);
	return lease;
}

void clv_arbiter_world_make(struct clv_arbiter_world *world, uint64_t now_ns)
{
	*world = (struct clv_arbiter_world){
		.arbiter.config.drain_timeout_ns = CLV_NS_PER_S};
	world->arbiter.epoll_fd = world->arbiter.kick_fd = -1;
	pthread_mutex_init(&world->arbiter.lock, NULL);
	world->arbiter.policy = clv_policy_new();
	assert_non_null(world->arbiter.policy);
	for (size_t i = 0; i < 2; i++)
		world->leases[i] = clv_arbiter_world_add(world, 2, now_ns);
}

void clv_arbiter_world_drop(struct clv_arbiter_world *world)
{
	struct clv_arbiter_lease *lease;

	while ((lease = world->arbiter.leases)) {
		world->arbiter.leases = lease->next;
		clv_pages_done(&lease->pages);
		free(lease);
	}
	clv_policy_free(world->arbiter.policy);
	pthread_mutex_destroy(&world->arbiter.lock);
}
