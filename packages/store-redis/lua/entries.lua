-- One verb of an index.
--
-- KEYS   1  entries: a sorted set; each member has score 0 and is the sort key of an entry
--        2  values: a hash; by the key of its entries, the JSON of their list: [id, version, expiry or "", sort key, value], all as
--           texts. Field "": the latest expiry of an entry so far, or "never"
--        Both expire with their last entry. If one of them was evicted, the other is removed, and the reply is "incomplete"
-- ARGV   1  the verb, 2 now in milliseconds since 1970, then
--        insert, update:  key, id, version, expiry or "", sort key, value
--        remove:          key, id
--        of:              key
--        list:            "up" or "down", limit, the sort key after which the page begins
-- Returns a list: "incomplete", or
--        insert:  "inserted" or "found"          remove:  "removed" or "missing"
--        update:  "missing", or "found" and the version that was there
--        of:      "entries" and the JSON of the list, if there is one
--        list:    "entries", the sort key of the last entry that was looked at, whether more follow ("more" or "last"), then for each
--                 entry its sort key and the JSON of its key's list

local call, ARGV = redis.call, ARGV
local ENTRIES, VALUES = KEYS[1], KEYS[2]
local ID, VERSION, EXPIRY, SORT = 1, 2, 3, 4
-- The number of expired entries that a write looks for, at the end where the oldest are.
local SWEPT = 8
-- About the size of a page, in bytes.
local PAGE = 1000000

local verb, now = ARGV[1], tonumber(ARGV[2])
local has, hasValues = call('EXISTS', ENTRIES), call('EXISTS', VALUES)
if has ~= hasValues then
  call('UNLINK', ENTRIES, VALUES)
  return {'incomplete'}
end

local function expired(entry)
  return entry[EXPIRY] ~= '' and tonumber(entry[EXPIRY]) <= now
end

local function write(key, list)
  if #list > 0 then
    call('HSET', VALUES, key, cjson.encode(list))
  else
    call('HDEL', VALUES, key)
    if call('HLEN', VALUES) <= 1 then
      call('UNLINK', ENTRIES, VALUES)
    end
  end
end

-- The list of a key without expired entries, which are removed.
local function read(key)
  local stored = call('HGET', VALUES, key)
  if not stored then
    return {}
  end
  local list, kept = cjson.decode(stored), {}
  for _, entry in ipairs(list) do
    if expired(entry) then
      call('ZREM', ENTRIES, entry[SORT])
    else
      kept[#kept + 1] = entry
    end
  end
  if #kept < #list then
    write(key, kept)
  end
  return kept
end

local function find(list, id)
  for at, entry in ipairs(list) do
    if entry[ID] == id then
      return at
    end
  end
end

-- The key within a sort key: see sortKey in store-core.
local function keyOf(sort)
  local stop = string.find(sort, '\1', 17, true)
  local key = string.sub(sort, 17, stop - 1)
  return (string.gsub(key, '\2(.)', function(code) return string.char(string.byte(code) - 3) end))
end

local function sweep()
  for _, sort in ipairs(call('ZRANGE', ENTRIES, 0, SWEPT - 1)) do
    read(keyOf(sort))
  end
end

local function put(key, list, at, entry)
  if list[at] then
    call('ZREM', ENTRIES, list[at][SORT])
  end
  list[at] = entry
  call('ZADD', ENTRIES, 0, entry[SORT])
  write(key, list)
  local last = call('HGET', VALUES, '')
  if entry[EXPIRY] == '' then
    last = 'never'
  elseif not last or (last ~= 'never' and tonumber(last) < tonumber(entry[EXPIRY])) then
    last = entry[EXPIRY]
  end
  call('HSET', VALUES, '', last)
  for _, name in ipairs({ENTRIES, VALUES}) do
    if last == 'never' then
      call('PERSIST', name)
    else
      call('PEXPIREAT', name, last)
    end
  end
end

local function list(direction, limit, after)
  local range, from, to = 'ZRANGEBYLEX', '(' .. after, '+'
  if direction == 'down' then
    range, to = 'ZREVRANGEBYLEX', '-'
  end
  local sorts = call(range, ENTRIES, from, to, 'LIMIT', 0, limit + 1)
  local reply, size = {'entries', '', 'last'}, 0
  for at, sort in ipairs(sorts) do
    if at > limit or size >= PAGE then
      reply[3] = 'more'
      break
    end
    reply[2] = sort
    local stored = call('HGET', VALUES, keyOf(sort))
    if stored then
      size = size + #stored
      reply[#reply + 1] = sort
      reply[#reply + 1] = stored
    end
  end
  return reply
end

if verb == 'list' then
  return list(ARGV[3], tonumber(ARGV[4]), ARGV[5])
end
local key, id = ARGV[3], ARGV[4]
if verb == 'of' then
  local stored = call('HGET', VALUES, key)
  return stored and {'entries', stored} or {'entries'}
end
sweep()
local entries = read(key)
local at = find(entries, id)
if verb == 'remove' then
  if not at then
    return {'missing'}
  end
  call('ZREM', ENTRIES, entries[at][SORT])
  table.remove(entries, at)
  write(key, entries)
  return {'removed'}
end
local entry = {id, ARGV[5], ARGV[6], ARGV[7], ARGV[8]}
if verb == 'insert' then
  if at then
    return {'found'}
  end
  put(key, entries, #entries + 1, entry)
  return {'inserted'}
end
if not at then
  return {'missing'}
end
local version = entries[at][VERSION]
if tonumber(version) < tonumber(entry[VERSION]) then
  put(key, entries, at, entry)
end
return {'found', version}
