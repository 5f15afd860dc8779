/* NodeResourcesFitArgs, as kube-scheduler reads them. */
#include <string.h>

#include "shardsched/model/text.h"
#include "shardsched/plugins/fit.h"

enum { SCORE_MOST = 10, UTILIZATION_MOST = 100 };

struct curve_point {
	int64_t utilization;
	int64_t score;
};

static enum pl_code parse_name(struct model *model, struct pl_json json, bool group,
                               struct fit_names *out, struct pl_err *err)
{
	const char *text = NULL;
	enum pl_code code = pl_json_as_string(json, &text, err);

	if (code != PL_OK)
		return code;
	if (group && strchr(text, '/') != NULL)
		return pl_json_fail(json, PL_INVALID, err, "has a slash");
	if (text_key(pl_span_str(text)) != 0)
		return pl_json_fail(json, PL_INVALID, err, "is not a resource name");
	code = strings_add(&model->strings, pl_span_str(text), &out->name[out->count]);
	if (code != PL_OK)
		return pl_err_set(err, code, "resource %s", text);
	out->count++;
	return PL_OK;
}

static enum pl_code parse_names(struct model *model, struct pl_json args,
                                const char *member, bool group, struct fit_names *out,
                                struct pl_err *err)
{
	struct pl_json list = {0};
	enum pl_code code = pl_json_array(args, member, PL_JSON_OPTIONAL, &list, err);

	if (code == PL_OK && pl_json_count(list) > FIT_IGNORED_MAX)
		return pl_json_fail(list, PL_LIMIT, err, "has more than %d entries",
		                    FIT_IGNORED_MAX);
	PL_JSON_EACH (item, list) {
		if (code == PL_OK)
			code = parse_name(model, item, group, out, err);
	}
	return code;
}

static enum pl_code parse_strategy(struct pl_json json, struct fit_args *args,
                                   struct pl_err *err)
{
	static const char *const names[] = {"LeastAllocated", "MostAllocated",
	                                    "RequestedToCapacityRatio"};
	const char *type = NULL;
	enum pl_code code = pl_json_string(json, "type", PL_JSON_REQUIRED, &type, err);

	if (code != PL_OK)
		return code;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(type, names[i]) == 0) {
			args->strategy = (enum fit_strategy)i;
			return PL_OK;
		}
	}
	return pl_json_fail(pl_json_member(json, "type"), PL_INVALID, err,
	                    "must be LeastAllocated, MostAllocated or "
	                    "RequestedToCapacityRatio");
}

static enum pl_code parse_point(struct pl_json json, struct curve_point *out,
                                struct pl_err *err)
{
	static const char *const known[] = {"utilization", "score", NULL};
	enum pl_code code = pl_json_only(json, known, err);

	if (code == PL_OK)
		code = pl_json_int_in(json, "utilization", PL_JSON_REQUIRED,
		                      (struct pl_json_range){0, UTILIZATION_MOST},
		                      &out->utilization, err);
	if (code == PL_OK)
		code = pl_json_int_in(json, "score", PL_JSON_REQUIRED,
		                      (struct pl_json_range){0, SCORE_MOST}, &out->score,
		                      err);
	return code;
}

/* Linear between two points, cut off to whole numbers; constant outside. */
static uint8_t curve_at(const struct curve_point *point, size_t count, int64_t at)
{
	const int64_t scale = PLUGIN_SCORE_MAX / SCORE_MOST;

	for (size_t i = 0; i < count; i++) {
		const struct curve_point *to = &point[i], *from = &point[i - (i > 0)];
		int64_t rise = (to->score - from->score) * scale;

		if (at > to->utilization)
			continue;
		if (i == 0)
			return (uint8_t)(to->score * scale);
		return (uint8_t)(from->score * scale +
		                 rise * (at - from->utilization) /
		                         (to->utilization - from->utilization));
	}
	return (uint8_t)(point[count - 1].score * scale);
}

static enum pl_code parse_shape(struct pl_json shape, struct fit_args *args,
                                struct pl_err *err)
{
	struct curve_point point[FIT_SHAPE_MAX];
	size_t count = 0;

	if (pl_json_count(shape) == 0 || pl_json_count(shape) > FIT_SHAPE_MAX)
		return pl_json_fail(shape, PL_INVALID, err, "must have 1 to %d points",
		                    FIT_SHAPE_MAX);
	PL_JSON_EACH (item, shape) {
		enum pl_code code = parse_point(item, &point[count], err);

		if (code != PL_OK)
			return code;
		if (count > 0 && point[count].utilization <= point[count - 1].utilization)
			return pl_json_fail(pl_json_member(item, "utilization"),
			                    PL_INVALID, err,
			                    "must be above that of the previous point");
		count++;
	}
	for (int64_t at = 0; at <= UTILIZATION_MOST; at++)
		args->curve[at] = curve_at(point, count, at);
	return PL_OK;
}

static enum pl_code parse_ratio(struct pl_json strategy, struct fit_args *args,
                                struct pl_err *err)
{
	static const char *const known[] = {"shape", NULL};
	bool needed = args->strategy == FIT_RATIO;
	struct pl_json ratio = {0}, shape = {0};
	enum pl_code code =
		pl_json_object(strategy, "requestedToCapacityRatio",
	                       needed ? PL_JSON_REQUIRED : PL_JSON_OPTIONAL, &ratio, err);

	if (code != PL_OK || ratio.node == NULL)
		return code;
	code = pl_json_only(ratio, known, err);
	if (code == PL_OK)
		code = pl_json_array(ratio, "shape",
		                     needed ? PL_JSON_REQUIRED : PL_JSON_OPTIONAL, &shape,
		                     err);
	if (code != PL_OK || (!needed && pl_json_count(shape) == 0))
		return code;
	return parse_shape(shape, args, err);
}

static enum pl_code parse_scoring(struct model *model, struct pl_json scoring,
                                  struct fit_args *args, struct pl_err *err)
{
	static const char *const known[] = {"type", "resources",
	                                    "requestedToCapacityRatio", NULL};
	struct pl_json list = {0};
	enum pl_code code = PL_OK;

	if (scoring.node != NULL) {
		code = pl_json_only(scoring, known, err);
		if (code == PL_OK)
			code = parse_strategy(scoring, args, err);
		if (code == PL_OK)
			code = parse_ratio(scoring, args, err);
		if (code == PL_OK)
			code = pl_json_array(scoring, "resources", PL_JSON_OPTIONAL,
			                     &list, err);
	}
	return code == PL_OK ? amount_list_parse(model, list, &args->resources, err)
	                     : code;
}

static enum pl_code parse_args(struct model *model, struct pl_json json,
                               struct fit_args *args, struct pl_err *err)
{
	static const char *const known[] = {"apiVersion",       "kind",
	                                    "ignoredResources", "ignoredResourceGroups",
	                                    "scoringStrategy",  NULL};
	struct pl_json scoring = {0};
	enum pl_code code;

	if (json.node == NULL)
		return parse_scoring(model, scoring, args, err);
	code = pl_json_only(json, known, err);
	if (code == PL_OK)
		code = parse_names(model, json, "ignoredResources", false, &args->ignored,
		                   err);
	if (code == PL_OK)
		code = parse_names(model, json, "ignoredResourceGroups", true,
		                   &args->ignored_groups, err);
	if (code == PL_OK)
		code = pl_json_object(json, "scoringStrategy", PL_JSON_OPTIONAL, &scoring,
		                      err);
	return code == PL_OK ? parse_scoring(model, scoring, args, err) : code;
}

enum pl_code fit_args_parse(struct model *model, struct pl_json json, void *args,
                            struct pl_err *err)
{
	enum pl_code code;

	memset(args, 0, sizeof(struct fit_args));
	code = parse_args(model, json, args, err);
	if (code != PL_OK)
		fit_args_drop(model, args);
	return code;
}

static void names_drop(struct model *model, struct fit_names *names)
{
	for (uint32_t i = 0; i < names->count; i++)
		strings_unref(&model->strings, names->name[i]);
	names->count = 0;
}

void fit_args_drop(struct model *model, void *args_)
{
	struct fit_args *args = args_;

	names_drop(model, &args->ignored);
	names_drop(model, &args->ignored_groups);
	amount_list_drop(model, &args->resources);
}
