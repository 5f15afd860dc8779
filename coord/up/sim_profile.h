/*
 * The profile of a simulated cluster: how many nodes of which shape it has, in which
 * zones and racks.
 *
 *	prefix: node                      # names are node-000000, node-000001, ...
 *	region: sim
 *	labels: {example.com/pool: sim}   # of every node
 *	zones:
 *	  - {name: a, weight: 2, racks: 8}
 *	shapes:
 *	  - name: gpu                     # its node.kubernetes.io/instance-type
 *	    weight: 1
 *	    cpu: 64
 *	    memory: 512Gi
 *	    storage: 1Ti                  # ephemeral; none if it is not given
 *	    pods: 110
 *	    resources: {nvidia.com/gpu: 8}
 *	    labels: {example.com/gpu: h100}
 *	    taints:
 *	      - {key: nvidia.com/gpu, value: "yes", effect: NoSchedule}
 *
 * zones and shapes are required; the defaults are weight 1, racks 8, pods 110. The
 * profile is validated as a whole: everything for which its nodes would be refused is
 * found here.
 *
 * A node is derived from profile, seed and number alone, so a larger cluster begins
 * with the nodes of a smaller one.
 */
#ifndef COORD_UP_SIM_PROFILE_H
#define COORD_UP_SIM_PROFILE_H

#include "store/base/buf.h"
#include "store/base/json.h"

enum {
	SIM_ZONES_MAX = 256,
	SIM_SHAPES_MAX = 256,
	SIM_PAIRS_MAX = 64, /* of labels, resources and taints, each */
	SIM_RACKS_MAX = 100000,
	SIM_WEIGHT_MAX = 1000000,
	SIM_NODES_MAX = 4000000,
};

struct sim_pair {
	const char *name, *value;
};

struct sim_pairs {
	struct sim_pair *at;
	uint32_t count;
};

struct sim_taint {
	const char *key, *value, *effect; /* value may be NULL */
};

struct sim_zone {
	const char *name;
	int64_t weight, racks;
};

struct sim_shape {
	const char *name;
	int64_t weight;
	const char *cpu, *memory, *storage, *pods; /* storage may be NULL */
	struct sim_pairs resources, labels;
	struct sim_taint *taint;
	uint32_t taints;
};

struct sim_profile {
	const char *prefix, *region;
	struct sim_pairs labels;
	struct sim_zone *zone;
	struct sim_shape *shape;
	uint32_t zones, shapes;
	uint64_t zone_weight, shape_weight; /* sums of all weights */
};

/* The built-in profile, as YAML. */
extern const char sim_profile_default[];

/* *out lives in the arena, with json's own memory. PL_INVALID names the path. */
PL_NODISCARD enum pl_code sim_profile_parse(struct pl_json json, struct pl_arena *arena,
                                            struct sim_profile *out, struct pl_err *err);

/* Appends the Node as JSON on one line. */
PL_NODISCARD enum pl_code sim_node_print(const struct sim_profile *profile, uint64_t seed,
                                         uint64_t number, struct pl_buf *out);
enum { SIM_NAME_SIZE = 256 };
/* Returns the length of the name. */
size_t sim_node_name(const struct sim_profile *profile, uint64_t number,
                     char out[SIM_NAME_SIZE]);

#endif
