/*
 * The answer to a transaction, entry by entry. An entry's reads are found by its index,
 * the records in them by their keys.
 */
#include "shardsched/records/txn_builder.h"
#include "shardsched/records/txn_builder_inner.h"

static bool is_answer(const struct txn_builder *builder, const struct kv_result *result)
{
	const struct kv_txn_result *txn = &result->txn;

	if (result->op != KV_TXN)
		return false;
	if (txn->succeeded)
		return txn->count == builder->thens;
	if (txn->count != builder->otherwises)
		return false;
	for (size_t i = 0; i < txn->count; i++)
		if (txn->results[i].op != KV_GET)
			return false;
	return true;
}

static const struct kv_record *find_record(const struct builder_entry *entry,
                                           const struct kv_txn_result *txn,
                                           struct pl_span key)
{
	for (unsigned i = 0; i < entry->otherwises; i++) {
		const struct kv_get_result *get = &txn->results[entry->otherwise + i].get;

		for (size_t n = 0; n < get->count; n++)
			if (pl_span_eq(get->records[n].key, key))
				return &get->records[n];
	}
	return NULL;
}

/* The one revision at which all values of the entry stand; 0: they do not. */
static int64_t written_revision(const struct txn_builder *builder,
                                const struct builder_entry *entry,
                                const struct kv_txn_result *txn)
{
	unsigned count = entry->by_first ? 1U : (unsigned)entry->thens - entry->bumps;
	int64_t revision = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct kv_req *op = &builder->then[entry->then + i];
		const struct kv_record *record;

		if (op->op != KV_PUT)
			return 0;
		record = find_record(entry, txn, op->put.key);
		if (record == NULL || !pl_span_eq(record->value, op->put.value) ||
		    (revision != 0 && record->mod_revision != revision))
			return 0;
		revision = record->mod_revision;
	}
	return revision;
}

/* Another writer may have written the same bytes, where a counter went up by one; so
 * the values are the entry's own only if they came with a value that no other writer
 * writes. */
static bool is_ours(const struct txn_builder *builder, const struct builder_entry *entry,
                    const struct kv_txn_result *txn)
{
	int64_t revision = written_revision(builder, entry, txn);
	bool marked = false;

	if (entry->marks || revision == 0)
		return revision != 0;
	for (uint32_t i = 0; i < builder->entries; i++) {
		if (!builder->entry[i].marks)
			continue;
		if (written_revision(builder, &builder->entry[i], txn) == revision)
			return true;
		marked = true;
	}
	return !marked;
}

/* The one compare of all keys below a pod's name. */
static bool is_as_seen(const struct kv_compare *compare, const struct kv_get_result *get)
{
	bool same = get->count > 0;

	for (size_t i = 0; i < get->count; i++)
		same = same && get->records[i].mod_revision == compare->number;
	return same;
}

static enum builder_verdict judge_entry(const struct txn_builder *builder,
                                        const struct builder_entry *entry,
                                        const struct kv_txn_result *txn)
{
	bool same = true, gone = true;

	for (unsigned i = 0; i < entry->compares; i++) {
		const struct kv_compare *compare = &builder->compare[entry->compare + i];
		const struct kv_get_result *looked = &txn->results[entry->otherwise].get;
		const struct kv_record *record =
			find_record(entry, txn, compare->keys.from);
		int64_t revision = record == NULL ? 0 : record->mod_revision;

		if (compare->keys.kind == KV_ONE) {
			same = same && revision == compare->number;
			gone = gone && record == NULL;
		} else {
			same = same && is_as_seen(compare, looked);
			gone = gone && looked->count == 0;
		}
	}
	if (same)
		return BUILDER_SAME;
	if (gone)
		return BUILDER_GONE;
	return is_ours(builder, entry, txn) ? BUILDER_OURS : BUILDER_NEWER;
}

static const struct kv_record *only_record(const struct kv_result *got)
{
	return got->get.count == 0 ? NULL : got->get.records;
}

static void place_pod(const struct kv_get_result *get, struct builder_found *out)
{
	struct keys_id id;

	for (size_t i = 0; i < get->count; i++) {
		const struct kv_record *record = &get->records[i];

		if (keys_parse(record->key, &id, NULL) != PL_OK)
			out->has_other_keys = true; /* a key that is neither spec nor
						     * state */
		else if (id.kind == KEYS_SPEC)
			out->spec = record;
		else if (id.kind == KEYS_STATE)
			out->state = record;
	}
}

static void place_records(const struct builder_entry *entry,
                          const struct kv_txn_result *txn, struct builder_found *out)
{
	const struct kv_result *got = txn->results + entry->otherwise;

	switch (entry->kind) {
	case BUILDER_POD:
		place_pod(&got[0].get, out);
		if (entry->otherwises > 1)
			out->pointer = only_record(&got[1]);
		return;
	case BUILDER_NODE:
		out->node = only_record(&got[0]);
		out->alloc = only_record(&got[1]);
		return;
	case BUILDER_KEY:
		out->record = only_record(&got[0]);
		return;
	case BUILDER_BUMP:
		return;
	}
	PL_UNREACHABLE("kind of entry");
}

bool builder_answer(const struct txn_builder *builder, const struct kv_result *result,
                    uint32_t number, struct builder_found *out)
{
	const struct kv_txn_result *txn = &result->txn;

	PL_ASSERT(number < builder->entries);
	if (!is_answer(builder, result))
		return false;
	*out = (struct builder_found){.verdict = BUILDER_OURS};
	if (txn->succeeded)
		return true;
	out->verdict = judge_entry(builder, &builder->entry[number], txn);
	place_records(&builder->entry[number], txn, out);
	return true;
}
