/* SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* Memory that processes share. As with a real driver it lives as long as any of these:
 * its handle and mappings in the process that created it, an import in another one, an
 * exported file. While its owner lives it is counted there, later only in the GPU. */

struct share {
	char text[DGP_SHARE_BYTES];
	struct process *owner; /* NULL: freed it, or has ended */
	uint32_t gpu, n_imports;
	uint64_t bytes, kept_bytes; /* kept_bytes: counted without an owner */
	bool is_open;
	struct process **imports; /* one for each time */
};

static struct share *shares;
static uint64_t n_shares;
static int files = -1;

static struct share *share_of(uint64_t number)
{
	return number < n_shares ? &shares[number] : NULL;
}

uint64_t dgp_share_new(
	struct process *owner, uint32_t gpu, uint64_t bytes, const char *text)
{
	struct share *share;

	shares = realloc(shares, (n_shares + 1) * sizeof(*shares));
	share = &shares[n_shares];
	*share = (struct share){.owner = owner, .gpu = gpu, .bytes = bytes};
	memcpy(share->text, text, sizeof(share->text));
	owner->has_shared = true;
	return n_shares++;
}

const char *dgp_share_text(uint64_t number)
{
	const struct share *share = share_of(number);

	return share ? share->text : NULL;
}

bool dgp_share_watch(uint64_t number, int fd)
{
	struct epoll_event event = {.data.u64 = number};

	if (files < 0)
		files = epoll_create1(EPOLL_CLOEXEC);
	return share_of(number) && epoll_ctl(files, EPOLL_CTL_ADD, fd, &event) == 0;
}

bool dgp_share_import(struct process *p, uint64_t number)
{
	struct share *share = share_of(number);

	if (!share)
		return false;
	share->imports = realloc(
		share->imports, (share->n_imports + 1) * sizeof(struct process *));
	share->imports[share->n_imports++] = p;
	return true;
}

static bool drop_import(struct share *share, const struct process *p)
{
	for (uint32_t i = 0; i < share->n_imports; i++) {
		if (share->imports[i] != p)
			continue;
		share->imports[i] = share->imports[--share->n_imports];
		return true;
	}
	return false;
}

/* The kernel's list has the files that any process has. */
static void look_at_files(void)
{
	char path[64], line[256];
	unsigned long long number;
	FILE *from;

	for (uint64_t i = 0; i < n_shares; i++)
		shares[i].is_open = false;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", files);
	from = fopen(path, "re");
	while (from && fgets(line, sizeof(line), from))
		if (sscanf(line, "tfd: %*d events: %*x data: %llx", &number) == 1 &&
			share_of(number))
			shares[number].is_open = true;
	if (from)
		fclose(from);
}

void dgp_shares_settle(struct machine *m)
{
	bool any = false;

	for (uint64_t i = 0; i < n_shares; i++)
		any |= shares[i].kept_bytes > 0;
	if (!any)
		return;
	look_at_files();
	for (uint64_t i = 0; i < n_shares; i++) {
		struct share *share = &shares[i];

		if (!share->kept_bytes || share->is_open || share->n_imports)
			continue;
		m->gpus[share->gpu].used_bytes -= share->kept_bytes;
		share->kept_bytes = 0;
		m->memory_changed = true;
	}
}

uint64_t dgp_shares_kept(uint32_t gpu)
{
	uint64_t n_bytes = 0;

	for (uint64_t i = 0; i < n_shares; i++)
		n_bytes += shares[i].gpu == gpu ? shares[i].kept_bytes : 0;
	return n_bytes;
}

static void disown(struct machine *m, struct share *share)
{
	struct usage *usage = &share->owner->usage[share->gpu];

	if (share->bytes) {
		usage->bytes -= share->bytes;
		share->kept_bytes = share->bytes;
		m->memory_changed = true;
	}
	share->owner = NULL;
}

bool dgp_share_drop(struct machine *m, struct process *p, uint64_t number)
{
	struct share *share = share_of(number);

	if (!share || (share->owner != p && !drop_import(share, p)))
		return false;
	if (share->owner == p)
		disown(m, share);
	dgp_shares_settle(m);
	return true;
}

void dgp_shares_leave(struct machine *m, struct process *p)
{
	for (uint64_t i = 0; i < n_shares; i++) {
		if (shares[i].owner == p)
			disown(m, &shares[i]);
		while (drop_import(&shares[i], p))
			;
	}
	dgp_shares_settle(m);
}
