/*
 * Calls against the truth: acknowledged writes are where they were acknowledged,
 * failed ones are nowhere, unknown ones at most once and whole; compares held,
 * refusals were right, reads show what was there.
 */
#include <inttypes.h>

#include "tests/faultlab/truth.h"

static bool op_writes(const struct hist_op *op)
{
	for (unsigned i = 0; i < op->part_count; i++)
		if (op->part[i].act != HIST_LOOK)
			return true;
	return false;
}

static const struct hist_part *part_of(const struct hist_op *op, hist_key key)
{
	for (unsigned i = 0; i < op->part_count; i++)
		if (op->part[i].key == key)
			return &op->part[i];
	return NULL;
}

/* Finds the writer of each event: fills applied, and judges the event by its
 * operation. */
static void judge_put(struct truth *truth, size_t at, struct check_report *report)
{
	const struct hist_event *event = &truth->event[at];
	const struct hist *hist = truth->hist;
	uint32_t id = event->value.writer;
	const struct hist_part *part;
	int64_t before;

	if (id == 0 || id > hist->op_count ||
	    (part = part_of(&hist->op[id - 1], event->key)) == NULL ||
	    part->act != HIST_PUT) {
		check_add(report, CHECK_STRANGER, 0, event->revision, "put on key %c/%u",
		          (char)hist_class_of(event->key),
		          (unsigned)(event->key & UINT32_MAX));
		return;
	}
	truth->explained[at] = true;
	if (truth->applied[id] != 0 && truth->applied[id] != event->revision)
		check_add(report, CHECK_TWICE, id, event->revision,
		          "at %" PRId64 " and at %" PRId64, truth->applied[id],
		          event->revision);
	truth->applied[id] = event->revision;
	if (!hist_value_eq(part->value, event->value) ||
	    hist->op[id - 1].lease != event->lease)
		check_add(report, CHECK_CONTENT, id, event->revision,
		          "%u elements and lease %" PRId64, event->value.count,
		          event->lease);
	before = truth_mod(truth, event->key, event->revision - 1);
	if (part->expect != HIST_ANY && part->expect != before)
		check_add(report, CHECK_COMPARE, id, event->revision,
		          "key %c/%u was at %" PRId64 ", compared with %" PRId64,
		          (char)hist_class_of(event->key),
		          (unsigned)(event->key & UINT32_MAX), before, part->expect);
}

static bool deletion_fits(const struct truth *truth, const struct hist_op *op,
                          const struct hist_event *event)
{
	const struct hist_part *part = part_of(op, event->key);

	return part != NULL && part->act == HIST_DROP &&
	       (part->expect == HIST_ANY ||
	        part->expect == truth_mod(truth, event->key, event->revision - 1));
}

/* The parts of an operation that was applied at a revision, all of them there? */
static unsigned parts_at(struct truth *truth, const struct hist_op *op, int64_t revision)
{
	unsigned found = 0;

	for (unsigned i = 0; i < op->part_count; i++) {
		const struct hist_part *part = &op->part[i];
		const struct hist_event *event = truth_last(truth, part->key, revision);

		if (part->act == HIST_LOOK) {
			found++;
		} else if (event != NULL && event->revision == revision &&
		           (part->act == HIST_PUT
		                    ? event->value.writer == op->id
		                    : event->is_delete &&
		                              deletion_fits(truth, op, event))) {
			found++;
			truth->explained[event - truth->event] = true;
		}
	}
	return found;
}

static void judge_done(struct truth *truth, const struct hist_op *op,
                       struct check_report *report)
{
	report->writes_ok++;
	if (parts_at(truth, op, op->revision) != op->part_count)
		check_add(report, CHECK_LOST, op->id, op->revision,
		          "%u parts, %u found; its puts are at %" PRId64, op->part_count,
		          parts_at(truth, op, op->revision), truth->applied[op->id])
			->ms = op->end_ms;
}

static bool has_put(const struct hist_op *op)
{
	for (unsigned i = 0; i < op->part_count; i++)
		if (op->part[i].act == HIST_PUT)
			return true;
	return false;
}

/* When the unknown operation only deletes, the deletion that fits and that no other
 * operation explains is its own; compares make it the only one. One that puts as well,
 * and whose puts are nowhere, was not applied: a deletion that it left behind has no
 * writer. */
static int64_t find_deletion(const struct truth *truth, const struct hist_op *op)
{
	if (has_put(op))
		return 0;
	for (unsigned i = 0; i < op->part_count; i++) {
		if (op->part[i].act != HIST_DROP)
			continue;
		for (size_t at = 0; at < truth->count; at++) {
			const struct hist_event *event = &truth->event[at];

			if (event->is_delete && !truth->explained[at] &&
			    event->key == op->part[i].key &&
			    deletion_fits(truth, op, event))
				return event->revision;
		}
	}
	return 0;
}

static void judge_unknown(struct truth *truth, const struct hist_op *op,
                          struct check_report *report)
{
	if (truth->applied[op->id] == 0)
		truth->applied[op->id] = find_deletion(truth, op);
	if (truth->applied[op->id] == 0) {
		report->unknown_not++;
		return;
	}
	report->unknown_applied++;
	if (parts_at(truth, op, truth->applied[op->id]) != op->part_count)
		check_add(report, CHECK_TORN, op->id, truth->applied[op->id],
		          "of %u parts", op->part_count);
}

/* Codes that an operation may end with when the network or the store is disturbed. */
static bool is_trouble(enum pl_code code)
{
	return code == PL_UNAVAIL || code == PL_TIMEOUT || code == PL_NOLEADER ||
	       code == PL_BUSY || code == PL_THROTTLED || code == PL_CANCELED ||
	       code == PL_NOLEASE;
}

static void judge_not_applied(struct truth *truth, const struct hist_op *op,
                              struct check_report *report)
{
	if (truth->applied[op->id] != 0)
		check_add(report, CHECK_PHANTOM, op->id, truth->applied[op->id],
		          "reported as %s",
		          op->outcome == HIST_REFUSED ? "refused"
		                                      : pl_code_name(op->code))
			->ms = op->end_ms;
}

static void judge_refusal(const struct truth *truth, const struct hist_op *op,
                          struct check_report *report)
{
	for (unsigned i = 0; i < op->part_count; i++)
		if (op->part[i].expect != HIST_ANY &&
		    op->part[i].expect != truth_mod(truth, op->part[i].key, op->revision))
			return;
	check_add(report, CHECK_REFUSED, op->id, op->revision, "by revision %" PRId64,
	          op->revision)
		->ms = op->end_ms;
}

static void judge_seen(const struct truth *truth, const struct hist_op *op,
                       struct check_report *report)
{
	for (unsigned i = 0; i < op->part_count; i++) {
		const struct hist_part *part = &op->part[i];
		const struct hist_event *event;
		int64_t mod;

		if (!part->seen)
			continue;
		report->reads++;
		event = truth_last(truth, part->key, op->revision);
		mod = truth_mod(truth, part->key, op->revision);
		if (part->seen_mod != mod ||
		    (mod != 0 && !hist_value_eq(event->value, part->seen_value)))
			check_add(report, CHECK_READ, op->id, op->revision,
			          "key %c/%u seen at %" PRId64 ", was at %" PRId64,
			          (char)hist_class_of(part->key),
			          (unsigned)(part->key & UINT32_MAX), part->seen_mod, mod)
				->ms = op->end_ms;
	}
}

static void judge_answered(struct truth *truth, const struct hist_op *op,
                           struct check_report *report)
{
	switch (op->outcome) {
	case HIST_OPEN:
		check_add(report, CHECK_NO_ANSWER, op->id, 0, "client %u", op->client)
			->ms = op->start_ms;
		break;
	case HIST_OK:
		if (op_writes(op))
			judge_done(truth, op, report);
		judge_seen(truth, op, report);
		break;
	case HIST_REFUSED:
		report->refused++;
		judge_not_applied(truth, op, report);
		judge_refusal(truth, op, report);
		judge_seen(truth, op, report);
		break;
	case HIST_FAILED:
		report->writes_failed += op_writes(op);
		if (!is_trouble(op->code))
			check_add(report, CHECK_ODD, op->id, 0, "%s",
			          pl_code_name(op->code))
				->ms = op->end_ms;
		judge_not_applied(truth, op, report);
		break;
	case HIST_UNKNOWN:
		break;
	}
}

void check_ops(struct truth *truth, struct check_report *report)
{
	const struct hist *hist = truth->hist;

	for (size_t i = 0; i < truth->count; i++)
		if (!truth->event[i].is_delete)
			judge_put(truth, i, report);
	for (size_t i = 0; i < hist->op_count; i++)
		judge_answered(truth, &hist->op[i], report);
	/* After those that are sure of their own deletions. */
	for (size_t i = 0; i < hist->op_count; i++)
		if ((hist->op[i].outcome == HIST_UNKNOWN ||
		     hist->op[i].outcome == HIST_OPEN) &&
		    op_writes(&hist->op[i]))
			judge_unknown(truth, &hist->op[i], report);
}
