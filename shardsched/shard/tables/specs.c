/*
 * Specs of pods of other partitions that an alloc of ours lists: read by key, since
 * nothing else of these partitions is watched.
 */
#include "shardsched/shard/commit/calls.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/tables/tables.h"
#include "shardsched/shard/tell.h"
#include "store/kv/calls.h"

enum {
	READ_MOST = 256,
	READ_HALVES = 6, /* of these, at most: more than one pod's keys are left */
	READ_TELLS = 8,  /* one in so many failures is told */
	OPS_OF_POD = 3,
	READ_AGAIN_MS = 500,
	ANEW_MS = 5000,
	ANEW_PODS = 1024, /* at once, and those of a node more */
};

/* Read, and not there, or no pod. */
enum { HOPELESS = POD_MISSING | POD_BAD_SPEC };

/* What is owned and not listed yet comes by itself. */
static bool is_coming(const struct sched *sched, const struct sched_pod *pod)
{
	const struct sched_partition *part = &sched->partition[pod->key[0]];

	return part->owned && !part->ended[SCHED_SCHEDULES];
}

/* It is asked for as things are, or is in a call, whose end is waited for. */
static bool is_under_way(const struct sched_pod *pod)
{
	return pod->call != 0 || pod->linked == LINKED_WANTED;
}

static void want(struct sched *sched, struct sched_pod *pod, int64_t revision)
{
	if (is_under_way(pod) || is_coming(sched, pod))
		return;
	pod_unlink(sched, pod);
	groups_turn_end(sched); /* the view waits for it */
	pl_list_add_tail(&sched->wanted, &pod->link);
	pod->linked = LINKED_WANTED;
	if (pod->spec != NULL || pod->unknown_rev == 0)
		pod->unknown_rev = pod->spec != NULL ? revision : 1;
}

/* What is out is asked again, if it was before that. */
void specs_doubt(struct sched *sched, struct sched_pod *pod, int64_t since)
{
	struct call *call = pod->call == 0 ? NULL : &sched->call[pod->call - 1];

	if (!is_under_way(pod)) {
		if (pod->place == POD_IDLE)
			want(sched, pod, since);
		return;
	}
	groups_turn_end(sched);
	if (call != NULL && call->kind != CALL_READ)
		call->doubted = since < call->doubted ? since : call->doubted;
	else if (pod->unknown_rev == 0 || since < pod->unknown_rev)
		pod->unknown_rev = since;
}

bool specs_are_coming(const struct sched_node *node)
{
	for (uint32_t i = 0; i < node->count; i++) {
		const struct sched_pod *pod = node->listed[i].pod;

		if (pod->spec != NULL ? node->listed[i].doubted || node->listed[i].other
		                      : (pod->flags & HOPELESS) == 0)
			return true;
	}
	return false;
}

void specs_want(struct sched *sched, struct sched_pod *pod, int64_t revision)
{
	/* What was a pod when it was read before may be one again. */
	if ((pod->flags & HOPELESS) == 0 || (pod->spec != NULL && pod->asks_state))
		want(sched, pod, revision);
}

/* Somebody may have put it right, and nobody watches it here. What is taken for another
 * is none when the alloc stays as it is. So many are asked for. */
static uint32_t want_anew(struct sched *sched, struct sched_node *node)
{
	uint32_t wanted = 0;

	for (uint32_t i = 0; i < node->count; i++) {
		struct sched_pod *pod = node->listed[i].pod;
		bool was = is_under_way(pod);

		if (node->listed[i].doubted)
			specs_doubt(sched, pod, 1);
		else if (node->listed[i].other && pod->spec != NULL &&
		         pod->place == POD_IDLE)
			want(sched, pod, INT64_MAX);
		if (pod->spec == NULL && (pod->flags & HOPELESS) != 0 &&
		    !pod_is_owned(sched, pod))
			want(sched, pod, node->rev[FACT_ALLOC]);
		wanted += !was && is_under_way(pod);
	}
	return wanted;
}

/* In turn: what is put right by nobody is read for ever, be it by the ten thousands. */
static void look_at_some(struct sched *sched)
{
	const struct pl_list *last = sched->lacking.prev;
	struct pl_list *link = NULL;

	for (uint32_t pods = 0; link != last && pods < ANEW_PODS;) {
		link = sched->lacking.next;
		pl_list_del(link);
		pl_list_add_tail(&sched->lacking, link);
		pods += want_anew(sched, PL_LIST_ITEM(link, struct sched_node, lacking));
	}
}

static void look_anew(struct sched *sched)
{
	if (pl_list_empty(&sched->lacking)) {
		sched->specs_ms = 0;
		return;
	}
	if (sched->specs_ms > sched->now_ms)
		return;
	if (sched->specs_ms != 0)
		look_at_some(sched);
	sched->specs_ms = sched->now_ms + ANEW_MS;
}

uint64_t specs_deadline_ms(const struct sched *sched)
{
	return pl_list_empty(&sched->lacking) ? UINT64_MAX : sched->specs_ms;
}

static bool ask_key(struct call *call, struct sched_pod *pod, const struct keys_id *id,
                    struct kv_req *op)
{
	struct keys_text key;
	struct pl_span at;

	if (keys_build(id, &key, NULL) != PL_OK)
		return false;
	at = pl_arena_dup(&call->arena, keys_span(&key));
	if (at.at == NULL)
		return false;
	op[call->items] = kv_op_get(kv_key(at));
	call->item[call->items++] = (struct call_item){.pod = pod};
	return true;
}

static bool ask(struct sched *sched, struct call *call, struct sched_pod *pod,
                enum keys_kind kind, struct kv_req *op)
{
	const struct keys_id id = {.kind = kind,
	                           .partition = pod->key[0],
	                           .scope = sched_text(sched, pod->key[1]),
	                           .name = sched_text(sched, pod->key[2])};

	return ask_key(call, pod, &id, op);
}

/* Who lists what is no pod, or seems to be another: whether it still does. Pods of a node
 * mostly come one after the other, and *asked is the one that was last. */
static void ask_alloc(struct sched *sched, struct call *call, struct sched_pod *pod,
                      const struct sched_node **asked, struct kv_req *op)
{
	const struct sched_node *node = (pod->flags & HOPELESS) != 0 && pod->spec == NULL
	                                        ? pod->node
	                                        : lives_other_at(sched, pod);
	struct keys_id id = {.kind = KEYS_ALLOC};

	if (node == NULL || node == *asked)
		return;
	*asked = node;
	id.partition = node->partition;
	id.scope = sched_text(sched, node->key[0]);
	id.name = sched_text(sched, node->key[1]);
	(void)ask_key(call, pod, &id, op);
}

static uint32_t read_most(const struct sched *sched)
{
	uint32_t ops = sched->limits.txn_ops,
		 most = (uint32_t)READ_MOST >> sched->reads_less;

	return ops != 0 && ops < most ? ops : most;
}

static void ask_some(struct sched *sched, struct call *call, struct kv_req *op)
{
	const struct sched_node *asked = NULL;
	uint32_t most = read_most(sched);

	PL_LIST_EACH (link, &sched->wanted) {
		struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);
		uint32_t first = call->items;

		if (call->items > 0 && call->items + OPS_OF_POD > most)
			break;
		pod_unlink(sched, pod);
		if (most >= OPS_OF_POD)
			ask_alloc(sched, call, pod, &asked, op);
		if (!ask(sched, call, pod, KEYS_SPEC, op)) {
			call->items = first;
			asked = NULL;
			pod->flags |= POD_MISSING;
			continue;
		}
		pod->call = call_number(sched, call);
		pod->relisted = false;
		if (pod->asks_state)
			(void)ask(sched, call, pod, KEYS_STATE, op);
		pod->asks_state = false;
	}
}

static bool run_one(struct sched *sched)
{
	struct call *call;
	struct kv_req *op;

	if (pl_list_empty(&sched->wanted))
		return false;
	call = call_begin(sched, CALL_READ);
	if (call == NULL)
		return false;
	call->item = pl_arena_zalloc(&call->arena, READ_MOST, sizeof *call->item);
	op = pl_arena_zalloc(&call->arena, READ_MOST, sizeof *op);
	if (call->item != NULL && op != NULL)
		ask_some(sched, call, op);
	if (call->items == 0) {
		call_end(sched, call);
		return false;
	}
	call->req = (struct kv_req){.op = KV_TXN,
	                            .txn = {.then = op, .then_count = call->items}};
	call_post(sched, call);
	return true;
}

void specs_run(struct sched *sched)
{
	look_anew(sched);
	while (run_one(sched))
		;
}

static void tell_missing(struct sched *sched, struct sched_pod *pod,
                         const struct keys_id *id)
{
	struct pl_err err;

	pl_err_set(&err, PL_NOTFOUND, "an alloc lists it, and there is no such spec");
	pod->flags |= POD_SPECLESS;
	tell_garbled(sched, id, &err);
}

/* The alloc may be older than what was read, and the pod have ended since: it is told
 * when both were read together. The first time they were not, and are now. */
static void find_missing(struct sched *sched, struct sched_pod *pod,
                         const struct keys_id *id, int64_t revision)
{
	bool together = sched->seen.node != NULL && sched->seen.node == pod->node &&
	                sched->seen.revision == revision;
	bool again = (pod->flags & HOPELESS) == 0;

	pod->flags |= POD_MISSING;
	if (pod->listed == 0 || (pod->flags & (POD_SPECLESS | POD_BAD_SPEC)) != 0)
		return;
	if (together || read_most(sched) < OPS_OF_POD)
		tell_missing(sched, pod, id);
	else if (again)
		want(sched, pod, revision);
}

static void is_read(struct sched_pod *pod)
{
	pod->call = 0;
	pod->flags &= (uint16_t)~POD_RESET;
}

/* It stood there at the time at which the specs were read, which come next. */
static void take_alloc(struct sched *sched, const struct keys_id *id,
                       const struct kv_get_result *get, int64_t revision)
{
	const struct kv_record none = {.mod_revision = revision};
	const struct kv_record *record = get->count == 0 ? &none : &get->records[0];
	struct sched_node *node;

	sched->seen.node = NULL;
	if (!news_concern(sched, id) ||
	    (get->count > 0 && news_has_gone(sched, id, record)))
		return;
	if (!news_take(sched, id, record, get->count == 0))
		news_lost(sched, id);
	node = node_find(sched, id->scope, id->name);
	if (get->count == 0 || node == NULL ||
	    node->rev[FACT_ALLOC] != get->records[0].mod_revision)
		return;
	sched->seen.node = node;
	sched->seen.alloc = node->rev[FACT_ALLOC];
	sched->seen.revision = revision;
}

static void take_pod(struct sched *sched, struct sched_pod *pod, const struct keys_id *id,
                     const struct kv_get_result *get, int64_t revision)
{
	if (pod->relisted && revision >= lives_newest(sched, pod))
		pod->relisted = false; /* what was read is not older than who is listed */
	if (pod->relisted) {
		pod->asks_state = pod->asks_state || id->kind == KEYS_STATE;
		return;
	}
	if (get->count > 0) {
		if (!news_take(sched, id, &get->records[0], false))
			pod->relisted = true;
		return;
	}
	if (id->kind == KEYS_STATE) {
		if (!pod_is_owned(sched, pod)) /* its owner is told */
			pod->flags |= POD_MUTE;
		return;
	}
	if (pod->spec != NULL) /* who is listed by now is another */
		lives_born(sched, pod, revision);
	if (pod->spec == NULL && (pod->listed > 0 || pod->held > 0))
		find_missing(sched, pod, id, revision);
}

/* What it brings is kept like news; pods may go while that is done. Those of whom nothing
 * is known are in the call until it is: a node that is settled before that asks. */
static void take(struct sched *sched, const struct call *call,
                 const struct kv_result *result)
{
	uint8_t number = call_number(sched, call);

	for (uint32_t i = 0; i < call->items; i++) {
		const struct kv_get_result *get;
		struct keys_id id;
		struct sched_pod *pod;

		if (keys_parse(call->req.txn.then[i].get.keys.from, &id, NULL) != PL_OK)
			continue;
		get = i < result->txn.count ? &result->txn.results[i].get : NULL;
		if (id.kind == KEYS_ALLOC) {
			if (get != NULL)
				take_alloc(sched, &id, get, result->header.revision);
			continue;
		}
		pod = pod_find(sched, id.partition, id.scope, id.name);
		if (pod != NULL && pod->call == number)
			is_read(pod);
		if (pod != NULL && get != NULL)
			take_pod(sched, pod, &id, get, result->header.revision);
	}
	sched->seen.node = NULL;
}

/* It is asked for in another call. */
static void give_back(struct sched *sched, struct call *call, uint32_t i)
{
	struct sched_pod *pod = call->item[i].pod;
	struct keys_id id;

	if (keys_parse(call->req.txn.then[i].get.keys.from, &id, NULL) == PL_OK &&
	    id.kind == KEYS_STATE)
		pod->asks_state = true;
	if (pod->call == 0)
		return;
	pod->call = 0;
	if (pod->linked != LINKED_NOT) { /* it waits: that it may be another is known */
		pod->relisted = true;
		if (pod->place == POD_WAITS)
			node_ready(sched, pod->node);
		return;
	}
	pl_list_add_tail(&sched->wanted, &pod->link);
	pod->linked = LINKED_WANTED;
}

/* The store does not give so much at once. False: it is about one pod already. */
static bool ask_less(struct sched *sched, struct call *call)
{
	uint32_t half = call->items / 2;

	while (half > 0 && call->item[half - 1].pod == call->item[half].pod)
		half--;
	if (half == 0)
		return false;
	for (uint32_t i = half; i < call->items; i++)
		give_back(sched, call, i);
	call->items = half;
	call->req.txn.then_count = half;
	while ((uint32_t)READ_MOST >> sched->reads_less > half &&
	       sched->reads_less < READ_HALVES)
		sched->reads_less++;
	return true;
}

static void read_failed(struct sched *sched, struct call *call, const struct pl_err *err)
{
	call->at_ms = sched->now_ms + READ_AGAIN_MS;
	call->state = CALL_AGAIN;
	for (uint32_t i = 0; i < call->items; i++)
		call->item[i].pod->flags &= (uint16_t)~POD_RESET;
	if (err->code == PL_BUSY || ask_less(sched, call))
		return;
	if (call->attempts % READ_TELLS == 0)
		tell_trouble(sched, err);
}

void specs_answer(struct sched *sched, struct call *call, const struct kv_result *result,
                  const struct pl_err *err)
{
	const struct kv_result nothing = {.op = KV_TXN}; /* of a store that is no more */

	if (result == NULL) {
		read_failed(sched, call, err);
		return;
	}
	if (sched->reads_less > 0)
		sched->reads_less--;
	take(sched, call, call->rewound ? &nothing : result);
	for (const struct held *held = call->held; held != NULL; held = held->next) {
		struct keys_id id;

		if (keys_parse(held->record.key, &id, NULL) == PL_OK &&
		    news_concern(sched, &id) &&
		    !news_take(sched, &id, &held->record, held->gone))
			news_lost(sched, &id);
	}
	for (uint32_t i = 0; i < call->items; i++) {
		struct keys_id id;
		struct sched_pod *pod = NULL;

		if (keys_parse(call->req.txn.then[i].get.keys.from, &id, NULL) == PL_OK &&
		    id.kind != KEYS_ALLOC)
			pod = pod_find(sched, id.partition, id.scope, id.name);
		if (pod == NULL)
			continue;
		if (pod->relisted) /* unknown since when it was */
			specs_doubt(sched, pod, pod->unknown_rev);
		if (pod->place == POD_WAITS)
			node_ready(sched, pod->node);
		listed_settle(sched, pod);
		pod_settle(sched, pod);
	}
	abroad_visited(sched);
	call_end(sched, call);
}
