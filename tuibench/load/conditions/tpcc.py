"""TPC-C's consistency conditions, 1 to 12 of its clause 3.3.2; 11 as it holds right after the load only.

`<=>` takes two nulls for equal: a district that lost its last row differs from one that has it.
"""

from tuibench.load.conditions.base import Condition
from tuibench.workload.datasets import DataSet
from tuibench.workload.datasets.tpcc import Tpcc

YTD = Condition(
    name="1",
    says="W_YTD = ΣD_YTD",
    about="warehouse",
    differing="""
SELECT w_id, w_ytd, sum_d_ytd FROM warehouse
LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS sum_d_ytd FROM district GROUP BY d_w_id) AS d ON d_w_id = w_id
WHERE NOT w_ytd <=> sum_d_ytd""",
)
NEXT_ORDER = Condition(
    name="2",
    says="D_NEXT_O_ID − 1 = max(O_ID) = max(NO_O_ID)",
    about="district",
    differing="""
SELECT d_w_id, d_id, d_next_o_id, max_o_id, max_no_o_id FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS max_o_id FROM orders GROUP BY o_w_id, o_d_id) AS o
  ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS max_no_o_id FROM new_order GROUP BY no_w_id, no_d_id) AS n
  ON no_w_id = d_w_id AND no_d_id = d_id
WHERE NOT d_next_o_id - 1 <=> max_o_id OR (max_no_o_id IS NOT NULL AND max_no_o_id <> d_next_o_id - 1)""",
)
NEW_ORDERS = Condition(
    name="3",
    says="max(NO_O_ID) − min(NO_O_ID) + 1 = rows of new_order",
    about="district",
    differing="""
SELECT no_w_id, no_d_id, MIN(no_o_id) AS min_no_o_id, MAX(no_o_id) AS max_no_o_id,
  COUNT(*) AS rows_of_new_order
FROM new_order GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)""",
)
LINES = Condition(
    name="4",
    says="ΣO_OL_CNT = rows of order_line, per district",
    about="district",
    differing="""
SELECT d_w_id, d_id, sum_o_ol_cnt, rows_of_order_line FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS sum_o_ol_cnt FROM orders GROUP BY o_w_id, o_d_id) AS o
  ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (
  SELECT ol_w_id, ol_d_id, COUNT(*) AS rows_of_order_line FROM order_line GROUP BY ol_w_id, ol_d_id
) AS l ON ol_w_id = d_w_id AND ol_d_id = d_id
WHERE NOT sum_o_ol_cnt <=> rows_of_order_line""",
)
UNDELIVERED = Condition(
    name="5",
    says="O_CARRIER_ID is null ⇔ row in new_order",
    about="order",
    differing="""
SELECT o_w_id, o_d_id, o_id, o_carrier_id, no_o_id FROM orders
LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)
UNION ALL
SELECT no_w_id, no_d_id, o_id, o_carrier_id, no_o_id FROM new_order
LEFT JOIN orders ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id WHERE o_id IS NULL""",
)
LINES_OF_ORDER = Condition(
    name="6",
    says="O_OL_CNT = its rows of order_line",
    about="order",
    differing="""
SELECT o_w_id, o_d_id, o_id, o_ol_cnt, rows_of_order_line FROM orders
LEFT JOIN (
  SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS rows_of_order_line FROM order_line
  GROUP BY ol_w_id, ol_d_id, ol_o_id
) AS l ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE NOT o_ol_cnt <=> rows_of_order_line""",
)
DELIVERED = Condition(
    name="7",
    says="OL_DELIVERY_D is null ⇔ O_CARRIER_ID is null",
    about="order line",
    differing="""
SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_delivery_d, o_id, o_carrier_id FROM order_line
LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)""",
)
WAREHOUSE_PAID = Condition(
    name="8",
    says="W_YTD = ΣH_AMOUNT",
    about="warehouse",
    differing="""
SELECT w_id, w_ytd, sum_h_amount FROM warehouse
LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS sum_h_amount FROM history GROUP BY h_w_id) AS h ON h_w_id = w_id
WHERE NOT w_ytd <=> sum_h_amount""",
)
DISTRICT_PAID = Condition(
    name="9",
    says="D_YTD = ΣH_AMOUNT",
    about="district",
    differing="""
SELECT d_w_id, d_id, d_ytd, sum_h_amount FROM district
LEFT JOIN (
  SELECT h_w_id, h_d_id, SUM(h_amount) AS sum_h_amount FROM history GROUP BY h_w_id, h_d_id
) AS h ON h_w_id = d_w_id AND h_d_id = d_id
WHERE NOT d_ytd <=> sum_h_amount""",
)
_BOUGHT = """
LEFT JOIN (
  SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS delivered FROM orders
  JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
  WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id
) AS o ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id"""
BALANCE = Condition(
    name="10",
    says="C_BALANCE = ΣOL_AMOUNT of delivered lines − ΣH_AMOUNT",
    about="customer",
    differing=f"""
SELECT c_w_id, c_d_id, c_id, c_balance, delivered, paid FROM customer{_BOUGHT}
LEFT JOIN (
  SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id
) AS h ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
WHERE NOT c_balance <=> COALESCE(delivered, 0) - COALESCE(paid, 0)""",  # noqa: S608
)
PAYMENTS = Condition(
    name="12",
    says="C_BALANCE + C_YTD_PAYMENT = ΣOL_AMOUNT of delivered lines",
    about="customer",
    differing=f"""
SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, delivered FROM customer{_BOUGHT}
WHERE NOT c_balance + c_ytd_payment <=> COALESCE(delivered, 0)""",  # noqa: S608
)


def conditions(data: DataSet) -> tuple[Condition, ...]:
    """All twelve. The data set tells only how many orders were loaded."""
    if not isinstance(data, Tpcc):
        raise TypeError("TPC-C's conditions are for TPC-C's tables")
    return (
        YTD, NEXT_ORDER, NEW_ORDERS, LINES, UNDELIVERED, LINES_OF_ORDER, DELIVERED, WAREHOUSE_PAID,
        DISTRICT_PAID, BALANCE, _loaded(data), PAYMENTS,
    )  # fmt: skip


def _loaded(data: Tpcc) -> Condition:
    """Deliveries and payments leave traces in other rows: the oldest undelivered order, and what came in."""
    delivered = data.sizes.delivered
    return Condition(
        name="11",
        says=f"rows of orders − rows of new_order = {delivered}, per district, right after the load",
        about="district",
        only_after_load=True,
        touched=f"""
SELECT d_id FROM district
LEFT JOIN (SELECT no_w_id, no_d_id, MIN(no_o_id) AS oldest FROM new_order GROUP BY no_w_id, no_d_id) AS n
  ON no_w_id = d_w_id AND no_d_id = d_id
WHERE d_next_o_id <> {data.customers + 1} OR d_ytd <> {data.customers * 10}
  OR NOT oldest <=> {delivered + 1}""",  # noqa: S608
        differing=f"""
SELECT d_w_id, d_id, rows_of_orders, rows_of_new_order FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, COUNT(*) AS rows_of_orders FROM orders GROUP BY o_w_id, o_d_id) AS o
  ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (
  SELECT no_w_id, no_d_id, COUNT(*) AS rows_of_new_order FROM new_order GROUP BY no_w_id, no_d_id
) AS n ON no_w_id = d_w_id AND no_d_id = d_id
WHERE COALESCE(rows_of_orders, 0) - COALESCE(rows_of_new_order, 0) <> {delivered}""",  # noqa: S608
    )
