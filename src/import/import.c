/* SPDX-License-Identifier: Apache-2.0 */
/* Detects the format of a document, and does what all formats need: unwraps ConfigMaps,
 * refuses an import without a rule, keeps messages on one line. */
#include "import/import.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "import/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const struct clv_import_format clv_import_formats[] = {
	{
		.name = "mig-parted",
		.title = "NVIDIA mig-parted (nvidia-mig-parted, the GPU operator's MIG manager)",
		.keys = { "mig-configs" },
		.overlap = "mig-parted lets the later one win: list the devices of each by number, "
			   "every device once",
		.read = clv_import_mig_parted,
	}, {
		.name = "device-plugin",
		.title = "NVIDIA's Kubernetes device plugin (time-slicing and MPS)",
		.keys = { "sharing", "flags", "imex" },
		.overlap = "nvidia.com/gpu are GPUs with MIG off and nvidia.com/mig-... parts of those "
			   "with MIG on, so list the devices of each, or import one with --select",
		.read = clv_import_device_plugin,
	}, {
		.name = "device-config-manager",
		.title = "AMD's Device Config Manager",
		.keys = { "gpu-config-profiles" },
		.overlap = "list each GPU once",
		.read = clv_import_device_config_manager,
	}, {
		.name = "compose",
		.title = "a compose file with x-internal-integrations.multiTenantGpu",
		.keys = { "services", "x-internal-integrations" },
		.overlap = "import one with --select",
		.read = clv_import_compose,
	},
};
/* clang-format on */

const size_t clv_import_n_formats = CLV_ARRAY_SIZE(clv_import_formats);

/* "mig-parted (has 'mig-configs'), ..." */
static void list_formats(char *text, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < clv_import_n_formats && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s (has '%s')",
			i ? ", " : "", clv_import_formats[i].name,
			clv_import_formats[i].keys[0]);
}

static int find_format(
	const char *name, const struct clv_import_format **ret, struct clv_error *err)
{
	char known[256];

	for (size_t i = 0; i < clv_import_n_formats; i++) {
		if (strcmp(clv_import_formats[i].name, name) == 0) {
			*ret = &clv_import_formats[i];
			return 0;
		}
	}
	list_formats(known, sizeof(known));
	return clv_error_set(
		err, -EINVAL, "no format is called '%.40s': there are %s", name, known);
}

static bool looks_like(const struct clv_import_format *format, struct clv_yaml_value root)
{
	struct clv_yaml_value found;

	for (size_t i = 0; format->keys[i]; i++) {
		if (clv_yaml_find(root, format->keys[i], &found))
			return true;
	}
	return false;
}

bool clv_import_is_known(struct clv_yaml_value root)
{
	for (size_t i = 0; i < clv_import_n_formats; i++) {
		if (looks_like(&clv_import_formats[i], root))
			return true;
	}
	return false;
}

static int fail_to_guess(struct clv_yaml_value root, struct clv_error *err)
{
	struct clv_yaml_value found;
	char known[256];

	if (clv_yaml_find(root, "devices", &found) &&
		clv_yaml_find(root, "version", &found))
		return clv_yaml_fail(root, err, -EINVAL,
			"this is a layout already: there is nothing to import");
	list_formats(known, sizeof(known));
	return clv_yaml_fail(root, err, -EINVAL,
		"none of the formats that can be imported: %s, or a Kubernetes ConfigMap "
		"with one of them in it",
		known);
}

static int guess_format(struct clv_yaml_value root, const struct clv_import_format **ret,
	struct clv_error *err)
{
	for (size_t i = 0; i < clv_import_n_formats; i++) {
		if (looks_like(&clv_import_formats[i], root)) {
			*ret = &clv_import_formats[i];
			return 0;
		}
	}
	return fail_to_guess(root, err);
}

/* Quoted keys and texts of a document may contain any character. */
static void make_one_line(char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 127)
			*text = '?';
	}
}

static int check_result(const struct clv_import_job *job, struct clv_yaml_value root,
	struct clv_error *err)
{
	if (job->out->layout.n_rules > 0)
		return clv_import_check_overlaps(job, err);
	if (job->out->n_remarks > 0)
		return clv_error_set(err, -EINVAL, "%s: nothing else can be imported",
			job->out->remarks[job->out->n_remarks - 1].text);
	return clv_yaml_fail(root, err, -EINVAL,
		"the file neither divides nor shares a GPU: there is nothing to import");
}

static int import_root(
	struct clv_import_job *job, struct clv_yaml_value root, struct clv_error *err)
{
	int r = job->out->format->read(job, root, err);

	if (r >= 0)
		r = check_result(job, root, err);
	free(job->origins);
	return r;
}

static int import_document(const char *format, const struct clv_yaml *document,
	const struct clv_import_options *options, struct clv_import *out,
	struct clv_error *err)
{
	struct clv_import_job job = {.options = options, .out = out};
	struct clv_yaml_value root = clv_yaml_root(document);
	int r = format ? find_format(format, &out->format, err)
		       : guess_format(root, &out->format, err);

	if (r < 0)
		return r;
	snprintf(out->layout.name, sizeof(out->layout.name), "%s",
		clv_yaml_name(document));
	return import_root(&job, root, err);
}

/* Sorts by line, because the file is not read in order. */
static void sort_remarks(struct clv_import *import)
{
	for (size_t i = 1; i < import->n_remarks; i++) {
		struct clv_import_remark remark = import->remarks[i];
		size_t at = i;

		for (; at > 0 && import->remarks[at - 1].line > remark.line; at--)
			import->remarks[at] = import->remarks[at - 1];
		import->remarks[at] = remark;
	}
}

int clv_import(const char *format, const struct clv_yaml *document,
	const struct clv_import_options *options, struct clv_import *ret,
	struct clv_error *err)
{
	struct clv_import_options inner = {0};
	struct clv_import out = {0};
	struct clv_yaml *content = NULL;
	int r;

	if (options)
		inner = *options;
	r = clv_import_unwrap(clv_yaml_root(document), &inner, &content, err);
	if (r >= 0)
		r = import_document(
			format, content ? content : document, &inner, &out, err);
	clv_yaml_free(content);
	if (r < 0) {
		if (err)
			make_one_line(err->msg);
		clv_import_clear(&out);
		return r;
	}
	for (size_t i = 0; i < out.n_remarks; i++)
		make_one_line(out.remarks[i].text);
	sort_remarks(&out);
	*ret = out;
	return 0;
}

void clv_import_clear(struct clv_import *import)
{
	clv_layout_clear(&import->layout);
	free(import->remarks);
	*import = (struct clv_import){0};
}
