/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the node's labels. */
#include "bridge/kubernetes/resource/labels.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "bridge/kubernetes/resource/attributes.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VALUE_MAX 64 /* bytes of a label's value, with the NUL */
#define LABEL CLV_KUBE_DOMAIN "/"
#define PATH_BYTES (CLV_KUBE_PATH_MAX + 32)

/* A label's value has letters, digits, '-', '_' and '.', and a letter or digit at both
 * ends.
 */
static void make_value(const char *text, char ret[VALUE_MAX])
{
	size_t n = 0;

	for (; *text != '\0' && n + 1 < VALUE_MAX; text++) {
		bool is_fit = isalnum((unsigned char)*text) || strchr("-_.", *text);

		if (n > 0 || isalnum((unsigned char)*text))
			ret[n++] = is_fit ? *text : '-';
	}
	while (n > 0 && !isalnum((unsigned char)ret[n - 1]))
		n--;
	ret[n] = '\0';
}

static void write_label(FILE *out, const char *name, const char *value)
{
	char fit[VALUE_MAX];

	make_value(value, fit);
	fprintf(out, "%s=%s\n", name, fit);
}

static void write_number(FILE *out, const char *name, uint64_t number)
{
	fprintf(out, "%s=%" PRIu64 "\n", name, number);
}

static const struct clv_kube_device *first_whole(
	const struct clv_kube_inventory *inventory, const char *vendor, size_t *ret_n)
{
	const struct clv_kube_device *first = NULL;

	*ret_n = 0;
	for (size_t i = 0; i < inventory->n; i++) {
		const struct clv_kube_device *device = &inventory->items[i];

		if (device->parent[0] != '\0' || device->is_cpu ||
			!strcasestr(device->vendor, vendor))
			continue;
		first = first ? first : device;
		++*ret_n;
	}
	return first;
}

static bool has_scheme(const struct clv_kube_inventory *inventory, const char *scheme)
{
	for (size_t i = 0; i < inventory->n; i++) {
		if (strcmp(inventory->items[i].scheme, scheme) == 0)
			return true;
	}
	return false;
}

static uint32_t replicas_of(const struct clv_kube_settings *settings)
{
	switch (settings->undivided) {
	case CLV_KUBE_SHARE:
	case CLV_KUBE_BOTH:
		return CLV_KUBE_HUNDREDTHS;
	case CLV_KUBE_REPLICAS:
		return settings->replicas.count;
	default:
		return 1;
	}
}

/* Labels of NVIDIA's GPU feature discovery. */
static void write_nvidia(FILE *out, const struct clv_kube_settings *settings,
	const struct clv_kube_inventory *inventory)
{
	size_t n;
	const struct clv_kube_device *device = first_whole(inventory, "nvidia", &n);
	bool is_single = settings->naming == CLV_KUBE_NAMES_SINGLE;
	bool is_mig = has_scheme(inventory, "mig");

	if (!device)
		return;
	write_number(out, "nvidia.com/gpu.count", n);
	write_label(out, "nvidia.com/gpu.product", device->model);
	write_number(out, "nvidia.com/gpu.memory", device->memory_bytes >> 20);
	write_number(out, "nvidia.com/gpu.replicas", is_mig ? 1 : replicas_of(settings));
	write_label(out, "nvidia.com/gpu.sharing-strategy",
		replicas_of(settings) > 1 && !is_mig ? "cleave" : "none");
	write_label(out, "nvidia.com/mig.capable", is_mig ? "true" : "false");
	if (is_mig)
		write_label(
			out, "nvidia.com/mig.strategy", is_single ? "single" : "mixed");
	write_label(out, "nvidia.com/cuda.driver-version.full", device->driver);
}

static void write_amd(FILE *out, const struct clv_kube_inventory *inventory)
{
	size_t n;
	const struct clv_kube_device *device = first_whole(inventory, "amd", &n);

	if (!device || !strstr(device->model, "MI"))
		return;
	write_number(out, "amd.com/gpu.vram", device->memory_bytes >> 20);
	write_number(out, "amd.com/gpu.cu-count", device->compute_units);
	write_label(out, "amd.com/gpu.product-name", device->model);
	if (has_scheme(inventory, "xcp"))
		write_label(out, "amd.com/compute-partitioning-supported", "true");
}

/* The machine's type, as GPU feature discovery reads it. */
static void write_machine(FILE *out)
{
	const char *sysfs = getenv("CLEAVE_SYSFS");
	_cleanup_free_ char *machine = NULL;
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "%s/class/dmi/id/product_name",
		sysfs ? sysfs : "/sys");
	if (clv_file_read_all(path, VALUE_MAX, &machine, NULL, NULL) >= 0 &&
		isalnum((unsigned char)machine[0]))
		write_label(out, LABEL "gpu.machine", machine);
}

/* Writes "535.104.05" as ".full" and a label for each of at most three numbers. */
static void write_version(
	FILE *out, const char *name, const char *const parts[3], const char *version)
{
	char full[128], semantic[CLV_KUBE_ATTRIBUTE_MAX + 1], number[32];
	const char *at = semantic;

	if (!clv_kube_semver(version, semantic))
		return;
	snprintf(full, sizeof(full), "%s.full", name);
	write_label(out, full, version);
	for (size_t i = 0; i < 3 && parts[i]; i++) {
		snprintf(full, sizeof(full), "%s.%s", name, parts[i]);
		snprintf(number, sizeof(number), "%.*s", (int)strcspn(at, "."), at);
		write_label(out, full, number);
		at += strcspn(at, ".") + (i < 2);
	}
}

/* What a device of any vendor is, for selectors of nodes. */
static void write_devices(FILE *out, const struct clv_kube_settings *settings,
	const struct clv_kube_inventory *inventory)
{
	static const char *const driver[3] = {"major", "minor", "revision"};
	static const char *const two[3] = {"major", "minor"};
	size_t n;
	const struct clv_kube_device *device = first_whole(inventory, "", &n);

	if (!device)
		return;
	write_number(out, LABEL "gpu.count", n);
	write_label(out, LABEL "gpu.vendor", device->vendor);
	write_label(out, LABEL "gpu.product", device->model);
	write_number(out, LABEL "gpu.memory", device->memory_bytes >> 20);
	write_number(out, LABEL "gpu.compute-units", device->compute_units);
	if (device->architecture[0] != '\0')
		write_label(out, LABEL "gpu.family", device->architecture);
	write_machine(out);
	write_number(out, LABEL "gpu.replicas",
		device->is_divided ? 1 : replicas_of(settings));
	write_version(out, LABEL "driver-version", driver, device->driver);
	write_version(out, LABEL "cuda-version", two, device->cuda);
	write_version(out, LABEL "gpu.compute", two, device->capability);
}

/* Of a resource whose units are partitions, or devices: what one of them has. */
static void write_one(
	FILE *out, const char *resource, const struct clv_kube_device *device)
{
	if (!device)
		return;
	fprintf(out, "%s.memory=%" PRIu64 "\n", resource, device->memory_bytes >> 20);
	fprintf(out, "%s.compute-units=%" PRIu32 "\n", resource, device->compute_units);
}

/* Labels of each resource, such as "cleave.dev/mig-1g.10gb.count". */
static void write_resources(FILE *out, const struct clv_kube_inventory *inventory,
	const struct clv_kube_resources *resources)
{
	for (size_t i = 0; i < resources->n; i++) {
		const struct clv_kube_resource *resource = &resources->items[i];
		uint64_t n = 0;

		for (size_t j = 0; j < resource->n; j++)
			n += resource->sources[j].n_units;
		fprintf(out, "%s.count=%" PRIu64 "\n", resource->name, n);
		if (resource->kind == CLV_KUBE_OF_ONE && resource->n > 0)
			write_one(out, resource->name,
				clv_kube_inventory_find(
					inventory, resource->sources[0].device));
	}
}

char *clv_kube_labels_make(const struct clv_kube_settings *settings,
	const struct clv_kube_inventory *inventory,
	const struct clv_kube_resources *resources)
{
	char *text = NULL;
	size_t n_bytes = 0;
	FILE *out = open_memstream(&text, &n_bytes);

	if (!out)
		return NULL;
	write_nvidia(out, settings, inventory);
	write_amd(out, inventory);
	write_devices(out, settings, inventory);
	write_resources(out, inventory, resources);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* node-feature-discovery ignores hidden files, so the text is written to a hidden file,
 * which is then renamed. */
int clv_kube_labels_write(const struct clv_kube_settings *settings,
	const struct clv_kube_inventory *inventory,
	const struct clv_kube_resources *resources, struct clv_error *err)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	char path[PATH_BYTES], hidden[PATH_BYTES];

	if (settings->labels[0] == '\0')
		return 0;
	text = clv_kube_labels_make(settings, inventory, resources);
	if (!text)
		return clv_error_errno(err, ENOMEM, "cannot write labels");
	snprintf(path, sizeof(path), "%s/cleave", settings->labels);
	snprintf(hidden, sizeof(hidden), "%s/.cleave", settings->labels);
	fd = open(hidden, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
		rename(hidden, path) < 0)
		return clv_error_errno(err, errno, "cannot write %s", path);
	return 0;
}
