/* Internals of a store check, shared by its files. */
#ifndef COORD_SERVICE_STORE_STORE_CHECK_INT_H
#define COORD_SERVICE_STORE_STORE_CHECK_INT_H

#include "coord/service/base/sequence.h"
#include "coord/service/store/store_check.h"

enum { CHECK_KEY_SIZE = STORE_CHECK_PREFIX_MAX + 32, CHECK_CONTENDERS = 8 };

struct check_contender {
	struct store_check *check;
	struct kv_call *call; /* NULL: answered */
};

/* Clients that write the same key at once. */
struct check_race {
	struct check_contender contender[CHECK_CONTENDERS];
	unsigned open, won, failed;
	struct pl_err err; /* the first one */
};

enum check_watch_state {
	CHECK_WATCH_OFF,
	CHECK_WATCH_OPENING,
	CHECK_WATCH_PUTTING,
	CHECK_WATCH_WAITING, /* for what is owed to the watch */
	CHECK_WATCH_CLOSING,
};

struct check_watch {
	enum check_watch_state state;
	bool quiet;             /* waits for progress, not for events */
	struct kv_watch *watch; /* NULL: ended */
	struct pl_timer deadline;
	uint64_t begin_ms;
	int64_t first, last; /* revisions seen */
	unsigned puts, events;
	bool told, wrong;
	struct pl_err err; /* PL_OK: nothing is wrong so far */
};

struct store_check {
	const struct service *service;
	struct store_check_opts opts;
	struct sequence sequence;
	unsigned at; /* the step */
	bool reached, canceled;
	int64_t revision; /* of the key "a" */
	int64_t stale;    /* an earlier one */
	int64_t lease, ttl_s;
	struct check_race race;
	struct check_watch watch;
	char note[STORE_CHECK_NOTE_SIZE];
	char key[CHECK_KEY_SIZE];
};

/* Ends the step, later or at once; the next one begins. The last call of a step. */
void check_step_end(struct store_check *check, const struct pl_err *err);
void check_step_fail(struct store_check *check, enum pl_code code, const char *why);
PL_PRINTF(2, 3) void check_note(struct store_check *check, const char *fmt, ...);
/* Under the prefix; good until the next call. */
struct pl_span check_key(struct store_check *check, const char *name);

/* store_check_watch.c */
PL_NODISCARD enum pl_code check_watch_init(struct store_check *check);
void check_watch_begin(struct store_check *check, bool quiet);
void check_watch_cancel(struct store_check *check);
/* store_check_race.c */
void check_race_begin(struct store_check *check);
void check_race_cancel(struct store_check *check);

#endif
