/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a minimal shared object: headers, a dynamic section, symbol tables without a
 * symbol, and behind all that the sections for linkers.  It has no code, so it can be
 * loaded from a noexec mount, as /run often is. */
#include "cli/shim/shim.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/shim/link-view.h"
#include "cli/shim/versions.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MARKER "cleave shim 2"
#define SELF "/proc/self/exe"
#define PAGE 0x10000 /* the largest of all kernels */

enum {
	PART_LOAD,
	PART_DYNAMIC,
	PART_STACK,
	N_PARTS,
};
enum {
	NEED_GATE,
	NEED_LIBRARY,
	N_ENTRIES = 14,
};

/* A symbol version of the library, which programs that were linked with it require. */
struct version {
	ElfW(Verdef) head;
	ElfW(Verdaux) name;
};

struct shim {
	ElfW(Ehdr) header;
	ElfW(Phdr) parts[N_PARTS];
	ElfW(Dyn) dynamic[N_ENTRIES];
	ElfW(Sym) symbol;
	uint32_t hash[4];
	uint32_t gnu_hash[7];
	struct version versions[CLV_VERSIONS_MAX];
	ElfW(Half) symbol_version;
	char marker[16];
	uint32_t n_bytes; /* of the file */
	char strings[3 * CLV_PATH_MAX];
};

#define AT(member) offsetof(struct shim, member)

/* Copies the processor from cleave's own header. */
static int set_header(struct shim *shim, struct clv_error *err)
{
	_cleanup_close_ int fd = open(SELF, O_RDONLY | O_CLOEXEC);
	ElfW(Ehdr) self;

	if (fd < 0 || pread(fd, &self, sizeof(self), 0) != sizeof(self))
		return clv_error_errno(err, errno ? errno : EIO, "cannot read " SELF);
	shim->header = (ElfW(Ehdr)){
		.e_type = ET_DYN,
		.e_machine = self.e_machine,
		.e_version = EV_CURRENT,
		.e_phoff = AT(parts),
		.e_flags = self.e_flags,
		.e_ehsize = sizeof(shim->header),
		.e_phentsize = sizeof(shim->parts[0]),
		.e_phnum = N_PARTS,
	};
	memcpy(shim->header.e_ident, self.e_ident, EI_NIDENT);
	return 0;
}

/* Appends a string and returns its offset; SIZE_MAX if it does not fit. */
static size_t add_string(struct shim *shim, const char *text)
{
	size_t at = shim->n_bytes - AT(strings), n = strlen(text) + 1;

	if (n > sizeof(shim->strings) - at)
		return SIZE_MAX;
	memcpy(shim->strings + at, text, n);
	shim->n_bytes += (uint32_t)n;
	return at;
}

static void set_parts(struct shim *shim)
{
	const ElfW(Phdr) whole = {.p_type = PT_LOAD,
		.p_flags = PF_R | PF_W, /* loaders write into the dynamic section */
		.p_filesz = shim->n_bytes,
		.p_memsz = shim->n_bytes,
		.p_align = PAGE};
	const ElfW(Phdr) dynamic = {.p_type = PT_DYNAMIC,
		.p_flags = PF_R | PF_W,
		.p_offset = AT(dynamic),
		.p_vaddr = AT(dynamic),
		.p_paddr = AT(dynamic),
		.p_filesz = sizeof(shim->dynamic),
		.p_memsz = sizeof(shim->dynamic),
		.p_align = sizeof(void *)};

	shim->parts[PART_LOAD] = whole;
	shim->parts[PART_DYNAMIC] = dynamic;
	/* Without it the program's stacks would become executable. */
	shim->parts[PART_STACK] =
		(ElfW(Phdr)){.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W};
}

static uint32_t hash_of(const char *name)
{
	uint32_t value = 0;

	for (; *name; name++) {
		value = (value << 4) + (unsigned char)*name;
		value ^= (value & 0xf0000000) >> 24;
		value &= 0x0fffffff;
	}
	return value;
}

/* Returns the number of versions, 0 if their names do not fit. */
static size_t set_versions(struct shim *shim, const struct clv_versions *versions)
{
	for (size_t i = 0; i < versions->n; i++) {
		size_t name = add_string(shim, versions->names[i]);
		bool is_last = i + 1 == versions->n;

		if (name == SIZE_MAX)
			return 0;
		shim->versions[i].head = (ElfW(Verdef)){
			.vd_version = VER_DEF_CURRENT,
			.vd_flags = i == 0 ? VER_FLG_BASE : 0,
			.vd_ndx = (ElfW(Half))(i + 1),
			.vd_cnt = 1,
			.vd_hash = hash_of(versions->names[i]),
			.vd_aux = sizeof(shim->versions[i].head),
			.vd_next = is_last ? 0 : sizeof(shim->versions[i]),
		};
		shim->versions[i].name.vda_name = (ElfW(Word))name;
	}
	return versions->n;
}

/* NODELETE keeps the shim loaded, as the library, which has the same name, stays too. */
static void set_dynamic(struct shim *shim, const size_t names[3], size_t n_versions)
{
	const struct {
		ElfW(Sxword) tag;
		size_t value;
	} entries[N_ENTRIES] = {
		[NEED_GATE] = {DT_NEEDED, names[1]},
		[NEED_LIBRARY] = {DT_NEEDED, names[2]},
		{DT_SONAME, names[0]},
		{DT_HASH, AT(hash)},
		{DT_GNU_HASH, AT(gnu_hash)},
		{DT_STRTAB, AT(strings)},
		{DT_STRSZ, shim->n_bytes - AT(strings)},
		{DT_SYMTAB, AT(symbol)},
		{DT_SYMENT, sizeof(shim->symbol)},
		{DT_FLAGS_1, DF_1_NODELETE},
		/* Without versions this DT_NULL ends the section. */
		{n_versions ? DT_VERDEF : DT_NULL, AT(versions)},
		{DT_VERDEFNUM, n_versions},
		{DT_VERSYM, AT(symbol_version)},
		{DT_NULL, 0},
	};

	for (size_t i = 0; i < N_ENTRIES; i++) {
		shim->dynamic[i].d_tag = entries[i].tag;
		shim->dynamic[i].d_un.d_val = entries[i].value;
	}
	/* One empty bucket, and the undefined symbol at index 0. */
	shim->hash[0] = 1;
	shim->hash[1] = 1;
	/* The same; the empty Bloom filter rejects every name. */
	shim->gnu_hash[0] = 1;
	shim->gnu_hash[1] = 1;
	shim->gnu_hash[2] = 1;
}

/* Writes a new file and renames it, since other programs of the lease may have the old
 * one mapped. */
static int write_all(const char *path, struct shim *shim, const char *original,
	const char *soname, struct clv_error *err)
{
	char beside[CLV_PATH_MAX + 16];
	_cleanup_close_ int fd = -1;
	int r;

	snprintf(beside, sizeof(beside), "%s.%d", path, (int)getpid());
	fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (fd < 0)
		return clv_error_errno(err, errno, "cannot write %s", path);
	r = clv_link_view_append(fd, shim->n_bytes, original, soname, &shim->header);
	errno = r < 0 ? -r : ENOSPC; /* unless a short write has a reason of its own */
	if (r == 0 && pwrite(fd, shim, shim->n_bytes, 0) == (ssize_t)shim->n_bytes &&
		rename(beside, path) == 0)
		return 0;
	clv_error_errno(err, errno, "cannot write %s", path);
	unlink(beside);
	return err ? err->code : -EIO;
}

int clv_shim_write(const char *path, const char *soname, const char *gate,
	const char *library, const char *original, struct clv_error *err)
{
	struct shim shim = {.marker = MARKER, .n_bytes = AT(strings) + 1};
	struct clv_versions versions;
	const size_t names[3] = {
		add_string(&shim, soname),
		add_string(&shim, gate),
		add_string(&shim, library),
	};
	int r = set_header(&shim, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < 3; i++) {
		if (names[i] == SIZE_MAX)
			return clv_error_set(
				err, -ENAMETOOLONG, "the path %.200s is too long", gate);
	}
	clv_versions_read(original, &versions);
	set_dynamic(&shim, names, set_versions(&shim, &versions));
	/* After the strings, whose size the segment includes. */
	set_parts(&shim);
	return write_all(path, &shim, original, soname, err);
}

bool clv_shim_read(const char *path, char ret_library[CLV_PATH_MAX])
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct shim shim = {};
	size_t at;

	if (fd < 0 || pread(fd, &shim, sizeof(shim), 0) < (ssize_t)AT(strings) ||
		strncmp(shim.marker, MARKER, sizeof(shim.marker)) != 0)
		return false;
	shim.strings[sizeof(shim.strings) - 1] = '\0';
	at = shim.dynamic[NEED_LIBRARY].d_un.d_val;
	if (at >= sizeof(shim.strings) || strlen(shim.strings + at) >= CLV_PATH_MAX)
		return false;
	strcpy(ret_library, shim.strings + at);
	return true;
}
