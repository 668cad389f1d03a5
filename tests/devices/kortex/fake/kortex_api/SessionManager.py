"""Logs in, and keeps the session alive."""

import concurrent.futures
import threading

from kortex_api.autogen.messages import Common_pb2, Session_pb2
from kortex_api.RouterClient import RouterClientSendOptions


def _print_silence():
    print("Connection timeout detected")


class SessionManager:
    def __init__(self, router, inactivityCallback=_print_silence):
        self.router = router
        self.m_callback = inactivityCallback
        self.m_thread = None
        self.m_over = threading.Event()

    def CreateSession(self, createSessionInfo):
        if self.m_thread is not None:
            raise RuntimeError("threads can only be started once")  # (7)
        options = RouterClientSendOptions()
        answer = self.router.send(1, "CreateSession", createSessionInfo.SerializeToString(), 0, options)
        self.router.session = Session_pb2.SessionHandle.FromString(answer).identifier
        self.m_thread = threading.Thread(target=self._keep_alive, daemon=True)
        self.m_thread.start()
        print("session", self.router.session)

    def CloseSession(self, options=RouterClientSendOptions()):
        self.m_over.set()
        try:
            self.router.send(1, "CloseSession", Common_pb2.Empty().SerializeToString(), 0, options)
        except Exception as error:
            print(error)

    def _keep_alive(self):
        options = RouterClientSendOptions()
        options.timeout_ms = 120
        while not self.m_over.is_set():
            self.router.traffic.clear()
            if self.router.traffic.wait(0.15):
                continue
            try:
                self.router.send(1, "KeepAlive", b"", 0, options)
            except concurrent.futures.TimeoutError:
                self.m_callback()  # (7) reports, no more
            except Exception:
                return  # (7) ends silently
