/*
 * For tests of preemption: pods of namespace web that ask for cpus, by priority, and a
 * store in which at every revision each pod whose state names a nomination has a
 * reservation.
 */
#ifndef TESTS_SUPPORT_SHARDSCHED_SHARD_PREEMPTION_RIG_H
#define TESTS_SUPPORT_SHARDSCHED_SHARD_PREEMPTION_RIG_H

#include "tests/support/shardsched/shard/sched_rig.h"

static struct rig rig;

static inline void pod_in(uint32_t p, const char *name, const char *cpu, int priority)
{
	char key[128], json[512];

	(void)snprintf(key, sizeof key, "/schedules/%04u/web/%s/spec", p, name);
	(void)snprintf(json, sizeof json,
	               "{\"metadata\":{\"namespace\":\"web\",\"name\":\"%s\",\"uid\":"
	               "\"u-%s\"},\"spec\":{\"priority\":%d,\"containers\":[{\"name\":"
	               "\"c\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}",
	               name, name, priority, cpu);
	rig_put(&rig, key, json);
}

static inline void pod(const char *name, const char *cpu, int priority)
{
	pod_in(1, name, cpu, priority);
}

static inline struct pod_state state_of(const char *name, int *phase)
{
	return rig_state(&rig, 1, name, phase);
}

static inline const char *phase_of(const char *name)
{
	int phase;

	(void)state_of(name, &phase);
	return phase < 0 ? "" : state_phase_word((enum state_phase)phase);
}

/* The pod's member says that it has ended. */
static inline void termination_in(uint32_t p, const char *name)
{
	int phase;
	struct pod_state state = rig_state(&rig, p, name, &phase);
	struct pl_buf buf = {.max = 4096};
	char key[128];

	T_EQ(phase, STATE_TERMINATING);
	state.ended = STATE_ENDED_GONE;
	T_OK(state_print(&state, &buf, &rig.err), &rig.err);
	(void)snprintf(key, sizeof key, "/schedules/%04u/web/%s/state", p, name);
	rig.store.revision++;
	rig_set(&rig.store, pl_span_str(key), pl_buf_span(&buf));
	pl_buf_done(&buf);
}

static inline void own_two(void)
{
	rig_own(&rig, 0);
	rig_own(&rig, 1);
}

/* A node of 4 cpu with four pods of 1, of priority 0 to 3. */
static inline void up(void)
{
	rig_open(&rig, NULL);
	rig_node(&rig, 0, "n-1", "4");
	pod("low-0", "1", 0);
	pod("low-1", "1", 1);
	pod("low-2", "1", 2);
	pod("low-3", "1", 3);
	own_two();
	rig_run_idle(&rig);
	T_EQ(rig_alloc(&rig, 0, "n-1").pods, 4);
}

static inline void later(unsigned seconds)
{
	rig.now_ms += (uint64_t)seconds * 1000;
	rig_run_idle(&rig);
}

static inline struct pl_span span_after(struct pl_span text, const char *prefix)
{
	size_t len = strlen(prefix);

	return text.len > len && memcmp(text.at, prefix, len) == 0
	               ? pl_span(text.at + len, text.len - len)
	               : pl_span(NULL, 0);
}

static inline bool reserves_for(struct pl_span value, struct pl_span key)
{
	struct alloc alloc = {0};

	T_OK(alloc_parse(value, &rig.store.arena, &alloc, &rig.err), &rig.err);
	for (uint32_t i = 0; i < alloc.holds; i++) {
		char name[128];

		(void)snprintf(name, sizeof name, "/%.*s/%.*s/state",
		               PL_SPAN_ARG(alloc.hold[i].namespace),
		               PL_SPAN_ARG(alloc.hold[i].name));
		if (key.len > strlen(name) &&
		    memcmp(key.at + key.len - strlen(name), name, strlen(name)) == 0)
			return true;
	}
	return false;
}

/* The record after that many events; NULL: none. */
static inline const struct kv_record *stood(const char *key, uint32_t events)
{
	while (events-- > 0) {
		const struct kv_event *event = &rig.store.log[events];

		if (pl_span_eq(event->record.key, pl_span_str(key)))
			return event->is_delete ? NULL : &event->record;
	}
	return NULL;
}

/* The state, if the record is one, names a node that had a reservation for it after that
 * many events. */
static inline void is_held(const struct kv_record *record, uint32_t events)
{
	struct pod_state state;
	const struct kv_record *alloc = NULL;
	char key[128];

	T_OK(state_parse(record->value, &rig.store.arena, &state, &rig.err), &rig.err);
	if (state.nominated_node.len == 0)
		return;
	for (uint32_t p = 0; p < RIG_PARTITIONS && alloc == NULL; p++) {
		(void)snprintf(key, sizeof key, "/alloc/%04u/east/%.*s", p,
		               PL_SPAN_ARG(state.nominated_node));
		alloc = stood(key, events);
	}
	T_TRUE(alloc != NULL && reserves_for(alloc->value, record->key));
}

/* At every revision: states name a nomination from the revision of the reservation on,
 * and not a revision longer. */
static inline void every_nomination_was_reserved(void)
{
	const struct rig_store *store = &rig.store;

	for (uint32_t i = 0; i < store->logged; i++) {
		const struct kv_record *now = &store->log[i].record;

		if (i + 1 < store->logged &&
		    store->log[i + 1].record.mod_revision == now->mod_revision)
			continue;
		for (uint32_t n = 0; n <= i; n++) {
			const struct kv_event *event = &store->log[n];
			struct pl_span key = event->record.key;
			char text[128];

			if (span_after(key, "/schedules/").len == 0 || key.len > 120 ||
			    memcmp(key.at + key.len - 6, "/state", 6) != 0)
				continue;
			(void)snprintf(text, sizeof text, "%.*s", PL_SPAN_ARG(key));
			if (stood(text, i + 1) == &event->record)
				is_held(&event->record, i + 1);
		}
	}
}

static inline void down(void)
{
	every_nomination_was_reserved();
	T_EQ(rig.malformed, 0);
	rig_close(&rig);
}

static inline unsigned leaving(const struct alloc *alloc)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < alloc->pods; i++)
		count += alloc->pod[i].leaving;
	return count;
}

static inline void bound_to(uint32_t p, const char *name, const char *node)
{
	char key[128], json[256];

	(void)snprintf(key, sizeof key, "/schedules/%04u/web/%s/state", p, name);
	(void)snprintf(
		json, sizeof json,
		"{\"v\":1,\"phase\":\"Bound\",\"cluster\":\"east\",\"node\":\"%s\","
		"\"shard\":\"west-0\",\"epoch\":\"9\","
		"\"since\":\"2026-11-21T09:00:00.000Z\"}",
		node);
	rig_put(&rig, key, json);
}

#endif
