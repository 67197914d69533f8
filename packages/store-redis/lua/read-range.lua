-- Reads a part of a thread by sequence number, with its footer, revision and metadata.
--
-- KEYS   1  messages, 2  meta: see commit.lua
-- ARGV   1  "before" or "after"
--        2  a sequence number: only messages before or after it
--        3  the maximum number: of the last ones before, or of the first ones after
-- Returns  {}: the thread does not exist
--          {footer}: see commit.lua; alone if its format is unknown
--          {footer, messages, revision | nil, metadata | nil}

local MESSAGES, META = KEYS[1], KEYS[2]
local boundary, limit = tonumber(ARGV[2]), tonumber(ARGV[3])

local footer = redis.call('LINDEX', MESSAGES, -1)
if not footer then
  return {}
end
local first, next, pinned, compaction = string.match(footer, '^thread 1 %S+ %d+ (%d+) (%d+) (%d+) (%d+) ')
if not first then
  return {footer}
end
first, next, pinned, compaction = tonumber(first), tonumber(next), tonumber(pinned), tonumber(compaction)
local count = next - first + (pinned > 0 and 1 or 0) + (compaction > 0 and 1 or 0)

-- The index of the first message with this sequence number or a higher one.
local function indexFrom(sequence)
  local isBehind = pinned > 0 and pinned < sequence and 1 or 0
  local isBehindCompaction = compaction > 0 and compaction < sequence and 1 or 0
  return math.min(math.max(sequence, first), next) - first + isBehind + isBehindCompaction
end

local start, stop
if ARGV[1] == 'before' then
  stop = indexFrom(boundary)
  start = math.max(0, stop - limit)
else
  start = indexFrom(boundary + 1)
  stop = math.min(count, start + limit)
end
local messages = start < stop and redis.call('LRANGE', MESSAGES, start, stop - 1) or {}
local meta = redis.call('HMGET', META, 'revision', 'metadata')
return {footer, messages, meta[1], meta[2]}
