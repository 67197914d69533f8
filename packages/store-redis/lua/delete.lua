-- One atomic deletion: removes both keys of the thread, and remembers for a limited time the outcomes that a retry needs.
--
-- KEYS   1  messages, 2  meta: see commit.lua
--        3  deleted: a hash that expires REMEMBERED_MS after the newest deletion
--           first = the time of its first deletion, at = the time of the newest one, delete:<operation id> = <time> of each,
--           op:<operation id> = <revision> <digest> <time> of a deleted thread; of the first one op:<operation id> as in
--           commit.lua and revision, because the hash was its meta
--        4  deleted-before: the previous such hash. Nothing is removed from either one by one: they expire.
-- ARGV   1  operation id of the deletion
--        2  the expected revision: "any", "none" (the thread must not exist), or "=" and the revision
-- Returns one string: the outcome, a space, and a detail
--        "deleted", "repeated"   nothing
--        "revision-conflict"     the revision, empty if the thread does not exist
--        "unreadable"            the start of the footer, as in commit.lua; nothing was deleted: the footer is of a newer format,
--                                or nothing shows that the keys are Scrollback's, or the footer is damaged and a revision is
--                                expected
--
-- All keys are in KEYS, so that a cluster that is moving the slot rejects the whole script (TRYAGAIN).

local call, ARGV = redis.call, ARGV
local MESSAGES, META, DELETED, BEFORE = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local REMEMBERED_MS = 10000
-- Below the 8,000 values that unpack can return.
local AT_ONCE = 5000

local now = call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
local due = now - REMEMBERED_MS

local deletion, expected = 'delete:' .. ARGV[1], ARGV[2]
local remembered = call('HMGET', DELETED, deletion, 'first', 'at')
local known = tonumber(remembered[1] or call('HMGET', BEFORE, deletion)[1] or 0)
if known and known > due then
  return 'repeated '
end
local footer = call('LINDEX', MESSAGES, -1)
local fields = call('HMGET', META, 'revision', 'metadata', 'marks')
local stored = fields[1]
-- Damage does not protect a thread from deletion: any readable part shows that the keys are Scrollback's.
local isOurs = stored or fields[2] or fields[3]
local revision = false
if footer then
  local incarnation, commits = string.match(footer, '^thread 1 (%S+) (%d+) ')
  local format = string.match(footer, '^thread (%d+) ')
  if incarnation then
    revision = incarnation .. '.' .. commits
  elseif expected ~= 'any' or format and format ~= '1'
    or not (format or isOurs or string.find(call('LINDEX', MESSAGES, 0), '^%l' .. string.rep('%d', 13))) then
    return 'unreadable ' .. string.sub(footer, 1, 64)
  end
elseif not isOurs and call('EXISTS', META) == 1 then
  return 'unreadable '
end
local exists = remembered[2] or remembered[3]
if not exists and call('EXISTS', DELETED) == 1 then
  return 'unreadable '
end
if expected ~= 'any' and expected ~= (revision and '=' .. revision or 'none') then
  return 'revision-conflict ' .. (revision or '')
end

if exists and (tonumber(exists) or 0) <= due then
  -- What was deleted-before until now has expired: its newest deletion was before the first one of this hash.
  call('RENAME', DELETED, BEFORE)
  exists = nil
end
local at = string.format('%.0f', now)
local incarnation = stored and string.match(stored, '^%S+%.')
local moved = {'at', at, deletion, at}
if not exists then
  moved[5], moved[6] = 'first', at
end
if incarnation and not exists then
  -- Commands that are needed later are tried on the missing key, so that a user without a permission deletes nothing. And HSET is
  -- rejected for lack of memory only as the first write of a script, which UNLINK is.
  call('UNLINK', DELETED)
  call('HDEL', DELETED, '')
  call('PEXPIREAT', DELETED, 0)
  call('HSET', META, unpack(moved))
  moved = {}
  -- The hash becomes that of the deleted thread, because copying thousands of operations would block the server.
  call('RENAME', META, DELETED)
  call('HDEL', DELETED, 'metadata', 'marks', 'cursor')
elseif incarnation then
  local fields = call('HGETALL', META)
  for index = 1, #fields, 2 do
    if string.sub(fields[index], 1, 3) == 'op:' then
      moved[#moved + 1] = fields[index]
      moved[#moved + 1] = incarnation .. fields[index + 1] .. ' ' .. at
    end
  end
end
call('UNLINK', MESSAGES, META)
for from = 1, #moved, AT_ONCE do
  call('HSET', DELETED, unpack(moved, from, math.min(from + AT_ONCE - 1, #moved)))
end
call('PEXPIREAT', DELETED, now + REMEMBERED_MS)
return 'deleted '
