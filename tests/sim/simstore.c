#include "tests/sim/simstore.h"

#include "store/kv/keys.h"

/* Requests while there is no leader, in percent. */
enum { REFUSED_AT_ONCE = 25, LOST_UNSERVED = 15, LOST_SERVED = 15, KEPT_WHEN_FULL = 10 };

static void refuse_job(struct simstore_job *job, enum pl_code code, const char *why)
{
	struct pl_err err = {0};

	(void)pl_err_set(&err, code, "%s: %s", kv_op_name(job->req.op), why);
	if (job->writes)
		(void)pl_err_unknown(&err);
	job->store->refused++;
	job->done(job, NULL, &err);
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct simstore_job *job = ctx;
	struct simstore *store = job->store;

	if (job->req.op == KV_COMPACT && result != NULL && store->compacted != NULL)
		store->compacted(store->ctx, job->req.compact.revision);
	if (job->answer_lost) {
		store->lost++;
		refuse_job(job, store->full ? PL_NOSPACE : PL_UNAVAIL, "no answer");
		return;
	}
	job->done(job, result, err);
}

static void serve_job(struct simstore_job *job)
{
	struct simstore *store = job->store;
	int64_t writer = job->writer, before = memkv_revision(store->mem), after;
	struct pl_err err = {0};
	enum pl_code code;

	store->served++;
	code = kv_start(store->kv, &job->req, UINT64_MAX / 4, on_done, job, NULL, &err);
	after = memkv_revision(store->mem);
	if (after > before) {
		store->wrote[after % SIMSTORE_WRITES].revision = after;
		store->wrote[after % SIMSTORE_WRITES].writer = writer;
	}
	if (code != PL_OK)
		job->done(job, NULL, &err);
}

int64_t simstore_writer(const struct simstore *store, int64_t revision)
{
	int64_t at = revision % SIMSTORE_WRITES;

	return store->wrote[at].revision == revision ? store->wrote[at].writer
	                                             : SIMSTORE_NO_WRITER;
}

static bool grows_store(const struct kv_req *req)
{
	if (req->op != KV_TXN)
		return req->op == KV_PUT || req->op == KV_LEASE_GRANT;
	for (size_t i = 0; i < req->txn.then_count; i++)
		if (req->txn.then[i].op == KV_PUT)
			return true;
	return false;
}

/* A single member can answer the request alone. */
static bool is_local(const struct kv_req *req)
{
	return req->op == KV_STATUS || (req->op == KV_GET && req->get.serializable);
}

void simstore_ask(struct simstore *store, struct simstore_job *job)
{
	job->store = store;
	job->answer_lost = false;
	if (store->leaderless && !is_local(&job->req)) {
		if (pl_rng_chance(&store->rng, REFUSED_AT_ONCE, 100))
			refuse_job(job, PL_NOLEADER, "no leader");
		else
			pl_list_add_tail(&store->parked, &job->link);
	} else if (store->full && grows_store(&job->req)) {
		/* The write that crosses the quota is kept, and its answer is the same
		 * error. */
		job->answer_lost = pl_rng_chance(&store->rng, KEPT_WHEN_FULL, 100);
		if (job->answer_lost)
			serve_job(job);
		else
			refuse_job(job, PL_NOSPACE, "database space exceeded");
	} else {
		serve_job(job);
	}
}

void simstore_elect(struct simstore *store)
{
	struct pl_list jobs;
	enum pl_code code;

	if (!store->leaderless)
		return;
	STORY(store->story, "store", "has a leader again; leases begin their TTL anew");
	store->leaderless = false;
	agenda_stop(store->agenda, &store->elected);
	code = memkv_renew_leases(store->mem, 0, NULL);
	PL_ASSERT(code == PL_OK);
	pl_list_init(&jobs);
	while (!pl_list_empty(&store->parked)) {
		struct pl_list *link = store->parked.next;

		pl_list_del(link);
		pl_list_add_tail(&jobs, link);
	}
	while (!pl_list_empty(&jobs)) {
		struct simstore_job *job =
			PL_LIST_ITEM(jobs.next, struct simstore_job, link);
		uint64_t fate = pl_rng_below(&store->rng, 100);

		pl_list_del(&job->link);
		job->answer_lost =
			fate >= LOST_UNSERVED && fate < LOST_UNSERVED + LOST_SERVED;
		if (fate < LOST_UNSERVED)
			refuse_job(job, PL_UNAVAIL, "the leader went away");
		else
			serve_job(job);
	}
}

static void on_elected(void *ctx)
{
	simstore_elect(ctx);
}

void simstore_lose_leader(struct simstore *store, uint64_t ms)
{
	enum pl_code code = memkv_renew_leases(store->mem, ms + 1, NULL);

	PL_ASSERT(code == PL_OK);
	STORY(store->story, "store", "loses its leader for %llu ms",
	      (unsigned long long)ms);
	store->leaderless = true;
	agenda_set(store->agenda, &store->elected, store->agenda->now_ms + ms);
}

void simstore_restore(struct simstore *store, const struct memkv_snapshot *snapshot)
{
	enum pl_code code;

	simstore_run(store);
	code = memkv_restore(store->mem, snapshot, NULL);
	PL_ASSERT(code == PL_OK);
	memset(store->wrote, 0, sizeof store->wrote);
	while (!pl_list_empty(&store->parked)) {
		struct pl_list *link = store->parked.next;

		pl_list_del(link);
		refuse_job(PL_LIST_ITEM(link, struct simstore_job, link), PL_UNAVAIL,
		           "the store is being restored");
	}
}

void simstore_run(struct simstore *store)
{
	memkv_run(store->mem, store->agenda->now_ms);
}

uint64_t simstore_next_ms(const struct simstore *store)
{
	return memkv_next_ms(store->mem);
}

void simstore_init(struct simstore *store, struct agenda *agenda, struct story *story,
                   uint64_t seed, uint64_t expiry_delay_ms, uint32_t txn_ops)
{
	struct memkv_opts opts = {.seed = seed,
	                          .txn_ops_max = txn_ops,
	                          .now_ms = agenda->now_ms,
	                          .room_bytes = SIZE_MAX / 4,
	                          .expiry_delay_ms = expiry_delay_ms};
	enum pl_code code;

	*store = (struct simstore){.agenda = agenda, .story = story};
	pl_rng_init(&store->rng, seed ^ 1);
	pl_list_init(&store->parked);
	agenda_item_init(&store->elected, on_elected, store);
	code = memkv_new(&opts, &store->mem, NULL);
	PL_ASSERT(code == PL_OK);
	code = memkv_session(store->mem, &store->kv, NULL);
	PL_ASSERT(code == PL_OK);
}

static void on_closed(void *ctx)
{
	struct simstore *store = ctx;

	store->closed = true;
}

void simstore_done(struct simstore *store)
{
	store->leaderless = false;
	PL_ASSERT(pl_list_empty(&store->parked));
	agenda_stop(store->agenda, &store->elected);
	kv_close(store->kv, on_closed, store);
	simstore_run(store);
	PL_ASSERT(store->closed);
	memkv_free(store->mem);
}
