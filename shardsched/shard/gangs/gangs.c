/* Membership of gangs, and which of them may be tried. */
#include "shardsched/shard/gangs/gangs.h"

#include <stdlib.h>

#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/report.h"
#include "store/base/alloc.h"

enum {
	LOOK_EVERY = 4096, /* members that are counted in a millisecond */
	HINTS_MAX = 16,    /* classes that are asked */
};

enum pl_code gangs_init(struct sched *sched, struct pl_err *err)
{
	return gang_new(&sched->gangs.tool, err);
}

/* -- the table --------------------------------------------------------------- */

static struct pl_span key_of(const uint32_t key[3])
{
	return pl_span(key, 3 * sizeof key[0]);
}

static struct sched_gang *table_find(const struct sched *sched, const uint32_t key[3])
{
	struct pl_map_node *at = pl_map_get(&sched->gangs.by_name, key_of(key));

	return at == NULL ? NULL : PL_CONTAINER_OF(at, struct sched_gang, by_name);
}

/* The gang's name may be one that no key can have. */
static bool has_key(const struct sched *sched, const uint32_t key[3])
{
	const struct keys_id id = {.kind = KEYS_GANG,
	                           .scope = sched_text(sched, key[1]),
	                           .name = sched_text(sched, key[2])};
	struct keys_text text;

	return keys_build(&id, &text, NULL) == PL_OK;
}

enum pl_code gang_get(struct sched *sched, const uint32_t key[3], struct sched_gang **out)
{
	struct sched_gang *gang = table_find(sched, key);

	if (gang == NULL) {
		if (!has_key(sched, key))
			return PL_INVALID;
		gang = pl_calloc(1, sizeof *gang);
		if (gang == NULL)
			return PL_NOMEM;
		gang->key[0] = key[0];
		gang->key[1] = strings_ref(&sched->model.strings, key[1]);
		gang->key[2] = strings_ref(&sched->model.strings, key[2]);
		pl_list_init(&gang->members);
		pl_list_init(&gang->dirty);
		pl_list_init(&gang->batched);
		pl_list_init(&gang->reporting);
		(void)!pl_map_add(&sched->gangs.by_name, &gang->by_name,
		                  key_of(gang->key));
	}
	*out = gang;
	return PL_OK;
}

static void queue_leave(struct sched *sched, struct sched_gang *gang)
{
	if (!gang->open)
		return;
	gang->attempts += gang->queue.attempts;
	queue_remove(sched->queue, &gang->queue, sched->now_ms);
	queue_class_close(sched->queue, &gang->class);
	gang->queue = (struct queue_pod){0};
	gang->open = false;
}

static void release_view(struct sched *sched, struct sched_gang *gang)
{
	if (gang->viewing)
		fleet_view_release(sched);
	gang->viewing = false;
}

static void sched_gang_free(struct sched *sched, struct sched_gang *gang)
{
	PL_ASSERT(gang->count == 0 && pl_list_empty(&gang->members));
	PL_ASSERT(gang->work == NULL);
	queue_leave(sched, gang);
	release_view(sched, gang);
	pl_list_del(&gang->dirty);
	pl_list_del(&gang->reporting);
	pl_list_del(&gang->batched);
	pl_map_del(&sched->gangs.by_name, &gang->by_name);
	strings_unref(&sched->model.strings, gang->key[1]);
	strings_unref(&sched->model.strings, gang->key[2]);
	free(gang);
}

void gangs_done(struct sched *sched)
{
	struct gangs *gangs = &sched->gangs;

	PL_MAP_EACH (at, &gangs->by_name)
		sched_gang_free(sched, PL_CONTAINER_OF(at, struct sched_gang, by_name));
	pl_map_done(&gangs->by_name);
	gang_free(gangs->tool);
	free(gangs->member);
	free(gangs->pod);
}

void gangs_close(struct sched *sched)
{
	PL_MAP_EACH (at, &sched->gangs.by_name) {
		struct sched_gang *gang = PL_CONTAINER_OF(at, struct sched_gang, by_name);

		queue_leave(sched, gang);
		gang_set_dirty(sched, gang);
	}
}

/* -- membership -------------------------------------------------------------- */

void gang_set_dirty(struct sched *sched, struct sched_gang *gang)
{
	if (pl_list_empty(&gang->dirty))
		pl_list_add_tail(&sched->gangs.dirty, &gang->dirty);
}

void gangs_leave(struct sched *sched, struct sched_pod *pod)
{
	struct sched_gang *gang = pod_gang(pod);

	if (gang == NULL)
		return;
	pl_list_del(&pod->member->of_gang);
	gang->count--;
	free(pod->member);
	pod->member = NULL;
	pod->tried = false;
	gang_set_dirty(sched, gang);
}

static bool is_member(const struct sched *sched, const struct sched_pod *pod)
{
	return pod->spec != NULL && pod->spec->template->gang != 0 &&
	       pod_is_owned(sched, pod) && pod->rev[FACT_SPEC] != 0;
}

/* The caller counts the pod. */
static enum pl_code gang_enter(struct sched *sched, struct sched_pod *pod)
{
	const uint32_t key[3] = {pod->key[0], pod->key[1], pod->spec->template->gang};
	struct gang_member_pod *member = pl_calloc(1, sizeof *member);
	enum pl_code code =
		member == NULL ? PL_NOMEM : gang_get(sched, key, &member->gang);

	if (code != PL_OK) {
		free(member);
		return code;
	}
	member->pod = pod;
	pl_list_init(&member->of_gang);
	pl_list_add_tail(&member->gang->members, &member->of_gang);
	pod->member = member;
	pod->gang_reported = 0;
	return PL_OK;
}

void gangs_reconcile_pod(struct sched *sched, struct sched_pod *pod)
{
	struct pl_err err = {0};
	enum pl_code code;

	if (pod_gang(pod) != NULL && pod->rev[FACT_STATE] == 0 && pod->txn == 0)
		pod->gang_reported = 0; /* the reported status is gone */
	if (pod_gang(pod) != NULL && is_member(sched, pod)) {
		gang_set_dirty(sched, pod_gang(pod));
		return;
	}
	gangs_leave(sched, pod);
	if (!is_member(sched, pod))
		return;
	code = gang_enter(sched, pod);
	if (code != PL_OK) { /* the pod is not to be placed alone */
		pod->flags |= POD_REFUSED;
		pl_err_set(&err, code, "keep a gang");
		report_repair(sched, &err);
		return;
	}
	pod_gang(pod)->count++;
	gang_set_dirty(sched, pod_gang(pod));
}

/* -- which gangs may be tried ------------------------------------------------ */

static bool is_member_ready(const struct sched_pod *pod)
{
	return pod->stage == POD_QUEUED && !pod->gated;
}

static bool is_older(const struct sched_pod *a, const struct sched_pod *b)
{
	return b == NULL || a->created_ms < b->created_ms;
}

/* Counts the members. The oldest of those that wait. */
static struct sched_pod *count_members(struct sched_gang *gang, bool *busy)
{
	struct sched_pod *first = NULL;

	gang->ready = gang->present = 0;
	*busy = false;
	PL_LIST_EACH (link, &gang->members) {
		struct sched_pod *pod = member_of(link);

		if (is_member_ready(pod)) {
			gang->ready++;
			if (is_older(pod, first))
				first = pod;
		} else if (pod->stage == POD_ASSUMED || pod->stage == POD_COMMITTING) {
			*busy = true;
		} else if (pod->phase == STATE_BOUND) {
			gang->present++;
		}
	}
	return first;
}

static void queue_enter(struct sched *sched, struct sched_gang *gang,
                        const struct sched_pod *first)
{
	const struct queue_class *like = first->queue.class;
	const struct queue_class_opts opts = {
		.namespace_id = gang->key[1],
		.priority = first->spec->priority,
		.level = (enum queue_level)like->level,
		.weight = sched_config_weight(&sched->config_gen->sched_config,
	                                      gang->key[1]),
		.lane = LANE_GANG};
	struct pl_err err = {0};

	if (queue_class_open(sched->queue, &gang->class, &opts, &err) != PL_OK) {
		report_repair(sched, &err);
		return;
	}
	gang->open = true;
	gang->large = false;
	gang->queued_ms = (uint32_t)sched->metrics.now_ms;
	queue_add(sched->queue, &gang->queue, &gang->class, (uint64_t)first->created_ms,
	          sched->now_ms);
}

void gang_tried(struct sched_gang *gang)
{
	gang->tried = 0;
	gang->tried_present = gang->present;
	PL_LIST_EACH (link, &gang->members) {
		struct sched_pod *pod = member_of(link);

		pod->tried = is_member_ready(pod);
		gang->tried += pod->tried;
	}
}

/* Members that wait now did not when the gang was refused. Their number may be the same:
 * one was edited, or came back from a txn when another went. */
static bool has_new_waiting(const struct sched_gang *gang)
{
	if (gang->tried != gang->ready || gang->tried_present != gang->present)
		return true;
	PL_LIST_EACH (link, &gang->members) {
		const struct sched_pod *pod = member_of(link);

		if (is_member_ready(pod) && !pod->tried)
			return true;
	}
	return false;
}

/* With other members the gang may not be refused. */
static void retry_now(struct sched *sched, struct sched_gang *gang)
{
	if (gang->queue.place != QUEUE_WAITING || !has_new_waiting(gang))
		return;
	gang->large = false;
	queue_activate(sched->queue, &gang->queue, sched->now_ms);
}

static void look_at_gang(struct sched *sched, struct sched_gang *gang)
{
	bool busy;
	struct sched_pod *first = count_members(gang, &busy);
	bool here = !pl_list_empty(&gang->batched) || busy;
	uint32_t least;

	gang->look_ms = sched->now_ms + gang->count / LOOK_EVERY;
	if (gang->work != NULL) /* the gang is looked at again when the attempt ends */
		return;
	if (gang->count == 0 && !here) {
		sched_gang_free(sched, gang);
		return;
	}
	if (here)
		return;
	if (first == NULL) {
		queue_leave(sched, gang);
		release_view(sched, gang);
		return;
	}
	least = first->spec->template->gang_min > 0
	                ? (uint32_t)first->spec->template->gang_min
	                : 1;
	gang->minimum = least;
	if (gang->ready + gang->present < least) {
		queue_leave(sched, gang);
		gang_set_reason(sched, gang, REASON_GANG_INCOMPLETE,
		                "%u of %u members are there", gang->ready + gang->present,
		                least);
	} else if (!gang->open) {
		queue_enter(sched, gang, first);
	} else {
		retry_now(sched, gang);
	}
}

void gangs_run(struct sched *sched)
{
	PL_LIST_EACH (link, &sched->gangs.dirty) {
		struct sched_gang *gang = PL_LIST_ITEM(link, struct sched_gang, dirty);

		if (gang->look_ms > sched->now_ms)
			continue;
		pl_list_del(&gang->dirty);
		look_at_gang(sched, gang);
	}
	gangs_report(sched);
}

uint64_t gangs_deadline_ms(const struct sched *sched)
{
	const struct gangs *gangs = &sched->gangs;
	uint64_t at_ms = UINT64_MAX;

	PL_LIST_EACH (link, &gangs->dirty) {
		uint64_t look_ms = PL_LIST_ITEM(link, struct sched_gang, dirty)->look_ms;

		at_ms = look_ms < at_ms ? look_ms : at_ms;
	}
	PL_LIST_EACH (link, &gangs->reporting) {
		uint64_t report_ms =
			PL_LIST_ITEM(link, struct sched_gang, reporting)->report_ms;

		at_ms = report_ms < at_ms ? report_ms : at_ms;
	}
	return at_ms;
}

/* -- the queue's ------------------------------------------------------------- */

bool gang_is_class(const struct queue_class *class)
{
	return class->lane == LANE_GANG || class->lane == LANE_LARGE;
}

struct sched_gang *gang_of_queue(struct queue_pod *pod)
{
	PL_ASSERT(gang_is_class(pod->class));
	return PL_CONTAINER_OF(pod, struct sched_gang, queue);
}

bool gang_hint(struct sched *sched, const struct queue_class *class, unsigned plugin,
               const struct queue_event *event)
{
	const struct sched_gang *gang =
		PL_CONTAINER_OF_CONST(class, struct sched_gang, class);
	const struct queue_class *last = NULL;
	unsigned asked = 0;

	PL_LIST_EACH (link, &gang->members) {
		const struct sched_pod *pod = member_of(link);

		if (!is_member_ready(pod) || pod->queue.class == last)
			continue;
		last = pod->queue.class;
		if (asked++ == HINTS_MAX || sched_hint(sched, plugin, last, event))
			return true;
	}
	return asked == 0;
}

/* -- partitions -------------------------------------------------------------- */

void gangs_lost(struct sched *sched, uint32_t partition)
{
	PL_MAP_EACH (at, &sched->gangs.by_name) {
		struct sched_gang *gang = PL_CONTAINER_OF(at, struct sched_gang, by_name);

		if (gang->key[0] != partition)
			continue;
		queue_leave(sched, gang);
		gang_set_dirty(sched, gang);
	}
}

void gangs_check(const struct sched *sched)
{
	PL_MAP_EACH (at, &sched->gangs.by_name) {
		const struct sched_gang *gang =
			PL_CONTAINER_OF(at, struct sched_gang, by_name);
		uint32_t members = 0;

		PL_LIST_EACH (link, &gang->members) {
			const struct sched_pod *pod = member_of(link);

			PL_ASSERT(pod_gang(pod) == gang && pod->key[0] == gang->key[0] &&
			          pod->key[1] == gang->key[1] &&
			          pod->spec->template->gang == gang->key[2]);
			members++;
		}
		PL_ASSERT(members == gang->count);
		PL_ASSERT(gang->open == (gang->queue.place != QUEUE_OUT));
	}
}
