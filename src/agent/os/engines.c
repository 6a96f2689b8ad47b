/* SPDX-License-Identifier: Apache-2.0 */
/* The media and copy engines of MIG GPUs and of their instances, as JSON. */
#include "agent/os/engines.h"

static json_t *count(uint8_t number)
{
	return number == CLV_ENGINES_UNKNOWN ? json_null() : json_integer(number);
}

json_t *clv_engines_to_json(const struct clv_engines *engines)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:o}", "copy", count(engines->copy), "decode",
		count(engines->decode), "encode", count(engines->encode), "jpeg",
		count(engines->jpeg), "optical_flow", count(engines->optical_flow));
}

static json_t *of_profile(const struct clv_mig_profile *profile)
{
	return profile ? clv_engines_to_json(&profile->engines) : json_null();
}

static const struct clv_mig_profile *find(
	const struct clv_node_device *device, const struct clv_partition *partition)
{
	const struct clv_mig_model *model = device->mig.model;
	int at = model ? clv_mig_profile_find(model, partition->profile, NULL) : -1;

	return at < 0 ? NULL : &model->profiles[at];
}

/* Compute instances share the engines of their GPU instance. */
static void add_to_parts(json_t *object, const struct clv_mig_profile *profile)
{
	json_t *part;
	size_t i;

	json_array_foreach (json_object_get(object, "parts"), i, part)
		json_object_set_new(part, "engines", of_profile(profile));
}

void clv_engines_add(const struct clv_node_device *device, json_t *object)
{
	json_t *partitions = json_object_get(object, "partitions");

	for (size_t i = 0; i < device->n_partitions; i++) {
		const struct clv_mig_profile *profile =
			find(device, &device->partitions[i]);
		json_t *partition = json_array_get(partitions, i);

		json_object_set_new(partition, "engines", of_profile(profile));
		add_to_parts(partition, profile);
	}
	json_object_set_new(object, "engines",
		of_profile(clv_mig_profile_largest(device->mig.model)));
}
