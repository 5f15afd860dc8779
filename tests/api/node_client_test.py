#!/usr/bin/env python3
"""@kubernetes/client-node against the rig: node_client.mjs has the cases."""
import os
import shutil
import subprocess

from kubectl import clients_folder
from rig import Rig, die_with_parent
from tap import ROOT, Skip, case, fail, main

CASES = ROOT / "tests" / "api" / "node_client.mjs"
NODE_MAJOR_LEAST = 20


class NodeClientFixture(Rig):
    def __init__(self):
        self.modules = clients_folder() / "node" / "node_modules"
        program = shutil.which("node")
        if program is None:
            raise Skip("node is not installed")
        version = subprocess.run([program, "--version"], capture_output=True, text=True,
                                 check=True).stdout.strip()
        if int(version[1:].split(".")[0]) < NODE_MAJOR_LEAST:
            raise Skip(f"node {version} is too old for @kubernetes/client-node 1.4.0")
        if not (self.modules / "@kubernetes" / "client-node").is_dir():
            raise Skip("@kubernetes/client-node is not there: tests/clients/install")
        self.program = program
        super().__init__()

    def up(self):
        super().up()
        # Modules are found from where the program stands.
        (self.dir / "node_modules").symlink_to(self.modules)
        shutil.copy(CASES, self.dir / "cases.mjs")

    def enter(self, _name):
        return self

    def run_case(self, name, meanwhile=None):
        """meanwhile: called when the case has printed "ready"; it goes on after that."""
        process = subprocess.Popen(
            [self.program, str(self.dir / "cases.mjs"), f"http://127.0.0.1:{self.port}", name],
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            preexec_fn=die_with_parent, env={**os.environ, "NODE_NO_WARNINGS": "1"})
        lines = []
        try:
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                if lines[-1] == "ready" and meanwhile is not None:
                    meanwhile()
                    process.stdin.write("go on\n")
                    process.stdin.flush()
            if process.wait() != 0 or lines[-1:] != ["done"]:
                fail(f"{name}:\n" + "\n".join(lines))
        finally:
            process.kill()
            process.wait()


def add(name, **more):
    def run(rig):
        rig.run_case(name)

    run.__name__ = name
    case(seconds=30, **more)(run)


def restart_placetd(rig):
    rig.end_placetd("placetd", rig.processes["placetd"])
    rig.start_placetd("placetd", port=rig.port)


@case(seconds=60)
def an_informer_over_a_restart_of_the_server(rig):
    rig.run_case("an_informer_over_a_restart_of_the_server", lambda: restart_placetd(rig))


add("crud_of_configmaps")
add("lists_in_pages_with_selectors")
add("patches_of_each_kind")
add("server_side_apply")
add("errors_are_status_objects")
add("a_watch")
add("an_informer_with_a_restart")
add("a_binding")
add("an_eviction")
add("dynamic_objects")
add("types_of_many_groups")

main(NodeClientFixture)
