#include "store/metrics/exposition.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "store/base/num.h"

/* -- content types ----------------------------------------------------------------------- */

static struct pl_span trimmed(struct pl_span text)
{
	while (text.len > 0 && (text.at[0] == ' ' || text.at[0] == '\t'))
		text = pl_span(text.at + 1, text.len - 1);
	while (text.len > 0 &&
	       (text.at[text.len - 1] == ' ' || text.at[text.len - 1] == '\t'))
		text.len--;
	return text;
}

/* The part in front of the separator; *rest: the text behind it. */
static struct pl_span next_part(struct pl_span *rest, char separator)
{
	const uint8_t *end =
		rest->len == 0 ? NULL : memchr(rest->at, separator, rest->len);
	size_t len = end == NULL ? rest->len : (size_t)(end - rest->at);
	struct pl_span part = pl_span(rest->at, len);

	*rest = end == NULL ? pl_span(rest->at + len, 0)
	                    : pl_span(end + 1, rest->len - len - 1);
	return trimmed(part);
}

/* "0.75" in thousandths; what is no weight is none. */
static unsigned weight_of(struct pl_span text)
{
	unsigned weight = 0, unit = 1000;

	if (text.len == 0 || text.len > 5 || (text.at[0] != '0' && text.at[0] != '1') ||
	    (text.len > 1 && text.at[1] != '.'))
		return 0;
	for (size_t i = 0; i < text.len; i++) {
		if (i == 1)
			continue;
		if (text.at[i] < '0' || text.at[i] > '9')
			return 0;
		weight += unit * (unsigned)(text.at[i] - '0');
		unit /= 10;
	}
	return weight < 1000 ? weight : 1000;
}

struct accept_item {
	struct pl_span type;
	unsigned weight;
	bool old; /* another version than 1.0 of OpenMetrics */
};

static struct accept_item parse_item(struct pl_span item)
{
	struct accept_item out = {.type = next_part(&item, ';'), .weight = 1000};

	while (item.len > 0) {
		struct pl_span value = next_part(&item, ';');
		struct pl_span name = next_part(&value, '=');

		if (pl_span_eq(name, PL_SPAN_LIT("q")))
			out.weight = weight_of(trimmed(value));
		else if (pl_span_eq(name, PL_SPAN_LIT("version")))
			out.old = !pl_span_eq(trimmed(value), PL_SPAN_LIT("1.0.0"));
	}
	return out;
}

enum exposition exposition_negotiate(struct pl_span accept)
{
	unsigned open_metrics = 0, text = 0;

	while (accept.len > 0) {
		struct accept_item item = parse_item(next_part(&accept, ','));

		if (pl_span_eq(item.type, PL_SPAN_LIT("application/openmetrics-text"))) {
			if (!item.old && item.weight > open_metrics)
				open_metrics = item.weight;
		} else if (pl_span_eq(item.type, PL_SPAN_LIT("text/plain")) ||
		           pl_span_eq(item.type, PL_SPAN_LIT("text/*"))) {
			text = item.weight > text ? item.weight : text;
		}
	}
	return open_metrics > text ? EXPOSITION_OPENMETRICS : EXPOSITION_PROMETHEUS;
}

const char *exposition_content_type(enum exposition format)
{
	return format == EXPOSITION_OPENMETRICS
	               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
	               : "text/plain; version=0.0.4; charset=utf-8";
}

/* -- text -------------------------------------------------------------------------------- */

/* A writer that keeps the first failure. */
struct writer {
	struct pl_buf *out;
	enum exposition format;
	enum pl_code code;
};

static void add_span(struct writer *writer, struct pl_span text)
{
	if (writer->code == PL_OK)
		writer->code = pl_buf_add(writer->out, text);
}

static void add_text(struct writer *writer, const char *text)
{
	add_span(writer, pl_span_str(text));
}

/* Backslashes, newlines and, in values, quotes. */
static void add_escaped(struct writer *writer, struct pl_span text, bool quotes)
{
	size_t from = 0;

	for (size_t i = 0; i < text.len; i++) {
		uint8_t byte = text.at[i];

		if (byte != '\\' && byte != '\n' && !(quotes && byte == '"'))
			continue;
		add_span(writer, pl_span(text.at + from, i - from));
		add_text(writer, byte == '\n' ? "\\n" : byte == '"' ? "\\\"" : "\\\\");
		from = i + 1;
	}
	add_span(writer, pl_span(text.at + from, text.len - from));
}

static void add_count(struct writer *writer, uint64_t value)
{
	char text[PL_NUM_TEXT_SIZE];

	add_span(writer, pl_span(text, pl_num_print_u64(text, value)));
}

static void add_number(struct writer *writer, double value)
{
	char text[40];

	if (value >= 0 && value < 1e15 && value == floor(value)) {
		add_count(writer, (uint64_t)value);
		return;
	}
	if (isnan(value))
		(void)snprintf(text, sizeof text, "NaN");
	else if (isinf(value))
		(void)snprintf(text, sizeof text, value < 0 ? "-Inf" : "+Inf");
	else
		(void)snprintf(text, sizeof text, "%.15g", value);
	add_text(writer, text);
}

/* A bound is a part of the series' name: it is spelled the same for ever. */
static void add_bound(struct writer *writer, double bound)
{
	bool whole = bound == floor(bound) && bound < 1e15;

	add_number(writer, bound);
	if (whole && writer->format == EXPOSITION_OPENMETRICS)
		add_text(writer, ".0");
}

static size_t family_len(const struct metric_def *def, enum exposition format)
{
	size_t len = strlen(def->name);

	return format == EXPOSITION_OPENMETRICS && def->type == METRIC_COUNTER
	               ? len - strlen("_total")
	               : len;
}

static void add_head(struct writer *writer, const struct metric_def *def)
{
	struct pl_span family = pl_span(def->name, family_len(def, writer->format));

	add_text(writer, "# HELP ");
	add_span(writer, family);
	add_text(writer, " ");
	add_escaped(writer, pl_span_str(def->help),
	            writer->format == EXPOSITION_OPENMETRICS);
	add_text(writer, "\n# TYPE ");
	add_span(writer, family);
	add_text(writer, " ");
	add_text(writer, metric_type_name(def->type));
	add_text(writer, "\n");
	if (def->unit[0] == 0 || writer->format != EXPOSITION_OPENMETRICS)
		return;
	add_text(writer, "# UNIT ");
	add_span(writer, family);
	add_text(writer, " ");
	add_text(writer, def->unit);
	add_text(writer, "\n");
}

/* {a="x",b="y",le="1"}; bound NULL: without le. A label without a value is left out. */
static void add_labels(struct writer *writer, const struct metric_def *def,
                       const struct metric_cell *cell, const double *bound)
{
	const char *before = "{";

	for (unsigned i = 0; i < def->label_count; i++) {
		if (cell->value_of[i].len == 0)
			continue;
		add_text(writer, before);
		add_text(writer, def->label[i].name);
		add_text(writer, "=\"");
		add_escaped(writer, cell->value_of[i], true);
		add_text(writer, "\"");
		before = ",";
	}
	if (bound != NULL) {
		add_text(writer, before);
		add_text(writer, "le=\"");
		add_bound(writer, *bound);
		add_text(writer, "\"");
		before = ",";
	}
	add_text(writer, before[0] == '{' ? " " : "} ");
}

static void add_histogram(struct writer *writer, const struct metric_def *def,
                          const struct metric_cell *cell)
{
	static const double infinite = INFINITY;
	uint64_t below = 0;

	for (unsigned i = 0; i <= def->bounds->count; i++) {
		bool last = i == def->bounds->count;

		below = last ? cell->count : below + cell->bucket[i];
		add_text(writer, def->name);
		add_text(writer, "_bucket");
		add_labels(writer, def, cell, last ? &infinite : &def->bounds->at[i]);
		add_count(writer, below);
		add_text(writer, "\n");
	}
	add_text(writer, def->name);
	add_text(writer, "_sum");
	add_labels(writer, def, cell, NULL);
	add_number(writer, cell->value);
	add_text(writer, "\n");
	add_text(writer, def->name);
	add_text(writer, "_count");
	add_labels(writer, def, cell, NULL);
	add_count(writer, cell->count);
	add_text(writer, "\n");
}

static void add_sample(struct writer *writer, const struct metric_def *def,
                       const struct metric_cell *cell)
{
	if (def->type == METRIC_HISTOGRAM) {
		add_histogram(writer, def, cell);
		return;
	}
	add_text(writer, def->name);
	add_labels(writer, def, cell, NULL);
	add_number(writer, cell->value);
	add_text(writer, "\n");
}

enum pl_code exposition_write(const struct metric_set *set, enum exposition format,
                              struct pl_buf *out)
{
	struct writer writer = {.out = out, .format = format};

	for (unsigned i = 0; i < metric_set_count(set); i++) {
		const struct metric_def *def = metric_set_def(set, i);
		const struct metric_cell *cell = metric_set_next(set, i, NULL);

		if (cell != NULL)
			add_head(&writer, def);
		for (; cell != NULL && writer.code == PL_OK;
		     cell = metric_set_next(set, i, cell))
			add_sample(&writer, def, cell);
	}
	if (format == EXPOSITION_OPENMETRICS)
		add_text(&writer, "# EOF\n");
	return writer.code;
}
