#include "coord/api/verbs/request_path.h"

static int hex_digit(uint8_t byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	if (byte >= 'a' && byte <= 'f')
		return byte - 'a' + 10;
	if (byte >= 'A' && byte <= 'F')
		return byte - 'A' + 10;
	return -1;
}

struct pl_span request_decode(struct pl_arena *arena, struct pl_span text, bool plus)
{
	uint8_t *out = pl_arena_alloc(arena, text.len + 1);
	size_t len = 0;

	if (out == NULL)
		return (struct pl_span){0};
	for (size_t i = 0; i < text.len; i++) {
		uint8_t byte = text.at[i];

		if (byte == '%') {
			bool whole = i + 2 < text.len;
			int high = whole ? hex_digit(text.at[i + 1]) : -1;
			int low = whole ? hex_digit(text.at[i + 2]) : -1;

			if (high < 0 || low < 0)
				return (struct pl_span){0};
			byte = (uint8_t)(high * 16 + low);
			i += 2;
		} else if (byte == '+' && plus) {
			byte = ' ';
		}
		if (byte == 0)
			return (struct pl_span){0};
		out[len++] = byte;
	}
	out[len] = 0;
	return pl_span(out, len);
}

static bool is_false_word(struct pl_span text)
{
	static const char word[] = "false";

	if (text.len != sizeof word - 1)
		return false;
	for (size_t i = 0; i < text.len; i++)
		if ((text.at[i] | 0x20) != word[i])
			return false;
	return true;
}

bool request_is_true(struct pl_span text)
{
	return text.at != NULL && !pl_span_eq(text, PL_SPAN_LIT("0")) &&
	       !is_false_word(text);
}

bool request_number(struct pl_span text, int64_t *out)
{
	uint64_t value = 0;

	if (text.len == 0 || text.len > 19)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.at[i] < '0' || text.at[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(text.at[i] - '0');
	}
	if (value > INT64_MAX)
		return false;
	*out = (int64_t)value;
	return true;
}

/* -- the path ------------------------------------------------------------------------ */

struct segments {
	struct pl_span at[REQUEST_SEGMENTS_MAX];
	unsigned count;
};

static bool is_sound_segment(struct pl_span segment)
{
	if (segment.len == 0 || segment.len > REQUEST_SEGMENT_MAX ||
	    pl_span_eq(segment, PL_SPAN_LIT(".")) ||
	    pl_span_eq(segment, PL_SPAN_LIT("..")))
		return false;
	return memchr(segment.at, '/', segment.len) == NULL;
}

static bool split_path(struct pl_arena *arena, struct pl_span path, struct segments *out)
{
	const uint8_t *end = path.at + path.len;

	out->count = 0;
	if (path.len == 0 || path.len > REQUEST_PATH_MAX || path.at[0] != '/')
		return false;
	if (path.len > 1 && end[-1] == '/')
		end--;
	for (const uint8_t *at = path.at; at < end;) {
		const uint8_t *from = at + 1;
		const uint8_t *slash = memchr(from, '/', (size_t)(end - from));
		struct pl_span text;

		at = slash == NULL ? end : slash;
		text = request_decode(arena, pl_span(from, (size_t)(at - from)), false);
		if (out->count == REQUEST_SEGMENTS_MAX || !is_sound_segment(text))
			return false;
		out->at[out->count++] = text;
	}
	return true;
}

static bool is_word(const struct segments *segments, unsigned at, const char *word)
{
	return at < segments->count && pl_span_eq(segments->at[at], pl_span_str(word));
}

static bool fail_path(struct api_status *status)
{
	*status = status_no_such_path();
	return false;
}

/* The rest of the path behind the group and version. */
static bool find_resource(const struct segments *segments, unsigned at,
                          struct pl_span group, struct pl_span version,
                          struct request_path *out)
{
	/* A namespace's own subresources (/namespaces/x/status) look like a resource in
	 * it, but for their names. */
	bool in_namespace = is_word(segments, at, "namespaces") &&
	                    segments->count >= at + 3 &&
	                    !is_word(segments, at + 2, "status") &&
	                    !is_word(segments, at + 2, "finalize");

	if (in_namespace) {
		out->namespace = segments->at[at + 1];
		at += 2;
	}
	if (at >= segments->count)
		return false;
	out->resource = schema_resource_find(group, version, segments->at[at]);
	if (out->resource == NULL || (in_namespace && !out->resource->namespaced))
		return false;
	if (at + 1 < segments->count)
		out->name = segments->at[at + 1];
	if (at + 2 < segments->count)
		out->subresource = segments->at[at + 2];
	/* An object of a namespaced resource is only found in its namespace. */
	if (out->name.len > 0 && out->resource->namespaced && !in_namespace)
		return false;
	return at + 3 >= segments->count;
}

bool request_path_parse(struct pl_arena *arena, struct pl_span path,
                        struct request_path *out, struct api_status *status)
{
	struct segments segments;

	*out = (struct request_path){0};
	if (!split_path(arena, path, &segments))
		return fail_path(status);
	if (is_word(&segments, 0, "api") && is_word(&segments, 1, "v1") &&
	    find_resource(&segments, 2, (struct pl_span){0}, PL_SPAN_LIT("v1"), out))
		return true;
	if (is_word(&segments, 0, "apis") && segments.count > 3 &&
	    find_resource(&segments, 3, segments.at[1], segments.at[2], out))
		return true;
	return fail_path(status);
}

/* -- the query ----------------------------------------------------------------------- */

static struct pl_span *option_of(struct request_query *query, struct pl_span name)
{
	if (pl_span_eq(name, PL_SPAN_LIT("continue")))
		return &query->continue_;
#define REQUEST_OPTION_CASE(option)                 \
	if (pl_span_eq(name, PL_SPAN_LIT(#option))) \
		return &query->option;
	REQUEST_OPTION_MAP(REQUEST_OPTION_CASE)
#undef REQUEST_OPTION_CASE
	return NULL;
}

static bool add_option(struct pl_arena *arena, struct pl_span pair,
                       struct request_query *out)
{
	const uint8_t *equals = memchr(pair.at, '=', pair.len);
	size_t len = equals == NULL ? pair.len : (size_t)(equals - pair.at);
	struct pl_span name = request_decode(arena, pl_span(pair.at, len), true);
	struct pl_span value = pl_span("", 0);
	struct pl_span *option;

	if (name.at == NULL)
		return false;
	if (equals != NULL)
		value = request_decode(arena, pl_span(equals + 1, pair.len - len - 1),
		                       true);
	if (value.at == NULL)
		return false;
	option = option_of(out, name);
	if (option == &out->resourceVersion)
		out->has_resource_version = true;
	if (option == &out->pretty)
		out->has_pretty = true;
	if (option != NULL && option->at == NULL)
		*option = value;
	return true;
}

bool request_query_parse(struct pl_arena *arena, struct pl_span query,
                         struct request_query *out, struct api_status *status)
{
	*out = (struct request_query){0};
	if (query.len > REQUEST_QUERY_MAX) {
		*status = status_too_large(arena, PL_SPAN_LIT("the query is too long"));
		return false;
	}
	while (query.len > 0) {
		const uint8_t *and = memchr(query.at, '&', query.len);
		size_t len = and == NULL ? query.len : (size_t)(and-query.at);

		if (len > 0 && !add_option(arena, pl_span(query.at, len), out)) {
			*status = status_bad_request(PL_SPAN_LIT(
				"the query is not encoded as a URL wants it"));
			return false;
		}
		len += and == NULL ? 0 : 1;
		query = pl_span(query.at + len, query.len - len);
	}
	return true;
}
