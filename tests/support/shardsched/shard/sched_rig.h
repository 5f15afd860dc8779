/*
 * For tests of the core: a driver over rig_store.h. Events wait until the test delivers
 * them, and txns end as the test wants.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_SHARD_SCHED_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_SHARD_SCHED_RIG_H

#include <stdio.h>
#include <stdlib.h>

#include "shardsched/model/parse.h"
#include "shardsched/records/alloc.h"
#include "shardsched/records/pod_state.h"
#include "shardsched/shard/view_keys.h"
#include "store/base/arena.h"
#include "store/base/fault.h"
#include "store/base/rng.h"
#include "store/keys/keys.h"
#include "store/kv/keys.h"
#include "tests/harness/t.h"
#include "tests/support/shardsched/shard/rig_store.h"

enum { RIG_PARTITIONS = 4, RIG_OUT_MAX = 32 };

/* A txn that was started and is not answered. */
struct rig_out {
	bool used;
	uint32_t txn;
	struct kv_req req;
	bool applied; /* the store has its outcome, the core does not */
};

struct rig {
	struct rig_store store;
	struct sched *sched;
	struct pl_err err;
	uint64_t now_ms;
	int64_t wall_off_ms; /* by which its wall clock is wrong */
	int64_t epoch;
	bool owned[RIG_PARTITIONS];
	uint32_t cursor[RIG_PARTITIONS][SCHED_PARTS];
	bool viewed[SCHED_VIEWS];
	uint32_t view_cursor[SCHED_VIEWS];
	bool remote_list[RIG_PARTITIONS]; /* asked for and not answered */
	/* every list of it fails; counted in unlistings */
	bool unlisted[RIG_PARTITIONS];
	unsigned unlistings;
	struct rig_out out[RIG_OUT_MAX];
	unsigned malformed, troubles, relists;
	char said[512]; /* the last malformed key or trouble */
};

static const char *const rig_prefix[SCHED_PARTS] = {"/nodes/", "/alloc/", "/schedules/"};

/* -- the store, by hand ------------------------------------------------------------ */

static inline void rig_put(struct rig *rig, const char *key, const char *value)
{
	rig->store.revision++;
	rig_set(&rig->store, pl_span_str(key), pl_span_str(value));
}

static inline void rig_del(struct rig *rig, const char *key)
{
	rig->store.revision++;
	rig_unset(&rig->store, pl_span_str(key));
}

/* A budget comes and goes together with the lock of all budgets. */
static inline void rig_budget_lock(struct rig *rig)
{
	rig_set(&rig->store, PL_SPAN_LIT("/budgets/lock"), PL_SPAN_LIT("{\"v\":1}"));
}

static inline void rig_put_budget(struct rig *rig, const char *key, const char *value)
{
	bool made = rig_get(&rig->store, pl_span_str(key)) == NULL;

	rig_put(rig, key, value);
	if (made)
		rig_budget_lock(rig);
}

static inline void rig_del_budget(struct rig *rig, const char *key)
{
	rig_del(rig, key);
	rig_budget_lock(rig);
}

/* "": the key is not there. */
static inline const char *rig_value(struct rig *rig, const char *key)
{
	struct kv_record *record = rig_get(&rig->store, pl_span_str(key));

	return record == NULL ? "" : (const char *)record->value.at;
}

/* -- keys and values --------------------------------------------------------------- */

static inline const char *rig_node_json(const char *name, const char *cpu,
                                        const char *more)
{
	static char json[1024];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"host\":\"%s\"}},"
	               "\"spec\":{%s},\"status\":{\"allocatable\":{\"cpu\":\"%s\","
	               "\"memory\":\"64Gi\",\"pods\":\"110\"}}}",
	               name, name, more, cpu);
	return json;
}

static inline void rig_node(struct rig *rig, uint32_t p, const char *name,
                            const char *cpu)
{
	char key[128];

	rig->store.revision++;
	(void)snprintf(key, sizeof key, "/nodes/%04u/east/%s", p, name);
	rig_set(&rig->store, pl_span_str(key), pl_span_str(rig_node_json(name, cpu, "")));
	(void)snprintf(key, sizeof key, "/alloc/%04u/east/%s", p, name);
	rig_set(&rig->store, pl_span_str(key), PL_SPAN_LIT("{\"v\":1,\"generation\":1}"));
	rig_set(&rig->store, PL_SPAN_LIT("/groups/nodes"), PL_SPAN_LIT("{\"v\":1}"));
}

static int rig_priority; /* of the pods that are made next */

static inline const char *rig_pod_json(const char *name, const char *cpu,
                                       const char *more)
{
	static char json[1024];

	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
	               "\"u-%s\"},\"spec\":{\"priority\":%d%s,\"containers\":[{\"name\":"
	               "\"c\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}",
	               name, name, rig_priority, more, cpu);
	return json;
}

static inline void rig_pod(struct rig *rig, uint32_t p, const char *name, const char *cpu,
                           const char *more)
{
	char key[128];

	(void)snprintf(key, sizeof key, "/schedules/%04u/web/%s/spec", p, name);
	rig_put(rig, key, rig_pod_json(name, cpu, more));
}

/* A pod of a StatefulSet. */
static inline void rig_replica(struct rig *rig, uint32_t p, const char *name,
                               const char *cpu, const char *more)
{
	char key[128], json[1024];

	(void)snprintf(key, sizeof key, "/schedules/%04u/web/%s/spec", p, name);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
	               "\"u-%s\",\"labels\":{\"set\":\"db\","
	               "\"statefulset.kubernetes.io/pod-name\":\"%s\"}},\"spec\":{"
	               "\"priority\":0%s,\"containers\":[{\"name\":\"c\",\"resources\":{"
	               "\"requests\":{\"cpu\":\"%s\"}}}]}}",
	               name, name, name, more, cpu);
	rig_put(rig, key, json);
}

static inline struct alloc rig_alloc(struct rig *rig, uint32_t p, const char *name)
{
	struct alloc alloc = {0};
	char key[128];

	(void)snprintf(key, sizeof key, "/alloc/%04u/east/%s", p, name);
	T_OK(alloc_parse(pl_span_str(rig_value(rig, key)), &rig->store.arena, &alloc,
	                 &rig->err),
	     &rig->err);
	return alloc;
}

/* *phase -1: there is no state. */
static inline struct pod_state rig_state(struct rig *rig, uint32_t p, const char *name,
                                         int *phase)
{
	struct pod_state state = {0};
	char key[128];

	(void)snprintf(key, sizeof key, "/schedules/%04u/web/%s/state", p, name);
	*phase = -1;
	if (rig_value(rig, key)[0] == 0)
		return state;
	T_OK(state_parse(pl_span_str(rig_value(rig, key)), &rig->store.arena, &state,
	                 &rig->err),
	     &rig->err);
	*phase = (int)state.phase;
	return state;
}

/* Gives the pod's node; its phase if it has no node; "": it has no state. */
static inline const char *rig_where(struct rig *rig, uint32_t p, const char *name)
{
	static char text[128];
	int phase;
	struct pod_state state = rig_state(rig, p, name, &phase);

	if (phase != STATE_BOUND)
		return phase < 0 ? "" : state_phase_word(state.phase);
	(void)snprintf(text, sizeof text, "%.*s", PL_SPAN_ARG(state.node));
	return text;
}

/* -- the driver -------------------------------------------------------------------- */

static inline void rig_open(struct rig *rig, const struct sched_opts *more)
{
	struct sched_opts opts = more == NULL ? (struct sched_opts){0} : *more;

	*rig = (struct rig){.now_ms = 1000};
	pl_arena_init(&rig->store.arena, 1 << 20, 0);
	rig->store.log = calloc(RIG_LOG_MAX, sizeof *rig->store.log);
	rig->store.revision = 100;
	opts.shard = "east-0";
	opts.partitions = RIG_PARTITIONS;
	T_OK(sched_new(&opts, &rig->sched, &rig->err), &rig->err);
}

static inline void rig_close(struct rig *rig)
{
	sched_free(rig->sched);
	free(rig->store.log);
	pl_arena_done(&rig->store.arena);
}

static inline void rig_list(struct rig *rig, uint32_t p, enum sched_part part)
{
	char prefix[32];
	struct kv_keys keys;

	(void)snprintf(prefix, sizeof prefix, "%s%04u/", rig_prefix[part], p);
	keys = kv_prefix(pl_span_str(prefix));
	sched_list_begin(rig->sched, p, part);
	for (uint32_t i = 0; i < rig->store.keys; i++)
		if (rig->store.key[i].mod_revision != 0 &&
		    kv_key_in(keys, rig->store.key[i].key))
			sched_list_records(rig->sched, p, part, &rig->store.key[i], 1);
	sched_list_end(rig->sched, p, part, rig->store.revision);
	rig->cursor[p][part] = rig->store.logged;
}

static inline void rig_lost(struct rig *rig, uint32_t p)
{
	rig->owned[p] = false;
	sched_lost(rig->sched, p);
}

/* Delivers at most `most` events of the part. True: as many as that. */
static inline bool rig_deliver(struct rig *rig, uint32_t p, enum sched_part part,
                               unsigned most)
{
	uint32_t *at = &rig->cursor[p][part];
	char prefix[32];
	struct kv_keys keys;

	(void)snprintf(prefix, sizeof prefix, "%s%04u/", rig_prefix[part], p);
	keys = kv_prefix(pl_span_str(prefix));
	while (rig->owned[p] && *at < rig->store.logged && most > 0) {
		const struct kv_event *event = &rig->store.log[(*at)++];

		if (!kv_key_in(keys, event->record.key))
			continue;
		sched_events(rig->sched, p, part, event, 1);
		most--;
	}
	return most == 0;
}

/* -- views and remote lists -------------------------------------------------------- */

static inline void rig_view_list(struct rig *rig, enum sched_view view)
{
	struct kv_keys keys = sched_view_keys(view);

	rig->viewed[view] = true;
	sched_view_begin(rig->sched, view);
	for (uint32_t i = 0; i < rig->store.keys; i++)
		if (rig->store.key[i].mod_revision != 0 &&
		    kv_key_in(keys, rig->store.key[i].key))
			sched_view_records(rig->sched, view, &rig->store.key[i], 1);
	sched_view_end(rig->sched, view, rig->store.revision);
	rig->view_cursor[view] = rig->store.logged;
}

static inline void rig_own(struct rig *rig, uint32_t p)
{
	rig->owned[p] = true;
	T_OK(sched_own(rig->sched, p, ++rig->epoch, &rig->err), &rig->err);
	for (unsigned part = 0; part < SCHED_PARTS; part++)
		rig_list(rig, p, (enum sched_part)part);
	for (unsigned i = SCHED_OBJECT_FIRST; i < SCHED_VIEWS; i++)
		if (!rig->viewed[i])
			rig_view_list(rig, (enum sched_view)i);
}

/* Opens the views that are wanted, closes those that are not. */
static inline void rig_views(struct rig *rig)
{
	for (unsigned i = 0; i < SCHED_VIEWS; i++) {
		enum sched_view view = (enum sched_view)i;

		if (sched_view_wanted(rig->sched, view) == rig->viewed[i])
			continue;
		if (!rig->viewed[i]) {
			rig_view_list(rig, view);
			continue;
		}
		rig->viewed[i] = false;
		sched_view_closed(rig->sched, view);
	}
}

/* Delivers what the next revision has of the view, all at once, as a watch does. False:
 * it has nothing. */
static inline bool rig_view_next(struct rig *rig, enum sched_view view)
{
	struct kv_keys keys = sched_view_keys(view);
	uint32_t *at = &rig->view_cursor[view];
	int64_t revision = rig->store.log[*at].record.mod_revision;
	bool any = false;

	for (; *at < rig->store.logged &&
	       rig->store.log[*at].record.mod_revision == revision;
	     ++*at) {
		if (!kv_key_in(keys, rig->store.log[*at].record.key))
			continue;
		sched_view_events(rig->sched, view, &rig->store.log[*at], 1, 0);
		any = true;
	}
	if (any)
		sched_view_events(rig->sched, view, NULL, 0, revision);
	return any;
}

/* Delivers at most `most` revisions of the view. */
static inline bool rig_view_deliver(struct rig *rig, enum sched_view view, unsigned most)
{
	while (rig->viewed[view] && rig->view_cursor[view] < rig->store.logged &&
	       most > 0)
		most -= rig_view_next(rig, view);
	return most == 0;
}

static const struct pl_err rig_unlisted = {
	.code = PL_TIMEOUT, .cause = PL_TIMEOUT, .msg = "the store did not answer"};

static inline void rig_remote_list(struct rig *rig, uint32_t p)
{
	char prefix[2][32];

	T_TRUE(rig->remote_list[p]);
	rig->remote_list[p] = false;
	if (rig->unlisted[p]) {
		rig->unlistings++;
		sched_remote_list_failed(rig->sched, p, &rig_unlisted);
		return;
	}
	for (unsigned part = 0; part < 2; part++)
		(void)snprintf(prefix[part], sizeof prefix[part], "%s%04u/",
		               rig_prefix[part], p);
	for (uint32_t i = 0; i < rig->store.keys; i++)
		for (unsigned part = 0; part < 2; part++)
			if (rig->store.key[i].mod_revision != 0 &&
			    pl_span_starts(rig->store.key[i].key,
			                   pl_span_str(prefix[part])))
				sched_remote_list_records(rig->sched, p,
				                          &rig->store.key[i], 1);
	sched_remote_list_end(rig->sched, p, rig->store.revision);
}

static inline bool rig_remote_list_all(struct rig *rig)
{
	bool any = false;

	for (uint32_t p = 0; p < RIG_PARTITIONS; p++) {
		any = any || rig->remote_list[p];
		if (rig->remote_list[p])
			rig_remote_list(rig, p);
	}
	return any;
}

static inline void rig_deliver_all(struct rig *rig)
{
	for (uint32_t p = 0; p < RIG_PARTITIONS; p++)
		for (unsigned part = 0; part < SCHED_PARTS; part++)
			(void)rig_deliver(rig, p, (enum sched_part)part, UINT32_MAX);
	for (unsigned i = 0; i < SCHED_VIEWS; i++)
		(void)rig_view_deliver(rig, (enum sched_view)i, UINT32_MAX);
}

/* Runs the core, and keeps the txns that it makes. */
static inline void rig_run(struct rig *rig)
{
	struct sched_action action;

	sched_run(rig->sched, rig->now_ms,
	          1763715600000 + (int64_t)rig->now_ms + rig->wall_off_ms, 64);
	while (sched_next(rig->sched, &action)) {
		unsigned i = 0;

		if (action.what == SCHED_TXN) {
			while (rig->out[i].used)
				i++;
			T_TRUE(i < RIG_OUT_MAX);
			rig->out[i] = (struct rig_out){
				.used = true, .txn = action.txn, .req = action.req};
			continue;
		}
		if (action.what == SCHED_RELIST) {
			rig->relists++;
			if (rig->owned[action.partition])
				rig_list(rig, action.partition, action.part);
			continue;
		}
		if (action.what == SCHED_RELIST_VIEW) {
			rig->relists++;
			if (rig->viewed[action.view])
				rig_view_list(rig, action.view);
			continue;
		}
		if (action.what == SCHED_REMOTE_LIST) {
			T_TRUE(!rig->remote_list[action.partition]);
			rig->remote_list[action.partition] = true;
			continue;
		}
		rig->malformed += action.what == SCHED_MALFORMED;
		rig->troubles += action.what == SCHED_TROUBLE;
		(void)snprintf(rig->said, sizeof rig->said, "%.*s: %s",
		               PL_SPAN_ARG(action.key), action.err->msg);
	}
	sched_check(rig->sched);
}

/* The nth allocation of the run fails. False: it makes fewer. */
static inline bool rig_run_failing(struct rig *rig, uint64_t nth)
{
	bool fired;

	pl_fault_reset();
	pl_fault_arm(PL_FAULT_ALLOC, nth);
	rig_run(rig);
	fired = pl_fault_fired(PL_FAULT_ALLOC);
	pl_fault_reset();
	return fired;
}

static inline void rig_fail(struct rig *rig, unsigned i, enum pl_code code)
{
	struct pl_err err = {0};

	pl_err_set(&err, code, "as the test wants it");
	rig->out[i].used = false;
	sched_answer(rig->sched, rig->out[i].txn, NULL, &err);
}

static inline bool rig_answer(struct rig *rig, unsigned i)
{
	struct kv_result result = rig_exec(&rig->store, &rig->out[i].req.txn);

	rig->out[i].used = false;
	sched_answer(rig->sched, rig->out[i].txn, &result, NULL);
	return result.txn.succeeded;
}

static inline bool rig_out_puts(const struct rig_out *out, const char *key)
{
	const struct kv_txn *txn = &out->req.txn;

	for (size_t i = 0; out->used && i < txn->then_count; i++)
		if (txn->then[i].op == KV_PUT &&
		    pl_span_eq(txn->then[i].put.key, pl_span_str(key)))
			return true;
	return false;
}

/* One round of everything. answer gets each txn that is out; NULL: all succeed or fail as
 * the store says. */
static inline void rig_round(struct rig *rig, void (*answer)(unsigned out))
{
	rig_views(rig);
	rig_run(rig);
	(void)rig_remote_list_all(rig);
	for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
		if (rig->out[i].used && answer == NULL)
			(void)rig_answer(rig, i);
		else if (rig->out[i].used)
			answer(i);
	}
	rig_deliver_all(rig);
}

/* Rounds until nothing more happens at this time; asserts that there is an end. */
static inline void rig_run_idle(struct rig *rig)
{
	enum { ROUNDS = 1 << 16 };
	unsigned rounds = 0;
	bool more = true;

	while (more) {
		T_TRUE(rounds++ < ROUNDS);
		rig_views(rig);
		rig_run(rig);
		more = rig_remote_list_all(rig);
		for (unsigned i = 0; i < RIG_OUT_MAX; i++) {
			if (!rig->out[i].used)
				continue;
			(void)rig_answer(rig, i);
			more = true;
		}
		rig_deliver_all(rig);
		more = more || sched_deadline_ms(rig->sched) <= rig->now_ms;
	}
	rig_run(rig);
}

#endif
