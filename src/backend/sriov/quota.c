/* SPDX-License-Identifier: Apache-2.0 */
/* Writes, reads back and resets the quotas of a function of Intel's GPUs.  Drivers round
 * values to what the hardware supports; the value that is read back is the effective one.
 */
#include "backend/sriov/sriov.h"

#include "backend/files.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A bound above the step to which any driver rounds memory. */
#define MEMORY_STEP_BYTES (UINT64_C(64) << 20)

static const struct field {
	const char *label;
	const char *names[2];
	size_t offset;
	size_t n_bytes;
	bool is_split; /* the value is divided among the device's tiles or GTs */
} fields[] = {
	{"memory", {"vram_quota", "lmem_quota"},
		offsetof(struct clv_vf_quota, memory_bytes), sizeof(uint64_t), true},
	{"exec_quantum_ms", {"exec_quantum_ms"},
		offsetof(struct clv_vf_quota, exec_quantum_ms), sizeof(uint32_t), false},
	{"preempt_timeout_us", {"preempt_timeout_us"},
		offsetof(struct clv_vf_quota, preempt_timeout_us), sizeof(uint32_t),
		false},
	{"contexts", {"contexts_quota"}, offsetof(struct clv_vf_quota, contexts),
		sizeof(uint32_t), false},
	{"doorbells", {"doorbells_quota"}, offsetof(struct clv_vf_quota, doorbells),
		sizeof(uint32_t), false},
};

static const char *const priority_names[2] = {"sched_priority"};
static const char *const priorities[] = {"low", "normal", "high"};

static uint64_t get(const struct clv_vf_quota *quota, const struct field *field)
{
	const char *at = (const char *)quota + field->offset;
	uint32_t narrow;
	uint64_t wide;

	if (field->n_bytes == sizeof(narrow)) {
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

static void set(struct clv_vf_quota *quota, const struct field *field, uint64_t value)
{
	char *at = (char *)quota + field->offset;
	uint32_t narrow = (uint32_t)value;

	if (field->n_bytes == sizeof(narrow))
		memcpy(at, &narrow, sizeof(narrow));
	else
		memcpy(at, &value, sizeof(value));
}

/* The quota of the whole function; 0 if it cannot be read or the files differ. */
static uint64_t read_field(const struct clv_sriov_files *files, const struct field *field)
{
	uint64_t sum = 0, value = 0;

	for (size_t i = 0; i < files->n; i++) {
		uint64_t before = value;

		if (clv_file_read_number(&value, "%s", files->items[i]) < 0 ||
			(i > 0 && !field->is_split && value != before))
			return 0;
		sum += value;
	}
	return field->is_split ? sum : value;
}

/* sysfs has "[low] normal high", debugfs a number. */
static void parse_priority(const char *text, char ret[8])
{
	const char *open = strchr(text, '['), *close = strchr(text, ']');

	ret[0] = '\0';
	if (open && close && close > open && close - open <= 8)
		snprintf(ret, 8, "%.*s", (int)(close - open - 1), open + 1);
	else if (text[0] >= '0' && text[0] <= '2' && text[1] == '\0')
		snprintf(ret, 8, "%s", priorities[text[0] - '0']);
}

static void read_priority(const struct clv_sriov_files *files, char ret[8])
{
	char text[64];

	ret[0] = '\0';
	if (files->n > 0 && clv_file_read(text, sizeof(text), "%s", files->items[0]) > 0)
		parse_priority(text, ret);
}

void clv_sriov_read_quota(
	const struct clv_node_device *device, uint32_t number, struct clv_vf_quota *quota)
{
	struct clv_sriov_files files;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(fields); i++) {
		if (clv_sriov_find_files(device, number, fields[i].names, &files) < 0)
			return;
		set(quota, &fields[i], read_field(&files, &fields[i]));
		free(files.items);
	}
	if (clv_sriov_find_files(device, number, priority_names, &files) < 0)
		return;
	read_priority(&files, quota->priority);
	free(files.items);
}

static int refuse_field(const struct clv_node_device *device, const char *label,
	const char *what, struct clv_error *err)
{
	if (device->vf.framework == CLV_VF_XE)
		return clv_error_set(err, -ENOTSUP,
			"%s: this xe driver has no file for %s: mount debugfs, or "
			"install "
			"Linux 7.0",
			what, label);
	return clv_error_set(err, -ENOTSUP,
		"%s: the device's driver has no %s for its functions", what, label);
}

static int explain_write(
	int errnum, const char *what, const char *label, struct clv_error *err)
{
	if (errnum == EACCES || errnum == EPERM)
		return clv_error_set(err, -EPERM,
			"%s: %s: not permitted: run as root, or the driver does not "
			"allow "
			"a change for one function",
			what, label);
	return clv_file_error(err, errnum, "%s: %s", what, label);
}

/* Whether the driver applied the value.  If it shows the value from before the write it
 * did not, unless the new value is rounded to that. */
static bool is_applied(
	const struct field *field, uint64_t before, uint64_t asked, uint64_t now)
{
	if (now == asked)
		return true;
	if (now != before)
		return now != 0;
	return field->is_split && now >= asked && now - asked < MEMORY_STEP_BYTES;
}

static int write_files(
	const struct clv_sriov_files *files, const struct field *field, uint64_t value)
{
	uint64_t each = field->is_split ? value / files->n : value;
	char text[24];
	int r = 0;

	snprintf(text, sizeof(text), "%llu", (unsigned long long)each);
	for (size_t i = 0; r == 0 && i < files->n; i++)
		r = clv_file_write(text, "%s", files->items[i]);
	return r;
}

static int write_field(const struct clv_node_device *device,
	const struct clv_sriov_files *files, const struct field *field, uint64_t asked,
	const char *what, struct clv_error *err)
{
	uint64_t before, now;
	int r;

	if (files->n == 0)
		return refuse_field(device, field->label, what, err);
	before = read_field(files, field);
	if (before == asked)
		return 0;
	r = write_files(files, field, asked);
	if (r < 0) {
		/* Rollback: drivers release the old memory before they allocate the new.
		 */
		write_files(files, field, before);
		return explain_write(-r, what, field->label, err);
	}
	now = read_field(files, field);
	if (!is_applied(field, before, asked, now))
		return clv_error_set(err, -EIO,
			"%s: the driver accepted %llu for %s but shows %llu", what,
			(unsigned long long)asked, field->label, (unsigned long long)now);
	return 0;
}

static int write_priority(const struct clv_node_device *device,
	const struct clv_sriov_files *files, const char *asked, const char *what,
	struct clv_error *err)
{
	char text[64], now[8];
	int r = 0;

	if (files->n == 0)
		return refuse_field(device, "priority", what, err);
	read_priority(files, now);
	if (strcmp(now, asked) == 0)
		return 0;
	snprintf(text, sizeof(text), "%s", asked);
	if (clv_file_read(now, sizeof(now), "%s", files->items[0]) == 1) {
		for (int i = 0; i < (int)CLV_ARRAY_SIZE(priorities); i++) {
			if (strcmp(priorities[i], asked) == 0)
				snprintf(text, sizeof(text), "%d", i);
		}
	}
	for (size_t i = 0; r == 0 && i < files->n; i++)
		r = clv_file_write(text, "%s", files->items[i]);
	if (r < 0)
		return explain_write(-r, what, "priority", err);
	read_priority(files, now);
	if (strcmp(now, asked) != 0)
		return clv_error_set(err, -EIO,
			"%s: the driver accepted %s for priority but shows %s", what,
			asked, now);
	return 0;
}

/* With CLV_SRIOV_AHEAD only files are written that the driver accepts early. */
static int write_each(const struct clv_node_device *device, uint32_t number,
	const struct field *field, const struct clv_vf_quota *quota,
	enum clv_sriov_when when, const char *what, struct clv_error *err)
{
	struct clv_sriov_files files;
	uint64_t asked = get(quota, field);
	int r;

	if (asked == 0)
		return 0;
	r = clv_sriov_find_files(device, number, field->names, &files);
	if (r < 0)
		return clv_error_errno(err, -r, "%s", what);
	if (when == CLV_SRIOV_NOW || files.is_early || files.n == 0)
		r = write_field(device, &files, field, asked, what, err);
	free(files.items);
	return r;
}

int clv_sriov_write_quota(const struct clv_node_device *device, uint32_t number,
	const struct clv_vf_quota *quota, enum clv_sriov_when when, const char *what,
	struct clv_error *err)
{
	struct clv_sriov_files files;
	int r = 0;

	for (size_t i = 0; r == 0 && i < CLV_ARRAY_SIZE(fields); i++)
		r = write_each(device, number, &fields[i], quota, when, what, err);
	if (r < 0 || quota->priority[0] == '\0')
		return r;
	r = clv_sriov_find_files(device, number, priority_names, &files);
	if (r < 0)
		return clv_error_errno(err, -r, "%s", what);
	if (when == CLV_SRIOV_NOW || files.is_early || files.n == 0)
		r = write_priority(device, &files, quota->priority, what, err);
	free(files.items);
	return r;
}

void clv_sriov_reset_quotas(const struct clv_node_device *device)
{
	struct clv_sriov_files files;
	char automatic[192];

	for (uint32_t number = 1; number <= device->vf.total; number++) {
		for (size_t i = 0; i < CLV_ARRAY_SIZE(fields); i++) {
			if (clv_sriov_find_files(
				    device, number, fields[i].names, &files) < 0)
				return;
			if (read_field(&files, &fields[i]) != 0)
				write_files(&files, &fields[i], 0);
			free(files.items);
		}
	}
	clv_sriov_find_auto_switch(device, automatic);
	if (automatic[0] != '\0')
		clv_file_write("1", "%s", automatic);
}
