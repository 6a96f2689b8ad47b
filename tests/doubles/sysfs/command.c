/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "driver.h"
#include "nvidia.h"
#include "perform.h"
#include "world.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct call {
	char *const *words; /* without the name and the options */
	size_t n;
	bool is_removal, is_on;
	struct sy_text *said;
	const char *subject;
};

/* --- Effects --- */

static int remove_effect(struct sy_act *act)
{
	return sy_module_remove(((struct call *)act->data)->subject);
}

static int insert_effect(struct sy_act *act)
{
	return sy_module_insert(((struct call *)act->data)->subject);
}

static int sriov_effect(struct sy_act *act)
{
	struct call *call = act->data;
	struct sy_function *f = sy_function_find(call->subject);

	return f ? sy_vgpu_sriov(f, call->is_on) : -ENODEV;
}

static int mixed_effect(struct sy_act *act)
{
	struct call *call = act->data;
	struct sy_function *f = sy_function_find(call->subject);

	return f ? sy_vgpu_set_mixed(f, call->is_on) : -ENODEV;
}

static int reboot_effect(struct sy_act *act)
{
	sy_world_reboot();
	return 0;
}

/* One step, which the journal names and a fault can make fail. */
static int step(struct call *call, const char *name, const char *way,
	int (*effect)(struct sy_act *))
{
	char path[256];
	struct sy_act act = {
		.operation = "command",
		.path = path,
		.value = "",
		.effect = effect,
		.data = call,
	};

	sy_print(path, sizeof(path), "%s%s%s%s%s", name, *way ? "/" : "", way,
		call->subject ? "/" : "", call->subject ? call->subject : "");
	return sy_perform(&act);
}

/* --- The tools --- */

static int remove_modules(struct call *call)
{
	for (size_t i = 0; i < call->n; i++) {
		int r;

		call->subject = call->words[i];
		r = step(call, "modprobe", "-r", remove_effect);
		if (r == -EBUSY)
			sy_add(call->said, "modprobe: FATAL: Module %s is in use.\n",
				call->subject);
		else if (r == -ENOENT)
			sy_add(call->said, "modprobe: FATAL: Module %s not found.\n",
				call->subject);
		else if (r < 0)
			sy_add(call->said, "modprobe: ERROR: could not remove '%s': %s\n",
				call->subject, strerror(-r));
		if (r < 0)
			return 1;
	}
	return 0;
}

/* modprobe takes one module and its parameters, which have no effect here. */
static int run_modprobe(struct call *call)
{
	int r;

	if (!call->n)
		return 1;
	if (call->is_removal)
		return remove_modules(call);
	call->subject = call->words[0];
	r = step(call, "modprobe", "", insert_effect);
	if (r == -ENOENT)
		sy_add(call->said, "modprobe: FATAL: Module %s not found in directory.\n",
			call->subject);
	else if (r < 0)
		sy_add(call->said, "modprobe: ERROR: could not insert '%s': %s\n",
			call->subject, strerror(-r));
	return r < 0;
}

static int manage_one(struct call *call)
{
	int r = step(call, "sriov-manage", call->is_on ? "-e" : "-d", sriov_effect);

	if (r == -EBUSY)
		sy_add(call->said, "Cannot obtain unbindLock for %s\n", call->subject);
	else if (r < 0)
		sy_add(call->said, "%s: %s\n", call->subject, strerror(-r));
	return r < 0;
}

static int run_sriov_manage(struct call *call)
{
	int status = 0;

	if (call->n != 1)
		return 1;
	if (strcmp(call->words[0], "ALL") != 0) {
		call->subject = call->words[0];
		return manage_one(call);
	}
	for (size_t i = 0; i < sy_world.n_functions; i++) {
		struct sy_function *f = &sy_world.functions[i];

		call->subject = f->bdf;
		if (f->family == &sy_family_nvidia && f->totalvfs)
			status = manage_one(call) || status;
	}
	return status;
}

/* vgpu-mixed BDF 0|1, for "nvidia-smi vgpu -shm 1 -i BDF". */
static int run_vgpu_mixed(struct call *call)
{
	int r;

	if (call->n != 2)
		return 1;
	call->subject = call->words[0];
	call->is_on = strcmp(call->words[1], "1") == 0;
	r = step(call, "vgpu-mixed", call->words[1], mixed_effect);
	if (r < 0)
		sy_add(call->said, "%s\n",
			r == -EBUSY ? "In use by another client" : strerror(-r));
	return r == -EBUSY ? 19 : r < 0 ? 6 : 0;
}

static int run_reboot(struct call *call)
{
	return step(call, "reboot", "", reboot_effect) < 0;
}

static const struct command {
	const char *name;
	int (*run)(struct call *call);
	bool always_removes;
} commands[] = {
	{"modprobe", run_modprobe, false},
	{"rmmod", run_modprobe, true},
	{"sriov-manage", run_sriov_manage, false},
	{"vgpu-mixed", run_vgpu_mixed, false},
	{"reboot", run_reboot, false},
};

/* -r may be combined with other letters, as in -rv. */
static bool is_removal(const char *option)
{
	return strcmp(option, "--remove") == 0 ||
	       (option[1] != '-' && strchr(option, 'r'));
}

int sy_command(char *const *words, size_t n, struct sy_text *ret)
{
	for (size_t i = 0; n && i < SY_COUNT(commands); i++) {
		struct call call = {
			.said = ret, .is_removal = commands[i].always_removes};

		if (strcmp(commands[i].name, words[0]) != 0)
			continue;
		for (call.words = words + 1, call.n = n - 1; call.n;
			call.words++, call.n--) {
			const char *word = call.words[0];

			if (word[0] != '-')
				break;
			call.is_removal = call.is_removal || is_removal(word);
			call.is_on = call.is_on || strcmp(word, "-e") == 0;
		}
		return commands[i].run(&call);
	}
	sy_add(ret, "%s: no such command\n", n ? words[0] : "");
	return 127;
}

static void write_program(const char *control, const char *name)
{
	char path[512], self[512];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	FILE *file;

	if (length < 0)
		sy_die("/proc/self/exe: %s", strerror(errno));
	self[length] = '\0';
	sy_print(path, sizeof(path), "%s/bin/%s", control, name);
	file = fopen(path, "we");
	if (!file)
		sy_die("%s: %s", path, strerror(errno));
	fprintf(file, "#!/bin/sh\nexec '%s' --ask '%s' %s \"$@\"\n", self, control, name);
	if (fclose(file) || chmod(path, 0755) < 0)
		sy_die("%s: %s", path, strerror(errno));
}

void sy_commands_write(const char *control)
{
	char path[512];

	sy_print(path, sizeof(path), "%s/bin", control);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		sy_die("%s: %s", path, strerror(errno));
	for (size_t i = 0; i < SY_COUNT(commands); i++)
		write_program(control, commands[i].name);
}
