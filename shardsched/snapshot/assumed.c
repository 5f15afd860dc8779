#include "shardsched/snapshot/assumed.h"

#include <stdlib.h>

#include "shardsched/snapshot/catalog_inner.h"
#include "store/base/alloc.h"

/*
 * An entry counts its assumptions; its stamp changes with the first of them. A decision
 * whose stamp differs from its object's has nothing to undo: the object is gone, or was
 * put with a decision of its own.
 */

static struct pl_span key_span(const struct assumed *it)
{
	return pl_span((const char *)&it->key, sizeof it->key);
}

static struct assumed *assumed_find(const struct catalog *catalog, struct assumed_pod pod,
                                    uint32_t ordinal)
{
	struct assumed want = {.key = {pod, ordinal}};
	struct pl_map_node *node = pl_map_get(&catalog->inner->assumed, key_span(&want));

	return node == NULL ? NULL : PL_CONTAINER_OF(node, struct assumed, by_pod);
}

const struct assumed *assumed_get(const struct catalog *catalog, struct assumed_pod pod,
                                  uint32_t ordinal)
{
	return assumed_find(catalog, pod, ordinal);
}

/* -- objects as if it were so ---------------------------------------------------------
 */

static void set_text(struct strings *strings, uint32_t *at, uint32_t text)
{
	strings_ref(strings, text);
	strings_unref(strings, *at);
	*at = text;
}

static void set_claim(struct strings *strings, struct volume *volume,
                      struct catalog_key key, uint32_t uid)
{
	set_text(strings, &volume->claim_namespace, key.namespace);
	set_text(strings, &volume->claim_name, key.name);
	set_text(strings, &volume->claim_uid, uid);
}

/* The entry of the decision's object: the volume or the claim. */
static struct catalog_entry *entry_of(const struct catalog *catalog,
                                      const struct assumed *it)
{
	if (it->volume != 0)
		return catalog_entry_find(catalog, CATALOG_VOLUME,
		                          (struct catalog_key){0, it->volume, 0});
	return catalog_entry_find(catalog, CATALOG_CLAIM, it->claim);
}

static bool is_already_so(const struct assumed *it, const struct catalog_entry *entry)
{
	const struct volume *volume = (const void *)(entry + 1);
	const struct claim *claim = (const void *)(entry + 1);

	if (it->volume != 0)
		return volume->claim_name == it->claim.name &&
		       volume->claim_namespace == it->claim.namespace;
	return claim->selected_node == it->node;
}

static bool is_open(const struct assumed *it, const struct catalog_entry *entry)
{
	const struct volume *volume = (const void *)(entry + 1);
	const struct claim *claim = (const void *)(entry + 1);

	return it->volume != 0 ? volume->claim_name == 0 : claim->selected_node == 0;
}

/* The group of the volume's class is kept for it, so the volume's return can not fail. */
static enum pl_code apply_volume(struct catalog *catalog, struct catalog_entry *entry,
                                 struct catalog_key claim, struct pl_err *err)
{
	struct volume *volume = catalog_object(entry);
	const struct claim *owner = catalog_find_claim(catalog, claim);
	struct catalog_group *group = catalog_group_want(
		catalog, (struct catalog_group_key){CATALOG_BY_VOLUME_CLAIM,
	                                            claim.namespace, claim.name});

	if (group == NULL)
		return pl_err_set(err, PL_NOMEM, "no memory for a group of volumes");
	set_claim(&catalog->model->strings, volume, claim,
	          owner == NULL ? 0 : owner->uid);
	catalog_group_keep(catalog, entry, entry->group);
	catalog_group_move(catalog, entry, group);
	catalog->epoch[CATALOG_VOLUME]++;
	return PL_OK;
}

static void apply_claim(struct catalog *catalog, struct catalog_entry *entry,
                        uint32_t node)
{
	struct claim *claim = catalog_object(entry);

	set_text(&catalog->model->strings, &claim->selected_node, node);
	catalog->epoch[CATALOG_CLAIM]++;
}

static enum pl_code apply_decision(struct catalog *catalog, struct assumed *it,
                                   struct catalog_entry *entry, struct pl_err *err)
{
	if (entry->assumed == 0) {
		if (it->volume == 0)
			apply_claim(catalog, entry, it->node);
		else if (apply_volume(catalog, entry, it->claim, err) != PL_OK)
			return PL_NOMEM;
		entry->stamp = ++catalog->inner->stamps;
	}
	entry->assumed++;
	it->stamp = entry->stamp;
	return PL_OK;
}

static void undo_decision(struct catalog *catalog, const struct assumed *it,
                          struct catalog_entry *entry)
{
	if (it->volume == 0) {
		apply_claim(catalog, entry, 0);
		return;
	}
	set_claim(&catalog->model->strings, catalog_object(entry),
	          (struct catalog_key){0}, 0);
	catalog_group_move(catalog, entry, entry->return_to);
	catalog_group_keep(catalog, entry, NULL);
	catalog->epoch[CATALOG_VOLUME]++;
}

static bool carry_volume(struct catalog *catalog, const struct volume *was,
                         struct volume *comes)
{
	if (comes->claim_name != 0)
		return false;
	set_claim(&catalog->model->strings, comes,
	          (struct catalog_key){was->claim_namespace, was->claim_name, 0},
	          was->claim_uid);
	return true;
}

static bool carry_claim(struct catalog *catalog, const struct claim *was,
                        struct claim *comes)
{
	if (comes->selected_node != 0 || comes->volume != 0)
		return false;
	set_text(&catalog->model->strings, &comes->selected_node, was->selected_node);
	return true;
}

bool assumed_carry(struct catalog *catalog, enum catalog_kind kind,
                   struct catalog_entry *entry, void *comes)
{
	if (entry->assumed == 0)
		return false;
	return kind == CATALOG_VOLUME
	               ? carry_volume(catalog, catalog_object(entry), comes)
	               : carry_claim(catalog, catalog_object(entry), comes);
}

/* -- decisions -------------------------------------------------------------------------
 */

static uint32_t count_decisions(const struct catalog *catalog, struct assumed_pod pod)
{
	uint32_t count = 0;

	while (assumed_find(catalog, pod, count) != NULL)
		count++;
	return count;
}

/* Takes references to all names in the decision, or gives them back. */
static void ref_names(struct strings *strings, const struct assumed *it, bool on)
{
	const uint32_t texts[] = {it->key.pod.namespace,
	                          it->key.pod.name,
	                          it->key.pod.uid,
	                          it->claim.namespace,
	                          it->claim.name,
	                          it->volume,
	                          it->node};

	for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (on)
			strings_ref(strings, texts[i]);
		else
			strings_unref(strings, texts[i]);
}

static enum pl_code check_decision(const struct catalog *catalog,
                                   const struct assumed *it,
                                   const struct catalog_entry *entry, struct pl_err *err)
{
	if (entry == NULL || catalog_find_claim(catalog, it->claim) == NULL)
		return pl_err_set(err, PL_NOTFOUND, "no such claim or volume");
	if (!is_already_so(it, entry) && !is_open(it, entry))
		return pl_err_set(err, PL_CONFLICT, "another decision was assumed");
	if (catalog->inner->assumed.count >= ASSUMED_MAX)
		return pl_err_set(err, PL_LIMIT, "more than %d decisions about claims",
		                  ASSUMED_MAX);
	return PL_OK;
}

enum pl_code assumed_add(struct catalog *catalog, struct assumed_pod pod,
                         const struct assumed *decision, struct pl_err *err)
{
	struct catalog_entry *entry = entry_of(catalog, decision);
	enum pl_code code = check_decision(catalog, decision, entry, err);
	struct assumed *made;

	PL_ASSERT((decision->volume == 0) != (decision->node == 0));
	if (code != PL_OK || (entry->assumed == 0 && is_already_so(decision, entry)))
		return code;
	made = pl_calloc(1, sizeof *made);
	if (made == NULL)
		return pl_err_set(err, PL_NOMEM, "no memory for a decision");
	made->key.pod = pod;
	made->key.ordinal = count_decisions(catalog, pod);
	made->claim = decision->claim;
	made->volume = decision->volume;
	made->node = decision->node;
	code = apply_decision(catalog, made, entry, err);
	if (code != PL_OK) {
		free(made);
		return code;
	}
	ref_names(&catalog->model->strings, made, true);
	PL_ASSERT(pl_map_add(&catalog->inner->assumed, &made->by_pod, key_span(made)) ==
	          NULL);
	return PL_OK;
}

bool assumed_holds(const struct catalog *catalog, struct assumed_pod pod)
{
	for (uint32_t i = 0;; i++) {
		const struct assumed *it = assumed_find(catalog, pod, i);
		const struct catalog_entry *entry;

		if (it == NULL)
			return true;
		entry = entry_of(catalog, it);
		if (entry == NULL || !is_already_so(it, entry) ||
		    catalog_find_claim(catalog, it->claim) == NULL)
			return false;
	}
}

static void decision_free(struct catalog *catalog, struct assumed *it)
{
	pl_map_del(&catalog->inner->assumed, &it->by_pod);
	ref_names(&catalog->model->strings, it, false);
	free(it);
}

void assumed_forget(struct catalog *catalog, struct assumed_pod pod)
{
	for (uint32_t i = 0;; i++) {
		struct assumed *it = assumed_find(catalog, pod, i);
		struct catalog_entry *entry;

		if (it == NULL)
			return;
		entry = entry_of(catalog, it);
		if (entry != NULL && entry->assumed > 0 && entry->stamp == it->stamp &&
		    --entry->assumed == 0)
			undo_decision(catalog, it, entry);
		decision_free(catalog, it);
	}
}

void assumed_commit(struct catalog *catalog, struct assumed_pod pod)
{
	for (uint32_t i = 0;; i++) {
		struct assumed *it = assumed_find(catalog, pod, i);

		if (it == NULL)
			return;
		decision_free(catalog, it);
	}
}

void assumed_done(struct catalog *catalog)
{
	PL_MAP_EACH (node, &catalog->inner->assumed)
		decision_free(catalog, PL_CONTAINER_OF(node, struct assumed, by_pod));
	pl_map_done(&catalog->inner->assumed);
}
