#include "shardsched/model/identity.h"

#include "shardsched/model/selector.h"

#define IDENTITY_TEXT(name, key) {(const uint8_t *)("" key), sizeof(key) - 1},
static const struct pl_span texts[IDENTITY_KEYS] = {IDENTITY_MAP(IDENTITY_TEXT)};

struct pl_span identity_key_text(enum identity_key key)
{
	return texts[key];
}

/* IDENTITY_KEYS: the text is another key. */
static enum identity_key key_of(struct pl_span text)
{
	for (unsigned i = 0; i < IDENTITY_KEYS; i++)
		if (pl_span_eq(texts[i], text))
			return (enum identity_key)i;
	return IDENTITY_KEYS;
}

/* -- what is asked for ------------------------------------------------- */

static struct identity_value *find_value(struct identities *all, enum identity_key key,
                                         uint32_t text)
{
	for (uint32_t i = 0; i < all->key[key].values; i++)
		if (all->key[key].value[i].text == text)
			return &all->key[key].value[i];
	return NULL;
}

static void watch_whole(struct identities *all, enum identity_key key)
{
	all->named += all->key[key].whole++ == 0;
}

static void watch_value(struct identities *all, enum identity_key key, uint32_t text)
{
	struct identity_value *value = find_value(all, key, text);

	if (value != NULL) {
		value->uses++;
	} else if (all->key[key].values < IDENTITY_VALUES_MAX) {
		all->key[key].value[all->key[key].values++] =
			(struct identity_value){text, 1};
		all->named++;
	} else {
		watch_whole(all, key);
	}
}

static void unwatch_whole(struct identities *all, enum identity_key key)
{
	PL_ASSERT(all->key[key].whole > 0);
	all->key[key].whole--;
}

/* Some rows of a value may have found room in the table and others not: rows with room go
 * first, so the rows that are left count for all values. */
static void unwatch_value(struct identities *all, enum identity_key key, uint32_t text)
{
	struct identity_value *value = find_value(all, key, text);

	if (value == NULL)
		unwatch_whole(all, key);
	else if (--value->uses == 0)
		*value = all->key[key].value[--all->key[key].values];
}

typedef void whole_fn(struct identities *all, enum identity_key key);
typedef void value_fn(struct identities *all, enum identity_key key, uint32_t text);

static void each_row(struct model *model, const struct selector *selector,
                     whole_fn *whole, value_fn *value)
{
	for (uint32_t i = 0; selector->flags == 0 && i < selector->count; i++) {
		const struct selector_row *row = &selector->row[i];
		enum identity_key key = key_of(model_text(model, row->key));

		if (key == IDENTITY_KEYS)
			continue;
		if (row->op != SELECTOR_IN && row->op != SELECTOR_NOT_IN) {
			whole(&model->identities, key);
			continue;
		}
		for (uint32_t j = 0; j < row->count; j++)
			value(&model->identities, key, selector_values(selector, row)[j]);
	}
}

void identity_add_selector(struct model *model, const struct selector *selector)
{
	each_row(model, selector, watch_whole, watch_value);
}

void identity_remove_selector(struct model *model, const struct selector *selector)
{
	each_row(model, selector, unwatch_whole, unwatch_value);
}

static bool is_watched(const struct model *model, enum identity_key key, uint32_t text)
{
	const struct identities *all = &model->identities;

	if (all->key[key].whole > 0)
		return true;
	for (uint32_t i = 0; text != 0 && i < all->key[key].values; i++)
		if (all->key[key].value[i].text == text)
			return true;
	return false;
}

/* -- of a pod ----------------------------------------------------------- */

static bool is_index(struct pl_span value, uint32_t *out)
{
	uint64_t index;

	if (pl_num_u64_in(value, 0, UINT32_MAX, &index, NULL) != PL_OK)
		return false;
	*out = (uint32_t)index;
	return true;
}

/* Whether the label is the only one of its key, and no selector asks for it. */
static bool may_be_identity(const struct model *model, const struct draft_meta *meta,
                            enum identity_key key, struct pl_span value)
{
	uint32_t twins = 0, index;

	if (key == IDENTITY_POD_NAME ? !pl_span_eq(value, meta->name)
	                             : !is_index(value, &index))
		return false;
	for (uint32_t i = 0; i < meta->labels.count; i++)
		twins += pl_span_eq(meta->labels.at[i].key, texts[key]);
	return twins == 1 &&
	       !is_watched(model, key, strings_find(&model->strings, value));
}

struct draft_pairs identity_split(const struct model *model, struct pl_arena *arena,
                                  const struct draft_meta *meta,
                                  struct identity_labels *identity)
{
	struct draft_pairs left = {.at = NULL};
	struct identity_labels found = {0};
	bool has_index = false;

	for (uint32_t i = 0; i < meta->labels.count; i++) {
		const struct draft_pair *label = &meta->labels.at[i];
		enum identity_key key = key_of(label->key);

		if (key == IDENTITY_KEYS ||
		    !may_be_identity(model, meta, key, label->value))
			continue;
		if (key != IDENTITY_POD_NAME) {
			uint32_t index = 0;

			(void)is_index(label->value, &index);
			if (has_index && index != found.index)
				continue;
			has_index = true;
			found.index = index;
		}
		found.keys |= 1U << key;
		left.count++;
	}
	if (found.keys == 0 || left.count == meta->labels.count)
		return meta->labels;
	left.at = pl_arena_zalloc(arena, meta->labels.count, sizeof *left.at);
	if (left.at == NULL)
		return meta->labels;
	left.count = 0;
	for (uint32_t i = 0; i < meta->labels.count; i++) {
		enum identity_key key = key_of(meta->labels.at[i].key);

		if (key == IDENTITY_KEYS || (found.keys & 1U << key) == 0)
			left.at[left.count++] = meta->labels.at[i];
	}
	*identity = found;
	return left;
}

struct pl_span identity_value(const struct model *model, enum identity_key key,
                              uint32_t name, const struct identity_labels *identity,
                              char room[PL_NUM_TEXT_SIZE])
{
	if (key == IDENTITY_POD_NAME)
		return model_text(model, name);
	return pl_span(room, pl_num_print_u64(room, identity->index));
}

static bool is_due_label(const struct model *model, enum identity_key key, uint32_t name,
                         const struct identity_labels *identity)
{
	const struct identities *all = &model->identities;
	char room[PL_NUM_TEXT_SIZE];

	if ((identity->keys & 1U << key) == 0)
		return false;
	if (all->key[key].whole > 0 || all->key[key].values == 0)
		return all->key[key].whole > 0;
	if (key != IDENTITY_POD_NAME)
		name = strings_find(&model->strings,
		                    identity_value(model, key, name, identity, room));
	return is_watched(model, key, name);
}

uint32_t identity_due_labels(const struct model *model, uint32_t name,
                             const struct identity_labels *identity)
{
	uint32_t due = 0;

	for (unsigned i = 0; identity->keys != 0 && i < IDENTITY_KEYS; i++)
		if (is_due_label(model, (enum identity_key)i, name, identity))
			due |= 1U << i;
	return due;
}
