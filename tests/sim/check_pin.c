/* No compaction of the janitor passes a pin. */
#include <inttypes.h>

#include "tests/sim/proc.h"

struct pin_state {
	int64_t last;
};

static void observe(struct world *world, void *me, const struct obs *obs)
{
	struct pin_state *state = me;

	if (obs->what != OBS_COMPACT)
		return;
	state->last = obs->revision;
	for (unsigned i = 0; i < TRUTH_PINS_MAX; i++) {
		const struct truth_pin *pin = &world->truth.pin[i];

		if (pin->revision != 0 && obs->revision > pin->revision)
			check_fail(world, "pin",
			           "compacted to %" PRId64 ", past %s at %" PRId64,
			           obs->revision, pin->key, pin->revision);
	}
}

const struct check check_pin = {"pin", sizeof(struct pin_state), observe, NULL};
