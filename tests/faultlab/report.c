#include "tests/faultlab/report.h"

#include <inttypes.h>

enum { AROUND_MS = 3000, AROUND_REVISIONS = 2 };

static const char *const acts[] = {
	[HIST_LOOK] = "look", [HIST_PUT] = "put", [HIST_DROP] = "delete"};
static const char *const outcomes[] = {[HIST_OPEN] = "no answer",
                                       [HIST_OK] = "ok",
                                       [HIST_REFUSED] = "refused",
                                       [HIST_FAILED] = "failed",
                                       [HIST_UNKNOWN] = "unknown"};
static const char *const notes[] = {
	[HIST_START] = "start",       [HIST_READY] = "ready",   [HIST_EVENTS] = "events",
	[HIST_PROGRESS] = "progress", [HIST_RELIST] = "relist", [HIST_END] = "end"};

static double seconds_since(uint64_t ms, uint64_t start_ms)
{
	return ((double)ms - (double)start_ms) / 1000;
}

static void print_key(FILE *out, hist_key key)
{
	(void)fprintf(out, "%c/%u", key == 0 ? '?' : (char)hist_class_of(key),
	              (unsigned)(key & UINT32_MAX));
}

static void print_op(FILE *out, const struct hist_op *op, uint64_t start_ms)
{
	(void)fprintf(out, "op %u client %u %.3f..%.3f %s", op->id, op->client,
	              seconds_since(op->start_ms, start_ms),
	              op->outcome == HIST_OPEN ? 0 : seconds_since(op->end_ms, start_ms),
	              outcomes[op->outcome]);
	if (op->code != PL_OK)
		(void)fprintf(out, " (%s)", pl_code_name(op->code));
	(void)fprintf(out, " rev %" PRId64 "%s", op->revision,
	              op->serializable ? " serializable" : "");
	for (unsigned i = 0; i < op->part_count; i++) {
		const struct hist_part *part = &op->part[i];

		(void)fprintf(out, "; %s ", acts[part->act]);
		print_key(out, part->key);
		if (part->expect != HIST_ANY)
			(void)fprintf(out, " if at %" PRId64, part->expect);
		if (part->seen)
			(void)fprintf(out, " seen at %" PRId64 " by %u", part->seen_mod,
			              part->seen_value.writer);
	}
	(void)fprintf(out, "\n");
}

static void print_event(FILE *out, const struct hist_event *event)
{
	(void)fprintf(out, "rev %" PRId64 " %s ", event->revision,
	              event->is_delete ? "delete" : "put");
	print_key(out, event->key);
	if (!event->is_delete)
		(void)fprintf(out, " by op %u, version %" PRId64 " since %" PRId64,
		              event->value.writer, event->version,
		              event->create_revision);
	if (event->lease != 0)
		(void)fprintf(out, " lease %" PRIx64, (uint64_t)event->lease);
	(void)fprintf(out, "\n");
}

static void print_around(FILE *out, const struct hist *hist,
                         const struct check_finding *finding, uint64_t start_ms)
{
	const struct hist_stream *full = &hist->stream[0];

	if (finding->op != 0 && finding->op <= hist->op_count) {
		(void)fprintf(out, "      ");
		print_op(out, &hist->op[finding->op - 1], start_ms);
	}
	for (size_t i = 0; finding->revision != 0 && i < full->event_count; i++) {
		if (full->event[i].revision < finding->revision - AROUND_REVISIONS ||
		    full->event[i].revision > finding->revision + AROUND_REVISIONS)
			continue;
		(void)fprintf(out, "      ");
		print_event(out, &full->event[i]);
	}
	for (size_t i = 0; finding->ms != 0 && i < hist->mark_count; i++)
		if (hist->mark[i].ms + AROUND_MS > finding->ms &&
		    hist->mark[i].ms < finding->ms + AROUND_MS)
			(void)fprintf(out, "      %.3f %s\n",
			              seconds_since(hist->mark[i].ms, start_ms),
			              hist->mark[i].text);
}

void report_findings(FILE *out, const struct hist *hist,
                     const struct check_report *report, uint64_t start_ms)
{
	for (unsigned i = 0; i < report->kept; i++) {
		const struct check_finding *finding = &report->finding[i];

		(void)fprintf(out, "  %s: %s\n    %s", check_rule_name(finding->rule),
		              check_rule_what(finding->rule), finding->text);
		if (finding->ms != 0)
			(void)fprintf(out, " (at %.3f s)",
			              seconds_since(finding->ms, start_ms));
		(void)fprintf(out, "\n");
		print_around(out, hist, finding, start_ms);
	}
	if (report->count > report->kept)
		(void)fprintf(out, "  and %u more\n", report->count - report->kept);
}

void report_numbers(FILE *out, const struct check_report *report)
{
	(void)fprintf(out,
	              "  judged: %zu revisions; writes %zu ok, %zu refused, %zu failed, "
	              "%zu unknown (%zu applied); %zu keys read; %zu events of watchers, "
	              "%zu listings, %zu compacted watches, %zu leases ended\n",
	              report->revisions, report->writes_ok, report->refused,
	              report->writes_failed,
	              report->unknown_applied + report->unknown_not,
	              report->unknown_applied, report->reads, report->stream_events,
	              report->relists, report->compacted, report->leases_ended);
	if (report->leases_excused > 0)
		(void)fprintf(out,
		              "  excused: %zu leases revoked too early by a leader that "
		              "had stood still, a fault of this etcd (--strict fails)\n",
		              report->leases_excused);
}

void report_history(FILE *out, const struct hist *hist, uint64_t start_ms)
{
	for (size_t i = 0; i < hist->mark_count; i++)
		(void)fprintf(out, "mark %.3f %s\n",
		              seconds_since(hist->mark[i].ms, start_ms),
		              hist->mark[i].text);
	for (size_t i = 0; i < hist->op_count; i++)
		print_op(out, &hist->op[i], start_ms);
	for (size_t i = 0; i < hist->lease_count; i++)
		(void)fprintf(out, "lease %" PRIx64 " safe until %.3f dropped %.3f%s\n",
		              (uint64_t)hist->lease[i].id,
		              seconds_since(hist->lease[i].safe_until_ms, start_ms),
		              seconds_since(hist->lease[i].dropped_ms, start_ms),
		              hist->lease[i].revoked ? " revoked" : "");
	for (unsigned s = 0; s < hist->stream_count; s++) {
		const struct hist_stream *stream = &hist->stream[s];

		for (size_t n = 0; n < stream->note_count; n++) {
			const struct hist_note *note = &stream->note[n];

			(void)fprintf(out, "watch '%s' %.3f %s %" PRId64 " %s\n",
			              stream->name, seconds_since(note->ms, start_ms),
			              notes[note->what], note->revision,
			              note->code == PL_OK ? ""
			                                  : pl_code_name(note->code));
			for (size_t i = 0; i < note->count; i++) {
				(void)fprintf(out, "watch '%s'   ", stream->name);
				print_event(out, &stream->event[note->first + i]);
			}
		}
	}
	for (size_t i = 0; i < hist->final_count; i++) {
		(void)fprintf(out, "final ");
		print_event(out, &hist->final[i]);
	}
}
