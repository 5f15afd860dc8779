/*
 * The inside of the launcher, shared by its files; nothing else includes it. launch.c has
 * the diagram of its states.
 *
 * Invariants: handles counts the close callbacks that libuv owes; the launch is freed at
 * 0. A port that no member listens on is held by a bound socket.
 */
#ifndef STORE_ETCD_LAUNCH_INT_H
#define STORE_ETCD_LAUNCH_INT_H

#include <stdio.h>

#include "store/etcd/launch.h"

enum {
	LAUNCH_PATH_SIZE = 512,
	LAUNCH_URL_SIZE = 80,
	LAUNCH_HOST_SIZE = 46, /* size of an IPv6 address as text */
	LAUNCH_EXTRA_MAX = 64,
	LAUNCH_PROBE_MS = 20,
};

/* A port of a member. While no member listens on it a bound socket keeps others away; fd
 * is -1 otherwise. */
struct launch_port {
	uint16_t number;
	int fd;
};

/* A run of a member. It is a block of its own, because a member may be started again
 * before libuv has closed the handle of its last run. */
struct launch_proc {
	uv_process_t handle;
	struct launch_member *member;
};

/* RUNS --SIGTERM or SIGKILL--> STOP_SENT --etcd_launch_restart()--> RESTARTS --> RUNS */
enum launch_member_state {
	MEMBER_RUNS, /* or it ended by itself */
	MEMBER_STOP_SENT,
	MEMBER_RESTARTS, /* starts again as soon as it has ended */
};

struct launch_member {
	struct etcd_launch *launch;
	unsigned index;
	struct launch_proc *proc; /* NULL: not running */
	enum launch_member_state state;
	bool stopped; /* SIGSTOP */
	bool healthy;
	bool probing; /* a health request is under way */
	unsigned probed_attempt;
	char why[PL_ERR_MSG_SIZE]; /* result of the last health request */
	struct launch_port client, peer;
	char host[LAUNCH_HOST_SIZE];
	int netns_fd; /* -1: the caller's own namespace */
	char url[LAUNCH_URL_SIZE];
	char peer_url[LAUNCH_URL_SIZE];
	char log_path[LAUNCH_PATH_SIZE];
	long log_from; /* offset in the log where this run begins */
};

enum launch_state {
	LAUNCH_BEGIN,
	LAUNCH_PROBING, /* members run, not all of them serve yet */
	/* a port was taken: waits for all members to end, then tries again */
	LAUNCH_RETRY,
	LAUNCH_UP,
	LAUNCH_ENDING,   /* waits for the members to end */
	LAUNCH_REMOVING, /* waits for the guard to remove the directory */
	LAUNCH_CLOSING,  /* waits for libuv's close callbacks */
};

struct etcd_launch {
	uv_loop_t *loop;
	enum launch_state state;
	unsigned attempt;
	uint64_t deadline_ms;
	size_t handles; /* close callbacks that libuv owes */
	uv_timer_t timer;
	struct http *http; /* used until the launch is up */

	unsigned count;
	struct launch_member members[ETCD_MEMBERS_MAX];
	bool keep_dir, no_fsync, tls;
	uint32_t heartbeat_ms, election_ms, ready_timeout_ms;
	char *extra[LAUNCH_EXTRA_MAX + 1];

	char etcd_path[LAUNCH_PATH_SIZE];
	char setpriv_path[LAUNCH_PATH_SIZE];
	char dir[LAUNCH_PATH_SIZE];
	char ca_file[LAUNCH_PATH_SIZE];
	char cert_file[LAUNCH_PATH_SIZE];
	char key_file[LAUNCH_PATH_SIZE];
	char endpoints[ETCD_MEMBERS_MAX * LAUNCH_URL_SIZE];

	/* The guard outlives this process and removes the directory. */
	uv_process_t guard;
	uv_pipe_t guard_pipe; /* closing it makes the guard remove the directory */
	bool guard_open, guard_pipe_open;
	bool dir_removed; /* the directory is removed */
	unsigned guards;  /* guards started so far */

	void (*on_exit)(void *ctx, unsigned member, int exit_status, int signal);
	void *exit_ctx;
	etcd_launch_ready_fn *ready; /* NULL once it was called */
	void *ready_ctx;
	etcd_launch_done_fn *done;
	void *done_ctx;
	struct pl_err err;
};

/* launch.c. Something ended: takes the next step if it can be taken. Calls out. */
void launch_advance(struct etcd_launch *launch);
void launch_on_timer(uv_timer_t *timer);
void launch_free(struct etcd_launch *launch); /* frees the memory only */
void launch_member_ended(struct launch_member *member, int64_t status, int signum);

/* launch_port.c. Pick and hold work in the member's network namespace. */
PL_NODISCARD enum pl_code launch_port_pick(struct launch_member *member,
                                           struct launch_port *port, struct pl_err *err);
void launch_port_hold(const struct launch_member *member, struct launch_port *port);
void launch_port_release(struct launch_port *port);
void launch_port_done(struct launch_port *port);

/* Moves this thread into a network namespace; netns_fd -1: does nothing. Leave takes what
 * enter returned in *back. */
PL_NODISCARD enum pl_code launch_netns_enter(int netns_fd, int *back, struct pl_err *err);
void launch_netns_leave(int back);

/* launch_proc.c: the processes of the members and the guard. */
PL_NODISCARD enum pl_code launch_find(const char *name, char *path, const char *package,
                                      struct pl_err *err);
PL_NODISCARD enum pl_code launch_spawn(struct launch_member *member, struct pl_err *err);
void launch_kill(struct launch_member *member, int signum);
/* Starts the guard. now: it removes the directory at once instead of waiting for this
 * process to end. */
PL_NODISCARD enum pl_code launch_guard_spawn(struct etcd_launch *launch, bool now,
                                             struct pl_err *err);
void launch_guard_release(struct etcd_launch *launch);

/* launch_probe.c. launch_probe_serves() returns the last result and starts the next
 * request. */
PL_NODISCARD enum pl_code launch_probe_open(struct etcd_launch *launch,
                                            struct pl_err *err);
void launch_probe_close(struct etcd_launch *launch);
bool launch_probe_serves(struct launch_member *member);

/* launch_log.c: the line that says why the last run of a member ended. */
const char *launch_log_reason(const struct launch_member *member, char *text,
                              size_t size);

#endif
