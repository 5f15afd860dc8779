#include "shardsched/snapshot/claims.h"

#include <stdlib.h>

#include "shardsched/snapshot/catalog_inner.h"
#include "store/base/alloc.h"

static struct claim_use *use_of(struct pl_map_node *node)
{
	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct claim_use, by_claim);
}

static struct claim_use *use_find(const struct catalog *catalog,
                                  const struct catalog_key *claim)
{
	return use_of(pl_map_get(&catalog->inner->uses, catalog_key_span(claim)));
}

/* Somebody begins to use it, or nobody does any more. */
static void turned(struct catalog *catalog, struct catalog_key key)
{
	const struct claim *claim = catalog_find_claim(catalog, key);

	if (claim != NULL && (claim->modes & VOLUME_RWOP) != 0)
		catalog->taken_epoch++;
}

static bool use_add(struct catalog *catalog, struct catalog_key claim)
{
	struct claim_use *use = use_find(catalog, &claim);

	if (use == NULL) {
		use = pl_calloc(1, sizeof *use);
		if (use == NULL)
			return false;
		use->claim = claim;
		strings_ref(&catalog->model->strings, claim.namespace);
		strings_ref(&catalog->model->strings, claim.name);
		PL_ASSERT(pl_map_add(&catalog->inner->uses, &use->by_claim,
		                     catalog_key_span(&use->claim)) == NULL);
		turned(catalog, claim);
	}
	use->pods++;
	return true;
}

static void use_free(struct catalog *catalog, struct claim_use *use)
{
	pl_map_del(&catalog->inner->uses, &use->by_claim);
	strings_unref(&catalog->model->strings, use->claim.namespace);
	strings_unref(&catalog->model->strings, use->claim.name);
	free(use);
}

static void use_del(struct catalog *catalog, struct catalog_key claim)
{
	struct claim_use *use = use_find(catalog, &claim);

	PL_ASSERT(use != NULL && use->pods > 0);
	if (--use->pods > 0)
		return;
	turned(catalog, claim);
	use_free(catalog, use);
}

/* The claims of the first count volumes. */
static void remove_some(struct catalog *catalog, const struct spec *spec, unsigned count)
{
	const struct spec_volume *volume = spec_volumes(spec);

	for (unsigned i = 0; i < count; i++)
		if (volume[i].kind == DRAFT_CLAIM)
			use_del(catalog,
			        (struct catalog_key){spec->namespace, volume[i].id, 0});
}

enum pl_code claims_pod_add(struct catalog *catalog, const struct spec *spec,
                            struct pl_err *err)
{
	const struct spec_volume *volume = spec_volumes(spec);

	for (unsigned i = 0; i < spec->volumes.count; i++) {
		struct catalog_key key = {spec->namespace, volume[i].id, 0};

		if (volume[i].kind != DRAFT_CLAIM || use_add(catalog, key))
			continue;
		remove_some(catalog, spec, i);
		return pl_err_set(err, PL_NOMEM, "no memory for a claim in use");
	}
	return PL_OK;
}

void claims_pod_remove(struct catalog *catalog, const struct spec *spec)
{
	remove_some(catalog, spec, spec->volumes.count);
}

uint32_t claims_users(const struct catalog *catalog, struct catalog_key claim)
{
	const struct claim_use *use = use_find(catalog, &claim);

	return use == NULL ? 0 : use->pods;
}

void claims_done(struct catalog *catalog)
{
	PL_MAP_EACH (node, &catalog->inner->uses)
		use_free(catalog, use_of(node));
	pl_map_done(&catalog->inner->uses);
}
