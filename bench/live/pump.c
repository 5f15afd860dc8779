#include "bench/live/pump.h"

#include <stdlib.h>

#include "bench/common/report.h"
#include "store/base/clock.h"

struct pump_slot {
	struct pump *pump;
	unsigned number;
	uint64_t sent_ns;
	bool busy;
};

static void slot_send(struct pump_slot *slot);

static void on_answer(void *ctx, const struct kv_result *result, const struct pl_err *err)
{
	struct pump_slot *slot = ctx;
	struct pump *pump = slot->pump;

	bench_check(err == NULL ? PL_OK : err->code, err, "a call of the bench");
	slot->busy = false;
	pump->calls++;
	if (pump->latency != NULL)
		samples_add(pump->latency, pl_clock_ns() - slot->sent_ns);
	if (pump->answered != NULL)
		pump->answered(pump->ctx, slot->number, result);
	slot_send(slot);
}

static void slot_send(struct pump_slot *slot)
{
	struct pump *pump = slot->pump;
	struct kv_req req;
	struct pl_err err = {0};

	slot->sent_ns = pl_clock_ns();
	if (pump->seconds > 0 &&
	    (double)(slot->sent_ns - pump->measure.start_ns) / 1e9 >= pump->seconds)
		return;
	pl_arena_reset(&pump->live->arena);
	if (!pump->next(pump->ctx, slot->number, &req))
		return;
	bench_check(kv_start(pump->live->kv, &req, LIVE_TIMEOUT_MS, on_answer, slot, NULL,
	                     &err),
	            &err, "start a call");
	slot->busy = true;
}

static bool any_busy(const struct pump_slot *slots, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (slots[i].busy)
			return true;
	return false;
}

void pump_run(struct pump *pump)
{
	struct pump_slot *slots = bench_alloc(pump->inflight, sizeof *slots);

	pump->calls = 0;
	meter_start(&pump->measure, pump->live);
	for (unsigned i = 0; i < pump->inflight; i++) {
		slots[i] = (struct pump_slot){.pump = pump, .number = i};
		slot_send(&slots[i]);
	}
	while (any_busy(slots, pump->inflight))
		(void)uv_run(&pump->live->loop, UV_RUN_ONCE);
	meter_end(&pump->measure, pump->live);
	free(slots);
}
