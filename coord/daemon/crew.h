/*
 * For tests and benches: processes of placetd, and what their store shows of them.
 *
 * The view follows every key from the first revision on. It knows who owns what, how
 * long each partition was without an owner (by when the news came), and whether the
 * history is one that Placet may leave behind: an owner key is only ever created
 * while absent, and its epochs grow.
 */
#ifndef COORD_DAEMON_CREW_H
#define COORD_DAEMON_CREW_H

#include <sys/types.h>

#include "store/keys/keys.h"
#include "store/kv/kv.h"

enum {
	CREW_PATH_SIZE = 512,
	CREW_ID_SIZE = 64,
	CREW_SHARDS_MAX = 64,
	CREW_RECORD_SIZE = 32768,
	CREW_ARGS_MAX = 32,
};

struct crew_process {
	pid_t pid; /* 0: not running */
	char log[CREW_PATH_SIZE];
};

/* Runs $PLACETD with these arguments (behind its name, ends with NULL); what it
 * prints goes to the file log. It dies with the thread that started it. */
PL_NODISCARD enum pl_code crew_start(struct crew_process *process, const char *log,
                                     const char *const args[], struct pl_err *err);
void crew_signal(const struct crew_process *process, int signum);
/* Waits for its end: the exit status, or 128 and the signal. */
int crew_wait(struct crew_process *process);
bool crew_log_has(const struct crew_process *process, const char *words);

struct crew_owner {
	char shard[CREW_ID_SIZE]; /* empty: nobody */
	int64_t epoch;
	int64_t last_epoch; /* of whoever was the last */
	int64_t lease;
	uint64_t gone_ns; /* 0: it was never owned, or is now */
};

struct crew_shard {
	char id[CREW_ID_SIZE];
	bool there;
	char record[CREW_RECORD_SIZE];
};

struct crew_view {
	struct kv_watch *watch;
	uint32_t partitions;
	uint32_t owned;
	struct crew_owner owner[KEYS_PARTITIONS_MAX];
	struct crew_shard shard[CREW_SHARDS_MAX];
	unsigned shard_count;
	unsigned moves;      /* owners that came, since it was set to 0 */
	uint64_t gap_ns_max; /* the longest without an owner, likewise */
	char wrong[256];     /* what in the history may not be; empty: nothing */
	bool ended;
};

PL_NODISCARD enum pl_code crew_view_open(struct crew_view *view, struct kv *kv,
                                         uint32_t partitions, struct pl_err *err);
/* From the moment of the call on. */
void crew_view_reset(struct crew_view *view);
/* How many partitions a shard owns, by the whole of its id or by how it begins. */
uint32_t crew_owns(const struct crew_view *view, const char *id);
uint32_t crew_owns_with(const struct crew_view *view, const char *start);
/* NULL: it is not there. */
const char *crew_record(const struct crew_view *view, const char *id);

#endif
