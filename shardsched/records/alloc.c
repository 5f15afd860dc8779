/* Printing. The value is written in one pass, without a look at what it will need. */
#include "shardsched/records/alloc.h"

#include "shardsched/records/value_writer.h"
#include "store/keys/keys.h"

#define EXACT_MAX ((UINT64_C(1) << 53) - 1)

const char *alloc_reservation_word(enum alloc_reservation_kind kind)
{
	switch (kind) {
	case ALLOC_RESERVATION_GANG:
		return "gang";
	case ALLOC_RESERVATION_NOMINATED:
		return "nominated";
	case ALLOC_RESERVATION_KINDS:
		break;
	}
	PL_UNREACHABLE("kind of reservation");
}

int alloc_pod_cmp(const struct alloc_pod *a, const struct alloc_pod *b)
{
	int order = pl_span_cmp(a->namespace, b->namespace);

	if (a->partition != b->partition)
		return a->partition < b->partition ? -1 : 1;
	return order != 0 ? order : pl_span_cmp(a->name, b->name);
}

int alloc_reservation_cmp(const struct alloc_reservation *a,
                          const struct alloc_reservation *b)
{
	int order = pl_span_cmp(a->namespace, b->namespace);

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return order != 0 ? order : pl_span_cmp(a->name, b->name);
}

int alloc_port_cmp(const struct alloc_port *a, const struct alloc_port *b)
{
	int order = pl_span_cmp(a->protocol, b->protocol);

	if (order == 0)
		order = pl_span_cmp(a->ip, b->ip);
	return order != 0 ? order : (a->port > b->port) - (a->port < b->port);
}

/* -- amounts ----------------------------------------------------------------------- */

static void put_amount(struct value_writer *out, int64_t amount)
{
	if (amount < 0)
		value_writer_fail(out, PL_INVALID);
	else
		value_writer_number(out, (uint64_t)amount);
}

static void put_milli(struct value_writer *out, int64_t amount)
{
	VALUE_WRITER_LIT(out, "\"cpu\":\"");
	put_amount(out, amount);
	VALUE_WRITER_LIT(out, "m\",");
}

#define PUT_UNITS(out, name, amount)                      \
	do {                                              \
		VALUE_WRITER_LIT(out, "\"" name "\":\""); \
		put_amount(out, amount);                  \
		VALUE_WRITER_LIT(out, "\",");             \
	} while (0)

static void put_scalars(struct value_writer *out, const struct alloc_amounts *amounts)
{
	for (uint32_t i = 0; i < amounts->scalars; i++) {
		const struct alloc_scalar *scalar = &amounts->scalar[i];

		PL_ASSERT(i == 0 || pl_span_cmp(scalar[-1].name, scalar->name) < 0);
		if (scalar->amount == 0 || scalar->name.len > ALLOC_WORD_MAX)
			value_writer_fail(out, PL_INVALID);
		VALUE_WRITER_LIT(out, "\"");
		value_writer_word(out, scalar->name, TEXT_PLAIN);
		VALUE_WRITER_LIT(out, "\":\"");
		put_amount(out, scalar->amount);
		VALUE_WRITER_LIT(out, "\",");
	}
}

static void put_used(struct value_writer *out, const struct alloc_amounts *amounts)
{
	if ((amounts->cpu_milli | amounts->memory | amounts->storage | amounts->pods |
	     amounts->scalars) == 0)
		return;
	VALUE_WRITER_LIT(out, "\"used\":{");
	if (amounts->cpu_milli != 0)
		put_milli(out, amounts->cpu_milli);
	if (amounts->memory != 0)
		PUT_UNITS(out, "memory", amounts->memory);
	if (amounts->storage != 0)
		PUT_UNITS(out, "ephemeral-storage", amounts->storage);
	if (amounts->pods != 0)
		PUT_UNITS(out, "pods", amounts->pods);
	put_scalars(out, amounts);
	value_writer_close(out, '}');
}

static void put_nonzero(struct value_writer *out, const struct alloc_amounts *amounts)
{
	bool cpu = amounts->nonzero_cpu_milli != amounts->cpu_milli;
	bool memory = amounts->nonzero_memory != amounts->memory;

	if (!cpu && !memory)
		return;
	VALUE_WRITER_LIT(out, "\"nonzero\":{");
	if (cpu)
		put_milli(out, amounts->nonzero_cpu_milli);
	if (memory)
		PUT_UNITS(out, "memory", amounts->nonzero_memory);
	value_writer_close(out, '}');
}

static void put_amounts(struct value_writer *out, const struct alloc_amounts *amounts)
{
	if (amounts->scalars > ALLOC_SCALARS_MAX) {
		value_writer_fail(out, PL_LIMIT);
		return;
	}
	put_used(out, amounts);
	put_nonzero(out, amounts);
}

/* -- ports, pods, holds ------------------------------------------------------------ */

static bool is_word(struct pl_span text)
{
	return text.len <= ALLOC_WORD_MAX && memchr(text.at, '/', text.len) == NULL;
}

static void put_ports(struct value_writer *out, const struct alloc *alloc)
{
	if (alloc->ports == 0)
		return;
	VALUE_WRITER_LIT(out, "\"ports\":[");
	for (uint32_t i = 0; i < alloc->ports; i++) {
		const struct alloc_port *port = &alloc->port[i];

		PL_ASSERT(i == 0 || alloc_port_cmp(port - 1, port) < 0);
		VALUE_WRITER_LIT(out, "\"");
		value_writer_word(out, port->protocol, TEXT_PLAIN);
		VALUE_WRITER_LIT(out, "/");
		value_writer_word(out, port->ip, TEXT_PLAIN);
		VALUE_WRITER_LIT(out, "/");
		value_writer_number(out, port->port);
		VALUE_WRITER_LIT(out, "\",");
		if (out->code == PL_OK &&
		    (port->port == 0 || !is_word(port->protocol) || !is_word(port->ip)))
			value_writer_fail(out, PL_INVALID);
	}
	value_writer_close(out, ']');
}

/* {"0007":{"web":[ */
static void open_partition(struct value_writer *out, uint32_t partition)
{
	char text[] = "\"0000\":{";

	if (partition >= KEYS_PARTITIONS_MAX)
		value_writer_fail(out, PL_INVALID);
	for (unsigned i = 4; i > 0; i--, partition /= 10)
		text[i] = (char)('0' + partition % 10);
	value_writer_raw(out, text, sizeof text - 1);
}

static void open_namespace(struct value_writer *out, struct pl_span namespace)
{
	VALUE_WRITER_LIT(out, "\"");
	value_writer_word(out, namespace, TEXT_NAME);
	VALUE_WRITER_LIT(out, "\":[");
}

/* Closes what ends with last, and opens what begins with pod. */
static void turn_to(struct value_writer *out, const struct alloc_pod *last,
                    const struct alloc_pod *pod)
{
	bool partition = last == NULL || last->partition != pod->partition;

	if (!partition && pl_span_eq(last->namespace, pod->namespace))
		return;
	if (last != NULL)
		value_writer_close(out, ']');
	if (last != NULL && partition)
		value_writer_close(out, '}');
	if (partition)
		open_partition(out, pod->partition);
	open_namespace(out, pod->namespace);
}

static uint32_t put_pod(struct value_writer *out, const struct alloc_pod *last,
                        const struct alloc_pod *pod)
{
	PL_ASSERT(last == NULL || alloc_pod_cmp(last, pod) < 0);
	turn_to(out, last, pod);
	VALUE_WRITER_LIT(out, "\"");
	value_writer_word(out, pod->name, TEXT_NAME);
	VALUE_WRITER_LIT(out, "\",");
	return pod->leaving;
}

static void close_pods(struct value_writer *out)
{
	value_writer_close(out, ']');
	value_writer_close(out, '}');
	value_writer_close(out, '}');
}

static void put_pods(struct value_writer *out, const struct alloc *alloc)
{
	const struct alloc_pod *last = NULL;
	uint32_t leaving = 0;

	if (alloc->pods == 0)
		return;
	VALUE_WRITER_LIT(out, "\"pods\":{");
	for (uint32_t i = 0; i < alloc->pods; last = &alloc->pod[i++])
		leaving += put_pod(out, last, &alloc->pod[i]);
	close_pods(out);
	if (leaving == 0)
		return;
	last = NULL;
	VALUE_WRITER_LIT(out, "\"leaving\":{");
	for (uint32_t i = 0; i < alloc->pods; i++) {
		if (!alloc->pod[i].leaving)
			continue;
		(void)put_pod(out, last, &alloc->pod[i]);
		last = &alloc->pod[i];
	}
	close_pods(out);
}

static void put_at(struct value_writer *out, uint32_t partition)
{
	if (partition >= KEYS_PARTITIONS_MAX)
		value_writer_fail(out, PL_INVALID);
	VALUE_WRITER_LIT(out, "\"at\":");
	value_writer_number(out, partition);
	VALUE_WRITER_LIT(out, ",");
}

static void put_reservation(struct value_writer *out,
                            const struct alloc_reservation *hold)
{
	const char *kind = alloc_reservation_word(hold->kind);

	VALUE_WRITER_LIT(out, "{\"kind\":\"");
	value_writer_raw(out, kind, strlen(kind));
	VALUE_WRITER_LIT(out, "\",\"namespace\":\"");
	value_writer_word(out, hold->namespace, TEXT_NAME);
	VALUE_WRITER_LIT(out, "\",\"name\":\"");
	value_writer_word(out, hold->name, TEXT_NAME);
	VALUE_WRITER_LIT(out, "\",");
	if (hold->kind == ALLOC_RESERVATION_NOMINATED)
		put_at(out, hold->partition);
	put_amounts(out, &hold->used);
	VALUE_WRITER_LIT(out, "\"until\":");
	value_writer_stamp(out, hold->until_ms);
	value_writer_close(out, '}');
}

static void put_reservations(struct value_writer *out, const struct alloc *alloc)
{
	if (alloc->holds == 0)
		return;
	VALUE_WRITER_LIT(out, "\"holds\":[");
	for (uint32_t i = 0; i < alloc->holds; i++) {
		PL_ASSERT(i == 0 || alloc_reservation_cmp(&alloc->hold[i - 1],
		                                          &alloc->hold[i]) < 0);
		put_reservation(out, &alloc->hold[i]);
	}
	value_writer_close(out, ']');
}

static void put_counter(struct value_writer *out, uint64_t number)
{
	if (number > INT64_MAX)
		value_writer_fail(out, PL_INVALID);
	if (number > EXACT_MAX)
		VALUE_WRITER_LIT(out, "\"");
	value_writer_number(out, number);
	if (number > EXACT_MAX)
		VALUE_WRITER_LIT(out, "\"");
	VALUE_WRITER_LIT(out, ",");
}

static void put_counters(struct value_writer *out, const struct alloc *alloc)
{
	VALUE_WRITER_LIT(out, "{\"v\":1,\"generation\":");
	put_counter(out, alloc->generation);
	if (alloc->left == 0)
		return;
	VALUE_WRITER_LIT(out, "\"left\":");
	put_counter(out, alloc->left);
}

enum pl_code alloc_print(const struct alloc *alloc, struct pl_buf *buf,
                         struct pl_err *err)
{
	struct value_writer out;
	enum pl_code code;

	if (alloc->pods > ALLOC_PODS_MAX || alloc->holds > ALLOC_RESERVATIONS_MAX ||
	    alloc->ports > ALLOC_PORTS_MAX)
		return pl_err_set(err, PL_LIMIT,
		                  "alloc: %u pods, %u reservations, %u ports",
		                  alloc->pods, alloc->holds, alloc->ports);
	value_writer_begin(&out, buf);
	put_counters(&out, alloc);
	put_amounts(&out, &alloc->used);
	put_ports(&out, alloc);
	put_pods(&out, alloc);
	put_reservations(&out, alloc);
	value_writer_close(&out, '}');
	code = value_writer_end(&out, ALLOC_BYTES_MAX);
	return code == PL_OK ? PL_OK
	                     : pl_err_set(err, code, "alloc of %u pods: %s", alloc->pods,
	                                  pl_code_name(code));
}
