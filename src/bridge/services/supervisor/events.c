/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions, for people: the last ones in memory, all in a file of bounded size, and a
 * line of the log for each. */
#include "bridge/services/supervisor/supervisor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX_BYTES (1 << 20)

static void append(const struct clv_supervisor *supervisor, const json_t *object)
{
	_cleanup_free_ char *text = json_dumps(object, JSON_COMPACT);
	char path[CLV_PATH_MAX], older[CLV_PATH_MAX];
	struct stat st;
	int fd;

	clv_project_path(&supervisor->project, "events.jsonl", path);
	clv_project_path(&supervisor->project, "events.jsonl.1", older);
	if (stat(path, &st) == 0 && st.st_size > FILE_MAX_BYTES)
		rename(path, older);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (text)
		dprintf(fd, "%s\n", text);
	close(fd);
}

void clv_supervisor_say(struct clv_supervisor *supervisor, const struct clv_unit *unit,
	const char *what, const char *format, ...)
{
	struct clv_event *event;
	char time[32], why[512];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	clv_text_make_printable(why); /* a character may be cut */
	clv_clock_format_rfc3339(clv_clock_real_ns(), time);
	event = &supervisor->events[supervisor->n_events++ % CLV_EVENTS_KEPT];
	json_decref(event->object);
	event->id = supervisor->n_events;
	event->object = json_pack("{s:I, s:s, s:s, s:s, s:s}", "id",
		(json_int_t)event->id, "time", time, "service",
		unit ? unit->service->name : "", "what", what, "why", why);
	append(supervisor, event->object);
	clv_log_info("%s%s%s: %s", unit ? unit->service->name : "", unit ? ": " : "",
		what, why);
}

json_t *clv_supervisor_events(const struct clv_supervisor *supervisor, uint64_t after)
{
	uint64_t n = supervisor->n_events;
	uint64_t first = n > CLV_EVENTS_KEPT ? n - CLV_EVENTS_KEPT : 0;
	json_t *list = json_array();

	for (uint64_t i = first > after ? first : after; i < n; i++)
		json_array_append(list, supervisor->events[i % CLV_EVENTS_KEPT].object);
	return list;
}

void clv_supervisor_forget_events(struct clv_supervisor *supervisor)
{
	for (size_t i = 0; i < CLV_EVENTS_KEPT; i++)
		json_decref(supervisor->events[i].object);
}
