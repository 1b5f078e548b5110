"""The private names of asyncmy that this package uses, and why its public interface does not do.

pyproject.toml pins asyncmy to the release below. Before another is taken, each name is looked up in its
sources (`connection.pyx`): a test compares this table with the driver and with the code of this package.
"""

RELEASE = "0.2.18"

PRIVATE_NAMES = {
    "_bulk_supported": "whether the server takes MariaDB's bulk statements; no public name",
    "_charset": "the login packet of the TLS request names it",
    "_client_flag": "SSL is removed where the server has none, MULTI_RESULTS and DEPRECATE_EOF are added",
    "_close_on_cancel": "a statement cut off by a deadline leaves the connection unusable",
    "_deprecate_eof": "decides where a result set ends, for our own parser",
    "_encoding": "statements are encoded here, as several are prepared in one packet",
    "_execute_command": "bulk statements and LOAD DATA LOCAL are commands that the driver does not offer",
    "_fill_buffer": "limited while a login reads, so that a server cannot fill the memory",
    "_get_server_information": "the greeting is checked before the driver decides about TLS",
    "_loop": "TLS upgrades the transport in place; the driver's own way loses packets under uvloop",
    "_mariadb_ext_caps": "MariaDB's extended capabilities, of which the driver asks for one only",
    "_next_seq_id": "packets are framed here, and the driver goes on counting after them",
    "_process_auth": "plugins are refused in words, and plain passwords without TLS",
    "_proto": "its buffer is enlarged and its transport replaced",
    "_read_query_result": "reads the answer of a bulk statement",
    "_request_authentication": "the last packet of a login must be an OK",
    "_result": "freed after a bulk statement, which else keeps the rows",
    "_secure": "whether a plain password may be sent",
    "_ssl_context": "taken away where the server offers no TLS and none is required",
    "_stream_broken": "a connection cut within a packet is not used again",
    "_tls_established": "set by the upgrade in place",
    "_transport": "the fast path writes to the socket without the driver's buffers",
    "_write_bytes": "several statements are prepared with one write",
}
"""By attribute of `asyncmy.connection.Connection`."""
