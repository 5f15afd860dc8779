/*
 * For tests of the driver: a sched that gives every pod a state, each by a transaction of
 * its own, and does nothing else. It needs no nodes; their lists must be complete though.
 */
#ifndef COORD_WORK_FAKE_SCHED_H
#define COORD_WORK_FAKE_SCHED_H

#include "shardsched/shard/sched.h"

enum { FAKE_PODS_MAX = 256, FAKE_KEY_SIZE = 128 };

struct fake_switches {
	unsigned news_fail; /* so many calls of sched_new() and sched_own() fail */
	bool never_quiet;
	bool relist;          /* asks once for the schedules of partition 0 */
	unsigned begun;       /* lists of those */
	unsigned malformed;   /* so many actions say that something is */
	unsigned value_bytes; /* of a state; 0: a few */
	unsigned runs_max;    /* pods that a run was allowed to decide, at most */
	unsigned run_last;    /* likewise, the last one */
	unsigned runs;        /* how often it ran */
	uint64_t run_ns;      /* what one takes */
	uint64_t clock_ns;    /* after all of them */
	unsigned rewound;     /* how often that was told */
	unsigned quiesced;    /* partitions, likewise */
	unsigned configured;  /* how often it was */
	uint32_t batch;       /* as the last settings said */
	bool view;            /* it is wanted */
	bool view_anew;       /* asked once */
	unsigned view_begun, view_ended, view_records, view_events;
	unsigned view_lost, view_closed;
	int64_t progress;     /* the last of the schedules of partition 0 */
	uint32_t remote_list; /* a partition to be visited, and one more; 0: none */
	unsigned remote_lists, remote_records; /* of nodes and allocs */
	unsigned remote_page;                  /* the first, while it is 0 */
	int64_t remote_revision;
	enum pl_code remote_why; /* it failed */
	struct kv_limits limits;
};

extern struct fake_switches fake;

#endif
