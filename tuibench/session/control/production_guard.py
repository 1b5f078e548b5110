"""Refusal of changes on a server that looks like production, until the operator has consented."""

from tuibench.clock import Clock
from tuibench.model.server import ServerInfo
from tuibench.tuning.change.production_consent import ConsentRecord, ProductionConsent, ProductionError


class ProductionGuard:
    """`signs` are the reasons against a change; empty once changes are allowed."""

    def __init__(
        self,
        server: ServerInfo,
        signs: tuple[str, ...],
        clock: Clock,
        consent: ProductionConsent | None = None,
    ) -> None:
        self._server = server
        self._clock = clock
        self._consent = consent or ProductionConsent()
        self.signs = () if not signs or self._consent.is_given(server.identity) else signs

    def require_confirmation(self) -> None:
        """Raises ProductionError with the signs, unless changes are allowed."""
        if self.signs:
            raise ProductionError(self._server.where, self.signs)

    def confirm(self) -> str:
        """Allows changes of this server, now and in later sessions; returns the reply as text."""
        if not self.signs:
            return "changes of this server are already allowed"
        yes = ConsentRecord(identity=self._server.identity, at=self._clock.wall_seconds(), signs=self.signs)
        self._consent.give(yes)
        self.signs = ()
        return f"{self._server.where} may be changed now"
