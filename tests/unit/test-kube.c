/* SPDX-License-Identifier: Apache-2.0 */
/* Ids, quantities and texts in cleave-kubelet. */
#include "base/error.h"
#include "bridge/kubernetes/apiserver/announce.h"
#include "bridge/kubernetes/apiserver/kubeconfig.h"
#include "bridge/kubernetes/config/quantity.h"
#include "bridge/kubernetes/lease/claim-config.h"
#include "bridge/kubernetes/lease/refusal.h"
#include "bridge/kubernetes/lease/spec.h"
#include "bridge/kubernetes/lease/strategy.h"
#include "bridge/kubernetes/resource/attributes.h"
#include "bridge/kubernetes/resource/desired.h"
#include "bridge/kubernetes/resource/pair.h"
#include "bridge/kubernetes/resource/slices.h"
#include "bridge/kubernetes/resource/taken.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct clv_kube_source sources[] = {
	{.key = "a",
		.device = "gpu0",
		.whole = "gpu0",
		.memory_bytes = 100 << 20,
		.n_units = 100},
	{.key = "b",
		.device = "gpu1",
		.whole = "gpu1",
		.memory_bytes = 100 << 20,
		.n_units = 100},
};
static const struct clv_kube_resource shares = {
	.name = "x/share", .kind = CLV_KUBE_OF_SHARE, .sources = sources, .n = 2};
static const struct clv_kube_resource memory = {.name = "x/memory",
	.kind = CLV_KUBE_OF_MEMORY,
	.unit_bytes = 1 << 20,
	.sources = sources,
	.n = 2};

static void test_quantities(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {{"0", 0}, {"30", 30}, {"8Gi", UINT64_C(8) << 30}, {"1.5k", 1500},
		{"250m", 1}, {"1e3", 1000}, {"80Gi", UINT64_C(80) << 30},
		{"1Pi", UINT64_C(1) << 50}, {"2E", UINT64_C(2000000000000000000)},
		{"1500000n", 1}, {"1e-3", 1}};
	static const char *const bad[] = {
		"", "x", "-1", "1Pi ", "nan", "inf", "0x10", "1 Gi", "Gi", "1e30", "+1"};
	uint64_t value;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(clv_kube_parse_quantity(good[i].text, &value), 0);
		assert_int_equal(value, good[i].value);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(clv_kube_parse_quantity(bad[i], &value), -EINVAL);
}

static void test_semantic_versions(void **state)
{
	static const struct {
		const char *text, *version;
	} good[] = {{"535.104.05", "535.104.5"}, {"12.2", "12.2.0"}, {"9.0", "9.0.0"},
		{"6.1.0-18-amd64", "6.1.0"}, {"3.1+debian Linux", "3.1.0"},
		{"32.0.15.6094", "32.0.15"}, {"007", "7.0.0"}, {"5.", "5.0.0"},
		{"999999999.0.0", "999999999.0.0"}};
	static const char *const bad[] = {
		"", "simulated", "v1.2.3", ".1", "-1.0", "1234567890.0", "1.1234567890"};
	char version[CLV_KUBE_ATTRIBUTE_MAX + 1];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(clv_kube_semver(good[i].text, version));
		assert_string_equal(version, good[i].version);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(clv_kube_semver(bad[i], version));
}

static void test_attributes(void **state)
{
	json_t *attributes = json_object(),
	       *device = json_pack("{s:s,s:s,s:s,s:i,s:s,s:s}", "model",
		       "a model whose name is longer than the sixty-four bytes that a "
		       "text may have",
		       "driver", "simulated", "architecture", "", "numa_node", -1,
		       "pci_address", "0000:3b:00.0", "pcie_root", "pci0000:3a");
	const char *model;

	clv_kube_attributes_add_device(attributes, device);
	model = json_string_value(
		json_object_get(json_object_get(attributes, "model"), "string"));
	assert_int_equal(strlen(model), 64);
	assert_int_equal(json_object_size(attributes), 3);
	json_decref(attributes);
	json_decref(device);
}

/* Pods are evicted from a device on which nothing runs any more, and from no other. */
static void test_taints(void **state)
{
	static const struct {
		const char *state, *effect;
	} rows[] = {{"", NULL}, {"cordoned", "NoSchedule"}, {"degraded", "NoSchedule"},
		{"unknown", "NoSchedule"}, {"lost", "NoExecute"}};
	struct clv_kube_device device = {.name = "gpu0"};
	const struct clv_kube_inventory inventory = {.items = &device, .n = 1};
	struct clv_kube_settings settings = {.undivided = CLV_KUBE_WHOLE};
	json_t *node = json_pack("{s:[{s:s,s:i}]}", "devices", "name", "gpu0",
		       "memory_bytes", 1 << 30),
	       *specs, *one, *taint;

	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		const size_t row = i / 2;
		const struct clv_kube_server server = {
			CLV_KUBE_COUNTERS_APART, i % 2 == 0};
		struct clv_kube_places places = {};

		device.is_healthy = !rows[row].effect;
		snprintf(device.state, sizeof(device.state), "%s", rows[row].state);
		assert_int_equal(clv_kube_slices_make(node, &inventory, &settings, server,
					 &places, &specs, NULL),
			0);
		one = json_array_get(
			json_object_get(json_array_get(specs, 0), "devices"), 0);
		assert_int_equal(one != NULL, server.has_taints || device.is_healthy);
		taint = json_array_get(json_object_get(one, "taints"), 0);
		assert_int_equal(taint != NULL, one && !device.is_healthy);
		if (taint) {
			assert_string_equal(
				json_string_value(json_object_get(taint, "effect")),
				rows[row].effect);
			assert_string_equal(
				json_string_value(json_object_get(taint, "value")),
				rows[row].state);
		}
		json_decref(specs);
		clv_kube_places_clear(&places);
	}
	json_decref(node);
}

static void test_base64(void **state)
{
	struct clv_kube_blob blob;

	assert_int_equal(clv_kube_decode_base64("aGVsbG8=", &blob), 0);
	assert_int_equal(blob.n_bytes, 5);
	assert_memory_equal(blob.data, "hello", 5);
	free(blob.data);
	assert_int_equal(clv_kube_decode_base64("aGVs\nbG8h\n", &blob), 0);
	assert_int_equal(blob.n_bytes, 6);
	assert_string_equal(blob.data, "hello!");
	free(blob.data);
	assert_int_equal(clv_kube_decode_base64("a_b", &blob), -EINVAL);
	assert_int_equal(clv_kube_decode_base64("aGVsbG8", &blob), -EINVAL);
}

/* The order of the ids does not change the lease's name. */
static void test_names(void **state)
{
	static const char *const one[] = {"a::3", "a::1", "a::2"};
	static const char *const same[] = {"a::1", "a::2", "a::3"};
	static const char *const other[] = {"a::1", "a::2", "a::4"};
	static const char *const apart[] = {"b::1", "b::2", "b::3"};
	struct clv_kube_desired w[4];

	assert_int_equal(clv_kube_desired_make(&shares, one, 3, &w[0], NULL), 0);
	assert_int_equal(clv_kube_desired_make(&shares, same, 3, &w[1], NULL), 0);
	assert_int_equal(clv_kube_desired_make(&shares, other, 3, &w[2], NULL), 0);
	assert_int_equal(clv_kube_desired_make(&shares, apart, 3, &w[3], NULL), 0);
	assert_string_equal(w[0].lease, w[1].lease);
	assert_string_not_equal(w[0].lease, w[2].lease);
	assert_int_equal(w[0].share_ppm, 30000);
	assert_true(clv_kube_desired_overlaps(&w[0], &w[2]));
	assert_false(clv_kube_desired_overlaps(&w[0], &w[3]));
	for (size_t i = 0; i < 4; i++)
		clv_kube_desired_clear(&w[i]);
}

static void test_wrong_ids(void **state)
{
	static const char *const wrong[][2] = {{"a::1", "b::1"}, {"a::1", "a::1"},
		{"a::1", "a::x"}, {"a::1", "a"}, {"a::1", "a::100"}, {"c::1", "c::2"}};
	struct clv_kube_desired desired;
	struct clv_error err;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_true(
			clv_kube_desired_make(&shares, wrong[i], 2, &desired, &err) < 0);
		assert_true(err.msg[0] != '\0');
	}
	/* The device is not known, but the name is. */
	assert_int_equal(
		clv_kube_desired_identify(&shares, wrong[5], 2, &desired, NULL), 0);
	assert_string_equal(desired.device, "");
	clv_kube_desired_clear(&desired);
}

static struct clv_kube_desired make(
	const struct clv_kube_resource *resource, const char *id)
{
	struct clv_kube_desired desired;

	assert_int_equal(clv_kube_desired_make(resource, &id, 1, &desired, NULL), 0);
	return desired;
}

static void test_pairs(void **state)
{
	struct clv_kube_desired share = make(&shares, "a::1"),
				bytes = make(&memory, "a::7");
	struct clv_kube_desired both;
	struct clv_kube_pair pair = {};

	assert_int_equal(clv_kube_pair_take(&pair, &bytes, true, &both, NULL), 0);
	assert_string_equal(clv_kube_pair_device(&pair, false), "gpu0");
	assert_null(clv_kube_pair_device(&pair, true));
	assert_int_equal(clv_kube_pair_take(&pair, &share, false, &both, NULL), 1);
	assert_int_equal(both.share_ppm, 10000);
	assert_int_equal(both.memory_bytes, 1 << 20);
	clv_kube_desired_clear(&both);
	share = make(&shares, "a::1");
	assert_true(clv_kube_pair_recall(&pair, &share, false));
	assert_int_equal(share.memory_bytes, 1 << 20);
	assert_false(clv_kube_pair_recall(&pair, &share, true));
	clv_kube_desired_clear(&share);
	share = make(&shares, "a::1");
	bytes = make(&memory, "b::7");
	assert_int_equal(clv_kube_pair_take(&pair, &share, false, &both, NULL), 0);
	assert_int_equal(clv_kube_pair_take(&pair, &bytes, true, &both, NULL), -EBUSY);
	assert_null(clv_kube_pair_device(&pair, true));
	clv_kube_pair_clear(&pair);
}

/* The latest pairs are remembered, and of one share the latest. */
static void test_last_pairs(void **state)
{
	struct clv_kube_pair pair = {};
	struct clv_kube_desired both, share, bytes;
	char id[16];

	for (unsigned i = 0; i < CLV_KUBE_PAIRS_MAX + 1; i++) {
		snprintf(id, sizeof(id), "a::%u", i % 100);
		share = make(&shares, i == 0 ? "a::99" : "a::1");
		bytes = make(&memory, id);
		assert_int_equal(
			clv_kube_pair_take(&pair, &share, false, &both, NULL), 0);
		assert_int_equal(clv_kube_pair_take(&pair, &bytes, true, &both, NULL), 1);
		clv_kube_desired_clear(&both);
		share = make(&shares, "a::99");
		assert_int_equal(clv_kube_pair_recall(&pair, &share, false),
			i < CLV_KUBE_PAIRS_MAX);
		clv_kube_desired_clear(&share);
	}
}

/* Fills texts and ids with the first n units of a and m of b. */
static void name_units(char (*texts)[8], const char **ids, unsigned n, unsigned m)
{
	for (unsigned i = 0; i < n + m; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%s::%u", i < n ? "a" : "b",
			i < n ? i : i - n);
		ids[i] = texts[i];
	}
}

/* Which device gives all of n_wanted units, of n on a and m on b: its letter. */
static char source_of(const struct clv_kube_resource *resource, unsigned n, unsigned m,
	unsigned n_wanted)
{
	char texts[200][8];
	const char *ids[200];
	uint32_t indexes[200];

	name_units(texts, ids, n, m);
	assert_int_equal(
		clv_kube_prefer(resource, ids, n + m, NULL, 0, n_wanted, NULL, indexes),
		n_wanted);
	for (unsigned i = 0; i < n_wanted; i++)
		assert_int_equal(ids[indexes[i]][0], ids[indexes[0]][0]);
	return ids[indexes[0]][0];
}

/* A whole device stays whole; of two devices in use the one is chosen whose rest another
 * request of that size can use, even though the other is fuller. */
static void test_place(void **state)
{
	assert_int_equal(source_of(&shares, 100, 40, 30), 'b');
	assert_int_equal(source_of(&shares, 40, 100, 30), 'a');
	assert_int_equal(source_of(&shares, 45, 60, 30), 'b');
	assert_int_equal(source_of(&shares, 60, 45, 30), 'a');
	assert_int_equal(source_of(&shares, 60, 45, 50), 'a');
	assert_int_equal(source_of(&memory, 45, 60, 30), 'b');
	assert_int_equal(source_of(&memory, 100, 40, 40), 'b');
}

/* Required ids are included, near ones come first, and a request for too many gets
 * all. */
static void test_preference(void **state)
{
	char texts[14][8];
	const char *ids[14], *const must[] = {"a::9"};
	uint32_t indexes[14];

	name_units(texts, ids, 10, 4);
	assert_int_equal(
		clv_kube_prefer(&shares, ids, 14, NULL, 0, 3, "gpu1", indexes), 3);
	assert_int_equal(ids[indexes[0]][0], 'b');
	assert_int_equal(clv_kube_prefer(&shares, ids, 14, must, 1, 3, NULL, indexes), 3);
	assert_string_equal(ids[indexes[0]], "a::9");
	assert_int_equal(ids[indexes[1]][0], 'a');
	assert_string_not_equal(ids[indexes[1]], "a::9");
	assert_int_equal(
		clv_kube_prefer(&shares, ids, 14, NULL, 0, 99, NULL, indexes), 14);
}

/* Ids that a lease has come last: those that others need on one device, and those that
 * must be there. */
static void test_taken(void **state)
{
	static const char *const theirs[] = {"a::0", "a::1", "a::2", "a::3"};
	static const char *const must[] = {"a::2"};
	struct clv_kube_taken taken = {.resource = clv_kube_intern(shares.name)};
	struct clv_kube_desired lease;
	char texts[14][8];
	const char *ids[14];
	uint32_t indexes[14];

	assert_int_equal(clv_kube_desired_make(&shares, theirs, 4, &lease, NULL), 0);
	clv_kube_taken_add(&taken, &lease);
	clv_kube_taken_sort(&taken);
	name_units(texts, ids, 10, 4);
	assert_int_equal(clv_kube_prefer_untaken(
				 &shares, &taken, ids, 14, NULL, 0, 6, "gpu0", indexes),
		6);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(ids[indexes[i]][0], 'a');
		assert_true(strtol(ids[indexes[i]] + 3, NULL, 10) >= 4);
	}
	/* With units of both devices it would be no share. */
	assert_int_equal(clv_kube_prefer_untaken(
				 &shares, &taken, ids, 14, NULL, 0, 8, "gpu0", indexes),
		8);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(ids[indexes[i]][0], 'a');
	assert_int_equal(clv_kube_prefer_untaken(
				 &shares, &taken, ids, 14, must, 1, 3, NULL, indexes),
		3);
	assert_string_equal(ids[indexes[0]], "a::2");
	assert_true(strtol(ids[indexes[1]] + 3, NULL, 10) >= 4);
	clv_kube_taken_clear(&taken);
	clv_kube_desired_clear(&lease);
}

/* A process that has no file left to open. */
int __wrap_eventfd(unsigned int count, int flags);
int __wrap_eventfd(unsigned int count, int flags)
{
	errno = EMFILE;
	return -1;
}

static void test_no_announcer_that_cannot_end(void **state)
{
	static const struct clv_kube_settings settings = {.kubeconfig = "/nonexistent"};
	static const struct clv_kube_announcer_options options = {0};
	struct clv_kube_announcer *announcer = NULL;
	struct clv_error err = {0};

	assert_int_equal(
		clv_kube_announcer_new(&settings, &options, &announcer, &err), -EMFILE);
	assert_int_equal(err.code, -EMFILE);
	assert_null(announcer);
}

static json_t *lease_on(const char *name, const char *device, size_t n_processes)
{
	json_t *processes = json_array();

	while (n_processes-- > 0)
		json_array_append_new(processes, json_object());
	return json_pack("{s:s,s:s,s:f,s:I,s:[{s:s}],s:o}", "name", name, "device",
		device, "share", .3, "memory_bytes", (json_int_t)30 << 20, "devices",
		"name", device, "processes", processes);
}

/* The room of leases that kubelet does not list any more is announced, unless they have
 * processes. */
static void test_announcement(void **state)
{
	json_t *devices = json_pack("{s:[{s:s,s:s,s:n,s:{s:s},s:I,s:I,s:f}]}", "items",
		"name", "gpu0", "model", "m", "parent", "health", "state", "ok",
		"memory_bytes", (json_int_t)100 << 20, "memory_promised_bytes",
		(json_int_t)95 << 20, "share_promised", .95);
	json_t *leases = json_pack("{s:[o,o,o,o]}", "items", lease_on("a", "gpu0", 0),
		lease_on("b", "gpu0", 1), lease_on("c", "gpu1", 0),
		lease_on("d", "gpu0", 0));
	json_t *unlisted = json_pack("{s:b,s:b,s:b,s:b}", "a", 1, "b", 1, "c", 1, "e", 1);
	char *before = clv_kube_announcement(devices, NULL, NULL);
	char *after = clv_kube_announcement(devices, leases, unlisted);

	assert_non_null(strstr(before, "\"free_milli\":50,\"free_mib\":5}"));
	assert_non_null(strstr(after, "\"free_milli\":350,\"free_mib\":35}"));
	assert_true(clv_kube_announcement_grows(before, after));
	assert_false(clv_kube_announcement_grows(after, before));
	assert_false(clv_kube_announcement_grows(after, after));
	assert_true(clv_kube_announcement_grows("[]", before));
	assert_false(clv_kube_announcement_grows(before, "[]"));
	free(before);
	free(after);
	json_decref(devices);
	json_decref(leases);
	json_decref(unlisted);
}

/* Without advice for the command line. */
static void test_refusals(void **state)
{
	static const struct {
		const char *agent, *shown;
	} rows[] = {
		{"share 0.6 does not fit on gpu0 now: 0.5 of it is left; ask for less, "
		 "wait with --wait, or see its holders with cleave ps",
			"share 0.6 does not fit on gpu0 now: 0.5 of it is left"},
		{"2 alike are wanted and 1 are free now: wait with --wait, or see who "
		 "holds them with cleave ps",
			"2 alike are wanted and 1 are free now"},
		{"3 leases wait already for gpu0: join the queue with --wait",
			"3 leases wait already for gpu0"},
		{"there is no device gpu7: cleave devices lists the devices",
			"there is no device gpu7"},
		{"gpu0 is cordoned: a fan is broken",
			"gpu0 is cordoned: a fan is broken"},
		{"see --help", "see --help"},
		{"", ""},
	};
	struct clv_error err;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(clv_kube_refuse(-EBUSY, rows[i].agent, &err), -EBUSY);
		assert_string_equal(err.msg, rows[i].shown);
	}
	clv_kube_refuse_room(-EBUSY, rows[1].agent, true, &err);
	assert_string_equal(err.msg,
		"2 alike are wanted and 1 are free now; ask for less, or wait until "
		"others have ended");
}

static void test_claim_config(void **state)
{
	static const char text[] =
		"[{\"requests\": [], \"opaque\": {\"driver\": \"x\", \"parameters\": {"
		"\"apiVersion\": \"gpu.cleave.dev/v1\", \"kind\": \"LeaseConfig\","
		"\"class\": \"batch\", \"cap\": 0.9, \"shareMost\": \"60%\", \"sm\": "
		"0.25,"
		"\"spill\": \"2Gi\"}}}]";
	struct clv_kube_lease_options options;
	json_t *config = json_loads(text, 0, NULL);

	assert_int_equal(clv_kube_claim_config_read(config, "x", "r", &options, NULL), 0);
	assert_string_equal(options.class_name, "batch");
	assert_int_equal(options.cap_ppm, 900000);
	assert_int_equal(options.share_most_ppm, 600000);
	assert_int_equal(options.sm_ppm, 250000);
	assert_int_equal(options.spill_bytes, UINT64_C(2) << 30);
	assert_int_equal(clv_kube_claim_config_read(config, "y", "r", &options, NULL), 0);
	assert_int_equal(options.cap_ppm, 0);
	json_decref(config);
}

/* For a container with adminAccess. */
static void test_spec_of_a_device(void **state)
{
	struct clv_kube_settings settings = {.driver_root = "/none"};
	json_t *gpu = json_pack("{s:s,s:s}", "backend", "nvidia", "uuid", "GPU-1"), *spec;
	json_t *processor = json_pack("{s:s}", "backend", "opencl");
	json_t *file = json_pack("{s:s,s:s,s:[{s:s,s:{s:[{s:s}]}}]}", "cdiVersion",
		"0.3.0", "kind", "nvidia.com/gpu", "devices", "name", "GPU-1",
		"containerEdits", "deviceNodes", "path", "/dev/nvidia7");
	char path[sizeof(settings.cdi) + 32];
	const char *node;

	snprintf(settings.cdi, sizeof(settings.cdi), "/tmp/cleave-test-kube-XXXXXX");
	assert_non_null(mkdtemp(settings.cdi));
	assert_int_equal(
		clv_kube_spec_write_device(&settings, "dra-1-0", processor, NULL), 0);
	assert_int_equal(
		clv_kube_spec_write_device(&settings, "dra-1-0", gpu, NULL), -ENODEV);
	snprintf(path, sizeof(path), "%s/nvidia.json", settings.cdi);
	assert_int_equal(json_dump_file(file, path, 0), 0);
	assert_int_equal(clv_kube_spec_write_device(&settings, "dra-1-0", gpu, NULL), 1);
	unlink(path);
	snprintf(path, sizeof(path), "%s/cleave-dra-1-0.json", settings.cdi);
	spec = json_load_file(path, 0, NULL);
	assert_int_equal(json_unpack(spec, "{s:[{s:{s:[{s:s}]}}]}", "devices",
				 "containerEdits", "deviceNodes", "path", &node),
		0);
	assert_string_equal(node, "/dev/nvidia7");
	json_decref(spec);
	json_decref(file);
	json_decref(processor);
	json_decref(gpu);
	clv_kube_spec_remove(&settings, "dra-1-0");
	assert_int_equal(rmdir(settings.cdi), 0);
}

static void test_strategies(void **state)
{
	static const unsigned all =
		CLV_KUBE_BY_CDI | CLV_KUBE_BY_ANNOTATIONS | CLV_KUBE_BY_MOUNTS;
	static const struct {
		const char *kubelet, *runtime;
		unsigned ways;
	} cases[] = {
		{"v1.20.2", "containerd://1.6.20~ds1", CLV_KUBE_BY_MOUNTS},
		{"v1.30.4-eks-a737599", "containerd://1.6.36", CLV_KUBE_BY_MOUNTS},
		{"v1.27.1", "cri-o://1.22.0", CLV_KUBE_BY_MOUNTS},
		{"v1.30.0", "containerd://1.7.13-k3s1", all},
		{"v1.28.9", "containerd://2.0.0", all},
		{"v1.29.0+rke2r1", "containerd://2.0.0", CLV_KUBE_BY_CDI},
		{"v1.36.0", "containerd://2.10.1", CLV_KUBE_BY_CDI},
		{"v1.29.0", "cri-o://1.29.1", CLV_KUBE_BY_CDI},
		{"v1.29.0", "cri-o://1.28.4", all},
		{"v1.23.0", "docker://20.10.5", all},
		{"v1.36.0", "containerd://Unknown", all},
		{"v1.36.0", NULL, all},
		{NULL, "containerd://2.1.0", all},
		{"", "", all},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(
			clv_kube_strategy_choose(cases[i].kubelet, cases[i].runtime),
			cases[i].ways);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantities),
		cmocka_unit_test(test_semantic_versions),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_taints),
		cmocka_unit_test(test_claim_config),
		cmocka_unit_test(test_spec_of_a_device),
		cmocka_unit_test(test_strategies),
		cmocka_unit_test(test_base64),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_wrong_ids),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_last_pairs),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_preference),
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_no_announcer_that_cannot_end),
		cmocka_unit_test(test_announcement),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
