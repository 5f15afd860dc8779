/*
 * A fixture for tests and benches: processes of placetd, and a view of what they leave
 * in their store.
 *
 * The view follows every key from the first revision on. It knows the owner of each
 * partition, how long each partition had no owner (by the time at which the events
 * arrived), and whether the history is a valid one: an owner key is created only while
 * it is absent, and epochs grow.
 */
#ifndef TESTS_SUPPORT_COORD_DAEMON_DAEMON_FIXTURE_H
#define TESTS_SUPPORT_COORD_DAEMON_DAEMON_FIXTURE_H

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
	pid_t pid; /* 0: the process does not run */
	char log[DAEMON_FIXTURE_PATH_SIZE];
};

/* Runs $PLACETD with these arguments, which follow its name and end with NULL. Its
 * output goes to the file log. The process dies with the thread that started it. */
PL_NODISCARD enum pl_code daemon_fixture_start(struct daemon_fixture_process *process,
                                               const char *log, const char *const args[],
                                               struct pl_err *err);
void daemon_fixture_signal(const struct daemon_fixture_process *process, int signum);
/* Waits for the process to end and returns its exit status, or 128 plus the signal. */
int daemon_fixture_wait(struct daemon_fixture_process *process);
bool daemon_fixture_log_has(const struct daemon_fixture_process *process,
                            const char *words);

struct daemon_fixture_owner {
	char shard[DAEMON_FIXTURE_ID_SIZE]; /* empty: the partition has no owner */
	int64_t epoch;
	int64_t last_epoch; /* epoch of the last owner */
	int64_t lease;
	uint64_t gone_ns; /* since when the partition has had no owner; 0: it never had
	                   * one, or has one now */
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
	unsigned moves;      /* owners that came since this was set to 0 */
	uint64_t gap_ns_max; /* longest time without an owner since this was set to 0 */
	char wrong[256];     /* the invalid thing in the history; empty: nothing */
	bool ended;
};

PL_NODISCARD enum pl_code daemon_fixture_view_open(struct daemon_fixture_view *view,
                                                   struct kv *kv, uint32_t partitions,
                                                   struct pl_err *err);
/* Forgets moves and gaps: they are counted from this call on. */
void daemon_fixture_view_reset(struct daemon_fixture_view *view);
/* How many partitions the shard with this id owns; or all shards whose ids begin so. */
uint32_t daemon_fixture_owns(const struct daemon_fixture_view *view, const char *id);
uint32_t daemon_fixture_owns_with(const struct daemon_fixture_view *view,
                                  const char *start);
/* The record of a shard; NULL: the shard is not there. */
const char *daemon_fixture_record(const struct daemon_fixture_view *view, const char *id);

#endif
