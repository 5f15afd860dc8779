/*
 * What may be compacted, and what is garbage, decided without I/O.
 *
 * Compaction. A look is one linearizable read of /pins/ at the store's revision R:
 *
 *	target = min(R - keep, create revision of the oldest honoured pin - 1)
 *
 * A pin that is made after the look has a create revision above R, so whatever is
 * decided from it, however late, and by whoever leads no more, leaves that pin's
 * revision alone. A pin is honoured for pin_max_ms from when this janitor first saw
 * it on its own clock; nobody's wall clock is believed.
 *
 * keep counts transactions, whatever their size. So the bytes that the store has in use
 * are looked at, too: what it grew by since some earlier look is at most what history
 * and new keys since then take. When that is more than history_bytes, that look's
 * revision will do as the target, unless it is younger than JANITOR_YOUNG_MS: watchers
 * are given that long to follow.
 *
 * Looks are cheap and compactions are not, so there is a look a second, more when
 * writers are fast, and a compaction only when a tenth of keep (or a quarter of
 * history_bytes) has come together, or the interval has passed. So the history is at most
 * about 1.1 keep long, plus what is written between two looks. A compaction reads every
 * key, so in a store that has n times history_bytes in use (n to 10) it waits for n times
 * as much of keep and of the interval, or for growth by half of what is in use; but what
 * a janitor finds when it comes waits a minute at most, since nobody knows how much of it
 * is garbage. A store that has no room any more does not wait: what is older than
 * JANITOR_YOUNG_MS goes.
 *
 * Garbage. Once an interval a sweep goes over what may hold garbage, a page at a
 * time with a pause between them. What goes: owner and leader keys without a lease;
 * digests without their shard at two sweeps in a row; versions of configurations
 * beyond the history, the current one never. Each by itself, under the election's
 * guard and the revision at which it was seen.
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
	JANITOR_ORPHANS = 256, /* digests remembered from the last sweep */
	JANITOR_SAMPLES = 64,  /* looks that are remembered */
	JANITOR_YOUNG_MS = 10000,
};

/* What a sweep goes through, in this order. */
enum janitor_stage {
	JANITOR_OWNERS,
	JANITOR_LEADERS,
	JANITOR_DIGESTS,
	JANITOR_VERSIONS, /* of each configuration in turn */
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
	uint64_t hash;    /* DIGESTS: of the shard's name */
	bool shard_lives; /* DIGESTS */
	bool current;     /* VERSIONS: is the live one */
};

/* Keys that are not of the stage's kind are left out, and not counted. */
struct janitor_page {
	const struct janitor_item *items;
	size_t count;
	bool more;       /* another page of this stage follows */
	uint64_t total;  /* VERSIONS: there are, of this configuration */
	bool no_current; /* VERSIONS: which one is live can not be told */
};

enum janitor_event_type {
	JANITOR_EV_LEAD, /* leading */
	JANITOR_EV_TUNE, /* tune */
	JANITOR_EV_REWOUND,
	JANITOR_EV_LOOKED,    /* seq, revision, bytes, full, pins, pin_count, too_many */
	JANITOR_EV_COMPACTED, /* seq; or somebody else had */
	JANITOR_EV_PAGE,      /* seq, page */
	JANITOR_EV_REMOVED,   /* seq, removed, absent: there is none now */
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
	bool too_many;  /* pins: not all of them were read */
	uint64_t bytes; /* that the store has in use; 0: not known */
	bool full;      /* it takes no writes */
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
	JANITOR_DO_PAGE,    /* seq, stage, config, next: the one behind the last */
	JANITOR_DO_REMOVE,  /* seq, item of the last page */
	/* To be told to the user: */
	JANITOR_REPORT_COMPACTED,     /* revision */
	JANITOR_REPORT_HELD,          /* revision; item: which of the pins */
	JANITOR_REPORT_TOO_MANY_PINS, /* more pins than can be looked at: nothing compacted */
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
	uint64_t since_ms; /* seen first */
	bool seen;         /* at the last look */
};

struct janitor_orphan {
	uint64_t hash;
	int64_t mod_revision;
};

/* At a look. */
struct janitor_sample {
	int64_t revision;
	uint64_t grown; /* bytes, since we began to look; what is freed does not count */
	uint64_t at_ms;
};

/* Compaction. */
struct janitor_compaction {
	struct janitor_sample samples[JANITOR_SAMPLES]; /* a ring */
	size_t sample_count, sample_next;
	uint64_t bytes, grown; /* at the last look */
	uint64_t target_grown, compacted_grown;
	struct janitor_pin pins[JANITOR_PINS_MAX];
	size_t pin_count;
	int64_t begun; /* at the first look; 0: none yet */
	uint64_t begun_ms;
	int64_t revision; /* at the last look; 0: none yet */
	uint64_t revision_ms;
	int64_t compacted; /* as far as we know */
	uint64_t compacted_ms;
	int64_t target;       /* in flight */
	int64_t held;         /* the pin that was told last */
	bool pins_overflowed; /* that was told */
	bool full;            /* at the last look: it takes no writes */
	uint32_t seq;         /* in flight; 0: nothing */
	uint64_t look_ms;
};

/* Garbage. */
struct janitor_sweep {
	enum janitor_stage stage;
	uint32_t config;
	bool next;        /* not the first page of the stage */
	uint64_t at_ms;   /* the next request */
	uint32_t seq;     /* in flight; 0: nothing */
	bool paging;      /* what is in flight */
	uint64_t garbage; /* a bit an item of the page: still to be removed */
	size_t item;      /* being removed */
	uint32_t tries;   /* of which nobody knows what became */
	bool more;        /* behind this page */
	struct janitor_orphan before[JANITOR_ORPHANS], now[JANITOR_ORPHANS];
	size_t before_count, now_count;
};

struct janitor_core {
	bool leading; /* and enabled: at work */
	bool elected;
	struct janitor_tune tune;
	uint32_t configs;  /* there are */
	struct pl_rng rng; /* so that federations on one store do not sweep in step */
	uint32_t seq;      /* of the last request */
	struct janitor_compaction compaction;
	struct janitor_sweep sweep;
};

void janitor_core_init(struct janitor_core *core, const struct janitor_tune *tune,
                       uint32_t configs, uint64_t seed);

/* Once the deadline is reached JANITOR_EV_TIMEOUT goes first. Asserted. */
void janitor_step(struct janitor_core *core, const struct janitor_event *event,
                  struct janitor_actions *actions);

/* When to feed JANITOR_EV_TIMEOUT. UINT64_MAX: never. */
uint64_t janitor_deadline_ms(const struct janitor_core *core);

#endif
