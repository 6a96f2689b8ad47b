/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* The messages of an attach, over the lease's own SOCK_SEQPACKET socket.
 *
 * A gate sends a hello; the agent answers with a reply that carries the control page (to
 * be mapped read-only), the report page and the doorbell (a pipe: write a byte to ring),
 * in this order.  The connection stays open and silent: its end tells the gate that the
 * agent is gone.  A gate that had pages from an earlier agent sends its old report page
 * with the hello, so that the memory ledger continues without a gap; the new agent then
 * passes the same report page to all processes of the lease.  The agent never trusts a
 * length or a text of a hello; the gate trusts the agent.  Either side may be the older
 * one: a reply only grows at its end, and fields that were reserved are 0 from a program
 * that does not know them.
 *
 * The gate of a GPU whose work can be stopped before it is complete may continue to send:
 * an object message for each channel group, channel and subdevice that the process has,
 * with the driver's file through which it was created, and one for each that was freed
 * (class 0, no file).  Messages for which the socket has no room are sent later.
 * Meanwhile the agent waits for the process's work, because n_changes of the report page
 * shows that objects are missing.  Where the control page has a limit in space, the gate
 * reports what enforces it.  The gate of a device that is the processor names the threads
 * that compute for it.  A gate whose process exports memory as files sends the epoll
 * instance that watches them. */

#define CLV_ATTACH_MAGIC 0x43564c43u /* "CLVC" */
#define CLV_ATTACH_VERSION 1u
#define CLV_ATTACH_NO_SLOT UINT32_MAX
#define CLV_ATTACH_ENV "CLEAVE_LEASE"                   /* path of the lease's socket */
#define CLV_ATTACH_ENV_IF_NO_AGENT "CLEAVE_IF_NO_AGENT" /* "open": run ungated */
#define CLV_ATTACH_DEFAULT_SOCKET "/run/cleave/lease.sock"
#define CLV_ATTACH_SOCKET_NAME "lease.sock"
/* Beside the socket, if any process that reaches it may attach: the lease's devices in
 * its order, a line "BACKEND UUID" for each. */
#define CLV_ATTACH_DEVICES_NAME "devices"

enum clv_attach_api {
	CLV_ATTACH_API_OPENCL = 1,
	CLV_ATTACH_API_CUDA,
	CLV_ATTACH_API_HIP,
};

enum { /* order of the file descriptors in a reply */
	CLV_ATTACH_FD_CONTROL,
	CLV_ATTACH_FD_REPORT,
	CLV_ATTACH_FD_DOORBELL,
	CLV_ATTACH_FDS,
};

struct clv_attach_hello {
	uint32_t magic;
	uint32_t version;
	uint32_t api; /* enum clv_attach_api */
	uint32_t page_version;
	uint32_t old_slot; /* the slot in the old report page, or NO_SLOT without one */
	/* How long a reply the gate can read; 0: CLV_ATTACH_REPLY_FIRST_BYTES (the oldest
	 * gates). */
	uint32_t reply_bytes;
	uint32_t reserved[2];
};

#define CLV_ATTACH_DEVICES_BYTES 4096u

struct clv_attach_reply {
	uint32_t magic;
	uint32_t version;
	int32_t status; /* 0, or a negative errno and no file descriptors */
	uint32_t slot;
	/* The device.  OpenCL: platform, model and ordinal as in struct
	 * clv_device_locator.  CUDA and HIP: its name in model ("" if the lease has
	 * several): for CUDA the UUID, for HIP as in ROCR_VISIBLE_DEVICES. */
	char platform[128];
	char model[128];
	uint32_t ordinal;
	uint32_t pid;      /* the process as the agent sees it; 0: not reported */
	char message[256]; /* why it was refused, one line */
	/* The names of all the lease's devices in its order, separated by commas.  Only
	 * for a gate whose reply_bytes covers it, and from an agent that has it. */
	char devices[CLV_ATTACH_DEVICES_BYTES];
};

#define CLV_ATTACH_REPLY_FIRST_BYTES offsetof(struct clv_attach_reply, devices)

struct clv_attach_object {
	uint32_t magic;
	uint32_t client, parent, handle, class; /* as in struct clv_rm_object */
	uint32_t reserved;
	/* With this message the agent knows all objects up to this n_changes (page.h); 0:
	 * more messages follow, or a gate that does not report it.  A client of 0: no
	 * object was created or freed.  Both 0: the gate has put the process's channels
	 * back on the device, because it saw no heartbeat. */
	uint64_t as_of;
};

#define CLV_ATTACH_SM_MAGIC 0x53564c43u /* "CLVS" */

/* What holds a process to its limit in space.  If several states apply, the last (worst)
 * of them is reported. */
enum clv_attach_sm {
	CLV_ATTACH_SM_UNKNOWN, /* not determined yet */
	CLV_ATTACH_SM_MPS,
	CLV_ATTACH_SM_MASKS,
	CLV_ATTACH_SM_GREEN,
	/* The states after this one: the limit is not enforced. */
	_CLV_ATTACH_SM_HELD = CLV_ATTACH_SM_GREEN,
	CLV_ATTACH_SM_NO_MEANS,      /* the driver has no means */
	CLV_ATTACH_SM_OTHER_CONTEXT, /* work that the means do not reach */
	CLV_ATTACH_SM_OTHER_STREAM,
	CLV_ATTACH_SM_OTHER_GRAPH,
	CLV_ATTACH_SM_OTHER_API, /* found by the agent itself */
	_CLV_ATTACH_SM_MAX,
};

struct clv_attach_sm_state {
	uint32_t magic;
	uint32_t state; /* enum clv_attach_sm */
	uint32_t count; /* to how many units the process is limited; 0: not known */
	uint32_t reserved[5];
};

#define CLV_ATTACH_THREADS_MAGIC 0x54564c43u /* "CLVT" */
#define CLV_ATTACH_THREADS_MAX 1022u

/* All threads in which the vendor's library computes, by the process's own numbering.
 * Only the first n entries are sent. */
struct clv_attach_threads {
	uint32_t magic;
	uint32_t n;
	int32_t tids[CLV_ATTACH_THREADS_MAX];
};

#define CLV_ATTACH_EXPORTS_MAGIC 0x45564c43u /* "CLVE" */

/* With an epoll instance that watches each file to which the process has exported device
 * memory.  Such memory outlives the process while any process has the file, and then no
 * slot has it charged: the agent charges to the lease what the instance still watches
 * when the process has ended. */
struct clv_attach_exports {
	uint32_t magic;
	uint32_t reserved[7];
};

/* The data of a watched file: a number of the memory, which all its files have, and its
 * size in pages of 4 KiB. */
#define CLV_ATTACH_EXPORT_DATA(number, n_bytes)                      \
	((uint64_t)(uint32_t)(number) << 32 |                        \
		((uint64_t)(n_bytes) >> 12 < UINT32_MAX              \
				? ((uint64_t)(n_bytes) + 4095) >> 12 \
				: UINT32_MAX))
#define CLV_ATTACH_EXPORT_NUMBER(data) ((uint32_t)((data) >> 32))
#define CLV_ATTACH_EXPORT_BYTES(data) ((uint64_t)(uint32_t)(data) << 12)

/* A thread of that list that receives this signal with this value waits while the control
 * page's is_halted is set.  SIGURG is ignored by default, so a thread without a handler
 * survives it. */
#define CLV_ATTACH_HALT_SIGNAL SIGURG
#define CLV_ATTACH_HALT_VALUE 0x43564c48

static_assert(
	offsetof(struct clv_attach_threads, tids) == 8, "the layout is an interface");
static_assert(sizeof(struct clv_attach_sm_state) == 32, "the layout is an interface");
static_assert(sizeof(struct clv_attach_exports) == 32, "the layout is an interface");
static_assert(sizeof(struct clv_attach_object) == 32, "the layout is an interface");
static_assert(sizeof(struct clv_attach_hello) == 32, "the layout is an interface");
static_assert(CLV_ATTACH_REPLY_FIRST_BYTES == 536, "the layout is an interface");
static_assert(sizeof(struct clv_attach_reply) == 4632, "the layout is an interface");
