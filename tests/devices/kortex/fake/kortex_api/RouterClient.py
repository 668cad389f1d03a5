"""Matches answers with requests, and hands notifications out."""

import base64
import concurrent.futures
import json
import threading

from kortex_api.Exceptions.KClientException import KClientException
from kortex_api.Exceptions.KServerException import KServerException


class RouterClientSendOptions:
    def __init__(self):
        self.andForget = False
        self.delay_ms = 0
        self.timeout_ms = 10000


class Header:
    def __init__(self, message_info):
        self.message_info = message_info


class Frame:
    def __init__(self, message_info, payload):
        self.header = Header(message_info)
        self.payload = payload


class RouterClient:
    notificationCallbacks = {}  # (6) of the class: all routers share it

    def __init__(self, transport, errorCallback):
        self.transport = transport
        self.errorCallback = errorCallback
        self.lock = threading.RLock()
        self.waiting = {}
        self.frame_id = 0
        self.session = 0
        self.silent_since = 0.0
        self.traffic = threading.Event()
        transport.on_frame = self._on_frame

    def registerNotificationCallback(self, serviceId, callback):
        self.notificationCallbacks[serviceId] = callback

    def send(self, service, function, payload, deviceId, options):
        if self.transport.sock is None:
            raise KClientException(2, "not active")
        with self.lock:
            self.frame_id = (self.frame_id + 1) % 65536  # (8) wraps
            number = self.frame_id
            future = concurrent.futures.Future()
            self.waiting[number] = future  # (8) stays there when the call times out
        request = {
            "id": number,
            "session": self.session,
            "service": service,
            "function": function,
            "device": deviceId,
            "payload": base64.b64encode(payload).decode(),
        }
        self.traffic.set()
        self.transport.send(json.dumps(request).encode())
        return future.result(options.timeout_ms / 1000)

    def _on_frame(self, frame):
        payload = base64.b64decode(frame.get("payload", ""))
        if frame["type"] == "notification":
            with self.lock:  # (4) held while the callback runs, in the receive thread
                callback = self.notificationCallbacks.get(frame["service"])
                if callback is not None:
                    callback(Frame(frame["session"] << 16 | frame["handle"], payload))
            return
        with self.lock:
            future = self.waiting.pop(frame["id"], None)
        if future is None:
            return
        if frame["type"] == "error":
            future.set_exception(KServerException(frame["code"], frame["sub"], frame["text"]))
        else:
            future.set_result(payload)
