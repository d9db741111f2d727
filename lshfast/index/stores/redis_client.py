"""Clients of a Redis server: opened, checked, disconnected, and the addresses of their servers."""

from __future__ import annotations

from typing import Any

from lshfast._common.extras import optional

# Time limits in seconds (a server does nothing else during a transaction, which takes at most about
# 15 s), and the number of attempts to reconnect.
CONNECT_TIMEOUT = 5
TIMEOUT = 60
RETRIES = 3


def connect_url(url: str) -> Any:
    redis = optional("redis", "redis")
    try:
        return redis.Redis.from_url(
            url,
            socket_connect_timeout=CONNECT_TIMEOUT,
            socket_timeout=TIMEOUT,
            retry=redis.retry.Retry(
                redis.backoff.ExponentialBackoff(),
                RETRIES,
                (redis.exceptions.ConnectionError,),
            ),
        )
    except ValueError:  # its message may contain a part of the password
        form = "redis://[[user]:password@]host[:port][/database]"
        raise ValueError(
            f"the URL of a Redis server must have the form {form}"
        ) from None


def check_client(client: Any) -> Any:
    if not isinstance(
        client,
        (optional("redis", "redis").Redis, optional("redis", "redis").RedisCluster),
    ):
        raise TypeError(
            f"server must be a URL, redis.Redis or redis.RedisCluster, not {client!r}"
        )
    if client.get_encoder().decode_responses:
        raise ValueError(
            "the client must not decode responses: make it with decode_responses=False"
        )
    return client


def address_of(client: Any) -> str:
    """Return the address of the server, without user and password."""
    pool = getattr(client, "connection_pool", None)
    if pool is None:
        node = client.get_default_node()
        return f"{node.host}:{node.port} (cluster)"
    options = pool.connection_kwargs
    place = (
        options.get("path")
        or f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
    )
    return f"{place}/{options.get('db') or 0}"


def disconnect(client: Any) -> None:
    """Close the connections that no call uses; the client opens new ones when it needs them."""
    nodes = client.get_nodes() if hasattr(client, "get_nodes") else ()
    for server in [node.redis_connection for node in nodes] or [client]:
        # The client has a single connection.
        if getattr(server, "connection", None) is not None:
            server.connection.disconnect()
        if server is not None:
            try:
                server.connection_pool.disconnect(inuse_connections=False)
            except TypeError:  # a pool of redis-py 5 without this argument
                server.connection_pool.disconnect()
