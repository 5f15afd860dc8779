/* Accept and Content-Type as real clients send them, and as they should not. */
#include "coord/api/reply/accept.h"
#include "tests/harness/t.h"

#define META ";v=v1;g=meta.k8s.io"
#define META_BETA ";v=v1beta1;g=meta.k8s.io"
#define TABLE "application/json;as=Table"
#define DISCOVERY "application/json;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList;v="

static const struct accept_offers object = {.table = true, .metadata = true};
static const struct accept_offers list = {.table = true, .metadata_list = true};
static const struct accept_offers watch = {
	.table = true, .metadata = true, .stream = true};
static const struct accept_offers plain = {.table = false};
static const struct accept_offers groups = {.discovery = true};

struct accept_case {
	const char *header;
	const struct accept_offers *offers;
	struct accept want;
};

static void check(const struct accept_case *c)
{
	struct accept got = {.format = ACCEPT_JSON};

	if (!accept_negotiate(pl_span_str(c->header), *c->offers, &got))
		t_fail(__FILE__, __LINE__, "%s is not acceptable", c->header);
	if (got.format != c->want.format || got.as != c->want.as ||
	    got.beta != c->want.beta || got.pretty != c->want.pretty)
		t_fail(__FILE__, __LINE__, "%s: format %d as %d beta %d pretty %d",
		       c->header, got.format, got.as, got.beta, got.pretty);
}

static const struct accept_case preferences[] = {
	{"", &plain, {ACCEPT_JSON, ACCEPT_AS_IS, false, false}},
	{"*/*", &plain, {ACCEPT_JSON, ACCEPT_AS_IS, false, false}},
	{"*/*;q=0.8", &plain, {ACCEPT_JSON, ACCEPT_AS_IS, false, false}},
	{"application/*", &plain, {ACCEPT_JSON, ACCEPT_AS_IS, false, false}},
	{"application/yaml", &plain, {ACCEPT_YAML, ACCEPT_AS_IS, false, false}},
	{"Application/YAML", &plain, {ACCEPT_YAML, ACCEPT_AS_IS, false, false}},
	{"*/*, application/yaml", &plain, {ACCEPT_YAML, ACCEPT_AS_IS, false, false}},
	{"application/json;pretty=1", &plain, {ACCEPT_JSON, ACCEPT_AS_IS, false, true}},
	{"application/json; charset=utf-8",
         &plain,
         {ACCEPT_JSON, ACCEPT_AS_IS, false, false}},
	{"application/vnd.kubernetes.protobuf,application/json",
         &plain,
         {ACCEPT_JSON, ACCEPT_AS_IS, false, false}},
	{"application/json;q=0.5,application/yaml;q=0.9",
         &plain,
         {ACCEPT_YAML, ACCEPT_AS_IS, false, false}},
	{"application/yaml;q=0,application/json;q=0.001",
         &plain,
         {ACCEPT_JSON, ACCEPT_AS_IS, false, false}},
	{TABLE META "," TABLE META_BETA ",application/json",
         &list,
         {ACCEPT_JSON, ACCEPT_AS_TABLE, false, false}},
	{TABLE META_BETA ", application/json",
         &list,
         {ACCEPT_JSON, ACCEPT_AS_TABLE, true, false}},
	{TABLE META ",application/json",
         &plain,
         {ACCEPT_JSON, ACCEPT_AS_IS, false, false}},
	{TABLE META, &watch, {ACCEPT_JSON, ACCEPT_AS_TABLE, false, false}},
	{"application/yaml;as=Table" META,
         &list,
         {ACCEPT_YAML, ACCEPT_AS_TABLE, false, false}},
	{TABLE ";v=v2;g=meta.k8s.io,application/json",
         &list,
         {ACCEPT_JSON, ACCEPT_AS_IS, false, false}},
	{"application/json;v=v1,application/json;q=0.1",
         &list,
         {ACCEPT_JSON, ACCEPT_AS_IS, false, false}},
	{"application/json;as=PartialObjectMetadata" META,
         &object,
         {ACCEPT_JSON, ACCEPT_AS_METADATA, false, false}},
	{"application/json;as=PartialObjectMetadata" META,
         &watch,
         {ACCEPT_JSON, ACCEPT_AS_METADATA, false, false}},
	{"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList" META
         ",application/json;as=PartialObjectMetadataList" META ",application/json",
         &list,
         {ACCEPT_JSON, ACCEPT_AS_METADATA_LIST, false, false}},
	{"application/json;stream=watch",
         &watch,
         {ACCEPT_JSON, ACCEPT_AS_IS, false, false}},
	{"application/vnd.kubernetes.protobuf;stream=watch,application/json;stream=watch",
         &watch,
         {ACCEPT_JSON, ACCEPT_AS_IS, false, false}},
	{DISCOVERY "v2," DISCOVERY "v2beta1,application/json",
         &groups,
         {ACCEPT_JSON, ACCEPT_AS_DISCOVERY, false, false}},
	{DISCOVERY "v2beta1,application/json",
         &groups,
         {ACCEPT_JSON, ACCEPT_AS_DISCOVERY, true, false}},
	{DISCOVERY "v2,application/json",
         &plain,
         {ACCEPT_JSON, ACCEPT_AS_IS, false, false}},
	{DISCOVERY "v1,application/json",
         &groups,
         {ACCEPT_JSON, ACCEPT_AS_IS, false, false}},
	{"nonsense,,;,a/b/c,application/json",
         &plain,
         {ACCEPT_JSON, ACCEPT_AS_IS, false, false}},
	{"x/y;a=\"q,r\",application/yaml",
         &plain,
         {ACCEPT_YAML, ACCEPT_AS_IS, false, false}},
	{"text/html,application/xhtml+xml,*/*;q=0.8",
         &plain,
         {ACCEPT_JSON, ACCEPT_AS_IS, false, false}},
};

T_CASE(clients_get_what_they_prefer)
{
	for (size_t i = 0; i < sizeof preferences / sizeof preferences[0]; i++)
		check(&preferences[i]);
}

T_CASE(what_cannot_be_given_is_not_acceptable)
{
	static const struct {
		const char *header;
		const struct accept_offers *offers;
	} cases[] = {
		{"application/vnd.kubernetes.protobuf", &plain},
		{"text/html", &plain},
		{"text/*", &plain},
		{"*/json", &plain},
		{"application/json;q=0", &plain},
		{TABLE META, &plain},
		{TABLE, &list},
		{TABLE ";v=v1;g=apps", &list},
		{"application/json;as=Pod" META, &object},
		{"application/json;as=PartialObjectMetadata" META, &list},
		{"application/json;as=PartialObjectMetadataList" META, &object},
		{"application/yaml", &watch},
		{"application/json;stream=bogus", &watch},
		{"application/json;sv=v7", &object},
		{"application/json;as", &object},
		{",", &object},
	};
	struct accept got = {.pretty = true};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (accept_negotiate(pl_span_str(cases[i].header), *cases[i].offers,
		                     &got))
			t_fail(__FILE__, __LINE__, "%s is acceptable", cases[i].header);
	T_TRUE(got.pretty);
}

T_CASE(people_get_indented_answers)
{
	struct accept no = {.pretty = false}, yes = {.pretty = true};
	struct pl_span none = {0}, curl = PL_SPAN_LIT("curl/7.88"),
		       kubectl = PL_SPAN_LIT("kubectl/v1.35");

	T_TRUE(accept_is_pretty(&no, none, curl));
	T_TRUE(accept_is_pretty(&no, PL_SPAN_LIT("true"), kubectl));
	T_TRUE(accept_is_pretty(&no, PL_SPAN_LIT("1"), none));
	T_TRUE(accept_is_pretty(&yes, none, kubectl));
	T_TRUE(!accept_is_pretty(&no, none, kubectl));
	T_TRUE(!accept_is_pretty(&no, none, none));
	T_TRUE(!accept_is_pretty(&no, PL_SPAN_LIT("false"), curl));
	T_TRUE(!accept_is_pretty(&no, PL_SPAN_LIT("maybe"), none));
}

T_CASE(an_answer_names_its_kind)
{
	struct accept discovery = {.as = ACCEPT_AS_DISCOVERY};
	struct accept table = {
		.as = ACCEPT_AS_TABLE, .beta = true, .format = ACCEPT_YAML};

	T_STR(accept_content_type(&discovery),
	      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
	T_STR(accept_api_version(&discovery), "apidiscovery.k8s.io/v2");
	T_STR(accept_content_type(&table), "application/yaml");
	T_STR(accept_api_version(&table), "meta.k8s.io/v1beta1");
}

static bool body(const char *type, bool patch, enum body_format want)
{
	enum body_format got = BODY_APPLY;

	return accept_body(pl_span_str(type), patch, &got) && got == want;
}

T_CASE(bodies_are_told_by_their_content_type)
{
	enum body_format got = BODY_APPLY;

	T_TRUE(body("", false, BODY_JSON));
	T_TRUE(body("application/json", false, BODY_JSON));
	T_TRUE(body("application/json; charset=utf-8", false, BODY_JSON));
	T_TRUE(body("application/json;charset=\"UTF-8\";", false, BODY_JSON));
	T_TRUE(body("APPLICATION/Json", false, BODY_JSON));
	T_TRUE(body("application/yaml", false, BODY_YAML));
	T_TRUE(body("application/vnd.kubernetes.protobuf", false, BODY_PROTOBUF));
	T_TRUE(body("application/json-patch+json", true, BODY_JSON_PATCH));
	T_TRUE(body("application/merge-patch+json", true, BODY_MERGE_PATCH));
	T_TRUE(body("application/strategic-merge-patch+json", true,
	            BODY_STRATEGIC_PATCH));
	T_TRUE(body("application/apply-patch+yaml", true, BODY_APPLY));
	T_TRUE(!accept_body(PL_SPAN_LIT(""), true, &got));
	T_TRUE(!accept_body(PL_SPAN_LIT("application/json"), true, &got));
	T_TRUE(!accept_body(PL_SPAN_LIT("application/merge-patch+json"), false, &got));
	T_TRUE(!accept_body(PL_SPAN_LIT("text/plain"), false, &got));
	T_TRUE(!accept_body(PL_SPAN_LIT("application"), false, &got));
	T_TRUE(!accept_body(PL_SPAN_LIT("application/json/x"), false, &got));
	T_TRUE(!accept_body(PL_SPAN_LIT("application/json;charset"), false, &got));
	T_TRUE(!accept_body(PL_SPAN_LIT("application/json,application/yaml"), false,
	                    &got));
	T_TRUE(!accept_body(PL_SPAN_LIT("application/js\0n"), false, &got));
	T_EQ(got, BODY_APPLY);
}
