"""The arm answered with an error."""

from kortex_api.Exceptions.KException import KException


class KServerException(KException):
    def get_error_code(self):
        return self.error.error_code

    def get_error_sub_code(self):
        return self.error.error_sub_code
