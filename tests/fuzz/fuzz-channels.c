/* SPDX-License-Identifier: Apache-2.0 */
/* What a tenant says of its channel groups, in any order and any number, and what a
 * driver answers: here none does, for the file is no GPU's.  Nothing is lost, and no
 * file. */
#include "fuzz.h"

#include "rm/abi.h"
#include "rm/channels.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	CLV_MUST(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Few handles, so that they meet. */
static struct clv_rm_object take_object(struct clv_fuzz_input *input)
{
	static const uint32_t classes[] = {0, CLV_RM_CLASS_GROUP, CLV_RM_CLASS_SUBDEVICE,
		0xc86f, 0xc96f, 0x6f, UINT32_MAX};
	uint8_t what = (uint8_t)clv_fuzz_take(input, 1);

	return (struct clv_rm_object){
		.client = (uint32_t)clv_fuzz_take(input, 1) % 20,
		.parent = (uint32_t)clv_fuzz_take(input, 1) % 32,
		.handle = (uint32_t)clv_fuzz_take(input, 1) % 32,
		.class = classes[what % (sizeof(classes) / sizeof(classes[0]))],
	};
}

static void read_call(const uint8_t *data, size_t n_bytes)
{
	uint8_t argument[64] = {0};
	struct clv_rm_object object;

	memcpy(argument, data, n_bytes < sizeof(argument) ? n_bytes : sizeof(argument));
	/* A pointer in it is the program's own business; this one follows none. */
	if (clv_rm_object_read(_IOWR('F', CLV_RM_ALLOC, struct clv_rm_alloc_rights),
		    argument, &object))
		CLV_MUST(object.class != 0);
	if (clv_rm_object_read(
		    _IOWR('F', CLV_RM_FREE, struct clv_rm_free), argument, &object))
		CLV_MUST(object.class == 0);
	CLV_MUST(!clv_rm_object_read(
		_IOWR('F', CLV_RM_ALLOC, struct clv_rm_free), argument, &object));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	struct clv_fuzz_input input = {data, n_bytes};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), before = count_open();
	struct clv_rm_channels *channels = clv_rm_channels_new(true);
	const struct clv_rm_object *at;
	size_t n = 0;
	int fd;

	CLV_MUST(null >= 0 && channels);
	read_call(data, n_bytes);
	while (input.n_left > 0) {
		struct clv_rm_object object = take_object(&input);
		int r = clv_rm_channels_note(channels, null, &object);

		CLV_MUST(r == 0 || r == -E2BIG);
	}
	for (; (at = clv_rm_channels_at(channels, n, &fd)); n++)
		CLV_MUST(at->class != 0 && fcntl(fd, F_GETFD) >= 0);
	clv_rm_channels_switch(channels, CLV_RM_BY_CHANNELS, false);
	clv_rm_channels_switch(channels, CLV_RM_BY_GROUPS, true);
	clv_rm_channels_free(channels);
	CLV_MUST(count_open() == before);
	close(null);
	return 0;
}
