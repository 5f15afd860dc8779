#include "shardsched/classes/class_signature.h"

#include <string.h>

static bool is_unshareable(const struct spec *spec)
{
	return spec->volumes > 0 || (spec->flags & SPEC_BY_NAME) != 0 ||
	       spec->template->ports.count > SIGNATURE_ROWS ||
	       spec->template->images.count > SIGNATURE_ROWS;
}

void class_signature_of(const struct fw_class *class, struct class_signature *out)
{
	const struct spec *spec = class->view->spec;

	memset(out, 0, sizeof *out);
	if (is_unshareable(spec)) {
		out->itself = class;
		return;
	}
	out->profile = class->profile;
	out->node_selector = spec->template->node_selector;
	out->required = spec->template->required;
	out->preferred = spec->template->preferred;
	out->tolerations = spec->template->tolerations;
	out->requests = spec->requests;
	out->nonzero_cpu_milli = spec_nonzero_cpu_milli(spec);
	out->nonzero_memory = spec_nonzero_memory(spec);
	out->flags = spec->flags;
	out->ports = spec->template->ports.count;
	out->images = spec->template->images.count;
	out->local = class->local;
	for (uint32_t i = 0; i < spec->template->ports.count; i++)
		out->port[i] = spec_ports(spec)[i];
	for (uint32_t i = 0; i < spec->template->images.count; i++)
		out->image[i] = spec_images(spec)[i];
}
