#include "coord/shard/shard_int.h"

/* Configuration, elections, and the work of the leaders. */

static const struct config_value *value_of(const struct shard *shard,
                                           enum config_name name)
{
	return config_watch_value(shard->config, name);
}

/* Passes the configuration to balancer and janitor, at first and at each change. */
void leaders_configure(struct shard *shard)
{
	const struct config_value *coord;

	if (shard->config == NULL)
		return;
	coord = value_of(shard, CONFIG_COORD);
	if (shard->janitor != NULL) {
		janitor_config(shard->janitor, &coord->coord);
		janitor_lead(shard->janitor, shard->elect[ROLE_JANITOR].leading);
	}
	if (shard->balance != NULL) {
		balance_config(shard->balance, &coord->coord,
		               &value_of(shard, CONFIG_SHARDS)->shards,
		               &value_of(shard, CONFIG_WEIGHTS)->weights,
		               config_watch_version(shard->config, CONFIG_WEIGHTS));
		balance_lead(shard->balance, shard->elect[ROLE_BALANCER].leading);
	}
}

static void apply_config(struct shard *shard, const struct config_note *note)
{
	const struct config_coord *coord = &note->value->coord;

	if (note->name == CONFIG_COORD) {
		if (shard->claims != NULL)
			claims_tune(shard->claims, coord->handover_ms, coord->settle_ms);
	} else if (note->name != CONFIG_SCHEDULER) {
		shard->peers_stale = true;
	}
	leaders_configure(shard);
}

static void report_config(struct shard *shard, const struct config_note *note)
{
	shard_report(shard, &(struct shard_note){.what = SHARD_CONFIG,
	                                         .config = note->name,
	                                         .version = note->version,
	                                         .err = note->err});
}

static void on_applied(struct shard *shard, const struct config_note *note)
{
	shard->refused_text[note->name][0] = 0;
	shard->config_reported[note->name] = note->version;
	shard->publish = PUBLISH_NOW;
	apply_config(shard, note);
	report_config(shard, note);
}

static void on_refused(struct shard *shard, const struct config_note *note)
{
	struct pl_err err = *note->err;

	pl_err_wrap(&err, "version %llu", (unsigned long long)note->version);
	memcpy(shard->refused_text[note->name], err.msg, sizeof err.msg);
	shard->publish = PUBLISH_NOW;
	report_config(shard, note);
}

/* After a new list over a store that has less than before, configurations without a
 * key are back at their default, and no note has reported that. */
static void on_synced(struct shard *shard)
{
	shard->config_synced = true;
	shard->peers_stale = true;
	for (unsigned i = 0; i < CONFIG_NAME_COUNT; i++) {
		enum config_name name = (enum config_name)i;
		struct config_note note = {
			.what = CONFIG_APPLIED,
			.name = name,
			.version = config_watch_version(shard->config, name),
			.value = config_watch_value(shard->config, name)};

		if (note.version != shard->config_reported[name])
			on_applied(shard, &note);
	}
}

void shard_on_config(void *ctx, const struct config_note *note)
{
	struct shard *shard = ctx;

	shard_kick(shard);
	switch (note->what) {
	case CONFIG_SYNCED:
		on_synced(shard);
		return;
	case CONFIG_APPLIED:
		on_applied(shard, note);
		return;
	case CONFIG_REFUSED:
		on_refused(shard, note);
		return;
	case CONFIG_LOST:
		shard->config_synced = false;
		if (note->err != NULL && note->err->code == PL_REWOUND)
			shard_rewind(shard);
		if (note->err != NULL)
			shard_trouble(shard, "config", note->err);
		return;
	case CONFIG_TROUBLE:
		shard_trouble(shard, "config", note->err);
		return;
	case CONFIG_STOPPED:
		shard->config = NULL;
		shard->config_synced = false;
		part_off(shard, PART_CONFIG);
		return;
	}
}

static void set_leading(struct shard_elect *elect, bool leading)
{
	struct shard *shard = elect->shard;

	elect->leading = leading;
	if (elect->role == ROLE_BALANCER && shard->balance != NULL)
		balance_lead(shard->balance, leading);
	if (elect->role == ROLE_JANITOR && shard->janitor != NULL)
		janitor_lead(shard->janitor, leading);
	if (elect->role == ROLE_BUDGETS && shard->budgets != NULL)
		budgets_lead(shard->budgets, leading);
}

static enum shard_part part_of(enum shard_role role)
{
	switch (role) {
	case ROLE_BALANCER:
		return PART_BALANCER;
	case ROLE_JANITOR:
		return PART_SWEEPER;
	case ROLE_BUDGETS:
		return PART_COUNTER;
	case ROLE_COUNT:
		break;
	}
	PL_UNREACHABLE("a role");
}

void shard_on_elect(void *ctx, const struct elect_note *note)
{
	struct shard_elect *elect = ctx;
	struct shard *shard = elect->shard;
	enum shard_part part = part_of(elect->role);
	struct shard_note reported = {.role = role_name(elect->role),
	                              .epoch = note->epoch};

	shard_kick(shard);
	switch (note->what) {
	case ELECT_LEAD:
		set_leading(elect, true);
		reported.what = SHARD_LEAD;
		shard_report(shard, &reported);
		return;
	case ELECT_STEP_DOWN:
		set_leading(elect, false);
		reported.what = SHARD_FOLLOW;
		shard_report(shard, &reported);
		return;
	case ELECT_FOLLOW:
		return;
	case ELECT_TROUBLE:
		shard_trouble(shard, part_name(part), note->err);
		return;
	case ELECT_STOPPED:
		elect->elect = NULL;
		elect->leading = false;
		part_off(shard, part);
		return;
	}
}

void shard_on_balance(void *ctx, const struct balance_note *note)
{
	struct shard *shard = ctx;

	shard_kick(shard);
	switch (note->what) {
	case BALANCE_WROTE:
		shard_report(shard, &(struct shard_note){.what = SHARD_BALANCED,
		                                         .version = note->version,
		                                         .moves = note->moves});
		return;
	case BALANCE_TROUBLE:
		shard_trouble(shard, part_name(PART_BALANCE), note->err);
		return;
	case BALANCE_STOPPED:
		shard->balance = NULL;
		part_off(shard, PART_BALANCE);
		return;
	}
}

void shard_on_janitor(void *ctx, const struct janitor_note *note)
{
	struct shard *shard = ctx;

	shard_kick(shard);
	switch (note->what) {
	case JANITOR_COMPACTED:
		shard_report(shard, &(struct shard_note){.what = SHARD_SWEPT,
		                                         .revision = note->revision});
		return;
	case JANITOR_REMOVED:
		shard_report(shard, &(struct shard_note){.what = SHARD_SWEPT,
		                                         .key = note->key,
		                                         .err = note->err});
		return;
	case JANITOR_HELD:
		return; /* that is the purpose of a pin; the pin itself names its
		         * holder */
	case JANITOR_TROUBLE:
		shard_trouble(shard, part_name(PART_JANITOR), note->err);
		return;
	case JANITOR_STOPPED:
		shard->janitor = NULL;
		part_off(shard, PART_JANITOR);
		return;
	}
}

void shard_on_budgets(void *ctx, const struct budgets_note *note)
{
	struct shard *shard = ctx;

	shard_kick(shard);
	switch (note->what) {
	case BUDGETS_MALFORMED:
		shard_report(shard, &(struct shard_note){.what = SHARD_MALFORMED,
		                                         .key = note->key,
		                                         .err = note->err});
		return;
	case BUDGETS_TROUBLE:
		shard_trouble(shard, part_name(PART_BUDGETS), note->err);
		return;
	case BUDGETS_STOPPED:
		shard->budgets = NULL;
		part_off(shard, PART_BUDGETS);
		return;
	}
}
