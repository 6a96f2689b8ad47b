/* SPDX-License-Identifier: Apache-2.0 */
/* The table of attributes.  Names without a domain are in that of the driver; the others
 * are Kubernetes' own (k8s.io/dynamic-resource-allocation, deviceattribute), by which a
 * claim can ask for a GPU and a network card of one root complex. */
#include "bridge/kubernetes/resource/attributes.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS 3 /* of a semantic version */
#define DIGITS_MAX 9

enum kind {
	TEXT,
	VERSION,
	PLACE, /* a number; negative: not known */
};

static const struct {
	const char *name, *key; /* of the attribute; of the agent's device */
	enum kind kind;
} rows[] = {
	{"model", "model", TEXT},
	{"vendor", "vendor", TEXT},
	{"architecture", "architecture", TEXT},
	{"driverVersion", "driver", VERSION},
	{"cudaDriverVersion", "cuda_version", VERSION},
	{"cudaComputeCapability", "compute_capability", VERSION},
	{"numaNode", "numa_node", PLACE},
	{"resource.kubernetes.io/pciBusID", "pci_address", TEXT},
	{"resource.kubernetes.io/pcieRoot", "pcie_root", TEXT},
};

bool clv_kube_semver(const char *text, char ret[CLV_KUBE_ATTRIBUTE_MAX + 1])
{
	unsigned long numbers[NUMBERS] = {};
	size_t n = 0;

	while (n < NUMBERS && isdigit((unsigned char)*text)) {
		size_t length = strspn(text, "0123456789");

		if (length > DIGITS_MAX)
			return false;
		numbers[n++] = strtoul(text, NULL, 10);
		text += length;
		if (*text != '.')
			break;
		text++;
	}
	snprintf(ret, CLV_KUBE_ATTRIBUTE_MAX + 1, "%lu.%lu.%lu", numbers[0], numbers[1],
		numbers[2]);
	return n > 0;
}

void clv_kube_attribute_add(json_t *attributes, const char *name, const char *text)
{
	char cut[CLV_KUBE_ATTRIBUTE_MAX + 1];

	snprintf(cut, sizeof(cut), "%s", text);
	if (cut[0] != '\0')
		json_object_set_new(attributes, name, json_pack("{s:s}", "string", cut));
}

static void add_version(json_t *attributes, const char *name, const char *text)
{
	char version[CLV_KUBE_ATTRIBUTE_MAX + 1];

	if (clv_kube_semver(text, version))
		json_object_set_new(
			attributes, name, json_pack("{s:s}", "version", version));
}

static void add_place(json_t *attributes, const char *name, const json_t *value)
{
	if (json_is_integer(value) && json_integer_value(value) >= 0)
		json_object_set_new(attributes, name,
			json_pack("{s:I}", "int", json_integer_value(value)));
}

void clv_kube_attributes_add_device(json_t *attributes, const json_t *device)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		const json_t *value = json_object_get(device, rows[i].key);
		const char *text = json_string_value(value);

		if (rows[i].kind == PLACE)
			add_place(attributes, rows[i].name, value);
		else if (text && rows[i].kind == VERSION)
			add_version(attributes, rows[i].name, text);
		else if (text)
			clv_kube_attribute_add(attributes, rows[i].name, text);
	}
}
