/* SPDX-License-Identifier: Apache-2.0 */
/* Lets a test speak to one backend: a command a line, an answer in JSON a line.
 *
 *   survey                         the node as it is now
 *   read ADDRESS                   one device of the last survey, read again
 *   compute ADDRESS MODE           set_compute_mode
 *   memory ADDRESS MODE            set_memory_mode
 *   reload ADDRESS                 reload_driver
 *   count ADDRESS N                set_vf_count
 *   quota ADDRESS NUMBER KEY=VALUE;...   set_vf_quota
 *   file PATH                      the text of a file of sysfs
 *   hold PATH                      has another process open a device file
 *   release                        ends that process
 *   quit
 *
 * usage: backend-tool amd|sriov */
#include "backend/backend.h"
#include "backend/files.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "core/device/node.h"
#include "show.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct clv_backend_ops *const backends[] = {
	&clv_backend_amd, &clv_backend_sriov};

struct session {
	struct clv_backend *backend;
	struct clv_node node;
	pid_t holder;
};

static int do_survey(struct session *session, struct clv_error *err)
{
	int r;

	clv_node_clear(&session->node);
	r = session->backend->ops->survey(session->backend, &session->node, err);
	if (r == 0)
		show_node(&session->node);
	return r;
}

static int do_read(
	struct session *session, struct clv_node_device *device, struct clv_error *err)
{
	int r = session->backend->ops->read(session->backend, device, err);

	if (r == 0)
		show_device(device);
	return r;
}

static int parse_pair(struct clv_vf_quota *quota, char *pair)
{
	char *value = strchr(pair, '=');

	if (!value)
		return -EINVAL;
	*value++ = '\0';
	if (strcmp(pair, "memory") == 0)
		quota->memory_bytes = strtoull(value, NULL, 10);
	else if (strcmp(pair, "quantum") == 0)
		quota->exec_quantum_ms = (uint32_t)strtoul(value, NULL, 10);
	else if (strcmp(pair, "preempt") == 0)
		quota->preempt_timeout_us = (uint32_t)strtoul(value, NULL, 10);
	else if (strcmp(pair, "contexts") == 0)
		quota->contexts = (uint32_t)strtoul(value, NULL, 10);
	else if (strcmp(pair, "doorbells") == 0)
		quota->doorbells = (uint32_t)strtoul(value, NULL, 10);
	else if (strcmp(pair, "priority") == 0)
		snprintf(quota->priority, sizeof(quota->priority), "%s", value);
	else if (strcmp(pair, "type") == 0)
		snprintf(quota->type, sizeof(quota->type), "%s", value);
	else if (strcmp(pair, "driver") == 0)
		snprintf(quota->driver, sizeof(quota->driver), "%s", value);
	else
		return -EINVAL;
	return 0;
}

static int do_quota(struct session *session, const struct clv_node_device *device,
	char *arguments, struct clv_error *err)
{
	struct clv_vf_quota quota = {0};
	uint32_t number = (uint32_t)strtoul(arguments, &arguments, 10);
	char *rest = NULL;

	while (*arguments == ' ')
		arguments++;
	for (char *pair = strtok_r(arguments, ";", &rest); pair;
		pair = strtok_r(NULL, ";", &rest)) {
		if (parse_pair(&quota, pair) < 0)
			return clv_error_set(err, -EINVAL, "no quota '%s'", pair);
	}
	return session->backend->ops->set_vf_quota(
		session->backend, device, number, &quota, err);
}

static int do_file(const char *path, struct clv_error *err)
{
	char value[256];
	int r = clv_file_read(value, sizeof(value), "%s", path);

	if (r < 0)
		return clv_error_errno(err, -r, "%s", path);
	show_text("text", value);
	return 0;
}

static void release(struct session *session)
{
	if (session->holder <= 0)
		return;
	kill(session->holder, SIGKILL);
	waitpid(session->holder, NULL, 0);
	session->holder = 0;
}

static int do_hold(struct session *session, const char *path, struct clv_error *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return clv_error_errno(err, errno, "%s", path);
	release(session);
	session->holder = fork();
	if (session->holder == 0) {
		pause();
		_exit(0);
	}
	close(fd);
	show_number("pid", session->holder);
	return 0;
}

static int do_command(struct session *session, const char *verb, const char *address,
	char *rest, struct clv_error *err)
{
	const struct clv_backend_ops *ops = session->backend->ops;
	struct clv_node_device *device;

	if (strcmp(verb, "survey") == 0)
		return do_survey(session, err);
	if (strcmp(verb, "file") == 0)
		return do_file(address, err);
	if (strcmp(verb, "hold") == 0)
		return do_hold(session, address, err);
	if (strcmp(verb, "release") == 0) {
		release(session);
		return 0;
	}
	device = clv_node_find(&session->node, address);
	if (!device)
		return clv_error_set(err, -EINVAL, "no device '%s'", address);
	if (strcmp(verb, "read") == 0)
		return do_read(session, device, err);
	if (strcmp(verb, "compute") == 0 && ops->set_compute_mode)
		return ops->set_compute_mode(session->backend, device,
			clv_compute_mode_from_string(rest), err);
	if (strcmp(verb, "memory") == 0 && ops->set_memory_mode)
		return ops->set_memory_mode(
			session->backend, device, clv_memory_mode_from_string(rest), err);
	if (strcmp(verb, "reload") == 0 && ops->reload_driver)
		return ops->reload_driver(session->backend, device, err);
	if (strcmp(verb, "count") == 0 && ops->set_vf_count)
		return ops->set_vf_count(
			session->backend, device, (uint32_t)strtoul(rest, NULL, 10), err);
	if (strcmp(verb, "quota") == 0 && ops->set_vf_quota)
		return do_quota(session, device, rest, err);
	return clv_error_set(err, -EINVAL, "no command '%s'", verb);
}

static void answer(struct session *session, char *line)
{
	struct clv_error err = {0};
	char verb[16] = "", address[160] = "";
	int used = 0, r;

	line[strcspn(line, "\n")] = '\0';
	sscanf(line, "%15s %159s %n", verb, address, &used);
	r = do_command(session, verb, address, line + used, &err);
	if (r < 0)
		show_error(r, err.code == r ? err.msg : "code and result differ");
	show_end();
}

int main(int argc, char *argv[])
{
	struct session session = {0};
	struct clv_error err = {0};
	char line[1024];
	int r = -EINVAL;

	for (size_t i = 0; argc == 2 && i < CLV_ARRAY_SIZE(backends); i++) {
		if (strcmp(backends[i]->name, argv[1]) == 0)
			r = backends[i]->probe(&session.backend, &err);
	}
	if (r < 0) {
		show_error(r, err.msg);
		show_end();
		return 1;
	}
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "quit\n") != 0)
		answer(&session, line);
	release(&session);
	clv_node_clear(&session.node);
	session.backend->ops->free(session.backend);
	return 0;
}
