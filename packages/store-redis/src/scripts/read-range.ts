export const readRangeLua = `-- Reads a part of a thread by sequence number, with its footer, revision and metadata.
--
-- KEYS   1  messages, 2  meta: see commit.ts
-- ARGV   1  "before" or "after"
--        2  a sequence number: only messages before or after it
--        3  the maximum number: of the last ones before, or of the first ones after
-- Returns  {}: the thread does not exist
--          {footer}: see commit.ts; alone if its format is unknown
--          {footer, records, revision | nil, metadata | nil}

local MESSAGES, META = KEYS[1], KEYS[2]
local boundary, limit = tonumber(ARGV[2]), tonumber(ARGV[3])

local footer = redis.call('LINDEX', MESSAGES, -1)
if not footer then
  return {}
end
local first, next, pinned = string.match(footer, '^thread 1 %S+ %d+ (%d+) (%d+) (%d+) ')
if not first then
  return {footer}
end
first, next, pinned = tonumber(first), tonumber(next), tonumber(pinned)
local offset = pinned > 0 and 1 or 0
local count = next - first + offset

-- The index of the first record with this sequence number or a higher one.
local function indexFrom(sequence)
  if sequence <= pinned then
    return 0
  end
  return math.min(math.max(sequence, first), next) - first + offset
end

local start, stop
if ARGV[1] == 'before' then
  stop = indexFrom(boundary)
  start = math.max(0, stop - limit)
else
  start = indexFrom(boundary + 1)
  stop = math.min(count, start + limit)
end
local records = start < stop and redis.call('LRANGE', MESSAGES, start, stop - 1) or {}
local meta = redis.call('HMGET', META, 'revision', 'metadata')
return {footer, records, meta[1], meta[2]}
`;
