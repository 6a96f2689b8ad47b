/* SPDX-License-Identifier: Apache-2.0 */
/* The asking side of control.sock. */
#include "bridge/services/project/control.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/socket.h"
#include "bridge/services/project/project.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define TIMEOUT_MS 60000

static int refuse(const json_t *answer, struct clv_error *err)
{
	const char *error = json_string_value(json_object_get(answer, "error"));

	return error ? clv_error_set(err, -EINVAL, "%.500s", error) : 0;
}

int clv_control_ask(const struct clv_project *project, json_t *request, json_t **ret,
	struct clv_error *err)
{
	_cleanup_free_ char *text = json_dumps(request, JSON_COMPACT);
	char path[CLV_PATH_MAX];
	_cleanup_close_ int fd = -1;
	json_t *answer;
	int r;

	json_decref(request);
	clv_project_path(project, "control.sock", path);
	fd = clv_socket_connect(path, SOCK_STREAM, TIMEOUT_MS, err);
	if (fd < 0)
		return fd == -ENOENT ? -ECONNREFUSED : fd;
	/* It may have been killed since. */
	if (!text || send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		return clv_error_errno(err, errno, "cannot ask the supervisor");
	answer = json_loadfd(fd, JSON_DISABLE_EOF_CHECK, NULL);
	if (!answer)
		return clv_error_set(err, -EIO, "the supervisor does not answer");
	r = refuse(answer, err);
	if (r >= 0 && ret)
		*ret = json_incref(answer);
	json_decref(answer);
	return r;
}

const char *clv_control_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

const json_t *clv_control_service(const json_t *status, const char *name)
{
	json_t *service;
	size_t i;

	json_array_foreach (json_object_get(status, "services"), i, service) {
		if (strcmp(clv_control_text(service, "name"), name) == 0)
			return service;
	}
	return NULL;
}
