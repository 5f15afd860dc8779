/*
 * The decision what may be compacted and what is garbage. No I/O.
 *
 * **Compaction.** A look is one linearizable read of /pins/ at the store's revision R:
 *
 *	target = min(R - keep, create revision of the oldest honoured pin - 1)
 *
 * A pin that is made after the look has a create revision above R. So a compaction
 * that was decided from the look spares that pin's revision, however late it happens,
 * and even if the janitor is not the leader any more. A pin is honoured for pin_max_ms
 * from the moment when this janitor first saw it, by the janitor's own clock; wall
 * clocks of other machines are not trusted.
 *
 * keep counts transactions, whatever their size. So the bytes that the store has in
 * use are looked at too: their growth since an earlier look is an upper bound of the
 * history and the new keys since then. If it is more than history_bytes, that look's
 * revision becomes the target, unless the look is younger than JANITOR_YOUNG_MS, the
 * time that watchers get to follow.
 *
 * A look is cheap and a compaction is not. So there is a look a second, more when
 * writers are fast, and a compaction only after a tenth of keep (or a quarter of
 * history_bytes), or after the interval. The history is thus at most about 1.1 keep
 * long, plus what is written between two looks. A compaction reads every key, so in a
 * store that has n times history_bytes in use (n up to 10) it waits for n times as
 * much of keep and of the interval, or for growth by half of what is in use. Garbage
 * from before the janitor's term waits a minute at most, because its size is not
 * known. A full store does not wait: everything older than JANITOR_YOUNG_MS is
 * compacted.
 *
 * **Garbage.** Once an interval a sweep goes through the keys that may be garbage, a
 * page at a time with pauses. It removes owner and leader keys without a lease;
 * digests whose shard is missing at two sweeps in a row; versions of configurations
 * beyond the history, but never the current one. Each key is removed by a transaction
 * of its own, with the election's guard and the revision at which the key was seen.
 */
#ifndef COORD_JANITOR_JANITOR_CORE_H
#define COORD_JANITOR_JANITOR_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/base/err.h"
#include "store/base/rng.h"

enum {
	JANITOR_PINS_MAX = 256,
	JANITOR_PAGE = 64,     /* items */
	JANITOR_ORPHANS = 256, /* digests without a shard that are remembered from the
	                        * last sweep */
	JANITOR_SAMPLES = 64,  /* looks that are remembered */
	JANITOR_YOUNG_MS = 10000,
};

/* The stages of a sweep, in this order. */
enum janitor_stage {
	JANITOR_OWNERS,
	JANITOR_LEADERS,
	JANITOR_DIGESTS,
	JANITOR_VERSIONS, /* each configuration in turn */
	JANITOR_STAGES,
};

enum janitor_why {
	JANITOR_NO_LEASE,
	JANITOR_NO_SHARD,
	JANITOR_OLD_VERSION,
};

struct janitor_item {
	int64_t mod_revision;
	int64_t lease;
	uint64_t hash;    /* DIGESTS: hash of the shard's name */
	bool shard_lives; /* DIGESTS: the shard is registered */
	bool current;     /* VERSIONS: it is the current version */
};

/* One page of a stage. Keys of another kind are left out and not counted. */
struct janitor_page {
	const struct janitor_item *items;
	size_t count;
	bool more;       /* another page of this stage follows */
	uint64_t total;  /* VERSIONS: number of versions of this configuration */
	bool no_current; /* VERSIONS: the current version is not known */
};

enum janitor_event_type {
	JANITOR_EV_LEAD, /* leading */
	JANITOR_EV_TUNE, /* tune */
	JANITOR_EV_REWOUND,
	JANITOR_EV_LOOKED,    /* seq, revision, bytes, full, pins, pin_count, too_many */
	JANITOR_EV_COMPACTED, /* seq; or another client has compacted */
	JANITOR_EV_PAGE,      /* seq, page */
	JANITOR_EV_REMOVED,   /* seq, removed, absent: there is no such key now */
	JANITOR_EV_FAILED,    /* seq, code */
	JANITOR_EV_TIMEOUT,
};

struct janitor_tune {
	bool enabled;
	uint64_t interval_ms;
	uint64_t keep_revisions;
	uint64_t history_bytes;
	uint64_t pin_max_ms;
	uint32_t config_history;
};

struct janitor_event {
	enum janitor_event_type type;
	uint64_t now_ms;
	uint32_t seq;
	bool leading;
	bool removed;
	bool absent;
	bool too_many;  /* only some of the pins were read */
	uint64_t bytes; /* bytes that the store has in use; 0: not known */
	bool full;      /* the store refuses writes */
	int64_t revision;
	const int64_t *pins; /* create revisions */
	size_t pin_count;
	struct janitor_tune tune;
	struct janitor_page page;
	enum pl_code code;
};

enum janitor_action_type {
	JANITOR_DO_LOOK,    /* seq */
	JANITOR_DO_COMPACT, /* seq, revision */
	JANITOR_DO_PAGE,    /* seq, stage, config, next: the page after the last one */
	JANITOR_DO_REMOVE,  /* seq, item of the last page */
	/* Reported to the user: */
	JANITOR_REPORT_COMPACTED,     /* revision */
	JANITOR_REPORT_HELD,          /* revision; item: index of the pin */
	JANITOR_REPORT_TOO_MANY_PINS, /* there are more pins than can be read, so
	                               * nothing is compacted */
	JANITOR_REPORT_REMOVED,       /* item, why */
	JANITOR_REPORT_TROUBLE,       /* code */
};

struct janitor_action {
	enum janitor_action_type type;
	uint32_t seq;
	enum janitor_stage stage;
	uint32_t config;
	bool next;
	size_t item;
	enum janitor_why why;
	int64_t revision;
	enum pl_code code;
};

enum { JANITOR_ACTIONS_MAX = 4 };

struct janitor_actions {
	struct janitor_action item[JANITOR_ACTIONS_MAX];
	unsigned count;
};

struct janitor_pin {
	int64_t create_revision;
	uint64_t since_ms; /* when this janitor saw it first */
	bool seen;         /* the last look had it */
};

struct janitor_orphan {
	uint64_t hash;
	int64_t mod_revision;
};

/* The finding of a look. */
struct janitor_sample {
	int64_t revision;
	uint64_t grown; /* bytes of growth since the first look; freed bytes do not
	                 * reduce it */
	uint64_t at_ms;
};

/* The state of compaction. */
struct janitor_compaction {
	struct janitor_sample samples[JANITOR_SAMPLES]; /* a ring of looks */
	size_t sample_count, sample_next;
	uint64_t bytes, grown; /* at the last look */
	uint64_t target_grown, compacted_grown;
	struct janitor_pin pins[JANITOR_PINS_MAX];
	size_t pin_count;
	int64_t begun; /* revision of the first look; 0: no look yet */
	uint64_t begun_ms;
	int64_t revision; /* revision of the last look; 0: no look yet */
	uint64_t revision_ms;
	int64_t compacted; /* as far as this janitor knows */
	uint64_t compacted_ms;
	int64_t target;       /* of the compaction in flight; 0: none */
	int64_t held;         /* the pin that was reported last */
	bool pins_overflowed; /* too many pins were reported */
	bool full;            /* at the last look the store refused writes */
	uint32_t seq;         /* of the request in flight; 0: none */
	uint64_t look_ms;
};

/* The state of the sweep. */
struct janitor_sweep {
	enum janitor_stage stage;
	uint32_t config;
	bool next;        /* the next page is not the first of its stage */
	uint64_t at_ms;   /* when the next request is due */
	uint32_t seq;     /* of the request in flight; 0: none */
	bool paging;      /* the request in flight reads a page */
	uint64_t garbage; /* items of the page that are still to be removed, as bits */
	size_t item;      /* the item that is being removed */
	uint32_t tries;   /* attempts of this removal with an unknown outcome */
	bool more;        /* the stage has another page */
	struct janitor_orphan before[JANITOR_ORPHANS], now[JANITOR_ORPHANS];
	size_t before_count, now_count;
};

struct janitor_core {
	bool leading; /* elected and enabled: at work */
	bool elected;
	struct janitor_tune tune;
	uint32_t configs;  /* number of configurations */
	struct pl_rng rng; /* keeps federations on one store from sweeping at the same
	                    * time */
	uint32_t seq;      /* of the last request */
	struct janitor_compaction compaction;
	struct janitor_sweep sweep;
};

void janitor_core_init(struct janitor_core *core, const struct janitor_tune *tune,
                       uint32_t configs, uint64_t seed);

/* Once the deadline is reached JANITOR_EV_TIMEOUT must be fed first (asserted). */
void janitor_step(struct janitor_core *core, const struct janitor_event *event,
                  struct janitor_actions *actions);

/* When to feed JANITOR_EV_TIMEOUT. UINT64_MAX: never. */
uint64_t janitor_deadline_ms(const struct janitor_core *core);

#endif
