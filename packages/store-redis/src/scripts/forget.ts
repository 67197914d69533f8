/**
 * Lua: the function `forget(key, cursor, isOld)` removes fields for which `isOld(field, value)` is true from a hash. A hash with
 * thousands of fields would block the server if it were read whole, so about `SEARCHED_AT_ONCE` fields are searched, and again up to
 * `MOST_SEARCHES` times while most were old. Returns the cursor at which the next search continues.
 */
export const forgetLua = `  local SEARCHED_AT_ONCE, MOST_SEARCHES = 128, 4
  local function forget(key, cursor, isOld)
    for _ = 1, MOST_SEARCHES do
      -- A missing permission and an invalid cursor are ignored: to fail here would leave an incomplete change.
      local page, gone = redis.pcall('HSCAN', key, cursor, 'COUNT', SEARCHED_AT_ONCE), {}
      local fields = page[2] or {}
      for index = 1, #fields, 2 do
        if isOld(fields[index], fields[index + 1]) then
          gone[#gone + 1] = fields[index]
        end
      end
      for from = 1, #gone, AT_ONCE do
        call('HDEL', key, unpack(gone, from, math.min(from + AT_ONCE - 1, #gone)))
      end
      cursor = page[1] or '0'
      if cursor == '0' or #gone * 4 <= #fields then
        break
      end
    end
    return cursor
  end`;
