"""The engine on asyncio: virtual users, transactions, prepared connections, latency recording."""
