/* Pods from the queue, one after the other, to nodes, where they wait to be committed. */
#include "shardsched/plugins/plugins.h"
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/metrics/record.h"
#include "shardsched/shard/pending_status.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/preemption.h"
#include "shardsched/shard/txn/batch.h"
#include "shardsched/shard/txn/commit.h"
#include "store/base/hash.h"

/* A draw among equal nodes, from the pod and its attempt. */
static uint64_t draw_of(const struct sched *sched, const struct sched_pod *pod)
{
	struct pl_hash_key key = {sched->opts.seed, pod->queue.attempts};
	char room[UUID_TEXT_LEN];
	struct pl_span who = pod_uid_text(sched, pod, room);

	if (who.len == 0)
		who = sched_text(sched, pod->key[2]);
	key.k0 = pl_hash_keyed(sched_text(sched, pod->key[1]), key);
	return pl_hash_keyed(who, key);
}

/* For local nodes: so many decisions in a row draw from neighbours, since the keys that
 * they read and write lie next to each other, in the shard's memory and in the store. */
static uint64_t draw_local(const struct sched *sched, const struct sched_pod *pod)
{
	enum { RUN = 256 };
	struct pl_hash_key key = {sched->opts.seed, sched->figures.decided / RUN};
	uint64_t run = pl_hash_keyed(pl_span("", 0), key);

	return (run & ~(uint64_t)UINT32_MAX) | (draw_of(sched, pod) & UINT32_MAX);
}

/* The attempt failed, not the pod: it is tried again. */
void decide_fault(struct sched *sched, struct sched_pod *pod, const struct pl_err *err)
{
	report_trouble(sched, err);
	queue_retry(sched->queue, &pod->queue, QUEUE_FAULT, true, REASON_FAILED,
	            sched->now_ms);
}

void decide_cycle_error(struct sched *sched, const char *what, const uint32_t key[2],
                        const struct cycle_outcome *outcome, struct pl_err *err)
{
	const struct verdict *verdict = &outcome->pre;
	const char *plugin = verdict->plugin < 0 ? "of the framework"
	                                         : plugins.row[verdict->plugin]->name;
	bool overran = verdict->count > 0 && verdict->reason[0].code == REASON_OVERRAN;
	struct pl_span namespace = sched_text(sched, key[0]);
	struct pl_span name = sched_text(sched, key[1]);

	if (!overran) {
		pl_err_set(err, PL_NOMEM, "%s%.*s/%.*s: plugin %s failed", what,
		           PL_SPAN_ARG(namespace), PL_SPAN_ARG(name), plugin);
		return;
	}
	sched->figures.plugin_overruns++;
	pl_err_set(err, PL_TIMEOUT,
	           "%s%.*s/%.*s: plugin %s took longer than shard.plugin_budget_ms", what,
	           PL_SPAN_ARG(namespace), PL_SPAN_ARG(name), plugin);
}

void decide_assume(struct sched *sched, struct sched_pod *pod, struct sched_node *node)
{
	struct pl_err err = {0};

	PL_ASSERT(node != NULL && node->slot != SNAPSHOT_NONE);
	if (pod_add_to_snapshot(sched, pod, node->slot, 0, &pod->placed, &err) != PL_OK) {
		pod->placed = SNAPSHOT_NONE;
		decide_fault(sched, pod, &err);
		return;
	}
	sched->figures.decided++;
	queue_placed(sched->queue, &pod->queue, sched->now_ms);
	emit_queue_event(sched, QUEUE_EV_POD_ADDED, node->slot);
	pod_unlink(sched, pod);
	node_add_waiting(sched, node, pod);
	node_set_ready(sched, node);
	if (pod->queue.class->lane != LANE_PLAIN) {
		batch_add(sched, pod);
		rules_batch_class(sched, pool_class_of(pod->queue.class));
	}
}

/* The plugins that the pod waits for. When there is no node at all no plugin was asked,
 * and every filter has to hear of the first node. */
static uint64_t refusing_plugins(const struct fw_class *class,
                                 const struct cycle_outcome *outcome)
{
	const struct profile_point *filters = &class->profile->at[POINT_FILTER];
	uint64_t mask = outcome->refused_by;

	for (unsigned i = 0; mask == 0 && i < filters->count; i++)
		for (unsigned n = 0; n < filters->count; n++)
			mask |= UINT64_C(1) << filters->plugin[n];
	return (mask == 0 ? 1 : mask) | UINT64_C(1) << plugins.count;
}

/* The pod waits until an event can help it; its status says why. */
static void refuse_pod(struct sched *sched, struct sched_pod *pod, uint64_t by,
                       const struct cycle_outcome *outcome)
{
	uint32_t reason;

	if (!pending_status_has_room(sched, pod)) { /* too many pods wait for a status */
		queue_retry(sched->queue, &pod->queue, QUEUE_FAULT, true, REASON_NONE,
		            sched->now_ms);
		return;
	}
	reason = pending_status_add(sched, pod, outcome);
	queue_refuse(sched->queue, &pod->queue, by, reason, sched->now_ms);
}

/* No node fits the pod as it is. */
static void try_preemption(struct sched *sched, struct sched_pod *pod,
                           const struct fw_class *class, struct cycle_outcome *outcome,
                           bool asked)
{
	uint64_t by = refusing_plugins(class, outcome);

	switch (preemption_try(sched, pod, draw_of(sched, pod), asked, outcome, &by)) {
	case PREEMPTION_DONE:
		return;
	case PREEMPTION_WAITS:
		queue_retry(sched->queue, &pod->queue, QUEUE_NOMINATED, true, REASON_NONE,
		            sched->now_ms);
		return;
	case PREEMPTION_NONE:
		refuse_pod(sched, pod, by, outcome);
		preemption_give_up(sched, pod);
		return;
	}
	PL_UNREACHABLE("what comes of making room");
}

/* The pod is refused before any node was looked at. */
static void refuse_untried(struct sched *sched, struct sched_pod *pod,
                           enum reason_code code)
{
	struct cycle_outcome outcome = {.result = CYCLE_NONE};
	struct reason reason = {.code = code};

	verdict_clear(&outcome.pre);
	verdict_add(&outcome.pre, VERDICT_UNRESOLVABLE, &reason);
	refuse_pod(sched, pod, 0, &outcome);
}

static uint32_t nominated_slot(const struct sched_pod *pod)
{
	return pod->nominated == NULL ? SNAPSHOT_NONE : pod->nominated->slot;
}

/* REASON_NONE: the pod may be decided. */
static enum reason_code refusal_reason(const struct sched_pod *pod)
{
	const struct class_rules *class_rules =
		class_rules_of(pool_class_of(pod->queue.class));

	if (class_rules->refused)
		return REASON_RULES_FULL;
	return class_rules->coarse ? REASON_RULES_MANY : REASON_NONE;
}

/* No local node fits. A pod that is decided by the fleet view is asked about all nodes at
 * once. True: the pod is placed or waits; false: *outcome tells what refused it, and
 * *asked whether it was on all known nodes. */
static bool decide_remote(struct sched *sched, struct sched_pod *pod,
                          struct cycle_outcome *outcome, bool *asked)
{
	struct cycle_outcome all;

	if (pod->queue.class->lane != LANE_RULED)
		return remote_decide(sched, pod, draw_of(sched, pod), outcome, asked);
	if (!remote_run_cycle(sched, pod, draw_of(sched, pod), &all))
		return true;
	if (all.result != CYCLE_NODE) {
		*outcome = all;
		*asked = true;
		return false;
	}
	decide_assume(sched, pod, sched->by_slot[all.node]);
	return true;
}

/* The pod was placed, and others of its class may wait for that. Each placement wakes
 * two, so that few come in vain. */
static void wake_followers(struct sched *sched, const struct sched_pod *pod)
{
	if (pod->stage == POD_ASSUMED)
		remote_wake_followers(sched, pool_class_of(pod->queue.class), 2);
}

/* uid: of the pod, as a string that is held. */
static void decide_pod_by(struct sched *sched, struct sched_pod *pod, uint32_t uid)
{
	enum reason_code not_at_all = refusal_reason(pod);
	struct registered_class *open = pool_class_of(pod->queue.class);
	unsigned lane = pod->queue.class->lane;
	struct fw_class *class;
	const struct pod_self self = {.name = pod->key[2],
	                              .uid = uid,
	                              .nominated = nominated_slot(pod),
	                              .created_ms = pod->created_ms};
	struct cycle_outcome outcome;
	bool asked = false;
	struct pl_err err = {0};

	PL_ASSERT(pod->stage == POD_QUEUED);
	if (not_at_all != REASON_NONE) {
		refuse_untried(sched, pod, not_at_all);
		return;
	}
	if (!rules_class_ready(sched, pod->queue.class)) {
		pl_err_set(&err, PL_NOMEM, "keep the rules that select a pod");
		decide_fault(sched, pod, &err);
		return;
	}
	/* A class whose lane could not be changed before is popped by the wrong lane's
	 * turn. */
	if (pod->queue.class->lane != lane || !rules_may_decide(sched, open)) {
		queue_put_back(sched->queue, &pod->queue, sched->now_ms);
		return;
	}
	if (class_registry_fw(sched->class_registry, open, &class, &err) != PL_OK) {
		decide_fault(sched, pod, &err);
		return;
	}
	cycle_run(sched->cycle, class, &self, draw_local(sched, pod), &outcome);
	record_cycle(sched, class, outcome.result);
	switch (outcome.result) {
	case CYCLE_NODE:
		decide_assume(sched, pod, sched->by_slot[outcome.node]);
		wake_followers(sched, pod);
		return;
	case CYCLE_NONE:
		if (decide_remote(sched, pod, &outcome, &asked)) {
			wake_followers(sched, pod);
			return;
		}
		try_preemption(sched, pod, class, &outcome, asked);
		remote_wake_followers(sched, open, UINT32_MAX);
		return;
	case CYCLE_ERROR:
		decide_cycle_error(sched, "", &pod->key[1], &outcome, &err);
		decide_fault(sched, pod, &err);
		return;
	}
	PL_UNREACHABLE("result of a cycle");
}

static void decide_pod(struct sched *sched, struct sched_pod *pod)
{
	struct pl_err err = {0};
	uint32_t uid;

	if (pod_uid_take(sched, pod, &uid, &err) != PL_OK) {
		decide_fault(sched, pod, &err);
		return;
	}
	decide_pod_by(sched, pod, uid);
	strings_unref(&sched->model.strings, uid);
}

/* Decided pods wait for txns; there is no use in many more than txns can take. */
static bool is_waiting_full(const struct sched *sched)
{
	return sched->waiting >= 2 * sched->opts.batch_size * sched->opts.inflight;
}

bool decide_is_ready(const struct sched *sched)
{
	queue_shut_lanes(sched->queue, rules_lanes_shut(sched));
	return !is_waiting_full(sched) && !sched->promotion_failed &&
	       queue_peek(sched->queue) != NULL;
}

/* More pods can be decided into the batch at once. */
static bool batch_can_grow(const struct sched *sched)
{
	const struct queue_pod *next;

	queue_shut_lanes(sched->queue, rules_lanes_shut(sched) | 1u << LANE_PLAIN);
	next = queue_peek(sched->queue);
	queue_shut_lanes(sched->queue, rules_lanes_shut(sched));
	return !is_waiting_full(sched) && next != NULL;
}

unsigned decide_run(struct sched *sched, unsigned work)
{
	unsigned tried;

	rules_turn_begin(sched);
	sched->turn_timed = 0;
	for (tried = 0; tried < work && !is_waiting_full(sched); tried++) {
		struct record_attempt attempt;
		struct queue_pod *pod;

		queue_shut_lanes(sched->queue, rules_lanes_shut(sched));
		pod = queue_pop(sched->queue, sched->now_ms);
		if (pod == NULL)
			break;
		record_attempt_begin(sched, pod, &attempt);
		if (gang_is_class(pod->class))
			gang_try_now(sched, gang_of_queue(pod));
		else
			decide_pod(sched, pod_of_queue(pod));
		record_attempt_end(sched, &attempt);
	}
	if (!batch_can_grow(sched))
		batch_close(sched);
	rules_turn_end(sched);
	return tried;
}
