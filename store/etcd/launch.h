/*
 * An etcd of our own: started, watched and stopped by whoever needs one.
 *
 * Members listen on free ports of the loopback interface, or on addresses that
 * the caller prepared in network namespaces; data goes to a fresh directory
 * that disappears with the cluster. A member dies with the process that started
 * it, however that one ends; so does the directory. (For the kernel it is the
 * thread: start and revive members from one that lasts.)
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

/* What GOGC is for them, with GOMEMLIMIT at 80 % of the machine's memory (or of what a
 * container is given) for all of them, unless the environment has one of the two. */
enum { ETCD_LAUNCH_GOGC = 300 };

struct etcd_launch_opts {
	unsigned members; /* 1 or more, at most ETCD_MEMBERS_MAX */
	const char *dir;  /* parent of the data directory; NULL: TMPDIR or /tmp */
	bool keep_dir;    /* leave the data behind at the end */
	bool no_fsync;    /* tests: --unsafe-no-fsync */
	bool tls;         /* makes a CA and certificates, wants client certificates */
	uint32_t heartbeat_ms, election_ms; /* 0: etcd's defaults */
	uint32_t ready_timeout_ms;          /* 0: 30 s */
	const char *const
		*extra_args; /* NULL-terminated, for every member; may be NULL */
	/* Hosts prepared by the caller, one a member, or NULL for 127.0.0.1: the
	 * address to listen on and an open descriptor of its network namespace. */
	const char *const *host_ip;
	const int *host_netns_fd;
	/* Called when a member ends that nobody asked to end; exit_status -1 when
	 * one that was still ending could not be revived. May be NULL. */
	void (*on_exit)(void *ctx, unsigned member, int exit_status, int signal);
	void *ctx;
};

/* err is NULL when every member serves requests. Otherwise whatever was started
 * is gone already, and the launch with it. */
typedef void etcd_launch_ready_fn(void *ctx, const struct pl_err *err);
typedef void etcd_launch_done_fn(void *ctx);

PL_NODISCARD enum pl_code etcd_launch_start(uv_loop_t *loop,
                                            const struct etcd_launch_opts *opts,
                                            etcd_launch_ready_fn *ready, void *ctx,
                                            struct etcd_launch **out, struct pl_err *err);

/* Ends every member, removes the directory; everything is gone after done. May
 * come before ready, which is then called with PL_CANCELED, just before done. */
void etcd_launch_stop(struct etcd_launch *launch, etcd_launch_done_fn *done, void *ctx);

/* The same two, running the loop until they are through: for tests and tools. */
PL_NODISCARD enum pl_code etcd_launch_start_wait(uv_loop_t *loop,
                                                 const struct etcd_launch_opts *opts,
                                                 struct etcd_launch **out,
                                                 struct pl_err *err);
void etcd_launch_stop_wait(struct etcd_launch *launch);

/* "http://127.0.0.1:40123,http://...": owned by the launch. */
const char *etcd_launch_endpoints(const struct etcd_launch *launch);
const char *etcd_launch_endpoint(const struct etcd_launch *launch, unsigned member);
const char *etcd_launch_dir(const struct etcd_launch *launch);

/* Client files when opts.tls: PEM paths in the launch's directory. */
const char *etcd_launch_ca_file(const struct etcd_launch *launch);
const char *etcd_launch_cert_file(const struct etcd_launch *launch);
const char *etcd_launch_key_file(const struct etcd_launch *launch);

/* 0: not running. */
pid_t etcd_launch_pid(const struct etcd_launch *launch, unsigned member);

/* SIGSTOP (it has stopped on return), SIGCONT, or SIGKILL (the member stays down until it
 * is revived). */
PL_NODISCARD enum pl_code etcd_launch_signal(struct etcd_launch *launch, unsigned member,
                                             int signum, struct pl_err *err);

/* Starts a member that is down again, with its data and its ports; it needs a
 * moment until it serves. May follow a SIGKILL at once. */
PL_NODISCARD enum pl_code etcd_launch_restart(struct etcd_launch *launch, unsigned member,
                                              struct pl_err *err);

/* The end of a member's log, for error messages. Returns text. */
const char *etcd_launch_log_tail(const struct etcd_launch *launch, unsigned member,
                                 char *text, size_t size);

#endif
