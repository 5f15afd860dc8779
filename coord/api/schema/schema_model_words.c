#include "coord/api/schema/schema_model_words.h"

#include <stdlib.h>
#include <string.h>

#include "coord/api/schema/schema_check_int.h"
#include "shardsched/model/text.h"
#include "store/base/quantity.h"

/* The value that is shown as the bad one. */
enum shown {
	SHOWN_VALUE,  /* at the path */
	SHOWN_KEY,    /* the last key of the path */
	SHOWN_NAME,   /* the member "name" of it */
	SHOWN_BESIDE, /* the value of the toleration whose operator is at the path */
	SHOWN_SPREAD, /* "{zone, DoNotSchedule}" of a constraint */
	SHOWN_PORT,   /* "TCP/127.0.0.1/80" */
};

/* end: of the path; "" is any. Words of Kubernetes; NULL: none. The first that fits is it. */
static const struct {
	const char *end, *detail, *words;
	enum shown shown;
} sentences[] = {
	{"", "want 0 or more", "must be greater than or equal to 0", SHOWN_VALUE},
	{"", "want a whole number", "must be an integer", SHOWN_VALUE},
	{"", "want a standard resource, or one with a domain",
         "must be a standard resource type or fully qualified", SHOWN_KEY},
	{"", "want a resource that containers can have",
         "must be a standard resource for containers", SHOWN_KEY},
	{"", "want the name of an extended resource",
         "doesn't follow extended resource name standard", SHOWN_KEY},
	{"", "want a limit of what cannot be overcommitted",
         "Limit must be set for non overcommitable resources", SHOWN_VALUE},
	{"", "huge pages want cpu or memory", "HugePages require cpu or memory",
         SHOWN_VALUE},
	{"", "want 1 to 65535", "must be between 1 and 65535, inclusive", SHOWN_VALUE},
	{".partition", "want 0 to 255", "must be between 1 and 255, inclusive",
         SHOWN_VALUE},
	{"", "want 0 to 255", "must be between 0 and 255, inclusive", SHOWN_VALUE},
	{"", "want iqn., eui. or naa. in front",
         "must be valid format starting with iqn, eui, or naa", SHOWN_VALUE},
	{"", "want one kind of volume", "may not specify more than 1 volume type",
         SHOWN_VALUE},
	{"", "want no claim that an ephemeral volume makes",
         "must not reference a PVC that gets created for an ephemeral volume",
         SHOWN_VALUE},
	{".accessModes", "want a mode", "at least 1 access mode is required",
         SHOWN_VALUE},
	{"", "want the containerPort with hostNetwork",
         "must match `containerPort` when `hostNetwork` is true", SHOWN_VALUE},
	{"", "want 1 to 100", "must be in the range 1-100", SHOWN_VALUE},
	{"", "want more than 0", "must be greater than zero", SHOWN_VALUE},
	{"", "want whenUnsatisfiable: DoNotSchedule with it",
         "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
         SHOWN_VALUE},
	{".topologyKey", "want a key", "can not be empty", SHOWN_VALUE},
	{"", "want a labelSelector with it",
         "must not be specified when labelSelector is not set", SHOWN_VALUE},
	{"", "want no key that labelSelector has",
         "exists in both matchLabelKeys and labelSelector", SHOWN_VALUE},
	{".nodeSelectorTerms", "want at least one term",
         "must have at least one node selector term", SHOWN_VALUE},
	{".values", "want a value for In or NotIn",
         "must be specified when `operator` is 'In' or 'NotIn'", SHOWN_VALUE},
	{".values", "want none for Exists or DoesNotExist",
         "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
         SHOWN_VALUE},
	{".values", "want one value for Gt or Lt",
         "must be specified single value when `operator` is 'Lt' or 'Gt'", SHOWN_VALUE},
	{".values", "want exactly one value",
         "must be only one value when `operator` is 'In' or 'NotIn' for node field "
         "selector",
         SHOWN_VALUE},
	{".operator", "want In or NotIn", "not a valid selector operator", SHOWN_VALUE},
	{".operator", "want In, NotIn, Exists or DoesNotExist",
         "not a valid selector operator", SHOWN_VALUE},
	{".operator", "want In, NotIn, Exists, DoesNotExist, Gt or Lt",
         "not a valid selector operator", SHOWN_VALUE},
	{".key", "want metadata.name", "not a valid field selector key", SHOWN_VALUE},
	{".operator", "want Exists where there is no key",
         "operator must be Exists when `key` is empty, which means \"match all values and "
         "all keys\"",
         SHOWN_VALUE},
	{".operator", "want no value for Exists",
         "value must be empty when `operator` is 'Exists'", SHOWN_BESIDE},
	{".effect", "want NoExecute with tolerationSeconds",
         "effect must be 'NoExecute' when `tolerationSeconds` is set", SHOWN_VALUE},
	{".nodeName", "want none while there are scheduling gates",
         "cannot be set until all schedulingGates have been cleared", SHOWN_VALUE},
	{"{topologyKey, whenUnsatisfiable}", "comes twice", NULL, SHOWN_SPREAD},
	{".hostPort", "comes twice", NULL, SHOWN_PORT},
	{"]", "comes twice", NULL, SHOWN_NAME}, /* a scheduling gate */
	{"", "comes twice", NULL, SHOWN_VALUE},
	{"", "want it", NULL, SHOWN_VALUE},
	{"", "want an image", NULL, SHOWN_VALUE},
	{"", "want a name", NULL, SHOWN_VALUE},
	{"", "want a port", NULL, SHOWN_VALUE},
	{"", "want a size", NULL, SHOWN_VALUE},
	{"", "want a policy", NULL, SHOWN_VALUE},
	{"", "want an effect", NULL, SHOWN_VALUE},
	{"", "want a container", NULL, SHOWN_VALUE},
};

enum { SENTENCES = sizeof sentences / sizeof *sentences };

/* A value and those around it. */
struct found {
	struct pl_json value, parent;
	struct pl_span key; /* in the parent; of an element: empty */
};

/* The faults of one error are told; which is the number of those before it that have the
 * same path and detail: the second bad key of a map is another one. */
struct told {
	struct schema_report *report;
	struct schema_place root, place;
	const struct field_error *error;
	uint32_t which;
	struct found found;
};

/* -- the value at a path --------------------------------------------------------------- */

static struct pl_json member_of(struct pl_json object, struct pl_span key)
{
	PL_JSON_EACH (item, object)
		if (pl_json_key(item) != NULL &&
		    pl_span_eq(pl_span_str(pl_json_key(item)), key))
			return item;
	return (struct pl_json){.node = NULL};
}

static struct pl_json element_of(struct pl_json list, size_t index)
{
	PL_JSON_EACH (item, list)
		if (index-- == 0)
			return item;
	return (struct pl_json){.node = NULL};
}

static void descend(struct found *found, struct pl_json to, struct pl_span key)
{
	*found = (struct found){.value = to, .parent = found->value, .key = key};
}

/* "[0]" of a list, "[a/b]" of a map. Gives where the path goes on. */
static const char *descend_index(struct found *found, const char *at)
{
	bool last = strchr(at, ']') == NULL;
	const char *end = last ? at + strlen(at) : strchr(at, ']');
	struct pl_span key = pl_span(at, (size_t)(end - at));

	if (pl_json_type(found->value) == PL_JSON_ARRAY)
		descend(found, element_of(found->value, strtoul(at, NULL, 10)),
		        pl_span("", 0));
	else
		descend(found, member_of(found->value, key), key);
	return last ? end : end + 1;
}

static struct found value_at(struct pl_json object, const char *path)
{
	struct found found = {.value = object};

	while (*path != '\0') {
		size_t len;

		if (*path == '[') {
			path = descend_index(&found, path + 1);
			continue;
		}
		path += *path == '.';
		len = strcspn(path, ".[");
		descend(&found, member_of(found.value, pl_span(path, len)),
		        pl_span(path, len));
		path += len;
	}
	return found;
}

static struct pl_span text_of(struct pl_json value)
{
	const char *text = "";

	if (pl_json_as_string(value, &text, NULL) != PL_OK)
		text = "";
	return pl_span_str(text);
}

/* -- causes ---------------------------------------------------------------------------- */

static enum schema_fault fault_of(enum field_fault fault)
{
	switch (fault) {
	case FIELD_REQUIRED:
		return SCHEMA_REQUIRED_FAULT;
	case FIELD_NOT_SUPPORTED:
		return SCHEMA_NOT_SUPPORTED_FAULT;
	case FIELD_DUPLICATE:
		return SCHEMA_DUPLICATE_FAULT;
	case FIELD_FORBIDDEN:
		return SCHEMA_FORBIDDEN_FAULT;
	case FIELD_TOO_LONG:
		return SCHEMA_TOO_LONG_FAULT;
	case FIELD_INVALID:
	case FIELD_FAULT_COUNT:
		break;
	}
	return SCHEMA_INVALID_FAULT;
}

static void add_value(const struct told *told, struct pl_json value, const char *words)
{
	if (pl_json_type(value) == PL_JSON_ABSENT)
		schema_report_text(told->report, &told->place,
		                   fault_of(told->error->fault), pl_span("", 0), words);
	else
		schema_report_add(told->report, &told->place,
		                  fault_of(told->error->fault), value, words);
}

static void add_text(const struct told *told, struct pl_span text, const char *words)
{
	schema_report_text(told->report, &told->place, fault_of(told->error->fault), text,
	                   words);
}

/* Texts that were printed. NULL: no memory. */
static void add_printed(const struct told *told, const char *text, const char *words)
{
	if (text == NULL || words == NULL)
		told->report->code = PL_NOMEM;
	else
		add_text(told, pl_span_str(text), words);
}

/* -- texts: names, keys, values ---------------------------------------------------------- */

/* TEXT_FAULT_COUNT: the detail is of no text. */
static enum text_fault text_fault_of(const char *detail)
{
	unsigned fault = 0;

	while (fault < TEXT_FAULT_COUNT &&
	       strcmp(detail, text_fault_sentence((enum text_fault)fault)) != 0)
		fault++;
	return (enum text_fault)fault;
}

static bool is_bad(struct pl_span text, uint32_t (*check)(struct pl_span text),
                   enum text_fault fault)
{
	const char *sentence = text_fault_sentence(fault);
	uint32_t faults = check(text);

	for (unsigned i = 0; i < TEXT_FAULT_COUNT; i++)
		if ((faults >> i & 1) != 0 &&
		    strcmp(text_fault_sentence((enum text_fault)i), sentence) == 0)
			return true;
	return false;
}

/* A map of labels is named as a whole: which of its keys or values was it? */
static struct pl_span bad_label(const struct told *told, enum text_fault fault)
{
	uint32_t left = told->which;

	PL_JSON_EACH (item, told->found.value) {
		struct pl_span key = pl_span_str(pl_json_key(item));

		if (is_bad(key, text_key, fault) && left-- == 0)
			return key;
		if (is_bad(text_of(item), text_value, fault) && left-- == 0)
			return text_of(item);
	}
	return pl_span("", 0);
}

/* A list of namespaces, too, whose own name is "namespaces". */
static struct pl_span bad_namespace(const struct told *told, enum text_fault fault)
{
	uint32_t left = told->which;

	PL_JSON_EACH (item, pl_json_member(told->found.parent, "namespaces"))
		if (is_bad(text_of(item), text_label, fault) && left-- == 0)
			return text_of(item);
	return pl_span("", 0);
}

static bool ends_with(const char *path, const char *end)
{
	return text_ends(pl_span_str(path), pl_span_str(end));
}

static bool is_amount(const struct told *told)
{
	const char *path = told->error->path;

	return ends_with(path, "]") && told->found.key.len > 0 &&
	       (strstr(path, ".requests[") != NULL || strstr(path, ".limits[") != NULL);
}

static struct pl_span bad_text(const struct told *told, enum text_fault fault)
{
	const char *path = told->error->path;

	if (is_amount(told))
		return told->found.key;
	if (strstr(path, ".tolerations[") != NULL && ends_with(path, ".operator"))
		return text_of(pl_json_member(told->found.parent, "value"));
	if (strstr(path, ".schedulingGates[") != NULL)
		return text_of(pl_json_member(told->found.value, "name"));
	if (pl_json_type(told->found.value) == PL_JSON_OBJECT)
		return bad_label(told, fault);
	if (ends_with(path, ".namespace") &&
	    pl_json_type(told->found.value) == PL_JSON_ABSENT)
		return bad_namespace(told, fault);
	return text_of(told->found.value);
}

/* -- words and amounts ------------------------------------------------------------------- */

/* "want A or B" as "supported values: "A", "B"". NULL: no memory. */
static const char *supported(struct pl_arena *arena, const char *detail)
{
	const char *out = "supported values: ", *at = detail + strlen("want ");

	for (bool first = true; at != NULL && out != NULL; first = false) {
		const char *end = strstr(at, " or ");
		int len = (int)(end == NULL ? strlen(at) : (size_t)(end - at));

		out = pl_arena_printf(arena, "%s%s\"%.*s\"", out, first ? "" : ", ", len,
		                      at);
		at = end == NULL ? NULL : end + strlen(" or ");
	}
	return out;
}

static void add_word(const struct told *told, const char *words)
{
	if (words == NULL)
		told->report->code = PL_NOMEM;
	else
		add_value(told, told->found.value, words);
}

static bool amount_of(struct pl_json value, struct pl_quantity *out)
{
	return pl_quantity_parse(text_of(value), out, NULL) == PL_OK;
}

/* Requests and limits are named as a whole: which resource was it? */
static void add_request(const struct told *told, bool above)
{
	struct pl_json limits = pl_json_member(told->found.parent, "limits");
	uint32_t left = told->which;

	PL_JSON_EACH (item, told->found.value) {
		char asked[PL_QUANTITY_TEXT_SIZE], most[PL_QUANTITY_TEXT_SIZE];
		struct pl_json limit = pl_json_member(limits, pl_json_key(item));
		struct pl_quantity have, bound;

		if (!amount_of(item, &have) || !amount_of(limit, &bound) ||
		    have.nano == bound.nano || (above && have.nano < bound.nano) ||
		    left-- > 0)
			continue;
		add_printed(told, pl_quantity_print(have, asked),
		            pl_arena_printf(
				    told->report->arena, "must be %s %s limit of %s",
				    above ? "less than or equal to" : "equal to",
				    pl_json_key(item), pl_quantity_print(bound, most)));
		return;
	}
	add_value(told, told->found.value, told->error->detail);
}

static void add_pages(const struct told *told)
{
	struct pl_arena *arena = told->report->arena;
	struct pl_span value = text_of(told->found.value);
	const char *text = pl_arena_printf(arena, PL_SPAN_FMT, PL_SPAN_ARG(value));

	add_printed(told, text,
	            pl_arena_printf(arena,
	                            PL_SPAN_FMT
	                            " is not positive integer multiple of " PL_SPAN_FMT,
	                            PL_SPAN_ARG(value), PL_SPAN_ARG(told->found.key)));
}

static void add_pair(const struct told *told)
{
	struct pl_json constraint = told->found.parent;
	struct pl_span key = text_of(pl_json_member(constraint, "topologyKey"));
	struct pl_span when = text_of(pl_json_member(constraint, "whenUnsatisfiable"));
	const char *text =
		pl_arena_printf(told->report->arena, "{" PL_SPAN_FMT ", " PL_SPAN_FMT "}",
	                        PL_SPAN_ARG(key), PL_SPAN_ARG(when));

	add_printed(told, text, "");
}

static void add_port(const struct told *told)
{
	struct pl_json port = told->found.parent;
	struct pl_span protocol = text_of(pl_json_member(port, "protocol"));
	struct pl_span address = text_of(pl_json_member(port, "hostIP"));
	double number = 0;
	const char *text;

	if (pl_json_double(port, "hostPort", PL_JSON_OPTIONAL, &number, NULL) != PL_OK)
		number = 0;
	text = pl_arena_printf(told->report->arena, PL_SPAN_FMT "/" PL_SPAN_FMT "/%.0f",
	                       PL_SPAN_ARG(protocol), PL_SPAN_ARG(address), number);
	add_printed(told, text, "");
}

static void add_sentence(const struct told *told, const char *words, enum shown shown)
{
	switch (shown) {
	case SHOWN_VALUE:
		add_value(told, told->found.value, words);
		break;
	case SHOWN_KEY:
		add_text(told, told->found.key, words);
		break;
	case SHOWN_NAME:
		add_value(told, pl_json_member(told->found.value, "name"), words);
		break;
	case SHOWN_BESIDE:
		add_value(told, pl_json_member(told->found.parent, "value"), words);
		break;
	case SHOWN_SPREAD:
		add_pair(told);
		break;
	case SHOWN_PORT:
		add_port(told);
		break;
	}
}

static void add_error(const struct told *told)
{
	const char *detail = told->error->detail;
	enum text_fault fault = told->error->fault == FIELD_INVALID
	                                ? text_fault_of(detail)
	                                : TEXT_FAULT_COUNT;

	if (told->error->fault == FIELD_NOT_SUPPORTED) {
		add_word(told, supported(told->report->arena, detail));
		return;
	}
	if (fault != TEXT_FAULT_COUNT) {
		add_text(told, bad_text(told, fault), schema_text_sentence(fault));
		return;
	}
	if (strcmp(detail, "want at most the limit") == 0 ||
	    strcmp(detail, "want what the limit says") == 0) {
		add_request(told, strcmp(detail, "want at most the limit") == 0);
		return;
	}
	if (strcmp(detail, "want a whole number of pages") == 0) {
		add_pages(told);
		return;
	}
	for (unsigned i = 0; i < SENTENCES; i++)
		if (strcmp(detail, sentences[i].detail) == 0 &&
		    ends_with(told->error->path, sentences[i].end)) {
			add_sentence(told, sentences[i].words, sentences[i].shown);
			return;
		}
	add_value(told, told->found.value, detail);
}

static uint32_t same_before(const struct field_errors *errors, uint32_t at)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < at; i++)
		count += strcmp(errors->at[i].path, errors->at[at].path) == 0 &&
		         strcmp(errors->at[i].detail, errors->at[at].detail) == 0;
	return count;
}

void schema_report_model(struct schema_report *report, const struct field_errors *errors,
                         struct pl_json pod)
{
	for (uint32_t i = 0; i < errors->count; i++) {
		struct told told = {.report = report,
		                    .error = &errors->at[i],
		                    .which = same_before(errors, i),
		                    .found = value_at(pod, errors->at[i].path)};

		told.place = (struct schema_place){.up = &told.root,
		                                   .name = errors->at[i].path};
		add_error(&told);
	}
	report->more_causes += errors->more;
}
