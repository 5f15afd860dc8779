/*
 * A kv as one process sees it: the depot behind a network, on the process's own
 * clock.
 *
 * Requests and answers travel each at their own pace, so they overtake each
 * other; either may be lost, and a request may arrive long after its caller has
 * given up. A write without an answer ends as PL_UNKNOWN. The notes of a watch
 * stay in order, however late, before or after the answer of what they are
 * about.
 *
 * While the process is paused nothing is delivered and no timer runs; what it
 * had sent still arrives. When it has crashed nothing leaves it any more, and
 * what is left of it may end in peace: its calls and watches end at once.
 */
#ifndef TESTS_SIM_SIMKV_H
#define TESTS_SIM_SIMKV_H

#include "tests/sim/depot.h"
#include "tests/sim/simclock.h"

enum simkv_way { SIMKV_REQUESTS, SIMKV_ANSWERS, SIMKV_NOTES, SIMKV_WAYS };

/* May be changed at any time. In thousandths: how many of them. */
struct simlink {
	uint32_t delay_min_ms, delay_max_ms;
	uint32_t slow_in_1000, slow_max_ms;
	uint32_t lose_request_in_1000;
	uint32_t lose_answer_in_1000;
	uint32_t late_in_1000, late_max_ms; /* requests that arrive far too late */
	uint32_t note_max_ms;               /* notes take up to so much longer */
	uint32_t lag_max_ms;                /* timers run up to so much late */
	uint32_t busy_in_1000;              /* of starts: PL_BUSY */
};

struct simkv_counts {
	uint64_t requests, lost_requests, lost_answers, late, held;
	uint64_t unknown, notes, breaks, rewound, busy;
	uint64_t unheard_yes, unheard_no; /* transactions whose outcome nobody heard */
};

struct simkv;

struct simkv_opts {
	struct agenda *agenda;
	struct depot *depot;
	struct story *story;
	const char *name; /* in the story; borrowed */
	struct simclock clock;
	struct simlink link;
	uint64_t seed;
	int64_t whose;               /* its writes: depot.h */
	size_t room_bytes;           /* 0: 8 MiB */
	struct simkv_counts *counts; /* added to; borrowed */
};

struct simkv *simkv_new(const struct simkv_opts *opts);
/* After kv_close() has come to its end. */
void simkv_free(struct simkv *sim);

struct kv *simkv_kv(struct simkv *sim);
struct simlink *simkv_link(struct simkv *sim);
bool simkv_is_closed(const struct simkv *sim);

uint64_t simkv_local_ms(const struct simkv *sim);
const struct simclock *simkv_clock(const struct simkv *sim);
void simkv_drift(struct simkv *sim, int32_t ppm);
void simkv_jump(struct simkv *sim, uint64_t ahead_ms);

/* What is on its way waits until the cut is healed, or is lost. */
void simkv_cut(struct simkv *sim, enum simkv_way way, bool cut);
bool simkv_is_cut(const struct simkv *sim, enum simkv_way way);

/* As SIGSTOP; with_clock: as a machine that is suspended. */
void simkv_pause(struct simkv *sim, bool with_clock);
void simkv_resume(struct simkv *sim);
bool simkv_is_paused(const struct simkv *sim);

/* Transactions of which it will hear nothing more, and for which it still waits. */
unsigned simkv_unheard(const struct simkv *sim);

/* The process is no more. */
void simkv_crash(struct simkv *sim);

/* The connection breaks and comes back: calls end, watches resume from where
 * they were. Forget: nothing of what was sent arrives. */
void simkv_break(struct simkv *sim, bool forget);

#endif
