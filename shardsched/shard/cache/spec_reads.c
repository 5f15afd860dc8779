/*
 * Reads specs by key: those of listed pods whose partition this shard does not own, since
 * nothing else of these partitions is watched.
 */
#include "shardsched/shard/cache/cache.h"
#include "shardsched/shard/inner.h"
#include "shardsched/shard/report.h"
#include "shardsched/shard/txn/inflight.h"
#include "store/kv/calls.h"

enum {
	READ_MOST = 256,
	/* how often a read may be halved: at the last it is about one pod */
	READ_HALVES = 6,
	READ_TELLS = 8, /* one failure in so many is reported */
	OPS_OF_POD = 3,
	READ_AGAIN_MS = 500,
	ANEW_MS = 5000,
	ANEW_PODS = 1024, /* rechecked in a turn, rounded up to whole nodes */
};

/* The spec was read, and was absent or malformed. */
enum { HOPELESS = POD_MISSING | POD_BAD_SPEC };

/* The list of an owned partition brings the spec. */
static bool is_spec_pending(const struct sched *sched, const struct sched_pod *pod)
{
	const struct sched_partition *part = &sched->partition[pod->key[0]];

	return part->owned && !part->ended[SCHED_SCHEDULES];
}

/* The spec is wanted already, or in a read whose end is waited for. */
static bool is_being_read(const struct sched_pod *pod)
{
	return pod->txn != 0 || pod->linked == LINKED_SPEC_WANTED;
}

static void want_spec(struct sched *sched, struct sched_pod *pod, int64_t revision)
{
	if (is_being_read(pod) || is_spec_pending(sched, pod))
		return;
	pod_unlink(sched, pod);
	rules_turn_end(sched); /* the fleet view waits for the spec */
	pod_link(pod, &sched->wanted, LINKED_SPEC_WANTED);
	if (pod->spec != NULL || pod->unknown_rev == 0)
		pod->unknown_rev = pod->spec != NULL ? revision : 1;
}

/* A read under way that may be older than since is repeated. */
void spec_reads_recheck(struct sched *sched, struct sched_pod *pod, int64_t since)
{
	struct shard_txn *txn = pod->txn == 0 ? NULL : &sched->txn[pod->txn - 1];

	if (!is_being_read(pod)) {
		if (pod->stage == POD_IDLE)
			want_spec(sched, pod, since);
		return;
	}
	rules_turn_end(sched);
	if (txn != NULL && txn->kind != TXN_READ)
		txn->unconfirmed = since < txn->unconfirmed ? since : txn->unconfirmed;
	else if (pod->unknown_rev == 0 || since < pod->unknown_rev)
		pod->unknown_rev = since;
}

bool spec_reads_are_pending(const struct sched_node *node)
{
	for (uint32_t i = 0; i < node->count; i++) {
		const struct sched_pod *pod = node->listed[i].pod;

		if (pod->spec != NULL
		            ? node->listed[i].unconfirmed || node->listed[i].other
		            : (pod->flags & HOPELESS) == 0)
			return true;
	}
	return false;
}

void spec_reads_want(struct sched *sched, struct sched_pod *pod, int64_t revision)
{
	/* A spec is known where it could be read before, or submission would refuse it. */
	if ((pod->flags & HOPELESS) == 0 || pod->spec != NULL)
		want_spec(sched, pod, revision);
}

/* Requests specs that were hopeless, since they may have been put right by hand, and
 * specs of unconfirmed entries, which are right if the alloc has not changed. The number
 * of requests. */
static uint32_t want_specs_anew(struct sched *sched, struct sched_node *node)
{
	uint32_t wanted = 0;

	for (uint32_t i = 0; i < node->count; i++) {
		struct sched_pod *pod = node->listed[i].pod;
		bool was = is_being_read(pod);

		if (node->listed[i].unconfirmed)
			spec_reads_recheck(sched, pod, 1);
		else if (node->listed[i].other && pod->spec != NULL &&
		         pod->stage == POD_IDLE)
			want_spec(sched, pod, INT64_MAX);
		if (pod->spec == NULL && (pod->flags & HOPELESS) != 0 &&
		    !pod_is_owned(sched, pod))
			want_spec(sched, pod, node->rev[FACT_ALLOC]);
		wanted += !was && is_being_read(pod);
	}
	return wanted;
}

/* Nodes take turns, since hopeless specs that are never put right are read for ever,
 * however many they are. */
static void recheck_some(struct sched *sched)
{
	const struct pl_list *last = sched->incomplete.prev;
	struct pl_list *link = NULL;

	for (uint32_t pods = 0; link != last && pods < ANEW_PODS;) {
		link = sched->incomplete.next;
		pl_list_del(link);
		pl_list_add_tail(&sched->incomplete, link);
		pods += want_specs_anew(
			sched, PL_LIST_ITEM(link, struct sched_node, incomplete));
	}
}

static void recheck_nodes(struct sched *sched)
{
	if (pl_list_empty(&sched->incomplete)) {
		sched->specs_ms = 0;
		return;
	}
	if (sched->specs_ms > sched->now_ms)
		return;
	if (sched->specs_ms != 0)
		recheck_some(sched);
	sched->specs_ms = sched->now_ms + ANEW_MS;
}

uint64_t spec_reads_deadline_ms(const struct sched *sched)
{
	return pl_list_empty(&sched->incomplete) ? UINT64_MAX : sched->specs_ms;
}

static bool read_key(struct shard_txn *txn, struct sched_pod *pod,
                     const struct keys_id *id, struct kv_req *op)
{
	struct keys_text key;
	struct pl_span at;

	if (keys_build(id, &key, NULL) != PL_OK)
		return false;
	at = pl_arena_dup(&txn->arena, keys_span(&key));
	if (at.at == NULL)
		return false;
	op[txn->entries] = kv_op_get(kv_key(at));
	txn->entry[txn->entries++] = (struct txn_entry){.kind = ENTRY_READ, .pod = pod};
	return true;
}

static bool read_pod(struct sched *sched, struct shard_txn *txn, struct sched_pod *pod,
                     enum keys_kind kind, struct kv_req *op)
{
	const struct keys_id id = {.kind = kind,
	                           .partition = pod->key[0],
	                           .scope = sched_text(sched, pod->key[1]),
	                           .name = sched_text(sched, pod->key[2])};

	return read_key(txn, pod, &id, op);
}

/* The allocs of nodes that list a hopeless or unconfirmed pod are read with its spec.
 * Pods of one node mostly follow each other, and *asked is the alloc read last. */
static void read_alloc(struct sched *sched, struct shard_txn *txn, struct sched_pod *pod,
                       const struct sched_node **asked, struct kv_req *op)
{
	const struct sched_node *node = (pod->flags & HOPELESS) != 0 && pod->spec == NULL
	                                        ? pod->node
	                                        : incarnation_other_at(sched, pod);
	struct keys_id id = {.kind = KEYS_ALLOC};

	if (node == NULL || node == *asked)
		return;
	*asked = node;
	id.partition = node->partition;
	id.scope = sched_text(sched, node->key[0]);
	id.name = sched_text(sched, node->key[1]);
	(void)read_key(txn, pod, &id, op);
}

static uint32_t read_most(const struct sched *sched)
{
	uint32_t ops = sched->limits.txn_ops,
		 most = (uint32_t)READ_MOST >> sched->read_halvings;

	return ops != 0 && ops < most ? ops : most;
}

static void read_some(struct sched *sched, struct shard_txn *txn, struct kv_req *op)
{
	const struct sched_node *asked = NULL;
	uint32_t most = read_most(sched);

	PL_LIST_EACH (link, &sched->wanted) {
		struct sched_pod *pod = PL_LIST_ITEM(link, struct sched_pod, link);
		uint32_t first = txn->entries;

		if (txn->entries > 0 && txn->entries + OPS_OF_POD > most)
			break;
		pod_unlink(sched, pod);
		if (most >= OPS_OF_POD)
			read_alloc(sched, txn, pod, &asked, op);
		if (!read_pod(sched, txn, pod, KEYS_SPEC, op)) {
			txn->entries = first;
			asked = NULL;
			pod->flags |= POD_MISSING;
			continue;
		}
		pod->txn = txn_number(sched, txn);
		pod->relisted = false;
		if (pod->asks_state)
			(void)read_pod(sched, txn, pod, KEYS_STATE, op);
		pod->asks_state = false;
	}
}

static bool run_one_read(struct sched *sched)
{
	struct shard_txn *txn;
	struct kv_req *op;

	if (pl_list_empty(&sched->wanted))
		return false;
	txn = txn_begin(sched, TXN_READ);
	if (txn == NULL)
		return false;
	txn->entry = pl_arena_zalloc(&txn->arena, READ_MOST, sizeof *txn->entry);
	op = pl_arena_zalloc(&txn->arena, READ_MOST, sizeof *op);
	if (txn->entry != NULL && op != NULL)
		read_some(sched, txn, op);
	if (txn->entries == 0) {
		txn_end(sched, txn);
		return false;
	}
	txn->req = (struct kv_req){.op = KV_TXN,
	                           .txn = {.then = op, .then_count = txn->entries}};
	txn_post(sched, txn);
	return true;
}

void spec_reads_run(struct sched *sched)
{
	recheck_nodes(sched);
	while (run_one_read(sched))
		;
}

static void report_missing(struct sched *sched, struct sched_pod *pod,
                           const struct keys_id *id)
{
	struct pl_err err;

	pl_err_set(&err, PL_NOTFOUND, "an alloc lists it, and there is no such spec");
	pod->flags |= POD_SPEC_ABSENT;
	report_malformed(sched, id, &err);
}

/* The alloc may be older than the read, and the pod may have ended since: a missing spec
 * is reported when spec and alloc were read together, which they are the second time. */
static void find_missing_specs(struct sched *sched, struct sched_pod *pod,
                               const struct keys_id *id, int64_t revision)
{
	bool together = sched->seen.node != NULL && sched->seen.node == pod->node &&
	                sched->seen.revision == revision;
	bool again = (pod->flags & HOPELESS) == 0;

	pod->flags |= POD_MISSING;
	if (pod->listed == 0 || (pod->flags & (POD_SPEC_ABSENT | POD_BAD_SPEC)) != 0)
		return;
	if (together || read_most(sched) < OPS_OF_POD)
		report_missing(sched, pod, id);
	else if (again)
		want_spec(sched, pod, revision);
}

static void set_read(struct sched_pod *pod)
{
	pod->txn = 0;
	pod->flags &= (uint16_t)~POD_RESET;
}

/* The alloc stood there when the specs were read, whose results follow. */
static void apply_alloc(struct sched *sched, const struct keys_id *id,
                        const struct kv_get_result *get, int64_t revision)
{
	const struct kv_record none = {.mod_revision = revision};
	const struct kv_record *record = get->count == 0 ? &none : &get->records[0];
	struct sched_node *node;

	sched->seen.node = NULL;
	if (!cache_follows(sched, id) ||
	    (get->count > 0 && cache_is_outdated(sched, id, record)))
		return;
	if (!cache_apply(sched, id, record, get->count == 0))
		cache_missed(sched, id);
	node = node_find(sched, id->scope, id->name);
	if (get->count == 0 || node == NULL ||
	    node->rev[FACT_ALLOC] != get->records[0].mod_revision)
		return;
	sched->seen.node = node;
	sched->seen.alloc = node->rev[FACT_ALLOC];
	sched->seen.revision = revision;
}

static void apply_pod(struct sched *sched, struct sched_pod *pod,
                      const struct keys_id *id, const struct kv_get_result *get,
                      int64_t revision)
{
	if (pod->relisted && revision >= incarnation_newest_alloc(sched, pod))
		/* the spec that was read is not older than the listed incarnation */
		pod->relisted = false;
	if (pod->relisted) {
		pod->asks_state = pod->asks_state || id->kind == KEYS_STATE;
		return;
	}
	if (get->count > 0) {
		if (!cache_apply(sched, id, &get->records[0], false))
			pod->relisted = true;
		return;
	}
	if (id->kind == KEYS_STATE) {
		/* the owner reports its own malformed pods */
		if (!pod_is_owned(sched, pod))
			pod->flags |= POD_NO_STATE;
		return;
	}
	if (pod->spec != NULL) /* the incarnation listed by now is another one */
		incarnation_spec_since(sched, pod, revision);
	if (pod->spec == NULL && (pod->listed > 0 || pod->reserved_by > 0))
		find_missing_specs(sched, pod, id, revision);
}

/* Results are applied like events, which may free pods. Pods of which nothing is known
 * stay in the txn until then, so that a node reconciled before that does not request them
 * again. */
static void apply_answer(struct sched *sched, const struct shard_txn *txn,
                         const struct kv_result *result)
{
	uint8_t number = txn_number(sched, txn);

	for (uint32_t i = 0; i < txn->entries; i++) {
		const struct kv_get_result *get;
		struct keys_id id;
		struct sched_pod *pod;

		if (keys_parse(txn->req.txn.then[i].get.keys.from, &id, NULL) != PL_OK)
			continue;
		get = i < result->txn.count ? &result->txn.results[i].get : NULL;
		if (id.kind == KEYS_ALLOC) {
			if (get != NULL)
				apply_alloc(sched, &id, get, result->header.revision);
			continue;
		}
		pod = pod_find(sched, id.partition, id.scope, id.name);
		if (pod != NULL && pod->txn == number)
			set_read(pod);
		if (pod != NULL && get != NULL)
			apply_pod(sched, pod, &id, get, result->header.revision);
	}
	sched->seen.node = NULL;
}

/* The key is requested again in another txn. */
static void want_back(struct sched *sched, struct shard_txn *txn, uint32_t i)
{
	struct sched_pod *pod = txn->entry[i].pod;
	struct keys_id id;

	if (keys_parse(txn->req.txn.then[i].get.keys.from, &id, NULL) == PL_OK &&
	    id.kind == KEYS_STATE)
		pod->asks_state = true;
	if (pod->txn == 0)
		return;
	pod->txn = 0;
	/* the pod waits elsewhere; relisted keeps the request */
	if (pod->linked != LINKED_NOT) {
		pod->relisted = true;
		if (pod->stage == POD_ASSUMED)
			node_set_ready(sched, pod->node);
		return;
	}
	pod_link(pod, &sched->wanted, LINKED_SPEC_WANTED);
}

/* The store does not return that many at once. False: the read is about one pod
 * already. */
static bool halve_reads(struct sched *sched, struct shard_txn *txn)
{
	uint32_t half = txn->entries / 2;

	while (half > 0 && txn->entry[half - 1].pod == txn->entry[half].pod)
		half--;
	if (half == 0)
		return false;
	for (uint32_t i = half; i < txn->entries; i++)
		want_back(sched, txn, i);
	txn->entries = half;
	txn->req.txn.then_count = half;
	while ((uint32_t)READ_MOST >> sched->read_halvings > half &&
	       sched->read_halvings < READ_HALVES)
		sched->read_halvings++;
	return true;
}

static void read_failed(struct sched *sched, struct shard_txn *txn,
                        const struct pl_err *err)
{
	txn->at_ms = sched->now_ms + READ_AGAIN_MS;
	txn_set_state(txn, TXN_RETRY);
	for (uint32_t i = 0; i < txn->entries; i++)
		txn->entry[i].pod->flags &= (uint16_t)~POD_RESET;
	if (err->code == PL_BUSY || halve_reads(sched, txn))
		return;
	if (txn->attempts % READ_TELLS == 0)
		report_trouble(sched, err);
}

void spec_reads_answer(struct sched *sched, struct shard_txn *txn,
                       const struct kv_result *result, const struct pl_err *err)
{
	const struct kv_result nothing = {.op = KV_TXN}; /* of a store that was rewound */

	if (result == NULL) {
		read_failed(sched, txn, err);
		return;
	}
	if (sched->read_halvings > 0)
		sched->read_halvings--;
	apply_answer(sched, txn, txn->rewound ? &nothing : result);
	for (const struct deferred_event *held = txn->deferred; held != NULL;
	     held = held->next) {
		struct keys_id id;

		if (keys_parse(held->record.key, &id, NULL) == PL_OK &&
		    cache_follows(sched, &id) &&
		    !cache_apply(sched, &id, &held->record, held->gone))
			cache_missed(sched, &id);
	}
	for (uint32_t i = 0; i < txn->entries; i++) {
		struct keys_id id;
		struct sched_pod *pod = NULL;

		if (keys_parse(txn->req.txn.then[i].get.keys.from, &id, NULL) == PL_OK &&
		    id.kind != KEYS_ALLOC)
			pod = pod_find(sched, id.partition, id.scope, id.name);
		if (pod == NULL)
			continue;
		if (pod->relisted) /* unknown since the pod was listed anew */
			spec_reads_recheck(sched, pod, pod->unknown_rev);
		if (pod->stage == POD_ASSUMED)
			node_set_ready(sched, pod->node);
		alloc_entries_reconcile(sched, pod);
		pod_reconcile(sched, pod);
	}
	remote_wake_listed(sched);
	txn_end(sched, txn);
}
