-- The script API of sysbench 1.0, as a script of one connection sees it.
--
-- Everything runs in one coroutine. A function of `native` that needs the server suspends it: the engine takes the step
-- from the board, and resumes the coroutine with the answer. So a thread of the engine runs many scripts, and none of
-- them blocks another.
--
--   query(session, sql), execute(statement), send_rows(session)  -> the result | false: native.failure() is why
--   prepare(session, sql)                 -> a slot | false
--   sleep(microseconds), reconnect(session)
--   judge(verdict, code, message)         between two events -> whether there is another one
--
-- `native` has the functions written in Rust, `config` the options of the run.

local native, config = ...
local query, prepare, execute, judge = native.query, native.prepare, native.execute, native.judge
local add_row, send_rows = native.add_row, native.send_rows

local check_stack = native.check_stack

local error, pcall, type, tostring, tonumber, select = error, pcall, type, tostring, tonumber, select
local pairs, ipairs, setmetatable, unpack, next = pairs, ipairs, setmetatable, unpack, next
local collect = collectgarbage
local format, floor, concat = string.format, math.floor, table.concat
local resume, wrap, create, status, yield =
    coroutine.resume, coroutine.wrap, coroutine.create, coroutine.status, coroutine.yield

jit.off()

-- Functions of C that call back into Lua, and coroutines that resume others, take from the C stack.

string.gsub, string.format, table.sort = native.guard(string.gsub), native.guard(string.format), native.guard(table.sort)
os.time = native.guard(os.time)

-- Coroutines of the script: a suspension that is the engine's goes through them.

local REQUEST = native.request

local NO_MEMORY = "not enough memory"

local function caught(ok, ...)
    if not ok then
        local exceeded = native.exceeded() or (... == NO_MEMORY and NO_MEMORY)
        if exceeded then
            error(exceeded, 0)
        end
    end
    return ok, ...
end

-- The errors of limits are not caught by the script.
local standard_xpcall = xpcall

function _G.pcall(...)
    return caught(pcall(...))
end

function xpcall(body, handler, ...)
    check_stack()
    local function handled(problem)
        if native.exceeded() then
            return problem
        end
        return handler(problem)
    end
    return caught(standard_xpcall(body, handled, ...))
end

-- Lua says of this error not where it was raised.
local OVERFLOW = "stack overflow"

local function placed(problem)
    return problem == OVERFLOW and native.place() .. problem or problem
end

local function attempt(...)
    return standard_xpcall((...), placed, select(2, ...))
end

local function relayed(co, ok, first, ...)
    if not ok or first ~= REQUEST then
        return caught(ok, first, ...)
    end
    return relayed(co, resume(co, yield(REQUEST)))
end

function coroutine.resume(co, ...)
    check_stack()
    return relayed(co, resume(co, ...))
end

function coroutine.wrap(body)
    local co = create(body)
    local function given(ok, ...)
        if not ok then
            error(..., 0)
        end
        return ...
    end
    return function(...)
        return given(coroutine.resume(co, ...))
    end
end

-- Errors

local last_sql_error = {}

sysbench = {
    version = "1.0.20",
    version_string = "sysbench 1.0.20",
    tid = config.tid,
    opt = {},
    hooks = {},
    error = { NONE = 0, RESTART_EVENT = 1 },
    cmdline = {
        ARG_NULL = 0, ARG_BOOL = 1, ARG_INT = 2, ARG_SIZE = 3, ARG_DOUBLE = 4, ARG_STRING = 5, ARG_LIST = 6,
        ARG_FILE = 7, ARG_MAX = 8, PARALLEL_COMMAND = true,
        argv = { [0] = "sysbench", config.path, config.command },
        command = config.command,
        script_path = config.path,
        options = {},
    },
    sql = {
        error = { NONE = 0, IGNORABLE = 1, FATAL = 2 },
        type = {
            NONE = 0, TINYINT = 1, SMALLINT = 2, INT = 3, BIGINT = 4, FLOAT = 5, DOUBLE = 6, TIME = 7, DATE = 8,
            DATETIME = 9, TIMESTAMP = 10, CHAR = 11, VARCHAR = 12,
        },
    },
    rand = {},
}
thread_id = config.tid
test = config.path
mysql_table_engine, myisam_max_rows = "innodb", 1000000

local RESTART_EVENT = sysbench.error.RESTART_EVENT
local TYPE = sysbench.sql.type

-- The connections by the numbers of their sessions, as long as the script holds them. The first session is the one of
-- the engine's connection.
local connected = setmetatable({}, { __mode = "v" })

local function raise(of, sql)
    local connection = connected[of] or {}
    local code, state, message, is_ignorable = native.failure()
    local description =
        { connection = connection, query = sql, sql_errno = code, sql_state = state, sql_errmsg = message }
    connection.error, connection.sql_errno = is_ignorable and 1 or 2, code
    connection.sql_state, connection.sql_errmsg = state, message
    local hook = sysbench.hooks.sql_error_ignorable
    if is_ignorable or (type(hook) == "function" and hook(description)) then
        description.errcode = RESTART_EVENT
        error(description, 0)
    end
    local text = format("SQL error, errno = %d, state = '%s': %s", code, state, message)
    last_sql_error = { text = text, code = code, message = message }
    error(text, 3)
end

-- Results: as in sysbench, a connection has one, which each statement replaces.

local result_methods = { fetch_row = native.fetch_row, free = function() end }
local result_class = {
    __index = function(result, name)
        if name == "nrows" then
            return (native.shape(result[1]))
        elseif name == "nfields" then
            return select(2, native.shape(result[1]))
        elseif name == "connection" then
            return connected[result[1]]
        end
        return result_methods[name]
    end,
    __tostring = function() return "<sql_result>" end,
}

-- Parameters and prepared statements

-- The bytes of a date or a time, as a text.
local MOST_OF_A_TIME = 64

local statement_methods = { bind_param = native.bind_param, close = native.close }

native.keep(0, {
    __index = { set = native.set, set_rand_str = native.set_rand_str },
    __tostring = function() return "<sql_param>" end,
})
native.keep(1, {
    __index = statement_methods,
    __gc = native.close,
    __tostring = function() return "<sql_statement>" end,
})
native.keep(2, tonumber)

function statement_methods:bind_create(kind, max_len)
    if type(kind) ~= "number" or kind <= TYPE.NONE or kind > TYPE.VARCHAR then
        error("Unsupported argument type: " .. tostring(kind), 2)
    end
    if (kind == TYPE.CHAR or kind == TYPE.VARCHAR) and type(max_len) ~= "number" then
        error("a parameter of the type CHAR or VARCHAR needs its length", 2)
    end
    return native.parameter(kind, max_len or MOST_OF_A_TIME)
end

-- A session that was lost beside the engine's connection is opened again when it is used next.
local function reopened(session)
    return not native.is_open(session) and native.reconnect(session)
end

function statement_methods:execute()
    return execute(self) or reopened(self) and execute(self) or raise(native.session(self), native.text(self))
end

-- Connections

local connection_methods = {}
local connection_class = { __index = connection_methods, __tostring = function() return "<sql_connection>" end }

function connection_methods:query(sql)
    local session = self[1]
    return query(session, sql) or reopened(session) and query(session, sql) or raise(session, sql)
end

function connection_methods:query_row(sql)
    local session = self[1]
    local result = query(session, sql) or reopened(session) and query(session, sql) or raise(session, sql)
    local row = result:fetch_row()
    if row then
        return unpack(row, 1, result.nfields)
    end
    return nil
end

function connection_methods:prepare(sql)
    local session = self[1]
    return native.statement(
        prepare(session, sql) or reopened(session) and prepare(session, sql) or raise(session, sql))
end

function connection_methods:check_error(result)
    return result
end

local closed_class = {
    __index = function(_, name)
        if name == "disconnect" then
            return connection_methods.disconnect
        end
        error("this connection is closed", 2)
    end,
}

function connection_methods:disconnect()
    if connected[self[1]] == self then
        connected[self[1]] = nil
    end
    setmetatable(self, closed_class)
end

function connection_methods:reconnect()
    return native.reconnect(self[1])
end

-- Rows are collected into statements, as sysbench does.

local function flush(connection)
    local session = connection[1]
    return send_rows(session) or reopened(session) and send_rows(session) or raise(session, connection.head)
end

function connection_methods:bulk_insert_init(text)
    self.head = text
    native.begin_rows(self[1], text)
end

function connection_methods:bulk_insert_next(row)
    if not add_row(self[1], row) then
        flush(self)
        add_row(self[1], row)
    end
end

function connection_methods:bulk_insert_done()
    flush(self)
    native.begin_rows(self[1], "")
end

local driver_methods = {}
local driver_class = { __index = driver_methods, __tostring = function() return "<sql_driver>" end }

function driver_methods:name()
    return "mysql"
end

-- How many sessions there are; each login takes the place of one that the script holds no more.
local sessions, MOST_SESSIONS = 0, 1000

local function unheld()
    for session = 0, sessions - 1 do
        if not connected[session] then
            return session
        end
    end
end

function driver_methods:connect()
    local session = unheld()
    if not session and sessions > 0 then
        -- As in sysbench, one that the script holds no more is closed.
        collect()
        session = unheld()
    end
    if session then
        native.reconnect(session)
    elseif sessions == MOST_SESSIONS then
        error(format("this thread holds %d connections already", MOST_SESSIONS), 2)
    else
        session, sessions = sessions, sessions + 1
        native.keep_result(session, setmetatable({ session }, result_class))
        if not native.is_open(session) then
            native.reconnect(session)
        end
    end
    local connection = setmetatable({ session, error = 0, sql_errno = 0 }, connection_class)
    connected[session] = connection
    return connection
end

function sysbench.sql.driver(name)
    if name ~= nil and name ~= "mysql" then
        error("this script needs the driver '" .. tostring(name) .. "'; there is only mysql", 2)
    end
    return setmetatable({}, driver_class)
end

-- Random numbers

for _, name in ipairs({ "default", "uniform", "gaussian", "special", "pareto", "zipfian", "unique", "uniform_double",
    "string" }) do
    sysbench.rand[name] = native[name]
end
sysbench.rand.varstring = native.varstring

function sysbench.rand.uniform_uint64()
    local high, low = native.words()
    return high * 4294967296ULL + low
end

-- The global functions of sysbench 0.5.

sb_rand, sb_rand_uniform, sb_rand_gaussian = native.default, native.uniform, native.gaussian
sb_rand_special, sb_rand_uniq, sb_rand_str = native.special, native.unique, native.string
function sb_rnd()
    return (native.words())
end

DB_ERROR_NONE, DB_ERROR_RESTART_TRANSACTION, DB_ERROR_FAILED = 0, 1, 2
sysbench.db = { DB_ERROR_NONE = 0, DB_ERROR_RESTART_TRANSACTION = 1, DB_ERROR_FAILED = 2 }

local own

local function own_connection()
    own = own or sysbench.sql.driver():connect()
    return own
end

local old = {}

function old.connect()
    own_connection()
end

function old.disconnect() end

function old.query(query)
    return own_connection():query(query)
end

function old.bulk_insert_init(head)
    return own_connection():bulk_insert_init(head)
end

function old.bulk_insert_next(row)
    return own_connection():bulk_insert_next(row)
end

function old.bulk_insert_done()
    return own_connection():bulk_insert_done()
end

function old.prepare(query)
    return own_connection():prepare(query)
end

-- Binds the values in a table, which is read at each execution.
local bound = setmetatable({}, { __mode = "k" })

function old.bind_param(statement, values)
    bound[statement] = { values = values, count = #values }
end

function old.bind_result() end

function old.execute(statement)
    local parameters, count = {}, bound[statement] and bound[statement].count or 0
    for place = 1, count do
        local value = bound[statement].values[place]
        local is_whole = type(value) ~= "number" or value == floor(value)
        local kind = type(value) == "string" and TYPE.VARCHAR or is_whole and TYPE.BIGINT or TYPE.DOUBLE
        parameters[place] = native.parameter(kind, kind == TYPE.VARCHAR and #value or 0)
        parameters[place]:set(value)
    end
    if count > 0 then
        statement:bind_param(unpack(parameters, 1, count))
    end
    return statement:execute()
end

function old.store_results(result)
    return result
end

function old.free_results() end

function old.close(statement)
    statement:close()
end

for name, body in pairs(old) do
    sysbench.db[name] = body
    _G["db_" .. name] = body
end

-- Options

local function converted(name, kind, text)
    if kind == "boolean" then
        local word = text:lower()
        if word == "on" or word == "true" or word == "1" or word == "yes" or word == "" then
            return true
        elseif word == "off" or word == "false" or word == "0" or word == "no" then
            return false
        end
        error(format("option --%s is on or off, not '%s'", name, text), 0)
    elseif kind == "list" then
        local items = {}
        for item in text:gmatch("[^,]+") do
            items[#items + 1] = item
        end
        return items
    elseif kind == "string" then
        return text
    end
    local number = tonumber(text)
    if not number or (kind == "integer" and number ~= floor(number)) then
        error(format("option --%s is %s, not '%s'", name, kind == "integer" and "a whole number" or "a number", text), 0)
    end
    return number
end

local KINDS = { "boolean", "integer", "integer", "number", "string", "list", "string" }

local function kind_of(definition)
    local default, declared = definition[2], definition[3]
    if type(declared) == "number" and KINDS[declared] then
        return KINDS[declared]
    elseif type(default) == "boolean" then
        return "boolean"
    elseif type(default) == "number" then
        return default == floor(default) and "integer" or "number"
    elseif type(default) == "table" then
        return "list"
    end
    return "string"
end

local function read_options()
    if next(sysbench.cmdline.options or {}) == nil then
        -- A script of sysbench 0.5: any option is a global variable.
        for _, options in ipairs({ sysbench.opt, config.given }) do
            for name, value in pairs(options) do
                _G[name] = value
            end
        end
        return
    end
    for name, definition in pairs(sysbench.cmdline.options or {}) do
        local key = name:gsub("-", "_")
        local text = config.given[key]
        if text ~= nil then
            sysbench.opt[key] = converted(name, kind_of(definition), text)
        elseif definition[2] ~= nil then
            sysbench.opt[key] = definition[2]
        elseif sysbench.opt[key] == nil then
            sysbench.opt[key] = ""
        end
    end
end

local function command_of(name)
    local entry = (sysbench.cmdline.commands or {})[name]
    if type(entry) == "table" then
        return entry[1], entry[2] == sysbench.cmdline.PARALLEL_COMMAND
    end
    return _G[name], false
end

function sysbench.cmdline.command_defined(name)
    return type((command_of(name))) == "function"
end

function sysbench.cmdline.command_parallel(name)
    return select(2, command_of(name))
end

function sysbench.cmdline.call_command(name)
    return (command_of(name))()
end

for key, value in pairs(config.general) do
    sysbench.opt[key] = value
end

local SB_CNT_ERROR = 4

-- Files: of the script's folder and of an installed sysbench.

local native_ffi
local loaded = {}
local searched = package and package.path or ""
package = package or {}
package.path = config.search .. (config.allows_io and ";" .. searched or "")
package.loaded = package.loaded or loaded
local standard_require = require
local LIBRARIES = { string = true, table = true, math = true, os = true, io = true, debug = true, coroutine = true,
    bit = true, jit = true }

function require(name)
    if package.loaded[name] ~= nil then
        return package.loaded[name]
    end
    if name == "ffi" and not config.allows_io then
        package.loaded.ffi = native_ffi
        return native_ffi
    elseif LIBRARIES[name] then
        return _G[name]
    end
    if name:match("^sysbench%.?") then
        return sysbench
    end
    local file, tried = (name:gsub("%.", "/")), {}
    for pattern in package.path:gmatch("[^;]+") do
        local path = pattern:gsub("%?", (file:gsub("%%", "%%%%")))
        local text = native.read(path)
        if text then
            local body = native.compile(text, "@" .. path)
            local result = body(name)
            if package.loaded[name] == nil then
                package.loaded[name] = result == nil and true or result
            end
            return package.loaded[name]
        end
        tried[#tried + 1] = path
    end
    if config.allows_io and standard_require then
        return standard_require(name)
    end
    error(format("module '%s' not found: there is no %s", name, concat(tried, ", ")), 2)
end

local function file_text(path)
    local text = native.read(path) or native.read(config.folder .. "/" .. path)
    if not text then
        error("cannot read " .. tostring(path) .. ": a file outside the script's folder needs --allow-script-io", 3)
    end
    return text
end

function loadfile(path)
    return native.compile(file_text(path), "@" .. path)
end

function dofile(path)
    return native.compile(file_text(path), "@" .. path)()
end

function load(chunk, name)
    if type(chunk) == "function" then
        local parts = {}
        for part in chunk do
            if part == "" then
                break
            end
            parts[#parts + 1] = part
        end
        chunk = concat(parts)
    end
    local ok, result = pcall(native.compile, chunk, name or "=(load)")
    if ok then
        return result
    end
    return nil, tostring(result)
end

loadstring = load

function print(...)
    local parts = {}
    for place = 1, select("#", ...) do
        parts[place] = tostring((select(place, ...)))
    end
    native.write(concat(parts, "\t") .. "\n")
end

-- The functions of C that scripts use to wait, and sysbench's counters; any other one needs the real library.
local functions = {
    usleep = function(microseconds) native.sleep(microseconds) return 0 end,
    sleep = function(seconds) native.sleep(seconds * 1e6) return 0 end,
    sb_counter_inc = function(_, counter) if counter == SB_CNT_ERROR then native.count_error() end end,
    SB_CNT_OTHER = 0, SB_CNT_READ = 1, SB_CNT_WRITE = 2, SB_CNT_EVENT = 3, SB_CNT_ERROR = SB_CNT_ERROR,
    SB_CNT_RECONNECT = 5,
}
local whole_ffi = config.allows_io and require("ffi")
local library = setmetatable({}, {
    __index = function(_, name)
        local found = functions[name]
        if found == nil then
            found = whole_ffi and whole_ffi.C[name]
                or error("ffi.C." .. tostring(name) .. " needs --allow-script-io", 2)
        end
        return found
    end,
})

if not config.allows_io then
    local function refused(name)
        return function()
            error(name .. " needs --allow-script-io", 2)
        end
    end
    local standard = os
    os = { time = standard.time, clock = standard.clock, date = standard.date, difftime = standard.difftime }
    for _, name in ipairs({ "exit", "getenv", "remove", "rename", "setlocale", "tmpname" }) do
        os[name] = refused("os." .. name .. "()")
    end
    function os.execute(command)
        local seconds = type(command) == "string" and command:match("^%s*sleep%s+([%d.]+)%s*$")
        if not seconds then
            error("os.execute() needs --allow-script-io", 2)
        end
        native.sleep(tonumber(seconds) * 1e6)
        return 0
    end
    io = {}
    for _, name in ipairs({ "open", "popen", "lines", "read", "input", "output", "tmpfile", "close" }) do
        io[name] = refused("io." .. name .. "()")
    end
    function io.write(...)
        for place = 1, select("#", ...) do
            native.write(tostring((select(place, ...))))
        end
    end
    local output = { flush = function() end, setvbuf = function() end, close = function() end }
    function output:write(...)
        io.write(...)
        return self
    end
    io.stdout, io.stderr, io.flush = output, output, function() end
    debug = { getinfo = native.getinfo, traceback = native.traceback }
    for _, name in ipairs({ "debug", "getfenv", "gethook", "getlocal", "getmetatable", "getregistry", "getupvalue", "setfenv",
        "sethook", "setlocal", "setmetatable", "setupvalue" }) do
        debug[name] = refused("debug." .. name .. "()")
    end

    native_ffi = setmetatable({ cdef = function() end, C = library, os = jit.os, arch = jit.arch }, {
        __index = function(_, name)
            error("ffi." .. tostring(name) .. " needs --allow-script-io", 2)
        end,
    })
    ffi = native_ffi
    jit = { version = jit.version, version_num = jit.version_num, os = jit.os, arch = jit.arch,
        on = function() end, off = function() end, flush = function() end, status = function() return false end }
    string.dump, collectgarbage = nil, function(what) return what == "count" and native.memory() or 0 end
    getfenv, setfenv, newproxy = nil, nil, nil
    local repeated = string.rep
    function string.rep(text, times, between)
        if (#text + #(between or "")) * times > 67108864 then
            error("a text of more than 64 MiB", 2)
        end
        return repeated(text, times, between)
    end
else
    -- The types of sysbench's own declarations.
    whole_ffi.cdef("typedef int sb_counter_type;")
    ffi = setmetatable({ C = library }, { __index = whole_ffi })
    package.loaded.ffi = ffi
    local run = os.execute
    function os.execute(command)
        local seconds = type(command) == "string" and command:match("^%s*sleep%s+([%d.]+)%s*$")
        if seconds then
            native.sleep(tonumber(seconds) * 1e6)
            return 0
        end
        return run(command)
    end
end

-- Reports

-- The figures of sysbench's own formats, in their order.
local function rates(stat)
    local seconds = stat.time_interval
    return stat.events / seconds, (stat.reads + stat.writes + stat.other) / seconds, stat.reads / seconds,
        stat.writes / seconds, stat.other / seconds
end

function sysbench.report_default(stat)
    local seconds, tps, qps, reads, writes, other = stat.time_interval, rates(stat)
    print(format("[ %.0fs ] thds: %u tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) lat (ms,%u%%): %4.2f "
        .. "err/s %4.2f reconn/s: %4.2f", stat.time_total, stat.threads_running, tps, qps, reads, writes, other,
        sysbench.opt.percentile, stat.latency_pct * 1000, stat.errors / seconds, stat.reconnects / seconds))
end

function sysbench.report_csv(stat)
    local seconds, tps, qps, reads, writes, other = stat.time_interval, rates(stat)
    print(format("%.0f,%u,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f", stat.time_total, stat.threads_running,
        tps, qps, reads, writes, other, stat.latency_pct * 1000, stat.errors / seconds, stat.reconnects / seconds))
end

local JSON = [[
  {
    "time": %4.0f,
    "threads": %u,
    "tps": %4.2f,
    "qps": {
      "total": %4.2f,
      "reads": %4.2f,
      "writes": %4.2f,
      "other": %4.2f
    },
    "latency": %4.2f,
    "errors": %4.2f,
    "reconnects": %4.2f
  }]]

local is_array_open = false

function sysbench.report_json(stat)
    local seconds, tps, qps, reads, writes, other = stat.time_interval, rates(stat)
    native.write(is_array_open and ",\n" or "[\n")
    is_array_open = true
    native.write(format(JSON, stat.time_total, stat.threads_running, tps, qps, reads, writes, other,
        stat.latency_pct * 1000, stat.errors / seconds, stat.reconnects / seconds))
end

-- The coroutine of a connection. Returns the verdict over an action of the script: it is "done" (also "over" after an
-- event that returned true), to be begun again, failed by an error of the server, or at fault.
local function judged(ok, result)
    if ok then
        return "done"
    end
    if type(result) == "table" and result.errcode == RESTART_EVENT then
        local hook = sysbench.hooks.before_restart_event
        if type(hook) == "function" then
            local fine, failure = pcall(hook, result)
            if not fine then
                return judged(false, failure)
            end
        end
        return "restart", tonumber(result.sql_errno) or 0, tostring(result.sql_errmsg or "the script restarts its event")
    end
    local text = last_sql_error.text
    if text and type(result) == "string" and result:sub(-#text) == text then
        return "failed", last_sql_error.code, last_sql_error.message
    end
    if type(result) == "table" then
        result = result.sql_errmsg or config.path .. ": the script raises a table as its error"
    end
    return "fault", 0, tostring(result)
end

local function describe(is_incomplete)
    local options, commands = {}, {}
    for name, definition in pairs(sysbench.cmdline.options or {}) do
        local default = definition[2]
        if type(default) == "table" then
            default = concat(default, ",")
        end
        options[#options + 1] =
            { name, tostring(definition[1] or ""), default ~= nil and tostring(default) or "", kind_of(definition) }
    end
    for name, entry in pairs(sysbench.cmdline.commands or {}) do
        if type(entry) == "table" and type(entry[1]) == "function" then
            commands[#commands + 1] = { name, entry[2] == sysbench.cmdline.PARALLEL_COMMAND }
        end
    end
    for _, name in ipairs({ "prepare", "cleanup", "prewarm" }) do
        if type(_G[name]) == "function" and not (sysbench.cmdline.commands or {})[name] then
            commands[#commands + 1] = { name, false }
        end
    end
    local hooks = {}
    for _, name in ipairs({ "init", "done" }) do
        hooks[#hooks + 1] = type(_G[name]) == "function" and name or nil
    end
    for _, name in ipairs({ "report_intermediate", "report_cumulative" }) do
        hooks[#hooks + 1] = sysbench.hooks[name] and name or nil
    end
    config.options, config.commands, config.hooks = options, commands, concat(hooks, ",")
    config.has_events = is_incomplete or type(event) == "function"
end

return function()
    local ok, problem = attempt(function()
        native.compile(config.text, "@" .. config.path)()
    end)
    if config.entry == "describe" and (ok or native.is_open(0)) then
        -- Without a server, a script that asks for rows while it is loaded may fail: it is loaded again for its events.
        describe(not ok)
        return judge("begun")
    end
    if not ok then
        return judge(judged(false, problem))
    end
    ok, problem = pcall(read_options)
    if not ok then
        return judge("fault", 0, tostring(problem))
    end
    if config.entry == "command" then
        local body = command_of(config.command)
        if type(body) ~= "function" then
            return judge("fault", 0, "the script has no command '" .. config.command .. "'")
        end
        judge("begun")
        local verdict, code, message = judged(attempt(body))
        if verdict == "restart" then
            verdict = "failed"
        end
        judge(verdict == "done" and "over" or verdict, code, message)
        return judge("done")
    end
    if config.entry == "report" then
        local name, stat = judge("begun")
        while name do
            name, stat = judge(judged(attempt(sysbench.hooks[name], stat)))
        end
        if is_array_open then
            native.write("\n]\n")
        end
        return judge("done")
    end
    if type(event) ~= "function" then
        return judge("fault", 0, "the script has no function event()")
    end
    if type(thread_init) == "function" then
        ok, problem = attempt(thread_init, config.tid)
        if not ok then
            return judge(judged(false, problem))
        end
    end
    local has_event = judge("begun")
    while has_event do
        local fine, result = standard_xpcall(event, placed, config.tid)
        if fine then
            has_event = judge(result and "over" or "done")
        else
            has_event = judge(judged(false, result))
        end
    end
    if type(thread_done) == "function" then
        ok, problem = attempt(thread_done, config.tid)
        return judge(judged(ok, problem))
    end
    return judge("done")
end
