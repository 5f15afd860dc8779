#include "coord/shard/shard_int.h"

/* time within which all parts find out by themselves that the store went back */
enum { REWIND_APART_MS = 15000 };

/* The notes of meta, session, roster and claims. Each handler reports to the user as
 * its last step. */

/* From here on every present epoch will be lost. */
static void rewind_begin(struct shard *shard)
{
	if (shard->rewind != REWIND_NONE)
		return;
	shard->rewind = REWIND_BEGUN;
	shard->rewound_left = shard->owned;
	shard->rewound_ms = kv_now_ms(shard->kv);
	shard->publish = PUBLISH_NOW;
}

/* Reads everything again. Each part finds out by itself that the store went back,
 * sooner or later; the first one to see it has the claims told. */
void shard_rewind(struct shard *shard)
{
	if (shard->rewound_ms != 0 &&
	    kv_now_ms(shard->kv) < shard->rewound_ms + REWIND_APART_MS)
		return;
	rewind_begin(shard);
	if (shard->part[PART_CLAIMS] == PART_ON)
		claims_rewound(shard->claims);
}

/* The incarnation has changed, so even what was read since the last rewind may be
 * outdated. */
static void forget_store(struct shard *shard)
{
	part_again(shard, PART_ROSTER);
	part_again(shard, PART_CONFIG);
	rewind_begin(shard);
	if (shard->part[PART_CLAIMS] == PART_ON)
		claims_rewound(shard->claims);
}

static void apply_meta(struct shard *shard, const struct meta *meta, bool changed)
{
	struct pl_err err = {0};

	if (shard->partitions == 0) {
		if (assign_new(meta->partitions, &shard->assign, &err) != PL_OK ||
		    publish_init(shard, meta->partitions) != PL_OK) {
			assign_free(PL_STEAL(shard->assign));
			part_again(shard, PART_META);
			pl_err_set(&err, PL_NOMEM, "%u partitions", meta->partitions);
			shard_trouble(shard, "meta", &err);
			return;
		}
		shard->partitions = meta->partitions;
		shard_report(shard, &(struct shard_note){.what = SHARD_META});
	} else if (meta->partitions != shard->partitions) {
		pl_err_set(&err, PL_CONFLICT,
		           "another store: %u partitions, it had %u when we came",
		           meta->partitions, shard->partitions);
		shard_refuse(shard, &err);
	} else if (changed) {
		forget_store(shard);
	}
}

/* A value that does not parse may be repaired; a different number of partitions may
 * not. */
static void on_meta_refused(struct shard *shard, const struct pl_err *err)
{
	if (shard->partitions == 0 || err->code == PL_CONFLICT)
		shard_refuse(shard, err);
	else
		shard_report(shard,
		             &(struct shard_note){.what = SHARD_MALFORMED,
		                                  .key = PL_SPAN_LIT("/placet/meta"),
		                                  .err = err});
}

void shard_on_meta(void *ctx, const struct meta_note *note)
{
	struct shard *shard = ctx;

	shard_kick(shard);
	switch (note->what) {
	case META_KNOWN:
		apply_meta(shard, note->meta, note->changed);
		return;
	case META_REFUSED:
		on_meta_refused(shard, note->err);
		return;
	case META_TROUBLE:
		shard_trouble(shard, "meta", note->err);
		return;
	case META_STOPPED:
		shard->meta = NULL;
		part_off(shard, PART_META);
		return;
	}
}

/* Tells every part that acts under the lease at once. */
void shard_spread(struct shard *shard)
{
	bool may = shard->session != NULL && !shard->refused && !shard->abandoned;
	int64_t lease = may ? session_lease(shard->session) : 0;
	uint64_t safe_ms = lease == 0 ? 0 : session_safe_until_ms(shard->session);

	for (unsigned i = 0; i < ROLE_COUNT; i++)
		if (shard->elect[i].elect != NULL)
			elect_session(shard->elect[i].elect, lease, safe_ms);
	if (shard->claims != NULL)
		claims_session(shard->claims, lease, safe_ms);
}

static void on_up(struct shard *shard, const struct session_note *note)
{
	bool was_up = shard->up;

	shard->up = true;
	shard_spread(shard);
	if (!was_up)
		shard_report(shard, &(struct shard_note){.what = SHARD_UP,
		                                         .lease = note->lease,
		                                         .revision = note->revision});
}

static void on_down(struct shard *shard, const struct pl_err *err)
{
	shard->up = false;
	shard_spread(shard);
	shard_report(shard, &(struct shard_note){.what = SHARD_DOWN, .err = err});
}

void shard_on_session(void *ctx, const struct session_note *note)
{
	struct shard *shard = ctx;

	shard_kick(shard);
	switch (note->what) {
	case SESSION_UP:
		on_up(shard, note);
		return;
	case SESSION_DOUBT:
		shard_spread(shard);
		shard_report(shard, &(struct shard_note){.what = SHARD_DOUBT,
		                                         .lease = note->lease,
		                                         .err = note->err});
		return;
	case SESSION_DOWN:
		on_down(shard, note->err);
		return;
	case SESSION_TROUBLE:
		publish_soon(shard); /* the last record may not have been stored */
		shard_trouble(shard, "session", note->err);
		return;
	case SESSION_REFUSED:
		shard_refuse(shard, note->err);
		return;
	case SESSION_CLOSED:
		shard->session = NULL;
		shard->up = false;
		part_off(shard, PART_SESSION);
		if (note->err != NULL && shard->phase == SHARD_PHASE_STOP)
			shard->left = *note->err;
		else if (note->err != NULL)
			shard_trouble(shard, "session", note->err);
		return;
	}
}

/* Has the session read its record if the roster shows something else than what was
 * put. */
static void watch_own(struct shard *shard, const struct roster_note *note)
{
	if (shard->session == NULL || shard->part[PART_SESSION] != PART_ON ||
	    !pl_span_eq(note->id, shard_id(shard)))
		return;
	if (note->entry == NULL || note->entry->malformed ||
	    strcmp(note->entry->member.instance, shard->instance) != 0)
		session_look(shard->session);
}

void shard_on_roster(void *ctx, const struct roster_note *note)
{
	struct shard *shard = ctx;

	shard_kick(shard);
	switch (note->what) {
	case ROSTER_SYNCED:
		shard->peers_stale = true;
		return;
	case ROSTER_CHANGED:
		watch_own(shard, note);
		peers_change(shard, note->id, note->entry);
		return;
	case ROSTER_LOST:
		if (note->err->code == PL_REWOUND)
			shard_rewind(shard);
		shard_trouble(shard, "roster", note->err);
		return;
	case ROSTER_TROUBLE:
		shard_trouble(shard, "roster", note->err);
		return;
	case ROSTER_STOPPED:
		shard->roster = NULL;
		part_off(shard, PART_ROSTER);
		return;
	}
}

static struct shard_note note_of(enum shard_what what, const struct claims_note *note)
{
	return (struct shard_note){.what = what,
	                           .partition = note->partition,
	                           .epoch = note->epoch,
	                           .deadline_ms = note->deadline_ms,
	                           .why = note->why,
	                           .err = note->err};
}

static void on_owned(struct shard *shard, const struct claims_note *note)
{
	struct shard_note own = note_of(SHARD_OWN, note);

	PL_ASSERT(note->partition < shard->partitions && note->epoch > 0);
	PL_ASSERT(shard->epoch[note->partition] == 0);
	shard->epoch[note->partition] = note->epoch;
	shard->owned++;
	shard->publish = PUBLISH_NOW;
	shard_report(shard, &own);
}

static void on_lost(struct shard *shard, const struct claims_note *note)
{
	struct shard_note lost = note_of(SHARD_LOST, note);

	PL_ASSERT(shard->epoch[note->partition] == note->epoch && shard->owned > 0);
	if (note->why == CLAIMS_REWOUND)
		rewind_begin(shard);
	if (shard->rewound_left > 0)
		shard->rewound_left--;
	guard_report(shard, note->partition);
	shard->epoch[note->partition] = 0;
	shard->load[note->partition] = 0;
	shard->owned--;
	shard->publish = PUBLISH_NOW;
	shard_report(shard, &lost);
}

static void on_malformed_owner(struct shard *shard, const struct claims_note *note)
{
	struct keys_id id = {.kind = KEYS_OWNER, .partition = note->partition};
	struct shard_note malformed = note_of(SHARD_MALFORMED, note);
	struct keys_text key;

	if (keys_build(&id, &key, NULL) == PL_OK)
		malformed.key = keys_span(&key);
	shard_report(shard, &malformed);
}

void shard_on_claims(void *ctx, const struct claims_note *note)
{
	struct shard *shard = ctx;
	struct shard_note quiesce;

	shard_kick(shard);
	switch (note->what) {
	case CLAIMS_OWNED:
		on_owned(shard, note);
		return;
	case CLAIMS_QUIESCE:
		quiesce = note_of(SHARD_QUIESCE, note);
		shard_report(shard, &quiesce);
		return;
	case CLAIMS_LOST:
		on_lost(shard, note);
		return;
	case CLAIMS_MALFORMED:
		on_malformed_owner(shard, note);
		return;
	case CLAIMS_VIEW:
		shard->view_synced = note->synced;
		return;
	case CLAIMS_TROUBLE:
		shard_trouble(shard, "claims", note->err);
		return;
	case CLAIMS_STOPPED:
		shard->claims = NULL;
		part_off(shard, PART_CLAIMS);
		return;
	}
}
