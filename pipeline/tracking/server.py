"""Finds out that a tracking server does not answer, before mlflow is imported."""

import ssl
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPSHandler, build_opener

ANSWER_SECONDS = 4.0


def probe(uri: str) -> None:
    """Check that a server answers before mlflow is imported, which takes seconds and 150 MB.

    A server that refuses, times out, is busy or broken fails; any other answer passes, even a refusal of access, which
    is for MLflow to handle. Nothing secret is sent, so certificates are not checked. Addresses that are not HTTP pass.

    Raises: ConnectionError.
    """
    if not uri.startswith(("http://", "https://")):
        return
    parts = urlsplit(uri)
    plain = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()  # without name and password
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    try:
        build_opener(HTTPSHandler(context=trusting)).open(f"{plain.rstrip('/')}/health", timeout=ANSWER_SECONDS).close()
    except HTTPError as error:
        error.close()
        if error.code == 429 or error.code >= 500:
            raise ConnectionError(f"{plain}: {error.code} {error.reason}; a tracking server was expected") from error
    except (OSError, HTTPException) as error:
        why = error.reason if isinstance(error, URLError) else error
        if not isinstance(why, ssl.SSLError):  # the server may require a client certificate
            raise ConnectionError(
                f"{plain}: {str(why).strip() or 'no answer'}; a tracking server was expected"
            ) from error
