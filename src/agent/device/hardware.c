/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of questions to the worker, and the worker's lifetime.  One question is in
 * flight at a time; a worker that takes too long is killed. */
#include "agent/device/hardware.h"

#include "agent/device/devices.h"
#include "agent/driver/node-json.h"
#include "agent/driver/reading-json.h"
#include "agent/identity/names.h"
#include "agent/record/agent.h"
#include "agent/record/notify.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "core/device/closed.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#define SURVEY_WAIT_NS (5 * CLV_NS_PER_S)
#define ANSWER_MAX_BYTES (16u << 20)
#define READ_BYTES 65536u
#define IDLE_NS (60 * CLV_NS_PER_S)
/* libvirt takes a GPU from its driver within seconds, also several. */
#define CLOSED_NS (120 * CLV_NS_PER_S)
/* A first NVML handle takes up to 10 s on a node of eight. */
#define SURVEY_NS (60 * CLV_NS_PER_S)
#define STEP_NS (60 * CLV_NS_PER_S)
#define SAMPLE_NS (15 * CLV_NS_PER_S)
/* amd-smi waits 140 s for a reload. */
#define RELOAD_NS (200 * CLV_NS_PER_S)

static const char not_understood[] =
	"the process that calls the drivers sent an invalid answer";

extern char **environ;

enum kind {
	SURVEY,
	STEP,
	SAMPLE,
	LIMIT,
	N_KINDS,
};

static const struct {
	const char *name;
	const char *answer; /* the member of the answer that has the result */
} kinds[N_KINDS] = {
	[SURVEY] = {"survey", "node"},
	[STEP] = {"step", "device"},
	[SAMPLE] = {"sample", "readings"},
	[LIMIT] = {"limit", "limited"},
};

/* A question, with the callback of its caller. */
struct question {
	TAILQ_ENTRY(question) entry;
	enum kind kind;
	uint64_t survey; /* the number of the survey */
	struct clv_step step;
	char uuid[sizeof(((struct clv_device *)NULL)->uuid)];
	char cgroup[CLV_CGROUP_FOLDER_MAX];
	uint64_t bytes;
	clv_hardware_fn done;
	void *userdata;
};

/* A device that the drivers are not to open. */
struct closing {
	struct clv_hardware *hw;
	char address[16];
	uint64_t survey;         /* when this is answered, it is closed */
	sd_event_source *reopen; /* ends it; NULL: this place is free */
};

struct clv_hardware {
	struct clv_agent *agent;
	struct clv_node node;
	struct clv_readings readings;
	uint64_t asked, surveyed; /* numbers of surveys: requested, answered */
	bool is_renumbering;
	TAILQ_HEAD(question_list, question) questions; /* is_asking: the first is sent */
	bool is_asking;
	pid_t pid;    /* of the worker; 0: none */
	bool is_warm; /* it has answered: its drivers are loaded */
	int fd;       /* the worker's stdin and stdout */
	sd_event_source *child, *input, *timer, *soon;
	struct closing closings[CLV_CLOSED_MAX];
	struct clv_error not_closed; /* why the drivers could not close the last ones */
	char *answer;
	size_t n_bytes;
};

static void ask_next(struct clv_hardware *hw);

/* The worker. */

static void end_worker(struct clv_hardware *hw)
{
	hw->input = sd_event_source_disable_unref(hw->input);
	if (hw->pid > 0) {
		kill(-hw->pid, SIGKILL);
		/* A worker that hangs in a driver's kernel code ends late: the loop reaps
		 * it then. */
		sd_event_source_set_userdata(hw->child, NULL);
		sd_event_source_set_floating(hw->child, true);
		hw->child = sd_event_source_unref(hw->child);
	}
	hw->child = sd_event_source_disable_unref(hw->child);
	clv_close_fd(&hw->fd);
	hw->fd = -1;
	hw->pid = 0;
	hw->is_warm = false;
	hw->n_bytes = 0;
}

static int spawn_worker(struct clv_hardware *hw, int fd)
{
	char *arguments[] = {(char[]){"cleaved"}, (char[]){"--drivers"}, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int r;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(
		&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	r = posix_spawn(
		&hw->pid, "/proc/self/exe", &actions, &attributes, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (r != 0)
		hw->pid = 0;
	return -r;
}

static void finish(struct clv_hardware *hw, const json_t *answer);

static void fail(struct clv_hardware *hw, int code, const char *what)
{
	json_t *answer =
		json_pack("{s:{s:i,s:s}}", "error", "code", code, "message", what);

	end_worker(hw);
	finish(hw, answer);
	json_decref(answer);
}

static int on_exit_of_worker(
	sd_event_source *source, const siginfo_t *info, void *userdata)
{
	struct clv_hardware *hw = userdata;

	/* end_worker() has ended it already; this event source only reaps it. */
	if (!hw)
		return sd_event_source_set_floating(source, false);
	/* The children of the worker, such as modprobe, are killed with it. */
	kill(-hw->pid, SIGKILL);
	hw->pid = 0;
	if (hw->is_asking)
		fail(hw, -EIO,
			"the process that calls the drivers crashed: see the kernel's "
			"log for the driver that caused it");
	else
		end_worker(hw);
	return 0;
}

static int on_timeout(sd_event_source *source, uint64_t now_us, void *userdata)
{
	struct clv_hardware *hw = userdata;

	if (hw->is_asking)
		fail(hw, -ETIMEDOUT,
			"a driver does not answer: see the kernel's log; the requested "
			"change may still happen");
	else
		end_worker(hw);
	return 0;
}

/* Reads what has arrived of the answer.  False: the worker is unusable. */
static bool read_more(struct clv_hardware *hw)
{
	char *answer = realloc(hw->answer, hw->n_bytes + READ_BYTES);
	ssize_t got;

	if (!answer || hw->n_bytes > ANSWER_MAX_BYTES)
		return false;
	hw->answer = answer;
	got = read(hw->fd, answer + hw->n_bytes, READ_BYTES);
	if (got > 0)
		hw->n_bytes += (size_t)got;
	return got > 0 || (got < 0 && errno == EAGAIN);
}

/* Whether this is an error, or has the member that answers the question. */
static bool is_answer(const struct clv_hardware *hw, const json_t *answer)
{
	const json_t *error = json_object_get(answer, "error");
	const struct question *question = TAILQ_FIRST(&hw->questions);

	if (error)
		return json_integer_value(json_object_get(error, "code")) < 0 &&
		       json_is_string(json_object_get(error, "message"));
	return json_object_get(answer, kinds[question->kind].answer) != NULL;
}

static int on_input(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	struct clv_hardware *hw = userdata;
	json_t *answer;

	if (!read_more(hw)) {
		/* The worker's exit, or the timeout, reports the failure. */
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
		return 0;
	}
	if (hw->n_bytes == 0 || hw->answer[hw->n_bytes - 1] != '\n')
		return 0;
	answer = json_loadb(hw->answer, hw->n_bytes, 0, NULL);
	hw->n_bytes = 0;
	if (!hw->is_asking)
		end_worker(hw); /* unsolicited: the next line would be no answer either */
	else if (is_answer(hw, answer))
		finish(hw, answer);
	else
		fail(hw, -EIO, not_understood);
	json_decref(answer);
	return 0;
}

static int start_worker(struct clv_hardware *hw)
{
	int fds[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	r = spawn_worker(hw, fds[1]);
	close(fds[1]);
	hw->fd = fds[0];
	fcntl(hw->fd, F_SETFL, O_NONBLOCK);
	if (r >= 0)
		r = sd_event_add_io(
			hw->agent->event, &hw->input, hw->fd, EPOLLIN, on_input, hw);
	if (r >= 0)
		r = sd_event_add_child(hw->agent->event, &hw->child, hw->pid, WEXITED,
			on_exit_of_worker, hw);
	return r;
}

/* Questions and answers. */

static void set_timer(struct clv_hardware *hw, uint64_t after_ns)
{
	hw->timer = sd_event_source_disable_unref(hw->timer);
	sd_event_add_time_relative(hw->agent->event, &hw->timer, CLOCK_MONOTONIC,
		after_ns / CLV_NS_PER_US, 0, on_timeout, hw);
}

static json_t *closed_to_json(const struct clv_hardware *hw)
{
	json_t *addresses = json_array();

	for (size_t i = 0; i < CLV_CLOSED_MAX; i++) {
		const struct closing *closing = &hw->closings[i];

		if (closing->reopen)
			json_array_append_new(addresses, json_string(closing->address));
	}
	return addresses;
}

static json_t *question_to_json(struct clv_hardware *hw, const struct question *question)
{
	json_t *json = json_pack("{s:s,s:o}", "do", kinds[question->kind].name, "names",
		clv_names_to_json(hw->agent->names));

	json_object_set_new(json, "uuid", json_string(question->uuid));
	json_object_set_new(json, "closed", closed_to_json(hw));
	if (question->kind == STEP)
		json_object_set_new(json, "step", clv_step_to_json(&question->step));
	if (question->kind == LIMIT) {
		json_object_set_new(json, "cgroup", json_string(question->cgroup));
		json_object_set_new(json, "bytes",
			question->bytes == UINT64_MAX
				? json_null()
				: json_integer((json_int_t)question->bytes));
	}
	return json;
}

static int write_all(int fd, const char *text, size_t n_bytes)
{
	while (n_bytes > 0) {
		ssize_t n = send(fd, text, n_bytes, MSG_NOSIGNAL);

		if (n < 0)
			return -errno;
		text += n;
		n_bytes -= (size_t)n;
	}
	return 0;
}

/* Does not block: a question has a few kilobytes, and the worker is waiting for it. */
static int send_question(struct clv_hardware *hw, const struct question *question)
{
	json_t *json = question_to_json(hw, question);
	_cleanup_free_ char *text = json_dumps(json, JSON_COMPACT);
	int r = text ? write_all(hw->fd, text, strlen(text)) : -ENOMEM;

	json_decref(json);
	return r < 0 ? r : write_all(hw->fd, "\n", 1);
}

static uint64_t time_allowed(
	const struct clv_hardware *hw, const struct question *question)
{
	if (question->kind == SAMPLE && hw->is_warm)
		return SAMPLE_NS;
	if (question->kind == SURVEY || question->kind == SAMPLE)
		return SURVEY_NS;
	return question->kind == STEP && question->step.kind == CLV_STEP_RELOAD
		       ? RELOAD_NS
		       : STEP_NS;
}

static void ask_next(struct clv_hardware *hw)
{
	struct question *question = TAILQ_FIRST(&hw->questions);
	int r = 0;

	if (hw->is_asking)
		return;
	if (!question) {
		set_timer(hw, IDLE_NS);
		return;
	}
	hw->is_asking = true;
	if (hw->pid == 0)
		r = start_worker(hw);
	if (r >= 0)
		r = send_question(hw, question);
	set_timer(hw, time_allowed(hw, question));
	if (r < 0)
		fail(hw, r, "the process that calls the drivers cannot be started");
}

static int on_soon(sd_event_source *source, void *userdata)
{
	ask_next(userdata);
	return 0;
}

static void append(struct clv_hardware *hw, const struct question *wanted)
{
	struct question *question = malloc(sizeof(*question));

	if (!question) {
		clv_log_error(0, "out of memory: a driver is not asked");
		return;
	}
	*question = *wanted;
	TAILQ_INSERT_TAIL(&hw->questions, question, entry);
	sd_event_source_set_enabled(hw->soon, SD_EVENT_ONESHOT);
}

/* The error of an answer, or one with code 0. */
static struct clv_error error_of(const json_t *answer)
{
	const json_t *error = json_object_get(answer, "error");
	const char *message = json_string_value(json_object_get(error, "message"));
	struct clv_error err = {0};

	if (error)
		clv_error_set(&err,
			(int)json_integer_value(json_object_get(error, "code")), "%s",
			message ? message : "a driver failed");
	return err;
}

/* The worker knows only the names that were given when it was asked. */
static void name_devices(struct clv_names *names, struct clv_node *node)
{
	for (size_t i = 0; i < node->n_devices; i++) {
		struct clv_device *info = &node->devices[i].info;
		const char *name = clv_names_give(names, info->uuid, "");

		snprintf(info->name, sizeof(info->name), "%s", name ? name : info->uuid);
		clv_node_name_partitions(&node->devices[i]);
	}
}

static void take_node(
	struct clv_hardware *hw, const json_t *answer, struct clv_error *err)
{
	struct clv_node node = {0};

	if (err->code == 0)
		clv_node_from_json(json_object_get(answer, "node"), &node, err);
	if (err->code != 0)
		clv_node_add_problem(&node, err->msg);
	name_devices(hw->agent->names, &node);
	for (size_t i = 0; i < node.n_problems; i++) {
		if (!clv_node_has_problem(&hw->node, node.problems[i]))
			clv_log_warning(0, "%s", node.problems[i]);
	}
	clv_node_clear(&hw->node);
	hw->node = node;
}

/* A step whose device cannot be parsed has failed, even if it reports success. */
static void take_device(struct clv_hardware *hw, const struct question *question,
	const json_t *answer, struct clv_error *err)
{
	struct clv_node_device *device = clv_node_find(&hw->node, question->uuid);
	const json_t *json = json_object_get(answer, "device");
	struct clv_node_device read = {0};
	struct clv_error why = {0};

	if (!device || !json)
		return;
	if (clv_node_device_from_json(json, &read, &why) < 0) {
		if (err->code == 0)
			clv_error_set(err, -EIO, "%s: %s", not_understood, why.msg);
		return;
	}
	clv_node_device_clear(device);
	*device = read;
}

static void take_readings(
	struct clv_hardware *hw, const json_t *answer, struct clv_error *err)
{
	clv_readings_clear(&hw->readings);
	if (err->code == 0)
		clv_readings_from_json(
			json_object_get(answer, "readings"), &hw->readings, err);
}

static bool has_steps(const struct clv_hardware *hw)
{
	const struct question *question;

	TAILQ_FOREACH(question, &hw->questions, entry)
	{
		if (question->kind == STEP)
			return true;
	}
	return false;
}

/* A step returns one device, but the devices after it may have new numbers: they are
 * surveyed again. */
static void update_renumbering(struct clv_hardware *hw, enum kind done)
{
	bool was_renumbering = hw->is_renumbering;

	hw->is_renumbering =
		(done == STEP || has_steps(hw)) && clv_node_is_numbered(&hw->node);
	if (hw->is_renumbering && done == STEP)
		clv_hardware_survey(hw);
	if (was_renumbering && !hw->is_renumbering)
		clv_notify(hw->agent->notify, CLV_NOTICE_RENUMBERED);
}

/* The drivers cannot open the other devices without those that are closed: what is not
 * closed yet stays open.  True: the survey of the answer lacks the others. */
static bool drop_refused(struct clv_hardware *hw, const json_t *answer)
{
	const char *why = json_string_value(json_object_get(answer, "not_closed"));
	bool is_dropped = false;

	for (size_t i = 0; i < CLV_CLOSED_MAX && why; i++) {
		struct closing *closing = &hw->closings[i];

		if (!closing->reopen || closing->survey <= hw->surveyed)
			continue;
		closing->reopen = sd_event_source_disable_unref(closing->reopen);
		is_dropped = true;
	}
	if (is_dropped) {
		clv_error_set(&hw->not_closed, -ENOTSUP, "%s", why);
		clv_hardware_survey(hw);
	}
	return is_dropped;
}

static void take(struct clv_hardware *hw, const struct question *question,
	const json_t *answer, struct clv_error *err)
{
	if (question->kind == LIMIT)
		return;
	if (question->kind == SAMPLE) {
		take_readings(hw, answer, err);
		return;
	}
	if (question->kind == SURVEY) {
		if (!drop_refused(hw, answer))
			take_node(hw, answer, err);
		hw->surveyed = question->survey;
	} else {
		take_device(hw, question, answer, err);
	}
	clv_notify(hw->agent->notify, CLV_NOTICE_NODE_READ);
	update_renumbering(hw, question->kind);
	clv_notify(hw->agent->notify, CLV_NOTICE_SURVEYED);
	clv_notify_changed(hw->agent->notify, CLV_TOPIC_HARDWARE | CLV_TOPIC_DEVICES);
}

static void finish(struct clv_hardware *hw, const json_t *answer)
{
	struct question *question = TAILQ_FIRST(&hw->questions);
	struct clv_error err = error_of(answer);

	hw->is_asking = false;
	hw->is_warm = hw->pid > 0;
	if (!question)
		return;
	TAILQ_REMOVE(&hw->questions, question, entry);
	take(hw, question, answer, &err);
	if (question->done)
		question->done(question->userdata, &err);
	free(question);
	sd_event_source_set_enabled(hw->soon, SD_EVENT_ONESHOT);
}

uint64_t clv_hardware_survey(struct clv_hardware *hw)
{
	struct question *last = TAILQ_LAST(&hw->questions, question_list);

	/* A survey that has not been sent yet serves this caller too. */
	if (last && last->kind == SURVEY &&
		(last != TAILQ_FIRST(&hw->questions) || !hw->is_asking))
		return last->survey;
	append(hw, &(struct question){.kind = SURVEY, .survey = ++hw->asked});
	return hw->asked;
}

/* Devices that are closed. */

static struct closing *find_closing(
	const struct clv_hardware *hw, const char *pci_address)
{
	for (size_t i = 0; i < CLV_CLOSED_MAX; i++) {
		const struct closing *closing = &hw->closings[i];

		if (closing->reopen && strcmp(closing->address, pci_address) == 0)
			return (struct closing *)closing;
	}
	return NULL;
}

static struct closing *find_free(struct clv_hardware *hw)
{
	for (size_t i = 0; i < CLV_CLOSED_MAX; i++) {
		if (!hw->closings[i].reopen)
			return &hw->closings[i];
	}
	return NULL;
}

static void reopen(struct closing *closing)
{
	closing->reopen = sd_event_source_disable_unref(closing->reopen);
	clv_hardware_survey(closing->hw);
}

/* The device is there again, unless another driver has taken it. */
static int on_reopen(sd_event_source *source, uint64_t now_us, void *userdata)
{
	reopen(userdata);
	return 0;
}

int clv_hardware_close(struct clv_hardware *hw, const char *pci_address,
	uint64_t *ret_survey, struct clv_error *err)
{
	struct closing *before = find_closing(hw, pci_address);
	struct closing *closing = before ? before : find_free(hw);
	sd_event_source *timer = NULL;
	int r = closing ? sd_event_add_time_relative(hw->agent->event, &timer,
				  CLOCK_MONOTONIC, CLOSED_NS / CLV_NS_PER_US, 0,
				  on_reopen, closing)
			: -ENOSPC;

	if (r < 0)
		return clv_error_errno(err, -r, "cannot close %s", pci_address);
	sd_event_source_disable_unref(closing->reopen);
	hw->not_closed = (struct clv_error){0};
	*ret_survey = clv_hardware_survey(hw);
	if (!before)
		*closing = (struct closing){.hw = hw, .survey = *ret_survey};
	snprintf(closing->address, sizeof(closing->address), "%s", pci_address);
	closing->reopen = timer;
	return 0;
}

void clv_hardware_reopen(struct clv_hardware *hw, const char *pci_address)
{
	struct closing *closing = find_closing(hw, pci_address);

	if (closing)
		reopen(closing);
}

bool clv_hardware_is_closed(const struct clv_hardware *hw, const char *pci_address)
{
	return find_closing(hw, pci_address) != NULL;
}

bool clv_hardware_is_closed_device(
	const struct clv_agent *agent, const struct clv_agent_device *device)
{
	const struct clv_agent_device *whole = device->parent ? device->parent : device;
	const struct clv_hardware *hw = agent->hardware;
	const struct closing *closing =
		hw ? find_closing(hw, whole->info.pci_address) : NULL;

	return closing && (closing->survey > hw->surveyed ||
				  !clv_node_find(&hw->node, closing->address));
}

const char *clv_hardware_why_open(const struct clv_hardware *hw, const char *pci_address)
{
	if (clv_hardware_is_closed(hw, pci_address))
		return NULL;
	return hw->not_closed.code ? hw->not_closed.msg : "its lease has ended meanwhile";
}

void clv_hardware_flush(struct clv_hardware *hw)
{
	ask_next(hw);
}

uint64_t clv_hardware_last_survey(const struct clv_hardware *hw)
{
	return hw->surveyed;
}

struct clv_node *clv_hardware_node(struct clv_hardware *hw)
{
	return &hw->node;
}

void clv_hardware_survey_for(
	struct clv_hardware *hw, clv_hardware_fn done, void *userdata)
{
	append(hw, &(struct question){.kind = SURVEY,
			   .survey = ++hw->asked,
			   .done = done,
			   .userdata = userdata});
}

bool clv_hardware_sample(struct clv_hardware *hw, clv_hardware_fn done, void *userdata)
{
	if (!TAILQ_EMPTY(&hw->questions))
		return false;
	append(hw,
		&(struct question){.kind = SAMPLE, .done = done, .userdata = userdata});
	return true;
}

const struct clv_readings *clv_hardware_readings(const struct clv_hardware *hw)
{
	return &hw->readings;
}

void clv_hardware_step(struct clv_hardware *hw, const char *uuid,
	const struct clv_step *step, clv_hardware_fn done, void *userdata)
{
	struct question question = {
		.kind = STEP, .step = *step, .done = done, .userdata = userdata};

	snprintf(question.uuid, sizeof(question.uuid), "%s", uuid);
	question.step.affected = NULL;
	append(hw, &question);
	hw->is_renumbering = hw->is_renumbering || clv_node_is_numbered(&hw->node);
}

bool clv_hardware_is_renumbering(const struct clv_hardware *hw)
{
	return hw->is_renumbering;
}

void clv_hardware_limit(struct clv_hardware *hw, const char *uuid, const char *cgroup,
	uint64_t bytes, clv_hardware_fn done, void *userdata)
{
	struct question question = {
		.kind = LIMIT, .bytes = bytes, .done = done, .userdata = userdata};

	snprintf(question.uuid, sizeof(question.uuid), "%s", uuid);
	snprintf(question.cgroup, sizeof(question.cgroup), "%s", cgroup);
	append(hw, &question);
}

void clv_hardware_cancel(struct clv_hardware *hw, const void *userdata)
{
	struct question *question;

	TAILQ_FOREACH(question, &hw->questions, entry)
	{
		if (question->userdata == userdata)
			question->done = NULL;
	}
}

int clv_hardware_new(
	struct clv_agent *agent, struct clv_hardware **ret, struct clv_error *err)
{
	struct clv_hardware *hw = calloc(1, sizeof(*hw));
	int r;

	if (!hw)
		return clv_error_errno(
			err, ENOMEM, "cannot prepare the queries of drivers");
	hw->agent = agent;
	hw->fd = -1;
	/* Leases are stored with numbers of an earlier agent, which may have changed. */
	hw->is_renumbering = true;
	TAILQ_INIT(&hw->questions);
	r = sd_event_add_defer(agent->event, &hw->soon, on_soon, hw);
	if (r < 0) {
		free(hw);
		return clv_error_errno(err, -r, "cannot prepare the queries of drivers");
	}
	sd_event_source_set_enabled(hw->soon, SD_EVENT_OFF);
	*ret = hw;
	return 0;
}

struct clv_hardware *clv_hardware_free(struct clv_hardware *hw)
{
	struct question *question;

	if (!hw)
		return NULL;
	end_worker(hw);
	sd_event_source_disable_unref(hw->timer);
	for (size_t i = 0; i < CLV_CLOSED_MAX; i++)
		sd_event_source_disable_unref(hw->closings[i].reopen);
	sd_event_source_disable_unref(hw->soon);
	while ((question = TAILQ_FIRST(&hw->questions))) {
		TAILQ_REMOVE(&hw->questions, question, entry);
		free(question);
	}
	clv_node_clear(&hw->node);
	clv_readings_clear(&hw->readings);
	free(hw->answer);
	free(hw);
	return NULL;
}

bool clv_hardware_is_renumbering_device(
	const struct clv_agent *agent, const struct clv_agent_device *device)
{
	return device->info.visible[0] != '\0' &&
	       clv_hardware_is_renumbering(agent->hardware);
}

/* The first survey is awaited at the start, but not for long. */
static bool is_survey_pending(const struct clv_agent *agent)
{
	return clv_hardware_last_survey(agent->hardware) < agent->first_survey &&
	       clv_clock_real_ns() - agent->started_real_ns < SURVEY_WAIT_NS;
}

bool clv_hardware_awaits_devices(const struct clv_agent *agent)
{
	return clv_devices_is_pending(agent->devices) || is_survey_pending(agent);
}
