#include "coord/cli/shards/shard_object.h"

#include <math.h>
#include <stdlib.h>

#include "coord/cli/session/api_object.h"
#include "store/keys/keys.h"

static double number_of(struct pl_json object, const char *path)
{
	double value = 0;

	if (pl_json_as_double(field_at(object, path), &value, NULL) != PL_OK ||
	    !isfinite(value))
		return 0;
	return value;
}

static uint64_t count_of(struct pl_json object, const char *path)
{
	int64_t value = field_int(object, path, 0);

	return value < 0 ? 0 : (uint64_t)value;
}

static enum membership_state state_of(struct pl_json shard)
{
	struct pl_span word = api_text(shard, "status.state");

	for (unsigned i = MEMBERSHIP_JOINING; i <= MEMBERSHIP_DRAINING; i++)
		if (pl_span_eq(word, pl_span_str(membership_state_name(
					     (enum membership_state)i))))
			return (enum membership_state)i;
	return MEMBERSHIP_JOINING;
}

static enum pl_code read_partitions(struct pl_json list, struct pl_arena *arena,
                                    struct membership *out)
{
	size_t count = pl_json_count(list);
	uint16_t *numbers = pl_arena_zalloc(arena, count + 1, sizeof *numbers);
	uint32_t *loads = pl_arena_zalloc(arena, count + 1, sizeof *loads);

	if (numbers == NULL || loads == NULL)
		return PL_NOMEM;
	out->partitions = numbers;
	out->loads = loads;
	PL_JSON_EACH (item, list) {
		const struct pl_json_range range = {0, KEYS_PARTITIONS_MAX - 1};
		int64_t number;

		if (pl_json_as_int(item, range, &number, NULL) == PL_OK)
			numbers[out->partition_count++] = (uint16_t)number;
	}
	return PL_OK;
}

static void read_configs(struct pl_json shard, struct membership *out)
{
	struct pl_json refused = field_at(shard, "status.refused");

	PL_JSON_EACH (item, field_at(shard, "status.config")) {
		const struct pl_json_range range = {0, INT64_MAX};
		struct membership_config *config = &out->config[out->config_count];
		const char *why = "";
		int64_t version;

		if (out->config_count == MEMBERSHIP_CONFIGS_MAX)
			return;
		if (pl_json_as_int(item, range, &version, NULL) != PL_OK)
			continue;
		config->name = pl_span_str(pl_json_key(item));
		config->version = (uint64_t)version;
		if (pl_json_as_string(pl_json_member(refused, pl_json_key(item)), &why,
		                      NULL) == PL_OK)
			config->refused = pl_span_str(why);
		out->config_count++;
	}
}

static void read_work(struct pl_json shard, struct membership_work *out)
{
	out->known = field_is_set(shard, "status.work");
	out->placed = count_of(shard, "status.work.placed");
	out->pending = count_of(shard, "status.work.pending");
	out->conflicts = count_of(shard, "status.work.conflicts");
	out->lag_ms = count_of(shard, "status.work.lagMilliseconds");
	out->placed_per_s = number_of(shard, "status.work.placedPerSecond");
	out->conflicts_per_s = number_of(shard, "status.work.conflictsPerSecond");
}

static int64_t lease_of(struct pl_json shard)
{
	const char *text = field_text_or(shard, "status.lease", "");
	char *end;
	unsigned long long lease = strtoull(text, &end, 16);

	return *text == 0 || *end != 0 || lease > INT64_MAX ? 0 : (int64_t)lease;
}

enum pl_code shard_object_read(struct pl_json shard, struct pl_arena *arena,
                               struct shard_object *out)
{
	const char *malformed = field_text_or(shard, "status.malformed", "");
	struct membership *member = &out->entry.member;

	*out = (struct shard_object){.drain = field_bool(shard, "spec.drained", false)};
	out->entry.lease = lease_of(shard);
	member->id = api_text(shard, "metadata.name");
	if (*malformed != 0) {
		out->entry.malformed = true;
		(void)pl_err_set(&out->entry.why, PL_INVALID, "%s", malformed);
		return PL_OK;
	}
	member->state = state_of(shard);
	member->host = api_text(shard, "status.host");
	member->pid = field_int(shard, "status.pid", 0);
	member->version = api_text(shard, "status.version");
	member->api = api_text(shard, "status.address");
	member->zone = api_text(shard, "status.zone");
	member->weight = (uint32_t)field_int(shard, "spec.weight", MEMBERSHIP_WEIGHT_ONE);
	(void)api_time(shard, "status.startTime", &member->started_ms);
	member->writes_per_s = number_of(shard, "status.rates.writesPerSecond");
	member->busy = number_of(shard, "status.rates.busy");
	member->fenced = count_of(shard, "status.rates.fenced");
	read_work(shard, &member->work);
	read_configs(shard, member);
	return read_partitions(field_at(shard, "status.partitions"), arena, member);
}

/* The name, "0007", is what a partition is found by. */
static uint32_t partition_number(struct pl_json partition)
{
	struct pl_span name = api_text(partition, "metadata.name");
	uint32_t number = 0;

	for (size_t i = 0; i < name.len; i++) {
		if (name.at[i] < '0' || name.at[i] > '9' || number >= KEYS_PARTITIONS_MAX)
			return 0;
		number = number * 10 + (uint32_t)(name.at[i] - '0');
	}
	return number;
}

void partition_object_read(struct pl_json partition, struct partition_told *out)
{
	*out = (struct partition_told){.number = partition_number(partition),
	                               .owner = api_text(partition, "status.shard"),
	                               .epoch = field_int(partition, "status.epoch", 0),
	                               .target = api_text(partition, "status.target"),
	                               .malformed =
	                                       api_text(partition, "status.malformed")};
}
