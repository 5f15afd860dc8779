/*
 * An etcd cluster started, watched and stopped by this process.
 *
 * Members listen on free ports of the loopback interface, or on addresses that the caller
 * prepared in network namespaces. Data goes to a fresh directory.
 *
 * Invariants: a member ends when the thread that started it ends, and the directory is
 * removed when the process ends, in any way. (For the kernel it is the thread, so start
 * and restart members from one that lasts.) ready fires at most once and before done.
 */
#ifndef STORE_ETCD_LAUNCH_H
#define STORE_ETCD_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "store/base/err.h"

enum { ETCD_MEMBERS_MAX = 5 };

struct etcd_launch;

/* GOGC of the members; GOMEMLIMIT is 80 % of the machine's memory (or of the container's)
 * for all of them together. Neither is set when the environment has one of the two. */
enum { ETCD_LAUNCH_GOGC = 300 };

struct etcd_launch_opts {
	unsigned members; /* 1 to ETCD_MEMBERS_MAX */
	const char *dir;  /* parent of the data directory; NULL: TMPDIR or /tmp */
	bool keep_dir;    /* does not remove the data at the end */
	bool no_fsync;    /* for tests: --unsafe-no-fsync */
	bool tls;         /* makes a CA and certificates, requires client certificates */
	uint32_t heartbeat_ms, election_ms; /* 0: etcd's defaults */
	uint32_t ready_timeout_ms;          /* 0: 30 s */
	const char *const
		*extra_args; /* NULL-terminated, for every member; may be NULL */
	/* Hosts that the caller prepared, one a member, or NULL for 127.0.0.1: the
	 * address to listen on and an open descriptor of its network namespace. */
	const char *const *host_ip;
	const int *host_netns_fd;
	/* Called when a member ends without a request; exit_status is -1 when a member
	 * could not be restarted. May be NULL. */
	void (*on_exit)(void *ctx, unsigned member, int exit_status, int signal);
	void *ctx;
};

/* err is NULL when every member serves requests. Otherwise everything that was started is
 * gone, and so is the launch. */
typedef void etcd_launch_ready_fn(void *ctx, const struct pl_err *err);
typedef void etcd_launch_done_fn(void *ctx);

PL_NODISCARD enum pl_code etcd_launch_start(uv_loop_t *loop,
                                            const struct etcd_launch_opts *opts,
                                            etcd_launch_ready_fn *ready, void *ctx,
                                            struct etcd_launch **out, struct pl_err *err);

/* Ends every member and removes the directory; done comes when everything is gone. May be
 * called before ready, which is then called with PL_CANCELED just before done. */
void etcd_launch_stop(struct etcd_launch *launch, etcd_launch_done_fn *done, void *ctx);

/* The same two functions, running the loop until they are through: for tests and tools.
 */
PL_NODISCARD enum pl_code etcd_launch_start_wait(uv_loop_t *loop,
                                                 const struct etcd_launch_opts *opts,
                                                 struct etcd_launch **out,
                                                 struct pl_err *err);
void etcd_launch_stop_wait(struct etcd_launch *launch);

/* "http://127.0.0.1:40123,http://..."; owned by the launch. */
const char *etcd_launch_endpoints(const struct etcd_launch *launch);
const char *etcd_launch_endpoint(const struct etcd_launch *launch, unsigned member);
const char *etcd_launch_dir(const struct etcd_launch *launch);

/* PEM files for a client, when opts.tls: paths in the launch's directory. */
const char *etcd_launch_ca_file(const struct etcd_launch *launch);
const char *etcd_launch_cert_file(const struct etcd_launch *launch);
const char *etcd_launch_key_file(const struct etcd_launch *launch);

/* The member's process; 0: not running. */
pid_t etcd_launch_pid(const struct etcd_launch *launch, unsigned member);

/* Sends SIGSTOP (the member has stopped on return), SIGCONT, or SIGKILL (the member stays
 * down until it is restarted). */
PL_NODISCARD enum pl_code etcd_launch_signal(struct etcd_launch *launch, unsigned member,
                                             int signum, struct pl_err *err);

/* Starts a member that is down again, with its data and its ports; it needs a moment
 * until it serves. May directly follow a SIGKILL. */
PL_NODISCARD enum pl_code etcd_launch_restart(struct etcd_launch *launch, unsigned member,
                                              struct pl_err *err);

/* Copies the end of a member's log, for error texts. Returns text. */
const char *etcd_launch_log_tail(const struct etcd_launch *launch, unsigned member,
                                 char *text, size_t size);

#endif
