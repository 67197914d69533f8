-- One atomic commit: drop, append, set the metadata, trim, remember the operation, set the expiry.
--
-- KEYS   1  messages: a list of the thread's messages, oldest first, followed by its footer; a message is a letter for
--           its kind, 13 digits of its time, and its text
--        2  meta: a hash of revision, metadata, op:<operation id> = <commit number> <digest>,
--           marks = <commit number> <milliseconds> ...: the times of some of the newest commits, after the newest
--           commit that is old with 0 for its time, and
--           cursor: where the search for operations that can be forgotten continues
--        3, 4  deleted and deleted-before, see delete.lua. Not given in a cluster, because they rarely exist: a cluster that is
--           moving a slot rejects every command with existing and missing keys
-- ARGV   1  operation id
--        2  digest of the change
--        3  the incarnation of a new thread, if the thread does not exist
--        4  the maximum number of messages, trimmed by turns; with a leading "=" trimmed exactly; "0" for no limit
--        5  the time to live in milliseconds, "0" for no expiry
--        6  the thread's updatedAt; if a new thread has another createdAt, followed by a space and createdAt
--        7  "append": the messages to append begin at 8; "change": 8 to 10 as below, and the messages begin at 11
--        8  the expected revision: "any", "none" (the thread must not exist), or "=" and the revision
--        9  the number of messages to drop from the end, or "all"
--       10  metadata: "keep", "remove", or "=" and the text
-- Returns one string, because a list costs more: the outcome, a space, and a detail
--        "committed", "repeated"                    the revision
--        "revision-conflict", "operation-conflict"  the revision, empty if the thread does not exist
--        "unreadable"                               the start of the footer of a newer format; empty or another text if a
--                                                   key belongs to another program
--        "incomplete"                               nothing: the hash does not belong to the list; only a drop of "all"
--                                                   is accepted
--
-- The footer: thread <format> <incarnation> <commits> <first> <next> <pinned> <compaction> <newestCompaction>
--                    <userless> <startless> <createdAt> <updatedAt> <expiresAt> <deletedAt>
--   first, next   the messages' sequence numbers are first to next - 1
--   pinned        the sequence number of a leading system message that is kept before them, or 0
--   compaction    the sequence number of a compaction item that is kept before them and behind the pinned message, or 0
--   newestCompaction   the sequence number of the thread's newest compaction item, kept before them or one of them, or 0
--   userless      the messages from first to userless - 1 are not user messages: trimming does not check them again
--   startless     the messages from first to startless - 1 cannot begin the kept messages: likewise
--   createdAt, updatedAt, expiresAt   in milliseconds since 1970; expiresAt is 0 if the keys have no expiry
--   deletedAt     when a thread of this id was deleted, if its operations were remembered when this one was created; or 0
--
-- A plain append runs five commands and little else.

local call, ARGV = redis.call, ARGV
local MESSAGES, META = KEYS[1], KEYS[2]
-- An operation is remembered while it is among this number of newest operations, and while a store may retry it: for 5 s,
-- plus 4 s until the last request times out.
local REMEMBERED_OPERATIONS = 64
local REMEMBERED_MS = 10000
local MARK_EVERY_MS = 1000
-- Forgetting a few at a time keeps the hash within the 128 fields of Redis' compact encoding.
local FORGET_EVERY = 48
-- A thread with many commits per second has a large hash, and reading it whole would block the server. About this number of fields is
-- searched each time, more than FORGET_EVERY, so that the search keeps up with the commits; and again while most were old.
local SEARCHED_AT_ONCE, MOST_SEARCHES = 128, 4
-- Below the 8,000 values that unpack can return.
local AT_ONCE = 5000
local MOST = 2 ^ 53 - 1

local operation, digest, ttl, updatedAt = 'op:' .. ARGV[1], ARGV[2], ARGV[5], ARGV[6]
local firstMessage, expected, drop, metadata = 8, 'any', '0', 'keep'
if ARGV[7] ~= 'append' then
  firstMessage, expected, drop, metadata = 11, ARGV[8], ARGV[9], ARGV[10]
end

local function milliseconds()
  local now = call('TIME')
  return now[1] * 1000 + math.floor(now[2] / 1000)
end

-- Both keys are read before any write, so that a key of another type fails the script before it changes anything.
local footer = call('LINDEX', MESSAGES, -1)
local stored = call('HMGET', META, 'revision', operation)

local incarnation, commits, first, next = ARGV[3], 0, 1, 1
local pinned, compaction, newestCompaction, userless, startless = 0, 0, 0, 1, 1
local createdAt, expiresAt, deletedAt = string.match(updatedAt, '%d+$'), '0', '0'
local revision, wasDeleted = false, not footer
if footer then
  incarnation, commits, first, next, pinned, compaction, newestCompaction, userless, startless, createdAt, expiresAt, deletedAt =
    string.match(footer,
      '^thread 1 (%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) %d+ (%d+) (%d+)$')
  if not incarnation then
    return 'unreadable ' .. string.sub(footer, 1, 64)
  end
  revision = incarnation .. '.' .. commits
  commits, first, next = tonumber(commits), tonumber(first), tonumber(next)
  pinned, compaction, newestCompaction = tonumber(pinned), tonumber(compaction), tonumber(newestCompaction)
  userless, startless = tonumber(userless), tonumber(startless)
  -- Above 2^53 a number equals its successor, and loops would not end.
  if commits > MOST or next > MOST or userless > MOST or startless > MOST or first > next or pinned > first
    or compaction > first or newestCompaction >= next then
    return 'unreadable ' .. string.sub(footer, 1, 64)
  end
  if stored[2] and stored[1] == revision then
    local number, knownDigest = string.match(stored[2], '^(%d+) (.*)$')
    if not number then
      return 'unreadable '
    end
    if knownDigest == digest then
      return 'repeated ' .. incarnation .. '.' .. number
    end
    return 'operation-conflict ' .. revision
  end
  if deletedAt ~= '0' then
    wasDeleted = milliseconds() < deletedAt + REMEMBERED_MS
    deletedAt = wasDeleted and deletedAt or '0'
  end
elseif not stored[1] and call('EXISTS', META) == 1 then
  return 'unreadable '
else
  -- Every command that a later commit may need is tried here on a missing list, where it does nothing. So an older server, or
  -- a user without a permission, fails now and not in the middle of a commit. LMOVE comes first, because of these commands
  -- only LMOVE is refused when memory is short, and only before a script's first write.
  call('LMOVE', MESSAGES, MESSAGES, 'LEFT', 'RIGHT')
  call('LRANGE', MESSAGES, 0, 0)
  call('LTRIM', MESSAGES, 0, 0)
  call('UNLINK', MESSAGES)
  call('HDEL', MESSAGES, '')
  call('HSCAN', MESSAGES, 0)
  call('TIME')
  call('PEXPIREAT', MESSAGES, 0)
  call('PERSIST', MESSAGES)
end
if wasDeleted then
  -- The outcomes that delete.lua remembers.
  deletedAt = '0'
  for index, name in ipairs({'deleted', 'deleted-before'}) do
    local key = KEYS[index + 2] or string.gsub(MESSAGES, 'messages$', name)
    local deleted = redis.pcall('HMGET', key, 'at', operation, 'first', 'revision')
    if deleted.err then
      return string.find(deleted.err, 'non local', 1, true) and redis.error_reply('TRYAGAIN the slot is being moved') or deleted
    end
    if deletedAt == '0' then
      deletedAt = string.match(deleted[1] or '0', '^%d+$')
    end
    if not deletedAt then
      return 'unreadable '
    end
    if deleted[2] then
      local known, knownDigest, at = string.match(deleted[2], '^(%S+%.%d+) (.*) (%d+)$')
      if not known then
        known, knownDigest = string.match(deleted[2], '^(%d+) (.*)$')
        known, at = (string.match(deleted[4] or '', '^%S+%.') or '') .. (known or ''), deleted[3]
      end
      if not knownDigest or not tonumber(at) then
        return 'unreadable '
      end
      if milliseconds() < at + REMEMBERED_MS then
        return knownDigest == digest and 'repeated ' .. known or 'operation-conflict ' .. (revision or '')
      end
    end
  end
end
if expected ~= 'any' and expected ~= (revision and '=' .. revision or 'none') then
  return 'revision-conflict ' .. (revision or '')
end
if footer and stored[1] ~= revision and drop ~= 'all' then
  return 'incomplete '
end

local commit = commits + 1
local newRevision = incarnation .. '.' .. commit

-- Drop. The index of a message in the list is sequence - listed; the pinned ones are before them.
local wasPinned, wasCompaction = pinned, compaction
local listed = first - (pinned > 0 and 1 or 0) - (compaction > 0 and 1 or 0)
if drop == 'all' then
  pinned, compaction, first = 0, 0, next
elseif drop ~= '0' then
  next = next - tonumber(drop)
  if next < first then
    if next < first - 1 or compaction == 0 then
      pinned = 0
    end
    compaction, next = 0, first
  end
end

-- Append.
local kept = next
next = kept + #ARGV - firstMessage + 1
if userless > kept then
  userless = kept
end
if startless > kept then
  startless = kept
end

-- Kinds are read a few messages at a time.
local kinds, readAtOnce = {}, 1
local function kindAt(sequence)
  if sequence >= kept then
    return string.sub(ARGV[firstMessage + sequence - kept], 1, 1)
  end
  if not kinds[sequence] then
    local last = math.min(sequence + readAtOnce, kept) - 1
    for index, message in ipairs(call('LRANGE', MESSAGES, sequence - listed, last - listed)) do
      kinds[sequence + index - 1] = string.sub(message, 1, 1)
    end
    readAtOnce = math.min(4 * readAtOnce, 32)
  end
  return kinds[sequence]
end

-- The newest compaction item: an appended one, or the known one, or an older one if that has been dropped.
local isKept = newestCompaction < kept and (newestCompaction >= first or newestCompaction == compaction)
local newest, oldest = next - 1, newestCompaction < kept and kept or first
while newest >= oldest and kindAt(newest) ~= 'k' do
  newest = newest - 1
  if newest >= oldest and newest < kept and not kinds[newest] then
    -- Reads the messages up to this one.
    readAtOnce = 32
    kindAt(math.max(first, newest - 31))
  end
end
if newest >= oldest then
  newestCompaction = newest
elseif not isKept then
  newestCompaction = compaction
end

-- Trim, like trim in store-core's trimming.ts.
local maxMessages = tonumber(ARGV[4]) or -tonumber(string.sub(ARGV[4], 2))
local count = next - first + (pinned > 0 and 1 or 0) + (compaction > 0 and 1 or 0)
if maxMessages < 0 and count > -maxMessages then
  -- The newest messages may include the second of two pinned ones.
  pinned = 0
  if compaction == 0 or next + maxMessages >= first then
    compaction, first = 0, next + maxMessages
    newestCompaction = newestCompaction >= first and newestCompaction or 0
  end
elseif maxMessages > 0 and count > maxMessages then
  -- If few messages are trimmed, one read returns the kind of the leading message and of the first messages that fit,
  -- because one of these is nearly always the wanted one.
  local cut = next - maxMessages
  readAtOnce = pinned == 0 and cut - first < 4 and cut - first + 4 or 1

  if maxMessages == 1 then
    pinned = 0
  elseif pinned == 0 and compaction == 0 and kindAt(first) == 's' then
    pinned = first
  end
  if pinned > 0 then
    cut = cut + 1
  end
  if newestCompaction > 0 and newestCompaction < cut then
    cut = cut + 1
  end
  userless = math.max(cut, userless)
  while userless < next and kindAt(userless) ~= 'u' do
    userless = userless + 1
  end
  if userless < next then
    first = userless
  else
    startless = math.max(cut, startless)
    local before = startless < next and startless > first and kindAt(startless - 1) or 'o'
    while startless < next do
      local kind = kindAt(startless)
      if before ~= 'c' and before ~= 'b' and kind ~= 't' and kind ~= 'b' then
        break
      end
      before = kind
      startless = startless + 1
    end
    first = startless
    -- Only the newest message can be behind the last tool result, tool call and reasoning.
    if startless == next and cut < next and not string.find('tbc', kindAt(next - 1), 1, true) then
      -- Not searched: the message before it is trimmed, so it may begin the kept messages next time.
      first, startless = next - 1, next - 1
    end
  end
  compaction = newestCompaction < first and newestCompaction or 0
end

-- Write. On a server without free memory the first write of a script decides: HSET is rejected, LTRIM is not. So a commit that
-- adds to the thread fails before any change, and a commit that only removes succeeds.
if #ARGV < firstMessage and (metadata == 'keep' or metadata == 'remove') then
  call('LTRIM', MESSAGES, 0, -1)
end
if stored[1] and stored[1] ~= revision then
  call('UNLINK', META)
end
call('HSET', META, 'revision', newRevision, operation, commit .. ' ' .. digest)
if metadata == 'remove' then
  call('HDEL', META, 'metadata')
elseif metadata ~= 'keep' then
  call('HSET', META, 'metadata', string.sub(metadata, 2))
end

-- The indexes of the listed messages that stay before the others.
local front = {}
for _, sequence in ipairs({pinned, compaction}) do
  if sequence == 0 or sequence >= kept then
    -- It is not in the list.
  elseif sequence == wasPinned then
    front[#front + 1] = 0
  elseif sequence == wasCompaction then
    front[#front + 1] = wasPinned > 0 and 1 or 0
  else
    front[#front + 1] = sequence - listed
  end
end
if not footer then
  -- The list does not exist yet.
elseif #front > 0 then
  call('LTRIM', MESSAGES, 0, kept - listed - 1)
  local trimmed, gone = math.min(first, kept) - listed, 0
  if trimmed > #front then
    -- The pinned messages are moved temporarily, so that replicas and the append-only file do not get a copy of them each time.
    for _, index in ipairs(front) do
      if index > gone then
        call('LTRIM', MESSAGES, index - gone, -1)
      end
      call('LMOVE', MESSAGES, MESSAGES, 'LEFT', 'RIGHT')
      gone = index + 1
    end
    if trimmed > gone then
      call('LTRIM', MESSAGES, trimmed - gone, -1)
    end
    for _ in ipairs(front) do
      call('LMOVE', MESSAGES, MESSAGES, 'RIGHT', 'LEFT')
    end
  end
elseif first < kept then
  call('LTRIM', MESSAGES, first - listed, kept - listed - 1)
else
  call('UNLINK', MESSAGES)
end
for _, sequence in ipairs({pinned, compaction}) do
  if sequence >= kept then
    call('RPUSH', MESSAGES, ARGV[firstMessage + sequence - kept])
  end
end
local last, wasExpiring = #ARGV + 1, expiresAt ~= '0'
expiresAt = ttl == '0' and 0 or milliseconds() + ttl
ARGV[last] = string.format('thread 1 %s %d %d %d %d %d %d %d %d %s %s %.0f %s', incarnation, commit, first, next,
  pinned, compaction, newestCompaction, userless, startless, createdAt, string.match(updatedAt, '^%d+'), expiresAt, deletedAt)
for from = first > kept and firstMessage + first - kept or firstMessage, last, AT_ONCE do
  call('RPUSH', MESSAGES, unpack(ARGV, from, math.min(from + AT_ONCE - 1, last)))
end

-- Forget.
if commit % FORGET_EVERY == 0 then
  local found = call('HMGET', META, 'marks', 'cursor')
  local now, marks, old, marked = milliseconds(), {}, 0, 0
  for number, at in string.gmatch(found[1] or '', '(%d+) (%d+)') do
    number, at = tonumber(number), tonumber(at)
    -- Impossible values, for example after the clock was set back, are skipped: then more is remembered temporarily.
    if number < commit and at <= now then
      marked = at
      if at > now - REMEMBERED_MS then
        marks[#marks + 1] = string.format('%d %.0f', number, at)
      else
        old = number
      end
    end
  end
  if old > 0 then
    table.insert(marks, 1, old .. ' 0')
  end
  if now - marked >= MARK_EVERY_MS then
    marks[#marks + 1] = string.format('%d %.0f', commit, now)
  end
  local cursor, forgotten = found[2] or '0', math.min(old, commit - REMEMBERED_OPERATIONS)
  local searches = forgotten > 0 and MOST_SEARCHES or 0
  while searches > 0 do
    -- A missing permission, an invalid cursor and an invalid field are ignored: to fail here would leave an incomplete commit.
    local page, gone = redis.pcall('HSCAN', META, cursor, 'COUNT', SEARCHED_AT_ONCE), {}
    local fields = page[2] or {}
    for index = 1, #fields, 2 do
      local number = string.match(fields[index + 1], '^%d+')
      if string.sub(fields[index], 1, 3) == 'op:' and (not number or tonumber(number) <= forgotten) then
        gone[#gone + 1] = fields[index]
      end
    end
    for from = 1, #gone, AT_ONCE do
      call('HDEL', META, unpack(gone, from, math.min(from + AT_ONCE - 1, #gone)))
    end
    cursor = page[1] or '0'
    searches = cursor ~= '0' and #gone * 4 > #fields and searches - 1 or 0
  end
  call('HSET', META, 'marks', table.concat(marks, ' '), 'cursor', cursor)
end

-- Expire.
if expiresAt > 0 then
  call('PEXPIREAT', MESSAGES, expiresAt)
  call('PEXPIREAT', META, expiresAt)
elseif wasExpiring then
  call('PERSIST', MESSAGES)
  call('PERSIST', META)
end
return 'committed ' .. newRevision
