/* No compaction of ours goes past a pin that stands. */
#include <inttypes.h>

#include "tests/sim/proc.h"

struct state {
	int64_t last;
};

static void see(struct world *world, void *me, const struct obs *obs)
{
	struct state *state = me;

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

const struct check check_pin = {"pin", sizeof(struct state), see, NULL};
