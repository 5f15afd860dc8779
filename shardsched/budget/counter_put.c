/*
 * Which budgets are to be written. Budgets that may have changed are recounted one after
 * the other, and those whose count differs from their value are put.
 */
#include <stdlib.h>

#include "shardsched/budget/counter_inner.h"
#include "store/base/alloc.h"

enum { LOOK_AHEAD = 32, LOOK_MS = 20, AGAIN_MS = 1000, PATIENCE_MS = 1000 };

/* -- what a budget should say ------------------------------------------------------- */

/* Something newer is known of the pod than the state that was given up. What was there
 * then, and is not there now, is gone. */
static bool is_seen(const struct counter *counter, const struct counter_pod *pod,
                    int64_t state_rev)
{
	int64_t known = pod == NULL ? 0 : pod->state_rev;

	return known > state_rev ||
	       (counter->view_rev >= state_rev && known != state_rev);
}

static bool is_counted(const struct counted_budget *budget, const struct counter_pod *pod)
{
	if (pod == NULL || pod->label_set == NULL || !pod->healthy)
		return false;
	for (uint32_t i = 0; i < pod->label_set->budgets; i++)
		if (pod->label_set->budget[i] == budget)
			return true;
	return false;
}

static bool same_status(const struct budget_status *a, const struct budget_status *b)
{
	return a->expected == b->expected && a->desired == b->desired &&
	       a->healthy == b->healthy && a->allowed == b->allowed;
}

static uint32_t bounded_count(uint64_t count)
{
	return count > INT32_MAX ? INT32_MAX : (uint32_t)count;
}

/* Removes notes of disruptions that have been seen, in place. True: the value has
 * changed. */
static bool recount_budget(const struct counter *counter,
                           const struct counted_budget *budget,
                           struct budget_record *record, struct budget_disrupted *notes)
{
	uint64_t healthy = budget->healthy;
	uint32_t kept = 0, had = record->disrupted_count;
	struct budget_status status;
	bool same;

	for (uint32_t i = 0; i < had; i++) {
		const struct counter_pod *pod =
			pod_of(counter, budget->key[0], record->disrupted[i].name);

		if (is_seen(counter, pod, record->disrupted[i].state_rev))
			continue;
		healthy -= is_counted(budget, pod);
		notes[kept++] = record->disrupted[i];
	}
	status = budget_status_of(budget->object.rule, bounded_count(budget->expected),
	                          bounded_count(healthy));
	same = record->counted && kept == had && same_status(&status, &record->status);
	record->counted = true;
	record->status = status;
	record->disrupted = notes;
	record->disrupted_count = kept;
	return !same;
}

/* PL_OK: it lies in buf. PL_NOTFOUND: nothing is to be written. */
static enum pl_code print_budget(struct counter *counter,
                                 const struct counted_budget *budget)
{
	struct pl_span value = pl_span(budget->value, budget->len);
	struct budget_disrupted *notes;
	struct budget_record record;
	struct pl_err err = {0};
	enum pl_code code;

	pl_arena_reset(&counter->arena);
	code = budget_record_parse(value, &counter->arena, &record, &err);
	if (code != PL_OK)
		return code;
	notes = pl_arena_zalloc(&counter->arena, (size_t)record.disrupted_count + 1,
	                        sizeof *notes);
	if (notes == NULL)
		return PL_NOMEM;
	if (!recount_budget(counter, budget, &record, notes))
		return PL_NOTFOUND;
	pl_buf_clear(&counter->buf, counter->buf.cap);
	return budget_record_print(&record, &counter->buf, &err);
}

/* -- which ones --------------------------------------------------------------------- */

static bool is_ready(const struct counted_budget *budget, uint64_t now_ms)
{
	return budget->sent == NULL && budget->next_ms <= now_ms;
}

static struct counted_budget *next_ready(struct counter *counter, uint64_t now_ms)
{
	unsigned looked = 0;

	PL_LIST_EACH (link, &counter->dirty) {
		struct counted_budget *budget =
			PL_LIST_ITEM(link, struct counted_budget, dirty);

		if (is_ready(budget, now_ms))
			return budget;
		if (++looked == LOOK_AHEAD)
			break;
	}
	return NULL;
}

/* A pod that was disturbed before the budget was made is noted nowhere: so the pods have
 * to be known as they were at that revision. */
static bool is_awaited(const struct counter *counter, const struct counted_budget *budget)
{
	return budget->state == COUNTED_NOT_YET &&
	       namespace_is_known(budget->namespace) && counter->view_rev < budget->rev;
}

/* A view without events does not advance: after a while all pods are listed again. */
static void stop_waiting(struct counter *counter, uint64_t now_ms)
{
	if (counter->stale_ms == 0 || now_ms < counter->stale_ms)
		return;
	counter->stale_ms = 0;
	PL_LIST_EACH (link, &counter->noting) {
		struct counted_budget *budget =
			PL_LIST_ITEM(link, struct counted_budget, noting);

		if (is_awaited(counter, budget))
			budget->namespace->pods = NAMESPACE_PODS_UNKNOWN;
	}
}

static bool make_put(struct counter *counter, struct counted_budget *budget,
                     uint64_t now_ms)
{
	bool awaited = is_awaited(counter, budget);
	enum pl_code code = PL_NOTFOUND;
	uint8_t *copy = NULL;

	pl_list_del(&budget->dirty);
	budget->next_ms = now_ms + LOOK_MS;
	if (awaited && counter->stale_ms == 0)
		counter->stale_ms = now_ms + PATIENCE_MS;
	/* Else the budget is counted once its pods are known. */
	if (namespace_is_known(budget->namespace) && !awaited)
		code = print_budget(counter, budget);
	if (code == PL_NOTFOUND)
		return false;
	if (code == PL_OK)
		copy = pl_malloc(counter->buf.len);
	if (copy == NULL) {
		budget->next_ms = now_ms + AGAIN_MS;
		counted_budget_touch(counter, budget);
		return false;
	}
	memcpy(copy, counter->buf.at, counter->buf.len);
	budget->sent = copy;
	budget->sent_len = counter->buf.len;
	budget->next_ms = now_ms + COUNTER_EACH_MS;
	counter->next_ms = now_ms + COUNTER_PACE_MS;
	return true;
}

bool counter_next(struct counter *counter, uint64_t now_ms, struct counter_put *out)
{
	struct counted_budget *budget;

	stop_waiting(counter, now_ms);
	if (now_ms < counter->next_ms)
		return false;
	do {
		budget = next_ready(counter, now_ms);
		if (budget == NULL)
			return false;
	} while (!make_put(counter, budget, now_ms));
	*out = (struct counter_put){.budget = budget,
	                            .namespace =
	                                    model_text(&counter->model, budget->key[0]),
	                            .name = model_text(&counter->model, budget->key[1]),
	                            .rev = budget->rev,
	                            .value = pl_span(budget->sent, budget->sent_len)};
	return true;
}

uint64_t counter_deadline_ms(const struct counter *counter)
{
	uint64_t at = UINT64_MAX;
	unsigned looked = 0;

	PL_LIST_EACH (link, &counter->dirty) {
		const struct counted_budget *budget =
			PL_LIST_ITEM(link, struct counted_budget, dirty);

		if (budget->sent == NULL && budget->next_ms < at)
			at = budget->next_ms;
		if (++looked == LOOK_AHEAD)
			break;
	}
	if (at != UINT64_MAX && at < counter->next_ms)
		at = counter->next_ms;
	return counter->stale_ms != 0 && counter->stale_ms < at ? counter->stale_ms : at;
}

void counter_answer(struct counter *counter, struct counted_budget *budget,
                    int64_t revision, uint64_t now_ms)
{
	struct kv_record record = {.mod_revision = revision};
	struct pl_err err = {0};

	PL_ASSERT(budget->sent != NULL);
	record.value = pl_span(budget->sent, budget->sent_len);
	if (budget->state == COUNTED_GONE) {
		pl_list_del(&budget->dirty);
		counted_budget_free(counter, budget);
		return;
	}
	if (revision > budget->rev)
		(void)!counted_budget_set(counter, budget, &record,
		                          &err); /* or the watch will */
	if (revision == 0 && budget->next_ms < now_ms + COUNTER_EACH_MS)
		budget->next_ms = now_ms + COUNTER_EACH_MS;
	free(PL_STEAL(budget->sent));
	if (revision == 0)
		counted_budget_touch(counter, budget);
}

/* -- for tests ---------------------------------------------------------------------- */

static bool pod_covered(const struct counter *counter, const struct counter_pod *pod,
                        const struct counted_budget *budget)
{
	return pod->label_set != NULL &&
	       pod->label_set->key.namespace == budget->namespace &&
	       counted_budget_is_good(budget) &&
	       budget_covers(&counter->model.strings, &budget->object,
	                     pod->label_set->key.labels);
}

static void check_budget(const struct counter *counter,
                         const struct counted_budget *budget)
{
	uint64_t expected = 0, healthy = 0;

	PL_MAP_EACH (at, &counter->pods) {
		const struct counter_pod *pod =
			PL_CONTAINER_OF(at, struct counter_pod, by_name);

		if (!pod_covered(counter, pod, budget))
			continue;
		expected += !pod->over;
		healthy += pod->healthy;
	}
	PL_ASSERT(budget->expected == expected && budget->healthy == healthy);
	PL_ASSERT(counted_budget_is_good(budget) == (budget->value != NULL));
}

void counter_check(const struct counter *counter)
{
	uint32_t pods = 0;

	PL_MAP_EACH (at, &counter->budgets)
		check_budget(counter,
		             PL_CONTAINER_OF(at, struct counted_budget, by_name));
	PL_MAP_EACH (at, &counter->label_sets)
		pods += PL_CONTAINER_OF(at, struct label_set, by_labels)->pods;
	PL_ASSERT(pods <= counter->pods.count &&
	          counter->pods.count <= counter->pods_max);
}
