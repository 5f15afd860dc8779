#include "shardsched/shard/tables/likeness.h"

#include <stdlib.h>

#include "shardsched/model/moment.h"
#include "shardsched/model/object.h"
#include "store/base/alloc.h"

enum { IS_NAME, IS_UID, IS_TIME };

static const char *const members[LIKENESS_GAPS] = {
	[IS_NAME] = "name", [IS_UID] = "uid", [IS_TIME] = "creationTimestamp"};

/* Stands in a JSON string as it is. */
static bool is_plain(uint8_t byte)
{
	return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

static size_t plain_len(const uint8_t *at, size_t most)
{
	size_t len = 0;

	while (len < most && is_plain(at[len]))
		len++;
	return len;
}

static void drop(struct likeness_text *kept, struct model *model)
{
	pod_drop(model, &kept->pod);
	free(kept->text);
	*kept = (struct likeness_text){0};
}

void likeness_done(struct likeness *likeness, struct model *model)
{
	for (unsigned i = 0; i < LIKENESS_KEPT; i++)
		drop(&likeness->kept[i], model);
}

/* -- keeping -------------------------------------------------------------- */

static void gap_add(struct likeness_text *kept, unsigned is, struct likeness_gap gap)
{
	unsigned i = kept->gaps++;

	for (; i > 0 && kept->gap[i - 1].at > gap.at; i--) {
		kept->gap[i] = kept->gap[i - 1];
		kept->is[i] = kept->is[i - 1];
	}
	kept->gap[i] = gap;
	kept->is[i] = (uint8_t)is;
}

/* False: it is not as plain as it has to be. */
static bool gaps_find(struct likeness_text *kept, struct pl_span json)
{
	struct pl_span metadata = object_member(json, "metadata");

	if (metadata.len == 0 || metadata.at[0] != '{')
		return false;
	for (unsigned is = 0; is < LIKENESS_GAPS; is++) {
		struct pl_span value = object_member(metadata, members[is]);

		if (value.len == 0 && is == IS_TIME)
			continue;
		if (value.len < 3 || value.at[0] != '"' ||
		    plain_len(value.at + 1, value.len - 2) != value.len - 2)
			return false;
		gap_add(kept, is,
		        (struct likeness_gap){(uint32_t)(value.at + 1 - json.at),
		                              (uint32_t)value.len - 2});
	}
	return true;
}

void likeness_keep(struct likeness *likeness, struct model *model, struct pl_span json,
                   const struct pod *pod)
{
	struct likeness_text kept = {.len = (uint32_t)json.len};

	if (pod->beside != 0 || json.len > LIKENESS_BYTES_MAX || json.len == 0 ||
	    json.at[0] != '{' || !gaps_find(&kept, json))
		return;
	kept.text = pl_malloc(json.len);
	if (kept.text == NULL)
		return;
	memcpy(kept.text, json.at, json.len);
	kept.pod = pod_copy(model, pod);
	drop(&likeness->kept[likeness->next], model);
	likeness->kept[likeness->next] = kept;
	likeness->last = likeness->next;
	likeness->next = (likeness->next + 1) % LIKENESS_KEPT;
}

/* -- finding --------------------------------------------------------------- */

/* What stands in the gaps. */
static bool fits(const struct likeness_text *kept, struct pl_span json,
                 struct pl_span in[LIKENESS_GAPS])
{
	size_t at = 0, was = 0;

	if (kept->text == NULL || json.len > LIKENESS_BYTES_MAX)
		return false;
	for (unsigned i = 0; i < kept->gaps; i++) {
		size_t len = kept->gap[i].at - was, gap;

		if (json.len - at < len ||
		    memcmp(json.at + at, kept->text + was, len) != 0)
			return false;
		at += len;
		was += len + kept->gap[i].len;
		gap = plain_len(json.at + at, json.len - at);
		if (gap == 0)
			return false;
		in[kept->is[i]] = pl_span(json.at + at, gap);
		at += gap;
	}
	return json.len - at == kept->len - was &&
	       memcmp(json.at + at, kept->text + was, kept->len - was) == 0;
}

static bool make(struct model *model, const struct likeness_text *kept,
                 const struct pl_span in[LIKENESS_GAPS], struct pod *out)
{
	struct strings *strings = &model->strings;
	int64_t created_ms = kept->pod.created_ms;
	uint32_t name = 0, uid = 0;

	if (in[IS_TIME].len > 0 && !moment_parse(in[IS_TIME], &created_ms))
		return false;
	if (strings_add(strings, in[IS_NAME], &name) != PL_OK ||
	    strings_add(strings, in[IS_UID], &uid) != PL_OK) {
		strings_unref(strings, name);
		return false;
	}
	*out = pod_copy(model, &kept->pod);
	strings_unref(strings, out->name);
	strings_unref(strings, out->uid);
	out->name = name;
	out->uid = uid;
	out->created_ms = created_ms;
	return true;
}

bool likeness_find(struct likeness *likeness, struct model *model, struct pl_span json,
                   struct pod *out)
{
	for (unsigned i = 0; i < LIKENESS_KEPT; i++) {
		unsigned n = (likeness->last + i) % LIKENESS_KEPT;
		struct pl_span in[LIKENESS_GAPS] = {0};

		if (!fits(&likeness->kept[n], json, in))
			continue;
		likeness->last = n;
		return make(model, &likeness->kept[n], in, out);
	}
	return false;
}
