#include "coord/api/reply/accept.h"

#include "coord/api/reply/media_type.h"

const char accept_types[] = "application/json, application/yaml";
const char accept_stream_types[] = "application/json;stream=watch";
const char accept_body_types[] =
	"application/json, application/yaml, application/vnd.kubernetes.protobuf";
const char accept_patch_types[] =
	"application/json-patch+json, application/merge-patch+json, "
	"application/strategic-merge-patch+json, application/apply-patch+yaml";

enum { QUALITY_ONE = 1000, CLAUSES_MAX = 64 };

/* -- one clause ------------------------------------------------------------------------- */

struct accept_clause {
	struct accept answer;
	unsigned quality; /* thousandths */
	unsigned exact;   /* 2: no wildcard, 1: in the subtype, 0: both */
};

/* The kind that a clause asks for. */
struct accept_target {
	struct pl_span kind, group, version;
	bool any;
};

/* "1", "0.85": thousandths. Text that is no quality counts as 1. */
static unsigned quality_of(struct pl_span text)
{
	unsigned value = 0, unit = QUALITY_ONE;

	if (text.len == 0 || text.at[0] != '0')
		return QUALITY_ONE;
	for (size_t i = 2; i < text.len && i < 5; i++) {
		if (text.at[i] < '0' || text.at[i] > '9')
			return QUALITY_ONE;
		unit /= 10;
		value += (unsigned)(text.at[i] - '0') * unit;
	}
	return value;
}

static bool version_is_beta(struct pl_span version, const char *stable, const char *beta,
                            bool *is_beta)
{
	*is_beta = pl_span_eq(version, pl_span_str(beta));
	return *is_beta || pl_span_eq(version, pl_span_str(stable));
}

static bool choose_meta(struct pl_span kind, struct accept_offers offers,
                        struct accept *out)
{
	if (pl_span_eq(kind, PL_SPAN_LIT("Table"))) {
		out->as = ACCEPT_AS_TABLE;
		return offers.table;
	}
	if (pl_span_eq(kind, PL_SPAN_LIT("PartialObjectMetadata"))) {
		out->as = ACCEPT_AS_METADATA;
		return offers.metadata;
	}
	out->as = ACCEPT_AS_METADATA_LIST;
	return pl_span_eq(kind, PL_SPAN_LIT("PartialObjectMetadataList")) &&
	       offers.metadata_list;
}

/* False: the endpoint does not give that kind. */
static bool choose_kind(const struct accept_target *target, struct accept_offers offers,
                        struct accept *out)
{
	if (!target->any)
		return true;
	if (pl_span_eq(target->group, PL_SPAN_LIT("meta.k8s.io")))
		return version_is_beta(target->version, "v1", "v1beta1", &out->beta) &&
		       choose_meta(target->kind, offers, out);
	out->as = ACCEPT_AS_DISCOVERY;
	return offers.discovery &&
	       pl_span_eq(target->group, PL_SPAN_LIT("apidiscovery.k8s.io")) &&
	       pl_span_eq(target->kind, PL_SPAN_LIT("APIGroupDiscoveryList")) &&
	       version_is_beta(target->version, "v2", "v2beta1", &out->beta);
}

/* False: the parameter asks for something that is not served. */
static bool read_param(const struct media_param *param, struct accept_target *target,
                       struct accept_clause *out)
{
	struct pl_span *part = NULL;

	if (media_name_is(param->name, "q"))
		out->quality = quality_of(param->value);
	else if (media_name_is(param->name, "as"))
		part = &target->kind;
	else if (media_name_is(param->name, "g"))
		part = &target->group;
	else if (media_name_is(param->name, "v"))
		part = &target->version;
	else if (media_name_is(param->name, "pretty"))
		out->answer.pretty = pl_span_eq(param->value, PL_SPAN_LIT("1"));
	else if (media_name_is(param->name, "stream"))
		return param->value.len == 0 ||
		       pl_span_eq(param->value, PL_SPAN_LIT("watch"));
	else if (media_name_is(param->name, "sv"))
		return param->value.len == 0 ||
		       pl_span_eq(param->value, PL_SPAN_LIT("v1"));
	if (part != NULL) {
		*part = param->value;
		target->any = true;
	}
	return true;
}

/* False: a format that is not written. */
static bool choose_format(const struct media_type *type, struct accept_clause *out)
{
	bool any_type = media_name_is(type->type, "*");
	bool any_subtype = media_name_is(type->subtype, "*");

	out->exact = any_subtype ? (any_type ? 0 : 1) : 2;
	out->answer.format =
		media_type_is(type, "application/yaml") ? ACCEPT_YAML : ACCEPT_JSON;
	return out->answer.format == ACCEPT_YAML || (any_type && any_subtype) ||
	       (media_name_is(type->type, "application") && any_subtype) ||
	       media_type_is(type, "application/json");
}

/* False: the clause cannot be served. */
static bool read_clause(struct pl_span text, struct accept_offers offers,
                        struct accept_clause *out)
{
	struct accept_target target = {.any = false};
	struct media_type type;

	*out = (struct accept_clause){.quality = QUALITY_ONE};
	if (!media_type_parse(text, &type) || !choose_format(&type, out))
		return false;
	for (size_t i = 0; i < type.param_count; i++)
		if (!read_param(&type.params[i], &target, out))
			return false;
	if (offers.stream && out->answer.format != ACCEPT_JSON)
		return false;
	return out->quality > 0 && choose_kind(&target, offers, &out->answer);
}

/* -- the whole header --------------------------------------------------------------------- */

static bool is_preferred(const struct accept_clause *a, const struct accept_clause *b)
{
	if (a->quality != b->quality)
		return a->quality > b->quality;
	return a->exact > b->exact;
}

bool accept_negotiate(struct pl_span header, struct accept_offers offers,
                      struct accept *out)
{
	struct accept_clause best = {.quality = 0};
	unsigned clauses = 0;

	if (header.len == 0) {
		*out = (struct accept){.format = ACCEPT_JSON};
		return true;
	}
	while (header.len > 0 && clauses++ < CLAUSES_MAX) {
		struct accept_clause clause;

		if (read_clause(media_split(&header, ','), offers, &clause) &&
		    is_preferred(&clause, &best))
			best = clause;
	}
	if (best.quality == 0)
		return false;
	*out = best.answer;
	return true;
}

bool accept_is_pretty(const struct accept *accept, struct pl_span pretty,
                      struct pl_span user_agent)
{
	static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
	static const char *const people[] = {"curl", "Wget", "Mozilla/5.0"};

	if (accept->pretty)
		return true;
	if (pretty.len > 0) {
		for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
			if (pl_span_eq(pretty, pl_span_str(yes[i])))
				return true;
		return false;
	}
	for (size_t i = 0; i < sizeof people / sizeof people[0]; i++)
		if (pl_span_starts(user_agent, pl_span_str(people[i])))
			return true;
	return false;
}

const char *accept_content_type(const struct accept *accept)
{
	bool yaml = accept->format == ACCEPT_YAML;

	if (accept->as != ACCEPT_AS_DISCOVERY)
		return yaml ? "application/yaml" : "application/json";
	if (accept->beta)
		return yaml ? "application/yaml;g=apidiscovery.k8s.io;v=v2beta1;"
		              "as=APIGroupDiscoveryList"
		            : "application/json;g=apidiscovery.k8s.io;v=v2beta1;"
		              "as=APIGroupDiscoveryList";
	return yaml ? "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	            : "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
}

const char *accept_api_version(const struct accept *accept)
{
	if (accept->as == ACCEPT_AS_DISCOVERY)
		return accept->beta ? "apidiscovery.k8s.io/v2beta1"
		                    : "apidiscovery.k8s.io/v2";
	return accept->beta ? "meta.k8s.io/v1beta1" : "meta.k8s.io/v1";
}

/* -- bodies ---------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum body_format format;
	bool patch;
} bodies[] = {
	{"application/json", BODY_JSON, false},
	{"application/yaml", BODY_YAML, false},
	{"application/vnd.kubernetes.protobuf", BODY_PROTOBUF, false},
	{"application/json-patch+json", BODY_JSON_PATCH, true},
	{"application/merge-patch+json", BODY_MERGE_PATCH, true},
	{"application/strategic-merge-patch+json", BODY_STRATEGIC_PATCH, true},
	{"application/apply-patch+yaml", BODY_APPLY, true},
};

bool accept_body(struct pl_span content_type, bool patch, enum body_format *out)
{
	struct media_type type;

	if (content_type.len == 0 && !patch) {
		*out = BODY_JSON;
		return true;
	}
	if (!media_type_parse(content_type, &type))
		return false;
	for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
		if (bodies[i].patch != patch || !media_type_is(&type, bodies[i].name))
			continue;
		*out = bodies[i].format;
		return true;
	}
	return false;
}
