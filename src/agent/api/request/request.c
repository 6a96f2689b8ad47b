/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the bodies that the API takes.  Strict: an unknown field, a wrong type or a
 * number out of range is an error with one line of text, never a guess.  Whether a
 * request fits a device is not asked here. */
#include "agent/api/request/request.h"

#include "agent/http/http.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define TIME_MAX_S (365 * 86400)

enum verb {
	CREATE = 1,
	RESIZE = 2,
};

static int take_text(const char *field, const json_t *value, char *ret, size_t room,
	struct clv_error *err)
{
	const char *text = json_string_value(value);

	if (!text)
		return clv_error_set(err, -EINVAL, "%s must be a string", field);
	if (json_string_length(value) != strlen(text))
		return clv_error_set(err, -EINVAL, "%s must not hold a NUL", field);
	if (strlen(text) >= room)
		return clv_error_set(err, -ERANGE, "%s is over %zu bytes: shorten it",
			field, room - 1);
	memcpy(ret, text, strlen(text) + 1);
	return 0;
}

static int take_fraction(
	const char *field, const json_t *value, uint32_t *ret, struct clv_error *err)
{
	double number = json_number_value(value);

	if (!json_is_number(value))
		return clv_error_set(err, -EINVAL,
			"%s must be a number, more than 0 and at most 1", field);
	/* Written so that NaN is refused too. */
	if (!(number > 0 && number <= 1))
		return clv_error_set(err, -ERANGE,
			"%s is %g: it must be more than 0 and at most 1", field, number);
	if (number * CLV_PPM < 0.5)
		return clv_error_set(err, -ERANGE, "%s is %g: the smallest is 0.000001",
			field, number);
	*ret = (uint32_t)(number * CLV_PPM + 0.5);
	return 0;
}

static int take_name(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	int r = take_text("name", value, request->name, sizeof(request->name), err);

	return r < 0 ? r : clv_lease_check_name(request->name, err);
}

static int take_device(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	int r = take_text("device", value, request->device, sizeof(request->device), err);

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
			"devices must be a list of 2 to %u names: for one there is "
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

static int take_in(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	return take_text("in", value, request->in, sizeof(request->in), err);
}

static int take_isolation(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	char text[16];
	int r = take_text("isolation", value, text, sizeof(text), err);

	if (r < 0)
		return r;
	request->is_isolated = strcmp(text, "hardware") == 0;
	if (!request->is_isolated && strcmp(text, "gate") != 0)
		return clv_error_set(err, -EINVAL,
			"isolation must be \"hardware\" (a partition of its own) or "
			"\"gate\" (a share, the default)");
	return 0;
}

static int take_profile(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	return take_text(
		"profile", value, request->profile, sizeof(request->profile), err);
}

/* Only for show, so it is cut and cleaned instead of refused: it comes from argv[0] or a
 * path, and must not reach a terminal as a control sequence. */
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
		length--; /* not in the middle of a character */
	memcpy(request->command, text, length);
	request->command[length] = '\0';
	for (char *p = request->command; *p; p++) {
		if (iscntrl((unsigned char)*p))
			*p = '?';
	}
	return 0;
}

static int take_share(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	request->has_share = true;
	return take_fraction("share", value, &request->share.compute_ppm, err);
}

/* In place of share. */
static int take_share_range(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	struct clv_share_range *range = &request->share.range;
	int r;

	if (!json_is_object(value) || json_object_size(value) != 2)
		return clv_error_set(err, -EINVAL,
			"share_range must be {\"least\": 0.1, \"most\": 0.6}");
	request->has_range = true;
	r = take_fraction("share_range.least", json_object_get(value, "least"),
		&range->least_ppm, err);
	if (r >= 0)
		r = take_fraction("share_range.most", json_object_get(value, "most"),
			&range->most_ppm, err);
	if (r >= 0 && range->least_ppm > range->most_ppm)
		r = clv_error_set(err, -EINVAL,
			"the least of share_range is above its most: change places");
	return r;
}

static int take_cap(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	request->has_cap = true;
	request->share.cap_ppm = 0;
	if (json_is_null(value))
		return 0;
	return take_fraction("cap", value, &request->share.cap_ppm, err);
}

static int take_sm(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	int r = take_fraction("sm", value, &request->sm_ppm, err);

	/* All of them is no limit. */
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

static int take_bool(
	const char *field, const json_t *value, bool *ret, struct clv_error *err)
{
	if (!json_is_boolean(value))
		return clv_error_set(err, -EINVAL, "%s must be true or false", field);
	*ret = json_is_true(value);
	return 0;
}

static int take_wait(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	return take_bool("wait", value, &request->wait, err);
}

static int take_overcommit(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	return take_bool("overcommit", value, &request->overcommit, err);
}

static int take_count(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	json_int_t count = json_integer_value(value);

	if (!json_is_integer(value) || count < 1 || count > CLV_LEASE_DEVICES_MAX)
		return clv_error_set(err, -ERANGE,
			"count must be a whole number from 1 to %u",
			CLV_LEASE_DEVICES_MAX);
	request->count = (uint32_t)count;
	return 0;
}

static int take_time(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	json_int_t seconds = json_integer_value(value);

	if (!json_is_integer(value) || seconds < 1 || seconds > TIME_MAX_S)
		return clv_error_set(err, -ERANGE,
			"time must be a whole number of seconds from 1 to %d",
			TIME_MAX_S);
	request->time_s = (uint64_t)seconds;
	return 0;
}

static int take_same_device(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	return take_bool("same_device", value, &request->is_same_device, err);
}

static int take_keep(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	return take_bool("keep", value, &request->keep, err);
}

static int take_admit(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	const char *text = json_string_value(value);
	enum clv_admit admit = text ? clv_admit_from_string(text) : _CLV_ADMIT_INVALID;

	if (admit == _CLV_ADMIT_INVALID)
		return clv_error_set(err, -EINVAL,
			"admit must be \"holders\" (who holds the lease and what they "
			"start, the default) or \"socket\" (whoever reaches its socket)");
	request->admit = admit;
	return 0;
}

static int take_user(
	struct clv_lease_request *request, const json_t *value, struct clv_error *err)
{
	json_int_t user = json_integer_value(value);

	/* The largest number means nobody. */
	if (!json_is_integer(value) || user < 0 || user >= UINT32_MAX)
		return clv_error_set(
			err, -EINVAL, "user must be a user's number, from 0 on");
	request->has_user = true;
	request->user = (uid_t)user;
	return 0;
}

static const struct {
	const char *name;
	int verbs;
	int (*take)(struct clv_lease_request *request, const json_t *value,
		struct clv_error *err);
} fields[] = {
	{"name", CREATE, take_name},
	{"device", CREATE, take_device},
	{"devices", CREATE, take_devices},
	{"profile", CREATE, take_profile},
	{"in", CREATE, take_in},
	{"isolation", CREATE, take_isolation},
	{"command", CREATE, take_command},
	{"share", CREATE | RESIZE, take_share},
	{"share_range", CREATE | RESIZE, take_share_range},
	{"cap", CREATE | RESIZE, take_cap},
	{"memory_bytes", CREATE | RESIZE, take_memory},
	{"spill_bytes", CREATE | RESIZE, take_spill},
	{"class", CREATE | RESIZE, take_class},
	{"sm", CREATE, take_sm},
	{"wait", CREATE, take_wait},
	{"overcommit", CREATE, take_overcommit},
	{"count", CREATE, take_count},
	{"same_device", CREATE, take_same_device},
	{"time", CREATE, take_time},
	{"keep", CREATE, take_keep},
	{"admit", CREATE, take_admit},
	{"user", CREATE, take_user},
};

static int take_field(enum verb verb, const char *name, const json_t *value,
	struct clv_lease_request *request, struct clv_error *err)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(fields); i++) {
		if (strcmp(fields[i].name, name) != 0)
			continue;
		if (!(fields[i].verbs & (int)verb))
			return clv_error_set(err, -EINVAL,
				"%s cannot be changed after the lease was made", name);
		return fields[i].take(request, value, err);
	}
	/* The name is the caller's: show only what is safe on one line. */
	for (const char *p = name; *p; p++) {
		if (!isprint((unsigned char)*p))
			return clv_error_set(err, -EINVAL, "the body has unknown fields");
	}
	return clv_error_set(err, -EINVAL,
		"unknown field \"%.40s\": known are name, device, devices, profile, in, "
		"isolation, command, share, share_range, cap, memory_bytes, spill_bytes, "
		"class, sm, wait, overcommit, count, same_device, time, keep, admit and "
		"user",
		name);
}

/* From here on a range is a share, of which there is one. */
static int settle_range(struct clv_lease_request *request, struct clv_error *err)
{
	if (!request->has_range)
		return 0;
	if (request->has_share)
		return clv_error_set(err, -EINVAL,
			"share and share_range say the same: leave one out");
	request->has_share = true;
	request->share.compute_ppm = request->share.range.least_ppm;
	return 0;
}

static int parse(enum verb verb, const char *data, size_t n_bytes,
	struct clv_lease_request *ret, struct clv_error *err)
{
	struct clv_lease_request request = {.share.class = CLV_CLASS_NORMAL};
	json_error_t problem;
	const char *name;
	json_t *root, *value;
	int r = 0;

	if (n_bytes > CLV_REQUEST_MAX_BYTES)
		return clv_error_set(err, -EMSGSIZE,
			"the body is over %u bytes: a request needs far less",
			CLV_REQUEST_MAX_BYTES);
	root = json_loadb(data, n_bytes, JSON_REJECT_DUPLICATES, &problem);
	if (!root)
		return clv_error_set(err, -EINVAL,
			"the body is not valid JSON (line %d, column %d)", problem.line,
			problem.column);
	if (!json_is_object(root))
		r = clv_error_set(err, -EINVAL, "the body must be a JSON object");
	json_object_foreach (root, name, value) {
		if (r >= 0)
			r = take_field(verb, name, value, &request, err);
	}
	json_decref(root);
	if (r >= 0)
		r = settle_range(&request, err);
	if (r < 0)
		return r;
	*ret = request;
	return 0;
}

/* Which ones says how many as well. */
static int settle_devices(struct clv_lease_request *request, struct clv_error *err)
{
	uint32_t n = 0;

	if (request->devices[0] == '\0')
		return 0;
	if (request->device[0] != '\0' || request->profile[0] != '\0' ||
		request->count != 0 || request->is_same_device)
		return clv_error_set(err, -EINVAL,
			"devices says which ones and how many: leave out device, "
			"profile, "
			"count and same_device");
	for (const char *p = request->devices + 1; *p != '\0'; p++)
		n += *p == ',';
	request->count = n;
	return 0;
}

/* Several devices are each given whole, for nothing grants parts of several at the same
 * time yet: two programs that wait for each other's parts would wait for ever. */
static int check_several(struct clv_lease_request *request, struct clv_error *err)
{
	if (request->is_same_device && request->count == 0)
		return clv_error_set(err, -EINVAL,
			"same_device is a word about several devices: give count");
	if (request->count <= 1)
		return 0;
	if ((request->has_share && request->share.compute_ppm != CLV_PPM) ||
		request->has_range || request->has_cap || request->has_memory ||
		request->has_spill || request->overcommit || request->sm_ppm)
		return clv_error_set(err, -EINVAL,
			"a lease on several devices has each of them whole: leave out "
			"share, cap, memory_bytes, spill_bytes, sm and overcommit, or "
			"ask for one device");
	if (request->in[0] != '\0' || request->is_isolated)
		return clv_error_set(err, -EINVAL,
			"count goes with device and profile, not with in or isolation");
	request->share.compute_ppm = CLV_PPM;
	request->has_share = true;
	return 0;
}

int clv_request_parse_lease(const char *data, size_t n_bytes,
	struct clv_lease_request *ret, struct clv_error *err)
{
	struct clv_lease_request request;
	int r = parse(CREATE, data, n_bytes, &request, err);

	if (r >= 0)
		r = settle_devices(&request, err);
	if (r >= 0)
		r = check_several(&request, err);
	if (r < 0)
		return r;
	if (request.in[0] != '\0' &&
		(request.has_share || request.has_cap || request.has_memory ||
			request.has_spill || request.has_class || request.device[0] ||
			request.profile[0]))
		return clv_error_set(err, -EINVAL,
			"in names a standing share, which has its own size, class and "
			"place: leave these out");
	if (request.is_isolated &&
		(!request.has_memory || request.has_share || request.sm_ppm))
		return clv_error_set(err, -EINVAL,
			"isolation by hardware takes memory_bytes, no share and no sm: "
			"the partition is all the lease's own");
	if (!request.keep && (request.admit != CLV_ADMIT_HOLDERS || request.has_user))
		return clv_error_set(err, -EINVAL,
			"a lease that whoever reaches its socket may use, or that is for "
			"another user, is held by no process: add \"keep\": true");
	*ret = request;
	return 0;
}

int clv_request_parse_resize(const char *data, size_t n_bytes,
	struct clv_lease_request *ret, struct clv_error *err)
{
	struct clv_lease_request request;
	int r = parse(RESIZE, data, n_bytes, &request, err);

	if (r < 0)
		return r;
	if (!request.has_share && !request.has_cap && !request.has_memory &&
		!request.has_spill && !request.has_class)
		return clv_error_set(err, -EINVAL,
			"nothing to change: give share, share_range, cap, memory_bytes, "
			"spill_bytes or class");
	*ret = request;
	return 0;
}

int clv_request_parse_number(const char *name, const char *text, uint64_t most,
	uint64_t *ret, struct clv_error *err)
{
	size_t length = strlen(text);
	bool is_number =
		length > 0 && length <= 18 && strspn(text, "0123456789") == length;
	uint64_t value = is_number ? strtoull(text, NULL, 10) : 0;

	if (!is_number || value > most)
		return clv_error_set(err, -EINVAL,
			"%s must be a whole number from 0 to %" PRIu64, name, most);
	*ret = value;
	return 0;
}

int clv_request_parse_holder(
	const char *data, size_t n_bytes, int *ret_pid, struct clv_error *err)
{
	json_t *root = json_loadb(data, n_bytes, JSON_REJECT_DUPLICATES, NULL);
	const json_t *value = json_object_get(root, "pid");
	json_int_t pid = json_integer_value(value);
	bool is_right = json_object_size(root) == 1 && json_is_integer(value) &&
			pid > 0 && pid <= INT32_MAX;

	json_decref(root);
	if (!is_right)
		return clv_error_set(err, -EINVAL,
			"the body must be {\"pid\": N}, the number of a process on the "
			"agent's machine");
	*ret_pid = (int)pid;
	return 0;
}
