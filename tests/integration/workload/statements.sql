-- Statements of the kinds that the manuals of MySQL and MariaDB show, and the tables that they need.
-- A statement behind a line `-- mysql` or `-- mariadb` is one of this flavour only.

CREATE TABLE customers (
  id INT PRIMARY KEY, name VARCHAR(60), email VARCHAR(100), country CHAR(2), born DATE, balance DECIMAL(10,2),
  score DOUBLE, active TINYINT, created DATETIME(6), wakes TIME, note TEXT, doc JSON, uid BINARY(16), flags BIT(8),
  kind ENUM('a','b','c'), tags SET('x','y','z'), KEY (country), KEY (born), FULLTEXT KEY (note))
  DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE orders (
  id INT AUTO_INCREMENT PRIMARY KEY, customer INT NOT NULL, placed DATETIME NOT NULL, total DECIMAL(10,2) NOT NULL,
  state INT NOT NULL DEFAULT 0, KEY placed (placed), KEY (customer)) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE order_lines (
  order_id INT, no INT, sku VARCHAR(20), amount INT, price DECIMAL(8,3), PRIMARY KEY (order_id, no))
  DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE tree (id INT PRIMARY KEY, parent INT, name VARCHAR(20)) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE sales (year INT NOT NULL, region VARCHAR(10) NOT NULL, amount INT NOT NULL, PRIMARY KEY (year, region)) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci
  PARTITION BY RANGE (year) (PARTITION p0 VALUES LESS THAN (2024), PARTITION p1 VALUES LESS THAN (2026),
  PARTITION p2 VALUES LESS THAN MAXVALUE);
CREATE TABLE counters (name VARCHAR(30) PRIMARY KEY, n BIGINT UNSIGNED NOT NULL DEFAULT 0, seen DATETIME) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE `odd``name{1}` (`we``ird` INT PRIMARY KEY, `select` VARCHAR(20), `a b?` INT) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;

-- rows

INSERT INTO customers VALUES
  (1,'Ann','ann@example.com','NO','1980-01-31',100.50,1.5,1,'2026-01-05 10:00:00.25','06:30:00','the quick brown fox','{"a": 1, "tags": ["x", "y"], "s": "it''s"}',x'00112233445566778899AABBCCDDEEFF',b'00000001','a','x,y'),
  (2,'Bob','bob@example.com','SE','1991-07-04',0.00,2.25,0,'2026-02-06 11:30:00','07:00:00','jumps over the lazy dog','{"a": 2, "lines": [{"sku": "s1"}, {"sku": "s2"}]}',x'FFEEDDCCBBAA99887766554433221100',b'00000010','b','y'),
  (3,'O''Neil','oneil@example.org','NO','1975-12-24',-20.25,NULL,1,'2026-03-07 12:45:30','08:15:30','100% cotton, a_b','{"a": 3}',NULL,b'00000011','c',''),
  (4,'Dora','dora@example.org','DK','2000-02-29',999.99,1e10,1,'2025-12-31 23:59:59.999999','23:59:59','database systems and the fox','[1, 2, 3]',x'0123456789ABCDEF0123456789ABCDEF',b'11111111','a','x,y,z'),
  (5,'émile','emile@example.fr','FR','1969-08-15',12.34,-0.5,NULL,NULL,NULL,'C:\\temp\\file','null',NULL,NULL,NULL,NULL),
  (6,'frank;x','f@x','NO','1999-09-09',55.55,3.14159,0,'2026-01-05 10:00:00',NULL,NULL,NULL,NULL,b'00000101','b','z');
INSERT INTO orders VALUES (1,1,'2026-01-01 00:00:00',10.00,0),(2,1,'2026-01-15 12:00:00',20.50,1),(3,2,'2026-02-01 08:00:00',30.25,2),
  (4,3,'2026-02-14 20:15:10',5.75,1),(5,4,'2026-03-01 00:00:01',1000.00,0),(6,4,'2026-03-02 10:10:10',0.99,2),(7,6,'2026-03-31 23:59:59',7.77,1);
INSERT INTO order_lines VALUES (1,1,'s1',2,1.250),(1,2,'s2',1,7.500),(2,1,'s1',10,2.050),(3,1,'s3',3,10.083),(4,1,'s;4',1,5.750),(5,1,'s1',100,10.000),(6,1,'s2',1,0.990),(7,1,'s3',7,1.110);
INSERT INTO tree VALUES (1,NULL,'root'),(2,1,'left'),(3,1,'right'),(4,2,'leaf'),(5,4,'deep');
INSERT INTO sales VALUES (2022,'n',10),(2023,'s',20),(2024,'n',30),(2025,'s',40),(2026,'n',50),(2026,'s',60);
INSERT INTO counters VALUES ('visits',10,'2026-01-01'),('big',18446744073709551615,NULL),('jobs',0,NULL);
INSERT INTO `odd``name{1}` VALUES (1,'one',10),(2,'two?',20);

-- statements

SELECT * FROM customers WHERE id = 1;
SELECT id, name FROM customers WHERE name = 'Ann' AND country = 'NO';
SELECT id FROM customers WHERE name = 'O''Neil' OR name = 'O\'Neil' OR name = "O'Neil";
SELECT id FROM customers WHERE balance > 10.5 AND balance < 1e3 ORDER BY id;
SELECT id FROM customers WHERE balance = -20.25;
SELECT id FROM customers WHERE balance BETWEEN -100 AND 100.50 ORDER BY id DESC LIMIT 3;
SELECT id FROM customers ORDER BY id LIMIT 2, 3;
SELECT id FROM customers ORDER BY id LIMIT 3 OFFSET 1;
SELECT id, name FROM customers ORDER BY 2 DESC, 1 LIMIT 4;
SELECT country, COUNT(*) FROM customers GROUP BY 1 ORDER BY 2 DESC, 1;
SELECT id FROM customers WHERE id IN (1, 3, 5) ORDER BY id;
SELECT id FROM customers WHERE id NOT IN (-1, 2, 4) ORDER BY id;
SELECT id FROM customers WHERE (id, country) IN ((1, 'NO'), (2, 'SE'), (3, 'XX')) ORDER BY id;
SELECT id FROM customers WHERE name IN ('Ann', 'Bob', 'émile') ORDER BY id;
SELECT id FROM customers WHERE name LIKE 'A%' OR name LIKE '%o_' ORDER BY id;
SELECT id FROM customers WHERE note LIKE '%100\%%';
SELECT id FROM customers WHERE note LIKE '%a\_b%';
SELECT id FROM customers WHERE note LIKE '%a!_b%' ESCAPE '!';
SELECT id FROM customers WHERE note LIKE '%100|%%' ESCAPE '|';
SELECT id FROM customers WHERE note LIKE 'C:\\\\temp%';
SELECT id FROM customers WHERE note = 'C:\\temp\\file';
SELECT id FROM customers WHERE name NOT LIKE '%n%' AND name IS NOT NULL ORDER BY id;
SELECT id FROM customers WHERE email REGEXP '^[a-d].*@example\\.(com|org)$' ORDER BY id;
SELECT id FROM customers WHERE email RLIKE 'org$' ORDER BY id;
SELECT id FROM customers WHERE name SOUNDS LIKE 'An';
SELECT id FROM customers WHERE born = DATE '1980-01-31';
SELECT id FROM customers WHERE born > DATE'1990-01-01' AND created < TIMESTAMP'2026-02-06 12:00:00' ORDER BY id;
SELECT id FROM customers WHERE wakes = TIME '06:30:00';
SELECT id FROM customers WHERE born = {d '1980-01-31'} OR created = {ts '2026-03-07 12:45:30'} OR wakes = {t '07:00:00'} ORDER BY id;
SELECT {fn UCASE(name)} FROM customers WHERE id = 1;
SELECT id FROM customers WHERE born BETWEEN '1970-01-01' AND '1990-12-31' ORDER BY id;
SELECT id FROM customers WHERE created >= '2026-01-01' AND created < '2026-01-01' + INTERVAL 1 MONTH ORDER BY id;
SELECT id FROM orders WHERE placed >= DATE_SUB('2026-03-01', INTERVAL 20 DAY) ORDER BY id;
SELECT id FROM orders WHERE placed < '2026-01-01' + INTERVAL '1 12' DAY_HOUR ORDER BY id;
SELECT id FROM orders WHERE placed > DATE_ADD('2026-02-01 00:00:00', INTERVAL '1:30' MINUTE_SECOND) ORDER BY id;
SELECT id FROM orders WHERE placed + INTERVAL -1 WEEK > '2026-02-20' ORDER BY id;
SELECT id, DATE_FORMAT(placed, '%Y-%m') FROM orders WHERE id < 4 ORDER BY id;
SELECT DATE_FORMAT(placed, '%Y-%m') AS m, COUNT(*), SUM(total) FROM orders GROUP BY DATE_FORMAT(placed, '%Y-%m') ORDER BY m;
SELECT DISTINCT DATE_FORMAT(placed, '%m') FROM orders ORDER BY DATE_FORMAT(placed, '%m');
SELECT YEAR(placed) + 1, SUM(IF(state = 1, total, 0)) FROM orders GROUP BY YEAR(placed) + 1;
SELECT customer, SUM(CASE WHEN state = 1 THEN total ELSE 0 END) AS open FROM orders GROUP BY customer HAVING open > 5 ORDER BY customer;
SELECT customer, COUNT(*) FROM orders WHERE total > 1 GROUP BY customer HAVING COUNT(*) >= 2 ORDER BY COUNT(*) DESC, customer;
SELECT IFNULL(country, 'none') AS c, AVG(balance) FROM customers WHERE id < 6 GROUP BY IFNULL(country, 'none') WITH ROLLUP;
SELECT FLOOR(total / 10) AS bucket, COUNT(*) FROM orders GROUP BY FLOOR(total / 10) HAVING bucket < 100 ORDER BY bucket;
SELECT COUNT(DISTINCT country) FROM customers WHERE active = 1;
SELECT GROUP_CONCAT(name ORDER BY name SEPARATOR ';') FROM customers WHERE id < 4;
SELECT country, GROUP_CONCAT(DISTINCT name ORDER BY name DESC SEPARATOR '') FROM customers GROUP BY country ORDER BY country;
SELECT GROUP_CONCAT(CONCAT(name, '=', balance) ORDER BY 1 SEPARATOR ', ') FROM customers WHERE id <= 2;
SELECT BIT_OR(flags + 0), BIT_AND(flags | 1), BIT_XOR(id ^ 3) FROM customers WHERE id < 4;
SELECT STDDEV_POP(total), VAR_SAMP(total) FROM orders WHERE id > 2;
SELECT CONCAT('a', 'b' 'c', name) FROM customers WHERE id = 1;
SELECT 'a' 'b' "c", 'it''s', 'tab\tnew\nline', '\\', '%\_' FROM customers WHERE id = 1;
SELECT CONCAT_WS(',', name, 'x', NULL, country) FROM customers WHERE id = 2;
SELECT name 'the name', balance AS 'money' FROM customers WHERE id = 1;
SELECT 1 'one', 'x' AS label, -5, 2.50, .5, 1e2, NULL, TRUE FROM customers WHERE id = 1;
SELECT SUBSTRING('database', 5, 3), SUBSTRING('database' FROM 2 FOR 4), LEFT(name, 2), RIGHT(name, 1) FROM customers WHERE id = 1;
SELECT TRIM(LEADING 'x' FROM 'xxbarxx'), TRIM(BOTH ' ' FROM '  a '), TRIM(TRAILING 'o' FROM name) FROM customers WHERE id = 2;
SELECT POSITION('o' IN name), LOCATE('b', 'foobarbar', 5), INSTR(name, 'o') FROM customers WHERE id = 2;
SELECT LPAD(name, 8, '*'), RPAD('a', 3, 'b'), REPEAT('ab', 2), REVERSE('abc'), SPACE(2) FROM customers WHERE id = 1;
SELECT REPLACE(email, 'example', 'test'), INSERT('Quadratic', 3, 4, 'What'), STRCMP('a', 'b') FROM customers WHERE id = 1;
SELECT FIELD(name, 'Bob', 'Ann'), ELT(2, 'a', 'b', 'c'), FIND_IN_SET('b', 'a,b,c'), MAKE_SET(5, 'a', 'b', 'c') FROM customers WHERE id = 1;
SELECT id FROM customers WHERE id IN (3, 1, 2) ORDER BY FIELD(id, 3, 1, 2);
SELECT SUBSTRING_INDEX(email, '@', -1), UPPER('abc'), HEX('abc'), UNHEX('4D'), ASCII('A'), CHAR_LENGTH('é') FROM customers WHERE id = 1;
SELECT CHAR(77, 121), CHAR(65 USING utf8mb4), ORD('a'), QUOTE('it''s') FROM customers WHERE id = 1;
SELECT FORMAT(12332.1234, 2), FORMAT(balance, 1), CONV('a', 16, 2), BIN(12), OCT(12) FROM customers WHERE id = 1;
SELECT ROUND(1.298, 1), ROUND(balance, 0), TRUNCATE(1.999, 1), MOD(29, 9), 29 % 9, 29 DIV 9, POW(2, 3) FROM customers WHERE id = 1;
SELECT GREATEST(2, 0, id), LEAST('b', 'a'), COALESCE(NULL, 1), NULLIF(1, 1), IF(id > 0, 'yes', 'no') FROM customers WHERE id = 1;
SELECT ABS(-3), SIGN(-32), CEILING(1.23), FLOOR(-1.23), SQRT(16), CRC32('MySQL'), 7 / 2, 7 - 2 * 3 FROM customers WHERE id = 1;
SELECT 5 & 3, 5 | 3, 5 ^ 3, 1 << 3, 16 >> 2, ~0 & 15 FROM customers WHERE id = 1;
SELECT NOT 0, !1, 1 XOR 0, 1 && 0, 1 IS TRUE, NULL <=> NULL, 2 BETWEEN 1 AND 3, 'a' IN ('a', 'b') FROM customers WHERE id = 1;
SELECT CAST('12' AS SIGNED), CAST('1.5' AS DECIMAL(10, 2)), CAST('2026-01-01' AS DATE), CAST(id AS CHAR(5)) FROM customers WHERE id = 1;
SELECT CAST('a' AS BINARY(3)), BINARY 'a' = 'A', CAST('2026-01-01 10:00:00.5' AS DATETIME(2)), CAST('-1' AS UNSIGNED) FROM customers WHERE id = 1;
SELECT CONVERT('12', SIGNED), CONVERT(name USING utf8mb4), CONVERT('1.55', DECIMAL(4, 1)), CONVERT(5, CHAR(1)) FROM customers WHERE id = 1;
SELECT id FROM customers WHERE CAST(balance AS CHAR(3)) = '100';
SELECT id FROM customers WHERE name COLLATE utf8mb4_bin = 'Ann' AND 'a' COLLATE utf8mb4_general_ci = 'A';
SELECT id FROM customers WHERE name = _utf8mb4'Ann' COLLATE utf8mb4_general_ci;
SELECT id FROM customers WHERE name = N'Ann' OR name = n'Bob' ORDER BY id;
SELECT id FROM customers WHERE name = _latin1'Ann';
SELECT id FROM customers WHERE uid = x'00112233445566778899AABBCCDDEEFF';
SELECT id FROM customers WHERE uid IN (0x00112233445566778899AABBCCDDEEFF, 0xFFEEDDCCBBAA99887766554433221100) ORDER BY id;
SELECT id FROM customers WHERE uid = _binary'\0\"3DUfw\xaa' OR id = 0x01;
SELECT id FROM customers WHERE uid = UNHEX('0123456789ABCDEF0123456789ABCDEF');
SELECT id FROM customers WHERE flags = b'11' OR flags = 0b101 ORDER BY id;
SELECT id FROM customers WHERE flags & 1 = 1 AND id = 0x3;
SELECT X'4D7953514C', 0x41, b'1000001', HEX(0xFF + 0) FROM customers WHERE id = 1;
SELECT id FROM customers WHERE kind = 'a' AND FIND_IN_SET('y', tags) ORDER BY id;
SELECT id FROM customers WHERE kind = 2 OR tags = 'z' ORDER BY id;
SELECT id, MATCH (note) AGAINST ('fox') > 0 FROM customers WHERE MATCH (note) AGAINST ('fox') ORDER BY id;
SELECT id FROM customers WHERE MATCH (note) AGAINST ('+fox -quick' IN BOOLEAN MODE) ORDER BY id;
SELECT id FROM customers WHERE MATCH (note) AGAINST ('"lazy dog"' IN BOOLEAN MODE) ORDER BY id;
SELECT id FROM customers WHERE MATCH (note) AGAINST ('database' IN NATURAL LANGUAGE MODE) ORDER BY id;
SELECT id FROM customers WHERE MATCH (note) AGAINST ('database' WITH QUERY EXPANSION) ORDER BY id;
SELECT id, JSON_EXTRACT(doc, '$.a') FROM customers WHERE JSON_EXTRACT(doc, '$.a') = 2;
-- mysql
SELECT id, doc->'$.a', doc->>'$.s' FROM customers WHERE doc->>'$.a' = '1';
SELECT JSON_UNQUOTE(JSON_EXTRACT(doc, '$.s')) FROM customers WHERE id = 1;
SELECT id FROM customers WHERE JSON_CONTAINS(doc, '"x"', '$.tags');
SELECT id FROM customers WHERE JSON_SEARCH(doc, 'one', 's2') IS NOT NULL;
SELECT JSON_OBJECT('k', 1, 'name', name), JSON_ARRAY(1, 'a', NULL) FROM customers WHERE id = 1;
SELECT JSON_SET(doc, '$.b', 5), JSON_REMOVE(doc, '$.a'), JSON_LENGTH(doc, '$.tags') FROM customers WHERE id = 1;
SELECT JSON_VALUE(doc, '$.a') FROM customers WHERE id = 2;
-- mysql
SELECT JSON_VALUE(doc, '$.a' RETURNING SIGNED DEFAULT 7 ON EMPTY) FROM customers WHERE id IN (1, 4) ORDER BY id;
SELECT o.id, j.sku FROM customers o, JSON_TABLE(o.doc, '$.lines[*]' COLUMNS(sku VARCHAR(20) PATH '$.sku')) j WHERE o.id = 2;
SELECT j.n, j.p FROM JSON_TABLE('[{"n": 5}, {"n": 6}]', '$[*]' COLUMNS(p FOR ORDINALITY, n INT PATH '$.n' DEFAULT '0' ON EMPTY)) j WHERE j.n > 5;
-- mysql
SELECT id FROM customers WHERE 2 MEMBER OF (doc) AND JSON_OVERLAPS(doc, '[2, 7]');
-- mysql
SELECT JSON_SCHEMA_VALID('{"type": "object"}', '{"a": 1}') FROM customers WHERE id = 1;
SELECT JSON_ARRAYAGG(id), JSON_OBJECTAGG(id, name) FROM customers WHERE id < 3;
SELECT name, ROW_NUMBER() OVER (ORDER BY id), RANK() OVER (PARTITION BY country ORDER BY balance DESC) FROM customers WHERE id < 5 ORDER BY id;
SELECT id, SUM(total) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM orders WHERE id > 1 ORDER BY id;
SELECT id, AVG(total) OVER (ORDER BY id ROWS 2 PRECEDING) FROM orders WHERE state < 3 ORDER BY id;
-- mysql
SELECT id, LAG(total, 1, 0) OVER (ORDER BY id), LEAD(total, 2) OVER (ORDER BY id) FROM orders WHERE id < 6 ORDER BY id;
SELECT id, LAG(total, 1) OVER (ORDER BY id), NTILE(3) OVER (ORDER BY id), NTH_VALUE(total, 2) OVER w, FIRST_VALUE(total) OVER w FROM orders WHERE id > 0 WINDOW w AS (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) ORDER BY id;
SELECT id, SUM(total) OVER (PARTITION BY state % 2 ORDER BY id) FROM orders ORDER BY id;
WITH big AS (SELECT * FROM orders WHERE total > 10) SELECT customer, SUM(total) FROM big WHERE state < 2 GROUP BY customer ORDER BY 1;
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT * FROM n WHERE i > 1;
WITH RECURSIVE up AS (SELECT id, parent, name FROM tree WHERE id = 5 UNION ALL SELECT t.id, t.parent, t.name FROM tree t JOIN up ON t.id = up.parent) SELECT name FROM up LIMIT 10;
WITH a AS (SELECT 'x' AS k, 1 AS v UNION ALL SELECT 'y', 2), b (k2) AS (SELECT k FROM a WHERE v = 2) SELECT * FROM b;
(SELECT id FROM customers WHERE id = 1) UNION ALL (SELECT id FROM orders WHERE id = 7) ORDER BY 1 LIMIT 5;
SELECT 'c' AS kind, id FROM customers WHERE id < 3 UNION SELECT 'o', id FROM orders WHERE id < 3 ORDER BY kind, id;
SELECT country FROM customers WHERE id < 4 INTERSECT SELECT country FROM customers WHERE id > 2;
SELECT id FROM customers WHERE id < 5 EXCEPT SELECT customer FROM orders WHERE total > 9 ORDER BY id;
SELECT c.name, o.total FROM customers c JOIN orders o ON o.customer = c.id AND o.state = 1 WHERE c.country = 'NO' ORDER BY o.id;
SELECT c.id, COUNT(o.id) FROM customers c LEFT JOIN orders o ON o.customer = c.id AND o.total > 15 WHERE c.id < 5 GROUP BY c.id ORDER BY c.id;
SELECT c.name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.total > 25) ORDER BY c.id;
SELECT name FROM customers WHERE id IN (SELECT customer FROM orders WHERE state = 2) ORDER BY id;
SELECT name, (SELECT MAX(total) FROM orders WHERE customer = customers.id AND state <> 9) FROM customers WHERE id <= 2 ORDER BY id;
SELECT name FROM customers WHERE balance > ALL (SELECT total FROM orders WHERE state = 1) ORDER BY id;
SELECT name FROM customers WHERE balance > ANY (SELECT total - 5 FROM orders WHERE id = 4) ORDER BY id;
SELECT d.m, d.n FROM (SELECT MONTH(placed) AS m, COUNT(*) AS n FROM orders WHERE total > 1 GROUP BY m) d WHERE d.n > 1 ORDER BY d.m;
SELECT t.x, t.`2` FROM (SELECT 1 AS x, 2) t;
SELECT * FROM (SELECT 'a' AS c UNION ALL SELECT 'bb') t WHERE c <> 'a';
SELECT c.id FROM customers c STRAIGHT_JOIN orders o ON o.customer = c.id WHERE o.id = 3;
SELECT c.id FROM customers c NATURAL JOIN (SELECT 2 AS id) x;
SELECT id FROM orders USE INDEX (placed) WHERE placed > '2026-03-01' ORDER BY id;
SELECT id FROM orders FORCE INDEX FOR ORDER BY (PRIMARY) IGNORE INDEX (customer) WHERE customer = 4 ORDER BY id LIMIT 1;
SELECT SUM(amount) FROM sales PARTITION (p0, p1) WHERE amount > 15;
SELECT /*+ MAX_EXECUTION_TIME(1000) NO_INDEX_MERGE(orders) */ id FROM orders WHERE customer = 1 ORDER BY id;
SELECT /*! STRAIGHT_JOIN */ id FROM customers WHERE id = 3 /* a comment with 'quotes */;
SELECT /*!40001 SQL_NO_CACHE */ id FROM customers -- it's a comment
WHERE id = 2;
SELECT SQL_CALC_FOUND_ROWS id FROM customers ORDER BY id LIMIT 2;
SELECT SQL_SMALL_RESULT HIGH_PRIORITY country, MAX(id) FROM customers GROUP BY country ORDER BY country;
SELECT id FROM customers WHERE id = 1 FOR UPDATE;
SELECT id FROM customers WHERE id = 1 LOCK IN SHARE MODE;
SELECT id FROM orders WHERE id = 2 FOR UPDATE SKIP LOCKED;
-- mysql
SELECT c.id FROM customers c WHERE c.id = 2 FOR SHARE OF c NOWAIT;
-- mariadb
SELECT id FROM orders WHERE id = 2 FOR UPDATE WAIT 5;
-- mariadb
SELECT id FROM customers ORDER BY id OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY;
-- mariadb
SELECT id FROM customers ORDER BY id LIMIT 3 ROWS EXAMINED 100000;
-- mariadb
SELECT GROUP_CONCAT(name ORDER BY id SEPARATOR '|' LIMIT 2) FROM customers;
-- mariadb
SET STATEMENT max_statement_time = 10 FOR SELECT id FROM customers WHERE id = 1;
-- mariadb
SELECT COLUMN_GET(COLUMN_CREATE('color', 'blue', 'size', 5 AS INT), 'size' AS INT) FROM customers WHERE id = 1;
-- mariadb
SELECT MEDIAN(total) OVER (PARTITION BY state), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY total) OVER (PARTITION BY state) FROM orders WHERE id > 1 ORDER BY id;
-- mariadb
VALUES (1, 'a'), (2, 'b');
-- mysql
VALUES ROW(1, -2, 3), ROW(5, 7, 9) ORDER BY column_0;
-- mysql
TABLE tree ORDER BY id LIMIT 2 OFFSET 1;
-- mysql
SELECT t.x FROM LATERAL (SELECT 5 AS x) t WHERE t.x = 5;
-- mysql
SELECT REGEXP_REPLACE('a b c', 'b', 'X'), REGEXP_LIKE(name, '^a', 'i'), REGEXP_SUBSTR('abc def', '[a-z]+', 1, 2) FROM customers WHERE id = 1;
-- mysql
SELECT GROUPING(country), country, COUNT(*) FROM customers WHERE id < 5 GROUP BY country WITH ROLLUP;
-- mysql
SELECT BIN_TO_UUID(uid), UUID_TO_BIN('6ccd780c-baba-1026-9564-5b8c656024db') FROM customers WHERE id = 1;
SELECT EXTRACT(YEAR FROM '2019-07-02'), EXTRACT(DAY_MINUTE FROM placed), EXTRACT(MONTH FROM placed) FROM orders WHERE id = 2;
SELECT DATEDIFF('2026-01-31', '2026-01-01'), TIMESTAMPDIFF(MONTH, '2003-02-01', '2003-05-01'), TIMEDIFF('10:00:00', '09:30:00') FROM orders WHERE id = 1;
SELECT TIMESTAMPADD(MINUTE, 1, placed), DATE_ADD(placed, INTERVAL 1 SECOND), ADDDATE(placed, 31), SUBTIME(placed, '01:00:00') FROM orders WHERE id = 2;
SELECT STR_TO_DATE('01,5,2013', '%d,%m,%Y'), STR_TO_DATE('09:30:17', '%h:%i:%s'), GET_FORMAT(DATE, 'EUR') FROM orders WHERE id = 1;
SELECT DATE('2003-12-31 01:02:03'), TIME('2003-12-31 01:02:03'), TIMESTAMP('2003-12-31'), MAKEDATE(2011, 31), LAST_DAY('2003-02-05') FROM orders WHERE id = 1;
SELECT UNIX_TIMESTAMP('2015-11-13 10:20:19') > 0, FROM_DAYS(730669), WEEK('2008-02-20', 1), DAYNAME('2007-02-03'), QUARTER('2008-04-01') FROM orders WHERE id = 1;
SELECT SEC_TO_TIME(2378), TIME_TO_SEC('22:23:00'), PERIOD_ADD(200801, 2), TO_DAYS('2007-10-07'), DAYOFWEEK('2007-02-03') FROM orders WHERE id = 1;
SELECT NOW(6) > '2020-01-01', CURRENT_TIMESTAMP(3) IS NOT NULL, CURTIME(2) >= '00:00:00', UTC_TIMESTAMP(6) > '2020-01-01', SYSDATE(1) > '2020-01-01' FROM orders WHERE id = 1;
SELECT CONVERT_TZ('2004-01-01 12:00:00', '+00:00', '+10:00'), TIME_FORMAT('100:00:00', '%H %k'), INTERVAL(23, 1, 15, 17, 30, 44) FROM orders WHERE id = 1;
SELECT SHA2('abc', 224), TO_BASE64('abc'), HEX(AES_ENCRYPT('text', 'key')), INET_ATON('10.0.5.9'), INET_NTOA(167773449) FROM orders WHERE id = 1;
SELECT EXTRACTVALUE('<a>ccc<b>ddd</b></a>', '/a'), UPDATEXML('<a><b>ccc</b></a>', '/a', '<e>fff</e>') FROM orders WHERE id = 1;
SELECT ST_AsText(ST_GeomFromText('POINT(1 2)')), ST_X(POINT(3, 4)), ST_Distance(POINT(0, 0), POINT(3, 4)) FROM orders WHERE id = 1;
SELECT HEX(WEIGHT_STRING('AB' AS CHAR(4))), WEIGHT_STRING('a') IS NULL FROM orders WHERE id = 1;
SELECT GET_LOCK('job', 0), RELEASE_LOCK('job'), SLEEP(0), BENCHMARK(1, 1 + 1) FROM orders WHERE id = 1;
SELECT @n := 5, @n + 1, @'odd name', @@sql_mode = 'x' FROM orders WHERE id = 1;
SELECT id FROM customers WHERE (@r := id) > 4 AND id < 6;
SELECT `we``ird`, `select`, `a b?` FROM `odd``name{1}` WHERE `a b?` = 20 AND `select` = 'two?';
SELECT id FROM customers WHERE name = 'frank;x' AND email <> '# Time: 1' AND name <> 'a {b} ?';
SELECT name FROM counters WHERE n = 18446744073709551615 OR n = 9223372036854775807;
SELECT name FROM counters WHERE n > 9223372036854775808 AND n < 99999999999999999999;
SELECT id FROM customers WHERE id = NAME_CONST('p_id', 3);
SELECT id FROM customers WHERE name = NAME_CONST('p_name', _utf8mb4'Ann' COLLATE 'utf8mb4_general_ci') AND id > NAME_CONST('low', -1);
SELECT id FROM customers WHERE CASE kind WHEN 'a' THEN 1 WHEN 'b' THEN 2 ELSE 3 END = 2 ORDER BY id;
SELECT id FROM customers WHERE created IS NULL OR YEAR(created) = 2025 ORDER BY ISNULL(created), id;
SELECT id FROM customers WHERE active IS NOT TRUE AND id % 2 = 1;
-- mysql
SELECT ANY_VALUE(1) FROM customers WHERE id = 'nothing' OR id = '2';
SELECT a.id, b.id FROM customers a, customers b WHERE a.country = b.country AND a.id < b.id AND a.id + b.id <= 7 ORDER BY 1, 2;
INSERT INTO orders (id, customer, placed, total) VALUES (90, 5, '2026-04-01 10:00:00', 99.95);
INSERT INTO orders SET id = 91, customer = 6, placed = '2026-04-02', total = 1.5, state = 2;
INSERT INTO orders VALUES (100, 1, '2026-05-01', 1.00, 0), (101, 2, '2026-05-02', 2.00, 1), (102, 3, '2026-05-03', -3.00, 2);
INSERT INTO orders (id, customer, placed, total) VALUES (92, 1, '2026-01-01' + INTERVAL 5 DAY, 1), (93, 2, '2026-01-01' + INTERVAL 6 DAY, 2);
INSERT IGNORE INTO counters (name, n) VALUES ('visits', 1), ('new', 2);
INSERT INTO counters (name, n) VALUES ('visits', 5) ON DUPLICATE KEY UPDATE n = n + 5, seen = '2026-06-01';
INSERT INTO counters (name, n) VALUES ('a', 1), ('visits', 2) ON DUPLICATE KEY UPDATE n = n + VALUES(n) * 10;
-- mysql
INSERT INTO counters (name, n) VALUES ('visits', 5) AS new ON DUPLICATE KEY UPDATE n = counters.n + new.n;
-- mariadb
INSERT INTO counters (name, n) VALUES ('r', 5) RETURNING name, n;
INSERT INTO counters SELECT CONCAT('c', id), 7, '2026-01-01' FROM customers WHERE id < 3;
INSERT INTO customers (id, name, uid, flags, doc, kind, tags) VALUES (10, 'new', x'AABBCCDDEEFF00112233445566778899', b'101', '{"k": [1, 2]}', 'c', 'x,z');
INSERT INTO customers (id, name, uid, note) VALUES (11, _utf8mb4'é', _binary'0123456789abcdef', 'a\0b\Zc\\d\'e"f'), (12, N'n', NULL, 'x');
INSERT INTO customers (id, uid) VALUES (13, _binary'0123456789abcdef'), (14, _binary'fedcba9876543210');
REPLACE INTO counters (name, n) VALUES ('visits', 77), ('other', 78);
REPLACE INTO counters SET name = 'jobs', n = 9;
UPDATE orders SET state = 3, total = total * 1.1 WHERE id = 1;
UPDATE orders SET state = state + 1 WHERE placed < '2026-02-01' ORDER BY id DESC LIMIT 1;
UPDATE customers SET note = 'it\'s 100\% {x} ?', balance = balance - 5.25 WHERE id IN (1, 2);
UPDATE customers c JOIN orders o ON o.customer = c.id SET c.balance = c.balance + o.total, o.state = 9 WHERE o.total > 25 AND c.country = 'SE';
UPDATE customers, orders SET orders.state = 5 WHERE customers.id = orders.customer AND customers.name = 'Dora';
UPDATE customers SET doc = JSON_SET(doc, '$.a', 99, '$.z', 'q'), flags = b'111' WHERE id = 1;
UPDATE customers SET kind = CASE id WHEN 1 THEN 'b' WHEN 2 THEN 'c' ELSE kind END, created = '2026-01-01 00:00:00.5' WHERE id < 4;
UPDATE LOW_PRIORITY IGNORE counters SET n = n - 1, seen = TIMESTAMP'2026-01-02 03:04:05' WHERE name = 'visits';
UPDATE sales PARTITION (p1) SET amount = amount + 1 WHERE region = 'n';
UPDATE orders SET placed = placed + INTERVAL 90 MINUTE WHERE id BETWEEN 2 AND 4;
DELETE FROM order_lines WHERE order_id = 1 AND no = 2;
DELETE FROM orders WHERE total < 10 ORDER BY placed LIMIT 2;
DELETE o, l FROM orders o JOIN order_lines l ON l.order_id = o.id WHERE o.state = 2 AND l.amount > 2;
DELETE FROM orders USING orders JOIN customers c ON c.id = orders.customer WHERE c.country = 'DK';
DELETE QUICK IGNORE FROM counters WHERE name IN ('visits', 'nothing');
-- mariadb
DELETE FROM counters WHERE n = 10 RETURNING name;
-- mysql
WITH old AS (SELECT id FROM orders WHERE state = 2) DELETE FROM orders WHERE id IN (SELECT id FROM old) AND total > 20;
-- mysql
WITH t AS (SELECT 5 AS five) UPDATE orders SET state = (SELECT five FROM t) WHERE id = 3;
SELECT id FROM customers WHERE id = 1 INTO @found;
SELECT COUNT(*), MIN(total), MAX(total) FROM orders WHERE placed >= '2026-01-01' AND placed < '2026-04-01' AND state IN (0, 1, 2);
SELECT id FROM customers WHERE name > 'B' AND name < 'E' AND LENGTH(name) > 2 ORDER BY name DESC;
SELECT SQL_BUFFER_RESULT id FROM orders WHERE total * 2 > 40.5 AND -total < -20 AND total - -1 > 21 ORDER BY id;
SELECT id FROM customers WHERE born = 19800131 OR created > 20260301 ORDER BY id;
SELECT HOUR('272:59:59'), MINUTE('10:05:03'), EXTRACT(HOUR FROM '100:00:00'), MICROSECOND('12:00:00.123456') FROM orders WHERE id = 1;
SELECT ADDTIME('23:59:59.999998', '0:0:0.000002'), MAKETIME(12, 15, 30), HOUR(wakes) FROM customers WHERE id = 2;
SELECT TIME '100:00:00', DATE '2026-02-28' + INTERVAL 1 DAY, TIMESTAMP '2026-01-01 10:00:00.25' FROM orders WHERE id = 1;
SELECT id FROM customers WHERE wakes > '06:45' AND wakes < '100:00:00' ORDER BY id;
SELECT '2026-01-31' + INTERVAL 1 MONTH, DATE_ADD('2026-01-01', INTERVAL 36 HOUR), ADDDATE('2026-01-01', 31) FROM orders WHERE id = 1;
-- mysql
SELECT REGEXP_INSTR('dog cat dog', 'dog', 2), REGEXP_SUBSTR(name, 'N+', 1, 1, 'i') FROM customers WHERE id = 1;
SELECT id FROM customers WHERE score = 1.5 OR score > 1e9 OR score = 3.14159 ORDER BY id;
SELECT id FROM customers WHERE name = 0 AND id = '3x';
SELECT id FROM orders WHERE total = '10' OR total IN (20.5, 30.25) ORDER BY id;
SELECT id FROM customers WHERE doc = CAST('{"a": 3}' AS CHAR(20)) OR JSON_TYPE('[1]') = 'ARRAY' AND id = 3;
SELECT id, RAND(3) FROM orders WHERE id = 1;
SELECT LOG(2, 65536), EXP(0), PI() > 3, ROUND(-1.58), FORMAT(12332.2, 0) FROM orders WHERE id = 1;
