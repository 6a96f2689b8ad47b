/* SPDX-License-Identifier: Apache-2.0 */
#include "../../gpu/machine.h"
#include "../../nvml/text.h"
#include <stdlib.h>
#include <string.h>

/* The GPUs of `amd`: lines of `gpu MODEL [bdf=] [uuid=] [units=] [memory-mib=]`. Names,
 * memory and unique ids are those of the sysfs double. */

/* clang-format off */
static const struct model {
	const char *word, *name, *arch;
	uint32_t chip, units, gb;
} models[] = {
	/* word        name                       architecture               chip    CUs GB */
	{ "MI210",     "AMD Instinct MI210",      "gfx90a:sramecc+:xnack-",  0x740f, 104,  64 },
	{ "MI250X",    "AMD Instinct MI250X",     "gfx90a:sramecc+:xnack-",  0x7408, 110,  64 },
	{ "MI300X",    "AMD Instinct MI300X",     "gfx942:sramecc+:xnack-",  0x74a1, 304, 192 },
	{ "RX7900XTX", "AMD Radeon RX 7900 XTX",  "gfx1100",                 0x744c,  96,  24 },
};
/* clang-format on */

static const struct model *find_model(const char *word)
{
	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (strcmp(models[i].word, word) == 0)
			return &models[i];
	return NULL;
}

static bool read_word(const char *word, struct dgp_gpu_info *ret)
{
	unsigned function;

	if (strncmp(word, "bdf=", 4) == 0)
		return sscanf(word + 4, "%x:%x:%x.%x", &ret->domain, &ret->bus,
			       &ret->device, &function) == 4;
	if (strncmp(word, "uuid=", 5) == 0)
		return snprintf(ret->uuid, sizeof(ret->uuid), "%s", word + 5) > 0;
	if (strncmp(word, "units=", 6) == 0)
		return (ret->units = (uint32_t)strtoul(word + 6, NULL, 0)) > 0;
	if (strncmp(word, "memory-mib=", 11) == 0)
		return (ret->memory_bytes = strtoull(word + 11, NULL, 0) << 20) > 0;
	return false;
}

static uint64_t unique_id(const struct dgp_gpu_info *info)
{
	return 0x9a3bULL << 48 | (uint64_t)info->domain << 32 | info->bus << 8 |
	       info->device << 3;
}

static bool read_gpu(
	const struct dnv_line *line, uint32_t index, struct dgp_gpu_info *ret)
{
	const struct model *model = line->n_words > 1 ? find_model(line->words[1]) : NULL;
	char *gfx;

	if (!model || strcmp(line->words[0], "gpu") != 0)
		return false;
	memset(ret, 0, sizeof(*ret));
	snprintf(ret->name, sizeof(ret->name), "%s", model->name);
	snprintf(ret->arch, sizeof(ret->arch), "%s", model->arch);
	ret->chip = model->chip;
	ret->units = model->units;
	/* The firmware reserves 16 MiB. */
	ret->memory_bytes = ((uint64_t)model->gb << 30) - (16 << 20);
	ret->bus = 5 + index * 16;
	ret->node = index;
	gfx = ret->arch + 3;
	ret->capability[0] = gfx[0] == '9' ? 9 : 11;
	for (int i = 2; i < line->n_words; i++)
		if (!read_word(line->words[i], ret))
			return false;
	if (!ret->uuid[0])
		snprintf(ret->uuid, sizeof(ret->uuid), "GPU-%016llx",
			(unsigned long long)unique_id(ret));
	return true;
}

static bool read_node(int dirfd, struct machine *m)
{
	char *text = dnv_text_read(dirfd, "amd"), *rest = text;
	struct dnv_line line = {0};

	while (text && dnv_text_next(&rest, &line)) {
		if (m->n_gpus == DGP_GPUS_MAX ||
			!read_gpu(&line, m->n_gpus, &m->gpus[m->n_gpus].info))
			dnv_text_die("amd", &line);
		m->n_gpus++;
	}
	free(text);
	return text != NULL;
}

/* In the format of the sysfs double's holders. */
static void tell(const struct process *process, const struct gpu *gpu, FILE *to)
{
	fprintf(to, "kfd %04x:%02x:%02x.0 %d %llu\n", gpu->info.domain, gpu->info.bus,
		gpu->info.device, process->pid,
		(unsigned long long)process->usage[gpu->index].bytes);
}

const struct dgp_vendor dgp_vendor = {
	.version = 1,
	.context_mib = 64,
	.read_node = read_node,
	.node_file = "amd",
	.tell_option = "tell-sysfs",
	.tell_file = "holders",
	.tell = tell,
};
