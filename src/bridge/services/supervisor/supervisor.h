/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "bridge/services/engine/engine.h"
#include "bridge/services/engine/job.h"
#include "bridge/services/engine/leases.h"
#include "bridge/services/engine/probe.h"
#include "bridge/services/engine/proxy.h"
#include "bridge/services/project/project.h"
#include "service/scale/rollout.h"
#include "service/scale/scaler.h"

#include <jansson.h>
#include <systemd/sd-event.h>

/* The supervisor of a project, inside: one thread and one event loop.  What it knows is
 * read again from the engine, the proxy and the agent when it starts; it keeps decisions
 * only, for people. */

struct clv_supervisor;
struct clv_unit;

enum clv_replica_phase {
	CLV_PHASE_QUEUED,   /* its lease waits for room */
	CLV_PHASE_CREATING, /* the engine starts its container */
	CLV_PHASE_WARMING,  /* it runs, and is not ready */
	CLV_PHASE_SERVING,
	CLV_PHASE_ENDED, /* its program ended, or its health check failed */
	CLV_PHASE_DRAINING,
	CLV_PHASE_FREEZING,
	CLV_PHASE_FROZEN, /* asleep; its container runs again on a request */
	CLV_PHASE_REMOVING,
};

/* A replica: a container, and its lease.  Owned by its unit. */
struct clv_replica {
	struct clv_unit *unit;
	unsigned slot;
	uint64_t generation;
	enum clv_replica_phase phase;
	char name[CLV_ENGINE_NAME_MAX]; /* of the container and the lease */
	char address[64];
	char *hosts;                /* its /etc/hosts, or NULL */
	uint64_t names_id;          /* that the file has */
	char id[CLV_ENGINE_ID_MAX]; /* of the container */
	pid_t pid;
	sd_event_source *death; /* of the container's first process */
	int pidfd;
	struct clv_job *job;  /* the engine's command in progress */
	struct clv_job *test; /* the health check's */
	uint64_t since_ns;    /* in the phase */
	uint64_t tested_ns;   /* the last test's begin */
	uint32_t n_test_failures;
	bool has_stray;     /* a test that did not end in time may go on */
	int ending_fd;      /* readable once that was ended, or -1 */
	uint64_t ending_ns; /* since then */
	int exit_code;      /* while its last words are asked for */
	struct clv_probe probe;
	uint32_t n_removals; /* that failed */
	struct clv_freezer freezer;
	uint64_t rested_ns; /* the last try to give or take its lease's compute */
	uint32_t n_no_room; /* tries to wake without room for it */
	bool has_rested;    /* its lease has given it back */
	bool may_rest;      /* was taken over while it ran: its lease may have none */
	bool has_served;    /* was ready */
	bool has_lease;     /* has had one */
	bool is_leaving;    /* it stops as those of an earlier generation do */
	bool has_failed;    /* it ended before it was ready, or unasked */
	bool is_healthy;    /* a health check has succeeded, before it was ready */
	char why[256];      /* it ended */
};

enum clv_move_state {
	CLV_MOVE_NONE,
	CLV_MOVE_BEGUN,
	CLV_MOVE_DONE,
	CLV_MOVE_NO_ROOM, /* on the device: nothing was changed */
	CLV_MOVE_FAILED,  /* the replica stays where it is */
};

/* The last move of a replica to another device, for a user. */
struct clv_move {
	enum clv_move_state state;
	char name[CLV_ENGINE_NAME_MAX]; /* the replica that goes */
	char next[CLV_ENGINE_NAME_MAX]; /* that takes its place; "": not started yet */
	char device[64];
	uint64_t since_ns;
	char why[256]; /* not done */
};

/* A service of the project. */
struct clv_unit {
	struct clv_supervisor *of;
	const struct clv_service *service;  /* as the file has it */
	const struct clv_service *previous; /* the generation before, or NULL */
	struct clv_service_scaling scaling; /* with cleave scale's number */
	struct clv_scaler scaler;
	struct clv_rollout rollout;
	struct clv_backoff backoff;
	uint64_t looked_ns;                                /* the figures are of then */
	struct clv_replica *replicas[CLV_PROXY_SLOTS_MAX]; /* by slot */
	struct clv_proxy_figures figures;
	uint32_t use_ppm;
	uint64_t no_room_until_ns;
	uint64_t spare_after_ns; /* idle for so long it gives way */
	bool needs_room;         /* for a replica that it wants */
	uint64_t next_round_ns;  /* a search for room does not begin before */
	uint32_t n_fruitless;    /* searches since it had room */
	bool is_promised;        /* others make it */
	struct clv_move move;
	char giving_way[160]; /* which services make room for it, or "" */
	bool is_removed;      /* no longer in the file */
	bool is_complete;     /* its program ended, and does not restart */
	bool is_undone;       /* its last update failed */
	bool is_set;          /* by a user: min_replicas is not the file's */
	char why[256];        /* the last failure */
	struct clv_proxy *proxy;
	sd_event_source *proxy_death;
	sd_event_source *arrivals[16]; /* of connections, while it sleeps */
	size_t n_arrivals;
	char proxy_fault[256];     /* why it has no port or proxy, as it was said last */
	uint64_t waiting_since_ns; /* a connection, for a replica; 0: none */
	uint64_t refuse_until_ns;  /* waiting connections are answered by 503 */
};

#define CLV_EVENTS_KEPT 256u

struct clv_event {
	uint64_t id;
	json_t *object;
};

struct clv_supervisor {
	sd_event *event;
	struct clv_project project;
	struct clv_services **files; /* that were read; the last is the present one */
	size_t n_files;
	struct clv_unit **units;
	size_t n_units;
	struct clv_leases *leases;
	sd_event_source *timer;
	uint64_t looked_ns;                       /* the last look at use and requests */
	uint64_t minute_ns;                       /* a minute of the file's settings */
	struct clv_event events[CLV_EVENTS_KEPT]; /* a ring by id */
	uint64_t n_events;
	int control_fd;
	struct clv_round *round; /* asks other projects for room, or NULL */
	uint64_t round_ns;       /* the last one began */
	size_t n_rounds;
	bool has_network;  /* of its own */
	char *names;       /* of the services, as containers know them */
	uint64_t names_id; /* of this text */
	bool is_ending;    /* down: no replica is wanted */
	size_t n_left;     /* what could not be removed */
	char *kept;        /* state.json, as it was written last */
	json_t *recalled;  /* that of the supervisor before, or NULL */
};

/* --- members.c --- */

struct clv_unit *clv_supervisor_find(
	const struct clv_supervisor *supervisor, const char *name);
/* Ticks at once. */
void clv_supervisor_hurry(struct clv_supervisor *supervisor);
/* Something could not be removed: it is reported, and the project is kept. */
void clv_supervisor_leave(struct clv_supervisor *supervisor, const struct clv_unit *unit,
	const char *what, const char *name, const struct clv_error *why);
/* The service as it was in a generation. */
const struct clv_service *clv_unit_of_generation(
	const struct clv_unit *unit, uint64_t generation);
uint32_t clv_unit_n_serving(const struct clv_unit *unit);
/* The number of replicas in the phase, without those that are to stop. */
uint32_t clv_unit_n_in(const struct clv_unit *unit, enum clv_replica_phase phase);
/* A replica has its lease; a device has none for it, for this reason. */
void clv_unit_note_room(struct clv_unit *unit);
void clv_unit_note_no_room(struct clv_unit *unit, const char *why);
/* Whether a replica is to be replaced, or stops. */
bool clv_replica_is_old(const struct clv_replica *replica);
/* The replica of this name; NULL: there is none. */
struct clv_replica *clv_supervisor_find_replica(
	const struct clv_supervisor *supervisor, const char *name);
/* Nothing is left of the move but the replica that was to go. */
void clv_unit_give_up_move(
	struct clv_unit *unit, enum clv_move_state state, const char *why);
/* The service has changed: nothing is to go for the sake of a move. */
void clv_unit_forget_move(struct clv_unit *unit);
/* Whether the replica is the new one of a move, and the old one is still there. */
bool clv_replica_is_moving(const struct clv_replica *replica);

/* --- names.c --- */

/* Lines "ADDRESS NAME" of the services that run.  The caller frees it; NULL: out of
 * memory. */
char *clv_supervisor_names(const struct clv_supervisor *supervisor);
/* Gives the containers that run the names, if these have changed. */
void clv_supervisor_tell_names(struct clv_supervisor *supervisor);

/* --- events.c --- */

/* Records a decision: about a service (NULL: the project), what was done, and why. */
void clv_supervisor_say(struct clv_supervisor *supervisor, const struct clv_unit *unit,
	const char *what, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Those with an id above after, oldest first. */
json_t *clv_supervisor_events(const struct clv_supervisor *supervisor, uint64_t after);
void clv_supervisor_forget_events(struct clv_supervisor *supervisor);

/* --- replica.c --- */

/* Starts a replica in a free slot.  Where no device has room there is none after it. */
void clv_replica_start(struct clv_unit *unit, unsigned slot, uint64_t generation);
/* Takes over a container that runs. */
void clv_replica_adopt(struct clv_unit *unit, const struct clv_engine_found *found);
/* Looks whether it got its lease, became ready or healthy. */
void clv_replica_tick(struct clv_replica *replica, uint64_t now_ns);
void clv_replica_drain(struct clv_replica *replica);
void clv_replica_set_phase(struct clv_replica *replica, enum clv_replica_phase phase);
/* It gets requests from now on, unless the proxy cannot be told: then by a later tick. */
bool clv_replica_serve(struct clv_replica *replica);
/* Removes container and lease; the slot is free when both are gone. */
void clv_replica_remove(struct clv_replica *replica);
/* Forgets it; container and lease stay.  Accepts NULL. */
void clv_replica_free(struct clv_replica *replica);
struct clv_rollout_replica clv_replica_view(
	const struct clv_replica *replica, uint64_t now_ns);
const char *clv_replica_phase_to_string(enum clv_replica_phase phase);

/* --- sleep.c --- */

/* A drained replica is frozen, and gives the compute of its lease back.  One that cannot
 * be frozen is removed. */
void clv_replica_freeze(struct clv_replica *replica);
/* In place of clv_replica_tick(): looks whether it is frozen yet, and gives back what
 * could not be given before. */
void clv_replica_tick_frozen(struct clv_replica *replica, uint64_t now_ns);
/* It goes on, and gets requests; where its device has no room it stays frozen. */
void clv_replica_thaw(struct clv_replica *replica);
/* Takes the compute of its lease again where a supervisor before has given it back, and
 * ended while the replica was thawed to be removed.  Returns whether it may get requests;
 * without room it is removed. */
bool clv_replica_take_compute(struct clv_replica *replica, uint64_t now_ns);

/* --- unit.c --- */

/* One step of a service: its number, the next replica, its ports. */
void clv_unit_tick(struct clv_unit *unit, uint64_t now_ns, bool is_look);
/* Whether something is in progress, so that the next tick comes soon. */
bool clv_unit_is_busy(const struct clv_unit *unit);
/* When its next step can come, if nothing else happens: now_ns, or later where it waits
 * for a time. */
uint64_t clv_unit_next_ns(const struct clv_unit *unit, uint64_t now_ns);
/* Whether a replica may start now. */
bool clv_unit_may_start(const struct clv_unit *unit, uint64_t now_ns);
/* Opens its ports, and those of a changed file. */
void clv_unit_bind(struct clv_unit *unit);
/* Asks the proxy for figures. */
void clv_unit_look(struct clv_unit *unit);
/* How many of its replicas could stop for others, and since when it is idle. */
uint32_t clv_unit_spare(const struct clv_unit *unit, uint64_t *ret_idle_ns);
/* Sets the number of replicas, for a user. */
void clv_unit_set(struct clv_unit *unit, uint32_t n, uint64_t now_ns);
/* Closes its ports; its proxy ends after its connections. */
void clv_unit_close(struct clv_unit *unit);
/* The same at once. */
void clv_unit_end_proxy(struct clv_unit *unit);
/* Forgets it; what runs goes on. */
void clv_unit_free(struct clv_unit *unit);

/* --- status.c --- */

/* The answer to "status" without events; the caller owns it. */
json_t *clv_supervisor_show(const struct clv_supervisor *supervisor);
/* An answer of control.sock that says why a request is refused. */
json_t *__attribute__((format(printf, 1, 2)))
clv_supervisor_refuse(const char *format, ...);

/* --- give-way.c --- */

/* Looks for idle replicas of other services, also of other projects, that could stop so
 * that one of a service which needs room has some, and asks their supervisors for it.
 * Returns at once; what comes of it is an event, and unit->giving_way. */
void clv_supervisor_make_room(struct clv_supervisor *supervisor);
/* {"leases", "for"}: these replicas stop.  Returns an answer for control.sock. */
json_t *clv_supervisor_give_way(struct clv_supervisor *supervisor, const json_t *request);
/* Ends the search.  Accepts NULL. */
void clv_round_free(struct clv_round *round);

/* --- move.c --- */

/* {"lease", "device", "check"}: a replica moves, or, if check is true, could move now.
 * Returns an answer for control.sock. */
json_t *clv_supervisor_move(struct clv_supervisor *supervisor, const json_t *request);
/* Tells of a move that is complete, or cannot be. */
void clv_unit_end_move(struct clv_unit *unit, uint64_t now_ns);

/* --- supervisor.c --- */

/* Reads the kept file, and takes over what runs.  fresh: services that could be asleep
 * start, with the numbers of the file.  A project that is ending needs no file. */
int clv_supervisor_start(
	struct clv_supervisor *supervisor, bool fresh, struct clv_error *err);
/* Reads the file again. */
int clv_supervisor_reload(struct clv_supervisor *supervisor, struct clv_error *err);
/* At the end: removes containers and leases of the project that it does not know, and
 * counts those that stay. */
void clv_supervisor_sweep(struct clv_supervisor *supervisor);
void clv_supervisor_clear(struct clv_supervisor *supervisor);

/* --- state.c --- */

/* Writes state.json if it has changed. */
int clv_supervisor_keep(struct clv_supervisor *supervisor, struct clv_error *err);
/* Reads that of the supervisor before. */
void clv_supervisor_recall(struct clv_supervisor *supervisor);
/* Marks the replicas that were to stop.  Returns how many replicas fewer there will be.
 */
uint32_t clv_unit_recall_leaving(struct clv_unit *unit);
/* Gives a service what was kept of it. */
void clv_unit_recall(struct clv_unit *unit, bool fresh, uint64_t now_ns);

/* --- control-server.c --- */

/* Answers on control.sock. */
int clv_supervisor_listen(struct clv_supervisor *supervisor, struct clv_error *err);
/* {"service", "replicas", "by"}: sets the number; by is for people, and may be missing.
 * Returns an answer for control.sock. */
json_t *clv_supervisor_scale(struct clv_supervisor *supervisor, const json_t *request);
