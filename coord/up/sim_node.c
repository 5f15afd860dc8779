#include <inttypes.h>
#include <stdio.h>

#include "coord/up/sim_profile.h"
#include "store/base/json_out.h"
#include "store/base/rng.h"

enum { TEXT_SIZE = 300 };

struct sim_place {
	const struct sim_zone *zone;
	const struct sim_shape *shape;
	uint64_t rack;
};

static struct sim_place choose_place(const struct sim_profile *profile, uint64_t seed,
                                     uint64_t number)
{
	struct sim_place place = {.zone = profile->zone, .shape = profile->shape};
	struct pl_rng rng;
	uint64_t left;

	/* Each node has a random sequence of its own, far from the others. */
	pl_rng_init(&rng, seed ^ (number * UINT64_C(0x9e3779b97f4a7c15)));
	left = pl_rng_below(&rng, profile->zone_weight);
	while (left >= (uint64_t)place.zone->weight)
		left -= (uint64_t)place.zone++->weight;
	left = pl_rng_below(&rng, profile->shape_weight);
	while (left >= (uint64_t)place.shape->weight)
		left -= (uint64_t)place.shape++->weight;
	place.rack = pl_rng_below(&rng, (uint64_t)place.zone->racks);
	return place;
}

size_t sim_node_name(const struct sim_profile *profile, uint64_t number,
                     char out[SIM_NAME_SIZE])
{
	return (size_t)snprintf(out, SIM_NAME_SIZE, "%.200s-%06" PRIu64, profile->prefix,
	                        number);
}

static void print_member(struct pl_json_out *out, const char *name, const char *value)
{
	pl_json_out_name(out, name);
	pl_json_out_str(out, value);
}

static void print_pairs(struct pl_json_out *out, const struct sim_pairs *pairs)
{
	for (uint32_t i = 0; i < pairs->count; i++)
		print_member(out, pairs->at[i].name, pairs->at[i].value);
}

static void print_labels(struct pl_json_out *out, const struct sim_profile *profile,
                         const struct sim_place *place, const char *name)
{
	char rack[TEXT_SIZE];

	(void)snprintf(rack, sizeof rack, "%.200s-%" PRIu64, place->zone->name,
	               place->rack);
	pl_json_out_name(out, "labels");
	pl_json_out_object(out);
	print_member(out, "kubernetes.io/hostname", name);
	print_member(out, "kubernetes.io/os", "linux");
	print_member(out, "kubernetes.io/arch", "amd64");
	print_member(out, "node.kubernetes.io/instance-type", place->shape->name);
	print_member(out, "topology.kubernetes.io/region", profile->region);
	print_member(out, "topology.kubernetes.io/zone", place->zone->name);
	print_member(out, "topology.placet.io/rack", rack);
	print_pairs(out, &profile->labels);
	print_pairs(out, &place->shape->labels);
	pl_json_out_end(out);
}

static void print_taints(struct pl_json_out *out, const struct sim_shape *shape)
{
	if (shape->taints == 0)
		return;
	pl_json_out_name(out, "spec");
	pl_json_out_object(out);
	pl_json_out_name(out, "taints");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < shape->taints; i++) {
		pl_json_out_object(out);
		print_member(out, "key", shape->taint[i].key);
		if (shape->taint[i].value != NULL)
			print_member(out, "value", shape->taint[i].value);
		print_member(out, "effect", shape->taint[i].effect);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
	pl_json_out_end(out);
}

static void print_amounts(struct pl_json_out *out, const struct sim_shape *shape)
{
	pl_json_out_name(out, "status");
	pl_json_out_object(out);
	pl_json_out_name(out, "allocatable");
	pl_json_out_object(out);
	print_member(out, "cpu", shape->cpu);
	print_member(out, "memory", shape->memory);
	if (shape->storage != NULL)
		print_member(out, "ephemeral-storage", shape->storage);
	print_member(out, "pods", shape->pods);
	print_pairs(out, &shape->resources);
	pl_json_out_end(out);
	pl_json_out_end(out);
}

enum pl_code sim_node_print(const struct sim_profile *profile, uint64_t seed,
                            uint64_t number, struct pl_buf *out)
{
	struct sim_place place = choose_place(profile, seed, number);
	char name[SIM_NAME_SIZE];
	struct pl_json_out json;

	(void)sim_node_name(profile, number, name);
	pl_json_out_init(&json, out);
	pl_json_out_object(&json);
	print_member(&json, "apiVersion", "v1");
	print_member(&json, "kind", "Node");
	pl_json_out_name(&json, "metadata");
	pl_json_out_object(&json);
	print_member(&json, "name", name);
	print_labels(&json, profile, &place, name);
	pl_json_out_end(&json);
	print_taints(&json, place.shape);
	print_amounts(&json, place.shape);
	pl_json_out_end(&json);
	return pl_json_out_done(&json);
}
