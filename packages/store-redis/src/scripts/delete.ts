export const deleteLua = `-- One atomic deletion: removes both keys of the thread, and remembers for a limited time the outcomes that a retry needs.
--
-- KEYS   1  messages, 2  meta: see commit.ts
--        3  deleted: a hash of at = the time of the newest deletion, delete:<operation id> = <time> of each deletion, and
--           op:<operation id> = <revision> <digest> <time> of the deleted threads; it expires REMEMBERED_MS after the newest
--           deletion
-- ARGV   1  operation id of the deletion
--        2  the expected revision: "any", "none" (the thread must not exist), or "=" and the revision
-- Returns one string: the outcome, a space, and a detail
--        "deleted", "repeated"   nothing
--        "revision-conflict"     the revision, empty if the thread does not exist
--        "unreadable"            the start of the footer, as in commit.lua; nothing was deleted
--
-- All three keys are in KEYS, so that a cluster that is moving the slot rejects the whole script (TRYAGAIN).

local call, ARGV = redis.call, ARGV
local MESSAGES, META, DELETED = KEYS[1], KEYS[2], KEYS[3]
local REMEMBERED_MS = 10000
-- Below the 8,000 values that unpack can return.
local AT_ONCE = 5000

local deletion, expected = 'delete:' .. ARGV[1], ARGV[2]
local before = call('HMGET', DELETED, deletion, 'at')
if before[1] then
  return 'repeated '
end
local footer = call('LINDEX', MESSAGES, -1)
local stored = call('HMGET', META, 'revision')[1]
local revision = false
if footer then
  local incarnation, commits = string.match(footer, '^thread 1 (%S+) (%d+) ')
  if not incarnation then
    return 'unreadable ' .. string.sub(footer, 1, 64)
  end
  revision = incarnation .. '.' .. commits
elseif not stored and call('EXISTS', META) == 1 then
  return 'unreadable '
end
if expected ~= 'any' and expected ~= (revision and '=' .. revision or 'none') then
  return 'revision-conflict ' .. (revision or '')
end

local now = call('TIME')
now = string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000))
local remembered = {'at', now, deletion, now}
local incarnation = stored and string.match(stored, '^(.*)%.%d+$')
if incarnation then
  local fields = call('HGETALL', META)
  for index = 1, #fields, 2 do
    if string.sub(fields[index], 1, 3) == 'op:' then
      remembered[#remembered + 1] = fields[index]
      remembered[#remembered + 1] = incarnation .. '.' .. fields[index + 1] .. ' ' .. now
    end
  end
end

-- What is remembered of a thread that is deleted repeatedly must stay bounded.
if before[2] then
  local entries = call('HGETALL', DELETED)
  for index = 1, #entries, 2 do
    if tonumber(string.match(entries[index + 1], '%d+$')) <= now - REMEMBERED_MS then
      call('HDEL', DELETED, entries[index])
    end
  end
end

-- Removal comes first: it is never rejected for lack of memory, and neither are later writes of the same script.
call('UNLINK', MESSAGES, META)
for from = 1, #remembered, AT_ONCE do
  call('HSET', DELETED, unpack(remembered, from, math.min(from + AT_ONCE - 1, #remembered)))
end
call('PEXPIREAT', DELETED, now + REMEMBERED_MS)
return 'deleted '
`;
