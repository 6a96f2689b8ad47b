/* SPDX-License-Identifier: Apache-2.0 */
/* How services find each other: a network for each project, and the names of its services
 * in the /etc/hosts of its containers.  Debian's podman has no name server by default
 * (CNI), and one that a network may have needs a port which others use. */
#include "bridge/services/engine/engine.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "bridge/services/engine/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOSTS_MAX_BYTES (1u << 20)

/* --- The network --- */

/* Returns whether the project has it, or a negative errno. */
static int has_network(const char *project, struct clv_error *err)
{
	char label[CLV_SERVICE_NAME_MAX + 64];
	char *const argv[] = {(char *)"podman", (char *)"network", (char *)"ls",
		(char *)"--quiet", label, NULL};
	_cleanup_free_ char *output = NULL;
	int r;

	snprintf(label, sizeof(label), "--filter=label=" CLV_ENGINE_LABEL "project=%s",
		project);
	r = clv_job_call(argv, &output, err);
	return r < 0 ? r : output[0] != '\0';
}

int clv_engine_make_network(const char *project, struct clv_error *err)
{
	int r = has_network(project, err);
	clv_argv argv;

	if (r != 0)
		return r < 0 ? r : 0;
	argv = clv_engine_create_network(project);
	r = argv ? clv_job_call(argv, NULL, err)
		 : clv_error_errno(err, ENOMEM, "cannot make a network");
	clv_engine_free(argv);
	return r;
}

int clv_engine_remove_network(const char *project, struct clv_error *err)
{
	char name[CLV_ENGINE_NAME_MAX];
	char *const argv[] = {
		(char *)"podman", (char *)"network", (char *)"rm", name, NULL};
	int r = has_network(project, err);

	if (r <= 0)
		return r;
	snprintf(name, sizeof(name), CLV_ENGINE_NETWORK "%s", project);
	return clv_job_call(argv, NULL, err);
}

/* --- Names --- */

/* A line "ADDRESS NAME" with the name of a service.  What the engine itself writes of a
 * container or of the machine has more names, or others. */
static bool is_of_service(const char *line,
	bool (*is_service)(void *userdata, const char *name), void *userdata)
{
	char address[64], name[CLV_SERVICE_NAME_MAX], more[2];

	return sscanf(line, "%63s %47s %1s", address, name, more) == 2 &&
	       address[0] != '#' && is_service(userdata, name);
}

/* In place: the container has mounted this very file.  By one call, and never shorter, so
 * that a program which reads it meanwhile finds no half of a line. */
static int overwrite(const char *path, char *text, size_t n_bytes, struct clv_error *err)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t written = fd < 0 ? -1 : pwrite(fd, text, n_bytes, 0);

	if (written == (ssize_t)n_bytes)
		return 0;
	return clv_error_errno(err, written < 0 ? errno : EIO, "cannot write %s", path);
}

int clv_engine_write_names(const char *hosts, const char *names,
	bool (*is_service)(void *userdata, const char *name), void *userdata,
	struct clv_error *err)
{
	_cleanup_free_ char *before = NULL, *text = NULL;
	size_t n_before, n_bytes = 0;
	int r = clv_file_read_all(hosts, HOSTS_MAX_BYTES, &before, &n_before, err);
	FILE *to = r < 0 ? NULL : open_memstream(&text, &n_bytes);
	char *rest = before, *line;

	if (r < 0)
		return r;
	while (to && (line = strsep(&rest, "\n"))) {
		if (*line && !is_of_service(line, is_service, userdata))
			fprintf(to, "%s\n", line);
	}
	if (to)
		fputs(names, to);
	for (long at = to ? ftell(to) : 0; to && at < (long)n_before; at++)
		fputc('\n', to);
	if (!to || fclose(to) != 0)
		return clv_error_errno(err, ENOMEM, "cannot write %s", hosts);
	return overwrite(hosts, text, n_bytes, err);
}
