/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"
#include "files.h"
#include "text.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* Changes of a node from outside of NVML, such as a reset or a reboot. */

static const char *folder; /* of the node */

static int reboot(const struct dnv_node *node, struct dnv_state *state, unsigned gpu)
{
	dnv_event_reboot(node, state);
	return 0;
}

static int reset(const struct dnv_node *node, struct dnv_state *state, unsigned gpu)
{
	if (node->gpus[gpu].reset == DNV_RESET_IMPOSSIBLE) {
		fprintf(stderr, "GPU %u cannot be reset\n", gpu);
		return 1;
	}
	dnv_event_reset(node, state, gpu);
	return 0;
}

static int lose(const struct dnv_node *node, struct dnv_state *state, unsigned gpu)
{
	state->gpus[gpu].lost = true;
	return 0;
}

static int find(const struct dnv_node *node, struct dnv_state *state, unsigned gpu)
{
	state->gpus[gpu].lost = false;
	return 0;
}

/* The driver itself would wait in the kernel until it is not open any more. */
static int unbind(const struct dnv_node *node, struct dnv_state *state, unsigned gpu)
{
	int pid = dnv_file_opener(folder, state->gpus[gpu].minor);

	if (pid) {
		fprintf(stderr, "GPU %u is open in process %d\n", gpu, pid);
		return 1;
	}
	state->gpus[gpu].unbound = true;
	return 0;
}

static int bind(const struct dnv_node *node, struct dnv_state *state, unsigned gpu)
{
	state->gpus[gpu].unbound = false;
	return 0;
}

static void show_instances(
	unsigned gpu, const struct dnv_model *model, const struct dnv_gi *gi)
{
	const struct dnv_gi_profile *profile = &model->profiles[gi->profile];

	printf("gi %u %u %u %u:%u\n", gpu, gi->id, profile->id, gi->start,
		profile->span.size);
	for (unsigned i = 0; i < DNV_CIS_MAX; i++) {
		const struct dnv_ci *ci = &gi->cis[i];
		const struct dnv_ci_profile *it = &dnv_ci_profiles[ci->profile];

		if (ci->serial)
			printf("ci %u %u %u %u %u:%u\n", gpu, gi->id, ci->id, it->number,
				ci->start, it->span.size);
	}
}

static int show(const struct dnv_node *node, struct dnv_state *state, unsigned gpu)
{
	for (unsigned i = 0; i < node->n_gpus; i++) {
		const struct dnv_gpu_state *it = &state->gpus[i];

		printf("gpu %u %s mig=%d pending=%d lost=%d minor=%u\n", i,
			node->gpus[i].model->type, it->mig, it->mig_pending, it->lost,
			it->minor);
		for (unsigned k = 0; k < DNV_GIS_MAX; k++)
			if (it->gis[k].serial)
				show_instances(i, node->gpus[i].model, &it->gis[k]);
	}
	return 0;
}

static const struct verb {
	const char *name;
	bool takes_gpu;
	int (*run)(const struct dnv_node *node, struct dnv_state *state, unsigned gpu);
	const char *help;
} verbs[] = {
	{"reboot", false, reboot, "instances go, and on most GPUs the MIG mode"},
	{"reset", true, reset, "of one GPU: instances go, the pending mode comes"},
	{"lose", true, lose, "the GPU falls off the bus"},
	{"find", true, find, "and is back"},
	{"unbind", true, unbind, "another driver takes the GPU, unless it is open"},
	{"bind", true, bind, "and gives it back"},
	{"show", false, show, "GPUs and instances: ids, profiles, places"},
};

static int usage(void)
{
	fputs("usage: double-nvml FOLDER VERB [GPU]\n", stderr);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(stderr, "  %-7s %-4s %s\n", verbs[i].name,
			verbs[i].takes_gpu ? "GPU" : "", verbs[i].help);
	return 64;
}

static int run(const struct verb *verb, int dirfd, const char *gpu_word)
{
	struct dnv_node node;
	struct dnv_shared *shared;
	uint64_t gpu = 0;
	int r;

	if (!dnv_node_read(dirfd, &node)) {
		fputs("double-nvml: there is no file 'node' in the folder\n", stderr);
		return 1;
	}
	if (verb->takes_gpu &&
		(!dnv_text_number(gpu_word, UINT64_MAX, 99, &gpu) || gpu >= node.n_gpus))
		return usage();
	shared = dnv_shared_open(dirfd, &node);
	dnv_shared_lock(shared);
	r = verb->run(&node, dnv_shared_edit(shared), (unsigned)gpu);
	if (r == 0)
		dnv_shared_commit(shared);
	dnv_shared_unlock(shared);
	dnv_shared_close(shared);
	return r;
}

int main(int argc, char **argv)
{
	int dirfd = argc > 1 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;

	if (dirfd < 0 || argc < 3)
		return usage();
	folder = argv[1];
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].name, argv[2]) == 0)
			return run(&verbs[i], dirfd, argc > 3 ? argv[3] : NULL);
	return usage();
}
