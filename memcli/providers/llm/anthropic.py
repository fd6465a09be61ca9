"""Anthropic's Messages API over their SDK, which the first question imports."""

from collections.abc import Mapping
from contextlib import closing, suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from memcli.errors import ProviderError, UsageError
from memcli.providers import PACKING, bounded, within
from memcli.providers.llm import Ask, Reply, Usage
from memcli.providers.llm.ledger import excerpt

if TYPE_CHECKING:
    import anthropic

URL = "https://api.anthropic.com"
MOST_SAID = 16 << 20  # bytes of a reply
TRIES = 4  # after the first one
HURRY = 10.0  # seconds; with less patience than this there is no second try
_HINTS = {
    **dict.fromkeys((401, 403), "check ANTHROPIC_API_KEY and its permissions"),
    404: "check the model with --set model=…",
    413: "give it less to read",
}


class Anthropic:
    """Asks with the key from the environment."""

    name = "anthropic"

    def __init__(self, model: str, environ: Mapping[str, str]) -> None:
        self.model = model
        self._key = environ.get("ANTHROPIC_API_KEY", "").strip() or None
        self._token = environ.get("ANTHROPIC_AUTH_TOKEN", "").strip() or None
        self._url = environ.get("ANTHROPIC_BASE_URL", "").strip() or URL
        key = self._key or self._token
        if key is None or not (key.isprintable() and key.isascii()):
            message = (
                "llm = anthropic needs a key, and there is none in the environment"
            )
            hint = "export ANTHROPIC_API_KEY=…, or use a subscription with --set llm=claude"
            raise UsageError(message, hint)

    @cached_property
    def _client(self) -> "anthropic.Anthropic":
        import anthropic

        token = None if self._key else self._token
        try:
            return anthropic.Anthropic(
                api_key=self._key,
                auth_token=token,
                base_url=self._url,
                max_retries=TRIES,
                http_client=_bounded_client(),
            )
        except Exception as error:
            message = f"ANTHROPIC_BASE_URL cannot be used: {excerpt(str(error))}"
            raise UsageError(message, f"unset it, or write it like {URL}") from None

    def close(self) -> None:
        """Close the connections, if there are any."""
        if "_client" in self.__dict__:
            self._client.close()

    def ask(self, ask: Ask) -> Reply:
        """The reply of the model. Raises ProviderError."""
        import anthropic

        # made before the clock starts: it takes long on a busy machine
        client = self._client
        limit = anthropic.Timeout(ask.timeout, connect=min(ask.timeout, 10.0))
        if ask.timeout < HURRY:
            client = client.with_options(max_retries=0)
        send = partial(client.messages.create, timeout=limit)
        try:
            return within(
                ask.timeout, lambda: _reply(send(**request(self.model, ask)), ask)
            )
        except (TimeoutError, anthropic.APITimeoutError):
            raise TimeoutError from None
        except anthropic.APIError as error:
            raise self._failed(error) from None
        except (AttributeError, TypeError, ValueError, RecursionError):
            message = f"{self._url} did not answer with a message"
            raise ProviderError(message, "check ANTHROPIC_BASE_URL") from None

    def _failed(self, error: "anthropic.APIError") -> ProviderError:
        import anthropic

        if not isinstance(error, anthropic.APIStatusError):
            hint = "check the network and ANTHROPIC_BASE_URL; run again for the rest"
            return ProviderError(
                f"{self._url} cannot be reached: {excerpt(error.message)}", hint
            )
        status = error.status_code
        said = excerpt(str(error.api_message or error.message))
        message = f"anthropic refused the call ({status}): {said}"
        hint = "run again later" if status >= 429 else "try it with mem doctor --online"
        return ProviderError(message, _HINTS.get(status, hint))


def _bounded_client() -> Any:
    """The SDK's HTTP client, with a limit: a reply of more than `MOST_SAID` bytes,
    unpacked, comes back empty."""
    import anthropic

    class Bounded(anthropic.DefaultHttpxClient):
        def send(self, request: Any, **options: Any) -> Any:
            request.headers["accept-encoding"] = PACKING
            reply = super().send(request, **{**options, "stream": True})
            with closing(reply):
                packing = reply.headers.get("content-encoding")
                content = b""
                with suppress(ValueError):  # what is no reply is judged as one
                    content = bounded(reply.iter_raw(), MOST_SAID, packing)
            for packing in ("content-encoding", "content-length", "transfer-encoding"):
                reply.headers.pop(packing, None)
            return type(reply)(
                reply.status_code,
                headers=reply.headers,
                content=content,
                request=request,
            )

    # the question must not go to another server
    return Bounded(follow_redirects=False)


def request(model: str, ask: Ask) -> dict[str, Any]:
    """The body of a call: system text and schema, then the shared part as one cached
    block."""
    import anthropic

    shared = {
        "type": "text",
        "text": ask.shared,
        "cache_control": {"type": "ephemeral"},
    }
    content = [
        *([shared] if ask.shared.strip() else []),
        {"type": "text", "text": ask.prompt},
    ]
    messages = [{"role": "user", "content": content}]
    body = {
        "model": model,
        "max_tokens": ask.max_tokens,
        "messages": messages,
    }
    if ask.system.strip():
        body["system"] = [{"type": "text", "text": ask.system}]
    if ask.schema is not None:
        # The API does not enforce lengths and ranges: the SDK turns them into
        # descriptions.
        schema = anthropic.transform_schema(dict(ask.schema))
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return body


def _reply(message: "anthropic.types.Message", ask: Ask) -> Reply:
    text = "".join(block.text for block in message.content if block.type == "text")
    used = message.usage
    reason = str(message.stop_reason)
    usage = Usage(
        input=used.input_tokens,
        cache_read=used.cache_read_input_tokens or 0,
        cache_write=used.cache_creation_input_tokens or 0,
        output=used.output_tokens,
    )
    reasons = {
        **dict.fromkeys(("end_turn", "stop_sequence"), ""),
        "max_tokens": f"was cut off at {ask.max_tokens} tokens",
        "model_context_window_exceeded": "was cut off: there was too much to read",
        "refusal": "was refused by the model",
    }
    return Reply(text, usage, reasons.get(reason, f"ended early: {excerpt(reason)}"))
