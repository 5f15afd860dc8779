/* Checks of definitions. */
#include "store/metrics/metric.h"

#include <stdbool.h>
#include <string.h>

const char *metric_type_name(enum metric_type type)
{
	static const char *const names[] = {
		[METRIC_COUNTER] = "counter",
		[METRIC_GAUGE] = "gauge",
		[METRIC_LEVEL] = "gauge",
		[METRIC_HISTOGRAM] = "histogram",
	};

	return names[type];
}

/* Lower case, as all base units and Kubernetes' own names are. */
static bool is_name(const char *name)
{
	if (name[0] < 'a' || name[0] > 'z')
		return false;
	for (const char *at = name; *at != 0; at++)
		if (!(*at >= 'a' && *at <= 'z') && !(*at >= '0' && *at <= '9') &&
		    *at != '_')
			return false;
	return true;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t end_len = strlen(end);

	return len > end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

static const char *wrong_name(const struct metric_def *def)
{
	size_t len = strlen(def->name);
	bool is_total = ends_with(def->name, len, "_total");

	if (!is_name(def->name))
		return "its name is none of lower-case letters, digits and underscores";
	if (is_total != (def->type == METRIC_COUNTER))
		return "counters end with _total, and nothing else does";
	if (ends_with(def->name, len, "_count") || ends_with(def->name, len, "_sum") ||
	    ends_with(def->name, len, "_bucket") || ends_with(def->name, len, "_info"))
		return def->type != METRIC_HISTOGRAM && ends_with(def->name, len, "_info")
		               ? NULL
		               : "its name ends like a sample of a histogram";
	if (is_total)
		len -= strlen("_total");
	if (def->unit[0] != 0 && (!ends_with(def->name, len, def->unit) ||
	                          def->name[len - strlen(def->unit) - 1] != '_'))
		return "its name does not end with its unit";
	return NULL;
}

static const char *wrong_bounds(const struct metric_def *def)
{
	const struct metric_bounds *bounds = def->bounds;

	if ((bounds != NULL) != (def->type == METRIC_HISTOGRAM))
		return "histograms have bounds, and nothing else has";
	if (bounds != NULL && (bounds->count == 0 || bounds->count > METRIC_BOUNDS_MAX))
		return "it has no bounds, or too many";
	for (unsigned i = 1; bounds != NULL && i < bounds->count; i++)
		if (!(bounds->at[i] > bounds->at[i - 1]))
			return "its bounds do not rise";
	return NULL;
}

static const char *wrong_labels(const struct metric_def *def)
{
	if (def->label_count > METRIC_LABELS_MAX)
		return "it has too many labels";
	for (unsigned i = 0; i < def->label_count; i++) {
		const struct metric_label *label = &def->label[i];

		if (!is_name(label->name) || strcmp(label->name, "le") == 0 ||
		    strcmp(label->name, "quantile") == 0)
			return "a label's name is none";
		if (label->values_max == 0)
			return "a label has no bound";
		for (unsigned k = 0; k < i; k++)
			if (strcmp(label->name, def->label[k].name) == 0)
				return "two of its labels have one name";
	}
	return NULL;
}

static const char *wrong_with(const struct metric_def *def)
{
	const char *wrong = wrong_name(def);

	if (wrong == NULL && (def->help == NULL || def->help[0] == 0))
		wrong = "it has no help";
	if (wrong == NULL)
		wrong = wrong_bounds(def);
	return wrong != NULL ? wrong : wrong_labels(def);
}

enum pl_code metric_defs_check(const struct metric_def *defs, size_t count,
                               struct pl_err *err)
{
	for (size_t i = 0; i < count; i++) {
		const char *wrong;

		if (defs[i].name == NULL || defs[i].unit == NULL)
			return pl_err_set(err, PL_INVALID, "definition %zu is missing",
			                  i);
		wrong = wrong_with(&defs[i]);
		for (size_t k = 0; wrong == NULL && k < i; k++)
			if (strcmp(defs[i].name, defs[k].name) == 0)
				wrong = "another one has its name";
		if (wrong != NULL)
			return pl_err_set(err, PL_INVALID, "%s: %s", defs[i].name, wrong);
	}
	return PL_OK;
}
