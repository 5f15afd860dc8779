#include "shardsched/snapshot/claim_users.h"

#include <stdlib.h>

#include "shardsched/model/claim_pattern.h"
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

/* To be called when the claim gets its first user or loses its last. */
static void bump_claim_use_epoch(struct catalog *catalog, struct catalog_key key)
{
	const struct claim *claim = catalog_find_claim(catalog, key);

	if (claim != NULL && (claim->modes & VOLUME_RWOP) != 0)
		catalog->claim_use_epoch++;
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
		bump_claim_use_epoch(catalog, claim);
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
	bump_claim_use_epoch(catalog, claim);
	use_free(catalog, use);
}

/* Takes the claims of the first count volumes out of use. */
static void remove_users(struct catalog *catalog, const struct spec *spec, uint32_t name,
                         unsigned count)
{
	const struct strings *strings = &catalog->model->strings;
	const struct spec_volume *volume = spec_volumes(spec);

	for (unsigned i = 0; i < count; i++) {
		struct catalog_key key = {spec->namespace, 0, 0};

		if (volume[i].kind != DRAFT_CLAIM)
			continue;
		key.name = volume_claim_name(strings, &volume[i], name);
		if (key.name != 0)
			use_del(catalog, key);
	}
}

/* The number of the claim's name, with a reference. 0 and PL_OK: no claim can have that
 * name. */
static enum pl_code ref_name(struct strings *strings, const struct spec_volume *volume,
                             uint32_t pod, uint32_t *out)
{
	uint8_t name[CLAIM_NAME_MAX];
	size_t len;

	*out = 0;
	if (volume->own == 0) {
		*out = strings_ref(strings, volume->id);
		return PL_OK;
	}
	len = claim_pattern_expand(strings_get(strings, volume->id),
	                           strings_get(strings, pod), name);
	return len == 0 ? PL_OK : strings_add(strings, pl_span(name, len), out);
}

static enum pl_code add_one(struct catalog *catalog, const struct spec *spec,
                            const struct spec_volume *volume, uint32_t pod)
{
	struct strings *strings = &catalog->model->strings;
	struct catalog_key key = {spec->namespace, 0, 0};
	enum pl_code code = ref_name(strings, volume, pod, &key.name);

	if (code == PL_OK && key.name != 0 && !use_add(catalog, key))
		code = PL_NOMEM;
	strings_unref(strings, key.name);
	return code;
}

enum pl_code claims_pod_add(struct catalog *catalog, const struct spec *spec,
                            uint32_t name, struct pl_err *err)
{
	const struct spec_volume *volume = spec_volumes(spec);

	for (unsigned i = 0; i < spec->volumes; i++) {
		enum pl_code code;

		if (volume[i].kind != DRAFT_CLAIM)
			continue;
		code = add_one(catalog, spec, &volume[i], name);
		if (code == PL_OK)
			continue;
		remove_users(catalog, spec, name, i);
		return pl_err_set(err, code, "keep a claim in use");
	}
	return PL_OK;
}

void claims_pod_remove(struct catalog *catalog, const struct spec *spec, uint32_t name)
{
	remove_users(catalog, spec, name, spec->volumes);
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
