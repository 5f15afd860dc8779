/* A store of a few keys with a log, and a counter that follows it through two feeds, each
 * at its own pace. */
#ifndef TESTS_SUPPORT_SHARDSCHED_BUDGET_COUNTER_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_BUDGET_COUNTER_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shardsched/budget/counter.h"
#include "shardsched/records/pod_state.h"
#include "tests/harness/t.h"

enum { RIG_KEYS = 256, RIG_LOG = 20000, RIG_KEY = 96, RIG_VALUE = 1024 };

struct rig_key {
	char key[RIG_KEY];
	char value[RIG_VALUE];
	int64_t rev; /* 0: not there */
};

struct rig_change {
	char key[RIG_KEY];
	char *value; /* NULL: gone */
	int64_t rev;
};

enum rig_feed { RIG_BUDGETS, RIG_PODS, RIG_FEEDS };
static const char *const rig_prefix[RIG_FEEDS] = {"/budgets/", "/schedules/"};

struct rig {
	struct counter *counter;
	struct rig_key key[RIG_KEYS];
	unsigned keys;
	struct rig_change log[RIG_LOG];
	unsigned changes;
	int64_t rev;
	bool fed[RIG_FEEDS]; /* was listed */
	unsigned at[RIG_FEEDS];
	uint64_t now_ms;
	struct pl_err err;
};

static inline void rig_open(struct rig *rig)
{
	memset(rig, 0, sizeof *rig);
	rig->rev = 10;
	rig->now_ms = 1000;
	T_OK(counter_new(0, &rig->counter, &rig->err), &rig->err);
}

static inline void rig_close(struct rig *rig)
{
	counter_free(rig->counter);
	for (unsigned i = 0; i < rig->changes; i++)
		free(rig->log[i].value);
}

/* -- the store ---------------------------------------------------------------------- */

static inline void rig_copy(char *out, size_t size, const char *text)
{
	size_t len = strlen(text);

	T_TRUE(len < size);
	memcpy(out, text, len + 1);
}

static inline struct rig_key *rig_at(struct rig *rig, const char *key)
{
	for (unsigned i = 0; i < rig->keys; i++)
		if (strcmp(rig->key[i].key, key) == 0)
			return &rig->key[i];
	T_TRUE(rig->keys < RIG_KEYS);
	rig_copy(rig->key[rig->keys].key, RIG_KEY, key);
	return &rig->key[rig->keys++];
}

/* All writes of one transaction share a revision. */
static inline void rig_write(struct rig *rig, const char *key, const char *value)
{
	struct rig_key *at = rig_at(rig, key);
	struct rig_change *change = &rig->log[rig->changes++];

	T_TRUE(rig->changes < RIG_LOG);
	if (value == NULL && at->rev == 0) {
		rig->changes--;
		return;
	}
	at->rev = value == NULL ? 0 : rig->rev;
	rig_copy(at->value, RIG_VALUE, value == NULL ? "" : value);
	rig_copy(change->key, RIG_KEY, key);
	change->value = value == NULL ? NULL : strdup(value);
	change->rev = rig->rev;
}

static inline int64_t rig_put(struct rig *rig, const char *key, const char *value)
{
	rig->rev++;
	rig_write(rig, key, value);
	return rig->rev;
}

/* -- the feeds ---------------------------------------------------------------------- */

static inline void rig_tell(struct rig *rig, const char *key, const char *value,
                            int64_t rev)
{
	struct kv_record record = {.key = pl_span_str(key),
	                           .value = pl_span_str(value),
	                           .mod_revision = rev};
	const struct kv_record *told = value == NULL ? NULL : &record;
	struct pl_err err = {0};
	struct keys_id id;
	enum pl_code code;

	T_EQ(keys_parse(record.key, &id, NULL), PL_OK);
	code = id.kind == KEYS_BUDGET ? counter_budget(rig->counter, &id, told, &err)
	                              : counter_pod(rig->counter, &id, told, &err);
	T_TRUE(code == PL_OK || (id.kind == KEYS_BUDGET && code == PL_INVALID));
}

static inline void rig_list_begin(struct rig *rig, enum rig_feed feed)
{
	if (feed == RIG_BUDGETS)
		counter_budgets_begin(rig->counter);
	else {
		(void)counter_pods_pick(rig->counter);
		counter_pods_begin(rig->counter);
	}
}

static inline void rig_list_pages(struct rig *rig, enum rig_feed feed)
{
	for (unsigned i = 0; i < rig->keys; i++) {
		struct rig_key *at = &rig->key[i];

		if (at->rev != 0 &&
		    strncmp(at->key, rig_prefix[feed], strlen(rig_prefix[feed])) == 0)
			rig_tell(rig, at->key, at->value, at->rev);
	}
}

static inline void rig_list(struct rig *rig, enum rig_feed feed)
{
	rig_list_begin(rig, feed);
	rig_list_pages(rig, feed);
	if (feed == RIG_BUDGETS)
		counter_budgets_end(rig->counter);
	else
		counter_pods_end(rig->counter, rig->rev);
	rig->fed[feed] = true;
	rig->at[feed] = rig->changes;
}

/* The changes of the next revision that matter; false: it is as far as the store. */
static inline bool rig_feed_one(struct rig *rig, enum rig_feed feed)
{
	size_t len = strlen(rig_prefix[feed]);
	int64_t rev;

	if (rig->at[feed] == rig->changes)
		return false;
	rev = rig->log[rig->at[feed]].rev;
	while (rig->at[feed] < rig->changes && rig->log[rig->at[feed]].rev == rev) {
		const struct rig_change *change = &rig->log[rig->at[feed]++];

		if (strncmp(change->key, rig_prefix[feed], len) == 0)
			rig_tell(rig, change->key, change->value, change->rev);
	}
	if (feed == RIG_PODS)
		counter_pods_seen(rig->counter, rev);
	return true;
}

/* Lists and watches as the counter asks, as far as the feeds have come. */
static inline void rig_feed_all(struct rig *rig)
{
	if (!rig->fed[RIG_BUDGETS])
		rig_list(rig, RIG_BUDGETS);
	while (rig_feed_one(rig, RIG_BUDGETS))
		;
	if (counter_stale(rig->counter))
		rig_list(rig, RIG_PODS);
	while (rig->fed[RIG_PODS] && rig_feed_one(rig, RIG_PODS))
		;
}

/* A put of the counter reaches the store; gives what it is answered with. */
static inline int64_t rig_apply(struct rig *rig, const struct counter_put *put)
{
	char key[RIG_KEY], value[RIG_VALUE];

	(void)snprintf(key, sizeof key, "/budgets/%.*s/%.*s", PL_SPAN_ARG(put->namespace),
	               PL_SPAN_ARG(put->name));
	(void)snprintf(value, sizeof value, "%.*s", PL_SPAN_ARG(put->value));
	if (rig_at(rig, key)->rev != put->rev)
		return 0;
	return rig_put(rig, key, value);
}

/* Runs until the counter has no put left. */
static inline unsigned rig_settle(struct rig *rig)
{
	unsigned puts = 0;

	for (unsigned i = 0; i < 10000; i++) {
		struct counter_put put;

		rig_feed_all(rig);
		if (counter_next(rig->counter, rig->now_ms, &put)) {
			int64_t rev = rig_apply(rig, &put);

			counter_answer(rig->counter, put.budget, rev, rig->now_ms);
			puts++;
			continue;
		}
		if (counter_deadline_ms(rig->counter) == UINT64_MAX)
			return puts;
		T_TRUE(counter_deadline_ms(rig->counter) > rig->now_ms);
		rig->now_ms = counter_deadline_ms(rig->counter);
	}
	t_fail(__FILE__, __LINE__, "it never settles");
}

/* -- what stands there -------------------------------------------------------------- */

static inline void rig_pod(struct rig *rig, const char *namespace, const char *name,
                           const char *app)
{
	char key[RIG_KEY], value[RIG_VALUE];

	(void)snprintf(key, sizeof key, "/schedules/0003/%s/%s/spec", namespace, name);
	(void)snprintf(value, sizeof value,
	               "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\",\"labels\":"
	               "{\"app\":\"%s\"}},\"spec\":{}}",
	               name, namespace, app);
	(void)rig_put(rig, key, value);
}

static inline void rig_state_text(const char *phase, const char *more,
                                  char out[RIG_VALUE])
{
	bool placed = strcmp(phase, "Pending") != 0;

	(void)snprintf(out, RIG_VALUE,
	               "{\"v\":1,\"phase\":\"%s\",%s%s\"since\":"
	               "\"2026-11-21T09:00:00.000Z\"}",
	               phase, more, placed ? "\"cluster\":\"c\",\"node\":\"n\"," : "");
}

static inline void rig_state(struct rig *rig, const char *namespace, const char *name,
                             const char *phase, const char *more)
{
	char key[RIG_KEY], value[RIG_VALUE];

	(void)snprintf(key, sizeof key, "/schedules/0003/%s/%s/state", namespace, name);
	rig_state_text(phase, more, value);
	(void)rig_put(rig, key, value);
}

#define RIG_BUDGET                                                                  \
	"{\"v\":1,\"budget\":{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"}," \
	"\"spec\":{%s,\"selector\":{\"matchLabels\":{\"app\":\"%s\"}}}}}"

static inline void rig_budget(struct rig *rig, const char *namespace, const char *name,
                              const char *rule, const char *app)
{
	char key[RIG_KEY], value[RIG_VALUE];

	(void)snprintf(key, sizeof key, "/budgets/%s/%s", namespace, name);
	(void)snprintf(value, sizeof value, RIG_BUDGET, name, namespace, rule, app);
	(void)rig_put(rig, key, value);
}

static inline bool rig_read(struct rig *rig, const char *key, struct pl_arena *arena,
                            struct budget_record *out)
{
	const struct rig_key *at = rig_at(rig, key);

	if (at->rev == 0)
		return false;
	T_OK(budget_record_parse(pl_span_str(at->value), arena, out, &rig->err),
	     &rig->err);
	return true;
}

#endif
