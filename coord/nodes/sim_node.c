#include <inttypes.h>
#include <stdio.h>

#include "coord/nodes/sim_profile.h"
#include "store/base/json_out.h"
#include "store/base/rng.h"

enum { TEXT_SIZE = 300 };

struct place {
	const struct sim_zone *zone;
	const struct sim_shape *shape;
	uint64_t rack;
};

static struct place choose(const struct sim_profile *profile, uint64_t seed,
                           uint64_t number)
{
	struct place place = {.zone = profile->zone, .shape = profile->shape};
	struct pl_rng rng;
	uint64_t left;

	/* A sequence of its own for each, far from the others. */
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

static void member(struct pl_json_out *out, const char *name, const char *value)
{
	pl_json_out_name(out, name);
	pl_json_out_str(out, value);
}

static void pairs(struct pl_json_out *out, const struct sim_pairs *pairs)
{
	for (uint32_t i = 0; i < pairs->count; i++)
		member(out, pairs->at[i].name, pairs->at[i].value);
}

static void labels(struct pl_json_out *out, const struct sim_profile *profile,
                   const struct place *place, const char *name)
{
	char rack[TEXT_SIZE];

	(void)snprintf(rack, sizeof rack, "%.200s-%" PRIu64, place->zone->name,
	               place->rack);
	pl_json_out_name(out, "labels");
	pl_json_out_object(out);
	member(out, "kubernetes.io/hostname", name);
	member(out, "kubernetes.io/os", "linux");
	member(out, "kubernetes.io/arch", "amd64");
	member(out, "node.kubernetes.io/instance-type", place->shape->name);
	member(out, "topology.kubernetes.io/region", profile->region);
	member(out, "topology.kubernetes.io/zone", place->zone->name);
	member(out, "topology.placet.io/rack", rack);
	pairs(out, &profile->labels);
	pairs(out, &place->shape->labels);
	pl_json_out_end(out);
}

static void taints(struct pl_json_out *out, const struct sim_shape *shape)
{
	if (shape->taints == 0)
		return;
	pl_json_out_name(out, "spec");
	pl_json_out_object(out);
	pl_json_out_name(out, "taints");
	pl_json_out_array(out);
	for (uint32_t i = 0; i < shape->taints; i++) {
		pl_json_out_object(out);
		member(out, "key", shape->taint[i].key);
		if (shape->taint[i].value != NULL)
			member(out, "value", shape->taint[i].value);
		member(out, "effect", shape->taint[i].effect);
		pl_json_out_end(out);
	}
	pl_json_out_end(out);
	pl_json_out_end(out);
}

static void amounts(struct pl_json_out *out, const struct sim_shape *shape)
{
	pl_json_out_name(out, "status");
	pl_json_out_object(out);
	pl_json_out_name(out, "allocatable");
	pl_json_out_object(out);
	member(out, "cpu", shape->cpu);
	member(out, "memory", shape->memory);
	if (shape->storage != NULL)
		member(out, "ephemeral-storage", shape->storage);
	member(out, "pods", shape->pods);
	pairs(out, &shape->resources);
	pl_json_out_end(out);
	pl_json_out_end(out);
}

enum pl_code sim_node_print(const struct sim_profile *profile, uint64_t seed,
                            uint64_t number, struct pl_buf *out)
{
	struct place place = choose(profile, seed, number);
	char name[SIM_NAME_SIZE];
	struct pl_json_out json;

	(void)sim_node_name(profile, number, name);
	pl_json_out_init(&json, out);
	pl_json_out_object(&json);
	member(&json, "apiVersion", "v1");
	member(&json, "kind", "Node");
	pl_json_out_name(&json, "metadata");
	pl_json_out_object(&json);
	member(&json, "name", name);
	labels(&json, profile, &place, name);
	pl_json_out_end(&json);
	taints(&json, place.shape);
	amounts(&json, place.shape);
	pl_json_out_end(&json);
	return pl_json_out_done(&json);
}
