/*
 * A kv as one process sees it: the simulated store behind a network, on the process's own
 * clock.
 *
 * Requests and answers travel each at their own pace, so they overtake each other; either
 * may be lost, and a request may arrive long after its caller has given up. A write
 * without an answer ends as PL_UNKNOWN. The notes of a watch stay in order, however late,
 * before or after the answer of the write that they are about.
 *
 * While the process is paused nothing is delivered and no timer runs; requests that it
 * has sent still arrive. After a crash no further request is sent, and its calls and
 * watches end at once.
 */
#ifndef TESTS_SIM_SIMKV_H
#define TESTS_SIM_SIMKV_H

#include "tests/sim/simclock.h"
#include "tests/sim/simstore.h"

enum simkv_way { SIMKV_REQUESTS, SIMKV_ANSWERS, SIMKV_NOTES, SIMKV_WAYS };

/* May be changed at any time. Fields in_1000: how many in a thousand. */
struct simlink {
	uint32_t delay_min_ms, delay_max_ms;
	uint32_t slow_in_1000, slow_max_ms;
	uint32_t lose_request_in_1000;
	uint32_t lose_answer_in_1000;
	uint32_t late_in_1000, late_max_ms; /* requests that arrive far too late */
	uint32_t note_max_ms;               /* notes take up to so much longer */
	uint32_t lag_max_ms;                /* timers run up to so much late */
	uint32_t busy_in_1000;              /* starts that are refused as PL_BUSY */
};

struct simkv_counts {
	uint64_t requests, lost_requests, lost_answers, late, held;
	uint64_t unknown, notes, breaks, rewound, busy;
	uint64_t unanswered_committed,
		unanswered_failed; /* transactions whose outcome the caller never
				    * learned */
};

struct simkv;

struct simkv_opts {
	struct agenda *agenda;
	struct simstore *store;
	struct story *story;
	const char *name; /* name in the story; borrowed */
	struct simclock clock;
	struct simlink link;
	uint64_t seed;
	int64_t writer;              /* writer of its revisions: simstore.h */
	size_t room_bytes;           /* 0: 8 MiB */
	struct simkv_counts *counts; /* added to; borrowed */
};

struct simkv *simkv_new(const struct simkv_opts *opts);
/* Only after the end of kv_close(). */
void simkv_free(struct simkv *sim);

struct kv *simkv_kv(struct simkv *sim);
struct simlink *simkv_link(struct simkv *sim);
bool simkv_is_closed(const struct simkv *sim);

uint64_t simkv_local_ms(const struct simkv *sim);
const struct simclock *simkv_clock(const struct simkv *sim);
void simkv_drift(struct simkv *sim, int32_t ppm);
void simkv_jump(struct simkv *sim, uint64_t ahead_ms);

/* Messages under way wait until the cut heals, or are lost. */
void simkv_cut(struct simkv *sim, enum simkv_way way, bool cut);
bool simkv_is_cut(const struct simkv *sim, enum simkv_way way);

/* As SIGSTOP does; with_clock: as when the machine is suspended. */
void simkv_pause(struct simkv *sim, bool with_clock);
void simkv_resume(struct simkv *sim);
bool simkv_is_paused(const struct simkv *sim);

/* Returns how many transactions wait for an answer that will never come. */
unsigned simkv_unanswered(const struct simkv *sim);

/* The process dies. */
void simkv_crash(struct simkv *sim);

/* The connection breaks and comes back: calls end, watches resume from where they were.
 * forget: no request that was sent arrives. */
void simkv_break(struct simkv *sim, bool forget);

#endif
