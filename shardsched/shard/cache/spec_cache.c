#include "shardsched/shard/cache/spec_cache.h"

#include <stdlib.h>

#include "shardsched/model/object.h"
#include "shardsched/model/timestamp.h"
#include "store/base/alloc.h"

enum { IS_NAME, IS_UID, IS_TIME };

static const char *const members[SPEC_CACHE_GAPS] = {
	[IS_NAME] = "name", [IS_UID] = "uid", [IS_TIME] = "creationTimestamp"};

/* The byte stands in a JSON string as it is. */
static bool is_plain_byte(uint8_t byte)
{
	return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

static size_t plain_len(const uint8_t *at, size_t most)
{
	size_t len = 0;

	while (len < most && is_plain_byte(at[len]))
		len++;
	return len;
}

static void template_drop(struct spec_template *entry, struct model *model)
{
	pod_drop(model, &entry->pod);
	free(entry->text);
	*entry = (struct spec_template){0};
}

void spec_cache_done(struct spec_cache *spec_cache, struct model *model)
{
	for (unsigned i = 0; i < SPEC_CACHE_SIZE; i++)
		template_drop(&spec_cache->entry[i], model);
}

/* -- keeping ----------------------------------------------------------------- */

static void template_add_gap(struct spec_template *entry, unsigned is,
                             struct spec_gap gap)
{
	unsigned i = entry->gaps++;

	for (; i > 0 && entry->gap[i - 1].at > gap.at; i--) {
		entry->gap[i] = entry->gap[i - 1];
		entry->is[i] = entry->is[i - 1];
	}
	entry->gap[i] = gap;
	entry->is[i] = (uint8_t)is;
}

/* False: a member is missing or not plain. */
static bool template_find_gaps(struct spec_template *entry, struct pl_span json)
{
	struct pl_span metadata = object_member(json, "metadata");

	if (metadata.len == 0 || metadata.at[0] != '{')
		return false;
	for (unsigned is = 0; is < SPEC_CACHE_GAPS; is++) {
		struct pl_span value = object_member(metadata, members[is]);

		if (value.len == 0 && is == IS_TIME)
			continue;
		if (value.len < 3 || value.at[0] != '"' ||
		    plain_len(value.at + 1, value.len - 2) != value.len - 2)
			return false;
		template_add_gap(entry, is,
		                 (struct spec_gap){(uint32_t)(value.at + 1 - json.at),
		                                   (uint32_t)value.len - 2});
	}
	return true;
}

void spec_cache_add(struct spec_cache *spec_cache, struct model *model,
                    struct pl_span json, const struct pod *pod)
{
	struct spec_template entry = {.len = (uint32_t)json.len};

	if (pod->identity_keys != 0 || json.len > SPEC_CACHE_BYTES_MAX || json.len == 0 ||
	    json.at[0] != '{' || !template_find_gaps(&entry, json))
		return;
	entry.text = pl_malloc(json.len);
	if (entry.text == NULL)
		return;
	memcpy(entry.text, json.at, json.len);
	entry.pod = pod_copy(model, pod);
	template_drop(&spec_cache->entry[spec_cache->next], model);
	spec_cache->entry[spec_cache->next] = entry;
	spec_cache->last = spec_cache->next;
	spec_cache->next = (spec_cache->next + 1) % SPEC_CACHE_SIZE;
}

/* -- finding ----------------------------------------------------------------- */

/* On success in holds what stands in the gaps. */
static bool template_fits(const struct spec_template *entry, struct pl_span json,
                          struct pl_span in[SPEC_CACHE_GAPS])
{
	size_t at = 0, was = 0;

	if (entry->text == NULL || json.len > SPEC_CACHE_BYTES_MAX)
		return false;
	for (unsigned i = 0; i < entry->gaps; i++) {
		size_t len = entry->gap[i].at - was, gap;

		if (json.len - at < len ||
		    memcmp(json.at + at, entry->text + was, len) != 0)
			return false;
		at += len;
		was += len + entry->gap[i].len;
		gap = plain_len(json.at + at, json.len - at);
		if (gap == 0)
			return false;
		in[entry->is[i]] = pl_span(json.at + at, gap);
		at += gap;
	}
	return json.len - at == entry->len - was &&
	       memcmp(json.at + at, entry->text + was, entry->len - was) == 0;
}

static bool pod_from_template(struct model *model, const struct spec_template *entry,
                              const struct pl_span in[SPEC_CACHE_GAPS], struct pod *out)
{
	struct strings *strings = &model->strings;
	int64_t created_ms = entry->pod.created_ms;
	uint32_t name = 0, uid = 0;

	if (in[IS_TIME].len > 0 && !timestamp_parse(in[IS_TIME], &created_ms))
		return false;
	if (strings_add(strings, in[IS_NAME], &name) != PL_OK ||
	    strings_add(strings, in[IS_UID], &uid) != PL_OK) {
		strings_unref(strings, name);
		return false;
	}
	*out = pod_copy(model, &entry->pod);
	strings_unref(strings, out->name);
	strings_unref(strings, out->uid);
	out->name = name;
	out->uid = uid;
	out->created_ms = created_ms;
	return true;
}

bool spec_cache_find(struct spec_cache *spec_cache, struct model *model,
                     struct pl_span json, struct pod *out)
{
	for (unsigned i = 0; i < SPEC_CACHE_SIZE; i++) {
		unsigned n = (spec_cache->last + i) % SPEC_CACHE_SIZE;
		struct pl_span in[SPEC_CACHE_GAPS] = {0};

		if (!template_fits(&spec_cache->entry[n], json, in))
			continue;
		spec_cache->last = n;
		return pod_from_template(model, &spec_cache->entry[n], in, out);
	}
	return false;
}
