#include "coord/work/work_int.h"

/*
 * The live configuration `scheduler`. sched applies each version that the shard
 * applies, between two turns. Until then the old version stays in use; nothing is
 * decided before there is one. A failure (no memory) is tried again and stands in the
 * shard's record meanwhile.
 */

static bool config_failed(struct work *work, uint64_t version, struct pl_err *err)
{
	work->config_retry_ms = kv_now_ms(work->kv) + WORK_RETRY_MS;
	(void)pl_err_wrap(err, "version %llu", (unsigned long long)version);
	shard_runs(work->shard, CONFIG_SCHEDULER, work->config_version, err);
	work_report(work, &(struct work_note){
				  .what = WORK_TROUBLE, .part = "scheduler", .err = err});
	return work->configured;
}

bool config_apply(struct work *work)
{
	const struct config_value *value;
	struct pl_err err = {0};
	uint64_t version = 0;

	if (!work->config_due || work->shard == NULL)
		return true;
	if (kv_now_ms(work->kv) < work->config_retry_ms)
		return work->configured;
	value = shard_config(work->shard, CONFIG_SCHEDULER, &version);
	if (value == NULL) { /* the configuration is being read again, and a note will
	                      * follow */
		work->config_retry_ms = kv_now_ms(work->kv) + WORK_RETRY_MS;
		return work->configured;
	}
	/* The settings of version 0 are those that sched was made with. */
	if ((version != 0 || work->configured) &&
	    sched_configure(work->sched, &value->scheduler, &err) != PL_OK)
		return config_failed(work, version, &err);
	work->config_due = false;
	work->configured = true;
	work->config_version = version;
	work->config_retry_ms = 0;
	shard_runs(work->shard, CONFIG_SCHEDULER, version, NULL);
	return true;
}
