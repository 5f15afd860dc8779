#include "shardsched/plugins/volume_claims.h"

#include "shardsched/model/claim_pattern.h"

bool spec_has_volumes(const struct spec *spec, unsigned kinds)
{
	const struct spec_volume *volume = spec_volumes(spec);

	for (unsigned i = 0; i < spec->volumes; i++)
		if ((kinds >> volume[i].kind & 1) != 0)
			return true;
	return false;
}

const struct claim *volume_claim(const struct snapshot *snapshot,
                                 struct claim_owner owner,
                                 const struct spec_volume *volume)
{
	struct catalog_key key = {owner.spec->namespace, 0, 0};

	key.name = volume_claim_name(&snapshot->model->strings, volume, owner.name);
	return key.name == 0 ? NULL : catalog_find_claim(&snapshot->catalog, key);
}

struct reason volume_claim_missing(struct claim_owner owner,
                                   const struct spec_volume *volume)
{
	return (struct reason){.code = REASON_CLAIM_MISSING,
	                       .subject = volume->id,
	                       .value = volume->own ? owner.name : 0};
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

	/* Each epoch only grows, so the sum changes with any of them. */
	return 1 + catalog->epoch[CATALOG_CLAIM] + catalog->epoch[CATALOG_VOLUME] +
	       catalog->epoch[CATALOG_STORAGE_CLASS] + catalog->epoch[CATALOG_CSI_NODE] +
	       catalog->epoch[CATALOG_CSI_DRIVER] + catalog->epoch[CATALOG_CSI_CAPACITY] +
	       catalog->claim_use_epoch;
}

uint64_t volume_claims_epoch(const struct plugin_call *call)
{
	return spec_has_volumes(call->spec, CLAIM_KINDS) ? claims_epoch_of_all(call) : 0;
}

bool claims_hint(const struct plugin_call *call, const struct queue_event *event)
{
	const struct strings *strings = &call->snapshot->model->strings;
	const struct spec_volume *volume = spec_volumes(call->spec);

	if (event->kind != QUEUE_EV_PVC_ADDED && event->kind != QUEUE_EV_PVC_CHANGED)
		return true;
	if (event->detail != 0 && event->detail != call->spec->namespace)
		return false;
	if (event->object == 0 || !volume_claims_known(call))
		return true;
	for (unsigned i = 0; i < call->spec->volumes; i++)
		if (volume_has_claim(&volume[i]) &&
		    volume_claim_name(strings, &volume[i], claims_of_call(call).name) ==
		            event->object)
			return true;
	return false;
}
