#include "coord/api/objects/shard_wishes.h"

#include "coord/api/objects/sources.h"
#include "coord/config/config_record.h"

enum { WISHES_BYTES_MAX = 64 << 20 };

void shard_wishes_init(struct shard_wishes *wishes)
{
	*wishes = (struct shard_wishes){0};
	pl_arena_init(&wishes->arena, 4096, WISHES_BYTES_MAX);
}

void shard_wishes_done(struct shard_wishes *wishes)
{
	pl_arena_done(&wishes->arena);
}

static void read_one(struct sources *sources, struct shard_wishes *wishes,
                     enum config_name name, struct config_value *out)
{
	const struct schema_resource *configs = schema_resource_find(
		PL_SPAN_LIT("placet.io"), PL_SPAN_LIT("v1"), PL_SPAN_LIT("configs"));
	struct object object;

	config_default(name, out);
	if (!source_get(sources, configs, (struct pl_span){0},
	                pl_span_str(config_name_text(name)), &object))
		return;
	if (object.revision > wishes->revision)
		wishes->revision = object.revision;
	if (config_record_value(name, 0, object.part[OBJECT_MAIN]->value, &wishes->arena,
	                        out, NULL) != PL_OK)
		config_default(name, out);
}

void shard_wishes_read(struct sources *sources, struct shard_wishes *wishes)
{
	struct config_value value;

	pl_arena_reset(&wishes->arena);
	wishes->revision = 0;
	read_one(sources, wishes, CONFIG_SHARDS, &value);
	wishes->shards = value.shards;
	read_one(sources, wishes, CONFIG_WEIGHTS, &value);
	wishes->weights = value.weights;
}
