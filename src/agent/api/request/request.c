/* SPDX-License-Identifier: Apache-2.0 */
/* Parses request bodies, strictly: an unknown field, a wrong type or a number out of
 * range is an error with one line of text.  Whether a request fits a device is not
 * checked here. */
#include "agent/api/request/request.h"

#include "agent/api/request/request-lease.h"
#include "agent/http/http.h"
#include "agent/record/field.h"
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* Makes a range a share, after checking that only one of the two is given. */
static int settle_range(struct clv_lease_request *request, struct clv_error *err)
{
	if (!request->has_range)
		return 0;
	if (request->has_share)
		return clv_error_set(err, -EINVAL,
			"share and share_range exclude each other: leave one out");
	request->has_share = true;
	request->share.compute_ppm = request->share.range.least_ppm;
	return 0;
}

static int load(const char *data, size_t n_bytes, json_t **ret, struct clv_error *err)
{
	json_error_t problem;

	if (n_bytes > CLV_REQUEST_MAX_BYTES)
		return clv_error_set(err, -EMSGSIZE,
			"the body is over %u bytes: a request needs far less",
			CLV_REQUEST_MAX_BYTES);
	*ret = json_loadb(
		data, n_bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
	if (*ret)
		return 0;
	clv_text_make_printable(problem.text);
	return clv_error_set(err, -EINVAL,
		"the body is not valid JSON (line %d, column %d): %.120s", problem.line,
		problem.column, problem.text);
}

static int take_all(unsigned int by, const json_t *root, struct clv_lease_request *ret,
	struct clv_error *err)
{
	const char *name;
	json_t *value;
	int r = 0;

	*ret = (struct clv_lease_request){.share.class = CLV_CLASS_NORMAL};
	if (!json_is_object(root))
		return clv_error_set(err, -EINVAL, "the body must be a JSON object");
	json_object_foreach ((json_t *)root, name, value) {
		if (r >= 0)
			r = clv_request_take_lease(by, name, value, ret, err);
	}
	return r < 0 ? r : settle_range(ret, err);
}

/* A list of devices also sets their count. */
static int settle_devices(struct clv_lease_request *request, struct clv_error *err)
{
	uint32_t n = 0;

	if (request->devices[0] == '\0')
		return 0;
	if (request->device[0] != '\0' || request->profile[0] != '\0' ||
		request->count != 0 || request->is_same_device)
		return clv_error_set(err, -EINVAL,
			"devices lists the devices and sets their count: leave out "
			"device, profile, count and same_device");
	for (const char *p = request->devices + 1; *p != '\0'; p++)
		n += *p == ',';
	request->count = n;
	return 0;
}

/* A lease on several devices gets each of them whole.  Turns are granted per device: two
 * programs that each hold a part of one device and wait for a part of the other would
 * wait forever. */
static int check_several(struct clv_lease_request *request, struct clv_error *err)
{
	if (request->is_same_device && request->count == 0)
		return clv_error_set(
			err, -EINVAL, "same_device needs several devices: give count");
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

/* A virtual machine has a partition or device to itself: no program of the node shares
 * it, and no time ends it. */
static int check_machine(struct clv_lease_request *request, struct clv_error *err)
{
	const struct clv_share_request *share = &request->share;

	if (request->vm[0] == '\0')
		return 0;
	if (!request->keep || request->admit != CLV_ADMIT_HOLDERS)
		return clv_error_set(err, -EINVAL,
			"a lease of a virtual machine admits no program, and stays until "
			"it is released: add \"keep\": true and leave out admit");
	if ((request->has_share && share->compute_ppm != CLV_PPM) || request->has_range ||
		request->has_cap || request->has_memory || request->has_spill ||
		request->has_class || request->in[0] != '\0' || request->is_isolated ||
		request->count > 1 || request->overcommit || request->sm_ppm ||
		request->time_s || request->wait)
		return clv_error_set(err, -EINVAL,
			"a virtual machine has a whole partition or device: give only "
			"device or profile, name and command with holder");
	request->share.compute_ppm = CLV_PPM;
	request->has_share = true;
	return 0;
}

int clv_request_read_lease(
	const struct json_t *value, struct clv_lease_request *ret, struct clv_error *err)
{
	struct clv_lease_request request;
	int r = take_all(CLV_FIELD_CREATE, value, &request, err);

	if (r >= 0)
		r = settle_devices(&request, err);
	if (r >= 0)
		r = check_several(&request, err);
	if (r >= 0)
		r = check_machine(&request, err);
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
			"isolation by hardware needs memory_bytes and excludes share and "
			"sm: the lease has all of the partition");
	if (!request.keep && (request.admit != CLV_ADMIT_HOLDERS || request.has_user))
		return clv_error_set(err, -EINVAL,
			"a lease that admits by its socket, or that is for another user, "
			"has no holder: add \"keep\": true");
	*ret = request;
	return 0;
}

int clv_request_parse_lease(const char *data, size_t n_bytes,
	struct clv_lease_request *ret, struct clv_error *err)
{
	json_t *root = NULL;
	int r = load(data, n_bytes, &root, err);

	if (r >= 0)
		r = clv_request_read_lease(root, ret, err);
	json_decref(root);
	return r;
}

int clv_request_parse_resize(const char *data, size_t n_bytes,
	struct clv_lease_request *ret, struct clv_error *err)
{
	struct clv_lease_request request;
	json_t *root = NULL;
	int r = load(data, n_bytes, &root, err);

	if (r >= 0)
		r = take_all(CLV_FIELD_CHANGE, root, &request, err);
	json_decref(root);
	if (r < 0)
		return r;
	if (!request.has_share && !request.has_cap && !request.has_memory &&
		!request.has_spill && !request.has_class)
		return clv_request_fail_empty(err);
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

/* An empty page would look like the end of the list. */
int clv_request_parse_limit(
	const char *text, uint64_t most, uint64_t *ret, struct clv_error *err)
{
	uint64_t limit;

	if (clv_request_parse_number("limit", text, most, &limit, err) < 0 || limit == 0)
		return clv_error_set(err, -EINVAL,
			"limit must be a whole number from 1 to %" PRIu64, most);
	*ret = limit;
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
