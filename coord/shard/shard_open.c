#include "coord/shard/shard_int.h"

/* How each part is opened, and how its end is begun. */

static const char *const part_names[PART_COUNT] = {
	[PART_META] = "meta",
	[PART_SESSION] = "session",
	[PART_ROSTER] = "roster",
	[PART_CONFIG] = "config",
	[PART_CLAIMS] = "claims",
	[PART_BALANCER] = "elect.balancer",
	[PART_SWEEPER] = "elect.janitor",
	[PART_COUNTER] = "elect.budgets",
	[PART_BALANCE] = "balancer",
	[PART_JANITOR] = "janitor",
	[PART_BUDGETS] = "budgets",
	[PART_GUARD] = "guard",
};

const char *part_name(enum shard_part part)
{
	PL_ASSERT((unsigned)part < PART_COUNT);
	return part_names[part];
}

const char *role_name(enum shard_role role)
{
	static const char *const names[ROLE_COUNT] = {[ROLE_BALANCER] = "balancer",
	                                              [ROLE_JANITOR] = "janitor",
	                                              [ROLE_BUDGETS] = "budgets"};

	PL_ASSERT((unsigned)role < ROLE_COUNT);
	return names[role];
}

static enum pl_code open_meta(struct shard *shard, struct pl_err *err)
{
	struct meta_opts opts = {.partitions = shard->opts.partitions,
	                         .version = shard->opts.version,
	                         .created_ms = shard_wall_ms(shard),
	                         .seed = pl_rng_next(&shard->rng)};

	return meta_open(shard->kv, &opts, shard_on_meta, shard, &shard->meta, err);
}

static bool pid_lives(void *ctx, int64_t pid)
{
	const struct shard *shard = ctx;

	return shard->opts.pid_lives(shard->opts.ctx, pid);
}

static enum pl_code open_session(struct shard *shard, struct pl_err *err)
{
	struct config_value coord;
	struct membership self;
	struct session_opts opts = {
		.self = &self,
		.ttl_s = shard->opts.ttl_s,
		.margin_ms = shard->opts.margin_ms,
		.seed = pl_rng_next(&shard->rng),
		.pid_lives = shard->opts.pid_lives == NULL ? NULL : pid_lives,
	};

	config_default(CONFIG_COORD, &coord);
	opts.refresh_ms = coord.coord.refresh_ms;
	shard->refresh_ms = opts.refresh_ms;
	publish_self(shard, &self);
	return session_open(shard->kv, &opts, shard_on_session, shard, &shard->session,
	                    err);
}

/* A part that is opened while the session is up has to be told so. */
static enum pl_code spread_if_ok(struct shard *shard, enum pl_code code)
{
	if (code == PL_OK)
		shard_spread(shard);
	return code;
}

static enum pl_code open_claims(struct shard *shard, struct pl_err *err)
{
	struct config_value coord;
	struct claims_opts opts = {.id = shard_id(shard),
	                           .partitions = shard->partitions,
	                           .seed = pl_rng_next(&shard->rng)};

	config_default(CONFIG_COORD, &coord);
	opts.handover_ms = coord.coord.handover_ms;
	opts.settle_ms = coord.coord.settle_ms;
	shard->assign_due = true;
	return spread_if_ok(shard, claims_open(shard->kv, &opts, shard_on_claims, shard,
	                                       &shard->claims, err));
}

static enum pl_code open_elect(struct shard *shard, enum shard_role role,
                               struct pl_err *err)
{
	struct shard_elect *elect = &shard->elect[role];
	struct elect_opts opts = {.role = role_name(role),
	                          .id = shard_id(shard),
	                          .seed = pl_rng_next(&shard->rng)};

	elect->reported = false;
	shard->rank_due = true;
	return spread_if_ok(shard, elect_open(shard->kv, &opts, shard_on_elect, elect,
	                                      &elect->elect, err));
}

static int64_t wall_ms(void *ctx)
{
	return shard_wall_ms(ctx);
}

static enum pl_code open_balance(struct shard *shard, struct pl_err *err)
{
	struct balance_opts opts = {.partitions = shard->partitions,
	                            .roster = shard->roster,
	                            .elect = shard->elect[ROLE_BALANCER].elect,
	                            .id = shard_id(shard),
	                            .wall_ms = wall_ms};
	enum pl_code code = balance_open(shard->kv, &opts, shard_on_balance, shard,
	                                 &shard->balance, err);

	if (code == PL_OK)
		leaders_configure(shard);
	return code;
}

static enum pl_code open_janitor(struct shard *shard, struct pl_err *err)
{
	enum pl_code code = janitor_open(shard->kv, shard->elect[ROLE_JANITOR].elect,
	                                 pl_rng_next(&shard->rng), shard_on_janitor,
	                                 shard, &shard->janitor, err);

	if (code == PL_OK)
		leaders_configure(shard);
	return code;
}

static enum pl_code open_budgets(struct shard *shard, struct pl_err *err)
{
	const struct shard_elect *elect = &shard->elect[ROLE_BUDGETS];
	const struct budgets_opts opts = {.elect = elect->elect,
	                                  .partitions = shard->partitions,
	                                  .seed = pl_rng_next(&shard->rng)};
	enum pl_code code = budgets_open(shard->kv, &opts, shard_on_budgets, shard,
	                                 &shard->budgets, err);

	if (code == PL_OK)
		budgets_lead(shard->budgets, elect->leading);
	return code;
}

enum pl_code part_open(struct shard *shard, enum shard_part part, struct pl_err *err)
{
	shard_kick(shard); /* the part may need facts that are known already */
	switch (part) {
	case PART_META:
		return open_meta(shard, err);
	case PART_SESSION:
		return open_session(shard, err);
	case PART_ROSTER:
		return roster_open(shard->kv, pl_rng_next(&shard->rng), shard_on_roster,
		                   shard, &shard->roster, err);
	case PART_CONFIG:
		return config_watch_open(shard->kv, pl_rng_next(&shard->rng),
		                         shard_on_config, shard, &shard->config, err);
	case PART_CLAIMS:
		return open_claims(shard, err);
	case PART_BALANCER:
		return open_elect(shard, ROLE_BALANCER, err);
	case PART_SWEEPER:
		return open_elect(shard, ROLE_JANITOR, err);
	case PART_COUNTER:
		return open_elect(shard, ROLE_BUDGETS, err);
	case PART_BALANCE:
		return open_balance(shard, err);
	case PART_JANITOR:
		return open_janitor(shard, err);
	case PART_BUDGETS:
		return open_budgets(shard, err);
	case PART_GUARD:
	case PART_COUNT:
		break;
	}
	PL_UNREACHABLE("a part that is not opened here");
}

static void stop_session(struct shard *shard)
{
	if (shard->abandoned)
		session_abandon(shard->session);
	else
		session_close(shard->session);
}

void part_stop(struct shard *shard, enum shard_part part)
{
	switch (part) {
	case PART_META:
		meta_stop(shard->meta);
		return;
	case PART_SESSION:
		stop_session(shard);
		return;
	case PART_ROSTER:
		roster_stop(shard->roster);
		return;
	case PART_CONFIG:
		config_watch_stop(shard->config);
		return;
	case PART_CLAIMS:
		claims_stop(shard->claims);
		return;
	case PART_BALANCER:
		elect_stop(shard->elect[ROLE_BALANCER].elect, !shard->abandoned);
		return;
	case PART_SWEEPER:
		elect_stop(shard->elect[ROLE_JANITOR].elect, !shard->abandoned);
		return;
	case PART_COUNTER:
		elect_stop(shard->elect[ROLE_BUDGETS].elect, !shard->abandoned);
		return;
	case PART_BALANCE:
		balance_stop(shard->balance);
		return;
	case PART_JANITOR:
		janitor_stop(shard->janitor);
		return;
	case PART_BUDGETS:
		budgets_stop(shard->budgets);
		return;
	case PART_GUARD:
		shard_guard_close(shard);
		return;
	case PART_COUNT:
		break;
	}
	PL_UNREACHABLE("a part that is not stopped here");
}

/* Parts that are ending in order are ended at once instead. */
void parts_abandon(struct shard *shard)
{
	if (shard->part[PART_SESSION] == PART_STOPPING)
		session_abandon(shard->session);
	if (shard->part[PART_BALANCER] == PART_STOPPING)
		elect_stop(shard->elect[ROLE_BALANCER].elect, false);
	if (shard->part[PART_SWEEPER] == PART_STOPPING)
		elect_stop(shard->elect[ROLE_JANITOR].elect, false);
	if (shard->part[PART_COUNTER] == PART_STOPPING)
		elect_stop(shard->elect[ROLE_BUDGETS].elect, false);
}
