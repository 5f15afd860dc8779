/*
 * A class signature: classes with equal signatures share their results.
 *
 * Local plugins read a node and those fields of the pod that concern one node. The pod's
 * namespace, labels, controller, gang, priority and rules about other pods matter to
 * global plugins only, whose results are not kept. So the classes of fifty applications
 * with equal requests share one set of results.
 *
 * Claims are found by namespace, so a class with volumes shares with no other.
 */
#ifndef SHARDSCHED_CLASSES_CLASS_SIGNATURE_H
#define SHARDSCHED_CLASSES_CLASS_SIGNATURE_H

#include "shardsched/framework/cycle.h"

enum {
	SIGNATURE_ROWS = 16
}; /* ports and images; a class with more shares with no
			       * other */

/* Compared as bytes: without gaps, and zero where a field is not used. */
struct class_signature {
	const void *profile;
	const void *node_selector, *required, *preferred, *tolerations, *requests;
	int64_t nonzero_cpu_milli, nonzero_memory;
	const void *itself; /* the class; NULL: it may share */
	uint32_t flags;
	uint16_t ports, images;
	uint64_t local;
	struct spec_port port[SIGNATURE_ROWS];
	uint32_t image[SIGNATURE_ROWS];
};

_Static_assert(sizeof(struct class_signature) ==
                       7 * sizeof(void *) + 4 * sizeof(int64_t) +
                               SIGNATURE_ROWS *
                                       (sizeof(struct spec_port) + sizeof(uint32_t)),
               "no gaps");

void class_signature_of(const struct fw_class *class, struct class_signature *out);

#endif
