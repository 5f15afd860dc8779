/*
 * Who runs the pods, as far as the shards need somebody: pods that are told to go are
 * gone at once, and that is said in their states, as the member of their cluster would.
 * (scheduler_perf gives them no time to go either.)
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
