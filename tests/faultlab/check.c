#include "tests/faultlab/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "tests/faultlab/truth.h"

#define CHECK_RULE_NAME(name, text, what) [CHECK_##name] = (text),
#define CHECK_RULE_WHAT(name, text, what) [CHECK_##name] = (what),

static const char *const rule_names[CHECK_RULE_COUNT] = {CHECK_RULE_MAP(CHECK_RULE_NAME)};
static const char *const rule_whats[CHECK_RULE_COUNT] = {CHECK_RULE_MAP(CHECK_RULE_WHAT)};

const char *check_rule_name(enum check_rule rule)
{
	PL_ASSERT((unsigned)rule < CHECK_RULE_COUNT);
	return rule_names[rule];
}

const char *check_rule_what(enum check_rule rule)
{
	PL_ASSERT((unsigned)rule < CHECK_RULE_COUNT);
	return rule_whats[rule];
}

/* One cause often breaks a rule thousands of times: the first few findings are kept.
 * The rest go to a spare finding that is not reported, so callers need not check. */
struct check_finding *check_add(struct check_report *report, enum check_rule rule,
                                uint32_t op, int64_t revision, const char *fmt, ...)
{
	static struct check_finding spare;
	struct check_finding *finding = &spare;
	va_list args;

	report->count++;
	if (report->by_rule[rule]++ < CHECK_PER_RULE_MAX &&
	    report->kept < CHECK_FINDINGS_MAX)
		finding = &report->finding[report->kept++];
	*finding = (struct check_finding){.rule = rule, .op = op, .revision = revision};
	va_start(args, fmt);
	(void)vsnprintf(finding->text, sizeof finding->text, fmt, args);
	va_end(args);
	return finding;
}

/* A key is there at a revision when its last event by then is no deletion. */
void check_records(struct truth *truth, const struct hist_event *records, size_t count,
                   int64_t revision, enum hist_class class, enum check_rule rule,
                   const char *state_name, struct check_report *report)
{
	size_t want = 0;

	for (size_t i = 0; i < truth->count; i++) {
		const struct hist_event *event = &truth->event[truth->by_key[i]];
		const struct hist_event *next =
			i + 1 < truth->count ? &truth->event[truth->by_key[i + 1]] : NULL;

		if (event->revision > revision || event->is_delete ||
		    (class != HIST_ALL && hist_class_of(event->key) != class) ||
		    (next != NULL && next->key == event->key &&
		     next->revision <= revision))
			continue;
		want++;
	}
	if (want != count)
		check_add(report, rule, 0, revision, "%s: %zu keys, %zu should be there",
		          state_name, count, want);
	for (size_t i = 0; i < count; i++) {
		const struct hist_event *event =
			truth_last(truth, records[i].key, revision);

		if (event == NULL || !hist_event_eq(event, &records[i]))
			check_add(report, rule, records[i].value.writer,
			          records[i].revision,
			          "%s: key %c/%u is not as it was at %" PRId64,
			          state_name, (char)hist_class_of(records[i].key),
			          (unsigned)(records[i].key & UINT32_MAX), revision);
	}
}

enum pl_code check_hist(const struct hist *hist, struct check_report *report)
{
	struct truth truth;

	if (truth_init(&truth, hist, report) != PL_OK)
		return PL_NOMEM;
	for (unsigned i = 0; i < hist->complaint_count; i++)
		check_add(report, CHECK_STUCK, 0, 0, "%s", hist->complaint[i].text)->ms =
			hist->complaint[i].ms;
	check_ops(&truth, report);
	check_leases(&truth, report); /* after ops: what is left unexplained */
	check_time(&truth, report);
	check_streams(&truth, report);
	check_records(&truth, hist->final, hist->final_count, hist->final_revision,
	              HIST_ALL, CHECK_FINAL, "at the end", report);
	truth_done(&truth);
	return PL_OK;
}
