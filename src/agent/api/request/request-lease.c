/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of a lease request's fields that are more than a value in a range.  All fields
 * are in agent/record/lease-fields.c. */
#include "agent/api/request/request-lease.h"

#include "agent/api/request/take.h"
#include "agent/record/lease-fields.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LIST_MAX 512

static int take_name(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	int r = clv_take_text("name", value, request->name, sizeof(request->name), err);

	return r < 0 ? r : clv_lease_check_name(request->name, err);
}

static int take_device(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	int r = clv_take_text(
		"device", value, request->device, sizeof(request->device), err);

	if (r >= 0 && request->device[0] == '\0')
		return clv_error_set(err, -EINVAL, "device is empty: leave it out");
	return r;
}

static int take_devices(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	size_t n_devices = json_array_size(value), n = 0, i;
	const json_t *item;

	if (n_devices < 2 || n_devices > CLV_LEASE_DEVICES_MAX)
		return clv_error_set(err, -EINVAL,
			"devices must be a list of 2 to %u names: for one device use "
			"device",
			CLV_LEASE_DEVICES_MAX);
	json_array_foreach (value, i, item) {
		const char *name = json_string_value(item);

		if (!name || name[0] == '\0' || strchr(name, ',') ||
			json_string_length(item) != strlen(name) ||
			n + strlen(name) + 3 > sizeof(request->devices))
			return clv_error_set(err, -EINVAL,
				"devices must be a list of names or UUIDs of devices");
		n += (size_t)sprintf(request->devices + n, n > 0 ? "%s," : ",%s,", name);
	}
	return 0;
}

static int take_isolation(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	char text[16];
	int r = clv_take_text("isolation", value, text, sizeof(text), err);

	if (r < 0)
		return r;
	request->is_isolated = strcmp(text, "hardware") == 0;
	if (!request->is_isolated && strcmp(text, "gate") != 0)
		return clv_error_set(err, -EINVAL,
			"isolation must be \"hardware\" (a partition of its own) or "
			"\"gate\" (a share, the default)");
	return 0;
}

/* The command is only displayed, so it is truncated and cleaned and never refused.  It
 * comes from argv[0] or a path, and must not reach a terminal as a control sequence. */
static int take_command(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	const char *text = json_string_value(value);
	size_t length;

	if (!text)
		return clv_error_set(err, -EINVAL, "command must be a string");
	length = strlen(text);
	if (length >= sizeof(request->command))
		length = sizeof(request->command) - 1;
	while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
		length--; /* do not cut a UTF-8 character */
	memcpy(request->command, text, length);
	request->command[length] = '\0';
	clv_text_make_printable(request->command);
	return 0;
}

static int take_share(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	request->has_share = true;
	return clv_take_fraction("share", value, &request->share.compute_ppm, err);
}

/* The alternative to share. */
static int take_share_range(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	struct clv_share_range *range = &request->share.range;
	int r;

	if (!json_is_object(value) || json_object_size(value) != 2)
		return clv_error_set(err, -EINVAL,
			"share_range must be {\"least\": 0.1, \"most\": 0.6}");
	request->has_range = true;
	r = clv_take_fraction("share_range.least", json_object_get(value, "least"),
		&range->least_ppm, err);
	if (r >= 0)
		r = clv_take_fraction("share_range.most", json_object_get(value, "most"),
			&range->most_ppm, err);
	if (r >= 0 && range->least_ppm > range->most_ppm)
		r = clv_error_set(err, -EINVAL,
			"share_range.least is above share_range.most: swap them");
	return r;
}

static int take_cap(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	request->has_cap = true;
	request->share.cap_ppm = 0;
	if (json_is_null(value))
		return 0;
	return clv_take_fraction("cap", value, &request->share.cap_ppm, err);
}

static int take_sm(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	int r = clv_take_fraction("sm", value, &request->sm_ppm, err);

	/* All multiprocessors are no limit. */
	if (r >= 0 && request->sm_ppm == CLV_PPM)
		request->sm_ppm = 0;
	return r;
}

static int take_memory(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	json_int_t bytes = json_integer_value(value);

	request->has_memory = true;
	if (!json_is_integer(value))
		return clv_error_set(
			err, -EINVAL, "memory_bytes must be a whole number of bytes");
	if (bytes <= 0)
		return clv_error_set(err, -ERANGE,
			"memory_bytes is %" JSON_INTEGER_FORMAT
			": it must be more than 0",
			bytes);
	request->share.memory_bytes = (uint64_t)bytes;
	return 0;
}

static int take_spill(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	json_int_t bytes = json_integer_value(value);

	if (!json_is_integer(value) || bytes < 0)
		return clv_error_set(err, json_is_integer(value) ? -ERANGE : -EINVAL,
			"spill_bytes must be a whole number of bytes, 0 for none");
	request->has_spill = true;
	request->share.spill_bytes = (uint64_t)bytes;
	return 0;
}

static int take_class(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	const char *text = json_string_value(value);
	enum clv_class class = text ? clv_class_from_string(text) : _CLV_CLASS_INVALID;

	if (class == _CLV_CLASS_INVALID)
		return clv_error_set(err, -EINVAL,
			"class must be \"latency\", \"normal\" or \"batch\"");
	request->has_class = true;
	request->share.class = class;
	return 0;
}

static int take_admit(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	const char *text = json_string_value(value);
	enum clv_admit admit = text ? clv_admit_from_string(text) : _CLV_ADMIT_INVALID;

	if (admit == _CLV_ADMIT_INVALID)
		return clv_error_set(err, -EINVAL,
			"admit must be \"holders\" (holders and their descendants, the "
			"default) or \"socket\" (any process that reaches the lease's "
			"socket)");
	request->admit = admit;
	return 0;
}

/* "vm:" and a UUID of lower-case digits, as libvirt writes it. */
static bool is_machine(const char *text)
{
	static const char form[] = "vm:xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	if (strlen(text) != sizeof(form) - 1)
		return false;
	for (size_t i = 0; form[i]; i++) {
		bool is_digit = strchr("0123456789abcdef", text[i]) != NULL;

		if (form[i] == 'x' ? !is_digit : text[i] != form[i])
			return false;
	}
	return true;
}

static int take_holder(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	int r = clv_take_text("holder", value, request->vm, sizeof(request->vm), err);

	if (r >= 0 && !is_machine(request->vm))
		return clv_error_set(err, -EINVAL,
			"holder must be \"vm:\" and the UUID of a virtual machine, in "
			"lower case");
	return r;
}

static int take_user(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	json_int_t user = json_integer_value(value);

	/* UINT32_MAX is (uid_t)-1, no user. */
	if (!json_is_integer(value) || user < 0 || user >= UINT32_MAX)
		return clv_error_set(
			err, -EINVAL, "user must be a uid, a whole number from 0");
	request->has_user = true;
	request->user = (uid_t)user;
	return 0;
}

static const struct {
	const char *name;
	int (*take)(struct clv_lease_request *request, const json_t *value,
		struct clv_error *err);
} functions[] = {
	{"name", take_name},
	{"device", take_device},
	{"devices", take_devices},
	{"isolation", take_isolation},
	{"command", take_command},
	{"share", take_share},
	{"share_range", take_share_range},
	{"cap", take_cap},
	{"memory_bytes", take_memory},
	{"spill_bytes", take_spill},
	{"class", take_class},
	{"sm", take_sm},
	{"admit", take_admit},
	{"holder", take_holder},
	{"user", take_user},
};

static int take(const struct clv_field *field, const json_t *value,
	struct clv_lease_request *request, struct clv_error *err)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(functions); i++) {
		if (strcmp(functions[i].name, field->name) == 0)
			return functions[i].take(request, value, err);
	}
	return clv_take_field(field, value, request, err);
}

static int fail_unknown(const char *name, struct clv_error *err)
{
	char known[LIST_MAX];

	/* The name comes from the caller: quote it only if it is printable. */
	for (const char *p = name; *p; p++) {
		if (!isprint((unsigned char)*p))
			return clv_error_set(err, -EINVAL,
				"the body has unknown fields: /openapi.json lists those "
				"of a lease");
	}
	clv_field_list_asked(&clv_lease_fields, CLV_FIELD_CREATE | CLV_FIELD_CHANGE,
		"and", known, sizeof(known));
	return clv_error_set(
		err, -EINVAL, "unknown field \"%.40s\": known are %s", name, known);
}

int clv_request_take_lease(unsigned int by, const char *name, const json_t *value,
	struct clv_lease_request *request, struct clv_error *err)
{
	const struct clv_field *field = clv_field_asked_by_name(&clv_lease_fields, name);

	if (!field)
		return fail_unknown(name, err);
	if (!(field->asked.by & by))
		return clv_error_set(err, -EINVAL,
			"%s cannot be changed after the lease was made: release it, and "
			"make "
			"another",
			name);
	return take(field, value, request, err);
}

int clv_request_fail_empty(struct clv_error *err)
{
	char fields[LIST_MAX];

	clv_field_list_asked(
		&clv_lease_fields, CLV_FIELD_CHANGE, "or", fields, sizeof(fields));
	return clv_error_set(err, -EINVAL, "nothing to change: give %s", fields);
}
