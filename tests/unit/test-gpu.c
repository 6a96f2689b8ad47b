/* SPDX-License-Identifier: Apache-2.0 */
/* The table of GPU models: every row is found by each of its keys, and no two rows are
 * equal. */
#include "core/gpu/gpu.h"

#include <string.h>

/* cmocka.h wants these three before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void finds_every_model_by_name(void **state)
{
	const struct clv_gpu *gpu;
	size_t n = 0;

	for (; (gpu = clv_gpu_at(n)); n++)
		assert_ptr_equal(clv_gpu_find(gpu->name), gpu);
	assert_true(n > 0);
	assert_null(clv_gpu_at(n));
	assert_null(clv_gpu_find("A100"));
	assert_null(clv_gpu_find(""));
}

static void gpu_is(const struct clv_gpu *gpu, const char *name)
{
	assert_non_null(gpu);
	assert_string_equal(gpu->name, name);
}

static void check_ids(
	const struct clv_gpu *gpu, const uint16_t ids[CLV_GPU_PCI_MAX], bool is_virtual)
{
	for (size_t i = 0; i < CLV_GPU_PCI_MAX && ids[i]; i++) {
		bool found_virtual = !is_virtual;

		assert_ptr_equal(
			clv_gpu_find_pci(gpu->vendor, ids[i], &found_virtual), gpu);
		assert_int_equal(found_virtual, is_virtual);
	}
}

static void finds_every_model_by_pci_id(void **state)
{
	const struct clv_gpu *gpu;

	for (size_t i = 0; (gpu = clv_gpu_at(i)); i++) {
		check_ids(gpu, gpu->pci, false);
		check_ids(gpu, gpu->virtual_pci, true);
		/* The end of the names: callers stop at a name without a part. */
		assert_null(gpu->called[CLV_GPU_NAMES_MAX - 1].part);
	}
}

static void knows_other_ids_of_no_model(void **state)
{
	bool is_virtual = true;

	gpu_is(clv_gpu_find_pci(CLV_GPU_NVIDIA, 0x20b0, NULL), "A100-40GB");
	gpu_is(clv_gpu_find_pci(CLV_GPU_NVIDIA, 0x2330, NULL), "H100-80GB");
	gpu_is(clv_gpu_find_pci(CLV_GPU_AMD, 0x74a1, NULL), "MI300X");
	assert_null(clv_gpu_find_pci(CLV_GPU_NVIDIA, 0x74a1, NULL));
	assert_null(clv_gpu_find_pci(CLV_GPU_NVIDIA, 0x10de, NULL));
	assert_null(clv_gpu_find_pci(CLV_GPU_NVIDIA, 0, NULL));
	assert_null(clv_gpu_find_pci(CLV_GPU_AMD, 0x10de, &is_virtual));
	assert_false(is_virtual);
}

/* The views are named like their models, in the same order. */
static void shows_tables_of_their_models(void **state)
{
	const struct clv_gpu *gpu;
	size_t n_mig = 0, n_xcp = 0;

	for (size_t i = 0; (gpu = clv_gpu_at(i)); i++) {
		assert_ptr_equal(clv_mig_model_find(gpu->name), gpu->mig);
		assert_ptr_equal(clv_xcp_model_find(gpu->name), gpu->xcp);
		if (gpu->mig) {
			assert_true(gpu->has_mig);
			assert_string_equal(gpu->mig->name, gpu->name);
			assert_ptr_equal(clv_mig_model_at(n_mig++), gpu->mig);
		}
		if (gpu->xcp) {
			assert_string_equal(gpu->xcp->name, gpu->name);
			assert_ptr_equal(clv_xcp_model_at(n_xcp++), gpu->xcp);
		}
	}
	assert_null(clv_mig_model_at(n_mig));
	assert_null(clv_xcp_model_at(n_xcp));
}

static void takes_figures_from_the_profiles(void **state)
{
	const struct clv_gpu *h100 = clv_gpu_find("H100-80GB");
	const struct clv_gpu *a100 = clv_gpu_find("A100-80GB");
	const struct clv_gpu *mi300x = clv_gpu_find("MI300X");
	const struct clv_gpu *a10g = clv_gpu_find("A10G");

	assert_int_equal(clv_gpu_memory_bytes(h100), UINT64_C(81152) << 20);
	assert_int_equal(clv_gpu_compute_units(h100), 132);
	assert_int_equal(clv_gpu_compute_units(a100), 108);
	assert_int_equal(clv_gpu_memory_bytes(mi300x), UINT64_C(192) << 30);
	assert_int_equal(clv_gpu_compute_units(mi300x), 304);
	assert_int_equal(clv_gpu_memory_bytes(a10g), 0);
	assert_int_equal(clv_gpu_compute_units(a10g), 0);
}

static void has_the_names_of_people_and_layouts(void **state)
{
	const struct clv_gpu *v100 = clv_gpu_find("V100-32GB");
	const struct clv_gpu *a10g = clv_gpu_find("A10G");

	assert_string_equal(clv_gpu_label(v100), "V100 (32 GB)");
	assert_string_equal(clv_gpu_selector(v100), "V100");
	assert_string_equal(clv_gpu_label(a10g), "A10G");
	assert_string_equal(clv_gpu_selector(a10g), "A10G");
	assert_string_equal(clv_gpu_vendor_to_string(CLV_GPU_INTEL), "intel");
}

/* "0011": the I/O dies of the devices that a mode makes; "-": unknown, or several. */
static void knows_the_io_dies_of_partitions(void **state)
{
	/* clang-format off */
	static const struct {
		const char *model;
		enum clv_compute_mode mode;
		const char *dies;
	} rows[] = {
		{"MI300X", CLV_SPX, "-"}, {"MI300X", CLV_DPX, "--"},
		{"MI300X", CLV_QPX, "0123"}, {"MI300X", CLV_CPX, "00112233"},
		{"MI325X", CLV_CPX, "00112233"},
		{"MI300A", CLV_TPX, "012"}, {"MI300A", CLV_CPX, "001122"},
		{"MI350X", CLV_DPX, "01"}, {"MI350X", CLV_QPX, "0011"},
		{"MI355X", CLV_CPX, "00001111"},
		{"MI308X", CLV_CPX, "----"}, {"MI300X", CLV_TPX, ""},
	};
	/* clang-format on */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct clv_xcp_model *model = clv_xcp_model_find(rows[i].model);
		uint32_t n = (uint32_t)strlen(rows[i].dies);

		assert_int_equal(clv_xcp_devices(rows[i].mode, model->dies), n);
		for (uint32_t k = 0; k < n; k++)
			assert_int_equal(clv_xcp_io_die(model, rows[i].mode, k),
				rows[i].dies[k] == '-' ? -1 : rows[i].dies[k] - '0');
		assert_int_equal(clv_xcp_io_die(model, rows[i].mode, n), -1);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_every_model_by_name),
		cmocka_unit_test(finds_every_model_by_pci_id),
		cmocka_unit_test(knows_other_ids_of_no_model),
		cmocka_unit_test(shows_tables_of_their_models),
		cmocka_unit_test(takes_figures_from_the_profiles),
		cmocka_unit_test(has_the_names_of_people_and_layouts),
		cmocka_unit_test(knows_the_io_dies_of_partitions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
