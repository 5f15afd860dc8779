#include "shardsched/classes/alike.h"

#include <string.h>

static bool is_apart(const struct spec *spec)
{
	return spec->volumes.count > 0 || (spec->flags & SPEC_BY_NAME) != 0 ||
	       spec->ports.count > ALIKE_ROWS || spec->images.count > ALIKE_ROWS;
}

void alike_of(const struct fw_class *class, struct alike *out)
{
	const struct spec *spec = class->view->spec;

	memset(out, 0, sizeof *out);
	if (is_apart(spec)) {
		out->itself = class;
		return;
	}
	out->profile = class->profile;
	out->node_selector = spec->node_selector;
	out->required = spec->required;
	out->preferred = spec->preferred;
	out->tolerations = spec->tolerations;
	out->requests = spec->requests;
	out->nonzero_cpu_milli = spec->nonzero_cpu_milli;
	out->nonzero_memory = spec->nonzero_memory;
	out->flags = spec->flags;
	out->ports = spec->ports.count;
	out->images = spec->images.count;
	out->home = class->home;
	for (uint32_t i = 0; i < spec->ports.count; i++)
		out->port[i] = spec_ports(spec)[i];
	for (uint32_t i = 0; i < spec->images.count; i++)
		out->image[i] = spec_images(spec)[i];
}
