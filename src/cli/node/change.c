/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that all commands that change the node share: connect, confirm and report. */
#include "cli/node/change.h"

#include "cli/frame/cli.h"
#include "cli/frame/output.h"
#include "cli/frame/signals.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

int clv_change_begin(
	const struct clv_common *common, bool is_confirmed, struct clv_change *ret)
{
	struct clv_client_options options = clv_cli_options(common, true);
	struct clv_client_error err;

	*ret = (struct clv_change){.common = common, .is_confirmed = is_confirmed};
	ret->signal_fd = clv_signals_watch(NULL);
	if (ret->signal_fd < 0)
		return clv_cli_fail(CLV_EXIT_FAILED, "cannot watch signals: %s",
			strerror(-ret->signal_fd));

	options.interrupt_fd = ret->signal_fd;
	if (clv_client_new(&options, &ret->client, &err) < 0)
		return clv_change_fail(ret, &err);
	return clv_cli_check_sim(common, ret->client);
}

void clv_change_end(struct clv_change *change)
{
	change->client = clv_client_free(change->client);
	if (change->signal_fd >= 0)
		close(change->signal_fd);
}

int clv_change_fail(const struct clv_change *change, const struct clv_client_error *err)
{
	if (err->error == -EINTR)
		return CLV_EXIT_SIGNAL + clv_signals_read(change->signal_fd);
	return clv_cli_fail_client(err);
}

int clv_change_fail_start(
	const struct clv_change *change, const struct clv_client_error *err)
{
	if (err->error != -EINTR)
		return clv_cli_fail_client(err);
	return clv_cli_fail(CLV_EXIT_SIGNAL + clv_signals_read(change->signal_fd),
		"interrupted while the change was requested: cleave events shows whether "
		"the agent carries it out");
}

/* Whether a user sees the plan on a terminal and can answer. */
static bool can_ask(const struct clv_common *common)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
	       !clv_output_is_data(common->output);
}

/* Waits for input.  Returns 0, or the exit code of a signal that came first. */
static int wait_for_answer(int signal_fd)
{
	struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = signal_fd, .events = POLLIN}};

	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	if (!fds[1].revents)
		return 0;
	putchar('\n');
	return CLV_EXIT_SIGNAL + clv_signals_read(signal_fd);
}

static int ask(const struct clv_change *change, const char *question)
{
	char answer[16] = "";
	int r;

	printf("%s [y/N] ", question);
	fflush(stdout);
	r = wait_for_answer(change->signal_fd);
	if (r)
		return r;
	if (fgets(answer, sizeof(answer), stdin)) {
		answer[strcspn(answer, "\n")] = '\0';
		if (strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0)
			return 0;
	}
	return clv_cli_fail(CLV_EXIT_FALSE, "nothing was changed");
}

int clv_change_confirm(
	const struct clv_change *change, const char *question, const char *loss)
{
	if (change->is_confirmed)
		return 0;
	if (can_ask(change->common))
		return ask(change, question);
	if (!loss)
		return 0;
	return clv_cli_fail(CLV_EXIT_USAGE,
		"nothing was changed: %s, and there is no terminal to confirm it on: add "
		"--yes",
		loss);
}

int clv_change_report(
	const struct clv_change *change, const json_t *operation, int exit_code)
{
	const char *format = change->common->output;
	size_t n = json_array_size(json_object_get(operation, "steps"));

	if (clv_output_is_data(format)) {
		if (clv_output_value(format, operation) < 0)
			return clv_cli_fail(
				CLV_EXIT_FAILED, "cannot write the operation: %m");
	} else if (exit_code == CLV_EXIT_OK && n > 0) {
		clv_output_line(stdout, "done: %s (%zu step%s)",
			clv_json_text(operation, "what"), n, n == 1 ? "" : "s");
	}
	return exit_code;
}
