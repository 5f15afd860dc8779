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

/* On that kv, from that revision on. Never NULL. */
struct member *member_open(struct kv *kv, int64_t from);
/* Runs its watch to the end: turn runs the loop once. */
void member_close(struct member *member, void (*turn)(void *ctx), void *ctx);

/* In a process of its own, until child_done. */
void member_start(struct child *child, struct live *live);

#endif
