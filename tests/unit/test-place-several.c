/* SPDX-License-Identifier: Apache-2.0 */
/* Models on GPUs compared with all assignments, and services on GPUs compared with MIG's
 * rules. */
#include "place-world.h"

#include "core/gpu/gpu.h"
#include "core/serve/models.h"
#include "core/serve/serve.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_MODELS 6
#define N_GPUS 3
#define MEMORY 80.0

static double worst_of(const struct clv_models_model *models, unsigned way)
{
	double sizes[N_GPUS] = {0}, demands[N_GPUS] = {0}, worst = 0;

	for (unsigned i = 0; i < N_MODELS; i++, way /= N_GPUS) {
		sizes[way % N_GPUS] += models[i].size;
		demands[way % N_GPUS] += models[i].demand;
	}
	for (unsigned i = 0; i < N_GPUS; i++) {
		if (sizes[i] >= MEMORY)
			return INFINITY;
		worst = fmax(worst, demands[i] / (MEMORY - sizes[i]));
	}
	return worst;
}

static void test_models_by_brute_force(void **state)
{
	place_random_begin(1);
	for (unsigned round = 0; round < 200; round++) {
		struct clv_models_model models[N_MODELS];
		struct clv_models_plan plan;
		double best = INFINITY;

		for (unsigned i = 0; i < N_MODELS; i++)
			models[i] = (struct clv_models_model){
				.size = 10 + place_random(20),
				.demand =
					(1.0 + place_random(9)) / (5.0 + place_random(5)),
			};
		for (unsigned way = 0; way < 729; way++)
			best = fmin(best, worst_of(models, way));
		assert_int_equal(
			clv_models_plan(models, N_MODELS, N_GPUS, MEMORY, 0, &plan), 0);
		assert_true(plan.is_proven);
		assert_true(fabs(plan.worst - best) < 1e-6 * best);
	}
}

static void test_models_that_do_not_fit(void **state)
{
	struct clv_models_model models[2] = {
		{.size = 70, .demand = 1}, {.size = 70, .demand = 1}};
	struct clv_models_plan plan;

	assert_int_equal(clv_models_plan(models, 2, 1, MEMORY, 0, &plan), -ENOSPC);
	assert_int_equal(clv_models_plan(models, 2, 0, MEMORY, 0, &plan), -EINVAL);
	assert_int_equal(clv_models_plan(models, 65, 1, MEMORY, 0, &plan), -EINVAL);
	assert_int_equal(clv_models_plan(models, 2, 2, MEMORY, 0, &plan), 0);
	assert_true(plan.gpu[0] != plan.gpu[1]);
}

/* Every rate is served, and the instances of every GPU are possible. */
static void check_served(const struct clv_serve_service *services, size_t n_services,
	const struct clv_serve_plan *plan)
{
	static const char *const names[_CLV_SERVE_SIZES] = {
		"1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"};
	const struct clv_mig_model *model = clv_mig_model_find("A100-80GB");
	struct clv_mig_set sets[CLV_SERVE_GPUS_MAX] = {0};
	double served[16] = {0};

	for (size_t i = 0; i < plan->n_instances; i++) {
		const struct clv_serve_instance *instance = &plan->instances[i];
		int profile = clv_mig_profile_find(model, names[instance->size], NULL);

		assert_true(profile >= 0 && instance->gpu < plan->n_gpus);
		assert_int_equal(
			clv_mig_set_add(model, &sets[instance->gpu],
				(struct clv_mig_instance){.profile = (uint8_t)profile,
					.start = instance->start}),
			CLV_MIG_NO_OBSTACLE);
		served[instance->service] +=
			services[instance->service].capacity[instance->size];
	}
	for (size_t i = 0; i < n_services; i++)
		assert_true(served[i] + 1e-6 >= services[i].rate);
}

static void test_services(void **state)
{
	place_random_begin(5);
	for (unsigned round = 0; round < 60; round++) {
		struct clv_serve_service services[5] = {0};
		struct clv_serve_plan plan;
		double most_per_slice, slices = 0;

		for (unsigned i = 0; i < 5; i++) {
			most_per_slice = 0;
			services[i].rate = 20 + place_random(400);
			for (unsigned size = 0; size < _CLV_SERVE_SIZES; size++) {
				double per_slice = 30 + place_random(40);

				services[i].capacity[size] =
					per_slice * clv_serve_slices[size];
				most_per_slice = fmax(most_per_slice, per_slice);
			}
			slices += services[i].rate / most_per_slice;
		}
		assert_int_equal(clv_serve_plan(services, 5, &plan), 0);
		assert_true(plan.n_gpus >= ceil(slices / 7 - 1e-9));
		check_served(services, 5, &plan);
		free(plan.instances);
	}
}

/* Services with a number of GPUs computed by hand. */
static void test_services_by_hand(void **state)
{
	/* clang-format off */
	static const struct { struct clv_serve_service service; unsigned n_gpus; } rows[] = {
		{{.rate = 100, .capacity = {0, 0, 0, 0, 100}}, 1},
		{{.rate = 101, .capacity = {0, 0, 0, 0, 100}}, 2},
		{{.rate = 2, .capacity = {0, 0, 1, 0, 0}}, 1},
		{{.rate = 3, .capacity = {0, 0, 1, 0, 0}}, 2},
		{{.rate = 2, .capacity = {0, 0, 0, 1, 0}}, 2},
		{{.rate = 3, .capacity = {0, 1, 0, 0, 0}}, 1},
		{{.rate = 4, .capacity = {0, 1, 0, 0, 0}}, 2},
		{{.rate = 7, .capacity = {1, 0, 0, 0, 0}}, 1},
		{{.rate = 8, .capacity = {1, 0, 0, 0, 0}}, 2},
	};
	/* clang-format on */
	static const struct clv_serve_service never = {.rate = 1};
	struct clv_serve_plan plan;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(clv_serve_plan(&rows[i].service, 1, &plan), 0);
		assert_int_equal(plan.n_gpus, rows[i].n_gpus);
		check_served(&rows[i].service, 1, &plan);
		free(plan.instances);
	}
	assert_int_equal(clv_serve_plan(&never, 1, &plan), -ERANGE);
	assert_int_equal(clv_serve_plan(NULL, 0, &plan), 0);
	assert_int_equal(plan.n_gpus, 0);
	free(plan.instances);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_models_by_brute_force),
		cmocka_unit_test(test_models_that_do_not_fit),
		cmocka_unit_test(test_services),
		cmocka_unit_test(test_services_by_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
