"""What the tests of TPC-C share: small warehouses, and the conditions once more, as they are specified.

Nothing here is taken from the program: each statement counts what contradicts its condition.
"""

from tuibench.workload import library
from tuibench.workload.program import Program

SMALL: dict[str, object] = {"warehouses": 2, "customers_per_district": 40, "items": 100}

BOUGHT = """SELECT o_w_id, o_d_id, o_c_id, -ol_amount FROM orders, order_line
        WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id AND ol_delivery_d IS NOT NULL"""
CONDITIONS = {
    "1": """SELECT COUNT(*) FROM warehouse w
        WHERE w.w_ytd <> (SELECT SUM(d.d_ytd) FROM district d WHERE d.d_w_id = w.w_id)""",
    "2": """SELECT COUNT(*) FROM district d WHERE d.d_next_o_id - 1 <>
          (SELECT MAX(o.o_id) FROM orders o WHERE o.o_w_id = d.d_w_id AND o.o_d_id = d.d_id)
        OR d.d_next_o_id - 1 <> COALESCE(
          (SELECT MAX(n.no_o_id) FROM new_order n WHERE n.no_w_id = d.d_w_id AND n.no_d_id = d.d_id),
          d.d_next_o_id - 1)""",
    "3": """SELECT COUNT(*) FROM (SELECT MAX(no_o_id) - MIN(no_o_id) + 1 AS wanted, COUNT(*) AS found
        FROM new_order GROUP BY no_w_id, no_d_id) AS x WHERE wanted <> found""",
    "4": """SELECT COUNT(*) FROM district d WHERE
          (SELECT SUM(o.o_ol_cnt) FROM orders o WHERE o.o_w_id = d.d_w_id AND o.o_d_id = d.d_id) <>
          (SELECT COUNT(*) FROM order_line l WHERE l.ol_w_id = d.d_w_id AND l.ol_d_id = d.d_id)""",
    "5": """SELECT COUNT(*) FROM orders o WHERE (o.o_carrier_id IS NULL) <> EXISTS (SELECT 1 FROM new_order n
        WHERE n.no_w_id = o.o_w_id AND n.no_d_id = o.o_d_id AND n.no_o_id = o.o_id)""",
    "6": """SELECT COUNT(*) FROM orders o WHERE o.o_ol_cnt <> (SELECT COUNT(*) FROM order_line l
        WHERE l.ol_w_id = o.o_w_id AND l.ol_d_id = o.o_d_id AND l.ol_o_id = o.o_id)""",
    "7": """SELECT COUNT(*) FROM order_line l, orders o
        WHERE o.o_w_id = l.ol_w_id AND o.o_d_id = l.ol_d_id AND o.o_id = l.ol_o_id
          AND ((l.ol_delivery_d IS NULL AND o.o_carrier_id IS NOT NULL)
            OR (l.ol_delivery_d IS NOT NULL AND o.o_carrier_id IS NULL))""",
    "8": """SELECT COUNT(*) FROM warehouse w
        WHERE w.w_ytd <> (SELECT SUM(h.h_amount) FROM history h WHERE h.h_w_id = w.w_id)""",
    "9": """SELECT COUNT(*) FROM district d WHERE d.d_ytd <>
        (SELECT SUM(h.h_amount) FROM history h WHERE h.h_w_id = d.d_w_id AND h.h_d_id = d.d_id)""",
    "10": f"""SELECT COUNT(*) FROM (SELECT c_id FROM (
        SELECT c_w_id, c_d_id, c_id, c_balance AS amount FROM customer
        UNION ALL SELECT h_c_w_id, h_c_d_id, h_c_id, h_amount FROM history
        UNION ALL {BOUGHT}) AS moves GROUP BY c_w_id, c_d_id, c_id HAVING SUM(amount) <> 0) AS x""",
    "11": """SELECT COUNT(*) FROM district d WHERE
          (SELECT COUNT(*) FROM orders o WHERE o.o_w_id = d.d_w_id AND o.o_d_id = d.d_id) -
          (SELECT COUNT(*) FROM new_order n WHERE n.no_w_id = d.d_w_id AND n.no_d_id = d.d_id)
          <> {delivered}""",
    "12": f"""SELECT COUNT(*) FROM (SELECT c_id FROM (
        SELECT c_w_id, c_d_id, c_id, c_balance + c_ytd_payment AS amount FROM customer
        UNION ALL {BOUGHT}) AS moves GROUP BY c_w_id, c_d_id, c_id HAVING SUM(amount) <> 0) AS x""",
}
"""For each what counts its contradictions, but for the number of orders that the load delivers."""

DAMAGE = {
    "1": "UPDATE warehouse SET w_ytd = w_ytd + 0.01 WHERE w_id = 2",
    "2": "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 2 AND d_id = 3",
    "3": "DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 3 AND no_o_id = {middle}",
    "4": "DELETE FROM order_line WHERE ol_w_id = 2 AND ol_d_id = 3 AND ol_o_id = 7 AND ol_number = 1",
    "5": "UPDATE orders SET o_carrier_id = 4 WHERE o_w_id = 2 AND o_d_id = 3 AND o_id = {newest}",
    "6": "UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_w_id = 2 AND o_d_id = 3 AND o_id = 9",
    "7": "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 2 AND ol_d_id = 3 AND ol_o_id = 8",
    "8": "INSERT INTO history VALUES (5, 3, 2, 3, 2, NOW(), 1.25, 'damage')",
    "9": "UPDATE history SET h_d_id = 4 WHERE h_w_id = 2 AND h_d_id = 3 AND h_c_id = 5",
    "10": "UPDATE customer SET c_balance = c_balance - 1 WHERE c_w_id = 2 AND c_d_id = 3 AND c_id = 6",
    "11": "DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 3 AND no_o_id = {oldest}",
    "12": "UPDATE customer SET c_ytd_payment = 0 WHERE c_w_id = 2 AND c_d_id = 3 AND c_id = 6",
}
"""For each condition one statement that breaks it, and perhaps others with it."""


def contradictions(delivered: int = 28) -> dict[str, str]:
    """The statements, for districts of which so many orders are delivered: 28 of 40, as 2100 of 3000."""
    return {name: sql.replace("{delivered}", str(delivered)) for name, sql in CONDITIONS.items()}


def damage(oldest: int = 29, middle: int = 35, newest: int = 40) -> dict[str, str]:
    """The statements, with orders that are not delivered in the third district of the second warehouse."""
    return {name: sql.format(oldest=oldest, middle=middle, newest=newest) for name, sql in DAMAGE.items()}


def small(**options: object) -> Program:
    return library.load_program("tpcc", {**SMALL, **options})
