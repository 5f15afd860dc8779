#include "coord/daemon/worker.h"

/* The names of events are an interface: docs/placetd.md lists them. */

static const char *const why_names[] = {
	[CLAIMS_KEPT] = "kept",     [CLAIMS_HANDED_OVER] = "handed over",
	[CLAIMS_GONE] = "gone",     [CLAIMS_SESSION] = "session",
	[CLAIMS_FENCED] = "fenced", [CLAIMS_REWOUND] = "rewound",
	[CLAIMS_CLOSED] = "closed",
};

static struct pl_log_field shard_is(const char *id)
{
	return pl_log_str("shard", id);
}

static struct pl_log_field partition_is(const struct shard_note *note)
{
	return pl_log_uint("partition", note->partition);
}

static struct pl_log_field epoch_is(const struct shard_note *note)
{
	return pl_log_int("epoch", note->epoch);
}

bool worker_log_wanted(enum claims_why why)
{
	return why == CLAIMS_HANDED_OVER || why == CLAIMS_KEPT || why == CLAIMS_CLOSED;
}

const char *worker_log_why(enum claims_why why)
{
	return why_names[why];
}

static void log_lost(const char *id, const struct shard_note *note)
{
	PL_LOG(PL_LOG_DEBUG, "partition.lost", shard_is(id), partition_is(note),
	       epoch_is(note), pl_log_str("why", why_names[note->why]));
}

static void log_config(const char *id, const struct shard_note *note)
{
	const char *name = config_name_text(note->config);

	if (note->err == NULL)
		PL_LOG(PL_LOG_INFO, "config.applied", shard_is(id),
		       pl_log_str("config", name), pl_log_uint("version", note->version));
	else
		PL_LOG(PL_LOG_ERROR, "config.refused", shard_is(id),
		       pl_log_str("config", name), pl_log_uint("version", note->version),
		       pl_log_err("err", note->err));
}

static void log_swept(const char *id, const struct shard_note *note)
{
	if (note->key.len == 0)
		PL_LOG(PL_LOG_INFO, "janitor.compacted", shard_is(id),
		       pl_log_int("revision", note->revision));
	else if (note->err == NULL)
		PL_LOG(PL_LOG_WARN, "janitor.removed", shard_is(id),
		       pl_log_span("key", note->key));
	else
		PL_LOG(PL_LOG_WARN, "janitor.removed", shard_is(id),
		       pl_log_span("key", note->key), pl_log_err("err", note->err));
}

static void log_failure(enum pl_log_level level, const char *event, const char *id,
                        const struct shard_note *note)
{
	static const struct pl_err none = {.msg = ""};

	PL_LOG(level, event, shard_is(id),
	       pl_log_err("err", note->err == NULL ? &none : note->err));
}

static void log_partition(const char *id, const struct shard_note *note)
{
	switch (note->what) {
	case SHARD_OWN:
		PL_LOG(PL_LOG_DEBUG, "partition.own", shard_is(id), partition_is(note),
		       epoch_is(note));
		return;
	case SHARD_QUIESCE:
		PL_LOG(PL_LOG_DEBUG, "partition.quiesce", shard_is(id),
		       partition_is(note), epoch_is(note));
		return;
	case SHARD_FENCED:
		PL_LOG(PL_LOG_WARN, "partition.fenced", shard_is(id), partition_is(note),
		       epoch_is(note));
		return;
	default:
		log_lost(id, note);
		return;
	}
}

static void log_state(enum pl_log_level level, const char *event, const char *id)
{
	PL_LOG(level, event, shard_is(id));
}

void worker_log(const char *id, const struct shard_note *note)
{
	switch (note->what) {
	case SHARD_META:
		log_state(PL_LOG_DEBUG, "shard.meta", id);
		return;
	case SHARD_UP:
		PL_LOG(PL_LOG_INFO, "shard.up", shard_is(id),
		       pl_log_int("lease", note->lease));
		return;
	case SHARD_ACTIVE:
		log_state(PL_LOG_INFO, "shard.active", id);
		return;
	case SHARD_DRAINING:
		log_state(PL_LOG_INFO, "shard.draining", id);
		return;
	case SHARD_DRAINED:
		log_state(PL_LOG_INFO, "shard.drained", id);
		return;
	case SHARD_DOUBT:
		log_failure(PL_LOG_WARN, "shard.doubt", id, note);
		return;
	case SHARD_DOWN:
		log_failure(PL_LOG_ERROR, "shard.down", id, note);
		return;
	case SHARD_OWN:
	case SHARD_QUIESCE:
	case SHARD_LOST:
	case SHARD_FENCED:
		log_partition(id, note);
		return;
	case SHARD_MALFORMED:
		PL_LOG(PL_LOG_ERROR, "store.malformed", shard_is(id),
		       pl_log_span("key", note->key), pl_log_err("err", note->err));
		return;
	case SHARD_CONFIG:
		log_config(id, note);
		return;
	case SHARD_LEAD:
		PL_LOG(PL_LOG_INFO, "leader.lead", shard_is(id),
		       pl_log_str("role", note->role), epoch_is(note));
		return;
	case SHARD_FOLLOW:
		PL_LOG(PL_LOG_INFO, "leader.follow", shard_is(id),
		       pl_log_str("role", note->role));
		return;
	case SHARD_BALANCED:
		PL_LOG(PL_LOG_INFO, "balancer.wrote", shard_is(id),
		       pl_log_uint("version", note->version),
		       pl_log_uint("moves", note->moves));
		return;
	case SHARD_SWEPT:
		log_swept(id, note);
		return;
	case SHARD_REWOUND:
		log_state(PL_LOG_ERROR, "store.rewound", id);
		return;
	case SHARD_TROUBLE:
		return; /* logged by event_log, which limits repetitions */
	case SHARD_REFUSED:
		log_failure(PL_LOG_ERROR, "shard.refused", id, note);
		return;
	case SHARD_CLOSED:
		if (note->err != NULL)
			log_failure(PL_LOG_WARN, "shard.unrevoked", id, note);
		log_state(PL_LOG_INFO, "shard.closed", id);
		return;
	}
}
