/* A quantity that is accepted reads back from how it prints, and its roundings
 * never take anything away. */
#include "store/base/quantity.h"
#include "tests/fuzz/fuzz.h"

static void check_rounding(struct pl_quantity quantity)
{
	pl_int128 nano = quantity.nano, units = pl_quantity_units(quantity), more;
	int64_t milli = 0;

	more = units * 1000000000 - nano;
	PL_ASSERT(nano >= 0 ? more >= 0 && more < 1000000000
	                    : more <= 0 && more > -1000000000);
	if (pl_quantity_milli(quantity, &milli, NULL) != PL_OK)
		return;
	more = (pl_int128)milli * 1000000 - nano;
	PL_ASSERT(nano >= 0 ? more >= 0 && more < 1000000 : more <= 0 && more > -1000000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pl_err err = {0};
	struct pl_quantity one = {0}, two = {0};
	char text[PL_QUANTITY_TEXT_SIZE];
	enum pl_code code = pl_quantity_parse(pl_span(data, size), &one, &err);

	PL_ASSERT(code == err.code);
	if (code != PL_OK)
		return 0;
	check_rounding(one);
	code = pl_quantity_parse(pl_span_str(pl_quantity_print(one, text)), &two, NULL);
	PL_ASSERT(strlen(text) < sizeof text);
	PL_ASSERT(code == PL_OK);
	/* Binary ones are printed in whole units. */
	PL_ASSERT(one.nano == two.nano ||
	          (one.form == PL_QUANTITY_BINARY &&
	           pl_quantity_units(one) == pl_quantity_units(two)));
	return 0;
}
