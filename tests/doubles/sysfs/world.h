/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "text.h"
#include <sys/types.h>

/* The simulated machine: PCI functions with their drivers' state, modules, mediated
 * devices. The description's values are fixed once read; the rest changes with writes, is
 * kept in the state file, and returns to its default with a reboot. One lock for all of
 * it. */

#define SY_BDF 16
#define SY_NAME 40
#define SY_UUID 40

struct sy_function;
struct sy_node;

/* --- Fields: values of the description and of the state --- */

enum sy_kind {
	SY_NUMBER, /* uint64_t */
	SY_CHOICE, /* uint64_t, an index of the list of words */
	SY_WORDS,  /* uint64_t, a bit for each of the words, "a, b" */
	SY_STRING, /* char[size] */
};

struct sy_field {
	const char *name;
	enum sy_kind kind;
	size_t offset, size;
	const char *const *words; /* NULL at its end */
};

/* -EINVAL if the text is not of that kind. */
int sy_field_set(void *object, const struct sy_field *field, const char *text);
bool sy_field_is_zero(const void *object, const struct sy_field *field);
void sy_field_get(const void *object, const struct sy_field *field, struct sy_text *ret);

#define SY_FIELD(type, name, member, kind, words)                                    \
	{                                                                            \
		(name), (kind), offsetof(type, member), sizeof(((type *)0)->member), \
			(words)                                                      \
	}

/* --- The state of a function in each vendor's driver --- */

enum { SY_NPS_UNKNOWN, SY_NPS1, SY_NPS2, SY_NPS4, SY_NPS8, SY_NPS_MAX };
enum { SY_SPX, SY_DPX, SY_TPX, SY_QPX, SY_CPX, SY_COMPUTE_MAX };
extern const char *const sy_nps_names[];
extern const char *const sy_compute_names[];
extern const char *const sy_no_yes[];

struct sy_amd {
	/* fixed */
	uint64_t dies, compute_units, vram_bytes, memory_modes, is_apu, is_guest, is_old;
	uint64_t dma, decoders, gfx_version, hive;
	/* changes */
	uint64_t compute, memory, requested, pending, kfd_is_dead, kfd_order, shown;
};

enum sy_resource {
	SY_LMEM,
	SY_GGTT,
	SY_CONTEXTS,
	SY_DOORBELLS,
	SY_QUANTUM,
	SY_TIMEOUT,
	SY_RESOURCE_MAX,
};
#define SY_GTS 2

enum { SY_SRIOV_ADMIN, SY_DEBUGFS, SY_IOV, SY_PRELIM_IOV };

struct sy_intel {
	/* fixed */
	uint64_t vram_bytes, interface, gts, refuses_partial;
	/* changes; of each function separately */
	uint64_t value[SY_RESOURCE_MAX][SY_GTS], priority, is_stopped, is_manual;
};

struct sy_vgpu_type {
	uint64_t id, memory_mb, most;
	char name[SY_NAME];
};

enum { SY_VENDOR_VFIO, SY_MDEV };
enum { SY_PARENT_PF, SY_PARENT_VF };

struct sy_nvidia {
	/* fixed; a virtual function uses the physical one's */
	uint64_t memory_mb, framework, parent, has_no_header;
	struct sy_vgpu_type *types;
	size_t n_types;
	/* changes */
	uint64_t type, is_broken, is_mixed;
};

/* --- A PCI function --- */

struct sy_family {
	const char *name;
	/* Fills in the model's values; false for an unknown model. */
	bool (*find_model)(struct sy_function *f, const char *model);
	const struct sy_field *config, *state;
	size_t n_config, n_state;
	/* Derives the other values from the description; may be NULL. */
	void (*ready)(struct sy_function *f);
	unsigned (*drm_devices)(const struct sy_function *f);
	/* Builds the files of its own driver, below its folder and elsewhere. */
	void (*build)(struct sy_function *f, struct sy_node *dir);
	/* Called around a change of the number of virtual functions; any may be NULL. */
	int (*before_enable)(struct sy_function *pf, unsigned n);
	void (*after_disable)(struct sy_function *pf, unsigned n);
	/* The function's own driver was bound or unbound. */
	void (*bound)(struct sy_function *f);
	void (*unbound)(struct sy_function *f);
	/* A reset of this one function. */
	void (*reset)(struct sy_function *f);
	/* Sets the power-on state. */
	void (*power_on)(struct sy_function *f);
};

extern const struct sy_family sy_family_amd, sy_family_intel, sy_family_nvidia,
	sy_family_none;

enum { SY_GROUP_OWN, SY_GROUP_PHYSFN };

struct sy_function {
	/* fixed */
	char bdf[SY_BDF], model[SY_NAME], home_driver[SY_NAME], product_name[SY_NAME];
	uint64_t vendor, device, class, subsystem_vendor, subsystem_device, vf_device;
	char numa_node[8]; /* -1 for none */
	uint64_t totalvfs, offset, stride, vf_groups;
	char group_with[SY_BDF];
	char (*absent)[SY_NAME]; /* files that this driver lacks, below the folder */
	size_t n_absent;
	const struct sy_family *family;
	unsigned domain, bus, devfn;
	unsigned card, render; /* the minors of its first DRM device */
	struct sy_function *physfn, *vfs;
	unsigned vf;    /* from 1; 0 for a physical function */
	bool is_locked; /* a change of the number of virtual functions is in progress */
	/* changes */
	uint64_t is_present, numvfs, autoprobe, group;
	char driver[SY_NAME], driver_override[SY_NAME];
	struct sy_amd amd;
	struct sy_intel intel;
	struct sy_nvidia nvidia;
};

struct sy_mdev {
	struct sy_mdev *next;
	char uuid[SY_UUID];
	struct sy_function *parent;
	uint64_t type, group;
};

struct sy_world {
	struct sy_function *functions; /* the physical ones */
	size_t n_functions;
	uint64_t cpu_nodes, first_card, first_render;
	struct sy_mdev *mdevs; /* oldest first */
	uint64_t kfd_generation;
	bool has_changed; /* the tree is stale */
};
extern struct sy_world sy_world;

/* Reads the description; ends the process where it cannot be parsed. */
void sy_world_read(const char *path);
/* The state after power-on, with the machine's drivers loaded. */
void sy_world_power_on(void);
void sy_world_reboot(void);
void sy_tree_build(void);

/* Iterates over all functions, each physical one before its virtual ones, whether present
 * or not; starts and ends with NULL. */
struct sy_function *sy_next(struct sy_function *f);

/* Only present functions; NULL if there is none of that name. */
struct sy_function *sy_function_find(const char *bdf);
struct sy_function *sy_pf(struct sy_function *f);
bool sy_is_native(const struct sy_function *f);
uint64_t sy_free_group(void);

/* --- The lock --- */

void sy_lock(void);
void sy_unlock(void);
/* Releases the lock for a moment. False when the double ends: the caller must give up. */
bool sy_wait(void);
void sy_pause(uint64_t ms);
/* After this every wait gives up. */
void sy_end_waits(void);
