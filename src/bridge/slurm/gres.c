/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the device files for gres.conf: from the driver's files in /proc, else by the
 * driver's documented numbering.  Slurm allocates partitions to jobs as a whole;
 * undivided devices are shared by cleave and only counted. */
#include "bridge/slurm/gres.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/paths.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_MAX 64

/* The numbering in /proc/driver/nvidia-caps/mig-minors: 3 is instance 0 of the first GPU.
 */
#define CAPS_FIRST 3u
#define CAPS_PER_INSTANCE 9u /* the GPU instance and eight compute instances */
#define CAPS_PER_GPU (15u * CAPS_PER_INSTANCE)

struct writing {
	FILE *out;
	const struct clv_slurm_gres *how;
	json_t *counts;        /* partitions of each type */
	unsigned int n_shared; /* devices for shares */
};

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

static unsigned int number(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 ? (unsigned int)value : 0;
}

/* The number behind a word in a file of the driver, or `otherwise`. */
static unsigned int read_number(
	const char *path, const char *word, unsigned int otherwise)
{
	_cleanup_free_ char *content = NULL;
	const char *at;

	if (clv_file_read_all(path, 65536, &content, NULL, NULL) < 0)
		return otherwise;
	at = strstr(content, word);
	return at ? (unsigned int)strtoul(at + strlen(word), NULL, 10) : otherwise;
}

static unsigned int minor_of(const struct writing *w, const json_t *device)
{
	char path[CLV_PATH_MAX];

	snprintf(path, sizeof(path), "%s/proc/driver/nvidia/gpus/%s/information",
		w->how->root, text(device, "pci_address"));
	return read_number(path, "Device Minor:", number(device, "index"));
}

/* Makes a valid type of a gres from a profile. */
static void type_of(const char *profile, char ret[TYPE_MAX])
{
	snprintf(ret, TYPE_MAX, "%s", profile);
	for (char *p = ret; *p; p++) {
		if (!isalnum((unsigned char)*p) && *p != '.' && *p != '-')
			*p = '_';
	}
}

static void count(struct writing *w, const char *type)
{
	json_int_t n = json_integer_value(json_object_get(w->counts, type));

	json_object_set_new(w->counts, type, json_integer(n + 1));
}

static void begin_line(struct writing *w, const char *profile)
{
	char type[TYPE_MAX];

	type_of(profile, type);
	count(w, type);
	fprintf(w->out, "NodeName=%s Name=gpu Type=%s ", w->how->node, type);
}

static unsigned int capability(const struct writing *w, unsigned int minor,
	unsigned int instance, const char *below, unsigned int otherwise)
{
	char path[CLV_PATH_MAX];

	snprintf(path, sizeof(path),
		"%s/proc/driver/nvidia/capabilities/gpu%u/mig/gi%u/%saccess",
		w->how->root, minor, instance, below);
	return read_number(path, "DeviceFileMinor:", otherwise);
}

/* A MIG device needs three files: the GPU's, the GPU instance's, the compute instance's.
 */
static void write_mig(struct writing *w, unsigned int minor, unsigned int instance,
	unsigned int compute, const char *profile)
{
	unsigned int own =
		CAPS_FIRST + minor * CAPS_PER_GPU + instance * CAPS_PER_INSTANCE;
	char below[32];

	begin_line(w, profile);
	snprintf(below, sizeof(below), "ci%u/", compute);
	fprintf(w->out,
		"MultipleFiles=/dev/nvidia%u,/dev/nvidia-caps/nvidia-cap%u,"
		"/dev/nvidia-caps/nvidia-cap%u\n",
		minor, capability(w, minor, instance, "", own),
		capability(w, minor, instance, below, own + 1 + compute));
}

static void write_instance(struct writing *w, unsigned int minor, const json_t *partition)
{
	const json_t *parts = json_object_get(partition, "parts"), *part;
	unsigned int instance = number(partition, "driver_id");
	size_t i;

	if (json_is_true(json_object_get(partition, "half_made")))
		return;
	if (json_array_size(parts) == 0)
		write_mig(w, minor, instance, 0, text(partition, "profile"));
	json_array_foreach (parts, i, part)
		write_mig(w, minor, instance, number(part, "driver_id"),
			text(part, "profile"));
}

static const json_t *function_at(const json_t *device, const char *address)
{
	const json_t *functions =
		json_object_get(json_object_get(device, "vf"), "functions");
	const json_t *each;
	size_t i;

	json_array_foreach (functions, i, each) {
		if (strcmp(text(each, "address"), address) == 0)
			return each;
	}
	return NULL;
}

/* The device file of a virtual function is that of its IOMMU group, or, if a driver of
 * the host uses the function, its render node. */
static void write_function(
	struct writing *w, const json_t *device, const json_t *partition)
{
	const char *address = text(partition, "address");
	const json_t *function = function_at(device, address);
	const json_t *group = json_object_get(function, "iommu_group");
	char path[CLV_PATH_MAX];
	struct dirent *entry;
	DIR *folder;

	if (strcmp(text(function, "driver"), "vfio-pci") == 0 &&
		json_integer_value(group) >= 0) {
		begin_line(w, text(partition, "profile"));
		fprintf(w->out, "File=/dev/vfio/%lld\n", json_integer_value(group));
		return;
	}
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/drm", w->how->root,
		address);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, "renderD", 7) != 0)
			continue;
		begin_line(w, text(partition, "profile"));
		fprintf(w->out, "File=/dev/dri/%s\n", entry->d_name);
		break;
	}
	if (folder)
		closedir(folder);
}

static void write_partition(
	struct writing *w, const json_t *device, const json_t *partition)
{
	const char *scheme = text(device, "scheme");

	if (strcmp(scheme, "mig") == 0) {
		write_instance(w, minor_of(w, device), partition);
	} else if (strcmp(scheme, "xcp") == 0 && text(partition, "address")[0]) {
		begin_line(w, text(partition, "profile"));
		fprintf(w->out, "File=/dev/dri/%s\n", text(partition, "address"));
	} else if (strcmp(scheme, "vf") == 0) {
		write_function(w, device, partition);
	}
}

/* Sets of processors have no device file by which Slurm could restrict a job, so cleave
 * hands them out, like undivided devices. */
static bool is_handed_out_by_slurm(const json_t *device)
{
	return json_array_size(json_object_get(device, "partitions")) > 0 &&
	       strcmp(text(device, "scheme"), "cores") != 0;
}

static void write_gres_types(struct writing *w)
{
	bool has_gpus = json_object_size(w->counts) > 0;

	fprintf(w->out,
		"\n# slurm.conf: add these values to GresTypes and to the line of the "
		"node.\nGresTypes=%s%s%s\n",
		has_gpus ? "gpu" : "", has_gpus && w->n_shared ? "," : "",
		w->n_shared ? CLV_SLURM_GRES : "");
}

static void write_node_line(struct writing *w)
{
	const char *type, *separator = "";
	json_t *n;

	fprintf(w->out, "NodeName=%s Gres=", w->how->node);
	json_object_foreach (w->counts, type, n) {
		fprintf(w->out, "%sgpu:%s:%lld", separator, type, json_integer_value(n));
		separator = ",";
	}
	if (w->n_shared)
		fprintf(w->out, "%s" CLV_SLURM_GRES ":%u", separator,
			w->n_shared * CLV_SLURM_GRES_PER_DEVICE);
	fprintf(w->out,
		"\n\n# plugstack.conf: full= is what happens to a batch script for "
		"which there is no room.\noptional spank_cleave.so full=requeue\n");
}

void clv_slurm_gres_write(FILE *out, const struct clv_slurm_gres *how, const json_t *node)
{
	struct writing w = {out, how, json_object(), 0};
	const json_t *device, *partition;
	size_t i, j;

	fprintf(out, "# gres.conf\n");
	json_array_foreach (json_object_get(node, "devices"), i, device) {
		if (!is_handed_out_by_slurm(device)) {
			w.n_shared++;
			continue;
		}
		json_array_foreach (json_object_get(device, "partitions"), j, partition)
			write_partition(&w, device, partition);
	}
	if (w.n_shared)
		fprintf(out, "NodeName=%s Name=" CLV_SLURM_GRES " Count=%u\n", how->node,
			w.n_shared * CLV_SLURM_GRES_PER_DEVICE);
	write_gres_types(&w);
	write_node_line(&w);
	json_decref(w.counts);
}
