/*
 * Many objects in one POST: a List in the place of an object. Each item is created as if it
 * had come alone, and all of them share transactions.
 *
 *	{"kind":"List","apiVersion":"v1","items":[{"kind":"Pod",...},...]}
 *
 * The answer is a List with the metadata of each object that was created, and the Status
 * of each that was not, in the order of the items: 201 when all were created, else 200.
 */
#include <stdlib.h>

#include "coord/api/verbs/change.h"
#include "shardsched/model/object.h"
#include "store/base/alloc.h"

enum { BULK_ITEMS_MAX = 20000 };

struct bulk {
	struct request *parent;
	size_t count, left;
	bool failed; /* some item was not created */
	struct bulk_item *item;
};

struct bulk_item {
	struct bulk *bulk;
	struct pl_buf json; /* metadata, or a Status */
};

static enum pl_code write_items(const struct bulk *bulk, struct pl_buf *out)
{
	enum pl_code code = pl_buf_add_str(
		out,
		"{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{},\"items\":[");

	for (size_t i = 0; i < bulk->count && code == PL_OK; i++) {
		if (i > 0)
			code = pl_buf_add_str(out, ",");
		if (code == PL_OK)
			code = bulk->item[i].json.len > 0
			               ? pl_buf_add(out, pl_buf_span(&bulk->item[i].json))
			               : pl_buf_add_str(out, "null");
	}
	return code == PL_OK ? pl_buf_add_str(out, "]}\n") : code;
}

static void bulk_end(struct bulk *bulk)
{
	struct request *parent = bulk->parent;
	struct pl_buf buf;

	pl_buf_init(&buf, OBJECT_TEXT_MAX);
	if (write_items(bulk, &buf) == PL_OK)
		answer_json(parent, bulk->failed ? 200 : 201, pl_buf_span(&buf));
	else
		answer_no_memory(parent);
	pl_buf_done(&buf);
	for (size_t i = 0; i < bulk->count; i++)
		pl_buf_done(&bulk->item[i].json);
	free(bulk->item);
	free(bulk);
	request_unbusy(parent);
}

/* The text that stands for an item in the answer; lost without memory. */
static void keep_answer(struct bulk_item *item, int status, struct pl_span body)
{
	static const char head[] = "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":"
				   "\"meta.k8s.io/v1\",\"metadata\":";
	struct pl_span metadata = body;
	struct pl_buf buf;
	enum pl_code code = PL_OK;

	pl_buf_init(&buf, OBJECT_TEXT_MAX);
	if (status < 300) {
		metadata = object_member(body, "metadata");
		code = pl_buf_add_str(&buf, head);
	}
	if (code == PL_OK)
		code = pl_buf_add(&buf, metadata);
	if (code == PL_OK && status < 300)
		code = pl_buf_add_str(&buf, "}");
	if (code == PL_OK)
		item->json = buf;
	else
		pl_buf_done(&buf);
}

void bulk_answered(struct request *child, int status, struct pl_span body)
{
	struct bulk_item *item = child->bulk;
	struct bulk *bulk = item->bulk;

	bulk->failed = bulk->failed || status >= 300;
	keep_answer(item, status, body);
	child->bulk = NULL;
	if (--bulk->left == 0)
		bulk_end(bulk);
}

static void create_item(struct bulk *bulk, size_t at, struct pl_json value)
{
	struct request *parent = bulk->parent;
	struct request *child = request_child(parent);
	struct change *change;

	if (child == NULL) {
		bulk->failed = true;
		bulk->left--;
		return;
	}
	child->bulk = &bulk->item[at];
	change = change_new(child, CHANGE_CREATE);
	if (change != NULL &&
	    json_tree_copy(&child->arena, value, &change->wanted) == PL_OK)
		create_wanted(change);
	else if (!child->answered)
		answer_no_memory(child);
	request_child_begun(child);
}

static bool fail_bulk(struct request *request, const char *why)
{
	struct api_status status = status_bad_request(pl_span_str(why));

	answer_status(request, &status);
	return false;
}

/* Whether the body is a List of such objects. */
bool bulk_is_list(const struct change *change)
{
	struct pl_span kind = meta_text(change->wanted.root, "kind");
	const char *own = change->request->path.resource->kind;
	size_t len = strlen(own);

	if (pl_span_eq(kind, PL_SPAN_LIT("List")))
		return true;
	return kind.len == len + 4 && memcmp(kind.at, own, len) == 0 &&
	       memcmp(kind.at + len, "List", 4) == 0;
}

bool bulk_create(struct change *change)
{
	struct request *request = change->request;
	struct pl_json root = json_tree_root(&change->wanted);
	struct pl_json items = pl_json_member(root, "items");
	struct bulk *bulk;
	size_t at = 0;

	if (pl_json_type(items) != PL_JSON_ARRAY)
		return fail_bulk(request, "items: the list has none");
	if (pl_json_count(items) == 0 || pl_json_count(items) > BULK_ITEMS_MAX)
		return fail_bulk(request, "items: want 1 to 20000 of them");
	bulk = pl_calloc(1, sizeof *bulk);
	if (bulk != NULL)
		bulk->item = pl_calloc(pl_json_count(items), sizeof *bulk->item);
	if (bulk == NULL || bulk->item == NULL) {
		free(bulk);
		answer_no_memory(request);
		return false;
	}
	bulk->parent = request;
	bulk->count = pl_json_count(items);
	bulk->left = bulk->count + 1; /* the last one is this function's own */
	request->busy++;
	PL_JSON_EACH (item, items) {
		bulk->item[at].bulk = bulk;
		create_item(bulk, at++, item);
	}
	if (--bulk->left == 0)
		bulk_end(bulk);
	return true;
}
