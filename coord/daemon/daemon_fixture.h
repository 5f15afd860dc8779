/*
 * For tests and benches: processes of placetd, and what their store shows of them.
 *
 * The view follows every key from the first revision on. It knows who owns what, how
 * long each partition was without an owner (by when the news came), and whether the
 * history is one that Placet may leave behind: an owner key is only ever created
 * while absent, and its epochs grow.
 */
#ifndef COORD_DAEMON_DAEMON_FIXTURE_H
#define COORD_DAEMON_DAEMON_FIXTURE_H

#include <sys/types.h>

#include "store/keys/keys.h"
#include "store/kv/kv.h"

enum {
	DAEMON_FIXTURE_PATH_SIZE = 512,
	DAEMON_FIXTURE_ID_SIZE = 64,
	DAEMON_FIXTURE_SHARDS_MAX = 64,
	DAEMON_FIXTURE_RECORD_SIZE = 32768,
	DAEMON_FIXTURE_ARGS_MAX = 32,
};

struct daemon_fixture_process {
	pid_t pid; /* 0: not running */
	char log[DAEMON_FIXTURE_PATH_SIZE];
};

/* Runs $PLACETD with these arguments (behind its name, ends with NULL); what it
 * prints goes to the file log. It dies with the thread that started it. */
PL_NODISCARD enum pl_code daemon_fixture_start(struct daemon_fixture_process *process,
                                               const char *log, const char *const args[],
                                               struct pl_err *err);
void daemon_fixture_signal(const struct daemon_fixture_process *process, int signum);
/* Waits for its end: the exit status, or 128 and the signal. */
int daemon_fixture_wait(struct daemon_fixture_process *process);
bool daemon_fixture_log_has(const struct daemon_fixture_process *process,
                            const char *words);

struct daemon_fixture_owner {
	char shard[DAEMON_FIXTURE_ID_SIZE]; /* empty: nobody */
	int64_t epoch;
	int64_t last_epoch; /* of whoever was the last */
	int64_t lease;
	uint64_t gone_ns; /* 0: it was never owned, or is now */
};

struct daemon_fixture_shard {
	char id[DAEMON_FIXTURE_ID_SIZE];
	bool there;
	char record[DAEMON_FIXTURE_RECORD_SIZE];
};

struct daemon_fixture_view {
	struct kv_watch *watch;
	uint32_t partitions;
	uint32_t owned;
	struct daemon_fixture_owner owner[KEYS_PARTITIONS_MAX];
	struct daemon_fixture_shard shard[DAEMON_FIXTURE_SHARDS_MAX];
	unsigned shard_count;
	unsigned moves;      /* owners that came, since it was set to 0 */
	uint64_t gap_ns_max; /* the longest without an owner, likewise */
	char wrong[256];     /* what in the history may not be; empty: nothing */
	bool ended;
};

PL_NODISCARD enum pl_code daemon_fixture_view_open(struct daemon_fixture_view *view,
                                                   struct kv *kv, uint32_t partitions,
                                                   struct pl_err *err);
/* From the moment of the call on. */
void daemon_fixture_view_reset(struct daemon_fixture_view *view);
/* How many partitions a shard owns, by the whole of its id or by how it begins. */
uint32_t daemon_fixture_owns(const struct daemon_fixture_view *view, const char *id);
uint32_t daemon_fixture_owns_with(const struct daemon_fixture_view *view,
                                  const char *start);
/* NULL: it is not there. */
const char *daemon_fixture_record(const struct daemon_fixture_view *view, const char *id);

#endif
