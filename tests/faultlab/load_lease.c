/* A worker's lease: held for a while with a key on it, then revoked or abandoned,
 * then another one. */
#include "tests/faultlab/load_int.h"

enum { TTL_MIN_S = 2, TTL_MAX_S = 4, LIFE_MIN_MS = 1500, LIFE_MAX_MS = 8000 };

static void on_lease(void *ctx, const struct lease_note *note);

static struct hist_lease *record_of(struct worker *worker)
{
	return &worker->load->hist->lease[worker->lessee.record];
}

static void set_life_timer(struct worker *worker, uint64_t min_ms, uint64_t max_ms)
{
	struct load *load = worker->load;

	if (load->phase != LOAD_CLOSE)
		pl_timer_set(&worker->lessee.life,
		             load_now(load) + pl_rng_between(&load->rng, min_ms, max_ms));
}

static void lessee_open(struct worker *worker)
{
	struct load *load = worker->load;
	struct lease_opts opts = {
		.ttl_s = (int64_t)pl_rng_between(&load->rng, TTL_MIN_S, TTL_MAX_S),
		.seed = pl_rng_next(&load->rng) | 1};

	worker->lessee.id = 0;
	if (lease_open(worker->kv, &opts, on_lease, worker, &worker->lessee.lease,
	               NULL) != PL_OK)
		worker->lessee.lease = NULL;
	set_life_timer(worker, LIFE_MIN_MS, LIFE_MAX_MS);
}

static void drop_record(struct worker *worker)
{
	if (worker->lessee.id != 0)
		record_of(worker)->dropped_ms = load_now(worker->load);
	worker->lessee.id = 0;
}

void lessee_let_go(struct worker *worker, bool revoke)
{
	struct lessee *lessee = &worker->lessee;

	if (lessee->lease == NULL)
		return;
	if (lessee->id != 0 && revoke)
		record_of(worker)->revoked = true;
	drop_record(worker);
	if (revoke)
		lease_release(lessee->lease);
	else
		lease_abandon(lessee->lease);
}

static void on_life(void *ctx)
{
	struct worker *worker = ctx;

	if (worker->load->phase != LOAD_RUN)
		return;
	if (worker->lessee.lease == NULL)
		lessee_open(worker);
	else
		lessee_let_go(worker, pl_rng_chance(&worker->load->rng, 1, 2));
}

static void on_held(struct worker *worker, const struct lease_note *note)
{
	struct lessee *lessee = &worker->lessee;
	bool fresh = lessee->id != note->id;

	if (fresh) {
		lessee->id = note->id;
		lessee->record = hist_lease_add(worker->load->hist, note->id, 0);
	}
	if (note->safe_until_ms > record_of(worker)->safe_until_ms)
		record_of(worker)->safe_until_ms = note->safe_until_ms;
	if (fresh)
		worker_put_leased(worker);
}

static void on_lease(void *ctx, const struct lease_note *note)
{
	struct worker *worker = ctx;

	switch (note->state) {
	case LEASE_HELD:
	case LEASE_DOUBT:
		on_held(worker, note);
		break;
	case LEASE_EXPIRED:
	case LEASE_LOST:
		drop_record(worker);
		if (worker->load->phase == LOAD_RUN)
			lease_regrant(worker->lessee.lease);
		else
			lease_release(worker->lessee.lease);
		break;
	case LEASE_RELEASED:
		drop_record(worker);
		worker->lessee.lease = NULL;
		set_life_timer(worker, 50, 500);
		break;
	case LEASE_IDLE:
	case LEASE_GRANTING:
	case LEASE_RELEASING:
		break;
	}
}

enum pl_code lessee_init(struct worker *worker)
{
	enum pl_code code = pl_timer_init(&worker->lessee.life, kv_timers(worker->kv),
	                                  on_life, worker);

	if (code == PL_OK)
		set_life_timer(worker, 1, 500);
	return code;
}

void lessee_done(struct worker *worker)
{
	pl_timer_done(&worker->lessee.life);
}

void load_drop_leases(struct load *load)
{
	for (unsigned i = 0; i < load->opts.workers; i++)
		lessee_let_go(&load->worker[i], false);
}
