"""Worker processes: code that the service must not load, each in a process and an environment of its own."""

from devices.worker.link import Answer, WorkerLink
from devices.worker.process import Program

__all__ = ["Answer", "Program", "WorkerLink"]
