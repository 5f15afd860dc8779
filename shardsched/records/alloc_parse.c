/*
 * Reads an alloc. The value is checked as a whole, so the code that uses it can rely on
 * its order and its bounds.
 */
#include <inttypes.h>

#include "shardsched/records/alloc.h"
#include "shardsched/records/value_reader.h"
#include "shardsched/records/value_writer.h"
#include "store/keys/keys.h"
#include "store/keys/names.h"

/* -- amounts ----------------------------------------------------------------------- */

/* Zeros are left out. */
static int64_t some_of(struct value_reader *in, struct pl_json value, const char *unit)
{
	int64_t amount = value_reader_amount(in, value, unit, 0);

	if (amount == 0)
		value_reader_refuse(in, value, "want more than 0, or nothing");
	return amount;
}

static bool read_fixed(struct value_reader *in, struct pl_json value,
                       struct alloc_amounts *out)
{
	struct pl_span name = pl_span_str(pl_json_key(value));

	if (pl_span_eq(name, PL_SPAN_LIT("cpu")))
		out->cpu_milli = some_of(in, value, "m");
	else if (pl_span_eq(name, PL_SPAN_LIT("memory")))
		out->memory = some_of(in, value, "");
	else if (pl_span_eq(name, PL_SPAN_LIT("ephemeral-storage")))
		out->storage = some_of(in, value, "");
	else if (pl_span_eq(name, PL_SPAN_LIT("pods")))
		out->pods = some_of(in, value, "");
	else
		return false;
	return true;
}

static void read_scalar(struct value_reader *in, struct pl_json value,
                        struct alloc_scalar *scalar, bool first)
{
	struct pl_span name = pl_span_str(pl_json_key(value));

	if (name.len == 0 || name.len > ALLOC_WORD_MAX || !text_is(name, TEXT_PLAIN))
		value_reader_refuse(in, value, "no resource has that name");
	if (!first && pl_span_cmp(scalar[-1].name, name) >= 0)
		value_reader_refuse(in, value,
		                    "want resources in the order of their names");
	*scalar = (struct alloc_scalar){.name = name, .amount = some_of(in, value, "")};
}

static void read_used(struct value_reader *in, struct pl_json used,
                      struct alloc_amounts *out)
{
	struct alloc_scalar *scalar = value_reader_alloc(
		in, value_reader_length(in, used, ALLOC_SCALARS_MAX + 4), sizeof *scalar);

	PL_JSON_EACH (value, used) {
		if (in->code != PL_OK)
			return;
		if (read_fixed(in, value, out))
			continue;
		read_scalar(in, value, &scalar[out->scalars], out->scalars == 0);
		out->scalars++;
	}
	if (out->scalars > ALLOC_SCALARS_MAX)
		in->code = pl_json_fail(used, PL_LIMIT, in->err, "too many resources");
	out->scalar = out->scalars == 0 ? NULL : scalar;
}

static void read_amounts(struct value_reader *in, struct pl_json object,
                         struct alloc_amounts *out)
{
	struct pl_json nonzero, value;

	*out = (struct alloc_amounts){0};
	read_used(in, value_reader_object(in, object, "used"), out);
	nonzero = value_reader_object(in, object, "nonzero");
	value = pl_json_member(nonzero, "cpu");
	out->nonzero_cpu_milli = value.node == NULL
	                                 ? out->cpu_milli
	                                 : value_reader_amount(in, value, "m", 0);
	value = pl_json_member(nonzero, "memory");
	out->nonzero_memory =
		value.node == NULL ? out->memory : value_reader_amount(in, value, "", 0);
}

/* -- ports ------------------------------------------------------------------------- */

/* Cuts off the text before the first slash, or behind the last one; the rest stays. */
static bool cut_port(struct pl_span text, struct alloc_port *out)
{
	const uint8_t *slash = memchr(text.at, '/', text.len);
	const uint8_t *last = memrchr(text.at, '/', text.len);

	if (slash == NULL || slash == last ||
	    memchr(slash + 1, '/', (size_t)(last - slash - 1)) != NULL)
		return false;
	out->protocol = pl_span(text.at, (size_t)(slash - text.at));
	out->ip = pl_span(slash + 1, (size_t)(last - slash - 1));
	return out->protocol.len > 0 && out->protocol.len <= ALLOC_WORD_MAX &&
	       out->ip.len > 0 && out->ip.len <= ALLOC_WORD_MAX &&
	       text_is(text, TEXT_PLAIN) &&
	       pl_num_port(pl_span(last + 1, (size_t)(text.at + text.len - last - 1)),
	                   &out->port, NULL) == PL_OK;
}

static void read_ports(struct value_reader *in, struct pl_json root, struct alloc *out)
{
	struct pl_json list = value_reader_array(in, root, "ports");
	uint32_t count = value_reader_length(in, list, ALLOC_PORTS_MAX);
	struct alloc_port *port = value_reader_alloc(in, count, sizeof *port);

	out->port = port;
	PL_JSON_EACH (value, list) {
		struct pl_span text = value_reader_string(in, value);

		if (in->code != PL_OK)
			return;
		if (text.len == 0 || !cut_port(text, port)) {
			value_reader_refuse(in, value,
			                    "want a port like \"TCP/0.0.0.0/80\"");
			return;
		}
		if (out->ports > 0 && alloc_port_cmp(port - 1, port) >= 0)
			value_reader_refuse(in, value, "want ports in order");
		out->ports++;
		port++;
	}
}

/* -- pods -------------------------------------------------------------------------- */

static struct pl_span name_of(struct value_reader *in, struct pl_json value,
                              enum names_kind kind, const char *text)
{
	struct pl_err why = {0};

	if (in->code == PL_OK && names_check(kind, pl_span_str(text), &why) != PL_OK)
		value_reader_refuse(in, value, "%s", why.msg);
	return pl_span_str(text);
}

static uint32_t partition_of(struct value_reader *in, struct pl_json value)
{
	const char *text = pl_json_key(value);
	uint32_t partition = 0;
	bool good = strlen(text) == 4;

	for (unsigned i = 0; good && i < 4; i++) {
		good = text[i] >= '0' && text[i] <= '9';
		partition = partition * 10 + (uint32_t)(text[i] - '0');
	}
	if (!good || partition >= KEYS_PARTITIONS_MAX)
		value_reader_refuse(in, value, "want a partition of four digits");
	return partition;
}

/* Lists of pods in both levels of objects; counted first. */
static uint32_t count_pods(struct value_reader *in, struct pl_json root)
{
	size_t count = 0;

	PL_JSON_EACH (partition, root) {
		value_reader_type(in, partition, PL_JSON_OBJECT);
		PL_JSON_EACH (namespace, partition) {
			value_reader_type(in, namespace, PL_JSON_ARRAY);
			count += pl_json_count(namespace);
		}
	}
	if (in->code != PL_OK || count <= ALLOC_PODS_MAX)
		return (uint32_t)count;
	in->code =
		pl_json_fail(root, PL_LIMIT, in->err, "want at most %d", ALLOC_PODS_MAX);
	return 0;
}

static void read_pod(struct value_reader *in, struct pl_json value, struct alloc_pod *pod,
                     bool first)
{
	struct pl_span name = value_reader_string(in, value);

	if (in->code != PL_OK)
		return;
	pod->name = name_of(in, value, NAMES_POD, (const char *)name.at);
	if (!first && alloc_pod_cmp(pod - 1, pod) >= 0)
		value_reader_refuse(in, value, "want pods in order");
}

static uint32_t read_namespace(struct value_reader *in, struct pl_json list,
                               struct alloc_pod *pods, uint32_t count)
{
	struct alloc_pod pod = {.partition = pods[count].partition};

	pod.namespace = name_of(in, list, NAMES_NAMESPACE, pl_json_key(list));
	PL_JSON_EACH (value, list) {
		if (in->code != PL_OK)
			return count;
		pods[count] = pod;
		read_pod(in, value, &pods[count], count == 0);
		count++;
	}
	return count;
}

/* How many; NULL when none are there. */
static uint32_t read_pods(struct value_reader *in, struct pl_json object,
                          struct alloc_pod **out)
{
	uint32_t most = count_pods(in, object), count = 0;
	struct alloc_pod *pods = value_reader_alloc(in, (size_t)most + 1, sizeof *pods);

	PL_JSON_EACH (partition, object) {
		uint32_t number = partition_of(in, partition);

		PL_JSON_EACH (namespace, partition) {
			if (in->code != PL_OK)
				return count;
			pods[count].partition = number;
			count = read_namespace(in, namespace, pods, count);
		}
	}
	*out = count == 0 ? NULL : pods;
	return count;
}

/* Both lists are in order. */
static void read_leaving(struct value_reader *in, struct pl_json root,
                         struct alloc_pod *pods, uint32_t count)
{
	struct pl_json object = value_reader_object(in, root, "leaving");
	struct alloc_pod *leaving = NULL;
	uint32_t at = 0, all;

	if (pl_json_count(object) == 0)
		return;
	all = read_pods(in, object, &leaving);
	for (uint32_t i = 0; in->code == PL_OK && i < all; i++) {
		while (at < count && alloc_pod_cmp(&pods[at], &leaving[i]) < 0)
			at++;
		if (at == count || alloc_pod_cmp(&pods[at], &leaving[i]) != 0)
			value_reader_refuse(in, object, "want pods that are listed");
		else
			pods[at].leaving = true;
	}
}

static void read_all_pods(struct value_reader *in, struct pl_json root, struct alloc *out)
{
	struct alloc_pod *pods = NULL;

	out->pods = read_pods(in, value_reader_object(in, root, "pods"), &pods);
	out->pod = pods;
	read_leaving(in, root, pods, out->pods);
}

/* -- holds ------------------------------------------------------------------------- */

static enum alloc_reservation_kind kind_of(struct value_reader *in, struct pl_json hold)
{
	struct pl_span word = value_reader_word(in, hold, "kind");

	for (unsigned i = 0; i < ALLOC_RESERVATION_KINDS; i++)
		if (pl_span_eq(word, pl_span_str(alloc_reservation_word(
					     (enum alloc_reservation_kind)i))))
			return (enum alloc_reservation_kind)i;
	value_reader_refuse(in, pl_json_member(hold, "kind"),
	                    "no reservation has that kind");
	return ALLOC_RESERVATION_GANG;
}

static uint32_t read_at(struct value_reader *in, struct pl_json hold)
{
	uint64_t at = value_reader_number(in, hold, "at");

	if (at < KEYS_PARTITIONS_MAX)
		return (uint32_t)at;
	value_reader_refuse(in, pl_json_member(hold, "at"), "no such partition");
	return 0;
}

static void read_reservation(struct value_reader *in, struct pl_json value,
                             struct alloc_reservation *hold)
{
	struct pl_span namespace, name;

	value_reader_type(in, value, PL_JSON_OBJECT);
	hold->kind = kind_of(in, value);
	namespace = value_reader_word(in, value, "namespace");
	name = value_reader_word(in, value, "name");
	if (in->code != PL_OK)
		return;
	hold->namespace = name_of(in, pl_json_member(value, "namespace"), NAMES_NAMESPACE,
	                          (const char *)namespace.at);
	hold->name =
		name_of(in, pl_json_member(value, "name"),
	                hold->kind == ALLOC_RESERVATION_GANG ? NAMES_GANG : NAMES_POD,
	                (const char *)name.at);
	if (hold->kind == ALLOC_RESERVATION_NOMINATED)
		hold->partition = read_at(in, value);
	read_amounts(in, value, &hold->used);
	hold->until_ms = value_reader_stamp(in, value, "until");
}

static void read_reservations(struct value_reader *in, struct pl_json root,
                              struct alloc *out)
{
	struct pl_json list = value_reader_array(in, root, "holds");
	struct alloc_reservation *hold = value_reader_alloc(
		in, value_reader_length(in, list, ALLOC_RESERVATIONS_MAX), sizeof *hold);

	out->hold = hold;
	PL_JSON_EACH (value, list) {
		if (in->code != PL_OK)
			return;
		read_reservation(in, value, hold);
		if (out->holds > 0 && alloc_reservation_cmp(hold - 1, hold) >= 0)
			value_reader_refuse(in, value, "want holds in order");
		out->holds++;
		hold++;
	}
}

/* The next writer adds to the counter. */
static void check_counter(struct value_reader *in, struct pl_json root, const char *name,
                          uint64_t count)
{
	if (count > ALLOC_COUNT_MAX)
		value_reader_refuse(in, pl_json_member(root, name),
		                    "want at most %" PRIu64, ALLOC_COUNT_MAX);
}

enum pl_code alloc_parse(struct pl_span value, struct pl_arena *arena, struct alloc *out,
                         struct pl_err *err)
{
	struct value_reader in;
	struct pl_json root = value_reader_begin(&in, arena, value, ALLOC_BYTES_MAX, err);
	struct alloc alloc = {.generation = value_reader_number(&in, root, "generation"),
	                      .left = value_reader_count(&in, root, "left")};

	check_counter(&in, root, "generation", alloc.generation);
	check_counter(&in, root, "left", alloc.left);
	read_amounts(&in, root, &alloc.used);
	read_ports(&in, root, &alloc);
	read_all_pods(&in, root, &alloc);
	read_reservations(&in, root, &alloc);
	if (in.code == PL_OK)
		*out = alloc;
	return in.code;
}
