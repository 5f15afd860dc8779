#include "coord/daemon/journal.h"

#include <string.h>

#include "coord/daemon/worker.h"
#include "store/base/hash.h"

/* The names of events are an interface: docs/placetd.md lists them. */

/* -- partitions ----------------------------------------------------------------- */

static void changed(struct journal *journal, uint64_t now_ms)
{
	if (journal->gained + journal->lost == 0)
		journal->first_ms = now_ms;
	journal->last_ms = now_ms;
}

static void gain(struct journal *journal, uint64_t now_ms)
{
	changed(journal, now_ms);
	journal->gained++;
	journal->owned++;
}

static void lose(struct journal *journal, enum claims_why why, uint64_t now_ms)
{
	PL_ASSERT(journal->owned > 0 && (unsigned)why < JOURNAL_WHYS);
	changed(journal, now_ms);
	journal->lost++;
	journal->owned--;
	journal->lost_for[why]++;
}

/* Each reason that nobody wanted, then what it comes to. */
static void say_owns(struct journal *journal)
{
	if (journal->gained + journal->lost == 0)
		return;
	for (unsigned why = 0; why < JOURNAL_WHYS; why++)
		if (journal->lost_for[why] != 0 && !worker_log_wanted(why))
			PL_LOG(PL_LOG_WARN, "shard.lost",
			       pl_log_str("shard", journal->id),
			       pl_log_uint("partitions", journal->lost_for[why]),
			       pl_log_str("why", worker_log_why(why)));
	PL_LOG(PL_LOG_INFO, "shard.owns", pl_log_str("shard", journal->id),
	       pl_log_uint("partitions", journal->owned),
	       pl_log_uint("gained", journal->gained),
	       pl_log_uint("lost", journal->lost));
	journal->gained = 0;
	journal->lost = 0;
	memset(journal->lost_for, 0, sizeof journal->lost_for);
}

/* -- trouble -------------------------------------------------------------------- */

static uint64_t hash_of(const struct shard_note *note)
{
	uint64_t hash = pl_hash(pl_span_str(note->err->msg)) * 31 +
	                pl_hash(pl_span_str(note->part)) + note->err->code;

	return hash == 0 ? 1 : hash;
}

/* Its own place, or the one of what has not been said for longest. */
static struct journal_trouble *place_of(struct journal *journal, uint64_t hash)
{
	struct journal_trouble *place = &journal->trouble[0];

	for (unsigned i = 0; i < JOURNAL_TROUBLES; i++) {
		struct journal_trouble *here = &journal->trouble[i];

		if (here->hash == hash)
			return here;
		if (here->hash == 0 ||
		    (place->hash != 0 && here->said_ms < place->said_ms))
			place = here;
	}
	*place = (struct journal_trouble){0};
	return place;
}

/* Errors of the store bring their advice along. */
static void log_trouble(const struct journal *journal, const struct shard_note *note,
                        uint64_t repeated)
{
	const char *advice = pl_code_advice(note->err->cause);
	const struct pl_log_field fields[] = {
		pl_log_str("shard", journal->id), pl_log_str("part", note->part),
		pl_log_err("err", note->err), pl_log_uint("repeated", repeated),
		pl_log_str("advice", advice)};
	unsigned count = sizeof fields / sizeof fields[0];

	if (pl_log_on(PL_LOG_WARN))
		pl_log_write(PL_LOG_WARN, "shard.trouble", fields,
		             strstr(note->err->msg, advice) == NULL ? count : count - 1);
}

static void say_trouble(struct journal *journal, const struct shard_note *note,
                        uint64_t now_ms)
{
	uint64_t hash = hash_of(note);
	struct journal_trouble *trouble = place_of(journal, hash);

	if (trouble->hash == hash && now_ms < trouble->said_ms + JOURNAL_AGAIN_MS) {
		trouble->repeated++;
		return;
	}
	log_trouble(journal, note, trouble->repeated);
	*trouble = (struct journal_trouble){.hash = hash, .said_ms = now_ms};
}

/* ------------------------------------------------------------------------------- */

void journal_init(struct journal *journal, const char *id)
{
	*journal = (struct journal){.id = id};
}

void journal_note(struct journal *journal, const struct shard_note *note, uint64_t now_ms)
{
	if (note->what == SHARD_TROUBLE) {
		say_trouble(journal, note, now_ms);
		return;
	}
	if (note->what == SHARD_OWN)
		gain(journal, now_ms);
	if (note->what == SHARD_LOST)
		lose(journal, note->why, now_ms);
	if (note->what == SHARD_DOWN || note->what == SHARD_DRAINED ||
	    note->what == SHARD_CLOSED)
		say_owns(journal);
	worker_log(journal->id, note);
}

uint64_t journal_deadline_ms(const struct journal *journal)
{
	uint64_t quiet = journal->last_ms + JOURNAL_QUIET_MS;
	uint64_t latest = journal->first_ms + JOURNAL_LATEST_MS;

	if (journal->gained + journal->lost == 0)
		return UINT64_MAX;
	return quiet < latest ? quiet : latest;
}

void journal_due(struct journal *journal, uint64_t now_ms)
{
	if (now_ms >= journal_deadline_ms(journal))
		say_owns(journal);
}
