#include "tests/sim/depot.h"

#include "store/kv/keys.h"

/* Of what comes while there is no leader, in percent. */
enum { REFUSED_AT_ONCE = 25, LOST_UNSERVED = 15, LOST_SERVED = 15, KEPT_WHEN_FULL = 10 };

static void refuse(struct depot_job *job, enum pl_code code, const char *why)
{
	struct pl_err err = {0};

	(void)pl_err_set(&err, code, "%s: %s", kv_op_name(job->req.op), why);
	if (job->writes)
		(void)pl_err_unknown(&err);
	job->depot->refused++;
	job->done(job, NULL, &err);
}

static void on_done(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct depot_job *job = ctx;
	struct depot *depot = job->depot;

	if (job->req.op == KV_COMPACT && result != NULL && depot->compacted != NULL)
		depot->compacted(depot->ctx, job->req.compact.revision);
	if (job->deaf) {
		depot->lost++;
		refuse(job, depot->full ? PL_NOSPACE : PL_UNAVAIL, "no answer");
		return;
	}
	job->done(job, result, err);
}

static void serve(struct depot_job *job)
{
	struct depot *depot = job->depot;
	int64_t whose = job->whose, before = memkv_revision(depot->mem), after;
	struct pl_err err = {0};
	enum pl_code code;

	depot->served++;
	code = kv_start(depot->kv, &job->req, UINT64_MAX / 4, on_done, job, NULL, &err);
	after = memkv_revision(depot->mem);
	if (after > before) {
		depot->wrote[after % DEPOT_WROTE].revision = after;
		depot->wrote[after % DEPOT_WROTE].whose = whose;
	}
	if (code != PL_OK)
		job->done(job, NULL, &err);
}

int64_t depot_whose(const struct depot *depot, int64_t revision)
{
	int64_t at = revision % DEPOT_WROTE;

	return depot->wrote[at].revision == revision ? depot->wrote[at].whose
	                                             : DEPOT_NOBODY;
}

static bool grows(const struct kv_req *req)
{
	if (req->op != KV_TXN)
		return req->op == KV_PUT || req->op == KV_LEASE_GRANT;
	for (size_t i = 0; i < req->txn.then_count; i++)
		if (req->txn.then[i].op == KV_PUT)
			return true;
	return false;
}

/* One member can answer alone. */
static bool is_local(const struct kv_req *req)
{
	return req->op == KV_STATUS || (req->op == KV_GET && req->get.serializable);
}

void depot_ask(struct depot *depot, struct depot_job *job)
{
	job->depot = depot;
	job->deaf = false;
	if (depot->leaderless && !is_local(&job->req)) {
		if (pl_rng_chance(&depot->rng, REFUSED_AT_ONCE, 100))
			refuse(job, PL_NOLEADER, "no leader");
		else
			pl_list_add_tail(&depot->parked, &job->link);
	} else if (depot->full && grows(&job->req)) {
		/* The one that crosses the quota is kept, and answered alike. */
		job->deaf = pl_rng_chance(&depot->rng, KEPT_WHEN_FULL, 100);
		if (job->deaf)
			serve(job);
		else
			refuse(job, PL_NOSPACE, "database space exceeded");
	} else {
		serve(job);
	}
}

void depot_elect(struct depot *depot)
{
	struct pl_list jobs;
	enum pl_code code;

	if (!depot->leaderless)
		return;
	STORY(depot->story, "store", "has a leader again; leases begin their TTL anew");
	depot->leaderless = false;
	agenda_stop(depot->agenda, &depot->elected);
	code = memkv_renew_leases(depot->mem, 0, NULL);
	PL_ASSERT(code == PL_OK);
	pl_list_init(&jobs);
	while (!pl_list_empty(&depot->parked)) {
		struct pl_list *link = depot->parked.next;

		pl_list_del(link);
		pl_list_add_tail(&jobs, link);
	}
	while (!pl_list_empty(&jobs)) {
		struct depot_job *job = PL_LIST_ITEM(jobs.next, struct depot_job, link);
		uint64_t fate = pl_rng_below(&depot->rng, 100);

		pl_list_del(&job->link);
		job->deaf = fate >= LOST_UNSERVED && fate < LOST_UNSERVED + LOST_SERVED;
		if (fate < LOST_UNSERVED)
			refuse(job, PL_UNAVAIL, "the leader went away");
		else
			serve(job);
	}
}

static void on_elected(void *ctx)
{
	depot_elect(ctx);
}

void depot_lose_leader(struct depot *depot, uint64_t ms)
{
	enum pl_code code = memkv_renew_leases(depot->mem, ms + 1, NULL);

	PL_ASSERT(code == PL_OK);
	STORY(depot->story, "store", "loses its leader for %llu ms",
	      (unsigned long long)ms);
	depot->leaderless = true;
	agenda_set(depot->agenda, &depot->elected, depot->agenda->now_ms + ms);
}

void depot_restore(struct depot *depot, const struct memkv_snapshot *snapshot)
{
	enum pl_code code;

	depot_run(depot);
	code = memkv_restore(depot->mem, snapshot, NULL);
	PL_ASSERT(code == PL_OK);
	memset(depot->wrote, 0, sizeof depot->wrote);
	while (!pl_list_empty(&depot->parked)) {
		struct pl_list *link = depot->parked.next;

		pl_list_del(link);
		refuse(PL_LIST_ITEM(link, struct depot_job, link), PL_UNAVAIL,
		       "the store is being restored");
	}
}

void depot_run(struct depot *depot)
{
	memkv_run(depot->mem, depot->agenda->now_ms);
}

uint64_t depot_next_ms(const struct depot *depot)
{
	return memkv_next_ms(depot->mem);
}

void depot_init(struct depot *depot, struct agenda *agenda, struct story *story,
                uint64_t seed, uint64_t expiry_delay_ms, uint32_t txn_ops)
{
	struct memkv_opts opts = {.seed = seed,
	                          .txn_ops_max = txn_ops,
	                          .now_ms = agenda->now_ms,
	                          .room_bytes = SIZE_MAX / 4,
	                          .expiry_delay_ms = expiry_delay_ms};
	enum pl_code code;

	*depot = (struct depot){.agenda = agenda, .story = story};
	pl_rng_init(&depot->rng, seed ^ 1);
	pl_list_init(&depot->parked);
	agenda_item_init(&depot->elected, on_elected, depot);
	code = memkv_new(&opts, &depot->mem, NULL);
	PL_ASSERT(code == PL_OK);
	code = memkv_session(depot->mem, &depot->kv, NULL);
	PL_ASSERT(code == PL_OK);
}

static void on_closed(void *ctx)
{
	struct depot *depot = ctx;

	depot->closed = true;
}

void depot_done(struct depot *depot)
{
	depot->leaderless = false;
	PL_ASSERT(pl_list_empty(&depot->parked));
	agenda_stop(depot->agenda, &depot->elected);
	kv_close(depot->kv, on_closed, depot);
	depot_run(depot);
	PL_ASSERT(depot->closed);
	memkv_free(depot->mem);
}
