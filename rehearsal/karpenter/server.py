"""`python -m rehearsal.karpenter.server DIRECTORY`: AWS on a port of 127.0.0.1, for Karpenter.

The service and the region of a request are those of its signature (Signature Version 4); who
signed it is not checked. Each action that was asked for is counted in `aws-actions.json`, but for
what AWS does by itself.
"""

import contextlib
import json
import re
import select
import signal
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from rehearsal.karpenter import account as accounts
from rehearsal.karpenter import wire
from rehearsal.karpenter.describe import Describe
from rehearsal.karpenter.instances import Instances
from rehearsal.karpenter.launch import Launcher
from rehearsal.karpenter.prices_first import PricesFirst
from rehearsal.karpenter.services import Services
from rehearsal.karpenter.wire import Answer, AwsError, Request

ACTIONS = "aws-actions.json"
ADDRESS = "aws-endpoint"
ITSELF = "AWS"
"""The access key of what AWS does by itself, such as the end of a spot machine."""
SCOPE = re.compile(
    r"Credential=(?P<key>[^/]+)/\d+/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request"
)
Action = Callable[[Request], Answer]


class Aws:
    """The services of the account, by name and action."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._instances = Instances(directory)
        self._counted: Counter[str] = Counter(used(directory))
        self.prices = PricesFirst()
        self._lock = threading.Lock()

    def count(self, action: str) -> None:
        """Count an action that a user asked for."""
        with self._lock:
            self._counted[action] += 1
            scratch = self.directory / f"{ACTIONS}.new"
            scratch.write_text(json.dumps(self._counted, indent=1, sort_keys=True))
            scratch.rename(self.directory / ACTIONS)

    def answer(
        self, service: str, action: str, request: Request, gone: Callable[[], bool]
    ) -> Answer:
        """Return the answer to one request; raises AwsError."""
        if action == "DescribeInstanceTypes" and request.get("DryRun"):
            self.prices.starts()
        if self.prices.is_early(f"{service}:{action}"):
            return {"instanceTypeOfferingSet": []}
        account = accounts.read(self.directory)
        if account is None:
            raise AwsError("AuthFailure", "The rehearsal has no AWS account.")
        known = self.actions(account, gone)
        if (service, action) not in known:
            text = f"The stand-in of AWS has no action {service}:{action}."
            raise AwsError("InvalidAction", text)
        try:
            return known[service, action](request)
        except (KeyError, ValueError, TypeError, StopIteration) as error:
            sys.stderr.write(f"{service}:{action} {json.dumps(request)}\n")
            sys.excepthook(type(error), error, error.__traceback__)
            text = f"The stand-in of AWS cannot answer {service}:{action}: {error!r}."
            raise AwsError("InternalError", text, 500) from error

    def actions(
        self, account: accounts.Account, gone: Callable[[], bool] = lambda: False
    ) -> Mapping[tuple[str, str], Action]:
        """What is answered, by service and action; `gone` says whether the client has hung up."""
        directory, instances = self.directory, self._instances
        ask = Describe(account=account, directory=directory, instances=instances)
        act = Launcher(account=account, directory=directory, instances=instances, describe=ask)
        other = Services(account=account, directory=directory)
        return {
            ("ec2", "DescribeInstanceTypes"): ask.instance_types,
            ("ec2", "DescribeInstanceTypeOfferings"): ask.instance_type_offerings,
            ("ec2", "DescribeSpotPriceHistory"): ask.spot_price_history,
            ("ec2", "DescribeSubnets"): ask.subnets,
            ("ec2", "DescribeSecurityGroups"): ask.security_groups,
            ("ec2", "DescribePlacementGroups"): ask.placement_groups,
            ("ec2", "DescribeImages"): ask.images,
            ("ec2", "DescribeCapacityReservations"): ask.capacity_reservations,
            ("ec2", "DescribeInstances"): ask.instances_,
            ("ec2", "DescribeInstanceStatus"): ask.instance_status,
            ("ec2", "DescribeLaunchTemplates"): act.describe_launch_templates,
            ("ec2", "CreateLaunchTemplate"): act.create_launch_template,
            ("ec2", "DeleteLaunchTemplate"): act.delete_launch_template,
            ("ec2", "CreateFleet"): act.create_fleet,
            ("ec2", "RunInstances"): act.run_instances,
            ("ec2", "TerminateInstances"): act.terminate_instances,
            ("ec2", "CreateTags"): act.create_tags,
            ("iam", "GetInstanceProfile"): other.get_instance_profile,
            ("iam", "ListInstanceProfiles"): other.list_instance_profiles,
            ("pricing", "GetProducts"): other.get_products,
            ("sqs", "GetQueueUrl"): other.get_queue_url,
            ("sqs", "ReceiveMessage"): lambda request: other.receive_message(request, gone),
            ("sqs", "DeleteMessage"): other.delete_message,
        }


def used(directory: Path) -> dict[str, int]:
    """Return how often each action was asked for, such as ec2:CreateFleet."""
    path = directory / ACTIONS
    found: dict[str, int] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def handler(aws: Aws) -> type[BaseHTTPRequestHandler]:
    """Return what answers the requests of AWS's clients."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            scope = SCOPE.search(self.headers.get("Authorization", ""))
            service = scope["service"] if scope else ""
            if target := self.headers.get("X-Amz-Target"):
                action, request = target.rpartition(".")[2], json.loads(body or "{}")
            else:
                request = wire.parse(body)
                action = str(request.get("Action"))
            if scope is None or scope["key"] != ITSELF:
                aws.count(f"{service}:{action}")
            try:
                answer = aws.answer(service, action, request, self._gone)
            except AwsError as error:
                self._refuse(service, error, as_json=bool(target))
                return
            if target:
                self._send(200, "application/x-amz-json-1.0", json.dumps(answer))
            else:
                write = wire.ec2_answer if service == "ec2" else wire.iam_answer
                self._send(200, "text/xml", write(action, answer))
            aws.prices.told(f"{service}:{action}")

        def _refuse(self, service: str, error: AwsError, *, as_json: bool) -> None:
            if as_json:
                text = json.dumps({"__type": error.code, "message": error.message})
                self._send(error.status, "application/x-amz-json-1.0", text)
            else:
                write = wire.ec2_error if service == "ec2" else wire.iam_error
                self._send(error.status, "text/xml", write(error))

        def _gone(self) -> bool:
            """Whether the client has hung up."""
            readable, _, _ = select.select([self.connection], [], [], 0)
            return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)

        def _send(self, status: int, kind: str, text: str) -> None:
            content = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            with contextlib.suppress(OSError):  # a client that was killed reads no answer
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, *_args: object) -> None:  # the base class prints every request
            pass

    return Handler


def main() -> None:
    """Serves until SIGTERM; the address is in the file `aws-endpoint`."""
    directory, ended = Path(sys.argv[1]), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole terminal
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(Aws(directory)))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    scratch = directory / f"{ADDRESS}.new"
    scratch.write_text(f"http://127.0.0.1:{server.server_port}")
    scratch.rename(directory / ADDRESS)
    ended.wait()
    server.shutdown()


if __name__ == "__main__":
    main()
