"""Makes a policy plugin of a Python function.

serve(Policy(...)) is all that a policy needs. The rest of this file is what
plugins/README.md says under "In another language": the handshake, the services
that go-plugin asks for, and the session. It needs grpcio and protobuf (Debian:
python3-grpcio, python3-protobuf); the message classes are made of policy.binpb,
the protocol as it was last released.
"""

import base64
import json
import os
import ssl
import subprocess
import sys
import tempfile
import threading
import traceback
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import grpc
from google.protobuf import descriptor_pb2, message_factory

from cycle import Cycle
from state import State

COOKIE = ("CONDOR_BACKFILL_POLICY", "9e7c1f0a-policyv1")
PATIENCE = 60  # seconds within which a host opens its session, or is dead
MAX_MESSAGE = 256 << 20  # bytes; a state with 100,000 jobs takes about 10 MB

_files = descriptor_pb2.FileDescriptorSet.FromString((Path(__file__).parent / "policy.binpb").read_bytes())
_classes = message_factory.GetMessages(_files.file)


def message(kind, **fields):
    """A message of the protocol."""
    return _classes["policyv1." + kind](**fields)


@dataclass
class Policy:
    """A policy, as the protocol's DescribeResponse has it.

    decide(cycle, options) acts on a cycle, all of whose events were taken. It
    keeps nothing between cycles that a decision depends on. The options are all
    there are, as text by name.
    """

    name: str
    doc: str
    decide: Callable
    promise: str = ""
    source: str = ""
    options: list = field(default_factory=list)  # of message("Option", ...)

    def complete(self, given):
        """All options, with those that were given."""
        values = {o.name: o.default_value for o in self.options}
        choices = {o.name: o.choices for o in self.options}
        for name, value in given.items():
            if name not in values:
                raise ValueError(f"policy {self.name} has no option {name!r}")
            if choices[name] and value.lower() not in choices[name]:
                raise ValueError(f"option {name}={value!r} must be one of {', '.join(choices[name])}")
            values[name] = value.lower() if choices[name] else value
        return values

    def describe(self):
        return message("DescribeResponse", name=self.name, doc=self.doc, promise=self.promise, source=self.source,
                       options=self.options, features=["FEATURE_RUNNING", "FEATURE_BUNDLES"])


class Session:
    """The conversation with the host: the policy and its copies of the state.

    Whatever goes wrong with a copy, it is given up; the host sends it anew.
    """

    def __init__(self, policy):
        self.policy, self.options, self.branches = policy, None, {}

    def answer(self, m):
        """The answer to a message of the host; None where there is none."""
        kind = m.WhichOneof("message")
        return getattr(self, "_" + kind)(getattr(m, kind)) if kind else None

    def _configure(self, m):
        try:
            self.options = self.policy.complete(m.options)
        except ValueError as error:
            return message("PolicyMessage", failure=message("Failure", text=str(error)))
        return message("PolicyMessage", ready=message("Ready"))

    def _sync(self, m):
        self._drop(m)
        try:
            self.branches[m.branch] = State(m.snapshot)
        except Exception:
            log("error", "the host's state does not make sense: " + traceback.format_exc())

    def _fork(self, m):
        self.branches.pop(m.to, None)
        if getattr(m, "from") in self.branches:
            self.branches[m.to] = self.branches[getattr(m, "from")].fork()

    def _drop(self, m):
        self.branches.pop(m.branch, None)

    def _decide(self, m):
        state = self.branches.pop(m.branch, None)  # it is back if all goes well
        try:
            for settled in m.settled if state else ():
                state.replay(settled.round, settled.journal)
            have = state.revision if state else 0
            if have != m.base_revision or state is None:
                raise ValueError(f"the copy is at revision {have}, the round at {m.base_revision}")
        except Exception as error:
            out = message("OutOfStep", branch=m.branch, have_revision=state.revision if state else 0, text=repr(error))
            return message("PolicyMessage", out_of_step=out)
        try:
            cycle = Cycle(state, m.round, _classes["policyv1.Action"])
            self.policy.decide(cycle, self.options)
            state.close()
        except Exception as error:
            log("error", traceback.format_exc())
            return message("PolicyMessage", failure=message("Failure", branch=m.branch, text=repr(error)))
        self.branches[m.branch] = state
        decision = message("Decision", branch=m.branch, base_revision=m.base_revision, journal=cycle.journal)
        return message("PolicyMessage", decision=decision)


def serve(policy):
    """Serves the policy until the host is done with it, or dead."""
    if os.environ.get(COOKIE[0]) != COOKIE[1]:
        sys.exit("This is a policy plugin: start it with negotiator --policy or condorsim run --policy.")
    begun, over = threading.Event(), threading.Event()

    def lasts(context):  # no longer than this call, and with it the connection to the host
        begun.set()
        if not context.add_callback(over.set):  # it is over already
            over.set()

    def session(messages, context):
        lasts(context)
        mine = Session(policy)
        for m in messages:
            answer = mine.answer(m)
            if answer is not None:
                yield answer

    def stdio(_, context):  # has nothing to say, and ends with the host as well
        lasts(context)
        over.wait()
        return iter(())

    def shutdown(_, context):
        lasts(context)  # until this is answered
        return b""

    server = grpc.server(futures.ThreadPoolExecutor(8), options=[
        ("grpc.max_receive_message_length", MAX_MESSAGE), ("grpc.max_send_message_length", MAX_MESSAGE)])
    server.add_generic_rpc_handlers((
        grpc.method_handlers_generic_handler("policyv1.PolicyService", {
            "Describe": grpc.unary_unary_rpc_method_handler(
                lambda _, __: policy.describe(), response_serializer=lambda m: m.SerializeToString()),
            "Session": grpc.stream_stream_rpc_method_handler(
                session, _classes["policyv1.HostMessage"].FromString, lambda m: m.SerializeToString()),
        }),
        # What go-plugin asks of every plugin. Their messages are empty, but for the
        # one that says SERVING.
        grpc.method_handlers_generic_handler("plugin.GRPCController", {"Shutdown": grpc.unary_unary_rpc_method_handler(shutdown)}),
        grpc.method_handlers_generic_handler("plugin.GRPCStdio", {"StreamStdio": grpc.unary_stream_rpc_method_handler(stdio)}),
        grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": grpc.unary_unary_rpc_method_handler(lambda _, __: b"\x08\x01")}),
    ))
    path = os.path.join(os.environ.get("PLUGIN_UNIX_SOCKET_DIR") or tempfile.mkdtemp(), "policy.sock")
    certificate = ""
    if client := os.environ.get("PLUGIN_CLIENT_CERT"):  # AutoMTLS
        pem, certificate = own_certificate()
        server.add_secure_port("unix:" + path, grpc.ssl_server_credentials([(pem, pem)], client.encode(), require_client_auth=True))
    else:
        server.add_insecure_port("unix:" + path)
    server.start()
    print(f"1|1|unix|{path}|grpc|{certificate}", flush=True)
    sys.stdout = sys.stderr  # from here on, what is printed is for the host's log
    if begun.wait(PATIENCE):
        over.wait()
    os._exit(0)  # whatever the policy is in the middle of


def own_certificate():
    """A key with its certificate as PEM, and the certificate as the handshake has it."""
    pem = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", "-", "-out", "-"],
        check=True, capture_output=True).stdout
    text = pem.decode()
    der = ssl.PEM_cert_to_DER_cert(text[text.index("-----BEGIN CERTIFICATE"):])
    return pem, base64.b64encode(der).decode().rstrip("=")


def log(level, text):
    """Writes to the host's log, as hclog does; what is merely printed to the standard error gets there too."""
    print(json.dumps({"@level": level, "@message": text}), file=sys.stderr, flush=True)
