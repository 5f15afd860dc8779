#include "coord/daemon/event_log.h"

#include <string.h>

#include "coord/daemon/worker.h"
#include "store/base/hash.h"

/* The names of events are an interface: docs/placetd.md lists them. */

/* -- partitions -------------------------------------------------------------------- */

static void note_change(struct event_log *event_log, uint64_t now_ms)
{
	if (event_log->gained + event_log->lost == 0)
		event_log->first_ms = now_ms;
	event_log->last_ms = now_ms;
}

static void note_gained(struct event_log *event_log, uint64_t now_ms)
{
	note_change(event_log, now_ms);
	event_log->gained++;
	event_log->owned++;
}

static void note_lost(struct event_log *event_log, enum claims_why why, uint64_t now_ms)
{
	PL_ASSERT(event_log->owned > 0 && (unsigned)why < EVENT_LOG_WHYS);
	note_change(event_log, now_ms);
	event_log->lost++;
	event_log->owned--;
	event_log->lost_for[why]++;
}

/* Logs each reason for which partitions were lost unexpectedly, then the new total. */
static void log_owned(struct event_log *event_log)
{
	if (event_log->gained + event_log->lost == 0)
		return;
	for (unsigned why = 0; why < EVENT_LOG_WHYS; why++)
		if (event_log->lost_for[why] != 0 && !worker_log_wanted(why))
			PL_LOG(PL_LOG_WARN, "shard.lost",
			       pl_log_str("shard", event_log->id),
			       pl_log_uint("partitions", event_log->lost_for[why]),
			       pl_log_str("why", worker_log_why(why)));
	PL_LOG(PL_LOG_INFO, "shard.owns", pl_log_str("shard", event_log->id),
	       pl_log_uint("partitions", event_log->owned),
	       pl_log_uint("gained", event_log->gained),
	       pl_log_uint("lost", event_log->lost));
	event_log->gained = 0;
	event_log->lost = 0;
	memset(event_log->lost_for, 0, sizeof event_log->lost_for);
}

/* -- trouble ----------------------------------------------------------------------- */

static uint64_t hash_of(const struct shard_note *note)
{
	uint64_t hash = pl_hash(pl_span_str(note->err->msg)) * 31 +
	                pl_hash(pl_span_str(note->part)) + note->err->code;

	return hash == 0 ? 1 : hash;
}

/* The slot of this trouble; if it has none, the slot that was logged longest ago. */
static struct event_log_trouble *trouble_slot(struct event_log *event_log, uint64_t hash)
{
	struct event_log_trouble *place = &event_log->trouble[0];

	for (unsigned i = 0; i < EVENT_LOG_TROUBLES; i++) {
		struct event_log_trouble *here = &event_log->trouble[i];

		if (here->hash == hash)
			return here;
		if (here->hash == 0 ||
		    (place->hash != 0 && here->logged_ms < place->logged_ms))
			place = here;
	}
	*place = (struct event_log_trouble){0};
	return place;
}

/* An error of the store is logged with its advice. */
static void log_trouble(const struct event_log *event_log, const struct shard_note *note,
                        uint64_t repeated)
{
	const char *advice = pl_code_advice(note->err->cause);
	const struct pl_log_field fields[] = {
		pl_log_str("shard", event_log->id), pl_log_str("part", note->part),
		pl_log_err("err", note->err), pl_log_uint("repeated", repeated),
		pl_log_str("advice", advice)};
	unsigned count = sizeof fields / sizeof fields[0];

	if (pl_log_on(PL_LOG_WARN))
		pl_log_write(PL_LOG_WARN, "shard.trouble", fields,
		             strstr(note->err->msg, advice) == NULL ? count : count - 1);
}

static void report_trouble(struct event_log *event_log, const struct shard_note *note,
                           uint64_t now_ms)
{
	uint64_t hash = hash_of(note);
	struct event_log_trouble *trouble = trouble_slot(event_log, hash);

	if (trouble->hash == hash && now_ms < trouble->logged_ms + EVENT_LOG_AGAIN_MS) {
		trouble->repeated++;
		return;
	}
	log_trouble(event_log, note, trouble->repeated);
	*trouble = (struct event_log_trouble){.hash = hash, .logged_ms = now_ms};
}

/* ------------------------------------------------------------------------------- */

void event_log_init(struct event_log *event_log, const char *id)
{
	*event_log = (struct event_log){.id = id};
}

void event_log_note(struct event_log *event_log, const struct shard_note *note,
                    uint64_t now_ms)
{
	if (note->what == SHARD_TROUBLE) {
		report_trouble(event_log, note, now_ms);
		return;
	}
	if (note->what == SHARD_OWN)
		note_gained(event_log, now_ms);
	if (note->what == SHARD_LOST)
		note_lost(event_log, note->why, now_ms);
	if (note->what == SHARD_DOWN || note->what == SHARD_DRAINED ||
	    note->what == SHARD_CLOSED)
		log_owned(event_log);
	worker_log(event_log->id, note);
}

uint64_t event_log_deadline_ms(const struct event_log *event_log)
{
	uint64_t quiet = event_log->last_ms + EVENT_LOG_QUIET_MS;
	uint64_t latest = event_log->first_ms + EVENT_LOG_LATEST_MS;

	if (event_log->gained + event_log->lost == 0)
		return UINT64_MAX;
	return quiet < latest ? quiet : latest;
}

void event_log_due(struct event_log *event_log, uint64_t now_ms)
{
	if (now_ms >= event_log_deadline_ms(event_log))
		log_owned(event_log);
}
