"""TPC-C's nine tables: columns, keys and references, with the specification's names and go-tpc's types."""

from typing import NamedTuple


class TpccTable(NamedTuple):
    """One table: columns with types, primary key, secondary index, foreign keys."""

    columns: dict[str, str]
    key: str = ""
    secondary: str = ""
    references: tuple[tuple[str, str], ...] = ()

    def create_sql(self, name: str, engine: str) -> str:
        """The CREATE TABLE statement; columns of the primary key are NOT NULL."""
        keys = self.key.split(", ")
        lines = [
            f"{column} {kind}{' NOT NULL' if column in keys or column in _NOT_NULL_COLUMNS else ''}"
            for column, kind in self.columns.items()
        ]
        lines += [f"PRIMARY KEY ({self.key})"] * bool(self.key)
        body = ",\n  ".join(lines)
        return f"CREATE TABLE {name} (\n  {body}\n) ENGINE={engine}"

    def reference_sql(self, name: str) -> str:
        """The ALTER TABLE statement that adds the foreign keys; empty without any."""
        added = (
            f"ADD CONSTRAINT fk_{name}_{number} FOREIGN KEY ({columns}) REFERENCES {parent}"
            for number, (columns, parent) in enumerate(self.references, 1)
        )
        return f"ALTER TABLE {name} {', '.join(added)}" if self.references else ""


_NOT_NULL_COLUMNS = frozenset({"h_c_id", "h_c_d_id", "h_c_w_id", "h_d_id", "h_w_id", "ol_i_id"})
"""NOT NULL columns outside the primary keys."""

MONEY, RATE = "DECIMAL(12,2)", "DECIMAL(4,4)"


def _address(prefix: str) -> dict[str, str]:
    return {
        f"{prefix}_street_1": "VARCHAR(20)",
        f"{prefix}_street_2": "VARCHAR(20)",
        f"{prefix}_city": "VARCHAR(20)",
        f"{prefix}_state": "CHAR(2)",
        f"{prefix}_zip": "CHAR(9)",
    }


STOCK_DISTRICT_COLUMNS = tuple(f"s_dist_{number:02}" for number in range(1, 11))

TABLES = {
    "order_line": TpccTable(
        {
            "ol_o_id": "INT",
            "ol_d_id": "INT",
            "ol_w_id": "INT",
            "ol_number": "INT",
            "ol_i_id": "INT",
            "ol_supply_w_id": "INT",
            "ol_delivery_d": "DATETIME",
            "ol_quantity": "INT",
            "ol_amount": "DECIMAL(6,2)",
            "ol_dist_info": "CHAR(24)",
        },
        key="ol_w_id, ol_d_id, ol_o_id, ol_number",
        references=(
            ("ol_w_id, ol_d_id, ol_o_id", "orders (o_w_id, o_d_id, o_id)"),
            ("ol_supply_w_id, ol_i_id", "stock (s_w_id, s_i_id)"),
        ),
    ),
    "stock": TpccTable(
        {
            "s_i_id": "INT",
            "s_w_id": "INT",
            "s_quantity": "INT",
            **dict.fromkeys(STOCK_DISTRICT_COLUMNS, "CHAR(24)"),
            "s_ytd": "INT",
            "s_order_cnt": "INT",
            "s_remote_cnt": "INT",
            "s_data": "VARCHAR(50)",
        },
        key="s_w_id, s_i_id",
        references=(("s_w_id", "warehouse (w_id)"), ("s_i_id", "item (i_id)")),
    ),
    "new_order": TpccTable(
        {"no_o_id": "INT", "no_d_id": "INT", "no_w_id": "INT"},
        key="no_w_id, no_d_id, no_o_id",
        references=(("no_w_id, no_d_id, no_o_id", "orders (o_w_id, o_d_id, o_id)"),),
    ),
    "orders": TpccTable(
        {
            "o_id": "INT",
            "o_d_id": "INT",
            "o_w_id": "INT",
            "o_c_id": "INT",
            "o_entry_d": "DATETIME",
            "o_carrier_id": "INT",
            "o_ol_cnt": "INT",
            "o_all_local": "INT",
        },
        key="o_w_id, o_d_id, o_id",
        secondary="idx_order ON orders (o_w_id, o_d_id, o_c_id, o_id)",
        references=(("o_w_id, o_d_id, o_c_id", "customer (c_w_id, c_d_id, c_id)"),),
    ),
    "history": TpccTable(
        {
            "h_c_id": "INT",
            "h_c_d_id": "INT",
            "h_c_w_id": "INT",
            "h_d_id": "INT",
            "h_w_id": "INT",
            "h_date": "DATETIME",
            "h_amount": "DECIMAL(6,2)",
            "h_data": "VARCHAR(24)",
        },
        references=(
            ("h_c_w_id, h_c_d_id, h_c_id", "customer (c_w_id, c_d_id, c_id)"),
            ("h_w_id, h_d_id", "district (d_w_id, d_id)"),
        ),
    ),
    "customer": TpccTable(
        {
            "c_id": "INT",
            "c_d_id": "INT",
            "c_w_id": "INT",
            "c_first": "VARCHAR(16)",
            "c_middle": "CHAR(2)",
            "c_last": "VARCHAR(16)",
            **_address("c"),
            "c_phone": "CHAR(16)",
            "c_since": "DATETIME",
            "c_credit": "CHAR(2)",
            "c_credit_lim": MONEY,
            "c_discount": RATE,
            "c_balance": MONEY,
            "c_ytd_payment": MONEY,
            "c_payment_cnt": "INT",
            "c_delivery_cnt": "INT",
            "c_data": "VARCHAR(500)",
        },
        key="c_w_id, c_d_id, c_id",
        secondary="idx_customer ON customer (c_w_id, c_d_id, c_last, c_first)",
        references=(("c_w_id, c_d_id", "district (d_w_id, d_id)"),),
    ),
    "district": TpccTable(
        {
            "d_id": "INT",
            "d_w_id": "INT",
            "d_name": "VARCHAR(10)",
            **_address("d"),
            "d_tax": RATE,
            "d_ytd": MONEY,
            "d_next_o_id": "INT",
        },
        key="d_w_id, d_id",
        references=(("d_w_id", "warehouse (w_id)"),),
    ),
    "warehouse": TpccTable(
        {"w_id": "INT", "w_name": "VARCHAR(10)", **_address("w"), "w_tax": RATE, "w_ytd": MONEY},
        key="w_id",
    ),
    "item": TpccTable(
        {
            "i_id": "INT",
            "i_im_id": "INT",
            "i_name": "VARCHAR(24)",
            "i_price": "DECIMAL(5,2)",
            "i_data": "VARCHAR(50)",
        },
        key="i_id",
    ),
}
"""The tables in an order for dropping: each before those that it references."""
