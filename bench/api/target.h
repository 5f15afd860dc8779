/*
 * An API server that is measured: its own etcd with fsync, and a process that serves
 * Kubernetes' API over TLS on a free port, to those who send a token.
 */
#ifndef BENCH_API_TARGET_H
#define BENCH_API_TARGET_H

#include "bench/live/live.h"
#include "tests/support/coord/daemon/daemon_fixture.h"

enum { TARGET_PATH_SIZE = 512 };

enum target_kind {
	TARGET_PLACET, /* the client is one of the masters, and nothing is audited */
	TARGET_RIGHTS, /* the client has rights by a binding, and changes are audited */
	TARGET_KUBE,
};

struct target {
	enum target_kind kind;
	const char *name;    /* "placet", "placet-rights", "kube-apiserver" */
	const char *program; /* of kube-apiserver */
	struct live live;
	struct daemon_fixture_process process;
	char dir[TARGET_PATH_SIZE]; /* the certificates and logs; goes with etcd */
	char ca_file[TARGET_PATH_SIZE + 16];
	const char *token;
	uint16_t port;
	unsigned starts;
};

/* Starts etcd and the server, and returns when the server is ready. */
void target_open(struct target *target, enum target_kind kind, const char *program,
                 const char *dir);
/* Starts the server again, over the same etcd. */
void target_restart(struct target *target);
void target_close(struct target *target);
/* CPU time so far. */
double target_cpu_s(const struct target *target);
double target_etcd_cpu_s(const struct target *target);
/* The resident memory at present, in bytes. */
double target_rss(const struct target *target);

#endif
