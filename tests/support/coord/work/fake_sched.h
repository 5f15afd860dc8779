/*
 * A fake sched for tests of the driver: it gives every pod a state, each by a
 * transaction of its own, and does nothing else. It needs no nodes, but their lists
 * have to be complete.
 */
#ifndef TESTS_SUPPORT_COORD_WORK_FAKE_SCHED_H
#define TESTS_SUPPORT_COORD_WORK_FAKE_SCHED_H

#include "shardsched/shard/sched.h"

enum { FAKE_PODS_MAX = 256, FAKE_KEY_SIZE = 128 };

struct fake_switches {
	unsigned news_fail; /* number of calls of sched_new() and sched_own() that fail */
	bool never_quiet;
	bool relist;          /* asks once to list the schedules of partition 0 again */
	unsigned begun;       /* number of such lists */
	unsigned malformed;   /* number of actions that report a malformed key */
	unsigned value_bytes; /* size of a state's value; 0: small */
	unsigned runs_max;    /* most pods that a run was allowed to decide */
	unsigned run_last;    /* pods that the last run was allowed to decide */
	unsigned runs;        /* number of runs */
	uint64_t run_ns;      /* duration of a run */
	uint64_t clock_ns;    /* time after all runs */
	bool times_plugins;   /* sched_new() was given a clock */
	unsigned rewound;     /* number of sched_rewound() calls */
	unsigned quiesced;    /* number of partitions that were quiesced */
	unsigned configured;  /* number of sched_configure() calls */
	uint32_t batch;       /* of the last settings */
	bool view;            /* a view is wanted */
	bool view_anew;       /* asks once to open the view again */
	unsigned view_begun, view_ended, view_records, view_events;
	unsigned view_lost, view_closed;
	int64_t progress;     /* last progress of the schedules of partition 0 */
	uint32_t remote_list; /* partition of which a remote list is wanted, plus one;
	                       * 0: none */
	unsigned remote_lists, remote_records; /* lists that ended; nodes and allocs
	                                        * that they brought */
	unsigned remote_page;                  /* records of the first page, while it
	                                        * is 0 */
	int64_t remote_revision;
	enum pl_code remote_why; /* why the last one failed */
	struct kv_limits limits;
};

extern struct fake_switches fake;

#endif
