"""The client itself failed; without the getters that the documents show."""

from kortex_api.Exceptions.KException import KException

ERROR_PROTOCOL_CLIENT = 2


class KClientException(KException):
    def __init__(self, sub_code, text):
        super().__init__(ERROR_PROTOCOL_CLIENT, sub_code, text)
