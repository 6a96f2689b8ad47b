/* SPDX-License-Identifier: Apache-2.0 */
/* The profiles of a device, for GET /v1/profiles. */
#include "agent/layout/profiles.h"

#include "agent/os/engines.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

struct profile {
	const char *name;
	uint64_t memory_bytes;
	uint32_t compute_units;
	uint32_t fits, most; /* now; on an empty device */
	const char *note;
	const struct clv_engines *engines; /* NULL: not known */
};

static json_t *append(const struct clv_node_device *device, enum clv_scheme scheme,
	const struct profile *profile, json_t *items)
{
	json_t *item = json_pack("{s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:[],s:s}", "device",
		device->info.name, "scheme", clv_scheme_to_string(scheme), "profile",
		profile->name, "memory_bytes", (json_int_t)profile->memory_bytes,
		"compute_units", (json_int_t)profile->compute_units, "fits",
		(json_int_t)profile->fits, "most", (json_int_t)profile->most, "starts",
		"note", profile->note);

	json_object_set_new(item, "engines",
		profile->engines ? clv_engines_to_json(profile->engines) : json_null());
	json_array_append_new(items, item);
	return item;
}

static void current_instances(
	const struct clv_node_device *device, struct clv_mig_set *ret)
{
	const struct clv_mig_model *model = device->mig.model;

	*ret = (struct clv_mig_set){0};
	for (size_t i = 0; i < device->n_partitions; i++) {
		const struct clv_partition *partition = &device->partitions[i];
		int profile = clv_mig_profile_find(model, partition->profile, NULL);

		if (profile >= 0)
			clv_mig_set_add(model, ret,
				(struct clv_mig_instance){
					(uint8_t)profile, (uint8_t)partition->start});
	}
}

static void add_mig(const struct clv_node_device *device, json_t *items)
{
	const struct clv_mig_model *model = device->mig.model;
	struct clv_mig_set set, none = {0};

	if (!model)
		return;
	current_instances(device, &set);
	for (uint8_t i = 0; i < model->n_profiles; i++) {
		const struct clv_mig_profile *profile = &model->profiles[i];
		json_t *starts = json_array();

		for (uint8_t s = 0; s < profile->n_starts; s++)
			json_array_append_new(starts, json_integer(profile->starts[s]));
		json_object_set_new(
			append(device, CLV_SCHEME_MIG,
				&(struct profile){
					.name = profile->name,
					.memory_bytes = clv_mig_profile_memory(model,
						profile, device->info.memory_bytes),
					.compute_units = profile->multiprocessors,
					.fits = clv_mig_set_capacity(model, &set, i),
					.most = clv_mig_set_capacity(model, &none, i),
					.note = device->mig.is_on ? "" : "MIG is off",
					.engines = &profile->engines,
				},
				items),
			"starts", starts);
	}
}

/* What a pair of modes is good for, by AMD's overview of the MI300X ("GPU partitioning"
 * in amdgpu-docs), which recommends nothing for the modes in between.  It names the
 * models up to 13B and the collectives for CPX with NPS4 only. */
static const char *recommendation(
	enum clv_compute_mode compute, enum clv_memory_mode memory)
{
	if (compute == CLV_SPX)
		return "unified workloads, large models";
	if (compute != CLV_CPX)
		return "";
	return memory == CLV_NPS1
		       ? "isolation, fine-grained scheduling, small batches"
		       : "as CPX/NPS1, models up to 13B, collectives; memory of its "
			 "quadrant: less latency and power, more cache bandwidth";
}

/* The recommendation, and which of the pairs AMD has not validated. */
static void make_note(const struct clv_xcp_state *xcp, enum clv_compute_mode compute,
	enum clv_memory_mode memory, char *ret, size_t ret_bytes)
{
	const char *text = recommendation(compute, memory), *state = "";

	if (xcp->model && !clv_xcp_is_validated(xcp->model, compute, memory))
		state = clv_xcp_is_described(xcp->model, compute, memory)
				? "described by AMD, not in its table of validated modes"
				: "accepted by the driver, not validated by AMD";
	snprintf(ret, ret_bytes, "%s%s%s", text, *text && *state ? "; " : "", state);
}

static void add_pair(const struct clv_node_device *device, enum clv_compute_mode compute,
	enum clv_memory_mode memory, json_t *items)
{
	const struct clv_xcp_state *xcp = &device->xcp;
	unsigned n = clv_xcp_devices(compute, xcp->dies);
	bool is_now = xcp->compute == compute && xcp->memory == memory;
	char name[CLV_PROFILE_NAME_MAX], note[160];

	if (n == 0)
		return;
	make_note(xcp, compute, memory, note, sizeof(note));
	snprintf(name, sizeof(name), "%s/%s", clv_compute_mode_to_string(compute),
		clv_memory_mode_to_string(memory));
	append(device, CLV_SCHEME_XCP,
		&(struct profile){
			.name = name,
			.memory_bytes = device->info.memory_bytes / n,
			.compute_units = device->info.compute_units / n,
			.fits = is_now ? n : 0,
			.most = n,
			.note = is_now ? "as it is now" : note,
		},
		items);
}

static void add_xcp(const struct clv_node_device *device, json_t *items)
{
	const struct clv_xcp_state *xcp = &device->xcp;

	for (int c = 0; c < _CLV_COMPUTE_MODE_MAX; c++) {
		uint32_t memory_modes =
			clv_xcp_memory_modes((enum clv_compute_mode)c, xcp->dies) &
			(xcp->memory_available | xcp->memory);

		for (uint32_t m = CLV_NPS1; m <= CLV_NPS8; m <<= 1) {
			if (memory_modes & m)
				add_pair(device, (enum clv_compute_mode)c,
					(enum clv_memory_mode)m, items);
		}
	}
}

/* One row for each possible number of functions, with the memory of each. */
static void add_vf(const struct clv_node_device *device, json_t *items)
{
	const struct clv_vf_state *vf = &device->vf;
	bool is_whole = vf->n == 0 && device->n_partitions == 0;
	char name[CLV_PROFILE_NAME_MAX];

	for (uint32_t n = 1; n <= vf->total; n++) {
		if (vf->counts != 0 && (n > 64 || !(vf->counts & UINT64_C(1) << (n - 1))))
			continue;
		snprintf(name, sizeof(name), "vf:%" PRIu32, n);
		append(device, CLV_SCHEME_VF,
			&(struct profile){
				.name = name,
				.memory_bytes = device->info.memory_bytes / n,
				.fits = vf->n == n || is_whole ? n : 0,
				.most = n,
				.note = vf->n == n ? "as it is now" : "",
			},
			items);
	}
}

static void add_cores(const struct clv_node_device *device, json_t *items)
{
	uint32_t total = device->cores.total, n_free = total;
	char name[CLV_PROFILE_NAME_MAX];

	for (size_t i = 0; i < device->n_partitions; i++)
		n_free -= device->partitions[i].size < n_free ? device->partitions[i].size
							      : n_free;
	/* Rows for powers of two and for the whole; other numbers are possible too. */
	for (uint32_t n = 1; n <= total; n = n * 2 > total && n < total ? total : n * 2) {
		snprintf(name, sizeof(name), "cores:%" PRIu32, n);
		append(device, CLV_SCHEME_CORES,
			&(struct profile){
				.name = name,
				.memory_bytes = device->info.memory_bytes / total * n,
				.compute_units = n,
				.fits = n_free / n,
				.most = total / n,
				.note = "",
			},
			items);
	}
}

void clv_profiles_add(const struct clv_node_device *device, json_t *items)
{
	if (device->mig.is_capable)
		add_mig(device, items);
	if (device->xcp.is_capable)
		add_xcp(device, items);
	if (device->vf.is_capable)
		add_vf(device, items);
	if (device->cores.is_capable && device->cores.total > 0)
		add_cores(device, items);
}
