/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* A domain's XML: which functions of the host it has, and what cleave wrote into it.  The
 * parser is libxml2; what cleave does not use is left alone.  No function here speaks to
 * libvirt. */

#define CLV_VM_UUID_MAX 37
#define CLV_VM_ADDRESS_MAX 40
#define CLV_VM_ALIAS_MAX 64
#define CLV_VM_LEASE_MAX 24
#define CLV_VM_PARTITION_MAX 72

/* Aliases with this prefix are cleave's, and a lease's id follows.  libvirt keeps aliases
 * that begin with "ua-". */
#define CLV_VM_ALIAS_PREFIX "ua-cleave-"
/* The namespace of cleave's element in a domain's metadata, and its prefix. */
#define CLV_VM_METADATA_URI "https://cleave.dev/vm/1"
#define CLV_VM_METADATA_KEY "cleave"

/* How a domain gets a function. */
enum clv_vm_means {
	CLV_VM_PCI,    /* a PCI function, which libvirt binds to vfio-pci and back */
	CLV_VM_VENDOR, /* a PCI function that stays with its driver, as NVIDIA's */
	CLV_VM_MDEV,   /* a mediated device */
	_CLV_VM_MEANS_MAX,
};

struct clv_vm_hostdev {
	bool is_mdev;
	bool is_managed;
	char address[CLV_VM_ADDRESS_MAX]; /* "0000:3b:00.1", or the UUID of an mdev */
	char alias[CLV_VM_ALIAS_MAX];     /* "": none was given */
};

/* A partition as the domain's metadata has it. */
struct clv_vm_note {
	char lease[CLV_VM_LEASE_MAX];
	char partition[CLV_VM_PARTITION_MAX]; /* its name, for people */
};

struct clv_vm_domain {
	char uuid[CLV_VM_UUID_MAX];
	char *name; /* owned; any text on one line */
	char machine[64];
	bool has_memory_hole;       /* pcihole64 is set */
	uint64_t memory_hole_bytes; /* its value */
	struct clv_vm_hostdev *hostdevs;
	size_t n_hostdevs;
	struct clv_vm_note *notes;
	size_t n_notes;
	bool shuts_down; /* before the host does */
};

/* -EBADMSG if the text is no XML of a domain; -ENOMEM.  The caller clears *ret. */
int clv_vm_domain_parse(const char *xml, size_t n_bytes, struct clv_vm_domain *ret,
	struct clv_error *err);
void clv_vm_domain_clear(struct clv_vm_domain *domain);
#define _cleanup_domain_ CLV_CLEANUP(clv_vm_domain_clear)

/* The lease's id in an alias of cleave's; NULL: it is not one. */
const char *clv_vm_lease_of_alias(const char *alias);

/* The function that the domain has for the lease, or at the address; NULL: none. */
const struct clv_vm_hostdev *clv_vm_find_lease(
	const struct clv_vm_domain *domain, const char *lease);
const struct clv_vm_hostdev *clv_vm_find_address(
	const struct clv_vm_domain *domain, const char *address);

/* Whether the domain has a partition through cleave. */
size_t clv_vm_count_partitions(const struct clv_vm_domain *domain);

/* Writes the element that gives a domain the function at the address.  -EINVAL: the
 * address or the lease's id has another form. */
#define CLV_VM_HOSTDEV_MAX 512
int clv_vm_hostdev_write(enum clv_vm_means means, const char *address, const char *lease,
	char ret[CLV_VM_HOSTDEV_MAX], struct clv_error *err);

/* The domain's metadata of cleave, without its namespace, as virDomainSetMetadata() takes
 * it; the caller frees it.  NULL: out of memory. */
char *clv_vm_metadata_write(
	const struct clv_vm_note *notes, size_t n_notes, bool shuts_down);

/* Another function in the place of that of a lease. */
struct clv_vm_exchange {
	const char *lease;    /* that it is for, as the domain's XML has it */
	const char *to_lease; /* that it becomes one for */
	enum clv_vm_means means;
	const char *to_address; /* as clv_vm_hostdev_write() takes it */
};

/* The XML with other functions of the host, at the same addresses in the guest; what is
 * not exchanged stays as it is.  The caller frees *ret. -ENOENT: it has no function for a
 * lease; -EBADMSG, -EINVAL, -ENOMEM. */
int clv_vm_domain_exchange(const char *xml, size_t n_bytes,
	const struct clv_vm_exchange *exchanges, size_t n, char **ret,
	struct clv_error *err);

/* What a domain has besides its definition. */
struct clv_vm_belongings {
	size_t n_hostdevs;   /* of any kind, those of partitions too */
	bool has_tpm;        /* emulated or of the host, where its state is */
	bool has_variables;  /* of its firmware, in a file */
	char variables[256]; /* that file; "": libvirt chooses its place */
	char disks[512];     /* and folders, for people: "/a.qcow2, /dev/vg/b" */
};

/* -EBADMSG, -ENOMEM. */
int clv_vm_domain_belongings(const char *xml, size_t n_bytes,
	struct clv_vm_belongings *ret, struct clv_error *err);

/* The XML with a 64-bit window of so many bytes, rounded up to KiB; 0: without one.  The
 * caller frees *ret. -EBADMSG, -ENOTSUP: it has no PCI root. */
int clv_vm_domain_set_hole(const char *xml, size_t n_bytes, uint64_t hole_bytes,
	char **ret, struct clv_error *err);
