/*
 * Three etcd members on the wire, or on loopback ports where there is no wire,
 * and which of them leads.
 */
#ifndef TESTS_FAULTLAB_CLUSTER_H
#define TESTS_FAULTLAB_CLUSTER_H

#include <uv.h>

#include "store/etcd/etcd.h"
#include "store/etcd/launch.h"
#include "tests/faultlab/wire.h"

enum { CLUSTER_MEMBERS = 3, CLUSTER_URLS_SIZE = 192, CLUSTER_VERSION_SIZE = 32 };

struct cluster;

struct cluster_opts {
	struct wire *wire; /* hosts: the members, then the clients. NULL: loopback */
	bool secure;       /* members want TLS with client certificates, and passwords */
	/* Called when a member ended unasked. */
	void (*on_exit)(void *ctx, unsigned member, int exit_status, int signal);
	void *ctx;
};

/* Runs the loop until all members serve. */
PL_NODISCARD enum pl_code cluster_open(uv_loop_t *loop, const struct cluster_opts *opts,
                                       struct cluster **out, struct pl_err *err);

/* Runs the loop until everything is gone. */
void cluster_close(struct cluster *cluster);

/* Index of the leader; -1: not known at the moment. */
int cluster_leader(const struct cluster *cluster);

/* Version of the members, such as "3.4.23"; "" when no member has answered yet. */
const char *cluster_version(const struct cluster *cluster);

struct etcd_launch *cluster_launch(struct cluster *cluster);

/* A client of all members, which tries them in an order of its own; by way of the
 * ghost where there is a wire and ghost is wanted. */
PL_NODISCARD enum pl_code cluster_client(struct cluster *cluster, bool ghost,
                                         unsigned index, struct kv **out,
                                         struct pl_err *err);

#endif
