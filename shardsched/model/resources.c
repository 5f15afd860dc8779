#include "shardsched/model/resources.h"

intern_release_fn resources_release;

static struct resource_sum *sum_of(struct resource_sums *sums, struct pl_span name)
{
	for (uint32_t i = 0; i < sums->count; i++)
		if (pl_span_eq(sums->at[i].name, name))
			return &sums->at[i];
	if (sums->count == RESOURCE_NAMES_MAX)
		return NULL;
	sums->at[sums->count] = (struct resource_sum){.name = name};
	return &sums->at[sums->count++];
}

bool resource_sums_add(struct resource_sums *sums, struct pl_span name, pl_int128 nano)
{
	struct resource_sum *sum = sum_of(sums, name);

	/* each amount is at most 2^93 and there are fewer than 2^30: the sum stays below
	 * 2^127 */
	if (sum != NULL)
		sum->nano += nano;
	return sum != NULL;
}

bool resource_sums_max(struct resource_sums *sums, struct pl_span name, pl_int128 nano)
{
	struct resource_sum *sum = sum_of(sums, name);

	if (sum != NULL && sum->nano < nano)
		sum->nano = nano;
	return sum != NULL;
}

pl_int128 resource_sums_get(const struct resource_sums *sums, struct pl_span name)
{
	for (uint32_t i = 0; i < sums->count; i++)
		if (pl_span_eq(sums->at[i].name, name))
			return sums->at[i].nano;
	return 0;
}

static bool divide_up(pl_int128 nano, pl_int128 by, int64_t *out)
{
	pl_int128 units = nano <= 0 ? 0 : (nano + by - 1) / by;

	*out = units > RESOURCES_MOST ? RESOURCES_MOST : (int64_t)units;
	return units <= RESOURCES_MOST;
}

bool resource_units(pl_int128 nano, int64_t *out)
{
	return divide_up(nano, 1000000000, out);
}

bool resource_milli(pl_int128 nano, int64_t *out)
{
	return divide_up(nano, 1000000, out);
}

/* The field of a resource that has one; else NULL. */
static int64_t *row_place(struct resources *made, struct pl_span name)
{
	if (pl_span_eq(name, PL_SPAN_LIT("memory")))
		return &made->memory;
	if (pl_span_eq(name, PL_SPAN_LIT("ephemeral-storage")))
		return &made->storage;
	return pl_span_eq(name, PL_SPAN_LIT("pods")) ? &made->pods : NULL;
}

static void insert_row(struct resources *made, struct resource_row row)
{
	uint64_t at = made->count++;

	for (; at > 0 && made->row[at - 1].name > row.name; at--)
		made->row[at] = made->row[at - 1];
	made->row[at] = row;
}

static void put_sum(struct maker *maker, struct resources *made,
                    const struct resource_sum *sum, bool zeros)
{
	int64_t *place = row_place(made, sum->name), amount = 0;

	if (pl_span_eq(sum->name, PL_SPAN_LIT("cpu"))) {
		(void)resource_milli(sum->nano, &made->cpu_milli);
		return;
	}
	(void)resource_units(sum->nano, &amount);
	if (place != NULL)
		*place = amount;
	else if ((zeros || amount != 0) && resource_is_scalar(sum->name))
		insert_row(made,
		           (struct resource_row){.amount = amount,
		                                 .name = maker_text(maker, sum->name)});
}

const struct resources *resources_make(struct maker *maker,
                                       const struct resource_sums *sums, bool zeros)
{
	struct resources *made;
	size_t size = sizeof *made + sums->count * sizeof made->row[0];

	made = maker_alloc(maker, size);
	if (made == NULL)
		return NULL;
	for (uint32_t i = 0; i < sums->count; i++)
		put_sum(maker, made, &sums->at[i], zeros);
	size = sizeof *made + made->count * sizeof made->row[0];
	return maker_intern(maker, MODEL_RESOURCES, made, size);
}

void resources_release(struct model *model, const struct intern_item *value)
{
	const struct resources *resources =
		PL_CONTAINER_OF_CONST(value, struct resources, item);

	for (uint64_t i = 0; i < resources->count; i++)
		strings_unref(&model->strings, resources->row[i].name);
}

int64_t resources_get(const struct resources *resources, uint32_t name)
{
	for (uint64_t i = 0; resources != NULL && i < resources->count; i++)
		if (resources->row[i].name == name)
			return resources->row[i].amount;
	return 0;
}
