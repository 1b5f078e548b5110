"""Command palette: key and action, in the order of the action table."""

from textual.command import DiscoveryHit, Hit, Hits
from textual.content import Content
from textual.system_commands import SystemCommandsProvider

KEY_WIDTH = 8


class ActionPalette(SystemCommandsProvider):
    """Textual's provider with an entry for each command; its help text is the key."""

    async def discover(self) -> Hits:
        for title, key, callback, _ in self.app.get_system_commands(self.screen):
            yield DiscoveryHit(_palette_line(key, Content(title)), callback, text=title)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for title, key, callback, _ in self.app.get_system_commands(self.screen):
            if (score := matcher.match(title)) > 0:
                yield Hit(score, _palette_line(key, matcher.highlight(title)), callback, text=title)


def _palette_line(key: str, title: Content) -> Content:
    return Content.assemble((f"{key:<{KEY_WIDTH}}", "bold"), title)
