#include "shardsched/classes/alike.h"

#include <string.h>

static bool is_apart(const struct spec *spec)
{
	return spec->volumes > 0 || (spec->flags & SPEC_BY_NAME) != 0 ||
	       spec->form->ports.count > ALIKE_ROWS ||
	       spec->form->images.count > ALIKE_ROWS;
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
	out->node_selector = spec->form->node_selector;
	out->required = spec->form->required;
	out->preferred = spec->form->preferred;
	out->tolerations = spec->form->tolerations;
	out->requests = spec->requests;
	out->nonzero_cpu_milli = spec_nonzero_cpu_milli(spec);
	out->nonzero_memory = spec_nonzero_memory(spec);
	out->flags = spec->flags;
	out->ports = spec->form->ports.count;
	out->images = spec->form->images.count;
	out->home = class->home;
	for (uint32_t i = 0; i < spec->form->ports.count; i++)
		out->port[i] = spec_ports(spec)[i];
	for (uint32_t i = 0; i < spec->form->images.count; i++)
		out->image[i] = spec_images(spec)[i];
}
