/* Specs that pods share: found, cut out, put together again. */
#include "coord/api/objects/object.h"
#include "store/base/fault.h"
#include "tests/harness/t.h"

#define TWENTY "12345678901234567890"
#define LONG TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY
#define SPEC "{\"text\":\"" LONG "\"}"
#define HEAD "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"y\"}}"

T_CASE(equal_texts_are_kept_once)
{
	struct object_shares *shares = object_shares_new();
	struct object_share *first, *second, *other;
	size_t bytes = 0, before;

	T_TRUE(shares != NULL);
	first = object_share_get(shares, PL_SPAN_LIT("some"), &bytes);
	T_TRUE(first != NULL && bytes > 4);
	before = bytes;
	second = object_share_get(shares, PL_SPAN_LIT("some"), &bytes);
	T_TRUE(second == first);
	T_EQ(bytes, before);
	other = object_share_get(shares, PL_SPAN_LIT("somewhere"), &bytes);
	T_TRUE(other != first && bytes > before);
	object_share_unref(first);
	T_SPAN(pl_span(second->at, second->len), PL_SPAN_LIT("some"));
	object_share_unref(second);
	before = bytes;
	first = object_share_get(shares, PL_SPAN_LIT("some"), &bytes);
	T_TRUE(bytes > before); /* the text had gone */
	object_shares_close(shares);
	object_share_unref(other);
	object_share_unref(first); /* the last one frees all */
	object_share_unref(NULL);
	object_shares_close(NULL);
}

T_CASE(without_memory_a_text_is_not_kept)
{
	struct object_shares *shares = object_shares_new();
	size_t bytes = 0;

	pl_fault_arm(PL_FAULT_ALLOC, 1);
	T_TRUE(object_share_get(shares, PL_SPAN_LIT("some"), &bytes) == NULL);
	pl_fault_reset();
	T_EQ(bytes, 0);
	object_shares_close(shares);
}

/* Whether the spec is taken out; then all parts are where they were, and the whole can be
 * put together. */
static bool cuts(const char *text)
{
	struct object_shares *shares = object_shares_new();
	struct object_parts whole, parts;
	struct cache_entry entry = {.value = pl_span_str(text), .object = &whole};
	struct cache_entry cut = {.object = &parts};
	struct pl_arena arena;
	struct pl_buf rest;
	size_t bytes = 0;
	bool is_cut;

	pl_arena_init(&arena, 0, 0);
	pl_buf_init(&rest, 1 << 20);
	object_parts_read(entry.value, &whole);
	parts = whole;
	is_cut = object_parts_cut(entry.value, &parts, &rest);
	cut.value = is_cut ? pl_buf_span(&rest) : entry.value;
	if (is_cut) {
		struct object_parts again;

		parts.share = object_share_get(shares, object_entry_spec(&entry), &bytes);
		T_TRUE(parts.share != NULL);
		T_TRUE(cut.value.len < entry.value.len);
		object_parts_read(cut.value, &again); /* still JSON */
		T_EQ(again.spec.at, parts.spec.at);
		T_EQ(again.spec.len, parts.spec.len);
		T_EQ(again.metadata.at, parts.metadata.at);
		T_EQ(again.labels.at, parts.labels.at);
		T_EQ(again.name.at, parts.name.at);
		T_EQ(again.status.at, parts.status.at);
	}
	T_SPAN(object_entry_spec(&cut), object_entry_spec(&entry));
	T_SPAN(object_entry_value(&cut, &arena), entry.value);
	T_SPAN(object_piece_text(&cut, parts.metadata),
	       object_piece_text(&entry, whole.metadata));
	T_SPAN(object_piece_text(&cut, parts.labels),
	       object_piece_text(&entry, whole.labels));
	T_SPAN(object_piece_text(&cut, parts.name),
	       object_piece_text(&entry, whole.name));
	T_SPAN(object_piece_text(&cut, parts.status),
	       object_piece_text(&entry, whole.status));
	object_share_unref(parts.share);
	object_shares_close(shares);
	pl_buf_done(&rest);
	pl_arena_done(&arena);
	return is_cut;
}

T_CASE(long_specs_are_taken_out_wherever_they_stand)
{
	T_TRUE(cuts(HEAD ",\"spec\":" SPEC "}"));
	T_TRUE(cuts("{\"spec\":" SPEC ",\"status\":{\"a\":1},\"metadata\":{\"labels\":{"
	            "\"x\":\"y\"},\"name\":\"a\"},\"kind\":\"Pod\"}"));
	T_TRUE(cuts(" {\"status\":{\"phase\":\"Running\"},\"spec\" : " SPEC " ,"
	            "\"metadata\":{\"name\":\"a\"}} "));
	T_TRUE(cuts("{\"spec\":" SPEC "}"));
}

T_CASE(others_stay_as_they_are)
{
	T_TRUE(!cuts(HEAD ",\"spec\":{\"text\":\"short\"}}"));
	T_TRUE(!cuts(HEAD "}"));
	T_TRUE(!cuts(HEAD ",\"spec\":{\"nodeName\":\"n\",\"text\":\"" LONG "\"}}"));
	T_TRUE(!cuts(HEAD ",\"more\":1,\"spec\":" SPEC "}"));
	T_TRUE(!cuts("{\"v\":1,\"at\":3}"));
	T_TRUE(!cuts("[" SPEC "]"));
	T_TRUE(!cuts("{\"spec\":" SPEC)); /* no JSON */
	T_TRUE(!cuts(""));
}
