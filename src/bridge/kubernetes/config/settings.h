/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clv_error;

/* What cleave-kubelet is told, by a file and by its command line.  Plain data. */

#define CLV_KUBE_PATH_MAX 256
#define CLV_KUBE_NAME_MAX 64
#define CLV_KUBE_DOMAIN "cleave.dev"
#define CLV_KUBE_REPLICAS_MAX 1000u

/* What containers get of devices that are not divided. */
enum clv_kube_undivided {
	CLV_KUBE_NOTHING,
	CLV_KUBE_SHARE,  /* gpu-share, in hundredths of a device */
	CLV_KUBE_MEMORY, /* gpu-memory */
	CLV_KUBE_BOTH,   /* the two of them for each container */
	CLV_KUBE_WHOLE,  /* gpu */
	CLV_KUBE_REPLICAS,
	_CLV_KUBE_UNDIVIDED_MAX,
};

enum clv_kube_naming {
	CLV_KUBE_NAMES_CLEAVE, /* cleave.dev/mig-1g.10gb */
	CLV_KUBE_NAMES_VENDOR, /* nvidia.com/mig-1g.10gb, amd.com/cpx_nps4 */
	CLV_KUBE_NAMES_SINGLE, /* nvidia.com/gpu, amd.com/gpu for partitions too */
	_CLV_KUBE_NAMING_MAX,
};

struct clv_kube_replicas {
	char name[CLV_KUBE_NAME_MAX];
	uint32_t count;
	bool is_packed; /* on devices that are in use before others */
};

struct clv_kube_settings {
	char kubelet[CLV_KUBE_PATH_MAX]; /* its folder */
	char cdi[CLV_KUBE_PATH_MAX];
	char gates[CLV_KUBE_PATH_MAX];  /* on the host: the folder of the gates, */
	char hook[CLV_KUBE_PATH_MAX];   /* and the program that is the hook */
	char labels[CLV_KUBE_PATH_MAX]; /* "": none are written */
	char agent[CLV_KUBE_PATH_MAX];  /* its socket; "": the usual places */
	enum clv_kube_undivided undivided;
	enum clv_kube_naming naming;
	uint64_t memory_unit_bytes;
	struct clv_kube_replicas replicas;
	uint32_t reconcile_ms; /* how often kubelet is asked who has what */
	uint32_t grace_ms;     /* that a lease may be unknown to it */
	bool announces;        /* what is free, for cleave-extender */
	/* Dynamic resource allocation. */
	bool has_dra;
	bool has_modes; /* claims decide on AMD's compute modes */
	char node[CLV_KUBE_PATH_MAX];
	char kubeconfig[CLV_KUBE_PATH_MAX]; /* "": the cluster's own, from inside */
	char driver[CLV_KUBE_NAME_MAX];
	char version[16]; /* of resource.k8s.io */
};

void clv_kube_settings_init(struct clv_kube_settings *settings);
/* 0, or what is wrong, with its place. */
int clv_kube_settings_read(
	const char *path, struct clv_kube_settings *settings, struct clv_error *err);
