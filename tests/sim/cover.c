#include "tests/sim/cover.h"

#include <inttypes.h>
#include <stdbool.h>

#define COVER_TEXT(name, text, wanted) [COVER_##name] = (text),
#define COVER_WANTED(name, text, wanted) [COVER_##name] = (wanted),

static const char *const texts[COVER_COUNT] = {COVER_MAP(COVER_TEXT)};
static const bool wanted[COVER_COUNT] = {COVER_MAP(COVER_WANTED)};

void cover_add(struct cover *to, const struct cover *from)
{
	for (unsigned i = 0; i < COVER_COUNT; i++) {
		to->count[i] += from->count[i];
		to->seeds[i] +=
			from->seeds[i] + (from->seeds[i] == 0 && from->count[i] != 0);
	}
	to->sim_ms += from->sim_ms;
	to->items += from->items;
}

void cover_print(const struct cover *cover, FILE *out)
{
	(void)fprintf(out, "%12s %8s\n", "times", "seeds");
	for (unsigned i = 0; i < COVER_COUNT; i++)
		(void)fprintf(out, "%12" PRIu64 " %8" PRIu64 "  %s\n", cover->count[i],
		              cover->seeds[i], texts[i]);
}

unsigned cover_missing(const struct cover *cover, FILE *out)
{
	unsigned missing = 0;

	for (unsigned i = 0; i < COVER_COUNT; i++) {
		if (!wanted[i] || cover->count[i] != 0)
			continue;
		missing++;
		(void)fprintf(out, "never happened: %s\n", texts[i]);
	}
	return missing;
}
