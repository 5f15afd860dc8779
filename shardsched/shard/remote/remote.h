/*
 * A shard and the nodes that it does not own. Headers and files:
 *
 *	fleet_view.h   fleet_view.c                     all nodes, followed in one order
 *	remote_list.h  remote_list.c, _fail.c           partitions of others, listed once
 *	digests.h      digest_index.c, digest_admits.c  what other shards say they have
 *	               own_digest.c, digest_make.c, _fit.c  what this shard says
 *	remote.h       remote.c                         pods that find no local node
 *	               node_reads.c                     specs that are read for them
 *	               remote_commit.c                  commits on remote nodes
 *
 * Invariants: a pod waits for a remote list or for room in remote commits only while it
 * is in the queue (LINKED_REMOTE_LIST, LINKED_FOLLOWER); of each class at most one pod,
 * the leader, waits so, and the others follow it.
 */
#ifndef SHARDSCHED_SHARD_REMOTE_REMOTE_H
#define SHARDSCHED_SHARD_REMOTE_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "shardsched/shard/remote/digests.h"
#include "shardsched/shard/remote/fleet_view.h"
#include "shardsched/shard/remote/remote_list.h"
#include "shardsched/shard/txn/conflicts.h"
#include "store/base/list.h"
#include "store/kv/types.h"

struct cycle_outcome;
struct queue_class;
struct queue_event;
struct registered_class;
struct sched;
struct sched_node;
struct sched_pod;
struct shard_txn;
struct spec;

/* The search for a remote node by the pods of one class; made for the first such pod. */
struct remote_search {
	uint32_t *tried; /* by partition: number of the digest entry that was tried; NULL:
	                    none was */
	struct sched_pod *leader; /* waits for a list, or for room; NULL: no pod waits */
	struct pl_list followers; /* pods, by link, that wait for the leader's result */
};

/* Commits on remote nodes, and the pods that wait for them. */
struct remote_state {
	struct pl_list ready;        /* nodes, as sched.ready */
	struct pl_list list_waiters; /* pods, by link, that wait for a remote list */
	struct pl_list room_waiters; /* pods, by link, that wait for room in commits */
	uint32_t waiting;            /* pods that wait at remote nodes to be committed */
	uint32_t out;                /* txns under way */
	uint32_t window;             /* txns that may be under way */
	uint32_t streak;             /* successes since the window grew */
	uint32_t placements_max;     /* in one txn */
	uint64_t pause_ms;           /* length of the pause after the last conflict */
	uint64_t resume_ms;          /* no txn is sent before */
	uint64_t excluded_ms; /* when the first excluded node comes back; 0: none is */
};

void remote_init(struct sched *sched);
/* Runs a cycle over all known nodes. False: it failed; the pod is tried again. */
bool remote_run_cycle(struct sched *sched, struct sched_pod *pod, uint64_t draw,
                      struct cycle_outcome *out);
/* The pod found no local node. True: it is placed, or waits. False: *outcome tells what
 * refused it on the known nodes, and *asked whether the last cycle looked at them. */
bool remote_decide(struct sched *sched, struct sched_pod *pod, uint64_t draw,
                   struct cycle_outcome *outcome, bool *asked);
/* A place between 0 and 1, in the high half: among equal nodes each shard has a share of
 * its own to draw from, as far as there are shares. */
uint64_t remote_draw(const struct sched *sched, uint64_t draw);
/* The pod waits until more is known. */
void remote_await(struct sched *sched, struct sched_pod *pod);
/* The pod can only be judged by the fleet view, which is taken up; it waits for it. */
void remote_await_view(struct sched *sched, struct sched_pod *pod);
/* All nodes are known, but for a few whose pods' specs are still being read. */
bool remote_sees_all(const struct sched *sched);
/* The lowest priority of a pod that may be preempted on a remote node, by the digests;
 * INT32_MAX: there is none. */
int32_t remote_least_priority(const struct sched *sched, const struct spec *spec);
/* A changed digest may help pods of the class. */
bool remote_hint(const struct sched *sched, const struct queue_class *class,
                 const struct queue_event *event);
/* A list, or a digest, has come: the pods that wait for it are tried. */
void remote_wake_listed(struct sched *sched);
/* There is room for so many placements: as many pods that wait for it are tried. */
void remote_wake_room(struct sched *sched, uint32_t room);
/* A pod of the class was placed or refused: at most `most` followers are tried. */
void remote_wake_followers(struct sched *sched, struct registered_class *open,
                           uint32_t most);
/* No pod waits in it. NULL does nothing. */
void remote_search_free(struct remote_search *search);

/* -- node_reads.c ----------------------------------------------------------------- */

/* Reads the specs on more of the listed nodes that may have room for the pod. False: all
 * of them have been read. */
bool remote_read_nodes(struct sched *sched, const struct spec *spec, uint64_t draw);

/* -- remote_commit.c -------------------------------------------------------------- */

void remote_commit_run(struct sched *sched);
/* Placements for which there is room in remote commits at the moment. */
uint32_t remote_commit_room(const struct sched *sched);
bool remote_commit_is_ready(const struct sched *sched);
uint64_t remote_commit_deadline_ms(const struct sched *sched);
/* A TXN_REMOTE ended. conflict: a key was newer than the decision. */
void remote_commit_ended(struct sched *sched, const struct shard_txn *txn, bool conflict);
/* The node's keys were newer than the decision. A node that keeps refusing is excluded
 * for a while. */
void remote_commit_refused(struct sched *sched, struct sched_node *node,
                           enum conflict_cause cause);

#endif
