/* Samples lie within the text, in order, and are the same when read again. */
#include "store/net/prom.h"
#include "tests/fuzz/fuzz.h"

static bool is_inside(struct pl_span part, const uint8_t *data, size_t size)
{
	return part.at >= data && part.at + part.len <= data + size;
}

static void check_sample(const struct prom_sample *s, const uint8_t *data, size_t size)
{
	PL_ASSERT(s->name.len > 0 && is_inside(s->name, data, size));
	PL_ASSERT(s->label_count <= PROM_LABELS_MAX);
	for (size_t i = 0; i < s->label_count; i++) {
		PL_ASSERT(s->labels[i].name.len > 0);
		PL_ASSERT(is_inside(s->labels[i].name, data, size));
		PL_ASSERT(is_inside(s->labels[i].value, data, size));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct prom_reader reader;
	struct prom_sample sample;
	struct pl_err err = {0};
	size_t left = size;
	enum pl_code code;

	prom_init(&reader, pl_span(data, size));
	while ((code = prom_next(&reader, &sample, &err)) == PL_OK) {
		check_sample(&sample, data, size);
		PL_ASSERT(reader.rest.len < left);
		left = reader.rest.len;
	}
	PL_ASSERT(code == PL_NOTFOUND || (code == PL_INVALID && err.code == code));
	return 0;
}
