/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of cleaved, parsed by one table. */
#include "agent/config/options.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/units.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ON_DEMAND_IDLE_S 60u

static int set_folder(
	const char *name, const char *value, char *ret, struct clv_error *err)
{
	char current[CLV_FOLDER_MAX] = "";
	int length;

	if (value[0] != '/' && !getcwd(current, sizeof(current)))
		return clv_error_errno(err, errno, "--%s", name);
	length = value[0] == '/' ? snprintf(ret, CLV_FOLDER_MAX, "%s", value)
				 : snprintf(ret, CLV_FOLDER_MAX, "%s/%s", current, value);
	if (value[0] == '\0' || length >= CLV_FOLDER_MAX)
		return clv_error_set(err, -EINVAL, "--%s must be a path of 1 to %d bytes",
			name, CLV_FOLDER_MAX - 1);
	return 0;
}

static int set_runtime(
	struct clv_agent_config *config, const char *value, struct clv_error *err)
{
	return set_folder("runtime-dir", value, config->runtime, err);
}

static int set_state(
	struct clv_agent_config *config, const char *value, struct clv_error *err)
{
	return set_folder("state-dir", value, config->state, err);
}

static int set_locks(
	struct clv_agent_config *config, const char *value, struct clv_error *err)
{
	return set_folder("lock-dir", value, config->locks, err);
}

static int set_sim(
	struct clv_agent_config *config, const char *value, struct clv_error *err)
{
	return set_folder("sim", value, config->sim, err);
}

static int set_settings(
	struct clv_agent_config *config, const char *value, struct clv_error *err)
{
	return set_folder("config", value, config->settings, err);
}

static int set_restore(
	struct clv_agent_config *config, const char *value, struct clv_error *err)
{
	return set_folder("restore", value, config->restore, err);
}

static int set_idle_exit(
	struct clv_agent_config *config, const char *value, struct clv_error *err)
{
	uint64_t idle_ns;
	int r;

	if (!value) {
		config->idle_exit_s = ON_DEMAND_IDLE_S;
		return 0;
	}
	r = clv_units_parse_duration(value, &idle_ns, err);
	if (r < 0)
		return r;
	if (idle_ns < 1000000000 || idle_ns / 1000000000 > 365u * 86400)
		return clv_error_set(
			err, -ERANGE, "--idle-exit must be from 1 s to 365 days");
	config->idle_exit_s = (uint32_t)(idle_ns / 1000000000);
	return 0;
}

static int set_ready_fd(
	struct clv_agent_config *config, const char *value, struct clv_error *err)
{
	char *end;
	long fd = strtol(value, &end, 10);

	if (*value == '\0' || *end != '\0' || fd < 3 || fd > 1 << 20)
		return clv_error_set(err, -EINVAL,
			"--ready-fd must be the number of an open file descriptor");
	config->ready_fd = (int)fd;
	return 0;
}

static int set_system(
	struct clv_agent_config *config, const char *value, struct clv_error *err)
{
	config->is_system = true;
	return 0;
}

static int set_foreground(
	struct clv_agent_config *config, const char *value, struct clv_error *err)
{
	config->is_foreground = true;
	return 0;
}

static int set_allow_overcommit(
	struct clv_agent_config *config, const char *value, struct clv_error *err)
{
	config->allow_overcommit = true;
	return 0;
}

static const struct {
	const char *name;
	const char *argument; /* NULL: takes none */
	bool is_optional;     /* the argument is optional */
	enum clv_options_mode mode;
	int (*set)(struct clv_agent_config *config, const char *value,
		struct clv_error *err);
	const char *help; /* NULL: only the agent itself uses the option */
} options[] = {
	/* clang-format off */
	{"system", NULL, false, CLV_OPTIONS_RUN, set_system,
		"serve all users of the machine (needs root); default: only you"},
	{"foreground", NULL, false, CLV_OPTIONS_RUN, set_foreground,
		"stay in the foreground, messages to stderr"},
	{"runtime-dir", "DIR", false, CLV_OPTIONS_RUN, set_runtime,
		"folder of the sockets ($XDG_RUNTIME_DIR/cleave, or /run/cleave)"},
	{"state-dir", "DIR", false, CLV_OPTIONS_RUN, set_state,
		"folder of the state ($XDG_STATE_HOME/cleave, or /var/lib/cleave)"},
	{"lock-dir", "DIR", false, CLV_OPTIONS_RUN, set_locks,
		"folder of the locks of devices (/run/lock, or /run/cleave/locks)"},
	{"sim", "FILE", false, CLV_OPTIONS_RUN, set_sim,
		"simulate the node that FILE describes"},
	{"config", "FILE", false, CLV_OPTIONS_RUN, set_settings,
		"settings (/etc/cleave/cleaved.yaml, ~/.config/cleave/cleaved.yaml)"},
	{"restore", "FILE", false, CLV_OPTIONS_RUN, set_restore,
		"replace the state by the backup in FILE, and exit"},
	{"idle-exit", "TIME", true, CLV_OPTIONS_RUN, set_idle_exit,
		"exit after TIME (60s) without a lease or request"},
	{"allow-overcommit", NULL, false, CLV_OPTIONS_RUN, set_allow_overcommit,
		"with --system: let users overcommit devices"},
	{"ready-fd", "N", false, CLV_OPTIONS_RUN, set_ready_fd,
		"write a byte to file descriptor N when the sockets listen"},
	{"check", NULL, false, CLV_OPTIONS_CHECK, NULL,
		"report all mistakes in the settings, and exit"},
	{"help", NULL, false, CLV_OPTIONS_HELP, NULL, "print this"},
	{"version", NULL, false, CLV_OPTIONS_VERSION, NULL, "print the version"},
	{"probe", NULL, false, CLV_OPTIONS_PROBE, NULL, NULL},
	{"drivers", NULL, false, CLV_OPTIONS_DRIVERS, NULL, NULL},
	/* clang-format on */
};

#define N_OPTIONS CLV_ARRAY_SIZE(options)

void clv_options_print_help(void)
{
	printf("Usage: cleaved [OPTION]...\n"
	       "The agent that divides the devices of this machine.\n\n");
	for (size_t i = 0; i < N_OPTIONS; i++) {
		char left[64];

		if (!options[i].help)
			continue;
		snprintf(left, sizeof(left), "--%s%s%s%s%s", options[i].name,
			options[i].is_optional ? "[" : "", options[i].argument ? "=" : "",
			options[i].argument ? options[i].argument : "",
			options[i].is_optional ? "]" : "");
		printf("  %-22s %s\n", left, options[i].help);
	}
}

int clv_options_parse(int argc, char **argv, struct clv_agent_config *ret,
	enum clv_options_mode *ret_mode, struct clv_error *err)
{
	struct clv_agent_config config = {.ready_fd = -1};
	enum clv_options_mode mode = CLV_OPTIONS_RUN;
	struct option table[N_OPTIONS + 1] = {0};
	int which, r;

	for (size_t i = 0; i < N_OPTIONS; i++) {
		int takes =
			options[i].is_optional ? optional_argument : required_argument;

		table[i] = (struct option){
			.name = options[i].name,
			.has_arg = options[i].argument ? takes : no_argument,
			.val = (int)i + 1000,
		};
	}
	opterr = 0;
	optind = 1;
	while ((which = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (which < 1000)
			return clv_error_set(err, -EINVAL,
				"%s is not an option or lacks its argument: see cleaved "
				"--help",
				argv[optind - 1]);
		if (options[which - 1000].mode != CLV_OPTIONS_RUN)
			mode = options[which - 1000].mode;
		else if ((r = options[which - 1000].set(&config, optarg, err)) < 0)
			return r;
	}
	if (optind < argc)
		return clv_error_set(err, -EINVAL,
			"%s: cleaved takes options only: see cleaved --help",
			argv[optind]);
	*ret = config;
	*ret_mode = mode;
	return 0;
}
