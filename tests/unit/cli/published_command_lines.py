"""Command lines of sysbench and mysqlslap as manuals, articles and blogs print them, versions 0.4 to 1.0.

Each begins with the program's name; `\\` at the end of a line and the address of the server are left out.
"""

SYSBENCH_10 = """
sysbench oltp_read_write --db-driver=mysql --mysql-db=sbtest --mysql-user=sbtest --tables=10 --table-size=1000000 prepare
sysbench oltp_read_write --db-driver=mysql --tables=10 --table-size=1000000 --threads=16 --time=300 --report-interval=10 run
sysbench oltp_read_write --tables=10 cleanup
sysbench --db-driver=mysql --threads=8 --time=60 --report-interval=1 oltp_read_only run
sysbench /usr/share/sysbench/oltp_read_write.lua --threads=4 --tables=3 --table-size=10000 prepare
sysbench /usr/share/sysbench/oltp_read_write.lua --threads=4 --events=0 --time=300 --tables=10 --table-size=100000 --range_size=100 --skip_trx=off --percentile=99 --report-interval=1 run
sysbench /usr/share/sysbench/oltp_read_only.lua --threads=16 --events=0 --time=300 --mysql-storage-engine=innodb --point-selects=10 --simple-ranges=0 run
sysbench /usr/share/sysbench/oltp_write_only.lua --rate=40 --threads=32 --time=60 --db-ps-mode=disable run
sysbench /usr/local/share/sysbench/oltp_point_select.lua --rand-type=uniform --histogram=on run
sysbench --test=/usr/share/sysbench/oltp_read_write.lua --threads=2 run
sysbench oltp_common.lua --tables=16 --table_size=1000000 --threads=16 prepare
sysbench oltp_common --tables=16 --threads=16 prepare
sysbench oltp_point_select.lua --tables=16 --table_size=1000000 --threads=64 --time=120 prewarm
sysbench oltp_read_write --tables=10 --table_size=100000 --threads=10 --time=60 --report-interval=10 prewarm
sysbench oltp_read_write --threads=8 --time=300 --max-requests=0 --report-interval=5 --tables=4 --table-size=500000 prepare
sysbench oltp_read_write --threads=8 --time=300 --events=0 --report-interval=5 --tables=4 cleanup
sysbench oltp_update_index --tables=4 --table-size=1000 --threads=4 --warmup-time=5 run
sysbench oltp_update_non_index --tables=4 --auto_inc=off --create_secondary=false --threads=4 run
sysbench oltp_insert --threads=8 --mysql-ignore-errors=all --forced-shutdown=1 run
sysbench oltp_delete --threads=8 --mysql-ignore-errors=1062,1213 run
sysbench bulk_insert --threads=4 --time=30 run
sysbench select_random_points --tables=1 --table-size=100000 --rand-type=pareto run
sysbench select_random_ranges --tables=1 --table-size=100000 --rand-type=special run
sysbench oltp_read_write --rand-type=zipfian --rand-zipfian-exp=0.9 --thread-init-timeout=60 --validate=off run
sysbench oltp_read_write --mysql-ssl=on --threads=4 run
sysbench oltp_read_write --threads=4 --validate=on --db-debug run
sysbench ./tpcc.lua --threads=4 --tables=1 --scale=10 --use_fk=1 --enable_purge=no prepare
sysbench oltp_read_write --report-checkpoints=10,20 --verbosity=3 --debug=off --rand-seed=42 run
sysbench oltp_read_write --reconnect=0 --luajit-cmd=off --thread-stack-size=64K --threads=4 run
sysbench --config-file=@CONFIG@ oltp_read_write --tables=10 --table-size=10000 run
sysbench --config-file=@CONFIG@ oltp_point_select --tables=32 prepare
sysbench ./tpcc.lua --threads=4 --tables=1 --scale=10 --trx_level=RR --use_fk=0 --db-driver=mysql prepare
sysbench tpcc.lua --threads=4 --scale=10 --time=300 --report-interval=1 run
sysbench tpcc.lua --threads=4 --scale=10 --force_pk=1 --mysql_table_options= --report_csv=no run
sysbench oltp_read_write --ssl-verify-server-cert=0 --threads=4 run
sysbench oltp_read_write --mysql-compression=on --threads=4 run
sysbench --db-driver=mysql --mysql-db=tpcc --tables=1 --scale=1 --time=60 --threads=2 ./tpcc.lua run
sysbench oltp_common --threads=16 --rand-type=uniform --db-driver=mysql --mysql-db=sbtest --mysql-user=root prepare --tables=16 --table-size=10000000
sysbench oltp_point_select --threads=16 --time=300 --rand-type=uniform --rand-seed=4711 --db-driver=mysql --mysql-user=root run --tables=16 --table-size=10000000
sysbench --db-driver=mysql --mysql-db=sbtest --table_size=25000 --tables=250 --events=0 --time=600 --threads=8 --percentile=95 --report-interval=1 oltp_read_write prepare
sysbench --db-driver=mysql --range_size=10000 --table_size=100000 --tables=2 --threads=1 --events=0 --time=300 --rand-type=uniform /usr/share/sysbench/oltp_read_only.lua run
""".strip().splitlines()

SYSBENCH_05 = """
sysbench --test=tests/db/oltp.lua --oltp-table-size=1000000 --mysql-db=sbtest prepare
sysbench --test=tests/db/oltp.lua --oltp-tables-count=16 --oltp-table-size=1000000 --num-threads=16 --max-time=300 --max-requests=0 --report-interval=10 run
sysbench --test=/usr/share/doc/sysbench/tests/db/oltp.lua --oltp_tables_count=10 --oltp-table-size=10000000 --rand-init=on prepare
sysbench --test=/usr/share/doc/sysbench/tests/db/oltp.lua --oltp-read-only=off --oltp-test-mode=complex --num-threads=128 --max-time=3600 --max-requests=0 --percentile=95 --rand-type=pareto run
sysbench --test=/usr/share/sysbench/tests/include/oltp_legacy/oltp.lua --oltp-table-size=100000 --oltp-tables-count=10 --num-threads=32 --time=120 --report-interval=10 run
sysbench tests/include/oltp_legacy/oltp.lua --oltp-tables-count=8 --oltp-table-size=100000 --threads=8 prepare
sysbench /usr/share/sysbench/tests/include/oltp_legacy/oltp.lua --threads=8 --time=60 --oltp-tables-count=8 run
sysbench --test=tests/db/oltp.lua --oltp-read-only=on --oltp-point-selects=10 --oltp-simple-ranges=0 --oltp-sum-ranges=0 --oltp-order-ranges=0 --oltp-distinct-ranges=0 --oltp-skip-trx=on --num-threads=64 run
sysbench --test=tests/db/oltp_simple.lua --num-threads=64 --max-requests=0 --max-time=60 run
sysbench --test=tests/db/select.lua --oltp-table-size=100000 --num-threads=8 run
sysbench --test=tests/db/insert.lua --num-threads=16 --max-requests=100000 run
sysbench --test=tests/db/delete.lua --num-threads=16 --max-requests=10000 run
sysbench --test=tests/db/update_index.lua --oltp_table_size=10000000 --num-threads=16 --tx-rate=500 run
sysbench --test=tests/db/update_non_index.lua --num-threads=16 --forced-shutdown --max-time=60 run
sysbench --test=tests/db/parallel_prepare.lua --oltp-tables-count=64 --oltp-table-size=1000000 --num-threads=16 run
sysbench --test=tests/db/select_random_ranges.lua --num-threads=8 run
sysbench --test=tests/db/oltp.lua --mysql-table-engine=innodb --oltp-auto-inc=off --oltp-tables-count=4 cleanup
sysbench --test=tests/db/oltp.lua --oltp-dist-type=uniform --oltp-index-updates=1 --oltp-non-index-updates=1 --oltp-range-size=100 --init-rng=on --seed-rng=1 run
sysbench --test=./db/update_index.lua --mysql-db=test --oltp-tables-count=1 --mysql-table-engine=innodb --oltp-table-size=10000 --max-requests=1000000000 --oltp-read-only=off --oltp-test-mode=nontrx --num-threads=8 --max-time=60 run
sysbench --test=./tests/db/oltp.lua --mysql-db=testdb --oltp-tables-count=10 --oltp-table-size=500000 --report-interval=5 --oltp-skip-trx=on --oltp-read-only=on --rand-init=on --max-requests=0 --max-time=300 --num-threads=100 run
sysbench oltp.lua --mysql-db=sbt --mysql-table-engine=InnoDB --time=20 --threads=8 --oltp-table-size=100000 --oltp-tables-count=4 --db-driver=mysql prepare
sysbench --db-driver=mysql --oltp-table-size=500000 --oltp-tables-count=10 --threads=1 --events=1 --max-requests=1 --time=0 /usr/share/sysbench/tests/include/oltp_legacy/parallel_prepare.lua run
""".strip().splitlines()

SYSBENCH_04 = """
sysbench --test=oltp --oltp-table-size=1000000 --mysql-db=test --mysql-user=root prepare
sysbench --test=oltp --oltp-table-size=1000000 --mysql-db=test --max-time=60 --oltp-read-only=on --max-requests=0 --num-threads=8 run
sysbench --test=oltp --mysql-db=test --mysql-user=root cleanup
sysbench --num-threads=16 --max-requests=100000 --test=oltp --oltp-test-mode=complex --mysql-table-engine=innodb --oltp-table-name=sbtest run
sysbench --test=oltp --oltp-test-mode=simple --oltp-table-size=10000 --num-threads=8 run
sysbench --test=oltp --oltp-test-mode=nontrx --oltp-nontrx-mode=update_key --oltp-table-size=10000 run
sysbench --test=oltp --oltp-dist-type=special --oltp-dist-pct=1 --oltp-dist-res=75 --oltp-reconnect-mode=session --oltp-user-delay-min=0 run
sysbench --test=oltp --db-driver=mysql --mysql-engine-trx=yes --init-rng --batch=off --oltp-connect-delay=0 run
sysbench --test=oltp --mysql-db=test --mysql-table-engine=myisam --num-threads=100 --max-requests=100000 --oltp-read-only=on run
""".strip().splitlines()

MYSQLSLAP = """
mysqlslap --user=root --auto-generate-sql
mysqlslap -a --compress --concurrency=20
mysqlslap --user=root --auto-generate-sql --conc=50 --iter=10 --number-of-q=1000 --eng=innodb
mysqlslap --no-defaults --auto-generate-sql --concurrency=50 --iterations=10
mysqlslap -a --concurrency=50,100 --number-of-queries=1000 --debug-info
mysqlslap -a --concurrency=100 --iterations=5 --engine=myisam,innodb --number-of-queries=500
mysqlslap --concurrency=5 --iterations=5 --query=@SQL@ --create="CREATE TABLE a (b int);INSERT INTO a VALUES (23)" --delimiter=;
mysqlslap --delimiter=";" --create="CREATE TABLE a (b int);INSERT INTO a VALUES (23)" --query="SELECT * FROM a" --concurrency=50 --iterations=200
mysqlslap --concurrency=5 --iterations=20 --number-int-cols=2 --number-char-cols=3 --auto-generate-sql
mysqlslap --auto-generate-sql-load-type=write --auto-generate-sql --auto-generate-sql-add-autoincrement --number-of-queries=10
mysqlslap --create-schema=slapdb --query="SELECT 1" --concurrency=10 --iterations=3 --no-drop
mysqlslap -a -c 50 -i 10 -e innodb -v --protocol=tcp
mysqlslap --auto-generate-sql --auto-generate-sql-guid-primary --sql-mode=STRICT_ALL_TABLES --csv --only-print
mysqlslap --auto-generate-sql --commit=10 --detach=100 --silent -T
mysqlslap --concurrency=2 --iterations=1 --number-int-cols=10 --number-char-cols=10 -a --auto-generate-sql-guid-primary --number-of-queries=10000 --auto-generate-sql-load-type=write --engine=innodb
mysqlslap --user=skysql -i1000000 -c32 -q "insert into test(c) values('0-31091-138522330')" --create-schema=test
mysqlslap --user=stnduser --concurrency=30 --iterations=100 --query=@SQL@ --create-schema=wordpress_test
""".strip().splitlines()

REFUSED = {
    "sysbench cpu --cpu-max-prime=20000 run": "'cpu' measures the processor",
    "sysbench --test=fileio --file-total-size=10G prepare": "'fileio' measures files",
    "sysbench --test=memory --num-threads=4 run": "'memory' measures memory",
    "sysbench oltp_read_write --db-driver=pgsql run": "only MySQL and MariaDB are supported",
    "sysbench ./tpcc.lua --tables=4 --scale=10 run": "the profile tpcc has one set of tables",
    "sysbench ./tpcc.lua --scale=10 --enable_purge=yes run": "deletes no old orders",
    "sysbench --test=oltp --oltp-reconnect-mode=transaction run": "connections stay open",
    "sysbench --test=oltp --oltp-sp-name=proc run": "no profile calls a procedure",
    "sysbench oltp_common.lua --threads=4 run": "has no transactions",
    "sysbench --test=oltp --oltp-table-name=test1000000 prepare": "the tables are called sbtest1, sbtest2",
    "sysbench oltp_read_write –threads=4 run": "it begins with a dash, not with hyphens: type --threads=4",
    "sysbench ./my_own_test.lua --threads=4 run": "there is no script",
    "sysbench --test=oltp --num-threads=4": "add one of prepare, prewarm, run, cleanup",
    "sysbench --config-file=/none oltp_read_write run": "cannot read '/none'",
    "mysqlslap --login-path=local -a": "has no login path 'local'",
    "mysqlslap -a –engine=innodb": "'–engine=innodb' begins with a dash, not with hyphens: type --engine",
    "mysqlslap -a --no-create": "unknown option --no-create",
    "mysqlslap -a --number=10": "unknown option --number",
    "sysbench tpcc.lua --mysql_table_options=X prepare": "creates its tables without options",
    "sysbench oltp_inlist_select.lua --random-points=9 run": "there is a profile classic.random_points100",
    "sysbench ./oltp_scan.lua --tables=4 run": "there is a profile classic.scan",
    "sysbench tpcc_load -h db1 -d tpcc -u app -p x -w 10": "prepare tpcc -h db1 -D tpcc -u app -p --warehouses=10",
    "sysbench ./tpcc_start -hdb1 -dtpcc -w 10 -c 16 -r 10 -l 60": (
        "run tpcc -h db1 -D tpcc --warehouses=10 --threads=16 --warmup-time=10 --time=60"
    ),
}
