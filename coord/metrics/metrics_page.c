/* docs/metrics.md, from the table. */
#include "coord/metrics/metrics_table.h"

#define ADD(out, ...)                                                 \
	do {                                                          \
		enum pl_code code_ = pl_buf_printf(out, __VA_ARGS__); \
		if (code_ != PL_OK)                                   \
			return code_;                                 \
	} while (0)

static const char head[] =
	"# Metrics\n"
	"\n"
	"`placetd` shows its metrics at `/metrics` of the API (`--api-listen`) and of\n"
	"`--metrics-listen`, in Prometheus' text format 0.0.4 or, for who asks for it in\n"
	"`Accept`, as OpenMetrics 1.0. A placetd shows its own shards only; the metrics of a\n"
	"federation are the sum over its placetds.\n"
	"\n"
	"This page is generated from [`coord/metrics/metrics_list.h`]"
	"(../coord/metrics/metrics_list.h):\n"
	"`placetd --metrics-page`. Names and labels are an interface. A label has at most the\n"
	"number of values given behind it; what comes later is counted as `other`. Names that\n"
	"begin with `scheduler_` and `apiserver_` mean what they mean in Kubernetes, so that\n"
	"dashboards and alerts for it work; `process_` as everywhere.\n"
	"\n"
	"A metric without samples is not shown. Counters begin at 0 when placetd starts.\n"
	"\n"
	"| Metric | Type | Labels (values) | Meaning |\n"
	"|---|---|---|---|\n";

static enum pl_code add_labels(struct pl_buf *out, const struct metric_def *def)
{
	for (unsigned i = 0; i < def->label_count; i++)
		ADD(out, "%s`%s` (%u)", i == 0 ? "" : ", ", def->label[i].name,
		    def->label[i].values_max);
	return PL_OK;
}

enum pl_code metrics_page(struct pl_buf *out)
{
	ADD(out, "%s", head);
	for (unsigned i = 0; i < METRICS; i++) {
		const struct metric_def *def = &metrics_table[i];
		enum pl_code code;

		ADD(out, "| `%s` | %s | ", def->name, metric_type_name(def->type));
		code = add_labels(out, def);
		if (code != PL_OK)
			return code;
		ADD(out, " | %s |\n", def->help);
	}
	return PL_OK;
}
