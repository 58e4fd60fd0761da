"""A target whose answers and failures contain no secret, whatever the system under test sends back."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from rag_evaluation_framework.errors import TargetError, in_full
from rag_evaluation_framework.evaluation.manifests.secrets import Secrets
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.records.responses import Request, Response


class MaskedTarget:
    """Fulfils ``extensions.Target`` by asking another one; hides secrets before anybody sees the answer."""

    def __init__(self, target: Target, secrets: Secrets) -> None:
        self.name = secrets.mask(target.name)
        self.is_live = getattr(target, "is_live", True)
        self._target = target
        self._secrets = secrets

    async def answer(self, request: Request) -> Response:
        """Ask the target."""
        try:
            response = await self._target.answer(request)
        except TargetError as error:
            raise error.reworded(
                self._secrets.mask(error.message), answered=self._secrets.mask_value(error.answered)
            ) from None
        except Exception as error:  # noqa: BLE001 - a target is a plug-in: its mistake must not tell secrets
            raise TargetError("target-error", self._secrets.mask(in_full(error))) from None
        masked: Response = _masked(response, self._secrets)
        return masked

    async def close(self) -> None:
        await self._target.close()


def _masked(value: Any, secrets: Secrets) -> Any:
    """Return a record, or a value in one, with the secrets in its texts masked; unchanged if it has none."""
    if is_dataclass(value) and not isinstance(value, type):
        changed = {
            field.name: masked
            for field in fields(value)
            if (masked := _masked(old := getattr(value, field.name), secrets)) is not old and masked != old
        }
        return replace(value, **changed) if changed else value
    if isinstance(value, tuple):
        return tuple(_masked(item, secrets) for item in value)
    return secrets.mask_value(value)
