/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clv_error;

/* The settings of cleave-kubelet, from its file of settings.  Plain data. */

#define CLV_KUBE_PATH_MAX 256
#define CLV_KUBE_NAME_MAX 64
#define CLV_KUBE_DOMAIN "cleave.dev"
#define CLV_KUBE_REPLICAS_MAX 1000u

/* The resource that undivided devices are offered as. */
enum clv_kube_undivided {
	CLV_KUBE_NOTHING,
	CLV_KUBE_SHARE,  /* gpu-share, in hundredths of a device */
	CLV_KUBE_MEMORY, /* gpu-memory */
	CLV_KUBE_BOTH,   /* both, and each container requests both */
	CLV_KUBE_WHOLE,  /* gpu */
	CLV_KUBE_REPLICAS,
	_CLV_KUBE_UNDIVIDED_MAX,
};

enum clv_kube_naming {
	CLV_KUBE_NAMES_CLEAVE, /* cleave.dev/mig-1g.10gb */
	CLV_KUBE_NAMES_VENDOR, /* nvidia.com/mig-1g.10gb, amd.com/cpx_nps4 */
	CLV_KUBE_NAMES_SINGLE, /* nvidia.com/gpu, amd.com/gpu, also for partitions */
	_CLV_KUBE_NAMING_MAX,
};

/* The parts of the answer to kubelet that give a container its lease, as flags. */
enum clv_kube_way {
	CLV_KUBE_BY_CDI = 1,         /* a CDI device, for kubelet 1.28 and later */
	CLV_KUBE_BY_ANNOTATIONS = 2, /* an annotation with it, for the runtime */
	CLV_KUBE_BY_MOUNTS = 4,      /* mounts, variables and device nodes */
};

struct clv_kube_replicas {
	char name[CLV_KUBE_NAME_MAX];
	uint32_t count;
	bool is_packed; /* prefer devices that are in use */
};

struct clv_kube_settings {
	char kubelet[CLV_KUBE_PATH_MAX];     /* kubelet's folder */
	char cdi[CLV_KUBE_PATH_MAX];         /* the folder for CDI files */
	char gates[CLV_KUBE_PATH_MAX];       /* the folder of the gates on the host */
	char hook[CLV_KUBE_PATH_MAX];        /* cleave-cdi-hook on the host */
	char driver_root[CLV_KUBE_PATH_MAX]; /* of NVIDIA's driver on the host */
	char labels[CLV_KUBE_PATH_MAX]; /* node-feature-discovery's folder; "": no labels
					 */
	char sections[CLV_KUBE_PATH_MAX]; /* a folder of sections; "": none */
	char status[CLV_KUBE_PATH_MAX];   /* the file for probes; "": none is written */
	char agent[CLV_KUBE_PATH_MAX];    /* the agent's socket; "": the default */
	enum clv_kube_undivided undivided;
	enum clv_kube_naming naming;
	unsigned ways; /* of enum clv_kube_way; 0: chosen by what the node has */
	uint64_t memory_unit_bytes; /* 0: chosen by the devices' memory */
	struct clv_kube_replicas replicas;
	uint32_t reconcile_ms; /* the interval of comparisons with kubelet's pods */
	uint32_t grace_ms;     /* how long a lease that kubelet does not know is kept */
	bool announces;        /* announce free room for cleave-extender */
	bool has_classes;      /* leases have the class that their pod names */
	/* Dynamic resource allocation. */
	bool has_dra;
	bool has_modes; /* claims may change AMD's compute modes */
	char node[CLV_KUBE_PATH_MAX];
	char kubeconfig[CLV_KUBE_PATH_MAX]; /* "": the pod's service account */
	char driver[CLV_KUBE_NAME_MAX];
	char version[16]; /* of the API resource.k8s.io */
};

void clv_kube_settings_init(struct clv_kube_settings *settings);
/* Reads the file over the settings.  On error err has the line and what is wrong. */
int clv_kube_settings_read(
	const char *path, struct clv_kube_settings *settings, struct clv_error *err);
/* Reads the section of this name, of the folder settings->sections, over the settings: of
 * these it may have those that nodes differ in.  -ENOENT: there is none; err says which
 * there are. */
int clv_kube_settings_read_section(
	const char *name, struct clv_kube_settings *settings, struct clv_error *err);
