#include "coord/api/server/followed_access.h"

#include "coord/config/config_record.h"
#include "store/base/log.h"

enum { DOCUMENT_BYTES_MAX = 64 << 20 };

void followed_access_init(struct followed_access *access)
{
	*access = (struct followed_access){0};
	access_document_default(&access->document);
	for (unsigned i = 0; i < 2; i++)
		pl_arena_init(&access->arena[i], 4096, DOCUMENT_BYTES_MAX);
}

void followed_access_done(struct followed_access *access)
{
	for (unsigned i = 0; i < 2; i++)
		pl_arena_done(&access->arena[i]);
}

static bool find_record(struct sources *sources, struct object *out)
{
	const struct schema_resource *configs = schema_resource_find(
		PL_SPAN_LIT("placet.io"), PL_SPAN_LIT("v1"), PL_SPAN_LIT("configs"));

	return source_get(sources, configs, (struct pl_span){0},
	                  pl_span_str(config_name_text(CONFIG_ACCESS)), out);
}

static bool apply(struct followed_access *access, const struct access_document *document,
                  int64_t revision)
{
	access->document = *document;
	PL_LOG(PL_LOG_INFO, "access.applied", pl_log_int("revision", revision),
	       pl_log_uint("bindings", document->binding_count));
	return true;
}

bool followed_access_read(struct followed_access *access, struct sources *sources)
{
	struct pl_arena *arena = &access->arena[access->now ^ 1];
	struct config_value value;
	struct pl_err err = {0};
	struct object object;

	if (!find_record(sources, &object)) {
		if (access->revision == 0)
			return false;
		access->revision = 0;
		config_default(CONFIG_ACCESS, &value);
		return apply(access, &value.access, 0);
	}
	if (object.revision == access->revision)
		return false;
	access->revision = object.revision;
	pl_arena_reset(arena);
	if (config_record_value(CONFIG_ACCESS, 0, object.part[OBJECT_MAIN]->value, arena,
	                        &value, &err) != PL_OK) {
		PL_LOG(PL_LOG_ERROR, "access.refused",
		       pl_log_int("revision", object.revision), pl_log_err("err", &err));
		return false;
	}
	access->now ^= 1;
	return apply(access, &value.access, object.revision);
}
