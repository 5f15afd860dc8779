/*
 * The member clusters, as far as shards need them: a pod whose state asks for its
 * termination is written as gone at once, as the member of its cluster would do.
 * (scheduler_perf gives pods no grace period either.)
 */
#ifndef BENCH_LIVE_MEMBER_H
#define BENCH_LIVE_MEMBER_H

#include "bench/live/child.h"
#include "bench/live/live.h"

struct member;

/* Opens a member that watches states from that revision on. Never NULL. */
struct member *member_open(struct kv *kv, int64_t from);
/* Closes the member when its watch has ended: turn runs the loop once. */
void member_close(struct member *member, void (*turn)(void *ctx), void *ctx);

/* Runs a member in a child process until child_done. */
void member_start(struct child *child, struct live *live);

#endif
