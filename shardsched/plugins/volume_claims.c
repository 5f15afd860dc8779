#include "shardsched/plugins/volume_claims.h"

#include <string.h>

/* A longer name is none that the API server would take. */
enum { CLAIM_NAME_MAX = 253 };

bool spec_has_volumes(const struct spec *spec, unsigned kinds)
{
	const struct spec_volume *volume = spec_volumes(spec);

	for (unsigned i = 0; i < spec->volumes.count; i++)
		if ((kinds >> volume[i].kind & 1) != 0)
			return true;
	return false;
}

/* "<pod>-<volume>"; 0: nobody has that name. */
static uint32_t ephemeral_name(const struct strings *strings, uint32_t pod,
                               uint32_t volume)
{
	struct pl_span first = strings_get(strings, pod);
	struct pl_span second = strings_get(strings, volume);
	size_t len = first.len + 1 + second.len;
	char text[CLAIM_NAME_MAX];

	if (len > sizeof text || first.len == 0 || second.len == 0)
		return 0;
	memcpy(text, first.at, first.len);
	text[first.len] = '-';
	memcpy(text + first.len + 1, second.at, second.len);
	return strings_find(strings, pl_span(text, len));
}

const struct claim *volume_claim(const struct snapshot *snapshot,
                                 struct claim_owner owner,
                                 const struct spec_volume *volume)
{
	const struct strings *strings = &snapshot->model->strings;
	struct catalog_key key = {owner.spec->namespace, volume->id, 0};

	if (volume->kind == DRAFT_EPHEMERAL)
		key.name = ephemeral_name(strings, owner.name, volume->name);
	return key.name == 0 ? NULL : catalog_find_claim(&snapshot->catalog, key);
}

const struct volume *claim_volume(const struct snapshot *snapshot,
                                  const struct claim *claim)
{
	if (claim->volume == 0)
		return NULL;
	return catalog_find_volume(&snapshot->catalog,
	                           (struct catalog_key){0, claim->volume, 0});
}

const struct storage_class *claim_class(const struct snapshot *snapshot,
                                        const struct claim *claim)
{
	return catalog_find_storage_class(&snapshot->catalog,
	                                  (struct catalog_key){0, claim->class, 0});
}

uint64_t claims_epoch_of_all(const struct plugin_call *call)
{
	const struct catalog *catalog = &call->snapshot->catalog;

	/* Each only grows, so the sum tells them apart. */
	return 1 + catalog->epoch[CATALOG_CLAIM] + catalog->epoch[CATALOG_VOLUME] +
	       catalog->epoch[CATALOG_STORAGE_CLASS] + catalog->epoch[CATALOG_CSI_NODE] +
	       catalog->epoch[CATALOG_CSI_DRIVER] + catalog->epoch[CATALOG_CSI_CAPACITY] +
	       catalog->taken_epoch;
}

uint64_t volume_claims_epoch(const struct plugin_call *call)
{
	return spec_has_volumes(call->spec, CLAIM_KINDS) ? claims_epoch_of_all(call) : 0;
}

bool claims_hint(const struct plugin_call *call, const struct queue_event *event)
{
	const struct spec_volume *volume = spec_volumes(call->spec);

	if (event->kind != QUEUE_EV_PVC_ADDED && event->kind != QUEUE_EV_PVC_CHANGED)
		return true;
	if (event->detail != 0 && event->detail != call->spec->namespace)
		return false;
	if (event->object == 0 || (call->spec->flags & SPEC_BY_NAME) != 0)
		return true;
	for (unsigned i = 0; i < call->spec->volumes.count; i++)
		if (volume[i].kind == DRAFT_CLAIM && volume[i].id == event->object)
			return true;
	return false;
}
