"""Root of the client's errors."""

from kortex_api.autogen.messages import Errors_pb2


class KException(Exception):
    def __init__(self, code, sub_code, text):
        super().__init__(text)
        self.error = Errors_pb2.Error(error_code=code, error_sub_code=sub_code, error_sub_string=text)
