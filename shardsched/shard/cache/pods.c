/*
 * Pods: the table, and what follows for each pod from its facts.
 *
 *	listed by a node's alloc            placed there, whatever its state says
 *	no place, phase Pending or none     in the queue; a gated pod is queued as gated
 *	anything else                       left alone
 */
#include <string.h>

#include "shardsched/records/pod_location.h"
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/metrics/record.h"
#include "shardsched/shard/pending_status.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/reservations/preemption.h"
#include "shardsched/shard/termination/termination.h"
#include "shardsched/shard/txn/batch.h"
#include "store/base/alloc.h"

enum { CONFLICTS_AT_ONCE = 4 };

/* -- the table --------------------------------------------------------------- */

static struct sched_pod *pod_at(const struct pod_table *pods, uint32_t number)
{
	return slab_at(&pods->slab, number);
}

static struct bucket_link *link_of(const void *owner, uint32_t number)
{
	return &pod_at(owner, number)->by_key;
}

void pods_init(struct sched *sched)
{
	buckets_init(&sched->pods.buckets, &sched->pods, link_of);
}

/* Keys are numbers that the shard assigns, so no client can make them collide. */
static uint32_t hash_of(const uint32_t key[3])
{
	return (uint32_t)pl_hash(pl_span(key, 3 * sizeof key[0]));
}

static struct sched_pod *table_find(const struct sched *sched, const uint32_t key[3])
{
	uint32_t hash = hash_of(key);
	uint32_t number = buckets_chain(&sched->pods.buckets, hash);

	while (number != 0) {
		struct sched_pod *pod = pod_at(&sched->pods, number);

		if (memcmp(pod->key, key, sizeof pod->key) == 0)
			return pod;
		number = pod->by_key.next;
	}
	return NULL;
}

static struct sched_pod *pod_or_none(const struct sched *sched, uint32_t number)
{
	return number == 0 ? NULL : pod_at(&sched->pods, number);
}

struct sched_pod *pods_first(const struct sched *sched, uint32_t partition)
{
	return pod_or_none(sched, sched->partition[partition].first_pod);
}

struct sched_pod *pods_next(const struct sched *sched, const struct sched_pod *pod)
{
	return pod_or_none(sched, pod->next);
}

/* The first pod of that partition or of the next one that has any. */
static struct sched_pod *first_from(const struct sched *sched, uint32_t partition)
{
	while (partition < sched->opts.partitions &&
	       sched->partition[partition].first_pod == 0)
		partition++;
	return partition == sched->opts.partitions ? NULL : pods_first(sched, partition);
}

struct sched_pod *pods_all(const struct sched *sched)
{
	return sched->pods.count == 0 ? NULL : first_from(sched, 0);
}

struct sched_pod *pods_after(const struct sched *sched, const struct sched_pod *pod)
{
	return pod->next != 0 ? pods_next(sched, pod)
	                      : first_from(sched, pod->key[0] + 1);
}

static void partition_list_add(struct sched *sched, struct sched_pod *pod)
{
	struct sched_partition *of = &sched->partition[pod->key[0]];

	pod->prev = of->last_pod;
	if (pod->prev == 0)
		of->first_pod = pod->number;
	else
		pod_at(&sched->pods, pod->prev)->next = pod->number;
	of->last_pod = pod->number;
}

static void partition_list_del(struct sched *sched, const struct sched_pod *pod)
{
	struct sched_partition *of = &sched->partition[pod->key[0]];

	if (pod->prev == 0)
		of->first_pod = pod->next;
	else
		pod_at(&sched->pods, pod->prev)->next = pod->next;
	if (pod->next == 0)
		of->last_pod = pod->prev;
	else
		pod_at(&sched->pods, pod->next)->prev = pod->prev;
}

struct sched_pod *pod_find(const struct sched *sched, uint32_t partition,
                           struct pl_span namespace, struct pl_span name)
{
	const uint32_t key[3] = {partition,
	                         strings_find(&sched->model.strings, namespace),
	                         strings_find(&sched->model.strings, name)};

	return key[1] == 0 || key[2] == 0 ? NULL : table_find(sched, key);
}

static struct sched_pod *pod_new(struct sched *sched, const uint32_t key[3])
{
	struct pod_table *pods = &sched->pods;
	struct sched_pod *pod;
	uint32_t number = 0;

	if (buckets_ready(&pods->buckets))
		number = slab_alloc(&pods->slab, sizeof *pod);
	if (number == 0)
		return NULL;
	pod = pod_at(pods, number);
	memset(pod, 0, sizeof *pod);
	pod->number = number;
	pod->by_key.hash = hash_of(key);
	pod->key[0] = key[0];
	pod->key[1] = strings_ref(&sched->model.strings, key[1]);
	pod->key[2] = strings_ref(&sched->model.strings, key[2]);
	pod->placed = SNAPSHOT_NONE;
	pod->phase = PHASE_NONE;
	pl_list_init(&pod->link);
	partition_list_add(sched, pod);
	buckets_add(&pods->buckets, number);
	pods->count++;
	return pod;
}

struct sched_pod *pod_get(struct sched *sched, uint32_t partition,
                          struct pl_span namespace, struct pl_span name)
{
	struct strings *strings = &sched->model.strings;
	struct sched_pod *pod = NULL;
	uint32_t key[3] = {partition, 0, 0};

	if (strings_add(strings, namespace, &key[1]) == PL_OK &&
	    strings_add(strings, name, &key[2]) == PL_OK) {
		pod = table_find(sched, key);
		if (pod == NULL)
			pod = pod_new(sched, key);
	}
	strings_unref(strings, key[1]);
	strings_unref(strings, key[2]);
	return pod;
}

void pod_unlink(struct sched *sched, struct sched_pod *pod)
{
	if (pod->linked == LINKED_WAITING) {
		pod->node->waiting_count--;
		--*node_waiting(sched, pod->node);
	} else if (pod->linked == LINKED_REMOTE_LIST) {
		remote_search_of_class(pod->queue.class)->leader = NULL;
	}
	sched->ending -= pod->linked == LINKED_TERMINATING;
	pl_list_del(&pod->link);
	pod->linked = LINKED_NOT;
}

static void pod_drop_uid(struct sched *sched, struct sched_pod *pod)
{
	if (!pod->packed)
		strings_unref(&sched->model.strings, pod->uid.text);
	memset(&pod->uid, 0, sizeof pod->uid);
	pod->packed = false;
}

static void pod_free(struct sched *sched, struct sched_pod *pod)
{
	struct strings *strings = &sched->model.strings;

	PL_ASSERT(pod->stage == POD_IDLE && pod->listed == 0 && pod->txn == 0);
	PL_ASSERT(pod->reserved_by == 0 && !pod_is_victim(pod) &&
	          pod_plan(sched, pod) == NULL);
	pod_unlink(sched, pod);
	gangs_leave(sched, pod);
	pending_status_forget(sched, pod);
	config_migrate_forget(sched, pod);
	partition_list_del(sched, pod);
	buckets_del(&sched->pods.buckets, pod->number);
	sched->pods.count--;
	model_unref(&sched->model, MODEL_SPECS, pod->spec);
	strings_unref(strings, pod->key[1]);
	strings_unref(strings, pod->key[2]);
	pod_drop_uid(sched, pod);
	sched->identity_pods -= pod->identity_keys != 0;
	strings_unref(strings, pod->at[0]);
	strings_unref(strings, pod->at[1]);
	strings_unref(strings, pod->why);
	slab_free(&sched->pods.slab, pod->number);
}

/* Pods of other shards are not followed: they are known while a node lists them. */
void pod_tidy(struct sched *sched, struct sched_pod *pod)
{
	bool known = pod_is_owned(sched, pod) &&
	             (pod->rev[FACT_SPEC] != 0 || pod->rev[FACT_STATE] != 0);

	if (!known && !pod->pinned && pod->listed == 0 && pod->reserved_by == 0 &&
	    !pod_is_victim(pod) && pod->txn == 0 && pod->stage == POD_IDLE &&
	    pod_plan(sched, pod) == NULL)
		pod_free(sched, pod);
}

/* -- in the queue and out of it ---------------------------------------------- */

static void work_add(struct sched *sched, const struct sched_pod *pod, int count)
{
	sched->partition[pod->key[0]].work += (uint32_t)count;
}

static void pod_enqueue(struct sched *sched, struct sched_pod *pod)
{
	const struct pod_self self = {.name = pod->key[2],
	                              .uid = pod_uid(sched, pod),
	                              .nominated = SNAPSHOT_NONE,
	                              .created_ms = pod->created_ms};
	const struct queue_order *turn = sched->turn;
	struct queue_class *class;
	struct registered_class *open;
	struct pl_err err = {0};
	struct verdict say;
	bool gated;
	enum pl_code code =
		class_registry_get(sched->class_registry, pod->spec, &open, &err);

	sched->turn = NULL; /* the order holds for one pod only */
	pod->flags &= (uint16_t)~POD_NO_PROFILE;
	if (code == PL_OK) {
		code = class_enter(pod, open, &class, &err);
		if (code != PL_OK)
			class_registry_put(sched->class_registry, open);
	}
	if (code != PL_OK) {
		pod->flags |= POD_REFUSED;
		if (code == PL_NOTFOUND) /* another scheduler's pod */
			pod->flags |= POD_NO_PROFILE;
		else
			report_repair(sched, &err);
		return;
	}
	pod_set_stage(pod, POD_QUEUED);
	work_add(sched, pod, 1);
	gated = fw_gated(class_registry_profile(sched->class_registry, open), pod->spec,
	                 &sched->snapshot, &self, &say);
	if (pod_gang(pod) != NULL) { /* the gang is in the queue, not its members */
		pod->queue.class = class;
		pod->gated = gated;
		gang_set_dirty(sched, pod_gang(pod));
		return;
	}
	if (turn == NULL)
		pod->queued_ms = (uint32_t)sched->metrics.now_ms;
	if (turn != NULL)
		queue_add_ordered(sched->queue, &pod->queue, class, turn, gated,
		                  (uint64_t)pod->created_ms, sched->now_ms);
	else if (gated)
		queue_add_gated(sched->queue, &pod->queue, class,
		                (uint64_t)pod->created_ms, sched->now_ms);
	else
		queue_add(sched->queue, &pod->queue, class, (uint64_t)pod->created_ms,
		          sched->now_ms);
	rules_class_pods_changed(sched, open);
}

void pod_unassume(struct sched *sched, struct sched_pod *pod)
{
	struct sched_node *node = pod->node;

	PL_ASSERT(pod->stage == POD_ASSUMED && pod->linked == LINKED_WAITING);
	if ((pod->flags & POD_BATCHED) != 0)
		batch_pod_left(sched, pod);
	pod_unlink(sched, pod);
	node_set_ready(sched, node);
	if (pod->placed != SNAPSHOT_NONE) {
		snapshot_pod_remove(&sched->snapshot, pod->placed);
		emit_queue_event(sched, QUEUE_EV_POD_REMOVED, node->slot);
	}
	pod->placed = SNAPSHOT_NONE;
	pod_set_node(sched, pod, NULL);
	/* Members of a gang that is bound may never have been in the queue. */
	pod_set_stage(pod, pod->queue.class == NULL ? POD_IDLE : POD_QUEUED);
	reservations_reconcile_pod(sched, pod);
	pending_status_owe(sched, pod); /* no status was owed while it was being bound */
}

void pod_dequeue(struct sched *sched, struct sched_pod *pod)
{
	struct queue_class *class = pod->queue.class;
	struct registered_class *open;

	if (class == NULL)
		return;
	open = pool_class_of(class);
	if (pod->linked == LINKED_REMOTE_LIST || pod->linked == LINKED_FOLLOWER)
		pod_unlink(sched, pod);
	queue_remove(config_gen_of(open)->queue, &pod->queue, sched->now_ms);
	pod->queue = (struct queue_pod){0};
	class_leave(class);
	rules_class_pods_changed(sched, open);
	class_registry_put(&config_gen_of(open)->class_registry, open);
	work_add(sched, pod, -1);
}

void pod_withdraw(struct sched *sched, struct sched_pod *pod)
{
	PL_ASSERT(pod->stage == POD_QUEUED || pod->stage == POD_ASSUMED);
	preemption_cancel(sched, pod_plan(sched, pod));
	if (pod->stage == POD_ASSUMED)
		pod_unassume(sched, pod);
	pending_status_forget(sched, pod);
	pod_dequeue(sched, pod);
	pod_set_stage(pod, POD_IDLE);
}

static bool is_to_be_queued(const struct sched *sched, const struct sched_pod *pod)
{
	const struct sched_partition *part = &sched->partition[pod->key[0]];
	const unsigned not_now = POD_HAS_NODE_NAME | POD_ENDED | POD_BAD_SPEC |
	                         POD_BAD_STATE | POD_REFUSED | POD_DELETED;

	return part->open && !part->quiet && pod->rev[FACT_SPEC] != 0 &&
	       pod->spec != NULL && pod->listed == 0 &&
	       (pod->phase == PHASE_NONE || pod->phase == STATE_PENDING) &&
	       (pod->flags & not_now) == 0 && !termination_is_wanted(pod);
}

/* The partition is handed over or lost: pods that wait there cannot be put, though no
 * other writer was in the way. */
static bool is_node_leaving(const struct sched *sched, const struct sched_node *node)
{
	return node->moving ||
	       (!node_is_local(sched, node) && !remote_knows(sched, node->partition));
}

/* A gang is retried as a whole. */
void pod_retry(struct sched *sched, struct sched_pod *pod, enum queue_cause cause,
               bool after_backoff)
{
	if (pod_gang(pod) == NULL) {
		queue_retry(queue_of_class(sched, pod->queue.class), &pod->queue, cause,
		            after_backoff, REASON_NONE, sched->now_ms);
		return;
	}
	pod_gang(pod)->pause = pod_gang(pod)->pause || after_backoff;
	gang_set_dirty(sched, pod_gang(pod));
}

void pod_conflicted(struct sched *sched, struct sched_pod *pod)
{
	bool leaving = is_node_leaving(sched, pod->node);

	pod_unassume(sched, pod);
	if (!is_to_be_queued(sched, pod)) {
		pod_withdraw(sched, pod);
		pending_status_owe(sched, pod);
		return;
	}
	sched->figures.conflicts += !leaving;
	sched->figures.taken_back += leaving;
	record_failure(sched, leaving ? SCHED_FAILURE_HANDOVER : SCHED_FAILURE_CONFLICT);
	if (!leaving && pod->conflicts < UINT8_MAX)
		pod->conflicts++;
	pod_retry(sched, pod, QUEUE_CONFLICT, pod->conflicts > CONFLICTS_AT_ONCE);
}

void pod_redecide(struct sched *sched, struct sched_pod *pod)
{
	pod_unassume(sched, pod);
	if (!is_to_be_queued(sched, pod)) {
		pod_withdraw(sched, pod);
		pending_status_owe(sched, pod);
		return;
	}
	sched->figures.decided_again++;
	record_failure(sched, SCHED_FAILURE_WITHDRAWN);
	pod_retry(sched, pod, QUEUE_CONFLICT, false);
}

/* -- reconciling ------------------------------------------------------------- */

void pod_reconcile(struct sched *sched, struct sched_pod *pod)
{
	bool queue;

	if (pod->stage == POD_COMMITTING) /* the answer will tell */
		return;
	gangs_reconcile_pod(sched, pod);
	queue = is_to_be_queued(sched, pod);
	if (pod->stage != POD_IDLE && !queue)
		pod_withdraw(sched, pod);
	if (pod->linked == LINKED_SPEC_WANTED && pod->listed == 0 &&
	    pod->reserved_by == 0)
		pod_unlink(sched, pod);
	if (pod->stage == POD_IDLE && queue && (pod->flags & POD_RESET) == 0)
		pod_enqueue(sched, pod);
	reservations_reconcile_pod(sched, pod);
	if (pod_is_victim(pod))
		preemption_reconcile(sched, pod);
	mismatch_suspect_pod(sched, pod);
	termination_reconcile(sched, pod);
	pending_status_owe(sched, pod); /* a state out of date may have come with it */
	pod_tidy(sched, pod);
}

static void set_string(struct sched *sched, uint32_t *at, uint32_t id)
{
	strings_ref(&sched->model.strings, id);
	strings_unref(&sched->model.strings, *at);
	*at = id;
}

void pod_set_at(struct sched *sched, struct sched_pod *pod, uint32_t cluster,
                uint32_t node)
{
	set_string(sched, &pod->at[0], cluster);
	set_string(sched, &pod->at[1], node);
}

void pod_set_reason(struct sched *sched, struct sched_pod *pod, uint32_t why)
{
	set_string(sched, &pod->why, why);
}

void pod_set_identity(struct sched *sched, struct sched_pod *pod, uint32_t index,
                      uint32_t keys)
{
	sched->identity_pods -= pod->identity_keys != 0;
	sched->identity_pods += keys != 0;
	pod->identity_keys = (uint8_t)keys;
	pod->index = index;
}

/* A decision for the old spec does not hold. One in a txn may still be committed; if it
 * is not, the pod starts anew. */
void pod_change_spec(struct sched *sched, struct sched_pod *pod, const struct spec *spec)
{
	if (pod->stage == POD_QUEUED || pod->stage == POD_ASSUMED)
		pod_withdraw(sched, pod);
	else if (pod->stage == POD_COMMITTING && !pod_is_loose(pod))
		pod_dequeue(sched, pod);
	gangs_leave(sched, pod);
	alloc_entries_forget_spec(sched, pod);
	reservations_forget_spec(sched, pod);
	model_unref(&sched->model, MODEL_SPECS, pod->spec);
	pod->spec = spec;
	pod->unknown_rev = 0;
	/* Without its namespace its class would not open, and its entries would not be
	 * shown. */
	(void)rules_see_namespace(sched, pod->key[1]);
	alloc_entries_learn_spec(sched, pod);
	reservations_learn_spec(sched, pod);
}

/* -- uid --------------------------------------------------------------------- */

/* A uid is compared by gangs only, so other pods need no string for it, which would take
 * 60 bytes. */
static void pod_set_uid(struct sched *sched, struct sched_pod *pod,
                        const struct pod *from)
{
	pod_drop_uid(sched, pod);
	pod->packed = from->spec->template->gang == 0 &&
	              uuid_read(sched_text(sched, from->uid), pod->uid.packed);
	if (!pod->packed)
		pod->uid.text = strings_ref(&sched->model.strings, from->uid);
}

struct pl_span pod_uid_text(const struct sched *sched, const struct sched_pod *pod,
                            char room[UUID_TEXT_LEN])
{
	return pod->packed ? uuid_print(pod->uid.packed, room)
	                   : sched_text(sched, pod->uid.text);
}

uint32_t pod_uid(const struct sched *sched, const struct sched_pod *pod)
{
	char room[UUID_TEXT_LEN];

	if (!pod->packed)
		return pod->uid.text;
	return strings_find(&sched->model.strings, uuid_print(pod->uid.packed, room));
}

enum pl_code pod_uid_take(struct sched *sched, const struct sched_pod *pod, uint32_t *out,
                          struct pl_err *err)
{
	char room[UUID_TEXT_LEN];
	enum pl_code code;

	if (!pod->packed) {
		*out = strings_ref(&sched->model.strings, pod->uid.text);
		return PL_OK;
	}
	code = strings_add(&sched->model.strings, uuid_print(pod->uid.packed, room), out);
	return code == PL_OK ? PL_OK : pl_err_set(err, code, "keep a pod's uid");
}

enum pl_code pod_add_to_snapshot(struct sched *sched, const struct sched_pod *pod,
                                 uint32_t slot, uint32_t flags, uint32_t *placed,
                                 struct pl_err *err)
{
	struct pod_on_node on = {.spec = pod->spec, .name = pod->key[2], .flags = flags};
	enum pl_code code = pod_uid_take(sched, pod, &on.uid, err);

	if (code != PL_OK)
		return code;
	code = snapshot_pod_add(&sched->snapshot, slot, &on, placed, err);
	strings_unref(&sched->model.strings, on.uid);
	return code;
}

void pod_set_spec(struct sched *sched, struct sched_pod *pod, struct pod *from)
{
	pod_set_uid(sched, pod, from);
	pod_set_identity(sched, pod, from->index, from->identity_keys);
	pod->flags &= (uint16_t) ~(POD_HAS_NODE_NAME | POD_ENDED | POD_BAD_SPEC |
	                           POD_MISSING | POD_SPEC_ABSENT | POD_REFUSED |
	                           POD_NO_PROFILE | POD_DELETED);
	pod->created_ms = from->created_ms;
	if (from->node != 0)
		pod->flags |= POD_HAS_NODE_NAME;
	if (from->deleted_ms != 0 || pod_is_terminal(from))
		pod->flags |= POD_ENDED;
	if (pod->spec != from->spec) {
		pod_change_spec(sched, pod, from->spec);
		from->spec = NULL;
	}
	pod_drop(&sched->model, from);
}

/* The pod's partition is lost. The pod stays while nodes of this shard list it. */
void pod_forget(struct sched *sched, struct sched_pod *pod)
{
	if (pod->stage == POD_QUEUED || pod->stage == POD_ASSUMED)
		pod_withdraw(sched, pod);
	if (pod->stage == POD_COMMITTING && (pod->flags & POD_RESET) == 0)
		pod_dequeue(sched, pod);
	pending_status_forget(sched, pod);
	gangs_leave(sched, pod);
	if (pod->txn != 0)
		pod->flags |= POD_RESET;
	pod->rev[FACT_SPEC] = pod->rev[FACT_STATE] = 0;
	pod->flags &= (uint16_t)~POD_BAD_STATE;
	pod->phase = PHASE_NONE;
	pod->ask = pod->ended = pod->next_pending = pod->awaits = 0;
	pod->flags &= (uint16_t) ~(POD_DELETED | POD_TAINTED | POD_NO_STATE);
	pod_set_at(sched, pod, 0, 0);
	pod_set_reason(sched, pod, 0);
	incarnation_unfollowed(sched, pod);
	pod_reconcile(sched, pod);
}

void pods_done(struct sched *sched)
{
	PODS_EACH(pod, sched)
	{
		if (pod->stage == POD_QUEUED || pod->stage == POD_ASSUMED)
			pod_withdraw(sched, pod);
		if (pod->stage == POD_COMMITTING && (pod->flags & POD_RESET) == 0)
			pod_dequeue(sched, pod);
		pod->stage = POD_IDLE;
		pod->txn = 0;
		pod->listed = 0;
		pod->reserved_by = 0;
		pod_free(sched, pod);
	}
	slab_done(&sched->pods.slab);
	buckets_done(&sched->pods.buckets);
}
