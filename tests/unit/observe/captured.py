"""What a host answered over ssh, and the page of a node_exporter, shortened."""

FACTS = """\
begin 0
clock: 100
page: 4096
disks: loop0 vda dm-0
disk hardware: /sys/block/vda/device
cards: eth0 lo veth12
card hardware: /sys/class/net/*/device
pid file: 9932
candidate: 9932 /srv/mysql/data
/proc/9932/stat:9932 (ld (linux)) S 1 2 3 0 -1 4 5 0 0 0 870 250 0 0 20 0 37 0 1274952 1 131254
/proc/9932/cgroup:4:memory:/old
/proc/9932/cgroup:0::/system.slice/mysql.service
candidate: 11493 /srv/mariadb/data
/proc/11493/stat:11493 (mariadbd) S 1 2 3 0 -1 4 5 0 0 0 98 35 0 0 15 -5 32 0 1275177 8 4
/proc/uptime:12765.21 3556.25""".splitlines()

GROUP = "/sys/fs/cgroup/system.slice/mysql.service"


def reading(seconds: float, busy: int = 0, *, process: bool = True) -> list[str]:
    """An answer so much later, with so many hundredths of a second more used by the server."""
    later = round(seconds * 100)
    vda = f"{100 + later} 5 {2000 + later} 50 {300 + later} 6 {4000 + 2 * later} {900 + later} 0 1 2"
    lines = f"""\
begin 7
/proc/uptime:{12800.5 + seconds} 3600.0
/proc/stat:cpu  {1000 + busy} 0 500 {8000 + 2 * later - busy} 100 0 0 40 30 0
/proc/stat:cpu0 {500 + busy} 0 250 {4000 + later - busy} 50 0 0 20 15 0
/proc/stat:cpu1 500 0 250 {4000 + later} 50 0 0 20 15 0
/proc/stat:ctxt 6000
/proc/meminfo:MemTotal:       4000000 kB
/proc/meminfo:MemAvailable:   3000000 kB
/proc/meminfo:SwapTotal:            0 kB
/proc/meminfo:SwapFree:             0 kB
/proc/diskstats:   7       0 loop0 9 0 9 9 9 0 9 9 0 9 9
/proc/diskstats: 254       0 vda {vda}
/proc/diskstats: 254       1 vda1 90 5 1900 50 300 6 4000 900 0 1 2
/proc/net/dev:Inter-|   Receive                                                |  Transmit
/proc/net/dev: face |bytes    packets errs drop fifo frame compressed multicast|bytes
/proc/net/dev:  eth0: {5000 + 10 * later} 1 0 0 0 0 0 0 {7000 + later} 1 0 0 0 0 0 0
/proc/net/dev:    lo: 99999 1 0 0 0 0 0 0 99999 1 0 0 0 0 0 0
{GROUP}/cpu.max:150000 100000
{GROUP}/memory.max:max
/sys/fs/cgroup/system.slice/memory.max:2147483648
{GROUP}/cpu.stat:usage_usec 1
{GROUP}/cpu.stat:throttled_usec {1_000_000 + later * 1000}""".splitlines()
    if process:
        lines += f"""\
/proc/9932/stat:9932 (ld (linux)) S 1 2 3 0 -1 4 5 0 0 0 {870 + busy} 250 0 0 20 0 37 0 1274952 1 131254
/proc/9932/statm:200000 131254 900 1 0 1 0
/proc/9932/io:rchar: 5
/proc/9932/io:read_bytes: {4096 + later}
/proc/9932/io:write_bytes: {8192 + 2 * later}
/proc/9932/task/9932/status:voluntary_ctxt_switches:	{10 + later}
/proc/9932/task/9932/status:nonvoluntary_ctxt_switches:	{20 + later}
/proc/9932/task/9940/status:voluntary_ctxt_switches:	1
/proc/9932/task/9940/status:nonvoluntary_ctxt_switches:	2""".splitlines()
    return lines


def exporter_page(seconds: float = 0.0) -> str:
    """A page so much later: one core was busy for all of the time, the other for none of it."""
    return f"""\
# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{{cpu="0",mode="idle"}} 4000
node_cpu_seconds_total{{cpu="0",mode="iowait"}} 50
node_cpu_seconds_total{{cpu="0",mode="steal"}} {20 + seconds / 4}
node_cpu_seconds_total{{cpu="0",mode="user"}} {500 + 3 * seconds / 4}
node_cpu_seconds_total{{cpu="1",mode="idle"}} {4000 + seconds}
node_cpu_seconds_total{{cpu="1",mode="iowait"}} 50
node_cpu_seconds_total{{cpu="1",mode="steal"}} 20
node_cpu_seconds_total{{cpu="1",mode="user"}} 500
node_disk_io_now{{device="vda"}} 0
node_disk_read_bytes_total{{device="vda"}} {1e6 + 1000 * seconds}
node_disk_read_bytes_total{{device="dm-0"}} 5e6
node_disk_read_time_seconds_total{{device="vda"}} 3
node_disk_reads_completed_total{{device="vda"}} 200
node_disk_write_time_seconds_total{{device="vda"}} {5 + 0.02 * seconds}
node_disk_writes_completed_total{{device="vda"}} {400 + 10 * seconds}
node_disk_written_bytes_total{{device="vda"}} {2e6 + 4096 * seconds}
node_memory_MemAvailable_bytes 3e+09
node_memory_MemTotal_bytes 4e+09
node_memory_SwapFree_bytes 1e+09
node_memory_SwapTotal_bytes 1.5e+09
node_network_receive_bytes_total{{device="eth0"}} {100 + 50 * seconds}
node_network_receive_bytes_total{{device="docker0"}} 900
node_network_transmit_bytes_total{{device="eth0"}} {100 + 70 * seconds}
node_time_seconds {1.7e9 + seconds}
process_cpu_seconds_total 5
"""
