"""Makes a policy plugin from a Python function.

serve(Policy(...)) is all that a policy needs. The rest of this file implements
the section "In another language" of plugins/README.md: the handshake, the
services of go-plugin, and the session. It needs grpcio and protobuf (Debian:
python3-grpcio, python3-protobuf); the message classes are made from
policy.binpb, the last released protocol.
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
PATIENCE = 60  # seconds until a host without a session counts as dead
MAX_MESSAGE = 256 << 20  # bytes; a state with 100,000 jobs takes about 10 MB

_files = descriptor_pb2.FileDescriptorSet.FromString((Path(__file__).parent / "policy.binpb").read_bytes())
_classes = message_factory.GetMessages(_files.file)


def message(kind, **fields):
    """A message of the protocol."""
    return _classes["policyv1." + kind](**fields)


@dataclass
class Policy:
    """A policy with the fields of the protocol's DescribeResponse.

    decide(cycle, options) acts on a cycle whose events have all been applied. It
    must keep nothing between cycles that affects a decision. options has the
    values of all options as text, by name.
    """

    name: str
    doc: str
    decide: Callable
    promise: str = ""
    source: str = ""
    options: list = field(default_factory=list)  # of message("Option", ...)

    def complete(self, given):
        """Returns the values of all options: the given ones and defaults."""
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

    If anything goes wrong with a copy it is dropped, and the host sends the state again.
    """

    def __init__(self, policy):
        self.policy, self.options, self.branches = policy, None, {}
        self.failed = False  # where it did has been logged

    def answer(self, m):
        """Returns the answer to a message of the host; None if it needs none."""
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
        state = self.branches.pop(m.branch, None)  # put back on success
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
            outcome = self.policy.decide(cycle, self.options)
            if any(hasattr(outcome, name) for name in ("__await__", "__next__", "__anext__")):
                raise TypeError("decide must be a plain function, without async and yield: it has decided nothing yet")
            state.close()
        except BaseException as error:  # also that of sys.exit, which would end this thread alone
            if not self.failed:  # the host tells of all failures
                log("error", "policy failed", stack=traceback.format_exc())
            self.failed = True
            return message("PolicyMessage", failure=message("Failure", branch=m.branch, text=repr(error)))
        self.branches[m.branch] = state
        decision = message("Decision", branch=m.branch, base_revision=m.base_revision, journal=cycle.journal)
        return message("PolicyMessage", decision=decision)


def serve(policy):
    """Serves the policy until the host has finished or died."""
    if os.environ.get(COOKIE[0]) != COOKIE[1]:
        sys.exit("This is a policy plugin: start it with negotiator --policy or condorsim run --policy.")
    begun, over = threading.Event(), threading.Event()

    def lasts(context):  # the process ends with this call, and so with the connection to the host
        begun.set()
        if not context.add_callback(over.set):  # the call has ended already
            over.set()

    def session(messages, context):
        lasts(context)
        mine = Session(policy)
        for m in messages:
            answer = mine.answer(m)
            if answer is not None:
                yield answer

    def stdio(_, context):  # sends nothing, and ends with the host
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
        # Services that go-plugin needs. Their messages are empty, except the one with SERVING.
        grpc.method_handlers_generic_handler(
            "plugin.GRPCController", {"Shutdown": grpc.unary_unary_rpc_method_handler(shutdown)}),
        grpc.method_handlers_generic_handler(
            "plugin.GRPCStdio", {"StreamStdio": grpc.unary_stream_rpc_method_handler(stdio)}),
        grpc.method_handlers_generic_handler(
            "grpc.health.v1.Health",
            {"Check": grpc.unary_unary_rpc_method_handler(lambda _, __: b"\x08\x01")}),
    ))
    path = os.path.join(os.environ.get("PLUGIN_UNIX_SOCKET_DIR") or tempfile.mkdtemp(), "policy.sock")
    certificate = ""
    if client := os.environ.get("PLUGIN_CLIENT_CERT"):  # AutoMTLS
        pem, certificate = own_certificate()
        credentials = grpc.ssl_server_credentials([(pem, pem)], client.encode(), require_client_auth=True)
        server.add_secure_port("unix:" + path, credentials)
    else:
        server.add_insecure_port("unix:" + path)
    server.start()
    print(f"1|1|unix|{path}|grpc|{certificate}", flush=True)
    sys.stdout = sys.stderr  # what is printed from here on goes to the host's log
    if begun.wait(PATIENCE):
        over.wait()
    os._exit(0)  # even while the policy is deciding


def own_certificate():
    """Returns a key with its certificate as PEM, and the certificate for the handshake."""
    pem = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", "-", "-out", "-"],
        check=True, capture_output=True).stdout
    text = pem.decode()
    der = ssl.PEM_cert_to_DER_cert(text[text.index("-----BEGIN CERTIFICATE"):])
    return pem, base64.b64encode(der).decode().rstrip("=")


def log(level, text, **more):
    """Writes an entry to the host's log as hclog does; other standard error is logged as text."""
    print(json.dumps({"@level": level, "@message": text, **more}), file=sys.stderr, flush=True)
