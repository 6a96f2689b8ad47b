/* SPDX-License-Identifier: Apache-2.0 */
/* How the device plugin's files name GPUs and MIG partitions. */
#include "import/device-plugin.h"

#include <stdio.h>
#include <string.h>

/* "GPU-b1028956-cfa2-0990-bf4a-5da9abb51763" */
static bool is_uuid(const char *text, const char *prefix)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	size_t n = strlen(prefix);

	if (strncmp(text, prefix, n) != 0 || strlen(text + n) != strlen(form))
		return false;
	for (size_t i = 0; form[i]; i++) {
		bool is_digit = strspn(text + n + i, "0123456789abcdefABCDEF") > 0;

		if (form[i] == 'x' ? !is_digit : text[n + i] != '-')
			return false;
	}
	return true;
}

static bool take_number(const char **text, uint32_t *ret)
{
	const char *p = *text;
	uint32_t number = 0;

	for (; *p >= '0' && *p <= '9' && number <= CLV_IMPORT_NUMBER_MAX; p++)
		number = number * 10 + (uint32_t)(*p - '0');
	if (p == *text || number > CLV_IMPORT_NUMBER_MAX)
		return false;
	*text = p;
	*ret = number;
	return true;
}

/* Whether the text is two numbers with the character between them. */
static bool is_pair(const char *text, char between, uint32_t *ret_first)
{
	uint32_t second;

	if (!take_number(&text, ret_first) || *text != between)
		return false;
	text++;
	return take_number(&text, &second) && *text == '\0';
}

/* "MIG-GPU-b1028956-.../3/0": the GPU, its GPU instance and the compute instance. */
static bool has_parent(const char *text, char ret_parent[CLV_PLUGIN_UUID_MAX])
{
	static const char prefix[] = "MIG-";
	uint32_t instance;

	if (strncmp(text, prefix, strlen(prefix)) != 0)
		return false;
	text += strlen(prefix);
	if (strcspn(text, "/") != CLV_PLUGIN_UUID_MAX - 1)
		return false;
	snprintf(ret_parent, CLV_PLUGIN_UUID_MAX, "%s", text);
	text += CLV_PLUGIN_UUID_MAX - 1;
	return is_uuid(ret_parent, "GPU-") && *text == '/' &&
	       is_pair(text + 1, '/', &instance);
}

enum clv_plugin_reference clv_plugin_read_reference(
	const char *text, uint32_t *ret_index, char ret_parent[CLV_PLUGIN_UUID_MAX])
{
	const char *end = text;

	if (is_uuid(text, "GPU-"))
		return CLV_PLUGIN_GPU_UUID;
	if (is_uuid(text, "MIG-"))
		return CLV_PLUGIN_MIG_UUID;
	if (has_parent(text, ret_parent))
		return CLV_PLUGIN_MIG_PARENT;
	if (is_pair(text, ':', ret_index))
		return CLV_PLUGIN_MIG_INDEX;
	if (take_number(&end, ret_index) && *end == '\0')
		return CLV_PLUGIN_GPU_INDEX;
	return _CLV_PLUGIN_REFERENCE_INVALID;
}
