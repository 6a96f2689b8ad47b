/* SPDX-License-Identifier: Apache-2.0 */
/* The NVIDIA backend's own tables, and lists of processes in all forms of the drivers,
 * which the double, with one form of each answer, cannot show. */
#include "backend/nvidia/gpu-types.h"
#include "backend/nvidia/processes.h"
#include "backend/openers.h"
#include "base/cleanup.h"
#include "core/device/node.h"
#include "core/gpu/gpu.h"
#include "core/gpu/mig.h"

#include <stdint.h>
#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The output of the simulated driver. */
static struct {
	size_t entry_bytes;
	uint32_t n;
} driver;

static int list_processes(
	struct clv_nvml_device *device, uint32_t *count, struct clv_nvml_process *ret)
{
	uint32_t room = *count;

	*count = driver.n;
	if (room < driver.n)
		return CLV_NVML_INSUFFICIENT_SIZE;
	for (uint32_t i = 0; i < driver.n; i++) {
		unsigned char *entry = (unsigned char *)ret + i * driver.entry_bytes;
		struct clv_nvml_process process = {
			.pid = 100 + i,
			.used_bytes = UINT64_MAX, /* unknown */
			.gpu_instance = i,
			.compute_instance = i + 1,
		};
		uint64_t protected_bytes = 0;

		memcpy(entry, &process, driver.entry_bytes < 24 ? 16 : 24);
		if (driver.entry_bytes > 24)
			memcpy(entry + 24, &protected_bytes, sizeof(protected_bytes));
	}
	return CLV_NVML_SUCCESS;
}

static void check_list(size_t entry_bytes, uint32_t n)
{
	struct clv_nvidia_library nvml = {.list_compute_processes = list_processes};
	struct clv_nvidia_processes list = {0};

	driver.entry_bytes = entry_bytes;
	driver.n = n;
	assert_int_equal(clv_nvidia_processes_list(&nvml, NULL, &list), 0);
	assert_int_equal(list.n, n);
	for (uint32_t i = 0; i < n; i++) {
		bool has_instances = entry_bytes >= 24;

		assert_int_equal(list.items[i].pid, 100 + i);
		assert_int_equal(list.items[i].gpu_instance,
			has_instances ? i : CLV_NVML_NO_INSTANCE);
		assert_int_equal(list.items[i].compute_instance,
			has_instances ? i + 1 : CLV_NVML_NO_INSTANCE);
	}
	clv_nvidia_processes_clear(&list);
}

static void reads_every_form_of_the_list(void **state)
{
	static const size_t forms[] = {16, 24, 32};
	static const uint32_t counts[] = {0, 1, 2, 31, 32, 33, 1000};

	for (size_t f = 0; f < CLV_ARRAY_SIZE(forms); f++) {
		for (size_t c = 0; c < CLV_ARRAY_SIZE(counts); c++)
			check_list(forms[f], counts[c]);
	}
}

static void holds_a_process_once(void **state)
{
	struct clv_holders holders = {0};

	for (int i = 0; i < 2; i++) {
		assert_int_equal(clv_holders_add_process(&holders, 4000001), 0);
		assert_int_equal(clv_holders_add_process(&holders, 4000002), 0);
	}
	assert_int_equal(holders.n, 2);
	assert_string_equal(holders.items[1].text, "process 4000002");
	free(holders.items);
}

#define MIB UINT64_C(1048576)

static void finds_the_table_of_a_gpu(void **state)
{
	/* clang-format off */
	static const struct {
		const char *name;
		uint64_t mib;
		const char *model; /* NULL: none */
	} gpus[] = {
		{ "NVIDIA A30", 24258, "A30-24GB" },
		{ "A100-SXM4-40GB", 40536, "A100-40GB" },
		{ "NVIDIA A100-PCIE-40GB", 40960, "A100-40GB" },
		{ "NVIDIA A100 80GB PCIe", 81920, "A100-80GB" },
		{ "NVIDIA A100X", 81920, "A100-80GB" },
		{ "NVIDIA A800-SXM4-80GB", 81920, "A100-80GB" },
		{ "NVIDIA H100 80GB HBM3", 81559, "H100-80GB" },
		{ "NVIDIA H100 PCIe", 81559, "H100-80GB" },
		{ "NVIDIA H100 NVL", 95830, "H100-94GB" },
		{ "NVIDIA H800", 81559, "H100-80GB" },
		{ "NVIDIA H800 PCIe", 81559, "H100-80GB" },
		{ "NVIDIA H800 NVL", 95830, "H100-94GB" },
		{ "NVIDIA H100", 97871, "H100-96GB-GH200" },
		{ "NVIDIA H20", 97871, "H20-96GB" },
		{ "NVIDIA H20-3e", 143771, NULL },
		{ "NVIDIA GH200 480GB", 97871, "H100-96GB-GH200" },
		{ "NVIDIA GH200 144G HBM3e", 146831, "GH200-144GB" },
		{ "NVIDIA H200", 143771, "H200-141GB" },
		{ "NVIDIA H200 NVL", 143771, "H200-141GB" },
		{ "NVIDIA B200", 183359, "B200-180GB" },
		{ "NVIDIA GB200", 189471, "GB200" },
		{ "NVIDIA B300 SXM6 AC", 275040, "B300" },
		{ "NVIDIA GB300", 284208, "GB300" },
		{ "NVIDIA RTX PRO 5000 Blackwell", 48935, "RTX-PRO-5000-Blackwell-48GB" },
		{ "NVIDIA RTX PRO 5000 72GB Blackwell", 73415, NULL },
		{ "NVIDIA RTX PRO 4500 Blackwell", 32623, "RTX-PRO-4500-Blackwell-32GB" },
		{ "NVIDIA Thor", 0, NULL },
		{ "NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887,
		  "RTX-PRO-6000-Blackwell-96GB" },
		{ "NVIDIA H100 80GB HBM3", 0, NULL },
		{ "NVIDIA GeForce RTX 4090", 24564, NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < CLV_ARRAY_SIZE(gpus); i++) {
		const struct clv_mig_model *model =
			clv_nvidia_type_find(gpus[i].name, gpus[i].mib * MIB);

		assert_string_equal(model ? model->name : "none",
			gpus[i].model ? gpus[i].model : "none");
	}
}

static void tells_ampere_from_later(void **state)
{
	assert_true(clv_nvidia_type_is_ampere("NVIDIA A100-SXM4-40GB", CLV_NVML_AMPERE));
	assert_true(clv_nvidia_type_is_ampere("A30", 0));
	assert_false(clv_nvidia_type_is_ampere("NVIDIA H100 PCIe", CLV_NVML_HOPPER));
	assert_false(clv_nvidia_type_is_ampere("NVIDIA H100 PCIe", 0));
	/* The driver's number for models newer than itself. */
	assert_false(clv_nvidia_type_is_ampere("NVIDIA X900", UINT32_MAX));
}

/* The tables and the backend have the same suffixes, by name and by index. */
static void knows_the_suffixes_of_the_tables(void **state)
{
	const struct clv_mig_model *model;

	for (size_t m = 0; (model = clv_mig_model_at(m)); m++) {

		for (size_t i = 0; i < model->n_profiles; i++) {
			const struct clv_mig_profile *profile = &model->profiles[i];
			const char *suffix = clv_nvidia_type_suffix(profile->nvml_index);

			assert_int_equal(clv_nvidia_type_attributes(profile->name),
				profile->attributes);
			assert_string_equal(
				profile->name + strlen(profile->name) - strlen(suffix),
				suffix);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_form_of_the_list),
		cmocka_unit_test(holds_a_process_once),
		cmocka_unit_test(finds_the_table_of_a_gpu),
		cmocka_unit_test(tells_ampere_from_later),
		cmocka_unit_test(knows_the_suffixes_of_the_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
